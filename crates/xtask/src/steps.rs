//! The steps of `cargo xtask check`, in the order in which they fail fastest.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    TaskFailure, fast, print_to_stderr, print_to_stdout,
    skips::{self, Strictness},
    suite::{self, TestBinary},
    tidy,
    toolchain::{WRAPPER, cargo_program, driver},
};

/// The step that runs tests.
const TESTS: &str = "tests";

/// The command that shows the same as the steps that are more than one run of cargo.
const REPEAT_LINTS: &str = "cargo clippy --workspace --all-targets --locked -- -D warnings";
const REPEAT_TESTS: &str = "cargo test --workspace --locked --tests";
const REPEAT_BINDINGS: &str =
    "cargo test --manifest-path crates/proem-python/Cargo.toml --workspace --target-dir target/bindings";

/// One run of cargo.
struct CargoStep {
    name: &'static str,
    arguments: &'static [&'static str],
}

const FORMAT: CargoStep = CargoStep { name: "format", arguments: &["fmt", "--all", "--check"] };

/// The modules for Python and Node are a workspace of their own.
const BINDINGS_FORMAT: CargoStep = CargoStep {
    name: "format (bindings)",
    arguments: &["fmt", "--manifest-path", "crates/proem-python/Cargo.toml", "--all", "--check"],
};

/// The examples in the documentation of what is exported, which cargo builds and runs by itself.
const EXAMPLES: CargoStep = CargoStep { name: "doc tests", arguments: &["test", "--workspace", "--doc", "--locked"] };

const REFERENCE: CargoStep = CargoStep {
    name: "docs",
    arguments: &[
        "test",
        "--locked",
        "-p",
        "proem-cli",
        "-p",
        "proem-agents",
        "-p",
        "proem-engine",
        "-p",
        "proem-guard",
        "-p",
        "proem-lisp",
        "-p",
        "proem-select",
        "--test",
        "it",
        "--",
        "reference::",
        "assemble::book",
        "the_index_of",
    ],
};

/// The variable that makes tests write the reference documents and the shipped book's lock instead
/// of comparing them.
const UPDATE_REFERENCE: &str = "PROEM_UPDATE_REFERENCE";

/// Runs every step and stops at the first that fails.
pub(crate) fn check_project(root: &Path, strictness: Strictness) -> Result<(), TaskFailure> {
    let start = Instant::now();
    run_step(root, &FORMAT, &[])?;
    let binaries = build_and_lint(root)?;
    let mut skipped = BTreeSet::new();
    time_step(TESTS, REPEAT_TESTS, || {
        skipped = suite::run_tests(binaries)?;
        Ok(())
    })?;
    // By the same compiler, or all of it would be built once more.
    let driver = driver()?;
    run_step(root, &EXAMPLES, &[(WRAPPER, &driver.to_string_lossy())])?;
    run_step(root, &BINDINGS_FORMAT, &[])?;
    time_step("bindings", REPEAT_BINDINGS, || {
        skipped.extend(suite::run_tests(suite::build_tests(root, suite::BINDINGS)?)?);
        Ok(())
    })?;
    time_step("tidy", "cargo xtask tidy", || tidy::run_tidy(root))?;
    skips::report_skips(root, &skipped, strictness)?;
    print_to_stdout(&format!("check: all steps passed in {}\n", seconds_text(start.elapsed())));
    Ok(())
}

/// Runs every step but the examples, of the tests those of what a change touches.
pub(crate) fn check_fast(root: &Path) -> Result<(), TaskFailure> {
    let start = Instant::now();
    run_step(root, &FORMAT, &[])?;
    let binaries = build_and_lint(root)?;
    let graph = tidy::crate_graph(root)?;
    let mut skipped = BTreeSet::new();
    time_step(TESTS, "cargo xtask check --fast", || {
        skipped = fast::run_touched_tests(root, &graph, binaries)?;
        Ok(())
    })?;
    time_step("tidy", "cargo xtask tidy", || tidy::run_tidy(root))?;
    skips::report_skips(root, &skipped, Strictness::Show)?;
    print_to_stdout(&format!("check: all steps passed in {}\n", seconds_text(start.elapsed())));
    Ok(())
}

