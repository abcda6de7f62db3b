//! `cargo xtask check --fast`: format, lints and tidy for everything, and the tests of what a change touches.
//!
//! Touched are the crates with a file that is not committed, or of the last commit where everything is, and every
//! crate that depends on one of them. The whole workspace is compiled, as `check` does it: a smaller choice of packages
//! would build the dependencies again with other features.

use std::{collections::BTreeSet, path::Path};

use crate::{
    TaskFailure, print_to_stdout,
    skips::SkippedTest,
    suite::{self, TestBinary},
    tidy::CrateGraph,
    toolchain::program_output,
};

/// Runs the tests of what was touched. Those that were skipped.
pub(crate) fn run_touched_tests(
    root: &Path,
    graph: &CrateGraph,
    binaries: Vec<TestBinary>,
) -> Result<BTreeSet<SkippedTest>, TaskFailure> {
    let paths = changed_paths(root)?;
    let touched = touched_crates(&paths, graph);
    if touched.is_empty() {
        print_to_stdout("tests: no crate is touched\n");
        return Ok(BTreeSet::new());
    }
    let names: Vec<&str> = touched.iter().map(String::as_str).collect();
    print_to_stdout(&format!("tests: {}\n", names.join(", ")));
    suite::run_tests(binaries.into_iter().filter(|binary| touched.contains(&binary.package)).collect())
}

/// The paths that are not committed, or those of the last commit.
fn changed_paths(root: &Path) -> Result<Vec<String>, TaskFailure> {
    let status =
        program_output(root, "git", &["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"])?;
    let uncommitted: Vec<String> = status
        .split('\0')
        .filter_map(|entry| entry.get(3..))
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    if !uncommitted.is_empty() {
        return Ok(uncommitted);
    }
    let last = program_output(root, "git", &["show", "--format=", "--name-only", "--no-renames", "-z", "HEAD"])?;
    Ok(last.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// The crates of these paths and whatever depends on them. All of them where a path belongs to none.
fn touched_crates(paths: &[String], graph: &CrateGraph) -> BTreeSet<String> {
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
            let found: Vec<String> = touched_crates(&paths, &graph).into_iter().collect();
            assert_eq!(found.join(" "), expected, "{paths:?}");
        }
    }
}
