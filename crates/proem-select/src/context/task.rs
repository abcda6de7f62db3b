//! A task as it is looked for: its words with their weights, and the places that it names.

use std::collections::{BTreeMap, BTreeSet};

use proem_text::first_bytes;

use super::corpus::name_parts;
use super::language::TaskLanguage;
use super::place::{PlaceMention, named_places};
use super::symbol::CodeSymbol;
use super::words::{Term, WordForm, distinct_words, each_word, term_of_name, term_of_word};

/// The most bytes of a task whose words are looked for; what follows is a log.
pub(super) const MOST_BYTES: usize = 16 * 1024;

/// The most words that are looked for.
pub const MOST_TERMS: usize = 64;

/// Words of a sentence that say nothing about code.
const SILENT: &str = "a about add added adding adds after all also an and any are as at avoid be because been before \
     being between both bug but by can can't cannot change changed changes changing code could describe did do does \
     doesn doing don done each ensure etc even explain fix fixed fixes fixing for from get gets given had has have \
     here how i if implement implemented implementing improve in instead into investigate is isn issue it its just \
     let like look looking make makes making may me more must my need needed needs new no not now of off on once one \
     only or other our out over please possible problem problems properly really refactor remove removed review \
     rewrite same see set should shouldn since so some still such support sure t than that the their them then there \
     these they this those though to too two understand up update updated us use used uses using very want was way \
     we were what when where which while who why will with without won work works would wrong yet you your";

/// Words of a request, besides, that say nothing of what it is about.
const POLITE: &str = "could d find give hello help hi know ll m please provide recommend show suggest tell ve want";

/// Words of [`SILENT`] that no file is found by, and that are said of software all the same.
const OF_WORK: &str = "bug code implement implemented implementing refactor";

/// A word that is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryTerm {
    /// The word.
    pub term: Term,
    /// How much it counts, above 0.
    pub weight: f32,
    /// Whether it is a name as a whole.
    pub form: WordForm,
}

/// The search.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextTask {
    /// Its words, each once, sorted by number.
    pub terms: Vec<QueryTerm>,
    /// Files that it names.
    pub places: Vec<PlaceMention>,
    /// The words of the part of the project that its first line names in front: `parser: …`, `fix(parser): …`, `[parser] …`.
    pub scope: Vec<Term>,
    /// Names that it writes as code does, in its order: `only_matching`, `Replacer`, `f()`, whatever is in backticks.
    pub names: Vec<String>,
    /// Words with a capital in the middle of its sentences, which may be names of types: `Query`.
    pub written: Vec<String>,
    /// The words of its first line, sorted and distinct: the line says what it is about, and what follows explains.
    pub first_line: Vec<Term>,
    /// That line as it is.
    pub subject: String,
    /// Words that follow each other in one of its lines, without those that say nothing. Sorted and distinct.
    pub neighbours: Vec<(Term, Term)>,
    /// Its first words without those that say nothing of what it is about.
    pub content: String,
    /// The language that [`Self::in_words_of`] found it to be written in, if that is none of English.
    pub language: Option<TaskLanguage>,
    /// Whether at most a third of its words in that language are known to be said of programming or are in the code.
    pub is_hardly_understood: bool,
}

