//! The starting point of the laws.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::assembly::PromptId;
use proem_engine::call::{NanoDollars, Usage};
use proem_engine::ledger::{Bound, Cap, CapPeriod, CapScope, CapUnit};
use proem_engine::profile::{Completeness, Issue, Quality};
use proem_engine::run::{EffectId, Time};
use serde_json::json;

use crate::record::{
    Actor, ActorKind, AttemptId, AttemptUsage, CallResult, CallState, Evaluation, HashedContent, Intent, NewApproval,
    NewAssembly, NewAttempt, NewCall, NewFeedback, NewRun, NewStep, Numbers, Project, Replayable, RunFinish, RunId,
    RunOutcome, SectionRow, Settlement, Snapshot,
};
use crate::{BookingOutcome, Store};

/// Opens stores on one set of records, and looks at it from outside.
pub trait Backend {
    /// Opens a store as another process would.
    fn open(&self) -> impl Future<Output = Store>;

    /// The integers that a query gives, of one column. Null is -1. The SQL is such that any database takes it.
    fn numbers(&self, sql: &str) -> impl Future<Output = Vec<i64>>;

    /// Changes something past the store. `Err` if it refuses.
    fn execute(&self, sql: &str) -> impl Future<Output = Result<(), String>>;
}

/// Makes what is written in a law.
#[derive(Debug, Clone, Copy)]
pub struct LawSamples;

impl LawSamples {
    /// The project of everything.
    #[must_use]
    pub fn project(self) -> Project {
        Project("/home/ada/engine".to_owned())
    }

    /// The person who does everything.
    #[must_use]
    pub fn actor(self) -> Actor {
        Actor { kind: ActorKind::Person, id: "ada".to_owned(), channel: "terminal".to_owned() }
    }

    /// The id of a run.
    #[must_use]
    pub fn id(self, run: u64) -> RunId {
        RunId::new(run.to_be_bytes())
    }

    /// The line of a run. Its inputs are its own.
    #[must_use]
    pub fn run(self, run: u64) -> NewRun {
        NewRun {
            id: self.id(run),
            project: self.project(),
            actor: self.actor(),
            kind: "prompt".to_owned(),
            parent: None,
            caller: None,
            prompt: PromptId {
                agent: "assess".to_owned(),
                name: "change".to_owned(),
                version: "1.0.0".to_owned(),
                closure: "0f3a".to_owned(),
            },
            role: "small".to_owned(),
            model: "claude-haiku-4-5".to_owned(),
            endpoint: "anthropic".to_owned(),
            line: None,
            started: Time(1_000),
            files: BTreeMap::from([("prompts/assess/change.md".to_owned(), HashedContent::new("the prompt"))]),
            inputs: HashedContent::new(format!("inputs of {run}")),
            settings: json!({}),
            profiles: None,
            replayable: Replayable::Yes,
        }
    }

    /// An assembly with a text that all runs share and one of its own.
    #[must_use]
    pub fn assembly(self, run: u64) -> NewAssembly {
        let (shared, own) = (HashedContent::new("the constitution"), HashedContent::new(format!("task of {run}")));
        let section = |name: &str, text: &HashedContent| SectionRow {
            name: name.to_owned(),
            role: "system".to_owned(),
            trust: "trusted".to_owned(),
            cache: "static".to_owned(),
            rank: "static".to_owned(),
            sources: None,
            tokens: 4,
            text: text.hash.clone(),
            boundary: false,
        };
        NewAssembly {
            sections: vec![section("constitution", &shared), section("task", &own)],
            texts: vec![shared, own],
            tokens: 8,
            stable_tokens: 4,
            monolithic_tokens: None,
            counter: "o200k".to_owned(),
            plan: json!({}),
            report: HashedContent::new(format!("report of {run}")),
        }
    }

    /// An attempt with everything before it.
    #[must_use]
    pub fn intent(self, run: u64, attempt: u32, bound: u64, caps: &[Cap]) -> Intent {
        let begins = self.run(run);
        let call = NewCall {
            effect: EffectId(0),
            prompt: begins.prompt.clone(),
            model: begins.model.clone(),
            endpoint: begins.endpoint.clone(),
            tool: Some("assessment".to_owned()),
            body: HashedContent::new(format!("body of {run}")).hash,
            pieces: json!({ "system": [HashedContent::new("the constitution").hash] }),
            texts: vec![],
            assembly: self.assembly(run),
            dropped: json!([]),
        };
        Intent {
            settles: None,
            run: begins.id.clone(),
            begins: Some(Box::new(begins)),
            steps: vec![NewStep { step: 0, at: Time(1_000), event: HashedContent::new(format!("started {run}")) }],
            snapshot: Some(Snapshot { step: 1, at: Time(1_000), sealed: vec![7; 64], parts: vec![] }),
            call: Some(Box::new(call)),
            attempt: NewAttempt {
                effect: EffectId(0),
                attempt,
                at: Time(1_000),
                bound: Bound { nanos: Some(NanoDollars(bound.saturating_mul(1_000))), tokens: bound },
                caps: caps.to_vec(),
            },
        }
    }

