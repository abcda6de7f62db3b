//! The tests: built and linted in one, and run side by side.
//!
//! `cargo clippy` and `cargo test` each read the whole workspace and its dependencies. One after the other that is a
//! third of a check on a machine that has built nothing. Clippy's driver is a compiler that lints what it compiles, so
//! it builds the tests. And `cargo test` runs one binary after the other, of which each leaves processors idle while it
//! waits for its last test.

use std::{
    collections::{BTreeSet, VecDeque},
    env,
    io::{self, BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Mutex, PoisonError},
    thread,
};

use serde_json::Value;

use crate::{
    TaskFailure, print_to_stderr, print_to_stdout,
    skips::SkippedTest,
    toolchain::{WRAPPER, cargo_program, driver},
};

/// How many tests of one binary run at a time, for each processor, while as many binaries run as there are processors:
/// many wait for a process, a clock or a lock, and leave it idle.
const TESTS_PER_PROCESSOR: usize = 2;

/// The variable that says how many tests of one binary run at a time.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// A built test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestBinary {
    pub(crate) package: String,
    /// The target's name: the crate's for tests in its sources.
    name: String,
    program: PathBuf,
    folder: PathBuf,
}

/// Cargo's words for the workspace of all crates but two.
pub(crate) const WORKSPACE: &[&str] = &["--workspace", "--all-targets"];

/// Those for the modules for Python and Node, which are a workspace of their own. Their sources are no tests: napi leaves
/// out there what uses them.
pub(crate) const BINDINGS: &[&str] =
    &["--manifest-path", "crates/proem-python/Cargo.toml", "--workspace", "--tests", "--target-dir", "target/bindings"];

/// Builds and lints a workspace. Its tests. A warning is a finding.
pub(crate) fn build_tests(root: &Path, workspace: &[&str]) -> Result<Vec<TestBinary>, TaskFailure> {
    let could_not = |error: io::Error| TaskFailure::Outside(format!("could not run cargo: {error}"));
    let mut build = Command::new(cargo_program())
        .arg("test")
        .args(workspace)
        .args(["--locked", "--no-run", "--message-format=json"])
        .env(WRAPPER, driver()?)
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(could_not)?;
    let (mut binaries, mut findings) = (Vec::new(), 0usize);
    for line in build.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        match BuildMessage::read(&line.map_err(could_not)?) {
            Some(BuildMessage::Test(binary)) => binaries.push(binary),
            Some(BuildMessage::Finding(text)) => {
                print_to_stderr(&text);
                findings = findings.saturating_add(1);
            }
            None => {}
        }
    }
    let status = build.wait().map_err(could_not)?;
    if status.success() && findings == 0 { Ok(binaries) } else { Err(TaskFailure::Found) }
}

/// Runs tests, a binary for each processor at a time, and shows what each printed when it has ended. The tests that
/// were skipped. Behind one that fails no other begins.
pub(crate) fn run_tests(binaries: Vec<TestBinary>) -> Result<BTreeSet<SkippedTest>, TaskFailure> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = match env::var(TEST_THREADS) {
        Ok(threads) => threads,
        Err(_) => processors.saturating_mul(TESTS_PER_PROCESSOR).to_string(),
    };
    let waiting = Mutex::new(VecDeque::from(binaries));
    let result = Mutex::new(Ok(BTreeSet::new()));
    let following = |done: Result<BTreeSet<SkippedTest>, TaskFailure>| {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
        match (done, result.as_mut()) {
            (Ok(skipped), Ok(all)) => all.extend(skipped),
            (Ok(_), Err(_)) => {}
            (Err(failure), _) => {
                waiting.clear();
                *result = Err(failure);
            }
        }
        waiting.pop_front()
    };
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                let mut next = following(Ok(BTreeSet::new()));
                while let Some(binary) = next {
                    next = following(run_one(&binary, &threads));
                }
            });
        }
    });
    result.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn run_one(binary: &TestBinary, threads: &str) -> Result<BTreeSet<SkippedTest>, TaskFailure> {
    let done = Command::new(&binary.program)
        .current_dir(&binary.folder)
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .env(TEST_THREADS, threads)
        .arg("--quiet")
        .output()
        .map_err(|error| TaskFailure::Outside(format!("could not run `{}`: {error}", binary.program.display())))?;
    show_output(binary, &done);
    if !done.status.success() {
        return Err(TaskFailure::Found);
    }
    Ok(SkippedTest::read(&binary.package, &String::from_utf8_lossy(&done.stderr)).collect())
}