impl ContextTask {
    /// Reads a task.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let places = named_places(text);
        let text = first_bytes(text, MOST_BYTES);
        let silent: BTreeSet<Term> = SILENT.split(' ').map(term_of_word).collect();
        let mut weights: BTreeMap<Term, (f32, WordForm)> = BTreeMap::new();
        let mut add = |term: Term, weight: f32, form: WordForm| {
            let slot = weights.entry(term).or_insert((0.0, form));
            slot.0 += weight;
        };
        each_word(text.as_bytes(), &mut |term, form| {
            if form == WordForm::Whole || !silent.contains(&term) {
                add(term, 1.0, form);
            }
        });
        // `--only-matching` and "only matching" may be one name in the code.
        for joined in joined_names(text) {
            if let Some(term) = term_of_name(&joined.name) {
                add(term, joined.weight, WordForm::Whole);
            }
        }
        let mut terms: Vec<QueryTerm> = weights
            .into_iter()
            .map(|(term, (count, form))| QueryTerm { term, weight: 1.0 + libm::logf(count.max(0.3)), form })
            .map(|term| QueryTerm { weight: term.weight.max(0.3), ..term })
            .collect();
        if terms.len() > MOST_TERMS {
            terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
            terms.truncate(MOST_TERMS);
            terms.sort_by_key(|term| term.term);
        }
        let scope = scope_words(text).into_iter().filter(|term| !silent.contains(term)).collect();
        let subject = text.lines().next().unwrap_or_default();
        let neighbours = neighbours(text, &terms);
        let first_line = distinct_words(subject);
        Self {
            terms,
            places,
            scope,
            names: code_names(text),
            written: written_names(text),
            first_line,
            subject: subject.to_owned(),
            neighbours,
            content: content_words(text),
            language: None,
            is_hardly_understood: false,
        }
    }

    /// Whether a word says nothing about code.
    pub(super) fn is_silent(term: Term) -> bool {
        SILENT.split(' ').any(|silent| term_of_word(silent) == term)
    }

    /// Whether it has a word or place to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.places.is_empty()
    }
}

/// The most bytes of a task that say what it is about.
const MOST_CONTENT: usize = 1024;

/// The words of a task's beginning that say what it is about.
fn content_words(text: &str) -> String {
    let silent: BTreeSet<&str> = SILENT.split(' ').chain(POLITE.split(' ')).collect();
    let of_work: BTreeSet<&str> = OF_WORK.split(' ').collect();
    let words = first_bytes(text, MOST_CONTENT).split(|c: char| !c.is_alphanumeric());
    let tells = |word: &&str| {
        let lower = word.to_lowercase();
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        !is_number && (of_work.contains(lower.as_str()) || !silent.contains(lower.as_str()))
    };
    words.filter(tells).collect::<Vec<_>>().join(" ")
}

/// Words of the task that follow each other in a line.
fn neighbours(text: &str, terms: &[QueryTerm]) -> Vec<(Term, Term)> {
    let is_asked = |term: &Term| {
        let at = terms.binary_search_by_key(term, |query| query.term);
        at.is_ok_and(|at| terms.get(at).is_some_and(|query| query.form == WordForm::Part))
    };
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let words: Vec<Term> = name_parts(line).into_iter().filter(is_asked).collect();
        found.extend(words.iter().copied().zip(words.iter().copied().skip(1)).filter(|(a, b)| a != b));
    }
    found.into_iter().take(MOST_TERMS).collect()
}

/// The longest head of a line that names a part of a project, in bytes, and in words.
const SCOPE: (usize, usize) = (50, 3);

/// The words in front of a first line, sorted and distinct.
fn scope_words(text: &str) -> Vec<Term> {
    let line = text.lines().next().unwrap_or_default();
    let head = match line.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(head, _)| head),
        None => line.split_once(": ").map(|(head, _)| head),
    };
    let is_scope = |head: &&str| head.len() < SCOPE.0 && head.split_whitespace().count() <= SCOPE.1;
    distinct_words(head.filter(is_scope).unwrap_or_default())
}

/// Words that may be one name.
struct JoinedName {
    name: String,
    weight: f32,
}

/// Words with hyphens, and neighbouring words.
fn joined_names(text: &str) -> Vec<JoinedName> {
    let mut found = Vec::new();
    let mut before: Option<&str> = None;
    for token in text.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        if word.contains('-') && word.len() <= 60 && word.is_ascii() {
            found.push(JoinedName { name: word.replace('-', "_"), weight: 1.0 });
        }
        let is_plain = (2..=30).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        if let Some(before) = before.filter(|_| is_plain) {
            found.push(JoinedName { name: format!("{before}_{word}"), weight: 0.5 });
        }
        before = is_plain.then_some(word);
    }
    found
}

/// How a task names a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// It doesn't.
    Not,
    /// In the middle of a sentence, with the capital that it is written with: `the Query is lost`.
    Written,
    /// As code, but with other capitals.
    OtherCase,
    /// As code, as it is written.
    Exact,
}

