//! The answer that a question goes on from.

use proem_store::query::{RunScope, RunsWanted};
use proem_store::record::{RunId, RunOutcome};

use super::PROMPT;
use crate::error::Error;
use crate::message::{Hint, WithNotes};
use crate::project::OpenProject;
use crate::records::{self, Whose};
use crate::runs::TextsByHash;

/// A question that was answered before. Both are material for the next one: the answer is a model's, and what the
/// question was about may have been anybody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierAnswer {
    /// The run that it is from.
    pub run: RunId,
    /// The person's words, as they were recorded.
    pub question: String,
    /// The model's words, as they were recorded.
    pub answer: String,
}

/// The last answer to a question of this project.
///
/// # Errors
///
/// If there is none, its texts are not kept, or the records can't be read.
pub async fn last_answer(project: &OpenProject) -> Result<WithNotes<EarlierAnswer>, Error> {
    let looked = records::look_at_records(project).await?;
    let wanted = RunsWanted {
        project: Whose::Project.owner(project),
        prompt: Some(PROMPT.to_owned()),
        outcome: Some(RunOutcome::Answered),
        listed: RunScope::Acted,
        limit: Some(1),
        ..RunsWanted::default()
    };
    let store = &looked.value;
    let Some(last) = store.runs(&wanted).await?.into_iter().next() else {
        return Err(Error::invalid("no earlier answer of this project is recorded; ask without going on from one"));
    };
    let detail = store.run(&last.id).await?;
    let hashes = [Some(detail.inputs.clone()), detail.value.clone()].into_iter().flatten().collect();
    let texts = TextsByHash::load(store, hashes).await?;
    let question = texts.json(&detail.inputs).and_then(|inputs| inputs.get("question")?.as_str().map(str::to_owned));
    let answer = detail.value.as_deref().and_then(|hash| texts.json(hash)?.as_str().map(str::to_owned));
    let (Some(question), Some(answer)) = (question, answer) else {
        let run = last.id.short().to_owned();
        return Err(Error::invalid(format!("the texts of run {run}, the last answer, are not kept; ask anew"))
            .hinting(Hint::SeeRun { run }));
    };
    Ok(WithNotes { value: EarlierAnswer { run: last.id, question, answer }, notes: looked.notes })
}
