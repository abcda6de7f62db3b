//! The binary `proem`: reads arguments and configuration, prints, and exits.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 success,
//! 1 a finding or a negative answer, 2 a usage or configuration error, 3 an external failure (git,
//! network, files), 70 a bug, 130 ended at once by a second ^C.

mod args;
mod commands;
mod failure;
mod hints;
mod ui;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use proem_app::places::{Channel, Places};

use args::CommandLine;
use failure::CommandFailure;

/// The places of this user's files, and how they are reached.
fn user_places() -> Result<Places, CommandFailure> {
    Ok(Places::find(channel())?)
}

fn channel() -> Channel {
    if std::io::stdin().is_terminal() { Channel::Terminal } else { Channel::Pipe }
}

fn main() -> ExitCode {
    if commands::completions::answer_shell() {
        return ExitCode::SUCCESS;
    }
    let args =
        match CommandLine::try_parse_from(args::words::mark_hyphen_words(&CommandLine::command(), std::env::args_os()))
        {
            Ok(args) => args,
            Err(error) => {
                // Help and version are answers. They go to standard output with code 0.
                if !error.use_stderr() {
                    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
                    let printed = if commands::version::wants_version_document(&error, words) {
                        commands::version::print_version_document()
                    } else {
                        ui::help(&error)
                    };
                    return match printed {
                        Ok(()) => ExitCode::SUCCESS,
                        Err(failure) => failure.code(),
                    };
                }
                ui::print_usage_error(&error, std::env::args_os());
                return ExitCode::from(2);
            }
        };
    if args.quiet {
        ui::set_note_visibility(ui::NoteVisibility::Hidden);
    }
    let done = commands::run_command(args);
    // A document that can't be written is news only where the command itself succeeded.
    let done = match ui::finish_document() {
        Ok(()) => done,
        Err(failure) => done.and(Err(failure)),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            ui::print_failure(&failure);
            failure.code()
        }
    }
}
