//! Prose that reads like a native speaker's: counts of the habits that `docs` and comments fell into before.
//!
//! Counted are sentences that open with a free relative clause, verbs that replace a plainer one, doubled negations
//! and semicolons, in documents, comments and messages. The words and limits are data: `crates/xtask/prose.toml`.
//! Code, tables and quotations in backquotes are not prose.

use super::{finding::TidyFinding, literals::string_literals, sizes::without_tests, tree::SourceTree};

/// The words and limits, relative to the root.
const LISTS: &str = "crates/xtask/prose.toml";

/// Folders whose texts are generated, or data.
const NO_PROSE: [&str; 5] = ["docs/reference/", "evals/", "crates/proem-lab/data/", "fuzz/", "book/"];

/// Crates whose texts users never see.
const NO_MESSAGES: [&str; 3] = ["crates/xtask/", "crates/proem-lab/", "crates/proem-testing/"];

/// The fewest words of a literal that is counted as a message. Shorter ones are names and parts of sentences.
const FEWEST_WORDS: usize = 4;

/// How many offending sentences a finding quotes.
const QUOTED: usize = 5;

/// The words that are counted.
#[derive(Debug)]
struct ProseLists {
    openings: Vec<String>,
    verbs: Vec<String>,
    negations: Vec<String>,
    documents: ProseLimits,
    comments: ProseLimits,
    messages: ProseLimits,
}

/// The highest rates that pass.
#[derive(Debug)]
struct ProseLimits {
    openings_percent: f64,
    verbs_per_mille: f64,
    semicolons_per_mille: f64,
    negations_percent: f64,
}

/// A paragraph with the line at which it begins, counted from 1.
#[derive(Debug, PartialEq, Eq)]
struct Paragraph {
    line: usize,
    text: String,
}

/// The counts over one kind of text.
#[derive(Debug, Default)]
struct ProseCounts {
    sentences: usize,
    words: usize,
    openings: usize,
    verbs: usize,
    semicolons: usize,
    negations: usize,
    /// The first sentences with an opening: path, line and beginning.
    quoted: Vec<String>,
}

/// One line for people on each kind of text.
pub(crate) fn counts_in_words(tree: &SourceTree) -> String {
    let Ok(lists) = read_lists(tree) else { return String::new() };
    let line = |kind: &str, counts: &ProseCounts| {
        let [openings, verbs, semicolons, negations] = counts.rates();
        format!(
            "{kind}: {} sentences, {openings:.1} % open with a relative clause, {negations:.1} % deny twice; of a \
             thousand words {verbs:.1} are listed verbs, and {semicolons:.1} semicolons come on them",
            counts.sentences
        )
    };
    let [documents, comments, messages] = count_prose(tree, &lists);
    let lines = [line("documents", &documents), line("comments", &comments), line("messages", &messages)];
    lines.join("\ntidy: ")
}

/// Compares the rates with their limits.
pub(crate) fn check_prose(tree: &SourceTree) -> Vec<TidyFinding> {
    let lists = match read_lists(tree) {
        Ok(lists) => lists,
        // A tree without the lists, as in other rules' tests, has nothing to hold prose to.
        Err(None) => return Vec::new(),
        Err(Some(problem)) => return vec![TidyFinding::in_file(LISTS, problem, "mend the file")],
    };
    let [documents, comments, messages] = count_prose(tree, &lists);
    [
        ("docs", documents, &lists.documents),
        ("crates", comments, &lists.comments),
        ("crates, in messages", messages, &lists.messages),
    ]
    .into_iter()
    .flat_map(|(path, counts, limits)| counts.findings(path, limits))
    .collect()
}

/// Reads the lists. `Err(None)` if the tree has none.
fn read_lists(tree: &SourceTree) -> Result<ProseLists, Option<String>> {
    let text = tree.text(LISTS).ok_or(None)?;
    ProseLists::parse(text).map_err(Some)
}

