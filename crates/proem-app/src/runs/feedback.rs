//! A person's feedback on a run. For an assembly and for an answer, it counts as a result of its prompt. The note
//! enters no prompt.

use proem_engine::profile::{Judgement, of_judgement};
use proem_engine::run::Time;
use proem_runtime::Environment;
use proem_store::query::{RunRow, RunScope, RunState};
use proem_store::record::{Evaluation, NewFeedback, RunId};
use proem_store::{Store, StoreAccess};

use super::find_run;
use crate::agents::Agents;
use crate::error::Error;
use crate::project::OpenProject;
use crate::records::Whose;
use crate::records::learning::ageing;
use crate::{records, when};

/// The written feedback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackReceipt {
    /// The run that the feedback was recorded for.
    pub run: RunId,
    /// When it was said.
    pub at: Time,
    /// The prompt of which it counts as a result, if it does.
    pub prompt: Option<String>,
}

impl FeedbackReceipt {
    /// Until when a bad result counts.
    #[must_use]
    pub fn until(&self, project: &OpenProject) -> Time {
        let days = i64::from(ageing(&project.config.adapt).days).saturating_mul(when::DAY);
        Time(self.at.0.saturating_add(days))
    }
}

/// A judgement as it is kept.
#[must_use]
pub const fn judgement_word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Good => "good",
        Judgement::Bad => "bad",
    }
}

/// A person's feedback, and its run.
#[derive(Debug, Clone, Copy)]
pub struct RunFeedback<'o> {
    /// The beginning of the run's id, or `last`.
    pub run: &'o str,
    /// The scope of runs.
    pub whose: Whose,
    /// The person's judgement.
    pub judgement: Judgement,
    /// Why, in the person's words.
    pub note: &'o str,
}

/// Writes down what a person thinks of a run, and why. The agent whose run it is says whether it counts.
///
/// # Errors
///
/// If there is no such run, or it can't be written.
pub async fn write_feedback(
    agents: &Agents,
    project: &OpenProject,
    opinion: RunFeedback<'_>,
) -> Result<FeedbackReceipt, Error> {
    let store = records::open_records(project, StoreAccess::Write).await?.store;
    let written = write_feedback_to_store(&store, agents, project, opinion).await;
    store.close().await;
    written
}

async fn write_feedback_to_store(
    store: &Store,
    agents: &Agents,
    project: &OpenProject,
    opinion: RunFeedback<'_>,
) -> Result<FeedbackReceipt, Error> {
    let RunFeedback { run, whose, judgement, note } = opinion;
    let run = find_run(store, project, run, whose, RunScope::Any).await?;
    let evaluation = feedback_evaluation(agents, &store.run(&run).await?.row, judgement);
    let at = when::time_now();
    let prompt = evaluation.as_ref().map(|evaluation| evaluation.agent.clone());
    let (verdict, note) = (judgement_word(judgement).to_owned(), note.to_owned());
    let actor = records::actor(&Environment::inherited(), project.places.channel);
    store.feedback(NewFeedback { run: run.clone(), actor, at, verdict, note, evaluation }).await?;
    Ok(FeedbackReceipt { run, at, prompt })
}

/// The verdict on a run's prompt. `None` if the prompt gave nothing to judge, and for an investigation, because the
/// rules set its level: feedback on that has its own command.
fn feedback_evaluation(agents: &Agents, row: &RunRow, judgement: Judgement) -> Option<Evaluation> {
    let RunState::Ended(outcome) = row.state else { return None };
    let id = &row.prompt;
    let agent = format!("{}/{}", id.agent, id.name);
    let is_result = agents.of(&row.kind)?.is_result(outcome);
    is_result.then(|| Evaluation { agent, kind: id.agent.clone(), issue: of_judgement(judgement) })
}
