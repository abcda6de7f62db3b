//! `proem runs feedback`: what a person thinks of a run.

use std::process::ExitCode;

use proem_app::runs::feedback::{FeedbackReceipt, RunFeedback, judgement_word, write_feedback};
use proem_app::shipped_agents;
use proem_app::{records, when};
use proem_engine::profile::Judgement;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::ui;

/// A person's opinion of a run, as it was written down.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunFeedbackOutput<'f> {
    /// The run's id.
    run: &'f str,
    /// `good` or `bad`.
    verdict: &'static str,
    /// The person's words.
    note: &'f str,
    /// The effect on what prompts learn. Null if there is none.
    counts: Option<FeedbackCount<'f>>,
}

/// The effect of an opinion.
#[derive(Debug, Serialize, JsonSchema)]
struct FeedbackCount<'f> {
    /// The prompt that learns from it.
    prompt: &'f str,
    /// `success` or `failure`.
    #[serde(rename = "as")]
    counts_as: &'static str,
}

pub(super) async fn run_runs_feedback(
    project: &OpenProject,
    run: &str,
    judgement: Judgement,
    note: &str,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    let opinion = RunFeedback { run, whose: place.whose(), judgement, note };
    let said = write_feedback(&shipped_agents::agents(), project, opinion).await?;
    if place.json {
        let counts_as = if judgement == Judgement::Good { "success" } else { "failure" };
        let counts = said.prompt.as_ref().map(|prompt| FeedbackCount { prompt, counts_as });
        let output = RunFeedbackOutput { run: &said.run.0, verdict: judgement_word(judgement), note, counts };
        ui::print_json_document(&json::pretty(&json!(output)))?;
    } else {
        let follows = follows(&said, judgement, project)?;
        ui::aside(&format!("run {}: {}{follows}\n", said.run.short(), judgement_word(judgement)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The consequences of the feedback, in words.
fn follows(said: &FeedbackReceipt, judgement: Judgement, project: &OpenProject) -> Result<String, CommandFailure> {
    let Some(prompt) = &said.prompt else { return Ok(String::new()) };
    Ok(match judgement {
        Judgement::Good => format!("; earlier failures of {prompt} no longer count"),
        Judgement::Bad => {
            let until = when::day_and_month(said.until(project), &records::booking_zone(&project.config.budget)?);
            // A prompt in a file of its own is in no book, so `proem adapt` could not find it.
            format!("; it counts as one failure of {prompt}, until {until}; see `proem failures list`")
        }
    })
}