impl ProseLists {
    fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("can't be read: {error}"))?;
        let words = |name: &str| {
            let list = table.get(name).and_then(toml::Value::as_array);
            let words = list.and_then(|list| list.iter().map(|word| word.as_str().map(str::to_owned)).collect());
            words.ok_or_else(|| format!("`{name}` is no list of words"))
        };
        let limits = |kind: &str| {
            let limit = |name: &str| {
                let value = table.get(kind).and_then(|limits| limits.get(name)).and_then(toml::Value::as_float);
                value.ok_or_else(|| format!("`{kind}.{name}` is no number such as 1.0"))
            };
            Ok::<_, String>(ProseLimits {
                openings_percent: limit("openings_percent")?,
                verbs_per_mille: limit("verbs_per_mille")?,
                semicolons_per_mille: limit("semicolons_per_mille")?,
                negations_percent: limit("negations_percent")?,
            })
        };
        Ok(Self {
            openings: words("openings")?,
            verbs: words("verbs")?,
            negations: words("negations")?,
            documents: limits("documents")?,
            comments: limits("comments")?,
            messages: limits("messages")?,
        })
    }
}

/// Counts documents, comments and messages.
fn count_prose(tree: &SourceTree, lists: &ProseLists) -> [ProseCounts; 3] {
    let mut counts: [ProseCounts; 3] = Default::default();
    let [documents, comments, messages] = &mut counts;
    for (path, text) in tree.files().filter(|(path, _)| !NO_PROSE.iter().any(|folder| path.contains(folder))) {
        if path.ends_with(".rs") {
            comments.add(path, &paragraphs_of_source(text), lists);
            if is_shipped(path) {
                messages.add(path, &messages_of_source(text), lists);
            }
        } else if path.ends_with(".md") && !path.contains("/tests/") {
            documents.add(path, &paragraphs_of_markdown(text), lists);
        }
    }
    counts
}

/// Whether users see the messages of a source.
fn is_shipped(path: &str) -> bool {
    let is_test = |name: &str| matches!(name, "tests" | "tests.rs" | "benches" | "examples" | "fuzz");
    !NO_MESSAGES.iter().any(|folder| path.starts_with(folder)) && !path.split('/').any(is_test)
}

/// The sentences in the string literals of a source, with `X` in place of each slot.
fn messages_of_source(text: &str) -> Vec<Paragraph> {
    let mut messages = Vec::new();
    for (line, literal) in string_literals(&without_tests(text).join("\n")) {
        for paragraph in literal.split("\n\n") {
            let text = without_slots(&paragraph.replace('\n', " "));
            let is_word = |word: &&str| word.chars().filter(|c| c.is_ascii_alphabetic()).count() > 1;
            if text.split_whitespace().filter(is_word).count() >= FEWEST_WORDS {
                messages.push(Paragraph { line, text });
            }
        }
    }
    messages
}

/// The text with `X` in place of each `{…}`.
fn without_slots(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, behind)) = after.split_once('}') else { break };
        out.extend([before, "X"]);
        rest = behind;
    }
    out + rest
}

impl ProseCounts {
    fn add(&mut self, path: &str, paragraphs: &[Paragraph], lists: &ProseLists) {
        for paragraph in paragraphs {
            let text = without_quotations(&paragraph.text);
            for sentence in sentences(&text) {
                self.add_sentence(sentence, lists, || format!("{path}:{}", paragraph.line));
            }
        }
    }

    fn add_sentence(&mut self, sentence: &str, lists: &ProseLists, place: impl Fn() -> String) {
        let words = words_of(sentence);
        if words.len() < 2 {
            return;
        }
        let among = |list: &[String]| words.iter().filter(|word| list.contains(word)).count();
        let contracted = words.iter().filter(|word| word.ends_with("n't")).count();
        self.sentences += 1;
        self.words += words.len();
        self.semicolons += sentence.matches(';').count();
        self.verbs += among(&lists.verbs);
        self.negations += usize::from(among(&lists.negations) + contracted > 1);
        let is_question = sentence.trim_end().ends_with('?');
        // A keyword of SQL is in capitals.
        let is_keyword = sentence.chars().take_while(|c| c.is_alphabetic()).all(char::is_uppercase);
        if !is_question && !is_keyword && words.first().is_some_and(|word| lists.openings.contains(word)) {
            self.openings += 1;
            if self.quoted.len() < QUOTED {
                let beginning: String = sentence.chars().take(60).collect();
                self.quoted.push(format!("{} \"{beginning}\"", place()));
            }
        }
    }

