//! `proem runs resume`: goes on where a crash or a question stopped a run. What it asks is asked at the
//! terminal.
//!
//! An investigation goes on only if its change is still what it was.

mod questions;

use std::process::ExitCode;

use proem_app::records::blocking;
use proem_app::run::made::RunStart;
use proem_app::runs::resume::Resuming;
use proem_engine::run::Question;
use proem_runtime::records::ResumeIdentity as Way;
use proem_store::query::{RunDetail, RunState};

use super::replay::{RebuildSource, remade};
use super::{CommandFailure, OpenProject, Places, RecordsPlace};
use crate::commands::risk;
use crate::commands::run::calling as with_calls;
use crate::commands::run::single::{RunVerbosity, print, waiting};
use crate::ui;

pub(super) fn run(
    places: &Places,
    project: &mut OpenProject,
    (run, fork): (&str, bool),
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    ui::notes(&project.all_notes());
    let project = &*project;
    let (detail, remade) = blocking(remade(places, project, (run, place)))?;
    let id = detail.row.id.clone();
    let refused = |why: String| CommandFailure::usage(format!("run {} can't be resumed: {why}", id.short()));
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
        RebuildSource::Prompt(remade) => prompt(places, project, (&detail, *remade), (going, place)),
        RebuildSource::Investigation(remade) => {
            let again = risk::InvestigationResumption { root: &place.root, going, json: place.json };
            risk::go_on((places, project), (&detail, *remade), again)
        }
    }
}

/// Goes on with the run of a prompt.
fn prompt(
    places: &Places,
    project: &OpenProject,
    run: (&RunDetail, RunStart),
    (way, place): (Way, &RecordsPlace),
) -> Result<ExitCode, CommandFailure> {
    with_calls(async |stop| {
        let resuming = ui::tell(Resuming::begin((places, project), run, way).await?);
        let waiting = waiting(&resuming.setting);
        let ask = async |run: &str, asked: &[Question]| questions::ask((run, asked), &waiting, &stop).await;
        let ran: Result<_, CommandFailure> = resuming.to_the_end(places, ask, &stop).await;
        waiting.finish_and_clear();
        let done = match ran {
            Ok(ran) => print(&resuming.setting, &ran, RunVerbosity { json: place.json, explain: false }).await,
            Err(failure) => Err(failure),
        };
        ui::notes(&resuming.end(places).await);
        done
    })
}
