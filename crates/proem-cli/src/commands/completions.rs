//! `proem completions`

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::CommandLine;
use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn run(shell: clap_complete::Shell) -> Result<ExitCode, CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "proem", &mut script);
    ui::data(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
