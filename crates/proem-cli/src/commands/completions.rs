//! `proem completions`

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Args;
use crate::failure::Failure;
use crate::ui;

pub(super) fn run(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "proem", &mut script);
    ui::data(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
