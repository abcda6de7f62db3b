//! `proem assemble`

pub(crate) mod args;
mod copy;
mod picture;
mod send;

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;

use proem_agents::adapt::Lessons;
use proem_agents::assemble::output::{AssembleOutput, Extra, assemble_output};
use proem_agents::assemble::{Task, text};
use proem_engine::providers::Provider;
use proem_text::json as text_json;
use schemars::JsonSchema;
use serde::Serialize;

use self::args::{Assemble, PromptFormat};
use self::picture::{PictureSource, svg};
use super::explain::{Account, SelectionAccount, explain_assembly};
use super::index;
use crate::failure::CommandFailure;
use crate::hints;
use crate::ui;
use proem_app::Note;
use proem_app::assemble::{
    AssembleOptions, AssemblyChoice, AssemblyRecord, MAX_TASK_BYTES, MadeAssembly, Start, TaskAuthor,
};
use proem_app::book::experiments::{assign_versions, subject_of_inputs};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;
use proem_app::records::learning::PromptLessons;
use proem_app::run::output::ProfileOut;

pub(super) fn run_assemble(args: &Assemble) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let mut project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    if args.send {
        return send::run_assemble_send(args, &places, &mut project);
    }
    let printed = print_assembly(args, &mut project);
    if !args.no_record {
        index::start_indexing(&project, &args.root);
    }
    // An untrusted file may be the reason that it failed.
    ui::print_notes(&project.all_notes());
    match printed? {
        Printed::Explained(account) => ui::aside(&account),
        Printed::Short(notes) => ui::print_notes(&notes),
    }
    Ok(ExitCode::SUCCESS)
}

/// The rest of the report after the prompt is printed.
enum Printed {
    Explained(String),
    Short(Vec<Note>),
}

fn print_assembly(args: &Assemble, project: &mut OpenProject) -> Result<Printed, CommandFailure> {
    let options = args.options(assembly_task(args)?)?;
    let format = if args.json { PromptFormat::Json } else { args.format };
    assign_versions(project, &subject_of_inputs(&options.named))?;
    let chosen = AssemblyChoice::new(&options, project)?;
    speaks(&chosen, format)?;
    let start = gather_with_progress(&options, chosen, project)?;
    let runtime = records::runtime()?;
    let mut notes = Vec::new();
    let begun = runtime.block_on(AssemblyRecord::new(&options, &start, project, &mut notes));
    ui::print_notes(&notes);
    let mut made = MadeAssembly::new(&options, start, begun?, project)?;
    let out = PromptOutput { format, copy: args.copy };
    out.put(project, &options, &made)?;
    if let Some(file) = &args.svg {
        draw_window(file, &made)?;
    }
    ui::print_notes(&runtime.block_on(made.record(&options, project)));
    Ok(if args.explain {
        Printed::Explained(assembly_account(&made, project))
    } else {
        Printed::Short(made.shortfalls())
    })
}

/// Finds out what there is to know, and says on a terminal that it is being read.
fn gather_with_progress(
    options: &AssembleOptions,
    chosen: AssemblyChoice,
    project: &OpenProject,
) -> Result<Start, CommandFailure> {
    let bar = ui::working("reading the repository");
    let start = Start::gather(options, chosen, project);
    bar.finish_and_clear();
    Ok(start?)
}

/// The account of every token.
fn assembly_account(made: &MadeAssembly, project: &OpenProject) -> String {
    explain_assembly(&Account {
        assembled: &made.assembled,
        gathered: &made.gathered,
        model: &made.model,
        cache: &made.cache,
        untrusted: &project.untrusted,
        adapted: made.taught.as_ref().map(|taught| &taught.adapted),
        finding: made.finding.as_ref(),
        selection: SelectionAccount {
            embedding_calls: made.prepared.calls,
            degraded: &made.prepared.degraded,
            catalogue_tokens: made.catalogue_tokens(),
        },
    })
}

/// How a prompt is printed, and where to.
#[derive(Debug, Clone, Copy)]
struct PromptOutput {
    format: PromptFormat,
    copy: bool,
}