/// Builds and lints everything. The tests.
fn build_and_lint(root: &Path) -> Result<Vec<TestBinary>, TaskFailure> {
    let mut binaries = Vec::new();
    time_step("lints and build", REPEAT_LINTS, || {
        binaries = suite::build_tests(root, suite::WORKSPACE)?;
        Ok(())
    })?;
    Ok(binaries)
}

/// Writes the reference documents anew.
pub(crate) fn write_reference(root: &Path) -> Result<(), TaskFailure> {
    run_step(root, &REFERENCE, &[(UPDATE_REFERENCE, "1")])
}

fn run_step(root: &Path, step: &CargoStep, variables: &[(&str, &str)]) -> Result<(), TaskFailure> {
    time_step(step.name, &repeat_command(step, variables), || {
        let status = Command::new(cargo_program())
            .args(step.arguments)
            .current_dir(root)
            .envs(variables.iter().copied())
            .status()
            .map_err(|error| TaskFailure::Outside(format!("could not run cargo: {error}")))?;
        if status.success() { Ok(()) } else { Err(TaskFailure::Found) }
    })
}

fn time_step(name: &str, repeat: &str, work: impl FnOnce() -> Result<(), TaskFailure>) -> Result<(), TaskFailure> {
    let start = Instant::now();
    let result = work();
    let line = outcome_line(name, repeat, start.elapsed(), &result);
    if result.is_ok() {
        print_to_stdout(&line);
    } else {
        print_to_stderr(&line);
    }
    result
}

/// One line on how a step ended.
fn outcome_line(name: &str, repeat: &str, duration: Duration, result: &Result<(), TaskFailure>) -> String {
    match result {
        Ok(()) => format!("{name}: passed in {}\n", seconds_text(duration)),
        Err(TaskFailure::Found) => format!("{name}: failed after {}; repeat with `{repeat}`\n", seconds_text(duration)),
        Err(TaskFailure::Outside(_)) => format!("{name}: could not run; repeat with `{repeat}`\n"),
    }
}

/// The command line that repeats one step.
fn repeat_command(step: &CargoStep, variables: &[(&str, &str)]) -> String {
    let mut words: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.push("cargo".to_owned());
    words.extend(step.arguments.iter().map(|&argument| argument.to_owned()));
    words.join(" ")
}

fn seconds_text(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_to_repeat_a_step() {
        assert_eq!(repeat_command(&FORMAT, &[]), "cargo fmt --all --check");
        assert_eq!(repeat_command(&EXAMPLES, &[]), "cargo test --workspace --doc --locked");
        assert_eq!(
            repeat_command(&REFERENCE, &[(UPDATE_REFERENCE, "1")]),
            "PROEM_UPDATE_REFERENCE=1 cargo test --locked -p proem-cli -p proem-agents -p proem-engine -p proem-guard -p proem-lisp -p proem-select --test it -- reference:: assemble::book the_index_of"
        );
    }

    #[test]
    fn one_line_says_how_a_step_ended() {
        for (result, expected) in [
            (Ok(()), "tidy: passed in 2.0 s\n"),
            (Err(TaskFailure::Found), "tidy: failed after 2.0 s; repeat with `cargo xtask tidy`\n"),
            (Err(TaskFailure::Outside("no cargo".to_owned())), "tidy: could not run; repeat with `cargo xtask tidy`\n"),
        ] {
            assert_eq!(outcome_line("tidy", "cargo xtask tidy", Duration::from_secs(2), &result), expected);
        }
    }

    #[test]
    fn durations_have_one_decimal() {
        assert_eq!(seconds_text(Duration::from_millis(1250)), "1.2 s");
        assert_eq!(seconds_text(Duration::ZERO), "0.0 s");
    }
}
