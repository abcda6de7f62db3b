//! The glossary has the words that names are made of, each once.
//!
//! A word that is in the names of three or more exported types, singular or plural, has an entry, unless it means in
//! code what it means in any English text. An entry that is in no name and no document is gone from the project. Within
//! each table the words are in the order of the alphabet.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finding::TidyFinding,
    names::{self, defined_type},
    sizes::without_tests,
    tree::SourceTree,
};

/// The page that explains the words.
const PATH: &str = "docs/glossary.md";

/// This file, whose list may have words too many.
const SELF: &str = "crates/xtask/src/tidy/glossary.rs";

/// In how many names a word is that has to be explained.
const FEW: usize = 3;

/// Words without an entry, by the reason why they need none.
const PLAIN: &[(&str, &str)] = &[
    ("what Rust's own library and every crate call it", "count error id index key kind name option result test value"),
    ("what git, file systems and the web call it", "commit file folder git http line method path repository tree"),
    (
        "prompts, models and their APIs",
        "agent answer assemble batch budget cache call context embedder embedding input live model prompt \
         provider reply request response retry schema server stream task token tool usage vector version \
         vocabulary",
    ),
    (
        "records and money",
        "access adapt cap content cost credential feedback hash history log query record script scripted \
         secret state status store",
    ),
    (
        "projects, mail and decisions",
        "approval change comment condition correction decision delivery draft edit mail person project \
         proposal question refusal sender smtp time",
    ),
    (
        "ranking and search",
        "candidate command document entry finding found import imported interval listed manifest metric \
         neighbour pattern program rank ranked ranking scan score scorer selection source symbol weight",
    ),
    (
        "plain English, which no document of the project narrows",
        "assessment author bound check choice classification confidence config counted depth difference earlier end \
         estimate event expectation fact failure fetch field form grant host investigation job language lesson level limit \
         lisp list listener lock login map measure need new note object open outcome output pair place planned problem queue read reader reason recorded \
         repair report requirement risk row rule sentence set setting split start summary switch system table text unit use \
         watch way",
    ),
];

/// Compares the glossary with the names and the documents.
pub(crate) fn check_glossary(tree: &SourceTree) -> Vec<TidyFinding> {
    let Some(text) = tree.text(PATH) else {
        return vec![TidyFinding::in_file(PATH, "missing".to_owned(), "explain the words of exported names")];
    };
    let words = NameWords::of(tree);
    let entries = glossary_entries(text);
    let explained: BTreeSet<&str> = entries.iter().map(|entry| entry.phrase.as_str()).collect();
    [
        missing_words(&words, &explained),
        superfluous_plain_words(&words, &explained),
        stale(tree, &words, &entries),
        check_entry_order(&entries),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The words of the names of types.
struct NameWords<'t> {
    /// The exported names that each word is in.
    exported: BTreeMap<String, BTreeSet<&'t str>>,
    /// All names as phrases, exported or not.
    phrases: BTreeSet<String>,
}

impl<'t> NameWords<'t> {
    fn of(tree: &'t SourceTree) -> Self {
        let mut words = Self { exported: BTreeMap::new(), phrases: BTreeSet::new() };
        for (_, text) in tree.files().filter(|(path, _)| names::is_source(path)) {
            for line in without_tests(text) {
                let Some(name) = defined_type(line) else { continue };
                let parts: Vec<String> = camel_case_words(name).map(|part| singular_lower_case(&part)).collect();
                words.phrases.insert(parts.join(" "));
                if line.trim_start().starts_with("pub ") {
                    for part in parts {
                        words.exported.entry(part).or_default().insert(name);
                    }
                }
            }
        }
        words
    }

    /// Whether so many exported names have a word that it has to be explained.
    fn is_frequent(&self, word: &str) -> bool {
        self.exported.get(word).is_some_and(|names| names.len() >= FEW)
    }
}

/// A row of the glossary.
struct GlossaryEntry<'t> {
    word: &'t str,
    /// The word, or several, as they are compared.
    phrase: String,
    /// The number of its table, and of its line, both from 1.
    table: usize,
    line: usize,
}

