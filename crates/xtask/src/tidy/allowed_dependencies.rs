//! The pure crates depend only on what `allowed-dependencies.toml` names.
//!
//! A dependency of a pure crate could read a clock or a file on its behalf, so each one is a
//! decision with a reason. An entry that nothing uses is a finding too.

use toml::Table;

use super::{
    drawing::{PURE, line_of_dependency, manifest},
    finding::TidyFinding,
    graph::{CrateGraph, DependencyKind, WorkspaceMember},
    tree::SourceTree,
};

/// The file of the decisions.
pub(crate) const PATH: &str = "crates/xtask/allowed-dependencies.toml";

/// Compares the direct dependencies of the pure crates with the list.
pub(crate) fn check_allowed_dependencies(tree: &SourceTree, graph: &CrateGraph) -> Vec<TidyFinding> {
    let list = match read_allowed(tree) {
        Ok(list) => list,
        Err(finding) => return vec![finding],
    };
    let pure = list.get("pure").and_then(toml::Value::as_table);
    let mut findings = Vec::new();
    for member in graph.members.iter().filter(|member| PURE.contains(&member.name.as_str())) {
        match pure.and_then(|pure| pure.get(&member.name)).and_then(toml::Value::as_table) {
            Some(allowed) => findings.extend(check_member_allowed(tree, graph, member, allowed)),
            None => findings.push(TidyFinding::in_file(
                PATH,
                format!("no table `[pure.{}]`", member.name),
                "add one; it may be empty",
            )),
        }
    }
    findings
}

/// Reads the list.
pub(crate) fn read_allowed(tree: &SourceTree) -> Result<Table, TidyFinding> {
    let text = tree.text(PATH).ok_or_else(|| TidyFinding::in_file(PATH, "missing".to_owned(), "restore it"))?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
        TidyFinding::in_file(PATH, error.message().to_owned(), "correct the TOML").at(line)
    })
}

fn check_member_allowed(
    tree: &SourceTree,
    graph: &CrateGraph,
    member: &WorkspaceMember,
    allowed: &Table,
) -> Vec<TidyFinding> {
    let used: Vec<&str> = member
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Dev && !graph.is_member(&dependency.name))
        .map(|dependency| dependency.name.as_str())
        .collect();
    let not_allowed = used.iter().filter(|&&name| !allowed.contains_key(name)).map(|name| {
        TidyFinding::in_file(
            &manifest(&member.name),
            format!("pure crate `{}` depends on `{name}`, which is not allowed", member.name),
            "do without it, or add it to crates/xtask/allowed-dependencies.toml with the reason why it is pure",
        )
        .at(line_of_dependency(tree, &member.name, name))
    });
    let not_used = allowed.keys().filter(|name| !used.contains(&name.as_str())).map(|name| {
        TidyFinding::in_file(PATH, format!("`{}` no longer depends on `{name}`", member.name), "remove the entry")
            .at(line_of_entry(tree, &format!("[pure.{}]", member.name), name))
    });
    let no_reason = allowed.iter().filter(|(_, reason)| reason.as_str().is_none_or(|text| text.trim().is_empty())).map(
        |(name, _)| {
            TidyFinding::in_file(PATH, format!("`{name}` has no reason"), "say what it is for and why it is pure")
                .at(line_of_entry(tree, &format!("[pure.{}]", member.name), name))
        },
    );
    not_allowed.chain(not_used).chain(no_reason).collect()
}

/// The line at which the list names `entry` below the heading `table`.
pub(crate) fn line_of_entry(tree: &SourceTree, table: &str, entry: &str) -> Option<usize> {
    let mut inside = false;
    let index = tree.text(PATH)?.lines().position(|line| {
        if line.starts_with('[') {
            inside = line.trim_end() == table;
        }
        inside && line.split('=').next().is_some_and(|key| key.trim() == entry)
    })?;
    Some(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{finding::finding_lines, graph::sketch};

    fn problems(list: &str, member: &str) -> Vec<String> {
        let tree = SourceTree::from([(PATH, list), ("crates/proem-text/Cargo.toml", "[dependencies]\nrand = \"1\"\n")]);
        finding_lines(&check_allowed_dependencies(&tree, &sketch(&[member, "proem-cli: clap"], &[])))
    }

    #[test]
    fn allowed_dependencies_pass() {
        let list = "[pure.proem-text]\nserde_json = \"the JSON value type\"\n";
        assert_eq!(problems(list, "proem-text: serde_json dev:proptest"), Vec::<String>::new());
    }

    #[test]
    fn other_dependencies_unused_entries_and_empty_reasons_are_found() {
        assert_eq!(
            problems("[pure.proem-text]\n\n", "proem-text: rand"),
            ["crates/proem-text/Cargo.toml:2: pure crate `proem-text` depends on `rand`, which is not allowed; \
              do without it, or add it to crates/xtask/allowed-dependencies.toml with the reason why it is pure"]
        );
        assert_eq!(
            problems("[pure.other]\nrand = \"\"\n[pure.proem-text]\nrand = \"seeds\"\n", "proem-text: "),
            ["crates/xtask/allowed-dependencies.toml:4: `proem-text` no longer depends on `rand`; remove the entry"]
        );
        assert_eq!(
            problems("[pure.proem-text]\nrand = \"\"\n", "proem-text: rand"),
            ["crates/xtask/allowed-dependencies.toml:2: `rand` has no reason; say what it is for and why it is pure"]
        );
    }

    #[test]
    fn a_missing_table_or_broken_file_is_found() {
        assert_eq!(
            problems("", "proem-text: "),
            ["crates/xtask/allowed-dependencies.toml: no table `[pure.proem-text]`; add one; it may be empty"]
        );
        let broken = problems("[pure.proem-text]\nrand = \n", "proem-text: ");
        assert!(broken.iter().all(|line| line.starts_with("crates/xtask/allowed-dependencies.toml:2: ")), "{broken:?}");
        assert_eq!(broken.len(), 1);
    }
}
