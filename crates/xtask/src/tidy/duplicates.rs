//! A direct dependency exists in one version.
//!
//! Two versions cost build time and confuse types. If the second one comes from another crate and can't be avoided,
//! `[two-versions]` in `allowed-dependencies.toml` gives the reason.

use std::collections::{BTreeMap, BTreeSet};

use toml::Table;

use super::{
    allowed_dependencies::{self, line_of_entry},
    finding::TidyFinding,
    graph::CrateGraph,
    tree::SourceTree,
};

const TABLE: &str = "two-versions";

/// Looks for direct dependencies that resolve to more than one version.
pub(crate) fn check_duplicates(tree: &SourceTree, graph: &CrateGraph) -> Vec<TidyFinding> {
    // A list that can't be read is the allow-list rule's finding.
    let list = allowed_dependencies::read_allowed(tree).unwrap_or_default();
    let none = Table::new();
    let excused = list.get(TABLE).and_then(toml::Value::as_table).unwrap_or(&none);
    let direct: BTreeSet<&str> = graph
        .members
        .iter()
        .flat_map(|member| &member.dependencies)
        .map(|dependency| dependency.name.as_str())
        .collect();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in graph.packages.iter().filter(|package| direct.contains(package.name.as_str())) {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let found = versions.iter().filter(|(name, _)| !excused.contains_key(**name)).map(|(name, versions)| {
        TidyFinding::in_file(
            "Cargo.lock",
            format!("direct dependency `{name}` exists in versions {}", versions.join(" and ")),
            "align them (`cargo tree -i` shows who wants which), or add a reason to [two-versions] in \
             crates/xtask/allowed-dependencies.toml",
        )
        .at(line_of_package(tree, name))
    });
    let stale = excused.keys().filter(|name| !versions.contains_key(name.as_str())).map(|name| {
        TidyFinding::in_file(
            allowed_dependencies::PATH,
            format!("`{name}` exists in one version only"),
            "remove the entry",
        )
        .at(line_of_entry(tree, "[two-versions]", name))
    });
    found.chain(stale).collect()
}

/// The line at which the lock file begins to describe a package.
pub(crate) fn line_of_package(tree: &SourceTree, name: &str) -> Option<usize> {
    let wanted = format!("name = \"{name}\"");
    tree.line_of("Cargo.lock", |line| line == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{finding::finding_lines, graph::sketch};

    fn problems(list: &str, packages: &[(&str, &str, &str)]) -> Vec<String> {
        let tree =
            SourceTree::from([(allowed_dependencies::PATH, list), ("Cargo.lock", "[[package]]\nname = \"rand\"\n")]);
        finding_lines(&check_duplicates(&tree, &sketch(&["a: rand", "b: dev:log"], packages)))
    }

    #[test]
    fn one_version_each_or_an_indirect_pair_passes() {
        let packages = [("rand", "1.0.0", "MIT"), ("syn", "1.0.0", "MIT"), ("syn", "2.0.0", "MIT")];
        assert_eq!(problems("", &packages), Vec::<String>::new());
    }

    #[test]
    fn two_versions_are_found_unless_excused() {
        let packages = [("rand", "1.0.0", "MIT"), ("rand", "2.0.0", "MIT")];
        assert_eq!(
            problems("", &packages),
            ["Cargo.lock:2: direct dependency `rand` exists in versions 1.0.0 and 2.0.0; \
              align them (`cargo tree -i` shows who wants which), or add a reason to [two-versions] in \
              crates/xtask/allowed-dependencies.toml"]
        );
        assert_eq!(problems("[two-versions]\nrand = \"old peer\"\n", &packages), Vec::<String>::new());
    }

    #[test]
    fn an_excuse_that_is_no_longer_needed_is_found() {
        assert_eq!(
            problems("\n[two-versions]\nrand = \"old peer\"\n", &[("rand", "1.0.0", "MIT")]),
            ["crates/xtask/allowed-dependencies.toml:3: `rand` exists in one version only; remove the entry"]
        );
    }
}