    /// The first attempt of a run's second call, which has a prompt of its own.
    #[must_use]
    pub fn second(self, run: u64, bound: u64) -> Intent {
        let mut intent = self.intent(run, 0, bound, &[]);
        intent.begins = None;
        intent.attempt.effect = EffectId(1);
        if let Some(call) = &mut intent.call {
            call.effect = EffectId(1);
            call.prompt = PromptId {
                agent: "assess".to_owned(),
                name: "summary".to_owned(),
                version: "2.1.0".to_owned(),
                closure: "9c41".to_owned(),
            };
        }
        intent
    }

    /// A cap in tokens for everything of a day.
    #[must_use]
    pub const fn cap(self, most: u64) -> Cap {
        Cap { scope: CapScope::User, period: CapPeriod::Day, unit: CapUnit::Tokens, most }
    }

    /// An attempt that is booked.
    ///
    /// # Panics
    ///
    /// If it isn't.
    pub async fn booked(self, store: &Store, intent: Intent) -> AttemptId {
        match store.intend(intent).await {
            Ok(BookingOutcome::Yes(id)) => id,
            other => panic!("not booked: {other:?}"),
        }
    }

    /// A report of that many tokens, at a thousand billionths of a dollar each.
    #[must_use]
    pub fn reported(self, tokens: u64) -> AttemptUsage {
        let usage = Usage { input: Some(tokens), cache_read: Some(0), output: Some(0), ..Usage::default() };
        AttemptUsage::Reported(usage, Some(NanoDollars(tokens.saturating_mul(1_000))))
    }

    /// The settlement of an attempt, with the end of its call.
    #[must_use]
    pub fn settlement(self, attempt: AttemptId, used: AttemptUsage) -> Settlement {
        Settlement {
            attempt,
            at: Time(2_000),
            used,
            status: Some(200),
            failed: None,
            bytes: 100,
            took_ms: 900,
            waited_ms: 0,
            result: Some(CallResult {
                state: CallState::Answered,
                result: HashedContent::new(format!("answer to {}", attempt.0)),
                finish: Some("stop".to_owned()),
            }),
        }
    }

    /// The end of a run. `good` or not.
    #[must_use]
    pub fn finish(self, run: u64, quality: Quality) -> RunFinish {
        RunFinish {
            settles: None,
            run: self.id(run),
            at: Time(3_000),
            begins: None,
            steps: vec![NewStep { step: 1, at: Time(3_000), event: HashedContent::new(format!("performed {run}")) }],
            outcome: RunOutcome::Answered,
            because: None,
            value: Some(HashedContent::new(format!("value of {run}"))),
            calls: vec![],
            assembly: None,
            numbers: Numbers::default(),
            evaluations: vec![Evaluation {
                agent: "assess/change".to_owned(),
                kind: "assessment".to_owned(),
                issue: Issue { quality, completeness: Completeness::Complete, risks: BTreeSet::new() },
            }],
            not_replayable: None,
        }
    }

    /// A whole run: booked, settled, ended.
    pub async fn whole(self, store: &Store, run: u64, quality: Quality) {
        let attempt = self.booked(store, self.intent(run, 0, 10, &[])).await;
        self.settled(store, attempt, self.reported(5)).await;
        let ended = store.finish(self.finish(run, quality)).await;
        assert!(ended.is_ok(), "{ended:?}");
    }

    /// Settles an attempt.
    pub async fn settled(self, store: &Store, attempt: AttemptId, used: AttemptUsage) {
        let settled = store.settle(self.settlement(attempt, used)).await;
        assert!(settled.is_ok(), "{settled:?}");
    }

    /// A person's feedback on a run.
    #[must_use]
    pub fn feedback(self, run: u64) -> NewFeedback {
        NewFeedback {
            run: self.id(run),
            actor: self.actor(),
            at: Time(4_000),
            verdict: "good".to_owned(),
            note: "clear".to_owned(),
            evaluation: None,
        }
    }

    /// A run's question.
    #[must_use]
    pub fn approval(self, run: u64) -> NewApproval {
        NewApproval {
            run: self.id(run),
            actor: self.actor(),
            at: Time(4_000),
            step: 1,
            question: "Send it?".to_owned(),
            options: vec!["yes".to_owned(), "no".to_owned()],
            answer: Some(1),
            shown: Some("5e".repeat(32)),
            words: Some("they know".to_owned()),
        }
    }
}

/// The one integer that a query gives; -1 for null.
pub(super) async fn query_number(backend: &impl Backend, sql: &str) -> i64 {
    match backend.numbers(sql).await.as_slice() {
        [number] => *number,
        other => panic!("`{sql}` gives {other:?}"),
    }
}
