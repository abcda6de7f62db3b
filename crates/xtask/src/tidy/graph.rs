//! The workspaces and everything they resolve to, as `cargo metadata` prints it.

use std::collections::BTreeSet;

use serde_json::Value;

/// The purpose of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    Normal,
    Build,
    Dev,
}

/// One line of a member's manifest.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: DependencyKind,
}

/// A crate of these workspaces.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceMember {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A crate from outside.
#[derive(Debug, Clone)]
pub(crate) struct ExternalCrate {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: Option<String>,
}

/// The resolved graph, on every platform.
#[derive(Debug, Default)]
pub(crate) struct CrateGraph {
    pub(crate) members: Vec<WorkspaceMember>,
    pub(crate) packages: Vec<ExternalCrate>,
}

impl CrateGraph {
    /// Reads the output of `cargo metadata --format-version 1`.
    pub(crate) fn parse(json: &str) -> Result<Self, String> {
        let document: Value =
            serde_json::from_str(json).map_err(|error| format!("cargo metadata printed no JSON: {error}"))?;
        let ids: BTreeSet<&str> = array(&document, "workspace_members")?.iter().filter_map(Value::as_str).collect();
        let mut graph = Self::default();
        for package in array(&document, "packages")? {
            if ids.contains(string_field(package, "id")?) {
                graph.members.push(workspace_member(package)?);
            } else {
                graph.packages.push(ExternalCrate {
                    name: string_field(package, "name")?.to_owned(),
                    version: string_field(package, "version")?.to_owned(),
                    licence: package.get("license").and_then(Value::as_str).map(str::to_owned),
                });
            }
        }
        graph.members.sort_by(|a, b| a.name.cmp(&b.name));
        graph.packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok(graph)
    }

    /// Adds another workspace, to whose crates those here are packages from outside.
    pub(crate) fn add(&mut self, other: Self) {
        let known = |package: &ExternalCrate| {
            self.is_member(&package.name)
                || self.packages.iter().any(|own| (&own.name, &own.version) == (&package.name, &package.version))
        };
        let new: Vec<ExternalCrate> = other.packages.into_iter().filter(|package| !known(package)).collect();
        self.packages.extend(new);
        self.packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        self.members.extend(other.members);
        self.members.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Whether a name is one of the workspaces' crates.
    pub(crate) fn is_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }
}

fn workspace_member(package: &Value) -> Result<WorkspaceMember, String> {
    let mut dependencies = Vec::new();
    for dependency in array(package, "dependencies")? {
        let kind = match dependency.get("kind").and_then(Value::as_str) {
            Some("dev") => DependencyKind::Dev,
            Some("build") => DependencyKind::Build,
            _ => DependencyKind::Normal,
        };
        dependencies.push(Dependency { name: string_field(dependency, "name")?.to_owned(), kind });
    }
    Ok(WorkspaceMember { name: string_field(package, "name")?.to_owned(), dependencies })
}

fn array<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], String> {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| missing_field(key))
}

fn string_field<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| missing_field(key))
}

fn missing_field(key: &str) -> String {
    format!("cargo metadata printed no `{key}`")
}

/// A graph from words, for tests: `members` as `name: dependency dev:dependency`, `packages` as
/// `name version licence`.
#[cfg(test)]
pub(crate) fn sketch(members: &[&str], packages: &[(&str, &str, &str)]) -> CrateGraph {
    let dependency = |word: &str| match word.split_once(':') {
        Some(("dev", name)) => Dependency { name: name.to_owned(), kind: DependencyKind::Dev },
        Some(("build", name)) => Dependency { name: name.to_owned(), kind: DependencyKind::Build },
        _ => Dependency { name: word.to_owned(), kind: DependencyKind::Normal },
    };
    let member = |line: &&str| {
        let (name, rest) = line.split_once(": ").unwrap_or((line, ""));
        WorkspaceMember { name: name.to_owned(), dependencies: rest.split_whitespace().map(dependency).collect() }
    };
    let package = |(name, version, licence): &(&str, &str, &str)| ExternalCrate {
        name: (*name).to_owned(),
        version: (*version).to_owned(),
        licence: (!licence.is_empty()).then(|| (*licence).to_owned()),
    };
    CrateGraph { members: members.iter().map(member).collect(), packages: packages.iter().map(package).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_members_from_packages() {
        let graph = CrateGraph::parse(
            r#"{"workspace_members": ["path#a"], "packages": [
                {"id": "path#a", "name": "a", "version": "0.1.0", "license": null, "dependencies": [
                    {"name": "b", "kind": null}, {"name": "c", "kind": "dev"}]},
                {"id": "registry#b", "name": "b", "version": "1.0.0", "license": "MIT", "dependencies": []}]}"#,
        )
        .unwrap();
        assert!(graph.is_member("a") && !graph.is_member("b"));
        assert_eq!(graph.packages.first().map(|package| package.licence.as_deref()), Some(Some("MIT")));
        let kinds: Vec<DependencyKind> =
            graph.members.iter().flat_map(|member| &member.dependencies).map(|dependency| dependency.kind).collect();
        assert_eq!(kinds, [DependencyKind::Normal, DependencyKind::Dev]);
    }

    #[test]
    fn a_second_workspace_adds_what_is_new() {
        let mut graph = sketch(&["a"], &[("b", "1.0.0", "MIT")]);
        graph.add(sketch(&["p: a"], &[("a", "0.1.0", "MIT"), ("b", "1.0.0", "MIT"), ("b", "2.0.0", "MIT")]));
        let packages: Vec<String> = graph.packages.iter().map(|b| format!("{} {}", b.name, b.version)).collect();
        assert_eq!(packages, ["b 1.0.0", "b 2.0.0"]);
        assert!(graph.is_member("a") && graph.is_member("p"));
    }

    #[test]
    fn says_what_is_missing() {
        assert_eq!(CrateGraph::parse("{}").unwrap_err(), "cargo metadata printed no `workspace_members`");
        assert!(CrateGraph::parse("no").unwrap_err().starts_with("cargo metadata printed no JSON"));
    }
}
