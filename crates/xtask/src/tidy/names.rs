//! One name means one thing: how many types share theirs with another type.
//!
//! Counted are structs, enums, unions, traits and the aliases that are in a module, over all crates' sources outside
//! tests. Associated types have the names of their traits and are not counted.

use std::collections::BTreeMap;

use super::{finding::TidyFinding, sizes::without_tests, tree::SourceTree};

/// The share of types that share their name stays below this, in hundredths. Measured in well-kept workspaces: 8 in
/// minijinja, 9 in jj.
const MOST_SHARED: usize = 22;

/// Names that every crate may have: the idiom of one opaque error with its kind.
const IDIOMS: [&str; 2] = ["Error", "ErrorKind"];

/// How the types of the workspace are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeNames {
    /// How many types there are.
    pub(crate) all: usize,
    /// How many of them have a name that another one has.
    pub(crate) shared: usize,
    /// The names that most types share, with how many do.
    pub(crate) most: Vec<(String, usize)>,
}

impl TypeNames {
    /// Counts them.
    pub(crate) fn of(tree: &SourceTree) -> Self {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, text) in tree.files().filter(|(path, _)| is_source(path)) {
            for name in without_tests(text).into_iter().filter_map(defined_type) {
                *names.entry(name).or_default() += 1;
            }
        }
        let all = names.values().sum();
        let shared = names.values().filter(|count| **count > 1).sum();
        let mut most: Vec<(String, usize)> = names
            .into_iter()
            .filter(|(name, count)| *count > 1 && !IDIOMS.contains(name))
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        most.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Self { all, shared, most }
    }

    /// One line for people.
    pub(crate) fn in_words(&self) -> String {
        let percent = self.shared as f64 * 100.0 / self.all.max(1) as f64;
        format!("{} of {} types share their name with another ({percent:.1} %)", self.shared, self.all)
    }
}

/// Compares the share with what is allowed.
pub(crate) fn check_type_names(tree: &SourceTree) -> Vec<TidyFinding> {
    let names = TypeNames::of(tree);
    if names.shared * 100 < names.all * MOST_SHARED {
        return Vec::new();
    }
    let most: Vec<String> = names.most.iter().take(5).map(|(name, count)| format!("{name} {count}")).collect();
    let problem = format!("{}, below {MOST_SHARED} % are allowed: {}", names.in_words(), most.join(", "));
    vec![TidyFinding::in_file("crates", problem, "give each type the name of its own concept")]
}

/// Whether a path is that of a crate's source outside its tests.
pub(crate) fn is_source(path: &str) -> bool {
    let mut parts = path.split('/');
    (parts.next(), parts.nth(1)) == (Some("crates"), Some("src"))
        && path.ends_with(".rs")
        && !path.ends_with("/tests.rs")
        && !path.contains("/tests/")
}

/// The name of the type that a line defines.
pub(super) fn defined_type(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let is_inside = rest.len() < line.len();
    let rest = match rest.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or(rest, |(_, rest)| rest),
        Some(rest) => rest.strip_prefix(' ')?,
        None => rest,
    };
    let (keyword, rest) = rest.split_once(' ')?;
    match keyword {
        "struct" | "enum" | "union" | "trait" => {}
        "type" if !is_inside => {}
        _ => return None,
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).filter(|name| name.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_definitions() {
        for (line, expected) in [
            ("pub struct Place {", Some("Place")),
            ("pub(crate) enum Kind<'a> {", Some("Kind")),
            ("    pub(in crate::a) trait Ask: Debug {", Some("Ask")),
            ("type Short = Long<u8>;", Some("Short")),
            ("    type Item = u8;", None),
            ("let structure = Struct {};", None),
            ("// struct Nothing", None),
            ("struct", None),
        ] {
            assert_eq!(defined_type(line), expected, "{line}");
        }
    }

    #[test]
    fn a_name_that_means_two_things_counts_for_each() {
        let tree = SourceTree::from([
            ("crates/a/src/lib.rs", "pub struct Place;\nstruct One;\n#[cfg(test)]\nmod tests {\n    struct One;\n}\n"),
            ("crates/b/src/c.rs", "enum Place {}\n"),
            ("crates/b/src/c/tests.rs", "struct One;\n"),
            ("crates/b/tests/it/main.rs", "struct One;\n"),
        ]);
        let names = TypeNames::of(&tree);
        assert_eq!((names.all, names.shared, names.most.clone()), (3, 2, vec![("Place".to_owned(), 2)]));
        let found = check_type_names(&tree);
        assert_eq!(
            found.first().map(ToString::to_string).unwrap_or_default(),
            "crates: 2 of 3 types share their name with another (66.7 %), below 22 % are allowed: Place 2; give each \
             type the name of its own concept"
        );
        assert!(
            check_type_names(&SourceTree::from([("crates/a/src/lib.rs", "struct One;\nstruct Two;\n")])).is_empty()
        );
    }
}
