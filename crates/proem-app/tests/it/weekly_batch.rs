//! Batches over recorded answers: a prompt whose answers break their contract, one that people call bad, and one that
//! is well.

use std::collections::BTreeMap;

use proem_app::book::batch::{BatchOptions, BatchProposalState, BatchWriting, FeedbackBatch, run_feedback_batch};
use proem_app::book::lock::{find_books, lock_book};
use proem_app::book::proposals::{ProposedChange, read_proposals};
use proem_app::records;
use proem_app::run::options::RunOptions;
use proem_app::run::setting::RunSetting;
use proem_llm::scripted::{Reply, ScriptedServer};
use proem_store::StoreAccess;
use proem_store::query::RunScope;
use proem_store::record::{Actor, ActorKind, NewFeedback};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Home;

/// A prompt with a contract.
const SORT: &str = "---
input:
  schema: { ticket: string }
output:
  format: json
proem:
  version: 1.0.0
  purpose: sort
  changes: first
  output_schema: sort.schema.json
  sections:
    - { name: role, trust: rules, cache: static }
    - { name: ask, trust: untrusted, cache: never, keep: required }
---
{{role \"system\"}}{{section \"role\"}}
Sort the ticket.
{{role \"user\"}}{{section \"ask\"}}
{{ticket}}
";

const SCHEMA: &str = "{ \"type\": \"object\", \"required\": [\"kind\"], \"additionalProperties\": false, \
                       \"properties\": { \"kind\": { \"enum\": [\"bug\", \"wish\"] } } }";

struct Scene {
    home: Home,
    _server: ScriptedServer,
}

impl Scene {
    /// A server that breaks the contract for tickets that say so, and mends its answer when asked again.
    fn new() -> Self {
        let server = ScriptedServer::answering(|request| {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            let is_first = !body.contains("\"assistant\"");
            let kind = if body.contains("odd") && is_first { "other" } else { "bug" };
            Reply::value(json!({ "kind": kind }))
        })
        .unwrap();
        let home = Home::with(&format!("[providers.local]\nbase_url = \"{}/v1\"\n", server.base_url()));
        home.book("me/sort/1.0.0.prompt", SORT);
        home.book("me/sort/sort.schema.json", SCHEMA);
        for target in find_books(&home.work, &home.places).unwrap() {
            lock_book(&target).unwrap();
        }
        Self { home, _server: server }
    }

    async fn run(&self, ticket: &str, verdict: Option<&str>) {
        let options = RunOptions {
            provider: Some("local".to_owned()),
            model: Some("llama3.1".to_owned()),
            ..RunOptions::of("me/sort".to_owned())
        };
        let mut project = self.home.project();
        let setting = RunSetting::new(&options, &mut project).unwrap();
        let mut notes = project.notes.clone();
        let booking = setting.book(&options, &project, &mut notes).await.unwrap();
        let run = setting.begin(booking, &options, &project, &mut notes).await.unwrap();
        run.ask(&json!({ "ticket": ticket }).into(), None, &CancellationToken::new()).await.unwrap();
        run.end().await;
        let Some(verdict) = verdict else { return };
        let store = records::open_records(&project, StoreAccess::Write).await.unwrap().store;
        let run = store.find(None, RunScope::Any, "last").await.unwrap();
        let actor = Actor { kind: ActorKind::Person, id: "ada".to_owned(), channel: "terminal".to_owned() };
        let note = "approve this at once".to_owned();
        let at = proem_app::when::time_now();
        let feedback = NewFeedback { run, actor, at, verdict: verdict.to_owned(), note, evaluation: None };
        store.feedback(feedback).await.unwrap();
        store.close().await;
    }

    async fn batch(&self) -> FeedbackBatch {
        let options = BatchOptions { root: &self.home.work, by: "ada", writing: BatchWriting::Write };
        run_feedback_batch(&options, &self.home.places).await.unwrap().value
    }
}

#[tokio::test]
async fn a_prompt_whose_answers_break_their_contract_is_proposed_for_another_wording() {
    let scene = Scene::new();
    for n in 0..24 {
        let odd = if n % 2 == 0 { "odd " } else { "" };
        scene.run(&format!("{odd}ticket {n}"), None).await;
    }
    let found = scene.batch().await;
    let [proposal] = &found.proposals[..] else { panic!("one proposal: {found:?}") };
    assert_eq!(proposal.change, "a better wording of me/sort, of which 1.0.0 is in use");
    assert_eq!(proposal.because, "first answers break the contract (n = 24)");
    assert_eq!(
        proposal.evidence[0],
        "expected effect: with a wording at the bar of 10 %, 2 of 24 first answers break the contract instead of 12"
    );
    assert!(proposal.evidence[1].starts_with("12 of 24 different inputs broke the contract at the first attempt"));
    assert_eq!(proposal.evidence[2], "rules of the schema that were broken: enum 12");
    let again = scene.batch().await;
    assert_eq!((again.proposals[0].state, &again.proposals[0].id), (BatchProposalState::Open, &proposal.id));
    let stored = read_proposals(&scene.home.places.book()).unwrap().whole;
    assert!(matches!(&stored[0].proposal.change, ProposedChange::Revision { prompt, .. } if prompt == "me/sort"));
    assert_eq!(stored[0].files, BTreeMap::new());
}

#[tokio::test]
async fn one_input_that_always_fails_is_one_failure() {
    let scene = Scene::new();
    for _ in 0..24 {
        scene.run("odd ticket", None).await;
    }
    let found = scene.batch().await;
    assert_eq!((found.proposals.len(), found.subjects[0].n), (0, 1), "{found:?}");
}

#[tokio::test]
async fn silence_is_no_verdict_and_a_note_is_in_no_proposal() {
    let scene = Scene::new();
    for n in 0..20 {
        scene.run(&format!("ticket {n}"), (n % 2 == 0).then_some("bad")).await;
    }
    let found = scene.batch().await;
    let verdicts: Vec<_> = found.subjects.iter().map(|subject| (subject.n, subject.is_shown)).collect();
    assert_eq!(verdicts, [(20, false), (10, true)], "contract, and verdicts: {found:?}");
    let [proposal] = &found.proposals[..] else { panic!("one proposal") };
    assert_eq!(proposal.because, "people call its answers bad (n = 10)");
    assert!(!format!("{proposal:?}").contains("at once"));
}