impl PromptOutput {
    /// Prints the prompt.
    fn put(self, project: &OpenProject, options: &AssembleOptions, made: &MadeAssembly) -> Result<(), CommandFailure> {
        let text = formatted_prompt(self.format, project, options, made)?;
        match self.format {
            PromptFormat::Text if self.copy => copy::copy(&text),
            PromptFormat::Text => ui::data(&text),
            _ if self.copy => copy::copy(&ui::document_text(&text)),
            _ => ui::print_json_document(&text),
        }
    }
}

/// Draws the context window into a file.
fn draw_window(file: &Path, made: &MadeAssembly) -> Result<(), CommandFailure> {
    let source = PictureSource { assembled: &made.assembled, model: &made.model, cache: &made.cache };
    ui::write_text_file(file, &svg(&source))
}

/// The prompt in a format.
fn formatted_prompt(
    format: PromptFormat,
    project: &OpenProject,
    options: &AssembleOptions,
    made: &MadeAssembly,
) -> Result<String, CommandFailure> {
    match format {
        PromptFormat::Text => Ok(text::assembly_text(&made.assembled.assembly)),
        PromptFormat::Anthropic | PromptFormat::Openai => {
            let body = proem_llm::request_body(&made.assembled.assembly, &made.model, &made.cache)?;
            Ok(text_json::pretty(&body))
        }
        PromptFormat::Json => {
            let notes = project.notes.iter().map(hints::of_note).collect();
            let extra = Extra { notes, ..made.extra(project)? };
            let output = assemble_output(&options.task, &made.gathered, &made.assembled, extra);
            let profile = made.taught.as_ref().and_then(PromptLessons::shown).map(Into::into);
            let learned = made.taught.as_ref().and_then(|taught| taught.lessons.clone());
            assembly_json(WithProfile { output, profile, learned })
        }
    }
}

/// The output of `--json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WithProfile {
    #[serde(flatten)]
    output: AssembleOutput,
    /// The lessons and wishes that the prompt shows. Absent if it shows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileOut>,
    /// The learned part of them, and its sources. Absent if nothing was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    learned: Option<Lessons>,
}

fn assembly_json(out: WithProfile) -> Result<String, CommandFailure> {
    let json = serde_json::to_value(out).map_err(|e| CommandFailure::bug("could not write JSON", e))?;
    Ok(text_json::pretty(&json))
}

fn assembly_task(args: &Assemble) -> Result<Task, CommandFailure> {
    let text = if args.task == "-" {
        if std::io::stdin().is_terminal() {
            ui::print_progress_note("reading the task from the terminal; end it with Ctrl-D");
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_TASK_BYTES.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| CommandFailure::outside(format!("could not read the task from standard input: {e}")))?;
        String::from_utf8(bytes)
            .map_err(|_| CommandFailure::usage("the task on standard input is not UTF-8; convert it"))?
    } else {
        args.task.clone()
    };
    let author = if args.task_untrusted { TaskAuthor::Outside } else { TaskAuthor::Caller };
    Ok(proem_app::assemble::bounded_task(text, author)?)
}

/// Whether the model speaks the format.
fn speaks(chosen: &AssemblyChoice, format: PromptFormat) -> Result<(), CommandFailure> {
    let provider = match format {
        PromptFormat::Anthropic => Provider::Anthropic,
        PromptFormat::Openai => Provider::OpenAi,
        PromptFormat::Text | PromptFormat::Json => return Ok(()),
    };
    let (model, role) = (chosen.model(), chosen.role());
    if model.provider() == provider {
        return Ok(());
    }
    let (format, own) =
        if format == PromptFormat::Anthropic { ("anthropic", "openai") } else { ("openai", "anthropic") };
    let says_it = role == model.name || role.ends_with(&format!("/{}", model.name));
    let name = if says_it { String::new() } else { format!(" is {}, which", model.name) };
    Err(CommandFailure::usage(format!(
        "`{role}`{name} needs --format {own}; for --format {format} choose --model from {}, or a model of your own \
         server as PROVIDER/MODEL",
        chosen.speaking(provider).join(", ")
    )))
}
