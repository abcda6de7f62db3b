//! `proem runs resume`: goes on where a crash or a question stopped a run. What it asks is asked at the
//! terminal.
//!
//! Everything but the endpoint and its key comes from the record: the prompt, its contract, the model,
//! the profile. The rules that it is held to must be those of today.

mod questions;

use std::process::ExitCode;

use indicatif::ProgressBar;
use proem_engine::run::{Exchange, Question};
use proem_runtime::Environment;
use proem_runtime::driver::Bounds;
use proem_runtime::records::{Going as Way, Recording, Start, resume};
use proem_store::query::RunState;
use proem_store::record::RunId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::replay::remade;
use super::{Failure, Places, Project, RecordsPlace};
use crate::commands::run::asking::{Assembled, Ran};
use crate::commands::run::calling as with_calls;
use crate::commands::run::setting::{Setting, Wanted};
use crate::commands::run::single::{Said, print, waiting};
use crate::guarding::GuardFiles;
use crate::records::writing::{Record, Writing};
use crate::{calling, records};

pub(super) fn run(
    places: &Places,
    project: &mut Project,
    (run, fork): (&str, bool),
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    project.say();
    let project = &*project;
    with_calls(async |stop| {
        let (detail, remade) = remade(places, project, run).await?;
        let id = detail.row.id.clone();
        if detail.row.state == RunState::Asking {
            // Before the run is taken over: it stays as it is.
            questions::on_terminal(id.short())?;
        }
        let remade = remade.map_err(|why| Failure::usage(format!("run {} can't go on: {why}", id.short())))?;
        let endpoint = calling::located(&project.config, &detail.row.endpoint, &Environment::inherited())?;
        let inputs = remade.inputs.clone();
        let mut setting = Setting::again(remade, &detail, places, (endpoint, Wanted::Calls))?;
        let caps = records::caps(&project.config.budget);
        setting.record(places, project, Record::AsConfigured, caps).await?;
        let waiting = waiting(&setting);
        let going = Going { id, fork, line: detail.row.line, inputs: &inputs };
        let ran = going.on(&setting, &GuardFiles::load(places)?.rules(), (&waiting, &stop)).await;
        waiting.finish_and_clear();
        let done = match ran {
            Ok(ran) => print(&setting, &ran, Said { json: place.json, explain: false }).await,
            Err(failure) => Err(failure),
        };
        setting.end(places).await;
        done
    })
}

/// A run that goes on.
struct Going<'g> {
    id: RunId,
    fork: bool,
    line: Option<u32>,
    inputs: &'g serde_json::Value,
}

impl Going<'_> {
    async fn on(
        &self,
        setting: &Setting,
        rules: &str,
        (waiting, stop): (&ProgressBar, &CancellationToken),
    ) -> Result<Ran, Failure> {
        let Some(records) = &setting.records else {
            return Err(Failure::usage(
                "a run goes on in the records, and none are kept; change `records.keep` in your configuration",
            ));
        };
        let kept = records.kept();
        let way = if self.fork { Way::Apart } else { Way::On };
        let resumed = resume(kept.store, kept.seal, kept.project, (&self.id, way), rules).await;
        // A run that can't go on is an answer about the record, not a fault of the system.
        let resumed = resumed.map_err(|error| Failure::usage(error.to_string()))?;
        let began = Instant::now();
        let assembled = Assembled { prepared: setting.prepare(self.inputs)?, took: began.elapsed() };
        let mut exchange = Exchange::restore(setting.terms(), &resumed.state.machine)?;
        let (id, parent) = if self.fork { (Writing::id()?, Some(self.id.clone())) } else { (self.id.clone(), None) };
        let start = setting.start(id, self.inputs, &assembled.prepared);
        let start = Start { parent, line: self.line, steps: resumed.step, ..start };
        let recording = Recording::new(&kept, &start);
        let calls = setting.calls(setting.caller()?, self.line.unwrap_or(1)).through(&recording);
        let bounds = Bounds { stop: stop.clone(), time: Some(setting.bounds) };
        let run = recording.id().short().to_owned();
        let ask = async |asked: &[Question]| questions::ask((&run, asked), waiting, stop).await;
        let outcome = resumed.to_the_end(&mut exchange, (&calls, &bounds), &recording, ask).await?;
        let made = calls.into_made();
        Ok(setting.finished(&recording, assembled, (outcome, made), began).await)
    }
}