/// The rows of all tables, without their heads.
fn glossary_entries(text: &str) -> Vec<GlossaryEntry<'_>> {
    let mut entries = Vec::new();
    let mut table = 0;
    for (line, number) in text.lines().zip(1..) {
        let Some(cell) = line.strip_prefix("| ").and_then(|row| row.split(" |").next()) else { continue };
        if cell == "word" {
            table += 1;
        } else {
            entries.push(GlossaryEntry { word: cell, phrase: comparable_words(cell), table, line: number });
        }
    }
    entries
}

fn missing_words(words: &NameWords<'_>, explained: &BTreeSet<&str>) -> Vec<TidyFinding> {
    let is_plain = |word: &str| plain_words().any(|plain| plain == word);
    let unexplained = words
        .exported
        .iter()
        .filter(|(word, names)| names.len() >= FEW && !explained.contains(word.as_str()) && !is_plain(word));
    let finding = |(word, names): (&String, &BTreeSet<&str>)| {
        let some: Vec<&str> = names.iter().copied().take(FEW).collect();
        let problem =
            format!("`{word}` stands in {} exported names ({} …) and has no entry", names.len(), some.join(", "));
        TidyFinding::in_file(PATH, problem, "say in one line what it means, or name the types otherwise")
    };
    unexplained.map(finding).collect()
}

fn plain_words() -> impl Iterator<Item = &'static str> {
    PLAIN.iter().flat_map(|(_, words)| words.split(' '))
}

/// The list of plain words stays as short as it can be.
fn superfluous_plain_words(words: &NameWords<'_>, explained: &BTreeSet<&str>) -> Vec<TidyFinding> {
    let needless = plain_words().filter(|word| !words.is_frequent(word) || explained.contains(word));
    let finding = |word: &str| {
        let problem =
            format!("`{word}` needs no exception: it is explained, or stands in fewer than {FEW} exported names");
        TidyFinding::in_file(SELF, problem, "remove it from `PLAIN`")
    };
    needless.map(finding).collect()
}

fn stale(tree: &SourceTree, words: &NameWords<'_>, entries: &[GlossaryEntry<'_>]) -> Vec<TidyFinding> {
    let documents: Vec<String> = tree
        .files()
        .filter(|(path, _)| path.ends_with(".md") && *path != PATH)
        .map(|(_, text)| format!(" {} ", comparable_words(text)))
        .collect();
    let names: Vec<String> = words.phrases.iter().map(|name| format!(" {name} ")).collect();
    let is_said = |entry: &GlossaryEntry<'_>| {
        let wanted = format!(" {} ", entry.phrase);
        names.iter().chain(&documents).any(|text| text.contains(&wanted))
    };
    let finding = |entry: &GlossaryEntry<'_>| {
        let problem = format!("`{}` stands in no name and no document", entry.word);
        TidyFinding::in_file(PATH, problem, "remove the entry").at(Some(entry.line))
    };
    entries.iter().filter(|entry| !is_said(entry)).map(finding).collect()
}

/// One word, one meaning; and each table is in order.
fn check_entry_order(entries: &[GlossaryEntry<'_>]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut before: Option<&GlossaryEntry<'_>> = None;
    for entry in entries {
        let at = |problem: String, remedy| TidyFinding::in_file(PATH, problem, remedy).at(Some(entry.line));
        if let Some(line) = seen.insert(&entry.phrase, entry.line) {
            findings.push(at(format!("`{}` stands in line {line} already", entry.word), "give it one meaning"));
        }
        if let Some(before) = before.filter(|before| before.table == entry.table && before.phrase > entry.phrase) {
            findings.push(at(format!("`{}` stands behind `{}`", entry.word, before.word), "order the table"));
        }
        before = Some(entry);
    }
    findings
}

/// The words of a text as they are compared, with a space between two.
fn comparable_words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(singular_lower_case).collect::<Vec<_>>().join(" ")
}

