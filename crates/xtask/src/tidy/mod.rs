//! Rules that neither the compiler nor clippy knows, checked over the project's text.
//!
//! Each rule is a module with one pure function from texts to findings. Reading files and asking
//! cargo happen here and in [`tree`], nowhere else.

mod allowed;
mod code_map;
mod credentials;
mod drawing;
mod duplicates;
mod early_returns;
mod finding;
mod glossary;
mod graph;
mod licences;
mod names;
mod opens;
mod prose;
mod purity;
mod sizes;
mod tree;
mod wording;

use std::{path::Path, process::Command};

pub(crate) use self::graph::CrateGraph;
#[cfg(test)]
pub(crate) use self::graph::sketch;
use self::{finding::TidyFinding, tree::SourceTree};
use crate::{TaskFailure, complain, say, toolchain::cargo};

/// Reads the project, applies every rule and prints what was found.
pub(crate) fn run(root: &Path) -> Result<(), TaskFailure> {
    let tree = SourceTree::read(root).map_err(TaskFailure::Outside)?;
    let graph = graph(root)?;
    let findings = check(&tree, &graph);
    say(&format!("tidy: {}\n", names::TypeNames::of(&tree).in_words()));
    say(&format!("tidy: {}\n", prose::in_words(&tree)));
    if findings.is_empty() {
        say(&format!("tidy: {} files, {} packages, nothing to report\n", tree.len(), graph.packages.len()));
        return Ok(());
    }
    for finding in &findings {
        complain(&format!("{finding}\n"));
    }
    let noun = if findings.len() == 1 { "finding" } else { "findings" };
    complain(&format!("tidy: {} {noun}\n", findings.len()));
    Err(TaskFailure::Found)
}

/// Applies every rule; findings are in the order of path and line.
fn check(tree: &SourceTree, graph: &CrateGraph) -> Vec<TidyFinding> {
    let mut findings: Vec<TidyFinding> = [
        allowed::check(tree, graph),
        code_map::check(tree),
        credentials::check(tree),
        drawing::check(tree, graph),
        duplicates::check(tree, graph),
        early_returns::check(tree),
        glossary::check(tree),
        licences::check(tree, graph),
        names::check(tree),
        opens::check(tree),
        prose::check(tree),
        purity::check(tree),
        sizes::check(tree),
        wording::check(tree),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.sort();
    findings
}

/// The workspace as cargo sees it.
pub(crate) fn graph(root: &Path) -> Result<CrateGraph, TaskFailure> {
    CrateGraph::parse(&metadata(root)?).map_err(TaskFailure::Outside)
}

fn metadata(root: &Path) -> Result<String, TaskFailure> {
    let output = Command::new(cargo())
        .args(["metadata", "--format-version", "1", "--locked", "--quiet"])
        .current_dir(root)
        .output()
        .map_err(|error| TaskFailure::Outside(format!("could not run cargo metadata: {error}")))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(TaskFailure::Outside(format!("cargo metadata failed: {}", complaint.trim())));
    }
    String::from_utf8(output.stdout)
        .map_err(|error| TaskFailure::Outside(format!("cargo metadata printed other than UTF-8: {error}")))
}
