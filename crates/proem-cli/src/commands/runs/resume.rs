//! `proem runs resume`: goes on where a crash or a question stopped a run. What it asks is asked at the
//! terminal.
//!
//! Everything but the endpoint and its key comes from the record: the prompt, its contract, the model,
//! the profile. The rules that it is held to must be those of today. An investigation goes on only if its
//! change is still what it was.

mod questions;

use std::process::ExitCode;

use indicatif::ProgressBar;
use proem_engine::ordered::Ordered;
use proem_engine::run::{Exchange, Question};
use proem_runtime::Environment;
use proem_runtime::driver::Bounds;
use proem_runtime::records::{Going as Way, Recording, Start, resume};
use proem_store::query::{RunDetail, RunState};
use proem_store::record::RunId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::replay::{Anew, remade};
use super::{Failure, Places, Project, RecordsPlace};
use crate::commands::risk;
use crate::commands::run::asking::{Assembled, Ran};
use crate::commands::run::calling as with_calls;
use crate::commands::run::made::Remade;
use crate::commands::run::setting::{Setting, Wanted};
use crate::commands::run::single::{Said, print, waiting};
use proem_app::guarding::GuardFiles;
use proem_app::records::writing::{NONE_TO_GO_ON_IN, Record, Writing};
use proem_app::records::{blocking, learning};
use proem_app::{calling, records};

pub(super) fn run(
    places: &Places,
    project: &mut Project,
    (run, fork): (&str, bool),
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    crate::ui::notes(&project.all_notes());
    let project = &*project;
    let (detail, remade) = blocking(remade(places, project, (run, place)))?;
    let id = detail.row.id.clone();
    let refused = |why: String| Failure::usage(format!("run {} can't go on: {why}", id.short()));
    if detail.row.state == RunState::Asking {
        // Before the run is taken over: it stays as it is.
        questions::on_terminal(id.short())?;
    }
    let remade = remade.map_err(refused)?;
    if let Some(why) = remade.changed() {
        return Err(refused(why.to_owned()));
    }
    let going = if fork { Way::Apart } else { Way::On };
    match remade {
        Anew::Prompt(remade) => prompt(places, project, (&detail, *remade), (going, place)),
        Anew::Investigation(remade) => {
            let again = risk::Again { root: &place.root, going, json: place.json };
            risk::go_on((places, project), (&detail, *remade), again)
        }
    }
}

/// Goes on with the run of a prompt.
fn prompt(
    places: &Places,
    project: &Project,
    (detail, remade): (&RunDetail, Remade),
    (way, place): (Way, &RecordsPlace),
) -> Result<ExitCode, Failure> {
    with_calls(async |stop| {
        let endpoint = calling::located(&project.config, &detail.row.endpoint, &Environment::inherited())?;
        let inputs = remade.inputs.clone();
        let mut setting = Setting::again(remade, detail, places, (endpoint, Wanted::Calls))?;
        let caps = records::caps(&project.config.budget);
        setting.record(places, project, Record::Needed, caps).await?;
        crate::ui::notes(&learning::learned_before(detail));
        let waiting = waiting(&setting);
        let going = Going { id: detail.row.id.clone(), way, line: detail.row.line, inputs: &inputs };
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
    way: Way,
    line: Option<u32>,
    inputs: &'g Ordered,
}

impl Going<'_> {
    async fn on(
        &self,
        setting: &Setting,
        rules: &str,
        (waiting, stop): (&ProgressBar, &CancellationToken),
    ) -> Result<Ran, Failure> {
        let Some(records) = &setting.records else { return Err(Failure::usage(NONE_TO_GO_ON_IN)) };
        let kept = records.kept();
        let resumed = resume(kept.store, kept.seal, kept.project, (&self.id, self.way), rules).await;
        // A run that can't go on is an answer about the record, not a fault of the system.
        let resumed = resumed.map_err(|error| Failure::usage(error.to_string()))?;
        let began = Instant::now();
        let assembled = Assembled { prepared: setting.prepare(self.inputs)?, took: began.elapsed() };
        let mut exchange = Exchange::restore(setting.terms(), &resumed.state.machine)?;
        let (id, parent) = match self.way {
            Way::On => (self.id.clone(), None),
            Way::Apart => (Writing::id()?, Some(self.id.clone())),
        };
        let start = setting.start(id, self.inputs, &assembled.prepared);
        let start = Start { parent, line: self.line, steps: resumed.step, ..start };
        let recording = Recording::new(&kept, &start);
        let calls = setting.calls(setting.caller()?, self.line.unwrap_or(1)).through(&recording);
        let bounds = Bounds { stop: stop.clone(), time: Some(setting.bounds) };
        // What was lost belongs to the run that lost it, not to a fork.
        let lost = match self.way {
            Way::On => resumed.lost(),
            Way::Apart => 0,
        };
        let run = recording.id().short().to_owned();
        let ask = async |asked: &[Question]| questions::ask((&run, asked), waiting, stop).await;
        let outcome = resumed.to_the_end(&mut exchange, (&calls, &bounds), &recording, ask).await?;
        let made = calls.into_made();
        Ok(setting.finished(&recording, assembled, (outcome, made), (began, lost)).await)
    }
}
