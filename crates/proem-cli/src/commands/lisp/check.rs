//! `proem lisp check`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use proem_app::ErrorKind;
use proem_app::lisp::{DelimiterRepair, LispSession, read_tools};
use serde_json::json;

use super::output::{CheckedLispFile, LispCheckOutput, LispProblem};
use super::{ProgramArgs, declare_signature, read_lisp_source, refusal_text};
use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun};

#[derive(Debug, Parser)]
pub(crate) struct LispCheckArgs {
    /// Files with a program each; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A file with a memory, whose names the programs may use
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
    /// Know the inputs and the result, such as `report(day :string) -> {total :number}`
    #[arg(long, value_name = "SIGNATURE")]
    signature: Option<String>,
    /// A file with the signatures of tools, whose calls are checked
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Print JSON: the problems of each file
    #[arg(long)]
    json: bool,
    /// A folder in the project whose configuration applies
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

pub(super) fn run_lisp_check(args: &LispCheckArgs) -> Result<ExitCode, CommandFailure> {
    let (label, secret) = (Vec::new(), Vec::new());
    let (memory, root) = (args.memory.clone(), args.root.clone());
    let given = ProgramArgs { input: None, label, secret, memory, fuel: None, root };
    let mut session = declare_signature(given.session(&crate::user_places()?)?.session, args.signature.as_deref())?;
    if let Some(path) = &args.tools {
        let tools = read_tools(path, &session.limits)?;
        session = session.with_tools(tools);
    }
    let mut report = String::new();
    let files: Vec<CheckedLispFile> = args.files.iter().map(|path| check_file(path, &session, &mut report)).collect();
    let problems: usize = files.iter().map(|file| file.problems.len()).sum();
    let unread: Vec<String> = files.iter().filter_map(|file| file.unread.clone()).collect();
    let is_good = problems == 0;
    if args.json {
        let output = LispCheckOutput { ok: is_good && unread.is_empty(), files };
        ui::print_published_document(ui::PublishedDocument::line_of(&json!(output)))?;
    } else {
        ui::print_listing(&report)?;
    }
    if !unread.is_empty() {
        return Err(CommandFailure::outside(unread.join("\n")));
    }
    if !args.json {
        let count = |number: usize, noun| count_with_noun(u64::try_from(number).unwrap_or(u64::MAX), noun);
        ui::aside(&format!("{} checked: {}\n", count(args.files.len(), "file"), count(problems, "problem")));
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks one file. The report for people gets its warnings and problems.
fn check_file(path: &Path, session: &LispSession, report: &mut String) -> CheckedLispFile {
    let mut file = CheckedLispFile::new(path.display().to_string());
    match read_lisp_source(path, &session.limits) {
        Ok(source) => match session.check(source, DelimiterRepair::Offer) {
            Ok(checked) => {
                report.push_str(&checked.warnings.concat());
                file.warnings = checked.warnings;
            }
            Err(refusal) => {
                report.push_str(&refusal_text(&refusal));
                file.problems = LispProblem::all_of(&refusal);
                file.repaired = refusal.repair.map(|repair| repair.text);
                file.warnings = refusal.warnings;
            }
        },
        Err(error) if error.kind() == ErrorKind::Invalid => {
            report.push_str(&format!("error: {error}\n"));
            file.problems.push(LispProblem::of_file(error.to_string()));
        }
        Err(error) => file.unread = Some(error.to_string()),
    }
    file
}
