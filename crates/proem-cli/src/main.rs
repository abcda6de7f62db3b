//! The binary `proem`: reads arguments and configuration, prints, and exits.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 a
//! finding or a negative answer, 2 usage or configuration, 3 something outside failed, 70 a bug, 130
//! ended at once by a second ^C.

mod args;
mod calling;
mod commands;
mod config;
mod embedding;
mod factors;
mod failure;
mod guarding;
mod places;
mod project;
mod records;
mod trust;
mod ui;
mod when;

use std::process::ExitCode;

use clap::Parser;

use args::Args;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are answers; they go to standard output with code 0.
            if !error.use_stderr() {
                _ = error.print();
                return ExitCode::SUCCESS;
            }
            ui::refused(&error, std::env::args_os());
            return ExitCode::from(2);
        }
    };
    match commands::run(args) {
        Ok(code) => code,
        Err(failure) => {
            ui::error(&failure);
            failure.code()
        }
    }
}
