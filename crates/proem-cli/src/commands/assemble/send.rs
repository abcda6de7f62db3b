//! The prompt for a task, sent: who receives what to standard error, the answer to standard output.

use std::process::ExitCode;

use proem_app::ask::disclosure::{Telling, disclosure};
use proem_app::assemble::send::{SendOptions, assembly_inputs, send_setting};
use proem_app::assemble::{AssembleOptions, AssemblyChoice, AssemblyRecord, MadeAssembly};
use proem_app::book::experiments::{assign_versions, subject_of_inputs};
use proem_app::places::Places;
use proem_app::project::OpenProject;
use proem_app::run::course::AfterRefusal;

use super::args::Assemble;
use super::{assembly_account, assembly_task, gather_with_progress};
use crate::commands::index;
use crate::commands::run::single::{self, MadeQuestion, RunVerbosity};
use crate::commands::run::{calling, open_run};
use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn run_assemble_send(
    args: &Assemble,
    places: &Places,
    project: &mut OpenProject,
) -> Result<ExitCode, CommandFailure> {
    let options = args.options(assembly_task(args)?)?;
    // If the server says how long a prompt may be, another one is made for that, once.
    for after in [AfterRefusal::Shorten, AfterRefusal::End] {
        if let Some(done) = send_assembly((args, &options), places, project, after)? {
            return Ok(done);
        }
    }
    Err(CommandFailure::bug("the prompt was not sent", "it was to be made anew"))
}

/// Sends the prompt for a task. `None` if it is to be made anew for the window that the server named.
fn send_assembly(
    (args, options): (&Assemble, &AssembleOptions),
    places: &Places,
    project: &mut OpenProject,
    after: AfterRefusal,
) -> Result<Option<ExitCode>, CommandFailure> {
    let sending = SendOptions { most: args.max_cost, seconds: args.timeout }.run(options);
    assign_versions(project, &subject_of_inputs(&options.named))?;
    let setting = send_setting(&sending, project);
    let chosen = AssemblyChoice::new(options, project);
    ui::print_notes(&project.all_notes());
    let (setting, chosen) = (setting?, chosen?);
    let start = gather_with_progress(options, chosen, project)?;
    if !args.no_record {
        // Nobody prints before the model answers.
        index::start_indexing(project, &args.root);
    }
    calling(async |stop| {
        let mut notes = Vec::new();
        let begun = AssemblyRecord::new(options, &start, project, &mut notes).await;
        ui::print_notes(&notes);
        let mut made = MadeAssembly::new(options, start, begun?, project)?;
        ui::print_notes(&made.leave_unrecorded().await);
        if args.explain {
            ui::aside(&assembly_account(&made, project));
        } else {
            ui::print_notes(&made.shortfalls());
        }
        let request = Box::new(made.request(&setting));
        let telling = if args.verbose { Telling::Always } else { Telling::Once };
        ui::print_notes(&disclosure(places, &setting.access.asked.endpoint, &made.contents(), telling));
        let run = open_run(setting, &sending, project).await?;
        let said = RunVerbosity { json: args.json, explain: args.explain, fallback: false };
        let question = MadeQuestion { request, inputs: &assembly_inputs(options), after };
        let done = single::run_made(said, question, &run, &stop).await;
        ui::print_notes(&run.end().await);
        done
    })
}
