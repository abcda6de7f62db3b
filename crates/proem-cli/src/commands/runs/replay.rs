//! `proem runs replay`: makes a run's requests anew from its record, and compares every byte.

use std::process::ExitCode;

use proem_app::records::blocking;
use proem_app::runs::replay::{ReplayedRun, replay_run};
use proem_app::shipped_agents;
use proem_guard::show::terminal_str;
use proem_runtime::records::{Difference, ReplayReport};
use proem_store::record::RunId;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::ui::{self, group_thousands};

/// The comparison of a run's requests with their record.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplayOutput<'r> {
    /// The run's id.
    run: &'r str,
    /// The calls that were rebuilt as recorded.
    calls: u32,
    /// The bytes of their requests.
    bytes: u64,
    /// Whether everything is as recorded.
    equal: bool,
    /// The first difference. Null if there is none.
    difference: Option<&'r Difference>,
}

pub(super) fn run_runs_replay(
    project: &mut OpenProject,
    run: &str,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    ui::print_notes(&project.all_notes());
    let mut notes = Vec::new();
    let replayed = blocking(replay_run(&shipped_agents::agents(), project, run, place.whose(), &mut notes));
    ui::print_notes(&notes);
    print_replay(&replayed?, place)
}

fn print_replay(replayed: &ReplayedRun, place: &RecordsPlace) -> Result<ExitCode, CommandFailure> {
    let ReplayedRun { detail, report, versions } = replayed;
    let ReplayReport { calls, bytes, difference, .. } = report;
    if place.json {
        let run = detail.row.id.0.as_str();
        let equal = difference.is_none();
        let output = ReplayOutput { run, calls: *calls, bytes: *bytes, equal, difference: difference.as_ref() };
        ui::print_json_document(&json::pretty(&json!(output)))?;
    } else {
        let bytes = group_thousands(usize::try_from(*bytes).unwrap_or(usize::MAX));
        let calls = if *calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        let made = format!("run {}: {calls} rebuilt, {bytes} bytes of requests", detail.row.id.short());
        match difference {
            None => ui::print_listing(&format!("{made}, all as recorded\n"))?,
            Some(difference) => {
                let why = if difference.what == "outcome" || versions.is_empty() {
                    replay_difference(difference)
                } else {
                    made_by(&detail.row.id, difference)
                };
                ui::print_listing(&format!("{made} as recorded\n{why}"))?;
            }
        }
    }
    Ok(ExitCode::from(u8::from(difference.is_some())))
}

/// A difference that is another version's doing.
fn made_by(run: &RunId, difference: &Difference) -> String {
    let Difference { call, what, recorded, found, .. } = difference;
    format!(
        "it was made with {recorded}, but this Proem has {found}: the bytes differ from call {call}, {} on\n  what was \
         sent: proem runs show {} --body --call {call}\n",
        terminal_str(what),
        run.short()
    )
}

fn replay_difference(difference: &Difference) -> String {
    let Difference { call, what, byte, recorded, found } = difference;
    let at = byte.map_or_else(String::new, |byte| format!(", byte {byte}"));
    format!(
        "the first difference: call {call}, {}{at}\n  recorded  {}\n  found     {}\n",
        terminal_str(what),
        terminal_str(recorded),
        terminal_str(found)
    )
}
