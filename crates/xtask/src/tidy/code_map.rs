//! The code map in each crate's `README.md` equals the tree.
//!
//! Behind its heading `## Code map` the README names each module directly below `src`, as `` `module.rs` `` or
//! `` `module/` ``. Any other name of these two forms there has to exist: below the crate's `src`, in the crate or in the
//! project. `ARCHITECTURE.md` links every README.

use std::collections::{BTreeMap, BTreeSet};

use super::{finding::TidyFinding, tree::SourceTree};

/// The page that links every crate's README.
const OVERVIEW: &str = "ARCHITECTURE.md";

/// The heading of a code map.
const HEADING: &str = "## Code map";

/// Compares the maps with the tree.
pub(crate) fn check_code_maps(tree: &SourceTree) -> Vec<TidyFinding> {
    let overview = tree.text(OVERVIEW).unwrap_or_default();
    let mut findings = Vec::new();
    for name in tree.crates() {
        let path = format!("crates/{name}/README.md");
        if !overview.contains(&format!("({path})")) {
            findings.push(TidyFinding::in_file(OVERVIEW, format!("`{path}` is not linked"), "link it in the code map"));
        }
        match tree.text(&path).and_then(map_of) {
            Some((line, names)) => findings.extend(check_map(tree, name, &path, line, &names)),
            None => findings.push(TidyFinding::in_file(
                &path,
                "there is no code map".to_owned(),
                &format!("name the modules behind the heading `{HEADING}`"),
            )),
        }
    }
    findings
}

/// Compares one crate's map, whose heading is on `line`, with its modules.
fn check_map(
    tree: &SourceTree,
    crate_name: &str,
    path: &str,
    line: usize,
    names: &[(usize, &str)],
) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (module, forms) in modules(tree, crate_name) {
        if !names.iter().any(|(_, name)| forms.contains(*name)) {
            let form = forms.first().map_or(module, String::as_str);
            let problem = format!("the code map doesn't name the module `{form}`");
            let remedy = "say in a few words what it is for";
            findings.push(TidyFinding::in_file(path, problem, remedy).at(Some(line)));
        }
    }
    for (line, name) in names {
        let homes =
            [format!("crates/{crate_name}/src/{name}"), format!("crates/{crate_name}/{name}"), (*name).to_owned()];
        if is_code_path(name) && !homes.iter().any(|home| tree.has(home)) {
            let problem = format!("`{name}` doesn't exist");
            findings.push(TidyFinding::in_file(path, problem, "correct or remove the name").at(Some(*line)));
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

/// The line of the heading, and what is in backticks behind it with its line, up to the next heading.
fn map_of(text: &str) -> Option<(usize, Vec<(usize, &str)>)> {
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| line.trim_end() != HEADING);
    let (heading, _) = lines.next()?;
    let mut names = Vec::new();
    for (index, line) in lines.take_while(|(_, line)| !line.starts_with('#')) {
        names.extend(line.split('`').skip(1).step_by(2).map(|name| (index + 1, name)));
    }
    Some((heading + 1, names))
}

/// Whether a name in backticks is meant as a file or folder.
fn is_code_path(name: &str) -> bool {
    (name.ends_with(".rs") || name.ends_with('/')) && !name.contains([' ', '*', '<', '{', ':']) && name.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERVIEW_TEXT: &str = "- [`a`](crates/a/README.md)\n";

    fn problems(overview: &str, map: &str) -> Vec<String> {
        let tree = SourceTree::from([
            ("ARCHITECTURE.md", overview),
            ("crates/a/README.md", map),
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/label.rs", ""),
            ("crates/a/src/view/fold.rs", ""),
            ("crates/a/src/view.rs", ""),
        ]);
        check_code_maps(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_map_that_equals_the_tree_is_fine() {
        let map = "# a\n\n## Code map\n\n`label.rs` labels, `view/` has views (`view/fold.rs`); `Label` is no path.\n";
        assert_eq!(problems(OVERVIEW_TEXT, map), [""; 0]);
    }

    #[test]
    fn what_is_missing_or_gone_is_found() {
        let map = "# a\n\n## Code map\n\n`label.rs`, `gone.rs`\n\n## More\n\n`other.rs`\n";
        assert_eq!(
            problems(OVERVIEW_TEXT, map),
            [
                "crates/a/README.md:3: the code map doesn't name the module `view.rs`; say in a few words what it is for",
                "crates/a/README.md:5: `gone.rs` doesn't exist; correct or remove the name",
            ]
        );
        assert_eq!(
            problems("", "# a\n"),
            [
                "ARCHITECTURE.md: `crates/a/README.md` is not linked; link it in the code map",
                "crates/a/README.md: there is no code map; name the modules behind the heading `## Code map`",
            ]
        );
    }
}
