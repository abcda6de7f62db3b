//! What a person thinks of a run. Of an assembly, and of an answer, it counts as a result of its prompt; the note
//! enters no prompt.

use proem_engine::profile::{Judgement, of_judgement};
use proem_engine::run::Time;
use proem_runtime::Environment;
use proem_store::query::{RunRow, RunScope, RunState};
use proem_store::record::{Actor, Evaluation, NewFeedback, RunId, RunOutcome};
use proem_store::{Store, StoreAccess};

use super::found;
use crate::error::Error as Failure;
use crate::places::Places;
use crate::project::OpenProject;
use crate::records::Whose;
use crate::records::learning::ageing;
use crate::{records, when};

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackReceipt {
    /// The run.
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
pub const fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Good => "good",
        Judgement::Bad => "bad",
    }
}

/// Writes down what a person thinks of a run, and why.
///
/// # Errors
///
/// If there is no such run, or it can't be written.
pub async fn write(
    (places, project): (&Places, &OpenProject),
    run: (&str, Whose),
    judged: (Judgement, &str),
) -> Result<FeedbackReceipt, Failure> {
    let store = records::open(places, project, StoreAccess::Write).await?.store;
    let actor = records::actor(&Environment::inherited(), places.channel);
    let written = written(&store, project, run, (judged, actor)).await;
    store.close().await;
    written
}

async fn written(
    store: &Store,
    project: &OpenProject,
    run: (&str, Whose),
    ((judgement, note), actor): ((Judgement, &str), Actor),
) -> Result<FeedbackReceipt, Failure> {
    let run = found(store, project, run, RunScope::Any).await?;
    let evaluation = evaluation(&store.run(&run).await?.row, judgement);
    let at = when::now();
    let prompt = evaluation.as_ref().map(|evaluation| evaluation.agent.clone());
    let verdict = word(judgement).to_owned();
    store.feedback(NewFeedback { run: run.clone(), actor, at, verdict, note: note.to_owned(), evaluation }).await?;
    Ok(FeedbackReceipt { run, at, prompt })
}

/// What is said of a run's prompt; `None` where nothing of the prompt's was there to be judged, and of an
/// investigation, whose level is the rules': people say elsewhere what they think of that.
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
