//! Recorded texts, and texts that never are.

use std::path::Path;

use proem_engine::run::Time;
use proem_llm::scripted::Reply;
use proem_llm::secret::{Secret, find_secret};
use proem_runtime::records::{RecordDepth, assembly_record};
use proem_store::query::RunState;
use proem_store::record::{Numbers, Replayable, RunOutcome};
use tempfile::TempDir;

use crate::records::scene::{Begun, Given, Scene, id, server, text};

/// The bytes of every file in a folder.
fn everything(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).flat_map(|path| std::fs::read(path).unwrap()).collect()
}

fn folder_holds(folder: &Path, text: &str) -> bool {
    let bytes = everything(folder);
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn contents_are_kept_and_states_only_sealed() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("a rather unusual answer")]);
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    scene.run(&store, "1").await;
    assert!(folder_holds(folder.path(), "a rather unusual answer"));
    // The machine's state alone has these.
    assert!(!folder_holds(folder.path(), "\"phase\""));
}

#[tokio::test]
async fn hashes_only_leave_no_text() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("a rather unusual answer")]);
    let scene = Scene { keeping: RecordDepth::Hashes, ..Scene::new(folder.path(), &server) };
    let store = scene.store().await;
    assert_eq!(text(&scene.run(&store, "1").await), "a rather unusual answer");
    let detail = store.run(&id("1")).await.unwrap();
    let Replayable::No(why) = &detail.replayable else { panic!("it can't be replayed") };
    assert_eq!(why, "only hashes are kept of its texts (`records.keep`)");
    assert_eq!((detail.row.input_tokens, detail.row.output_tokens), (Some(100), Some(10)));
    assert_eq!(detail.row.cost.map(|cost| cost.0), Some(350_000));
    assert_eq!(detail.calls[0].sections.len(), 2);
    assert!(!detail.resumable);
    let hash = &detail.calls[0].sections[1].text;
    assert!(store.contents(std::slice::from_ref(hash)).await.unwrap().is_empty());
    for text in ["a rather unusual answer", "everybody who reads", "Answer in one line", "phase"] {
        assert!(!folder_holds(folder.path(), text), "{text}");
    }
}

#[tokio::test]
async fn credentials_are_taken_out_of_everything() {
    const KEY: &str = "sk-0123456789abcdef";
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text(format!("the key is {KEY}, says \"{KEY}\""))]);
    let mut scene = Scene::new(folder.path(), &server);
    scene.secrets = vec![Secret::new("TEST_KEY", KEY)];
    scene.text = format!("My key is {KEY}.");
    let store = scene.store().await;
    let ran = scene.run(&store, "1").await;
    // The user gets the answer as it is.
    assert!(text(&ran).contains(KEY));
    assert_eq!(ran.trouble, None);
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!(detail.replayable, Replayable::No("it contained a credential, which was removed".to_owned()));
    assert!(find_secret(&scene.secrets, &everything(folder.path())).is_none());
    let hash = detail.calls[0].sections[1].text.clone();
    let kept = store.contents(std::slice::from_ref(&hash)).await.unwrap();
    assert_eq!(kept[&hash], b"My key is [redacted:TEST_KEY].\n\n");
}

#[tokio::test]
async fn a_credential_in_the_answer_alone_is_taken_out_too() {
    const KEY: &str = "sk-0123456789abcdef";
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text(format!("it is {KEY}"))]);
    let scene = Scene { secrets: vec![Secret::new("K", KEY)], ..Scene::new(folder.path(), &server) };
    let store = scene.store().await;
    scene.run(&store, "1").await;
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!(detail.replayable, Replayable::No("it contained a credential, which was removed".to_owned()));
    assert!(find_secret(&scene.secrets, &everything(folder.path())).is_none());
}

#[tokio::test]
async fn an_assembly_without_a_call_is_kept_too() {
    let folder = TempDir::new().unwrap();
    let server = server([Reply::text("hello")]);
    let scene = Scene::new(folder.path(), &server);
    let store = scene.store().await;
    let owned = scene.owned();
    let kept = owned.kept(&scene, &store);
    let given = Given::new(&scene.text);
    let start = given.start(&Begun { id: id("1"), parent: None, steps: 0 });
    let numbers = Numbers { embedding_calls: Some(1), ..Numbers::default() };
    let finish = assembly_record(&kept, &start, &scene.request().assembly, numbers).unwrap();
    assert!(finish.at > Time(0));
    store.finish(finish).await.unwrap();
    let detail = store.run(&id("1")).await.unwrap();
    assert_eq!(detail.row.state, RunState::Ended(RunOutcome::Assembled));
    assert_eq!(detail.row.numbers.embedding_calls, Some(1));
    let call = &detail.calls[0];
    assert_eq!((call.body.as_str(), call.counter.as_str(), call.sections.len()), ("", "o200k", 2));
    assert!(call.attempts.is_empty());
}
