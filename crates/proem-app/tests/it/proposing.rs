//! Proposals that a model is asked with, beside the version in use.

use std::num::NonZeroU32;

use proem_app::book::live::LiveOptions;
use proem_app::book::promotion::{BookChoice, DecidedBook};
use proem_app::book::proposing::{ProposalWish, prepare_proposal};
use proem_app::error::Error;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_engine::call::NanoDollars;
use proem_engine::run::Time;
use tokio_util::sync::CancellationToken;

use crate::improving::{SORT, Scene};

/// Proposes a wording that makes the model right. The evidence, once a model was asked.
async fn propose_live(scene: &Scene, most: u64) -> Result<Vec<String>, Error> {
    let work = &scene.home.work;
    let draft = SORT.replace("1.0.0", "1.1.0").replace("one word.", "one word. Mails may be in French.");
    std::fs::write(work.join("draft.prompt"), draft).unwrap();
    let what = work.join("draft.prompt").display().to_string();
    let book = DecidedBook::open(work, &scene.home.places, BookChoice::Nearest)?;
    let wish = ProposalWish {
        what: &what,
        prompt: Some("mails/sort"),
        by: "bob",
        at: Time(1_796_000_000_000),
        because: "French mails",
    };
    let live = LiveOptions {
        root: work.clone(),
        times: NonZeroU32::new(2).unwrap(),
        model: None,
        provider: None,
        carriage: Carriage::Network,
        adapting: Adapting::default(),
        record: RecordChoice::AsConfigured,
        most: Some(NanoDollars(most)),
        earlier: Vec::new(),
    };
    let prepared = prepare_proposal(&book, &wish)?;
    let lines = prepared.try_live(&live, &scene.home.places, &mut Vec::new(), &CancellationToken::new()).await?;
    Ok(prepared.write(&book, &wish, lines)?.proposal.evidence)
}

#[tokio::test]
async fn a_proposal_is_tried_beside_the_version_in_use() {
    let scene = Scene::new(4, "{ answer: offer }", |_| String::new());
    let evidence = propose_live(&scene, 1_000_000_000).await.unwrap();
    let has = |start: &str| assert!(evidence.iter().any(|line| line.starts_with(start)), "{start}: {evidence:#?}");
    has("4 of 4 cases hold");
    has("calls of `llama3.1` cost nothing");
    has("1.1.0: 4 of 4 cases pass, each asked 2 times of `llama3.1` at `local`");
    has("1.1.0: pass@1 100 %");
    has("1.0.0: 0 of 4 cases pass");
    has("cost of asking $0.00000");
    assert_eq!(scene.bodies().len(), 16);
    assert_eq!(scene.home.project().book().unwrap().current("mails/sort").unwrap(), "1.0.0", "nothing moves");
}

#[tokio::test]
async fn cases_that_expect_no_answer_refuse_a_trial_and_nothing_is_proposed() {
    let scene = Scene::new(4, "{ answer: offer }", |_| String::new());
    scene.home.book("mails/sort/cases.yaml", "cases:\n  - { name: c, inputs: { mail: Hi } }\n");
    let error = propose_live(&scene, 1_000_000_000).await.unwrap_err().to_string();
    assert!(error.contains("no case of mails/sort 1.1.0 says what a model should answer"), "{error}");
    assert!(!scene.home.places.book().join("proposed").exists() && scene.bodies().is_empty());
}
