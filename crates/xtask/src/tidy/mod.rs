//! Rules that neither the compiler nor clippy knows, checked over the project's text.
//!
//! Each rule is a module with one pure function from texts to findings. Reading files and asking
//! cargo happen here and in [`tree`], nowhere else.

mod allowed_dependencies;
mod code_map;
mod credentials;
mod drawing;
mod duplicates;
mod early_returns;
mod finding;
mod glossary;
mod graph;
mod licences;
mod literals;
mod names;
mod opens;
mod prose;
mod purity;
mod sizes;
mod tree;
mod wording;

use std::{path::Path, process::Command};

#[cfg(test)]
pub(crate) use self::graph::sketch;
pub(crate) use self::{
    early_returns::name_of_function,
    finding::TidyFinding,
    graph::CrateGraph,
    names::{TypeNames, is_source},
    sizes::without_tests,
    tree::SourceTree,
};
use crate::{TaskFailure, house, print_to_stderr, print_to_stdout, toolchain::cargo_program};

/// Reads the project, applies every rule and prints what was found.
pub(crate) fn run_tidy(root: &Path) -> Result<(), TaskFailure> {
    let tree = SourceTree::read(root).map_err(TaskFailure::Outside)?;
    let graph = crate_graph(root)?;
    let findings = check_rules(&tree, &graph);
    print_to_stdout(&format!("tidy: {}\n", TypeNames::of(&tree).in_words()));
    print_to_stdout(&format!("tidy: {}\n", prose::counts_in_words(&tree)));
    if findings.is_empty() {
        print_to_stdout(&format!("tidy: {} files, {} packages, nothing to report\n", tree.len(), graph.packages.len()));
        return Ok(());
    }
    for finding in &findings {
        print_to_stderr(&format!("{finding}\n"));
    }
    let noun = if findings.len() == 1 { "finding" } else { "findings" };
    print_to_stderr(&format!("tidy: {} {noun}\n", findings.len()));
    Err(TaskFailure::Found)
}

/// Applies every rule. Findings are in the order of path and line.
fn check_rules(tree: &SourceTree, graph: &CrateGraph) -> Vec<TidyFinding> {
    let mut findings: Vec<TidyFinding> = [
        allowed_dependencies::check_allowed_dependencies(tree, graph),
        code_map::check_code_maps(tree),
        credentials::check_credential_reads(tree),
        drawing::check_drawing(tree, graph),
        duplicates::check_duplicates(tree, graph),
        early_returns::check_early_returns(tree),
        glossary::check_glossary(tree),
        house::check_house(tree),
        licences::check_licences(tree, graph),
        names::check_type_names(tree),
        opens::check_opens(tree),
        prose::check_prose(tree),
        purity::check_purity(tree),
        sizes::check_sizes(tree),
        wording::check_wording(tree),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.sort();
    findings
}

/// The workspaces as cargo sees them.
pub(crate) fn crate_graph(root: &Path) -> Result<CrateGraph, TaskFailure> {
    let mut graph = CrateGraph::default();
    for manifest in ["Cargo.toml", "crates/proem-python/Cargo.toml"] {
        graph.add(CrateGraph::parse(&cargo_metadata(root, manifest)?).map_err(TaskFailure::Outside)?);
    }
    Ok(graph)
}

fn cargo_metadata(root: &Path, manifest: &str) -> Result<String, TaskFailure> {
    let output = Command::new(cargo_program())
        .args(["metadata", "--format-version", "1", "--locked", "--quiet", "--manifest-path", manifest])
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
