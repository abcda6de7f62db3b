//! `proem lisp check`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::ErrorKind;
use proem_app::lisp::DelimiterRepair;

use super::{ProgramArgs, read_source, refusal_text};
use crate::failure::CommandFailure;
use crate::ui::{self, counted};

#[derive(Debug, Parser)]
pub(crate) struct LispCheckArgs {
    /// Files with a program each; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A file with a memory, whose names the programs may use
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
    /// A folder in the project whose configuration applies
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

pub(super) fn run(args: &LispCheckArgs) -> Result<ExitCode, CommandFailure> {
    let given = ProgramArgs { input: None, memory: args.memory.clone(), fuel: None, root: args.root.clone() };
    let session = given.session(&crate::places()?)?.session;
    let mut report = String::new();
    let mut problems: usize = 0;
    let mut unread = Vec::new();
    for path in &args.files {
        match read_source(path, &session.limits) {
            Ok(source) => match session.check(source, DelimiterRepair::Offer) {
                Ok(checked) => report.push_str(&checked.warnings.concat()),
                Err(refusal) => {
                    problems = problems.saturating_add(refusal.problems.len());
                    report.push_str(&refusal_text(&refusal));
                }
            },
            Err(error) if error.kind() == ErrorKind::Invalid => {
                problems = problems.saturating_add(1);
                report.push_str(&format!("error: {error}\n"));
            }
            Err(error) => unread.push(error.to_string()),
        }
    }
    ui::listing(&report)?;
    if !unread.is_empty() {
        return Err(CommandFailure::outside(unread.join("\n")));
    }
    let count = |number: usize, noun| counted(u64::try_from(number).unwrap_or(u64::MAX), noun);
    ui::aside(&format!("{} checked: {}\n", count(args.files.len(), "file"), count(problems, "problem")));
    Ok(if problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
