//! A model's reading of feedback: the prompt `risk/feedback`, asked like any other.

use proem_agents::risk::feedback::{FeedbackAnalysis, feedback_inputs};
use proem_engine::providers::Providers;
use proem_engine::run::ExchangeEnd;
use proem_llm::endpoint::EndpointKey;
use proem_runtime::Environment;
use tokio_util::sync::CancellationToken;

use super::FeedbackSummary;
use crate::calling::{self, WantedModel};
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::project::OpenProject;
use crate::run::options::{Carriage, RunOptions};
use crate::run::setting::OpenRun;

/// The prompt that [`ask_about_feedback`] asks with.
pub const PROMPT: &str = "risk/feedback";

/// Why nobody is asked although nobody said so: there is no key.
///
/// # Errors
///
/// If the prompt or the model is not there.
pub fn unasked_reason(options: &RunOptions, project: &OpenProject) -> Result<Option<String>, Error> {
    let prompt = project.book()?.prompt(PROMPT, None)?;
    let is_replayed = matches!(options.carriage, Carriage::Cassettes(_));
    if is_replayed || options.model.is_some() || options.provider.is_some() {
        return Ok(None);
    }
    let wanted = WantedModel { prompt: prompt.file.header.model.as_deref(), ..WantedModel::default() };
    let asked = calling::wanted_endpoint(&project.config, &Providers::load()?, &wanted, &Environment::inherited())?;
    Ok(matches!(asked.endpoint.key, EndpointKey::Missing { .. }).then(|| {
        let variable = asked.endpoint.key.variable().unwrap_or("a key");
        format!("no model is asked: {variable} is not set")
    }))
}

/// Asks what a model makes of it, by a run of [`PROMPT`]. An answer that is unusable is noted: the counts stand without
/// it.
///
/// # Errors
///
/// If the request can't be made, or the run can't be recorded as begun.
pub async fn ask_about_feedback(
    run: &OpenRun,
    judged: &FeedbackSummary,
    stop: &CancellationToken,
    notes: &mut Vec<Note>,
) -> Result<Option<FeedbackAnalysis>, Error> {
    let period = format!("{} on", judged.since);
    let inputs = feedback_inputs(&period, (&judged.tally, &judged.levels), &judged.suggestions, &judged.thresholds);
    match run.ask(&inputs.into(), None, stop).await?.outcome.ended {
        ExchangeEnd::Answered { value } => {
            let value = proem_guard::show::exact_value(&value);
            FeedbackAnalysis::read(&value, &judged.suggestions)
                .map(Some)
                .map_err(|error| Error::bug("an answer that matches its schema", error))
        }
        ExchangeEnd::FellBack { .. } | ExchangeEnd::Failed { .. } => {
            notes.push(Note::new(
                NoteKind::Model,
                "the model gave no usable answer; the counts and suggestions are complete without it",
            ));
            Ok(None)
        }
    }
}
