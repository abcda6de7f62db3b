//! The steps of `cargo xtask check`, in the order in which they fail fastest.

use std::{
    env,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::{TaskFailure, complain, fast, say, tidy, toolchain::cargo};

/// The step that runs tests.
const TESTS: &str = "tests";

/// One run of cargo.
struct CargoStep {
    name: &'static str,
    arguments: &'static [&'static str],
}

const STEPS: &[CargoStep] = &[
    CargoStep { name: "format", arguments: &["fmt", "--all", "--check"] },
    CargoStep {
        name: "lints",
        arguments: &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
    },
    CargoStep { name: TESTS, arguments: &["test", "--workspace", "--locked"] },
];

/// The targets of the fuzzer are a workspace of their own, which nothing else compiles: a changed signature broke them
/// three times before anybody noticed.
const FUZZ: CargoStep = CargoStep {
    name: "fuzz targets",
    arguments: &["check", "--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target", "--locked"],
};

/// What keeps the fuzzer's own library, which is C++, from being built: nothing is linked. The build script of
/// `libfuzzer-sys` takes the folder of this path, so it needs one.
const WITHOUT_FUZZER: (&str, &str) = ("CUSTOM_LIBFUZZER_PATH", "./none");

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

/// How many tests run at a time, for each processor: many wait for a process, a clock or a lock, and leave it idle.
const TESTS_PER_PROCESSOR: usize = 3;

/// The variable that says how many tests run at a time.
pub(crate) const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// How many tests run at a time; `None` where the caller says so.
pub(crate) fn test_threads() -> Option<String> {
    if env::var_os(TEST_THREADS).is_some() {
        return None;
    }
    let processors = thread::available_parallelism().ok()?;
    Some(processors.get().saturating_mul(TESTS_PER_PROCESSOR).to_string())
}

/// Runs every step and stops at the first that fails.
pub(crate) fn check(root: &Path) -> Result<(), TaskFailure> {
    let start = Instant::now();
    let threads = test_threads();
    let threads: Vec<(&str, &str)> = threads.iter().map(|threads| (TEST_THREADS, threads.as_str())).collect();
    for step in STEPS {
        run(root, step, if step.name == TESTS { &threads } else { &[] })?;
    }
    run(root, &FUZZ, &[WITHOUT_FUZZER])?;
    timed("tidy", "cargo xtask tidy", || tidy::run(root))?;
    say(&format!("check: all steps passed in {}\n", seconds(start.elapsed())));
    Ok(())
}

/// Runs every step, of the tests those of what a change touches.
pub(crate) fn fast_check(root: &Path) -> Result<(), TaskFailure> {
    let start = Instant::now();
    for step in STEPS.iter().filter(|step| step.name != TESTS) {
        run(root, step, &[])?;
    }
    let graph = tidy::graph(root)?;
    timed(TESTS, "cargo xtask check --fast", || fast::tests(root, &graph))?;
    timed("tidy", "cargo xtask tidy", || tidy::run(root))?;
    say(&format!("check: all steps passed in {}\n", seconds(start.elapsed())));
    Ok(())
}

/// Writes the reference documents anew.
pub(crate) fn docs(root: &Path) -> Result<(), TaskFailure> {
    run(root, &REFERENCE, &[(UPDATE_REFERENCE, "1")])
}

fn run(root: &Path, step: &CargoStep, variables: &[(&str, &str)]) -> Result<(), TaskFailure> {
    timed(step.name, &repeat(step, variables), || {
        let status = Command::new(cargo())
            .args(step.arguments)
            .current_dir(root)
            .envs(variables.iter().copied())
            .status()
            .map_err(|error| TaskFailure::Outside(format!("could not run cargo: {error}")))?;
        if status.success() { Ok(()) } else { Err(TaskFailure::Found) }
    })
}

fn timed(name: &str, repeat: &str, work: impl FnOnce() -> Result<(), TaskFailure>) -> Result<(), TaskFailure> {
    let start = Instant::now();
    let result = work();
    let line = outcome(name, repeat, start.elapsed(), &result);
    if result.is_ok() {
        say(&line);
    } else {
        complain(&line);
    }
    result
}

/// One line on how a step ended.
fn outcome(name: &str, repeat: &str, duration: Duration, result: &Result<(), TaskFailure>) -> String {
    match result {
        Ok(()) => format!("{name}: passed in {}\n", seconds(duration)),
        Err(TaskFailure::Found) => format!("{name}: failed after {}; repeat with `{repeat}`\n", seconds(duration)),
        Err(TaskFailure::Outside(_)) => format!("{name}: could not run; repeat with `{repeat}`\n"),
    }
}

/// The command line that repeats one step.
fn repeat(step: &CargoStep, variables: &[(&str, &str)]) -> String {
    let mut words: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.push("cargo".to_owned());
    words.extend(step.arguments.iter().map(|&argument| argument.to_owned()));
    words.join(" ")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_to_repeat_a_step() {
        let lines: Vec<String> = STEPS.iter().map(|step| repeat(step, &[])).collect();
        assert_eq!(
            lines,
            [
                "cargo fmt --all --check",
                "cargo clippy --workspace --all-targets --locked -- -D warnings",
                "cargo test --workspace --locked",
            ]
        );
        assert_eq!(
            repeat(&FUZZ, &[WITHOUT_FUZZER]),
            "CUSTOM_LIBFUZZER_PATH=./none cargo check --manifest-path fuzz/Cargo.toml --target-dir target --locked"
        );
        assert_eq!(
            repeat(&REFERENCE, &[(UPDATE_REFERENCE, "1")]),
            "PROEM_UPDATE_REFERENCE=1 cargo test --locked -p proem-cli -p proem-agents -p proem-engine -p proem-guard -p proem-select --test it -- reference:: assemble::book the_index_of"
        );
    }

    #[test]
    fn one_line_says_how_a_step_ended() {
        for (result, expected) in [
            (Ok(()), "tidy: passed in 2.0 s\n"),
            (Err(TaskFailure::Found), "tidy: failed after 2.0 s; repeat with `cargo xtask tidy`\n"),
            (Err(TaskFailure::Outside("no cargo".to_owned())), "tidy: could not run; repeat with `cargo xtask tidy`\n"),
        ] {
            assert_eq!(outcome("tidy", "cargo xtask tidy", Duration::from_secs(2), &result), expected);
        }
    }

    #[test]
    fn durations_have_one_decimal() {
        assert_eq!(seconds(Duration::from_millis(1250)), "1.2 s");
        assert_eq!(seconds(Duration::ZERO), "0.0 s");
    }
}
