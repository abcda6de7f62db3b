//! The most bytes that the states of one run may take.

use std::collections::BTreeMap;

use proem_agents::lisp::{ProgramEnd, parse_agent};
use proem_engine::ErrorKind;
use proem_llm::scripted::Reply;
use proem_runtime::records::{Recording, ResumeIdentity, SealKey, resume};
use proem_store::query::RunState;
use proem_store::record::ToolCallState;
use serde_json::json;
use tempfile::TempDir;

use crate::records::programs::{BrokenOff, ProgramCourse, Workshop, distinct_text};
use crate::records::scene::{Begun, Given, Scene, id, key, server};

const AGENT: &str = "version = 1
name = \"a\"
signature = \"(text :string?) -> :any\"
[tools.page]
signature = \"(n :int) -> :string\"
description = \"A page\"
effect = false
recorded = { file = \"pages.json\" }
[tools.mark]
signature = \"(n :int) -> :int\"
description = \"A number\"
effect = false
recorded = { file = \"marks.json\" }
";

/// Holds every page that it gets.
const HOARD: &str = "(loop [n 0 held []] (if (< n 20) (recur (inc n) (conj held (tool/page {:n n}))) (count held)))";
/// Holds its input and their number.
const COUNT: &str = "(loop [n 0] (if (< n 20) (do (tool/mark {:n n}) (recur (inc n))) (+ n (count ctx/text))))";

/// Twenty pages of 100 KiB each.
fn workshop(folder: &TempDir) -> Workshop {
    let page = |n: u64| json!({ "arguments": { "n": n }, "result": distinct_text(n, 100 << 10) });
    let mark = |n: u64| json!({ "arguments": { "n": n }, "result": n });
    let pages = json!((0..20).map(page).collect::<Vec<_>>()).to_string();
    let marks = json!((0..20).map(mark).collect::<Vec<_>>()).to_string();
    let results = BTreeMap::from([("page".to_owned(), pages), ("mark".to_owned(), marks)]);
    Workshop::new(parse_agent("a.agent.toml", AGENT).unwrap(), folder.path(), &results)
}

fn recorded<'c>(recording: &'c Recording<'c>) -> ProgramCourse<'c> {
    ProgramCourse { recording: Some(recording), ..ProgramCourse::default() }
}

#[tokio::test]
async fn a_run_whose_states_take_too_much_stops_and_can_go_on() {
    let (folder, model) = (TempDir::new().unwrap(), server([Reply::text("hello")]));
    let (scene, workshop) = (Scene::new(folder.path(), &model), workshop(&folder));
    let (owned, given) = (scene.owned(), Given::asked(HOARD));
    let begun = Begun { id: id("1"), parent: None, steps: 0 };
    let store = scene.store().await;
    {
        let kept = owned.kept(&scene, &store);
        let recording = Recording::new(&kept, &given.start(&begun)).limiting_states(4 << 20);
        let broken_off = workshop.run(workshop.terms(HOARD, "{}"), recorded(&recording)).await.unwrap_err();
        let error = match broken_off {
            BrokenOff::Engine(error) => error,
            BrokenOff::Store(error) => panic!("{error}"),
        };
        assert_eq!(error.kind(), ErrorKind::StateLimit);
        assert_eq!(
            error.to_string(),
            "the states of this run take more than 4 MiB, which is all that a run may save; let it hold less when it \
             calls tools, or split it"
        );
        assert_eq!(recording.trouble(), None);
    }
    store.close().await;

    // All that was called is kept with its result, and nothing of the state that was too much.
    let store = scene.store().await;
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!((detail.row.state, detail.resumable), (RunState::Interrupted, true));
    let before = detail.tools.len();
    assert!((10..20).contains(&before), "{before} calls of 100 KiB each");
    assert!(detail.tools.iter().all(|call| call.state == ToolCallState::Answered && call.attempts == 1));

    // With the usual limit it goes on, and calls nothing twice.
    let resumed =
        resume(&store, &SealKey::derived(&key()), scene.resuming(&id("1"), ResumeIdentity::On)).await.unwrap();
    let kept = owned.kept(&scene, &store);
    let recording = Recording::new(&kept, &given.start(&Begun { steps: resumed.step, ..begun }));
    let course = ProgramCourse { resumed: Some(&resumed), ..recorded(&recording) };
    let outcome = workshop.run(workshop.terms(HOARD, "{}"), course).await.unwrap();
    assert!(matches!(outcome.end, ProgramEnd::Value(_)), "{:?}", outcome.end);
    let detail = store.run(&id("1")).await.unwrap();
    let attempts: Vec<u32> = detail.tools.iter().map(|call| call.attempts).collect();
    assert_eq!(attempts, [1; 20]);
}

#[tokio::test]
async fn an_input_that_does_not_change_counts_once() {
    let (folder, model) = (TempDir::new().unwrap(), server([Reply::text("hello")]));
    let (scene, workshop) = (Scene::new(folder.path(), &model), workshop(&folder));
    let (owned, given) = (scene.owned(), Given::asked(COUNT));
    let store = scene.store().await;
    let kept = owned.kept(&scene, &store);
    let begun = Begun { id: id("1"), parent: None, steps: 0 };
    // Twenty states of 2 MiB each: a byte takes two digits.
    let recording = Recording::new(&kept, &given.start(&begun)).limiting_states(12 << 20);
    let input = json!({ "text": distinct_text(77, 1 << 20) }).to_string();
    let outcome = workshop.run(workshop.terms(COUNT, &input), recorded(&recording)).await.unwrap();
    assert!(matches!(outcome.end, ProgramEnd::Value(_)), "{:?}", outcome.end);
}
