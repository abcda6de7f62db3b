//! Attempts to have a model asked without a booking. The server's log is the oracle.

use proem_app::project::OpenProject;
use proem_app::records::booking::Booking;
use proem_app::records::writing::{CallTerms, OpenRecords, RecordChoice};
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::RunSetting;
use proem_app::{Error, ErrorKind};
use proem_engine::call::NanoDollars;
use proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Home;

/// A user with a server on this machine, and with that at the end of the configuration.
struct Scene {
    home: Home,
    server: ScriptedServer,
}

impl Scene {
    fn with(config: &str) -> Self {
        let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("Because."); 2])).unwrap();
        let home = Home::with(&format!("[providers.local]\nbase_url = \"{}/v1\"\n{config}", server.base_url()));
        home.book("me/ask/1.0.0.prompt", crate::asynchronous::ASK);
        home.book("other/ask/1.0.0.prompt", crate::asynchronous::ASK);
        Self { home, server }
    }
}

fn local_options(prompt: &str) -> RunOptions {
    RunOptions {
        provider: Some("local".to_owned()),
        model: Some("llama3.1".to_owned()),
        ..RunOptions::of(prompt.to_owned())
    }
}

/// Begins with a booking, and asks if that succeeds.
async fn ask_under(booking: Booking, options: &RunOptions, project: &mut OpenProject) -> Result<(), Error> {
    let setting = RunSetting::new(options, project)?;
    let run = setting.begin(booking, options, project, &mut Vec::new()).await?;
    let asked = run.ask(&json!({ "question": "Why?" }).into(), None, &CancellationToken::new()).await;
    run.end().await;
    asked.map(|_| ())
}

/// The booking that an agent's prompt gets by its own options.
async fn book(options: &RunOptions, project: &mut OpenProject) -> Booking {
    let setting = RunSetting::new(options, project).unwrap();
    setting.book(options, project, &mut Vec::new()).await.unwrap()
}

async fn check_unbooked(scene: &Scene, booking: Booking, options: &RunOptions) {
    let error = ask_under(booking, options, &mut scene.home.project()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Bug, "{error}");
    assert_eq!(scene.server.requests().len(), 0, "nothing left");
}

#[tokio::test]
async fn a_booking_that_sends_nothing_lets_no_run_ask_over_a_network() {
    let scene = Scene::with("");
    check_unbooked(&scene, Booking::Unsent, &local_options("me/ask")).await;
    // The other way round, an agent whose request is only looked at has nobody to ask.
    let dry = RunOptions { carriage: Carriage::Nobody, ..local_options("me/ask") };
    check_unbooked(&scene, Booking::Unsent, &dry).await;
}

#[tokio::test]
async fn a_booking_without_a_budget_is_worth_nothing_to_an_agent_that_has_one() {
    let scene = Scene::with("[budget.agent.me]\nday = 1\n");
    let other = RunOptions { record: RecordChoice::No, ..local_options("other/ask") };
    let booking = book(&other, &mut scene.home.project()).await;
    assert!(matches!(booking, Booking::Unrecorded(_)), "{booking:?}");
    check_unbooked(&scene, booking, &local_options("me/ask")).await;
}

#[tokio::test]
async fn records_without_caps_are_no_booking_under_a_budget() {
    let scene = Scene::with("[budget.project]\nday = 1\n");
    let project = scene.home.project();
    let records = OpenRecords::begin(&project, RecordChoice::AsConfigured, Some(CallTerms::free())).await.unwrap();
    let booking = Booking::Recorded(Box::new(records.value.unwrap()));
    check_unbooked(&scene, booking, &local_options("me/ask")).await;
}

#[tokio::test]
async fn the_most_that_a_caller_allows_is_part_of_the_booking() {
    let scene = Scene::with("");
    let capped = RunOptions { most: Some(NanoDollars(1)), ..local_options("me/ask") };
    let booking = book(&local_options("me/ask"), &mut scene.home.project()).await;
    check_unbooked(&scene, booking, &capped).await;
}

#[tokio::test]
async fn a_budget_that_arrives_after_the_booking_stops_the_run() {
    let scene = Scene::with("");
    let unrecorded = RunOptions { record: RecordChoice::No, ..local_options("me/ask") };
    let booking = book(&unrecorded, &mut scene.home.project()).await;
    let config = scene.home.places.config_file();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}[budget.user]\nday = 1\n")).unwrap();
    check_unbooked(&scene, booking, &unrecorded).await;
}

#[tokio::test]
async fn without_a_budget_a_run_may_decline_records() {
    let scene = Scene::with("");
    let unrecorded = RunOptions { record: RecordChoice::No, ..local_options("me/ask") };
    let mut project = scene.home.project();
    let booking = book(&unrecorded, &mut project).await;
    ask_under(booking, &unrecorded, &mut project).await.unwrap();
    assert_eq!(scene.server.requests().len(), 1);
}
