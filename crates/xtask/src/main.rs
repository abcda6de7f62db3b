//! The project's automation: one command that says whether a change is ready.
//!
//! `cargo xtask check` runs every step in order and stops at the first that fails. `tidy` holds the rules that neither
//! the compiler nor clippy knows. This crate depends on nothing in the workspace, so it builds, and speaks, when the
//! workspace doesn't.

mod fast;
mod house;
mod release;
mod skips;
mod steps;
mod suite;
mod tidy;
mod toolchain;

use skips::Strictness;
use std::{
    env,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

const USAGE: &str = "\
Usage: cargo xtask <COMMAND>

Commands:
  check   format, lints, tests and tidy, in this order; stops at the first that fails;
          with --fast only the tests of what is not committed, or of the last commit, touches;
          with --ci a skipped test is a finding unless crates/xtask/permitted-skips.toml lists it
  tidy    the project's own rules: code map, dependencies, licences, file sizes, wording
  docs    writes the reference documents anew from the program's own help
  release --check
          makes what a release has for this machine, and tries each way to install it
  house   how well the sources read, in counts, each with its limit; `house COUNT` lists its cases

Exit codes: 0 all is well, 1 something was found, 2 wrong usage, 3 a tool could not be run.
";

#[derive(Debug, Clone, PartialEq, Eq)]
enum AutomationCommand {
    Check(Strictness),
    /// The same with the tests of what a change touches.
    FastCheck,
    Tidy,
    Docs,
    /// What a release has for this machine.
    Release,
    /// Every count, or the cases of one.
    House(Option<String>),
    Help,
}

/// Why a command did not end well.
#[derive(Debug)]
enum TaskFailure {
    /// Something was found. It has been reported.
    Found,
    /// A tool or a file could not be used.
    Outside(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let command = match parse_arguments(&arguments) {
        Ok(command) => command,
        Err(problem) => {
            print_to_stderr(&format!("{problem}\n\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    let root = workspace_root();
    let result = match command {
        AutomationCommand::Check(strictness) => steps::check_project(&root, strictness),
        AutomationCommand::FastCheck => steps::check_fast(&root),
        AutomationCommand::Tidy => tidy::run_tidy(&root),
        AutomationCommand::Docs => steps::write_reference(&root),
        AutomationCommand::Release => release::check_release(&root),
        AutomationCommand::House(listed) => house::run_house(&root, listed.as_deref()),
        AutomationCommand::Help => {
            print_to_stdout(USAGE);
            Ok(())
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(TaskFailure::Found) => ExitCode::from(1),
        Err(TaskFailure::Outside(problem)) => {
            print_to_stderr(&format!("error: {problem}\n"));
            ExitCode::from(3)
        }
    }
}

fn parse_arguments(arguments: &[String]) -> Result<AutomationCommand, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => Ok(AutomationCommand::Check(Strictness::Show)),
        ["check", "--ci"] => Ok(AutomationCommand::Check(Strictness::Refuse)),
        ["check", "--fast"] => Ok(AutomationCommand::FastCheck),
        ["tidy"] => Ok(AutomationCommand::Tidy),
        ["docs"] => Ok(AutomationCommand::Docs),
        ["release", "--check"] => Ok(AutomationCommand::Release),
        ["release"] => Err("error: a release is only checked here; add `--check`".to_owned()),
        ["house"] => Ok(AutomationCommand::House(None)),
        ["house", count] => Ok(AutomationCommand::House(Some((*count).to_owned()))),
        ["--help" | "-h" | "help"] => Ok(AutomationCommand::Help),
        [] => Err("error: no command given".to_owned()),
        ["check" | "tidy" | "docs", extra, ..] | ["house", _, extra, ..] => {
            Err(format!("error: unexpected argument `{extra}`"))
        }
        [unknown, ..] => Err(format!("error: unknown command `{unknown}`")),
    }
}

/// The workspace's folder: cargo names this crate's folder when it runs the binary.
fn workspace_root() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.ancestors().nth(2).map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// Writes to stdout. A closed pipe is the reader's choice, not an error.
fn print_to_stdout(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Writes to stderr.
fn print_to_stderr(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_command_line() {
        for (line, expected) in [
            ("check", Ok(AutomationCommand::Check(Strictness::Show))),
            ("check --ci", Ok(AutomationCommand::Check(Strictness::Refuse))),
            ("check --fast", Ok(AutomationCommand::FastCheck)),
            ("tidy", Ok(AutomationCommand::Tidy)),
            ("docs", Ok(AutomationCommand::Docs)),
            ("release --check", Ok(AutomationCommand::Release)),
            ("release", Err("error: a release is only checked here; add `--check`".to_owned())),
            ("house", Ok(AutomationCommand::House(None))),
            ("house circles", Ok(AutomationCommand::House(Some("circles".to_owned())))),
            ("house circles all", Err("error: unexpected argument `all`".to_owned())),
            ("--help", Ok(AutomationCommand::Help)),
            ("-h", Ok(AutomationCommand::Help)),
            ("", Err("error: no command given".to_owned())),
            ("chek", Err("error: unknown command `chek`".to_owned())),
            ("tidy --fast", Err("error: unexpected argument `--fast`".to_owned())),
        ] {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(parse_arguments(&arguments), expected, "{line:?}");
        }
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(workspace_root().join("crates/xtask/Cargo.toml").is_file());
    }
}
