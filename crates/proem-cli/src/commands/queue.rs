//! `proem queue`: what waits for a person, and what the person says to it.

mod edit;
mod list;
mod opening;
pub(crate) mod page;
mod quarantine;
mod say;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};

pub(crate) use self::opening::{at_desk, short_effect_key};
use self::show::ShowForm;
use crate::failure::CommandFailure;
use crate::ui;

pub(crate) const QUEUE_EXAMPLES: &str = "\
Examples:
  proem queue list
  proem queue show 1a2b3c4d
  proem queue approve 1a2b3c4d
  proem queue cancel 1a2b3c4d --because \"the release slipped\"
  proem queue edit 1a2b3c4d --set subject=\"Status of week 12\"
  proem queue release 1a2b3c4d
  proem queue resolve 1a2b3c4d sent
  proem queue quarantine

Reading needs nothing; whatever changes an action asks you at a terminal.";

#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// List actions, those that are due first
    #[command(after_help = list::LIST_EXAMPLES)]
    List(list::List),
    /// Show an action: what it says, why it waits, and what happens on yes
    #[command(after_help = "Examples:\n  proem queue show 1a2b3c4d\n  proem queue show 1a2b3c4d --raw > mail.eml")]
    Show {
        /// The action's id, or the beginning of it
        id: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long, conflicts_with = "raw")]
        json: bool,
        /// Print the exact bytes that leave: the mail, or the request as JSON
        #[arg(long)]
        raw: bool,
    },
    /// Say yes to actions as they are shown, screen by screen
    #[command(after_help = "Example:\n  proem queue approve 1a2b3c4d")]
    Approve {
        /// The actions' ids, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Say no to an action
    #[command(after_help = "Example:\n  proem queue cancel 1a2b3c4d --because \"the release slipped\"")]
    Cancel {
        /// The action's id, or the beginning of it
        id: String,
        /// Why, in your own words
        #[arg(long, value_name = "TEXT", default_value = "")]
        because: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Change what an action says; it then needs an approval
    #[command(
        after_help = "Example:\n  proem queue edit 1a2b3c4d --set subject=\"Status of week 12\" --file body=body.txt"
    )]
    Edit {
        /// The action's id, or the beginning of it
        id: String,
        /// A field with its new text
        #[arg(long, value_name = "FIELD=TEXT", value_parser = assignment)]
        set: Vec<(String, String)>,
        /// A field and a file with its new text
        #[arg(long, value_name = "FIELD=FILE", value_parser = assignment)]
        file: Vec<(String, String)>,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// End the hold of an action before its time
    #[command(after_help = "Example:\n  proem queue release 1a2b3c4d")]
    Release {
        /// The action's id, or the beginning of it
        id: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Say what became of an action of which nobody knows whether it happened
    #[command(after_help = "Example:\n  proem queue resolve 1a2b3c4d not-sent --because \"not in the sent folder\"")]
    Resolve {
        /// The action's id, or the beginning of it
        id: String,
        /// The action's real outcome
        #[arg(value_enum)]
        answer: Resolution,
        /// How you know, in your own words
        #[arg(long, value_name = "TEXT", default_value = "")]
        because: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// List fields of signals that are kept out, and let one in or keep it out for good
    #[command(after_help = quarantine::QUARANTINE_EXAMPLES)]
    Quarantine(quarantine::Quarantine),
}

/// The real outcome of an unknown action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resolution {
    /// It happened
    Sent,
    /// It did not happen, and shall not
    NotSent,
    /// The same bytes shall go once more
    Resend,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write FIELD=TEXT")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) fn run_queue(args: &QueueCommand) -> Result<ExitCode, CommandFailure> {
    match args {
        QueueCommand::List(args) => list::run_queue_list(args),
        QueueCommand::Show { id, root, json, raw } => show::run_queue_show(
            id,
            root,
            match (json, raw) {
                (true, _) => ShowForm::Json,
                (false, true) => ShowForm::Raw,
                (false, false) => ShowForm::Page,
            },
        ),
        QueueCommand::Approve { ids, root } => say::approve(ids, root),
        QueueCommand::Cancel { id, because, root } => say::cancel(id, because, root),
        QueueCommand::Edit { id, set, file, root } => edit::run_queue_edit(id, &field_changes(set, file)?, root),
        QueueCommand::Release { id, root } => say::release(id, root),
        QueueCommand::Resolve { id, answer, because, root } => say::resolve_action(id, *answer, because, root),
        QueueCommand::Quarantine(args) => quarantine::run_queue_quarantine(args),
    }
}

/// The new texts of fields, those of files read.
fn field_changes(
    set: &[(String, String)],
    files: &[(String, String)],
) -> Result<BTreeMap<String, String>, CommandFailure> {
    let mut changes: BTreeMap<String, String> = set.iter().cloned().collect();
    for (field, path) in files {
        let text = proem_runtime::files::read_text(Path::new(path), 1 << 20).map_err(|error| {
            CommandFailure::usage(format!("could not read `{}`: {error}", ui::cut_to_width(path, 80)))
        })?;
        changes.insert(field.clone(), text);
    }
    if changes.is_empty() {
        return Err(CommandFailure::usage("nothing would change; name a field with --set or --file"));
    }
    Ok(changes)
}