/// The words of a name in camel case.
fn camel_case_words(name: &str) -> impl Iterator<Item = String> {
    let mut parts: Vec<String> = Vec::new();
    for c in name.chars() {
        match parts.last_mut() {
            Some(part) if !c.is_uppercase() => part.push(c),
            _ => parts.push(c.to_string()),
        }
    }
    parts.into_iter()
}

/// A word in small letters, and in the singular as far as an `s` makes its plural.
fn singular_lower_case(word: &str) -> String {
    let word = word.to_lowercase();
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let is_singular = word.len() < 4 || ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    match word.strip_suffix('s') {
        Some(stem) if !is_singular => stem.to_owned(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::finding_lines;

    const NAMES: &str = "pub struct RunState;\npub enum CaseRun {\n}\npub(crate) struct RunHead;\n";

    /// The findings about other words than [`PLAIN`], which a test's few names don't have.
    fn problems(glossary: &str, source: &str, document: &str) -> Vec<String> {
        let files = [("crates/a/src/lib.rs", source), (PATH, glossary), ("docs/a.md", document)];
        finding_lines(&check_glossary(&SourceTree::from(files)))
            .into_iter()
            .filter(|line| !line.starts_with(SELF))
            .collect()
    }

    #[test]
    fn words_are_cut_and_folded() {
        for (name, expected) in [
            ("CacheRules", "cache rule"),
            ("OpenAi", "open ai"),
            ("Sha256Hash", "sha256 hash"),
            ("Entries", "entry"),
            ("ModeBasis", "mode basis"),
            ("FileStatus", "file status"),
            ("StoreAccess", "store access"),
            ("GasUse", "gas use"),
        ] {
            assert_eq!(
                camel_case_words(name).map(|part| singular_lower_case(&part)).collect::<Vec<_>>().join(" "),
                expected
            );
        }
        assert_eq!(comparable_words("Runs, and a *prompt file*."), "run and a prompt file");
    }

    #[test]
    fn a_word_of_three_exported_names_needs_an_entry() {
        assert_eq!(problems("| word | meaning |\n", NAMES, ""), Vec::<String>::new());
        let three = format!("{NAMES}pub trait Runs {{}}\n#[cfg(test)]\nmod tests {{\n    pub struct RunTest;\n}}\n");
        assert_eq!(
            problems("| word | meaning |\n", &three, ""),
            [
                "docs/glossary.md: `run` stands in 3 exported names (CaseRun, RunState, Runs …) and has no entry; say in \
              one line what it means, or name the types otherwise"
            ]
        );
        assert_eq!(problems("| word | meaning |\n|---|---|\n| run | x |\n", &three, ""), Vec::<String>::new());
    }

    #[test]
    fn an_entry_stands_in_a_name_or_a_document_once_and_in_order() {
        let glossary = "| word | meaning |\n|---|---|\n| run head | x |\n| fuel | x |\n| prompt file | x |\n\n\
                        | word | meaning |\n|---|---|\n| fork | x |\n| fuels | x |\n";
        assert_eq!(
            problems(glossary, NAMES, "Prompt\nfiles are forks."),
            [
                "docs/glossary.md:4: `fuel` stands in no name and no document; remove the entry",
                "docs/glossary.md:10: `fuels` stands in no name and no document; remove the entry",
                "docs/glossary.md:4: `fuel` stands behind `run head`; order the table",
                "docs/glossary.md:10: `fuels` stands in line 4 already; give it one meaning",
            ]
        );
    }

    #[test]
    fn a_plain_word_is_one_that_needs_the_exception() {
        let tree = SourceTree::from([("crates/a/src/lib.rs", "pub struct FileA;\npub struct FileB;\n"), (PATH, "")]);
        let found = finding_lines(&check_glossary(&tree));
        let expected = "crates/xtask/src/tidy/glossary.rs: `file` needs no exception: it is explained, or stands in \
                        fewer than 3 exported names; remove it from `PLAIN`";
        assert!(found.iter().any(|line| line == expected), "{found:?}");
    }

    #[test]
    fn a_missing_glossary_is_found() {
        let found = finding_lines(&check_glossary(&SourceTree::default()));
        assert_eq!(found, ["docs/glossary.md: missing; explain the words of exported names"]);
    }
}
