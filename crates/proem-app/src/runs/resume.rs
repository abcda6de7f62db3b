//! A run that a crash or a question stopped, found and read back so that it can be gone on with.
//!
//! Everything but the endpoint and its key comes from the record: the prompts, their contracts, the model, the
//! profile. The rules that it is held to must be those of today. How it goes on is [`crate::agents::running`]'s.

use proem_store::query::{RunDetail, RunScope};
use proem_store::record::{RunCaller, RunId};

use super::find_run;
use crate::agents::record::RunRecord;
use crate::agents::{Agents, ReadBack};
use crate::error::Error;
use crate::message::{Message, Note, NoteKind};
use crate::project::OpenProject;
use crate::records::{self, Whose};

/// A run with what was read back of it, or why nothing could be.
#[derive(Debug)]
pub struct StoppedRun {
    /// Its record.
    pub detail: RunDetail,
    read: Result<ReadBack, Message>,
}

impl StoppedRun {
    /// Finds it, and has its agent read it back. A run that a call started goes on within its caller, so that is the
    /// one. Messages go to `notes`.
    ///
    /// # Errors
    ///
    /// If there is no such run, or the records are unreadable.
    pub async fn find(
        agents: &Agents,
        project: &OpenProject,
        run: &str,
        whose: Whose,
        notes: &mut Vec<Note>,
    ) -> Result<Self, Error> {
        let store = records::look_at_records(project).await?.collect(notes);
        let id = find_run(&store, project, run, whose, RunScope::Acted).await?;
        let mut detail = store.run(&id).await?;
        while let Some(caller) = calling_run(&detail) {
            let above = store.run(&caller).await?;
            let (run, caller) = (detail.row.id.short(), above.row.id.short());
            let words = format!("run {run} was started by a call of run {caller}, which goes on with it");
            notes.push(Note::new(NoteKind::Records, words));
            detail = above;
        }
        let read = agents.read_back(&RunRecord { store: &store, detail: &detail, places: &project.places }).await;
        store.close().await;
        Ok(Self { detail, read })
    }

    /// The record, and the run read back from it.
    ///
    /// # Errors
    ///
    /// If nothing could be.
    pub fn read_back(self) -> Result<(RunDetail, ReadBack), Error> {
        let Self { detail, read } = self;
        match read {
            Ok(read) => Ok((detail, read)),
            Err(Message { text, hint }) => {
                let refused = Error::invalid(format!("run {} can't be resumed: {text}", detail.row.id.short()));
                Err(hint.into_iter().fold(refused, Error::hinting))
            }
        }
    }
}

/// The run of the call that started a run. One that only follows on another one in a chain is its own.
fn calling_run(detail: &RunDetail) -> Option<RunId> {
    let caller = detail.row.caller.as_ref().filter(|caller| caller.effect != RunCaller::CHAINED)?;
    Some(caller.run.clone())
}
