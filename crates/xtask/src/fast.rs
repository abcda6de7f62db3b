//! `cargo xtask check --fast`: format, lints and tidy for everything, and the tests of what a change touches.
//!
//! Touched are the crates with a file that is not committed, or of the last commit where everything is, and every
//! crate that depends on one of them. The whole workspace is compiled, as `check` does it: a smaller choice of packages
//! would build the dependencies again with other features.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    TaskFailure, say,
    steps::{TEST_THREADS, test_threads},
    tidy::CrateGraph,
    toolchain::cargo,
};

/// A built test.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binary {
    package: String,
    program: PathBuf,
    folder: PathBuf,
}

/// Runs the tests of what was touched.
pub(crate) fn tests(root: &Path, graph: &CrateGraph) -> Result<(), TaskFailure> {
    let paths = changed(root)?;
    let touched = touched(&paths, graph);
    if touched.is_empty() {
        say("tests: no crate is touched\n");
        return Ok(());
    }
    let names: Vec<&str> = touched.iter().map(String::as_str).collect();
    say(&format!("tests: {}\n", names.join(", ")));
    let built = output(root, cargo(), &["test", "--workspace", "--locked", "--no-run", "--message-format=json"])?;
    for binary in binaries(&built).into_iter().filter(|binary| touched.contains(&binary.package)) {
        let status = Command::new(&binary.program)
            .current_dir(&binary.folder)
            .env("CARGO_MANIFEST_DIR", &binary.folder)
            .envs(test_threads().map(|threads| (TEST_THREADS, threads)))
            .args(["--quiet"])
            .status()
            .map_err(|error| TaskFailure::Outside(format!("could not run `{}`: {error}", binary.program.display())))?;
        if !status.success() {
            return Err(TaskFailure::Found);
        }
    }
    Ok(())
}

/// The paths that are not committed, or those of the last commit.
fn changed(root: &Path) -> Result<Vec<String>, TaskFailure> {
    let status = output(root, "git", &["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"])?;
    let uncommitted: Vec<String> = status
        .split('\0')
        .filter_map(|entry| entry.get(3..))
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    if !uncommitted.is_empty() {
        return Ok(uncommitted);
    }
    let last = output(root, "git", &["show", "--format=", "--name-only", "--no-renames", "-z", "HEAD"])?;
    Ok(last.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// The crates of these paths and whatever depends on them; all of them where a path belongs to none.
fn touched(paths: &[String], graph: &CrateGraph) -> BTreeSet<String> {
    let all = || graph.members.iter().map(|member| member.name.clone()).collect();
    let mut touched = BTreeSet::new();
    for path in paths {
        match path.strip_prefix("crates/").and_then(|rest| rest.split('/').next()) {
            Some(name) if graph.is_member(name) => _ = touched.insert(name.to_owned()),
            // Tests read documents and tables as well, and a manifest of the workspace is everybody's.
            _ => return all(),
        }
    }
    loop {
        let more: Vec<String> = graph
            .members
            .iter()
            .filter(|member| !touched.contains(&member.name))
            .filter(|member| member.dependencies.iter().any(|dependency| touched.contains(&dependency.name)))
            .map(|member| member.name.clone())
            .collect();
        if more.is_empty() {
            return touched;
        }
        touched.extend(more);
    }
}

/// The tests that cargo says it built.
fn binaries(messages: &str) -> Vec<Binary> {
    let read = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_test = message.get("profile")?.get("test")?.as_bool()?;
        let program = PathBuf::from(message.get("executable")?.as_str()?);
        let folder = PathBuf::from(message.get("manifest_path")?.as_str()?).parent()?.to_owned();
        let package = folder.file_name()?.to_str()?.to_owned();
        is_test.then_some(Binary { package, program, folder })
    };
    messages.lines().filter_map(read).collect()
}

/// What a program prints; its messages go to the terminal.
fn output(root: &Path, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Result<String, TaskFailure> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| TaskFailure::Outside(format!("could not run {}: {error}", arguments.join(" "))))?;
    if !output.status.success() {
        return Err(TaskFailure::Found);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sketch;

    #[test]
    fn a_crate_touches_whatever_depends_on_it() {
        let graph = sketch(&["a", "b: a", "c: dev:b", "d"], &[]);
        for (paths, expected) in [
            ("crates/d/src/lib.rs", "d"),
            ("crates/b/src/lib.rs", "b c"),
            ("crates/a/src/lib.rs crates/d/x", "a b c d"),
            ("Cargo.lock", "a b c d"),
            ("crates/gone/src/lib.rs", "a b c d"),
            ("", ""),
        ] {
            let paths: Vec<String> = paths.split_whitespace().map(str::to_owned).collect();
            let found: Vec<String> = touched(&paths, &graph).into_iter().collect();
            assert_eq!(found.join(" "), expected, "{paths:?}");
        }
    }

    #[test]
    fn tests_are_what_cargo_built_as_tests() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","profile":{"test":true},"executable":"/t/a-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/b/Cargo.toml","profile":{"test":false},"executable":"/t/b"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/c/Cargo.toml","profile":{"test":true},"executable":null}"#,
            "\nnot JSON\n",
        );
        let expected = Binary { package: "a".to_owned(), program: "/t/a-1".into(), folder: "/w/crates/a".into() };
        assert_eq!(binaries(messages), [expected]);
    }
}
