//! `cargo xtask house`: counts that say how well the sources read, each with what is allowed.
//!
//! The limits are in [`LIMITS`] and nowhere else. A count may fall and may not grow: `tidy` reports one that is over
//! its limit, and whoever lowers a count lowers its limit with it. Functions are counted by their lines, as rustfmt
//! writes them. Names that a macro makes are not seen.

mod circles;
mod functions;
mod prose;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use self::functions::{FunctionPlace, FunctionRole};
use crate::{
    TaskFailure, print_to_stdout,
    tidy::{SourceTree, TidyFinding, TypeNames, is_source},
};

/// The most that each count may be: in thousandths where the count is a share, else as it is.
const LIMITS: &[(&str, usize)] = &[
    ("shared-functions", 40),
    ("shared-helpers", 450),
    ("participles", 5),
    ("single-words", 175),
    ("bare-verbs", 10),
    ("vague-files", 2),
    ("shared-types", 115),
    ("repeating-docs", 72),
    ("circles", 4),
    ("wide-structs", 253),
    ("uncalled", 1),
];

/// Files in one circle of modules, at most.
const MOST_IN_CIRCLE: usize = 3;

/// Fields of a struct, at most.
const MOST_FIELDS: usize = 7;

/// Names that a trait, a derive or the linker demands of a free function.
const DEMANDED: [&str; 3] = ["deserialize", "main", "serialize"];

/// One thing that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HouseCount {
    /// The word by which it is listed.
    key: &'static str,
    /// The figures.
    meaning: &'static str,
    /// Of how many, where a share tells more than a number.
    of: Option<usize>,
    /// Each case, with its place.
    cases: Vec<String>,
}

impl HouseCount {
    fn new(key: &'static str, meaning: &'static str, of: Option<usize>, cases: Vec<String>) -> Self {
        Self { key, meaning, of, cases }
    }

    fn limit(&self) -> Option<usize> {
        LIMITS.iter().find(|(key, _)| *key == self.key).map(|(_, most)| *most)
    }

    /// Whether there is more than the limit allows.
    fn is_over_limit(&self) -> bool {
        let count = self.cases.len();
        self.limit().is_some_and(|limit| match self.of {
            Some(of) => count.saturating_mul(1000) > limit.saturating_mul(of),
            None => count > limit,
        })
    }

    /// The limit as it is printed. Empty if there is none.
    fn limit_words(&self) -> String {
        match (self.limit(), self.of) {
            (Some(limit), Some(_)) => format!("≤ {:.1} %", limit as f64 / 10.0),
            (Some(limit), None) => format!("≤ {limit}"),
            (None, _) => String::new(),
        }
    }

    /// One row: count, share, limit, key and meaning.
    fn row(&self) -> String {
        let count = self.cases.len();
        let share = self.of.filter(|of| *of > 0).map(|of| format!("{:.1} %", count as f64 * 100.0 / of as f64));
        let (share, limit) = (share.unwrap_or_default(), self.limit_words());
        format!("{count:>6}  {share:>7}  {limit:>8}  {:18}{}\n", self.key, self.meaning)
    }
}

/// Prints every count, or the cases of one.
pub(crate) fn run_house(root: &std::path::Path, listed: Option<&str>) -> Result<(), TaskFailure> {
    let tree = SourceTree::read(root).map_err(TaskFailure::Outside)?;
    let counts = count_house(&tree);
    let Some(key) = listed else {
        let head = format!("{:>6}  {:>7}  {:>8}  {:18}what is counted\n", "count", "share", "limit", "key");
        let rows: String = counts.iter().map(HouseCount::row).collect();
        print_to_stdout(&format!("{head}{rows}"));
        return Ok(());
    };
    let Some(count) = counts.iter().find(|count| count.key == key) else {
        let keys: Vec<&str> = counts.iter().map(|count| count.key).collect();
        return Err(TaskFailure::Outside(format!("nothing is counted as `{key}`; name one of {}", keys.join(", "))));
    };
    print_to_stdout(&count.cases.iter().map(|case| format!("{case}\n")).collect::<String>());
    Ok(())
}

/// Reports each count that is over its limit.
pub(crate) fn check_house(tree: &SourceTree) -> Vec<TidyFinding> {
    let over = count_house(tree).into_iter().filter(HouseCount::is_over_limit).map(|count| {
        let problem = format!("{} {}, {} are allowed", count.cases.len(), count.meaning, count.limit_words());
        TidyFinding::in_file("crates", problem, &format!("`cargo xtask house {}` lists them", count.key))
    });
    over.collect()
}

