//! Calls whose cycle broke off: what was answered is acted on, and what was not asked yet is asked, before anybody is asked
//! anew.
//!
//! Invariant: a signal whose answers are recorded is not asked about a second time, so that no other answer to the same
//! question proposes a second action.

use std::cell::RefCell;
use std::path::Path;

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::FallbackReason;
use proem_runtime::records::{ReplayMeans, ResumeIdentity, replay};
use proem_store::query::{RunDetail, RunScope, RunState, RunsWanted};
use proem_store::record::Replayable;
use proem_triage::pipeline::PipelineEnd;

use super::desk::TriageDesk;
use super::model_calls::{AskedCycle, AskingTerms, nobody};
use super::models::{KIND, TriageRun};
use crate::agents::record::RunRecord;
use crate::agents::running::Resumption;
use crate::agents::{AgentRun as _, ReadBack};
use crate::error::{Error, ErrorKind};
use crate::message::{Note, NoteKind};
use crate::run::options::Carriage;

/// How many of the last runs are looked through for one of triage: its prompts can be run alone as well.
const RECENT: u32 = 20;

impl TriageDesk<'_> {
    /// The result of the last run of triage, if its cycle broke off: all its signals are still open as they were asked
    /// about. A run that has ended gives its recorded result. One whose process is gone goes on first, if `may_ask`. A
    /// run that a person broke off, or that is unreadable back or resumed, gives none.
    ///
    /// # Errors
    ///
    /// If the records are unreadable, or a run that goes on can't be recorded.
    pub(super) async fn broken_off(
        &self,
        asking: &AskingTerms<'_>,
        may_ask: bool,
        notes: &mut Vec<Note>,
    ) -> Result<Option<AskedCycle>, Error> {
        let (store, project) = (&self.desk.store, self.desk.project);
        // Answers recorded in a folder are asked for there, whatever the records have.
        let is_replayed = matches!(asking.options.carriage, Carriage::Cassettes(_));
        if is_replayed || store.open_signals(&self.desk.owner, 1).await?.is_empty() {
            return Ok(None);
        }
        let wanted = RunsWanted {
            project: Some(self.desk.owner.clone()),
            prompt: Some(KIND.to_owned()),
            listed: RunScope::Acted,
            limit: Some(RECENT),
            ..RunsWanted::default()
        };
        let Some(last) = store.runs(&wanted).await?.into_iter().find(|row| row.kind == KIND) else { return Ok(None) };
        if !matches!(last.state, RunState::Ended(_) | RunState::Interrupted) {
            return Ok(None);
        }
        let detail = match store.run(&last.id).await {
            Ok(detail) => detail,
            Err(problem) => return Ok(given_up(&problem, notes)),
        };
        let record = RunRecord { store, detail: &detail, places: &project.places };
        // A missing part or another version of a record is no fault of this cycle's: models are asked anew.
        let Ok((run, None)) = TriageRun::recorded(&record).await else { return Ok(None) };
        let about: Vec<SignalRevision> = run.subject().signals.iter().map(SignalRevision::from).collect();
        if about.is_empty() || self.still_open(&about).await?.is_none() {
            return Ok(None);
        }
        let id = last.id.short().to_owned();
        let found = match last.state {
            // One that goes on is held to today's rules by its seal, and to the rest by its agent.
            RunState::Ended(_)
                if run.access().guarding.rules != self.desk.guarding.rules || !run.is_held_to_the_same(project)? =>
            {
                notes.push(Note::new(NoteKind::Triage, anew(&format!("run {id} was held to other rules"))));
                None
            }
            RunState::Ended(_) => {
                let end = match self.recorded_end(&detail, &run).await {
                    Ok(end) => end,
                    Err(problem) => return Ok(given_up(&problem, notes)),
                };
                end.map(|end| AskedCycle::recorded(about, end, id.clone()))
            }
            // Its calls would pass by what carries those of this command.
            _ if !may_ask || !matches!(asking.options.carriage, Carriage::Network) => None,
            _ => self.gone_on(detail, run, asking, notes).await?,
        };
        if found.is_some() {
            notes.push(Note::new(
                NoteKind::Triage,
                format!("a cycle broke off behind its calls; what run {id} was answered is used"),
            ));
        }
        Ok(found)
    }

    /// The result of a run's recorded answers. `None` if it differs from its recorded end.
    async fn recorded_end(&self, detail: &RunDetail, run: &TriageRun) -> Result<Option<PipelineEnd>, Error> {
        if detail.replayable != Replayable::Yes {
            return Ok(None);
        }
        let end: RefCell<Option<PipelineEnd>> = RefCell::default();
        let (mut machine, models) = (run.machine(), run.access().models());
        let replayed = replay(&self.desk.store, detail, ReplayMeans::of_models(&models), &mut machine, |done| {
            let told = done.detail.as_ref().and_then(|detail| detail.downcast_ref::<PipelineEnd>());
            end.replace(told.cloned());
            done.outcome.clone()
        });
        let is_same = match replayed.await {
            Ok(report) => report.difference.is_none(),
            Err(proem_runtime::Error::NotReplayable { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        let was_cancelled = |end: &PipelineEnd| matches!(end.stopped, Some(FallbackReason::Cancelled(_)));
        Ok(end.into_inner().filter(|end| is_same && !was_cancelled(end)))
    }

    /// The result of a run whose process is gone, once it has gone on to its end.
    async fn gone_on(
        &self,
        detail: RunDetail,
        run: TriageRun,
        asking: &AskingTerms<'_>,
        notes: &mut Vec<Note>,
    ) -> Result<Option<AskedCycle>, Error> {
        let project = self.desk.project;
        let read = ReadBack { run: Box::new(run.costing_at_most(asking.options.most)), changed: None };
        // Other rules, another endpoint, no key: what a run is held to has changed, and a new one is held to what is.
        let mut resumption =
            match Resumption::new(project, detail, read, project.root.as_deref().unwrap_or(Path::new(".")), &|_| {}) {
                Ok(resumption) => resumption,
                Err(why) => return Ok(given_up(&why, notes)),
            };
        resumption.begin(project, notes).await?;
        let ended = resumption.to_the_end::<Error>(project, ResumeIdentity::On, nobody, asking.stop).await;
        let asked = match ended {
            Ok(ended) => AskedCycle::of_run(resumption.run(), ended).map(AskedCycle::unless_broken_off).transpose(),
            Err(why) if matches!(why.kind(), ErrorKind::Invalid | ErrorKind::Bug) => Ok(given_up(&why, notes)),
            Err(error) => Err(error),
        };
        notes.extend(resumption.end().await);
        asked
    }
}

/// No cycle of a run that is unreadable or gone on with, with a note that says why.
fn given_up(why: &dyn std::fmt::Display, notes: &mut Vec<Note>) -> Option<AskedCycle> {
    notes.push(Note::new(NoteKind::Triage, anew(why)));
    None
}

/// Says why a run is not gone on with.
fn anew(why: &dyn std::fmt::Display) -> String {
    format!("{why}; its signals are asked about anew")
}