impl ContextTask {
    /// How it names a definition, by the whole name or that without what it belongs to.
    #[must_use]
    pub fn naming(&self, symbol: &CodeSymbol) -> Naming {
        let names = [symbol.name.as_str(), symbol.last_name()];
        let has = |is_same: fn(&str, &str) -> bool| {
            self.names.iter().any(|known| names.iter().any(|name| is_same(known, name)))
        };
        if has(|known, name| known == name) {
            Naming::Exact
        } else if has(str::eq_ignore_ascii_case) {
            Naming::OtherCase
        } else if self.written.iter().any(|word| names.contains(&word.as_str())) {
            Naming::Written
        } else {
            Naming::Not
        }
    }
}

/// Words with a capital that no sentence begins with. The first of a line or behind a full stop or colon says nothing.
fn written_names(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut begins = true;
        for token in line.split_whitespace() {
            let word = token.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
            let has_capital = word.chars().next().is_some_and(char::is_uppercase);
            let is_name =
                !begins && has_capital && word.chars().nth(2).is_some() && word.chars().any(char::is_lowercase);
            if is_name && !found.iter().any(|known| known == word) && found.len() < MOST_TERMS {
                found.push(word.to_owned());
            }
            begins = token.ends_with(['.', ':', '!', '?']);
        }
    }
    found
}

/// Names as code writes them.
fn code_names(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (number, quoted) in text.split('`').enumerate() {
        let is_quoted = number % 2 == 1;
        for token in quoted.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '(' || c == ')')) {
            let is_called = token.contains('(');
            let name = token.split('(').next().unwrap_or_default();
            let has_letter = name.chars().any(char::is_alphabetic);
            let inner_capital =
                name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
            let is_name = has_letter
                && (3..=80).contains(&name.len())
                && (is_quoted || is_called || inner_capital || (name.contains('_') && !name.starts_with('_')));
            if is_name && !found.iter().any(|known| known == name) && found.len() < MOST_TERMS {
                found.push(name.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capital_within_a_sentence_may_be_a_name() {
        for (text, expected) in [
            ("Fix the Query builder. Then Table: Row", "Query Table"),
            ("the (Query), a HTTP and an Iö", "Query"),
            ("Line one\nLine two has Words", "Words"),
            ("", ""),
        ] {
            assert_eq!(ContextTask::new(text).written.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn names_are_what_code_writes() {
        for (text, expected) in [
            ("fix Replacer", ""),
            ("fix `Replacer` and only_matching in HttpServer, call flush()", "Replacer only_matching HttpServer flush"),
            ("the `foo bar` case", "foo bar"),
        ] {
            assert_eq!(ContextTask::new(text).names.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn the_part_of_the_project_in_front_is_known() {
        let scope = |text: &str| ContextTask::new(text).scope;
        let printer = vec![term_of_word("printer")];
        for text in ["printer: lines come twice", "fix(printer): lines come twice\nprinter: x", "[printer] lines"] {
            assert_eq!(scope(text), printer, "{text}");
        }
        for text in
            ["lines come twice", "what this is about is the following: lines", "see\nprinter: lines", "a::b fails"]
        {
            assert_eq!(scope(text), Vec::<Term>::new(), "{text}");
        }
    }

    #[test]
    fn flags_and_neighbours_are_looked_for_as_names() {
        let has = |text: &str, name: &str| {
            let term = term_of_name(name);
            ContextTask::new(text).terms.iter().any(|query| Some(query.term) == term)
        };
        assert!(has("--only-matching prints twice", "only_matching"));
        assert!(has("the error handler fails", "ErrorHandler"));
        assert!(!has("fix the bug", "fix"));
    }

    #[test]
    fn a_task_of_any_length_has_few_words() {
        let text: String = (0..9_000).map(|n| format!("word{n}x ")).collect();
        assert!(ContextTask::new(&text).terms.len() <= MOST_TERMS);
        assert!(ContextTask::new("").is_empty());
    }
}