/// Counts everything.
fn count_house(tree: &SourceTree) -> Vec<HouseCount> {
    let functions = functions::all_functions(tree);
    let of_role = |role: FunctionRole| functions.iter().filter(|f| f.role == role).collect::<Vec<_>>();
    let (free, helpers) = (of_role(FunctionRole::Free), of_role(FunctionRole::Helper));
    let named = |is_counted: &dyn Fn(&str) -> bool| -> Vec<String> {
        free.iter().filter(|f| is_counted(f.name)).map(|f| f.place()).collect()
    };
    let (free_count, helper_count) = (Some(free.len()), Some(helpers.len()));
    let types = TypeNames::of(tree);
    let (comments, lines) = prose::comment_lines(tree);
    vec![
        HouseCount::new("functions", "free functions outside tests", None, named(&|_| true)),
        HouseCount::new(
            "shared-functions",
            "free functions whose name stands in other files too",
            free_count,
            shared_names(&free),
        ),
        HouseCount::new(
            "shared-helpers",
            "functions of tests whose name stands in other tests too",
            helper_count,
            shared_names(&helpers),
        ),
        HouseCount::new(
            "participles",
            "free functions named by a bare participle",
            free_count,
            named(&words::is_participle),
        ),
        HouseCount::new(
            "single-words",
            "free functions named by a single word",
            free_count,
            named(&|name| !name.contains('_')),
        ),
        HouseCount::new(
            "bare-verbs",
            "free functions named by a verb that any module could have",
            free_count,
            named(&words::is_bare_verb),
        ),
        HouseCount::new("vague-files", "files whose stem says nothing", None, vague_files(tree)),
        HouseCount::new(
            "shared-types",
            "types that share their name",
            Some(types.all),
            types.most.iter().flat_map(|(name, count)| vec![name.clone(); *count]).collect(),
        ),
        HouseCount::new("comments", "lines of comments that say why", Some(lines), comments),
        HouseCount::new(
            "repeating-docs",
            "doc comments that only repeat their name",
            None,
            prose::repeating_docs(tree),
        ),
        HouseCount::new(
            "circles",
            "circles of more than three modules within a crate",
            None,
            circles::wide_circles(tree, MOST_IN_CIRCLE),
        ),
        HouseCount::new(
            "wide-structs",
            "structs with more than seven fields",
            None,
            functions::wide_structs(tree, MOST_FIELDS),
        ),
        HouseCount::new("uncalled", "functions that nothing names", None, uncalled_functions(tree, &functions)),
    ]
}

/// The functions whose names are in more than one file.
fn shared_names(functions: &[&FunctionPlace<'_>]) -> Vec<String> {
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for function in functions {
        files.entry(function.name).or_default().insert(function.path);
    }
    let is_shared = |name: &str| files.get(name).is_some_and(|files| files.len() > 1) && !DEMANDED.contains(&name);
    let mut cases: Vec<String> =
        functions.iter().filter(|f| is_shared(f.name)).map(|f| format!("{} {}", f.name, f.place())).collect();
    cases.sort();
    cases
}

/// Files whose stems are no nouns of the domain.
fn vague_files(tree: &SourceTree) -> Vec<String> {
    let stem =
        |path: &str| path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default().to_owned();
    let sources = tree.files().map(|(path, _)| path).filter(|path| is_source(path));
    sources.filter(|path| words::is_vague_stem(&stem(path))).map(str::to_owned).collect()
}

/// Functions whose names are nowhere but in their own definitions.
fn uncalled_functions(tree: &SourceTree, functions: &[FunctionPlace<'_>]) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, text) in tree.files().filter(|(path, _)| path.ends_with(".rs")) {
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for word in line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
                *seen.entry(word).or_default() += 1;
            }
        }
    }
    let mut defined: BTreeMap<&str, usize> = BTreeMap::new();
    for function in functions {
        *defined.entry(function.name).or_default() += 1;
    }
    let is_uncalled = |function: &&FunctionPlace<'_>| {
        matches!(function.role, FunctionRole::Free | FunctionRole::Method)
            && !function.is_demanded
            && !DEMANDED.contains(&function.name)
            && seen.get(function.name) == defined.get(function.name)
    };
    functions.iter().filter(is_uncalled).map(FunctionPlace::place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(tree: &SourceTree, key: &str) -> Vec<String> {
        count_house(tree).into_iter().find(|count| count.key == key).map(|count| count.cases).unwrap_or_default()
    }

    #[test]
    fn names_in_two_files_are_shared_and_those_that_a_trait_demands_are_not() {
        let tree = SourceTree::from([
            ("crates/a/src/lib.rs", "fn read() {}\nfn main() {}\nfn parse_date() {\n    read();\n}\n"),
            ("crates/a/src/b.rs", "pub(crate) fn read() {}\nfn main() {}\nfn once() {}\n"),
        ]);
        assert_eq!(
            cases(&tree, "shared-functions"),
            ["read crates/a/src/b.rs:1 read", "read crates/a/src/lib.rs:1 read"]
        );
        assert_eq!(cases(&tree, "bare-verbs").len(), 2);
        assert_eq!(cases(&tree, "uncalled"), ["crates/a/src/b.rs:3 once", "crates/a/src/lib.rs:3 parse_date"]);
    }

    #[test]
    fn a_count_over_its_limit_is_a_finding_with_the_command_that_lists_it() {
        let tree =
            SourceTree::from([("crates/a/src/made.rs", "fn said() {}\n"), ("crates/a/src/b.rs", "fn told() {}\n")]);
        let findings: Vec<String> = check_house(&tree).iter().map(ToString::to_string).collect();
        let limit = LIMITS.iter().find(|(key, _)| *key == "participles").map_or(0.0, |(_, most)| *most as f64 / 10.0);
        let expected = format!(
            "crates: 2 free functions named by a bare participle, ≤ {limit:.1} % are allowed; `cargo xtask house \
             participles` lists them"
        );
        assert!(findings.contains(&expected), "{findings:?}");
        assert_eq!(cases(&tree, "participles").len(), 2);
        assert_eq!(cases(&tree, "vague-files"), ["crates/a/src/made.rs"]);
    }

    #[test]
    fn every_limit_belongs_to_a_count() {
        let counts = count_house(&SourceTree::default());
        for (key, _) in LIMITS {
            assert!(counts.iter().any(|count| count.key == *key), "{key}");
        }
    }
}
