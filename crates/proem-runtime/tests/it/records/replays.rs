//! Records that are gone through once more.

use proem_engine::call::Request;
use proem_engine::run::{Exchange, Outcome};
use proem_llm::scripted::{Reply, ScriptedServer};
use proem_runtime::records::{Difference, ReplayMeans, ReplayReport, replay};
use proem_store::Store;
use tempfile::TempDir;

use crate::records::scene::{Scene, id, server, terms};

struct Recorded {
    _folder: TempDir,
    server: ScriptedServer,
    scene: Scene,
    store: Store,
}

/// A run that these answers made.
async fn record_run(replies: Vec<Reply>) -> Recorded {
    let folder = TempDir::new().unwrap();
    let server = server(replies);
    let scene = Scene { attempts: 2, ..Scene::new(folder.path(), &server) };
    let store = scene.store().await;
    scene.run(&store, "1").await;
    Recorded { _folder: folder, server, scene, store }
}

impl Recorded {
    /// The replay of a run whose request is rebuilt like that.
    async fn replayed(&self, change: impl FnOnce(&mut Request)) -> ReplayReport {
        let detail = self.store.run(&id("1")).await.unwrap();
        let sent = self.server.requests().len();
        let mut request = self.scene.request();
        change(&mut request);
        let terms = terms();
        let mut machine = Exchange::new(terms.of(), request);
        let replayed =
            replay(&self.store, &detail, ReplayMeans::of_models(&[&self.scene.model()]), &mut machine, Outcome::clone)
                .await
                .unwrap();
        assert_eq!(self.server.requests().len(), sent, "a replay sends nothing");
        replayed
    }

    fn bytes(&self) -> u64 {
        self.server.requests().iter().map(|request| request.body.len() as u64).sum()
    }
}

#[tokio::test]
async fn a_record_replays_to_the_same_bytes_and_the_same_end() {
    for replies in [
        vec![Reply::text("hello")],
        // An empty answer is asked again, with what was wrong.
        vec![Reply::text(""), Reply::text("hello")],
        vec![Reply::refusal("no")],
        vec![Reply::raw(400, "{}")],
    ] {
        let recorded = record_run(replies).await;
        let replayed = recorded.replayed(|_| {}).await;
        assert_eq!(replayed.difference, None);
        assert_eq!(replayed.bytes, recorded.bytes());
        assert_eq!(replayed.calls as usize, recorded.server.requests().len());
        assert!(replayed.outcome.is_some());
    }
}

#[tokio::test]
async fn attempts_at_the_wire_are_one_call() {
    let recorded = record_run(vec![Reply::raw(500, "{}"), Reply::text("hello")]).await;
    let replayed = recorded.replayed(|_| {}).await;
    assert_eq!((replayed.difference, replayed.calls), (None, 1));
}

#[tokio::test]
async fn the_first_difference_is_named() {
    let recorded = record_run(vec![Reply::text("hello")]).await;
    let check = async |change: fn(&mut Request), expected: (&str, Option<usize>, &str, &str)| {
        let replayed = recorded.replayed(change).await;
        let Difference { call, what, byte, recorded, found } = replayed.difference.unwrap();
        assert_eq!(
            (call, what.as_str(), byte, recorded.as_str(), found.as_str()),
            (0, expected.0, expected.1, expected.2, expected.3)
        );
        assert_eq!((replayed.calls, replayed.bytes), (1, 0));
    };
    check(
        |request| request.assembly.sections[1].text = "Say hello to nobody.\n\n".to_owned(),
        (
            "section task",
            Some(13),
            r#""Say hello to everybody who reads this line.\n\n""#,
            r#""Say hello to nobody.\n\n""#,
        ),
    )
    .await;
    check(
        |request| {
            let section = &mut request.assembly.sections[0];
            (section.name, section.text) = ("order".to_owned(), "Do as you are told.\n\n".to_owned());
        },
        ("section rules", None, "section rules", "section order"),
    )
    .await;
    check(|request| drop(request.assembly.sections.pop()), ("section task", None, "section task", "nothing")).await;
    let replayed = recorded.replayed(|request| request.sampling.temperature_percent = Some(70)).await;
    let difference = replayed.difference.unwrap();
    assert_eq!(difference.what, "body");
    assert!(difference.found.contains("temperature"), "{difference:?}");
}

#[tokio::test]
async fn a_run_that_was_cut_off_is_replayed_as_far_as_it_came() {
    let recorded = record_run(vec![Reply::text("hello")]).await;
    let mut detail = recorded.store.run(&id("1")).await.unwrap();
    detail.steps.truncate(1);
    let terms = terms();
    let mut machine = Exchange::new(terms.of(), recorded.scene.request());
    let replayed = replay(
        &recorded.store,
        &detail,
        ReplayMeans::of_models(&[&recorded.scene.model()]),
        &mut machine,
        Outcome::clone,
    )
    .await
    .unwrap();
    // The record says that it ended.
    let difference = replayed.difference.unwrap();
    assert_eq!((difference.what.as_str(), difference.recorded.as_str()), ("outcome", "answered"));
    detail.row.state = proem_store::query::RunState::Interrupted;
    let mut machine = Exchange::new(terms.of(), recorded.scene.request());
    let replayed = replay(
        &recorded.store,
        &detail,
        ReplayMeans::of_models(&[&recorded.scene.model()]),
        &mut machine,
        Outcome::clone,
    )
    .await
    .unwrap();
    assert_eq!((replayed.calls, replayed.difference, replayed.outcome), (1, None, None));
}

#[tokio::test]
async fn a_damaged_record_is_said_to_be_one() {
    let recorded = record_run(vec![Reply::text("hello")]).await;
    let check = async |change: fn(&mut proem_store::query::RunDetail), expected: &str| {
        let mut detail = recorded.store.run(&id("1")).await.unwrap();
        change(&mut detail);
        let terms = terms();
        let mut machine = Exchange::new(terms.of(), recorded.scene.request());
        let error = replay(
            &recorded.store,
            &detail,
            ReplayMeans::of_models(&[&recorded.scene.model()]),
            &mut machine,
            Outcome::clone,
        )
        .await
        .unwrap_err();
        assert_eq!(error.to_string(), format!("run `1` can't be replayed: {expected}"));
    };
    check(|detail| detail.steps[1].2 = "0".repeat(64), "an event is missing from its record").await;
    check(|detail| drop(detail.steps.remove(0)), "an event is missing from its record").await;
    check(|detail| detail.calls[0].body = "0".repeat(64), "the hash of a request differs from that of the bytes sent")
        .await;
}
