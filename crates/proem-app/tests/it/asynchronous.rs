//! A program with a runtime of its own, whose tasks move between threads.

use std::sync::Arc;

use proem_app::records::Whose;
use proem_app::run::course::FinishedRun;
use proem_app::run::options::RunOptions;
use proem_app::run::setting::RunSetting;
use proem_app::runs::replay::replay_run;
use proem_app::runs::resume::StoppedRun;
use proem_app::shipped_agents;
use proem_engine::run::ExchangeEnd;
use proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Home;

/// A prompt with one input.
pub(crate) const ASK: &str = "---
model: small
input:
  schema: { question: string }
proem:
  version: 1.0.0
  sections:
    - { name: task, trust: task }
  inputs:
    question: { trust: trusted }
---
{{role \"user\"}}{{section \"task\"}}
{{question}}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_asked_recorded_and_replayed_by_tasks() {
    let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("Because."); 4])).unwrap();
    let home = Home::with(&format!("[providers.local]\nbase_url = \"{}/v1\"\n", server.base_url()));
    home.book("me/ask/1.0.0.prompt", ASK);
    let mut project = home.project();
    let options = RunOptions {
        provider: Some("local".to_owned()),
        model: Some("llama3.1".to_owned()),
        ..RunOptions::of("me/ask".to_owned())
    };
    let setting = RunSetting::new(&options, &mut project).unwrap();
    let booking = setting.book(&options, &project, &mut Vec::new()).await.unwrap();
    let run = Arc::new(setting.begin(booking, &options, &project, &mut Vec::new()).await.unwrap());
    let asked = (0..4).map(|number| {
        let run = run.clone();
        tokio::spawn(async move {
            let inputs = json!({ "question": format!("Why {number}?") }).into();
            run.ask(&inputs, None, &CancellationToken::new()).await.unwrap()
        })
    });
    let mut runs: Vec<FinishedRun> = Vec::new();
    for task in asked.collect::<Vec<_>>() {
        runs.push(task.await.unwrap());
    }
    assert!(runs.iter().all(|ran| matches!(ran.outcome.ended, ExchangeEnd::Answered { .. })), "{runs:?}");
    assert!(runs.iter().all(|ran| ran.trouble.is_none()), "{runs:?}");
    Arc::into_inner(run).unwrap().end().await;

    // A task can do everything with recorded runs as well.
    let id = runs[0].run.clone().unwrap().0;
    let replayed = tokio::spawn(async move {
        let agents = shipped_agents::agents();
        let replayed = replay_run(&agents, &project, &id, Whose::Project, &mut Vec::new()).await.unwrap();
        let stopped = StoppedRun::find(&agents, &project, &id, Whose::Project, &mut Vec::new()).await.unwrap();
        assert!(stopped.read_back().is_ok());
        replayed.report
    });
    let report = replayed.await.unwrap();
    assert_eq!((report.calls, report.difference), (1, None));
}
