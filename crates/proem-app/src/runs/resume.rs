//! Goes on where a crash or a question stopped the run of a prompt.
//!
//! Everything but the endpoint and its key comes from the record: the prompt, its contract, the model,
//! the profile. The rules that it is held to must be those of today.

use proem_engine::ordered::OrderedJson;
use proem_engine::run::{Exchange, Question, QuestionAnswer};
use proem_runtime::Environment;
use proem_runtime::driver::RunBounds;
use proem_runtime::records::{Recording, ResumeIdentity, Start, resume};
use proem_store::query::RunDetail;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::Error as Failure;
use crate::guarding::GuardFiles;
use crate::message::{Note, Noted};
use crate::places::Places;
use crate::project::OpenProject;
use crate::records::learning::learned_before;
use crate::records::writing::{NONE_TO_GO_ON_IN, OpenRecords, RecordChoice};
use crate::run::asking::{FinishedRun, TimedRequest};
use crate::run::made::RunStart;
use crate::run::setting::{CallUse, RunSetting};
use crate::{calling, records};

/// The run of a prompt that goes on.
#[derive(Debug)]
pub struct Resuming<'r> {
    /// What it asks with.
    pub setting: RunSetting,
    detail: &'r RunDetail,
    way: ResumeIdentity,
    inputs: OrderedJson,
}

impl<'r> Resuming<'r> {
    /// Opens the records for it.
    ///
    /// # Errors
    ///
    /// If its endpoint is no longer known, or the records can't be kept.
    pub async fn begin(
        (places, project): (&Places, &OpenProject),
        (detail, remade): (&'r RunDetail, RunStart),
        way: ResumeIdentity,
    ) -> Result<Noted<Self>, Failure> {
        let endpoint = calling::located(&project.config, &detail.row.endpoint, &Environment::inherited())?;
        let inputs = remade.inputs.clone();
        let mut setting = RunSetting::again(remade, detail, places, (endpoint, CallUse::Calls))?;
        let caps = records::caps(&project.config.budget);
        let mut notes = setting.record(places, project, RecordChoice::Needed, caps).await?;
        notes.extend(learned_before(detail));
        Ok(Noted { value: Self { setting, detail, way, inputs }, notes })
    }

    /// Goes on to the run's end. What it asks, under the short id that is given beside, `ask` has a person answer.
    ///
    /// # Errors
    ///
    /// If it can't go on, and those of `ask`.
    pub async fn to_the_end<E>(
        &self,
        places: &Places,
        mut ask: impl AsyncFnMut(&str, &[Question]) -> Result<Vec<QuestionAnswer>, E>,
        stop: &CancellationToken,
    ) -> Result<FinishedRun, E>
    where
        E: From<Failure> + From<proem_engine::Error> + From<proem_store::Error>,
    {
        let (setting, old) = (&self.setting, &self.detail.row);
        let rules = GuardFiles::load(places)?.rules();
        let Some(records) = &setting.records else { return Err(Failure::usage(NONE_TO_GO_ON_IN).into()) };
        let kept = records.kept();
        let resumed = resume(kept.store, kept.seal, kept.project, (&old.id, self.way), &rules).await;
        // A run that can't go on is an answer about the record, not a fault of the system.
        let resumed = resumed.map_err(|error| Failure::usage(error.to_string()))?;
        let began = Instant::now();
        let assembled = TimedRequest { prepared: setting.prepare(&self.inputs)?, took: began.elapsed() };
        let mut exchange = Exchange::restore(setting.terms(), &resumed.state.machine)?;
        let (id, parent) = match self.way {
            ResumeIdentity::On => (old.id.clone(), None),
            ResumeIdentity::Apart => (OpenRecords::id()?, Some(old.id.clone())),
        };
        let start = setting.start(id, &self.inputs, &assembled.prepared);
        let start = Start { parent, line: old.line, steps: resumed.step, ..start };
        let recording = Recording::new(&kept, &start);
        let calls = setting.calls(setting.caller()?, old.line.unwrap_or(1)).through(&recording);
        let bounds = RunBounds { stop: stop.clone(), time: Some(setting.bounds) };
        // What was lost belongs to the run that lost it, not to a fork.
        let lost = match self.way {
            ResumeIdentity::On => resumed.lost(),
            ResumeIdentity::Apart => 0,
        };
        let run = recording.id().short().to_owned();
        let ask = async |asked: &[Question]| ask(&run, asked).await;
        let outcome = resumed.to_the_end(&mut exchange, (&calls, &bounds), &recording, ask).await?;
        let made = calls.into_made();
        Ok(setting.finished(&recording, assembled, (outcome, made), (began, lost)).await)
    }

    /// Closes the records, with what there is to say about that.
    pub async fn end(self, places: &Places) -> Option<Note> {
        self.setting.end(places).await
    }
}
