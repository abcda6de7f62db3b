//! The code map in `ARCHITECTURE.md` equals the tree.
//!
//! Every crate has a section headed `` ### `crates/<name>` `` that names each module directly
//! below `src`, as `` `module.rs` `` or `` `module/` ``. Any other name of these two forms in such
//! a section has to exist: below the crate's `src`, in the crate or in the project.

use std::collections::{BTreeMap, BTreeSet};

use super::{finding::TidyFinding, tree::SourceTree};

const PATH: &str = "ARCHITECTURE.md";

/// One crate's part of the map.
#[derive(Debug)]
struct CrateSection<'a> {
    crate_name: &'a str,
    line: usize,
    /// What stands in backticks, with its line.
    names: Vec<(usize, &'a str)>,
}

/// Compares the map with the tree.
pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let Some(text) = tree.text(PATH) else {
        return vec![TidyFinding::in_file(PATH, "missing".to_owned(), "write the code map, one section per crate")];
    };
    let sections = sections(text);
    let crates = tree.crates();
    let mut findings = Vec::new();
    for name in &crates {
        if !sections.iter().any(|section| section.crate_name == *name) {
            findings.push(TidyFinding::in_file(
                PATH,
                format!("crate `{name}` is not in the code map"),
                &format!("add a section headed ### `crates/{name}`"),
            ));
        }
    }
    for section in &sections {
        if crates.contains(&section.crate_name) {
            findings.extend(check_section(tree, section));
        } else {
            findings.push(
                TidyFinding::in_file(PATH, format!("there is no crate `{}`", section.crate_name), "remove the section")
                    .at(Some(section.line)),
            );
        }
    }
    findings
}

fn check_section(tree: &SourceTree, section: &CrateSection<'_>) -> Vec<TidyFinding> {
    let crate_name = section.crate_name;
    let mut findings = Vec::new();
    for (module, forms) in modules(tree, crate_name) {
        if !section.names.iter().any(|(_, name)| forms.contains(*name)) {
            let form = forms.first().map_or(module, String::as_str);
            findings.push(
                TidyFinding::in_file(
                    PATH,
                    format!("the section of `{crate_name}` doesn't name its module `{form}`"),
                    "say in a few words what it is for",
                )
                .at(Some(section.line)),
            );
        }
    }
    for (line, name) in &section.names {
        let homes =
            [format!("crates/{crate_name}/src/{name}"), format!("crates/{crate_name}/{name}"), (*name).to_owned()];
        if is_path(name) && !homes.iter().any(|home| tree.has(home)) {
            findings.push(
                TidyFinding::in_file(
                    PATH,
                    format!("`{name}` of `{crate_name}` doesn't exist"),
                    "correct or remove the name",
                )
                .at(Some(*line)),
            );
        }
    }
    findings
}

/// The modules directly below `src`, each with the forms in which the map may name it.
fn modules<'a>(tree: &'a SourceTree, crate_name: &str) -> BTreeMap<&'a str, BTreeSet<String>> {
    let mut modules: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let prefix = format!("crates/{crate_name}/src/");
    for path in tree.files().filter_map(|(path, _)| path.strip_prefix(&prefix)) {
        match path.split_once('/') {
            Some((folder, rest)) if folder != "bin" && rest.ends_with(".rs") => {
                modules.entry(folder).or_default().insert(format!("{folder}/"));
            }
            None if !matches!(path, "lib.rs" | "main.rs") => {
                if let Some(module) = path.strip_suffix(".rs") {
                    modules.entry(module).or_default().insert(path.to_owned());
                }
            }
            _ => {}
        }
    }
    modules
}

/// The sections about crates; each ends at the next heading of any level.
fn sections(text: &str) -> Vec<CrateSection<'_>> {
    let mut sections: Vec<CrateSection<'_>> = Vec::new();
    let mut inside = false;
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            // A drawing names nothing.
        } else if line.starts_with('#') {
            let crate_name = line.strip_prefix("### `crates/").and_then(|rest| rest.trim_end().strip_suffix('`'));
            inside = crate_name.is_some();
            sections.extend(crate_name.map(|crate_name| CrateSection {
                crate_name,
                line: index + 1,
                names: Vec::new(),
            }));
        } else if let Some(section) = sections.last_mut().filter(|_| inside) {
            section.names.extend(line.split('`').skip(1).step_by(2).map(|name| (index + 1, name)));
        }
    }
    sections
}

/// Whether a name in backticks is meant as a file or folder.
fn is_path(name: &str) -> bool {
    (name.ends_with(".rs") || name.ends_with('/')) && !name.contains([' ', '*', '<', '{', ':']) && name.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn problems(map: &str) -> Vec<String> {
        let tree = SourceTree::from([
            ("ARCHITECTURE.md", map),
            ("crates/a/Cargo.toml", ""),
            ("crates/a/book/x.prompt", ""),
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/label.rs", ""),
            ("crates/a/src/scan/mod.rs", ""),
            ("crates/a/src/scan/words.rs", ""),
            ("crates/a/src/both.rs", ""),
            ("crates/a/src/both/part.rs", ""),
            ("crates/a/src/templates/page.html", ""),
        ]);
        lines(&check(&tree))
    }

    #[test]
    fn a_true_map_passes() {
        let map = "# Map\n\n### `crates/a`\n\nKnows `label.rs` and `scan/` (first `scan/words.rs`), `both/`,\n\
                   the type `Label`, a/b, its `book/` and `crates/a/`.\n\n## Later\n\n`gone.rs`\n";
        assert_eq!(problems(map), Vec::<String>::new());
    }

    #[test]
    fn differences_are_found() {
        assert_eq!(
            problems("### `crates/a`\n`label.rs` `scan/`\n`gone.rs` `both.rs`\n### `crates/b`\n"),
            [
                "ARCHITECTURE.md:3: `gone.rs` of `a` doesn't exist; correct or remove the name",
                "ARCHITECTURE.md:4: there is no crate `b`; remove the section",
            ]
        );
        assert_eq!(
            problems("### `crates/a`\n```text\n`label.rs`\n```\n`scan/` `both.rs`\n"),
            ["ARCHITECTURE.md:1: the section of `a` doesn't name its module `label.rs`; \
              say in a few words what it is for"]
        );
        assert_eq!(
            problems("# Map\n"),
            ["ARCHITECTURE.md: crate `a` is not in the code map; add a section headed ### `crates/a`"]
        );
    }

    #[test]
    fn a_missing_map_is_found() {
        assert_eq!(
            lines(&check(&SourceTree::default())),
            ["ARCHITECTURE.md: missing; write the code map, one section per crate"]
        );
    }
}
