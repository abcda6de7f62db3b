//! `proem runs feedback`: what a person thinks of a run. Of an assembly, and of an answer, it counts as a result of
//! its prompt; the note enters no prompt.

use std::process::ExitCode;

use proem_engine::profile::{Judgement, of_judgement};
use proem_engine::run::Time;
use proem_store::query::{RunRow, RunState};
use proem_store::record::{Evaluation, NewFeedback, RunId, RunOutcome};
use proem_store::{Access, Store};

use super::{Failure, Listed, Places, Project, RecordsPlace, found};
use crate::args::records::VerdictArg;
use crate::ui;
use proem_app::records::learning::ageing;
use proem_app::{records, when};

pub(super) async fn run(
    places: &Places,
    project: &Project,
    (run, verdict, note): (&str, VerdictArg, &str),
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    let store = records::open(places, project, Access::Write).await?.store;
    let judgement = match verdict {
        VerdictArg::Good => Judgement::Good,
        VerdictArg::Bad => Judgement::Bad,
    };
    let written = write(&store, project, (run, place), (judgement, note)).await;
    store.close().await;
    let said = written?;
    if place.json {
        let counts = said.prompt.as_ref().map(|prompt| {
            let what = if judgement == Judgement::Good { "success" } else { "failure" };
            serde_json::json!({ "prompt": prompt, "as": what })
        });
        let said = serde_json::json!({ "run": said.run.0, "verdict": word(judgement), "note": note, "counts": counts });
        ui::document(&proem_text::json::pretty(&said))?;
    } else {
        let follows = follows(&said, judgement, project)?;
        ui::aside(&format!("run {}: {}{follows}\n", said.run.short(), word(judgement)));
    }
    Ok(ExitCode::SUCCESS)
}

/// What was written.
struct Said {
    run: RunId,
    at: Time,
    /// The prompt of which it counts as a result, if it does.
    prompt: Option<String>,
}

const fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Good => "good",
        Judgement::Bad => "bad",
    }
}

/// What follows from what was said, in words.
fn follows(said: &Said, judgement: Judgement, project: &Project) -> Result<String, Failure> {
    let Some(prompt) = &said.prompt else { return Ok(String::new()) };
    Ok(match judgement {
        Judgement::Good => format!("; it ends the failures of {prompt} before it"),
        Judgement::Bad => {
            let days = i64::from(ageing(&project.config.adapt).days).saturating_mul(when::DAY);
            let until = when::day(Time(said.at.0.saturating_add(days)), &records::zone(&project.config.budget)?);
            format!("; it counts as one failure of {prompt}, until {until}; see proem adapt {prompt}")
        }
    })
}

async fn write(
    store: &Store,
    project: &Project,
    (run, place): (&str, &RecordsPlace),
    (judgement, note): (Judgement, &str),
) -> Result<Said, Failure> {
    let run = found(store, project, (run, place), Listed::Any).await?;
    let evaluation = evaluation(&store.run(&run).await?.row, judgement);
    let (actor, at) = (crate::actor(), when::now());
    let prompt = evaluation.as_ref().map(|evaluation| evaluation.agent.clone());
    let verdict = word(judgement).to_owned();
    store.feedback(NewFeedback { run: run.clone(), actor, at, verdict, note: note.to_owned(), evaluation }).await?;
    Ok(Said { run, at, prompt })
}

/// What is said of a run's prompt; `None` where nothing of the prompt's was there to be judged, and of an
/// investigation, whose level is the rules': `proem risk feedback` is about that.
fn evaluation(row: &RunRow, judgement: Judgement) -> Option<Evaluation> {
    let is_result = match row.state {
        RunState::Ended(RunOutcome::Answered) => row.kind == "prompt",
        RunState::Ended(RunOutcome::Assembled) => row.kind == "assemble",
        _ => false,
    };
    let id = &row.prompt;
    let agent = format!("{}/{}", id.agent, id.name);
    is_result.then(|| Evaluation { agent, kind: id.agent.clone(), issue: of_judgement(judgement) })
}