/// Shows one binary's output, in one piece.
fn show_output(binary: &TestBinary, done: &Output) {
    let printed = String::from_utf8_lossy(&done.stdout);
    // Rows of dots say how far a binary is, and this one is at its end.
    let told: String = printed.lines().filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect();
    _ = io::stderr().lock().write_all(&done.stderr);
    if !told.is_empty() {
        print_to_stdout(&format!("{} ({}): {}\n", binary.package, binary.name, told.trim()));
    }
}

/// Whether a line only says that tests went by: dots, and how many there are.
fn is_progress(line: &str) -> bool {
    let dots = line.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '/' | ' '));
    line.is_empty() || !dots.is_empty() && dots.chars().all(|c| matches!(c, '.' | 'i'))
}

/// The messages of cargo while it builds, as far as they are wanted.
#[derive(Debug, PartialEq, Eq)]
enum BuildMessage {
    /// A test was built.
    Test(TestBinary),
    /// The compiler or clippy found something, in its words.
    Finding(String),
}

impl BuildMessage {
    /// Reads a line of `--message-format=json`.
    fn read(line: &str) -> Option<Self> {
        let said: Value = serde_json::from_str(line).ok()?;
        if let Some(message) = said.get("message") {
            let is_finding =
                matches!(message.get("level")?.as_str()?, "warning" | "error" | "error: internal compiler error");
            let text = message.get("rendered")?.as_str()?.to_owned();
            return is_finding.then_some(Self::Finding(text));
        }
        let target = said.get("target")?;
        // An example is run by the test that compares what it prints.
        let is_other = target.get("kind")?.as_array()?.iter().any(|kind| kind == "bench" || kind == "example");
        let is_test = said.get("profile")?.get("test")?.as_bool()? && !is_other;
        let program = PathBuf::from(said.get("executable")?.as_str()?);
        let folder = PathBuf::from(said.get("manifest_path")?.as_str()?).parent()?.to_owned();
        let package = folder.file_name()?.to_str()?.to_owned();
        let name = target.get("name")?.as_str()?.to_owned();
        is_test.then_some(Self::Test(TestBinary { package, name, program, folder }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn built(kind: &str, is_test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","profile":{{"test":{is_test}}},"executable":{executable},"target":{{"name":"it","kind":["{kind}"]}}}}"#
        )
    }

    #[test]
    fn tests_are_what_cargo_built_as_tests() {
        let expected = TestBinary {
            package: "a".to_owned(),
            name: "it".to_owned(),
            program: "/t/a-1".into(),
            folder: "/w/crates/a".into(),
        };
        assert_eq!(BuildMessage::read(&built("test", true, "\"/t/a-1\"")), Some(BuildMessage::Test(expected)));
        for (kind, is_test, executable) in [
            ("test", false, "\"/t/b\""),
            ("lib", true, "null"),
            ("bench", true, "\"/t/c\""),
            ("example", true, "\"/t/d\""),
        ] {
            assert_eq!(BuildMessage::read(&built(kind, is_test, executable)), None, "{kind} {executable}");
        }
        assert_eq!(BuildMessage::read("not JSON"), None);
    }

    #[test]
    fn what_the_compiler_warns_of_is_a_finding() {
        for (level, is_finding) in [("warning", true), ("error", true), ("note", false), ("failure-note", false)] {
            let line = format!(r#"{{"reason":"compiler-message","message":{{"level":"{level}","rendered":"text"}}}}"#);
            assert_eq!(BuildMessage::read(&line).is_some(), is_finding, "{level}");
        }
    }

    #[test]
    fn only_rows_of_dots_are_progress() {
        for line in ["", "....", "....i.... 88/521", "..."] {
            assert!(is_progress(line), "{line}");
        }
        for line in ["running 3 tests", "test result: ok. 3 passed", "88/521", "failures:", ".F."] {
            assert!(!is_progress(line), "{line}");
        }
    }

    #[test]
    fn behind_one_that_fails_no_other_begins() {
        let folder = env::temp_dir().join(format!("xtask-suite-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let binary = |program: &str| TestBinary {
            package: "a".to_owned(),
            name: "it".to_owned(),
            program: program.into(),
            folder: folder.clone(),
        };
        assert!(run_tests(vec![binary("true"), binary("true")]).is_ok());
        assert!(matches!(run_tests(vec![binary("true"), binary("false")]), Err(TaskFailure::Found)));
        assert!(matches!(run_tests(vec![binary("/nowhere/it")]), Err(TaskFailure::Outside(_))));
        fs::remove_dir_all(&folder).unwrap();
    }
}