    /// Openings in percent of sentences, listed verbs and semicolons in thousandths of words, doubled negations in
    /// percent of sentences.
    fn rates(&self) -> [f64; 4] {
        let rate = |part: usize, of: usize, scale: f64| part as f64 * scale / of.max(1) as f64;
        [
            rate(self.openings, self.sentences, 100.0),
            rate(self.verbs, self.words, 1000.0),
            rate(self.semicolons, self.words, 1000.0),
            rate(self.negations, self.sentences, 100.0),
        ]
    }

    fn findings(&self, path: &str, limits: &ProseLimits) -> Vec<TidyFinding> {
        let [openings, verbs, semicolons, negations] = self.rates();
        let rows = [
            (openings, limits.openings_percent, "% of sentences open with a relative clause"),
            (verbs, limits.verbs_per_mille, "listed verbs in a thousand words"),
            (semicolons, limits.semicolons_per_mille, "semicolons in a thousand words"),
            (negations, limits.negations_percent, "% of sentences deny twice"),
        ];
        rows.into_iter()
            .filter(|(rate, limit, _)| rate > limit)
            .map(|(rate, limit, what)| {
                let quoted =
                    if what.contains("open") { format!(": {}", self.quoted.join(", ")) } else { String::new() };
                let problem = format!("{rate:.1} {what}, {limit:.1} are allowed{quoted}");
                TidyFinding::in_file(path, problem, "put the actor first, then the verb, then the object")
            })
            .collect()
    }
}

/// The paragraphs and list items of a document, without code, tables and headings.
fn paragraphs_of_markdown(text: &str) -> Vec<Paragraph> {
    let mut lines = ParagraphReader::default();
    for (index, line) in text.lines().enumerate() {
        lines.read(index + 1, Some(line));
    }
    lines.finish()
}

/// The paragraphs of comments on lines of their own.
fn paragraphs_of_source(text: &str) -> Vec<Paragraph> {
    let mut lines = ParagraphReader::default();
    for (index, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//");
        lines.read(index + 1, comment.map(|rest| rest.trim_start_matches(['/', '!'])));
    }
    lines.finish()
}

/// Joins lines to paragraphs.
#[derive(Debug, Default)]
struct ParagraphReader {
    done: Vec<Paragraph>,
    open: Option<Paragraph>,
    is_code: bool,
}

impl ParagraphReader {
    /// Reads the next line. `None` for a line that is no prose at all.
    fn read(&mut self, number: usize, line: Option<&str>) {
        let Some(line) = line.map(str::trim) else {
            self.is_code = false;
            return self.close();
        };
        if line.starts_with("```") || line.starts_with("~~~") {
            self.is_code = !self.is_code;
            return self.close();
        }
        if self.is_code || line.is_empty() || line.starts_with(['#', '|', '<', '>']) {
            return self.close();
        }
        let item = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).or_else(|| numbered_item(line));
        if item.is_some() {
            self.close();
        }
        let line = item.unwrap_or(line);
        match &mut self.open {
            Some(open) => open.text.extend([" ", line]),
            None => self.open = Some(Paragraph { line: number, text: line.to_owned() }),
        }
    }

    fn close(&mut self) {
        self.done.extend(self.open.take());
    }

    fn finish(mut self) -> Vec<Paragraph> {
        self.close();
        self.done
    }
}

/// The text of an item such as `12. text`.
fn numbered_item(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(". ")?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

/// The text with `X` in place of quotations in backquotes, and without emphasis and addresses of links.
fn without_quotations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, piece) in text.split('`').enumerate() {
        out.push_str(if index % 2 == 0 { piece } else { "X" });
    }
    out.replace("](", "] (").replace(['*', '_', '[', ']'], "")
}

