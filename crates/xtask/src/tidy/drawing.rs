//! Dependencies between the workspace's crates follow the drawing in `ARCHITECTURE.md`.
//!
//! An arrow points at a permitted dependency. Anything reachable may be used directly, nothing else. Dependencies of
//! tests are exempt, except that a pure crate's tests don't reach upwards either.

use std::collections::BTreeSet;

use super::{
    finding::TidyFinding,
    graph::{CrateGraph, DependencyKind, WorkspaceMember},
    tree::SourceTree,
};

/// The arrows of the drawing.
const ARROWS: &[(&str, &[&str])] = &[
    ("proem", &["proem-app"]),
    ("proem-cli", &["proem-app", "proem-mcp", "proem-server"]),
    ("proem-app", &["proem-runtime", "proem-triage"]),
    ("proem-mcp", &["proem-app"]),
    ("proem-server", &["proem-app"]),
    ("proem-lab", &["proem-app"]),
    ("proem-fuzz", &["proem-runtime", "proem-triage"]),
    ("proem-node", &["proem"]),
    ("proem-python", &["proem"]),
    ("proem-runtime", &["proem-embed", "proem-imports", "proem-llm", "proem-store"]),
    ("proem-store", &["proem-agents"]),
    ("proem-llm", &["proem-engine"]),
    ("proem-embed", &["proem-select"]),
    ("proem-agents", &["proem-lisp", "proem-risk", "proem-select"]),
    ("proem-select", &["proem-engine"]),
    ("proem-engine", &["proem-guard", "proem-tokens"]),
    ("proem-guard", &["proem-score", "proem-text"]),
    ("proem-lisp", &["proem-text"]),
    ("proem-risk", &["proem-score", "proem-text"]),
    ("proem-imports", &["proem-text"]),
    ("proem-score", &[]),
    ("proem-text", &[]),
    ("proem-tokens", &[]),
    ("proem-triage", &["proem-agents"]),
    ("xtask", &[]),
];

/// The crates that read no clock, environment, file, socket, process or random source.
pub(crate) const PURE: &[&str] = &[
    "proem-agents",
    "proem-embed",
    "proem-engine",
    "proem-guard",
    "proem-lisp",
    "proem-risk",
    "proem-score",
    "proem-select",
    "proem-text",
    "proem-tokens",
    "proem-triage",
];

/// Compares every member's manifest with the drawing.
pub(crate) fn check_drawing(tree: &SourceTree, graph: &CrateGraph) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for member in &graph.members {
        match reachable(&member.name) {
            Some(reachable) => findings.extend(check_member_drawing(tree, graph, member, &reachable)),
            None => findings.push(TidyFinding::in_file(
                &manifest(&member.name),
                format!("`{}` is not in the drawing of dependencies", member.name),
                "draw it in ARCHITECTURE.md and in crates/xtask/src/tidy/drawing.rs",
            )),
        }
    }
    findings
}

fn check_member_drawing(
    tree: &SourceTree,
    graph: &CrateGraph,
    member: &WorkspaceMember,
    reachable: &BTreeSet<&str>,
) -> Vec<TidyFinding> {
    let pure = PURE.contains(&member.name.as_str());
    member
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Dev || pure)
        .filter(|dependency| graph.is_member(&dependency.name) && !reachable.contains(dependency.name.as_str()))
        .map(|dependency| {
            let what = if dependency.kind == DependencyKind::Dev { "tests of" } else { "crate" };
            TidyFinding::in_file(
                &manifest(&member.name),
                format!("{what} `{}` must not depend on `{}`", member.name, dependency.name),
                "move the code to where the drawing in ARCHITECTURE.md allows it",
            )
            .at(line_of_dependency(tree, &member.name, &dependency.name))
        })
        .collect()
}

/// The crates that a crate may depend on. `None` if it isn't drawn.
fn reachable(name: &str) -> Option<BTreeSet<&'static str>> {
    let mut found = BTreeSet::new();
    let mut open = arrows_from(name)?.to_vec();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(arrows_from(next).unwrap_or_default());
        }
    }
    Some(found)
}

fn arrows_from(name: &str) -> Option<&'static [&'static str]> {
    ARROWS.iter().find(|(from, _)| *from == name).map(|(_, to)| *to)
}

/// The manifest of a member.
pub(crate) fn manifest(member: &str) -> String {
    format!("crates/{member}/Cargo.toml")
}

/// The line at which a member's manifest names a dependency.
pub(crate) fn line_of_dependency(tree: &SourceTree, member: &str, dependency: &str) -> Option<usize> {
    tree.line_of(&manifest(member), |line| {
        line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{finding::finding_lines, graph::sketch};

    fn problems(members: &[&str]) -> Vec<String> {
        let tree = SourceTree::from([(
            "crates/proem-text/Cargo.toml",
            "[dependencies]\nserde.x\nproem-guard.workspace = true\n",
        )]);
        finding_lines(&check_drawing(&tree, &sketch(members, &[])))
    }

    #[test]
    fn what_is_reachable_may_be_used() {
        let everything = "proem-cli: proem-text proem-guard proem-engine proem-agents proem-llm proem-runtime serde";
        let names =
            ["proem-text", "proem-guard", "proem-engine", "proem-agents", "proem-llm", "proem-runtime", everything];
        assert_eq!(problems(&names), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_upwards_is_found() {
        assert_eq!(
            problems(&["proem-guard", "proem-text: proem-guard"]),
            ["crates/proem-text/Cargo.toml:3: crate `proem-text` must not depend on `proem-guard`; \
              move the code to where the drawing in ARCHITECTURE.md allows it"]
        );
        assert_eq!(problems(&["proem-risk", "proem-lisp: proem-risk"]).len(), 1);
        assert_eq!(problems(&["proem-text", "xtask: proem-text"]).len(), 1);
        assert_eq!(problems(&["proem-text", "proem-score: build:proem-text"]).len(), 1);
    }

    #[test]
    fn tests_may_reach_further_unless_the_crate_is_pure() {
        assert_eq!(problems(&["proem-runtime", "proem-llm: dev:proem-runtime"]), Vec::<String>::new());
        assert_eq!(problems(&["proem-engine", "proem-guard: dev:proem-engine"]).len(), 1);
    }

    #[test]
    fn a_crate_outside_the_drawing_is_found() {
        assert_eq!(
            problems(&["proem-core"]),
            ["crates/proem-core/Cargo.toml: `proem-core` is not in the drawing of dependencies; \
              draw it in ARCHITECTURE.md and in crates/xtask/src/tidy/drawing.rs"]
        );
    }

    #[test]
    fn every_arrow_ends_at_a_drawn_crate_and_none_at_itself() {
        for (from, to) in ARROWS {
            assert!(to.iter().all(|name| arrows_from(name).is_some()), "{from}");
            assert!(!reachable(from).unwrap().contains(from), "{from} reaches itself");
        }
        assert!(PURE.iter().all(|name| arrows_from(name).is_some()));
    }
}