/// The sentences of a paragraph: they end with a full stop, question mark, exclamation mark or colon before a capital.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.match_indices(['.', '?', '!', ':']).map(|(at, _)| at + 1).find(|end| {
            let mut after = rest.get(*end..).unwrap_or_default().chars();
            after.next() == Some(' ') && after.next().is_some_and(|next| next.is_uppercase() || "\"([".contains(next))
        });
        let (sentence, behind) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, ""));
        rest = behind.trim_start();
        Some(sentence)
    })
}

/// The words in lower case.
fn words_of(sentence: &str) -> Vec<String> {
    let is_edge = |c: char| !c.is_alphanumeric();
    let words = sentence.split_whitespace().map(|word| word.trim_matches(is_edge).to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::finding_lines as lines;

    const STRICT: &str = r#"
openings = ["what", "where", "who"]
verbs = ["stands"]
negations = ["no", "not", "nothing"]
[documents]
openings_percent = 1.0
verbs_per_mille = 1.0
semicolons_per_mille = 1.0
negations_percent = 1.0
[comments]
openings_percent = 1.0
verbs_per_mille = 1.0
semicolons_per_mille = 1.0
negations_percent = 1.0
[messages]
openings_percent = 1.0
verbs_per_mille = 1.0
semicolons_per_mille = 1.0
negations_percent = 1.0
"#;

    fn problems(path: &str, text: &str) -> Vec<String> {
        lines(&check_prose(&SourceTree::from([(LISTS, STRICT), (path, text)])))
    }

    #[test]
    fn plain_prose_questions_and_code_pass() {
        let plain =
            "A rule decides. What did the model read?\n\n```\nWhat is this; it stands\n```\n\n| What is this |\n";
        assert_eq!(problems("docs/a.md", plain), Vec::<String>::new());
        assert_eq!(problems("docs/a.md", "The key is `what; stands`.\n"), Vec::<String>::new());
        assert_eq!(problems("crates/a/src/b.rs", "/// The path.\nfn what() {}\n"), Vec::<String>::new());
        assert_eq!(problems("docs/reference/a.md", "What is printed.\n"), Vec::<String>::new());
    }

    #[test]
    fn each_habit_is_found() {
        for (text, expected) in [
            ("It is so. What is shown is new.\n", "50.0 % of sentences open with a relative clause"),
            ("- Where nothing is known, it waits.\n", "100.0 % of sentences open with a relative clause"),
            ("It stands there.\n", "333.3 listed verbs in a thousand words"),
            ("It is; it was.\n", "250.0 semicolons in a thousand words"),
            ("Nothing asks for nothing.\n", "100.0 % of sentences deny twice"),
            ("It doesn't know nothing.\n", "100.0 % of sentences deny twice"),
        ] {
            let found = problems("docs/a.md", text);
            assert!(found.len() == 1 && found[0].contains(expected), "{text}: {found:?}");
        }
    }

    #[test]
    fn an_opening_is_quoted_with_its_place() {
        let found = problems("crates/a/src/b.rs", "//! A module.\n\n/// Who sends\n/// it.\nfn sender() {}\n");
        assert!(found[0].contains("crates/a/src/b.rs:3 \"Who sends it.\""), "{found:?}");
    }

    #[test]
    fn messages_are_counted_without_slots_tests_and_statements() {
        let message = r#"fn f() { panic("what {0} holds can't be read; ask") }"#;
        let found = problems("crates/a/src/b.rs", message);
        assert!(found.len() == 2 && found[0].contains("crates/a/src/b.rs:1 \"what X holds"), "{found:?}");
        for (path, text) in [
            ("crates/a/tests/b.rs", message),
            ("crates/xtask/src/b.rs", message),
            ("crates/a/src/b.rs", r#"fn f() { run("WHERE state = 'open' AND time < now") }"#),
            ("crates/a/src/b.rs", r#"fn f() { g("what", "it; is") }"#),
        ] {
            assert_eq!(problems(path, text), Vec::<String>::new(), "{path} {text}");
        }
    }

    #[test]
    fn broken_lists_are_a_finding() {
        for (text, expected) in [("openings = 1", "`openings` is no list of words"), ("openings", "can't be read")] {
            let found = lines(&check_prose(&SourceTree::from([(LISTS, text)])));
            assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
        }
    }
}
