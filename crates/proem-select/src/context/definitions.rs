//! Which definitions of the best files a task is about.
//!
//! A definition is scored by the task's words in its name, its documentation and its body, weighed by how telling they
//! are among the definitions looked at, by how likely its file is, and by its length, for a long function is changed
//! more often. How much each counts was learned ([`ContextWeights::definitions`]). A name or line that the task writes
//! comes first, and what is in tests last: tests have the words of every task, and seldom what it is about.

use proem_engine::workers::{self, Workers};

use super::record::FileRecord;
use super::symbol::{CodeSymbol, LineSpan, SymbolKind};
use super::task::{ContextTask, Naming};
use super::weights::{ContextWeights, DEFINITION_SIGNALS};
use super::words::{Term, WordForm, each_word};

/// Their names, in their order.
pub const DEFINITION_SIGNAL_NAMES: [&str; DEFINITION_SIGNALS] = [
    "log of its file's probability",
    "root of its file's probability",
    "words for its length",
    "words of its name",
    "share of its name",
    "length",
    "runs",
];

/// The signals of one definition, each of the size of 1.
pub type DefinitionSignals = [f32; DEFINITION_SIGNALS];

/// A file whose definitions are looked at.
#[derive(Debug, Clone, Copy)]
pub struct DefinitionSource<'c> {
    /// Its place in the corpus.
    pub file: usize,
    /// How likely the task is about it, 0 to 1.
    pub probability: f32,
    /// The symbols and words of the file that it is in.
    pub record: &'c FileRecord,
    /// The bytes of the file that it is in.
    pub content: &'c [u8],
    /// Lines of it that the task names.
    pub lines: &'c [u32],
}

/// A definition in the ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedDefinition {
    /// The place of its file in the corpus.
    pub file: usize,
    /// Its place in the file's record.
    pub symbol: usize,
    /// Higher is better.
    pub score: f32,
}

/// The weight of a word of the task in a name, beside 1 in a body.
const IN_NAME: f32 = 3.0;
/// Its weight in documentation and signature.
const IN_HEAD: f32 = 1.5;
/// The bonus of a definition whose name or line the task writes: more than all signals can add up to.
const NAMED: f32 = 1_000.0;
/// The bonus if the task writes its name with other capitals: `Query` comes before `query`.
const NAMED_OTHERWISE: f32 = 500.0;
/// The further bonus for each owner's name that the task writes, so that of two members of the same name the one of the
/// named type comes first.
const OWNED: f32 = 100.0;
/// The bonus if a sentence of the task has its name with a capital: about as much as its strongest signal.
const WRITTEN: f32 = 1.0;
/// The most names of owners that count.
const MOST_OWNERS: u8 = 4;

/// The penalty of a definition among the tests of its file, unless the task is about tests: more than all signals.
const AMONG_TESTS: f32 = 100.0;
/// Parts of words that say that a task is about tests.
const TEST_WORDS: [&str; 3] = ["test", "tests", "testing"];
/// The names of modules of tests.
const TEST_MODULES: [&str; 2] = ["test", "tests"];

/// The divisor of the logarithm of a probability, and of a length, that makes it of the size of 1.
const LOG_SIZE: f32 = 5.0;

/// A definition with what speaks for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DefinitionLook {
    /// The place of its file in the corpus.
    pub file: usize,
    /// Its place in the file's record.
    pub symbol: usize,
    /// The evidence for it.
    pub signals: DefinitionSignals,
    /// How the task names it. A line of it is as good as its name.
    pub naming: Naming,
    /// How many names the task writes of what it belongs to.
    pub named_owners: u8,
    /// Whether it is a test, or is among those of its file.
    pub is_in_tests: bool,
}

/// One definition with the words of the task that it has.
struct WordLook {
    look: DefinitionLook,
    /// The weight of each word of the task in all of it, and in its name.
    counts: Vec<(f32, f32)>,
    lines: f32,
}

/// Every definition of the sources that can be shown, in their order.
#[must_use]
pub fn definition_looks(
    sources: &[DefinitionSource<'_>],
    task: &ContextTask,
    workers: &dyn Workers,
) -> Vec<DefinitionLook> {
    let of_source = |source: &DefinitionSource<'_>| {
        let lines: Vec<&[u8]> = source.content.split(|&byte| byte == b'\n').collect();
        let symbols = source.record.symbols();
        let tests = test_modules(&symbols, &lines);
        // The names of what the members of a type belong to, once for all of them.
        let mut around: Vec<(LineSpan, bool)> = Vec::new();
        let mut owned: Vec<u8> = Vec::new();
        for symbol in &symbols {
            around.retain(|(span, _)| span.contains(symbol.lines));
            let by_name = symbol.owners().filter(|owner| task.names.iter().any(|name| name == owner)).count();
            let by_place = around.iter().filter(|(_, is_named)| *is_named).count();
            owned.push(u8::try_from(by_name.saturating_add(by_place)).unwrap_or(u8::MAX).min(MOST_OWNERS));
            if symbol.kind.holds_others() {
                around.push((symbol.lines, task.naming(symbol) == Naming::Exact));
            }
        }
        let symbols = symbols.iter().enumerate().filter(|(_, symbol)| is_leaf_symbol(symbol));
        let look = |(at, symbol): (usize, &CodeSymbol)| {
            let mut found = look_for_words(source, at, symbol, &lines, task);
            found.look.is_in_tests =
                tests.iter().any(|span| span.holds(symbol.lines.first)) || is_marked_test(symbol, &lines);
            found.look.named_owners = owned.get(at).copied().unwrap_or_default();
            found
        };
        symbols.map(look).collect::<Vec<_>>()
    };
    let mut looks: Vec<WordLook> =
        workers::map_with_workers(workers, sources, of_source).into_iter().flatten().collect();
    let all = looks.len();
    let weights: Vec<f32> = (0..task.terms.len())
        .map(|number| {
            let has = |look: &&WordLook| look.counts.get(number).is_some_and(|(count, _)| *count > 0.0);
            let with = looks.iter().filter(has).count();
            let telling = libm::logf(1.0 + (usize_to_f32(all.saturating_sub(with)) + 0.5) / (usize_to_f32(with) + 0.5));
            task.terms.get(number).map_or(0.0, |query| query.weight) * telling
        })
        .collect();
    let score = |counts: &mut dyn Iterator<Item = f32>| -> f32 {
        counts.zip(&weights).map(|(count, weight)| weight * count / (count + 1.2)).sum()
    };
    for WordLook { look, counts, lines } in &mut looks {
        let [.., words, name, _, _, _] = &mut look.signals;
        // A long body has every word; that is no merit.
        let for_length = 1.0 / (1.0 + 0.12 * libm::logf(1.0 + *lines / 12.0));
        *words = score(&mut counts.iter().map(|(all, _)| *all)) * for_length;
        *name = score(&mut counts.iter().map(|(_, name)| *name));
    }
    let most = looks.iter().fold((0.0_f32, 0.0_f32), |most, WordLook { look, .. }| {
        let [.., words, name, _, _, _] = look.signals;
        (most.0.max(words), most.1.max(name))
    });
    for WordLook { look, .. } in &mut looks {
        let [.., words, name, _, _, _] = &mut look.signals;
        *words /= most.0.max(f32::MIN_POSITIVE);
        *name /= most.1.max(f32::MIN_POSITIVE);
    }
    looks.into_iter().map(|look| look.look).collect()
}

/// The best definitions, at most `most`. Containers are behind their members, which say more.
#[must_use]
pub fn rank_definitions(
    sources: &[DefinitionSource<'_>],
    task: &ContextTask,
    weights: &ContextWeights,
    most: usize,
    workers: &dyn Workers,
) -> Vec<RankedDefinition> {
    let mut wants_tests = false;
    for word in TEST_WORDS {
        each_word(word.as_bytes(), &mut |term, _| {
            wants_tests |= task.terms.binary_search_by_key(&term, |query| query.term).is_ok();
        });
    }
    let mut ranked: Vec<RankedDefinition> = definition_looks(sources, task, workers)
        .into_iter()
        .map(|DefinitionLook { file, symbol, signals, naming, named_owners, is_in_tests }| {
            let learned: f32 = weights.definitions.iter().zip(&signals).map(|(weight, signal)| weight * signal).sum();
            let of_owners = OWNED * f32::from(named_owners);
            let among_tests = if is_in_tests && !wants_tests { AMONG_TESTS } else { 0.0 };
            let score = match naming {
                Naming::Exact => NAMED + of_owners + learned,
                Naming::OtherCase => NAMED_OTHERWISE + of_owners + learned,
                Naming::Written => WRITTEN + learned - among_tests,
                Naming::Not => learned - among_tests,
            };
            RankedDefinition { file, symbol, score }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then((a.file, a.symbol).cmp(&(b.file, b.symbol))));
    ranked.truncate(most);
    ranked
}

#[expect(clippy::cast_precision_loss, reason = "counts of definitions and lines are far below 2²⁴")]
fn usize_to_f32(count: usize) -> f32 {
    count as f32
}

/// The modules of a source that hold tests: they are marked so, or called so.
fn test_modules(symbols: &[CodeSymbol], lines: &[&[u8]]) -> Vec<LineSpan> {
    let is_of_tests = |symbol: &&CodeSymbol| {
        symbol.kind == SymbolKind::Module && (TEST_MODULES.contains(&&*symbol.name) || is_marked_test(symbol, lines))
    };
    symbols.iter().filter(is_of_tests).map(|symbol| symbol.lines).collect()
}

/// Whether an attribute says of a definition that it is a test, or compiled for tests alone: `#[test]`, `#[tokio::test(…)]`,
/// `#[cfg(test)]`.
fn is_marked_test(symbol: &CodeSymbol, lines: &[&[u8]]) -> bool {
    (symbol.lines.first..=symbol.signature_line).filter_map(|number| line_numbered(lines, number)).any(|line| {
        let Some(attribute) = line.trim_ascii().strip_prefix(b"#[") else { return false };
        let end = attribute.iter().position(|byte| matches!(byte, b'(' | b']' | b' ')).unwrap_or(attribute.len());
        let (path, rest) = attribute.split_at(end);
        path.ends_with(b"test") || (path == b"cfg" && rest.starts_with(b"(test)"))
    })
}

/// A line, counted from 1.
fn line_numbered<'c>(lines: &[&'c [u8]], number: u32) -> Option<&'c [u8]> {
    usize::try_from(number.checked_sub(1)?).ok().and_then(|at| lines.get(at)).copied()
}

/// A definition that holds others is shown by its members.
const fn is_leaf_symbol(symbol: &CodeSymbol) -> bool {
    match symbol.kind {
        SymbolKind::Module | SymbolKind::Extension => false,
        SymbolKind::Type | SymbolKind::Interface => symbol.lines.len() < 80,
        _ => true,
    }
}

fn look_for_words(
    source: &DefinitionSource<'_>,
    at: usize,
    symbol: &CodeSymbol,
    lines: &[&[u8]],
    task: &ContextTask,
) -> WordLook {
    let mut counts = vec![(0.0_f32, 0.0_f32); task.terms.len()];
    let place = |term: Term| task.terms.binary_search_by_key(&term, |query| query.term).ok();
    let (mut parts, mut found) = (0_usize, 0_usize);
    each_word(symbol.name.as_bytes(), &mut |term, form| {
        let number = place(term);
        if let Some((all, name)) = number.and_then(|number| counts.get_mut(number)) {
            *all += IN_NAME;
            *name += 1.0;
        }
        if form == WordForm::Part {
            parts = parts.saturating_add(1);
            found = found.saturating_add(usize::from(number.is_some()));
        }
    });
    for number in symbol.lines.first..=symbol.lines.last {
        let line = line_numbered(lines, number);
        let worth = if number <= symbol.signature_line { IN_HEAD } else { 1.0 };
        each_word(line.unwrap_or_default(), &mut |term, _| {
            if let Some((all, _)) = place(term).and_then(|number| counts.get_mut(number)) {
                *all += worth;
            }
        });
    }
    let has_place = source.lines.iter().any(|line| symbol.lines.holds(*line));
    let naming = if has_place { Naming::Exact } else { task.naming(symbol) };
    let lines = usize_to_f32(usize::try_from(symbol.lines.len()).unwrap_or(usize::MAX));
    let signals = [
        libm::logf(source.probability.max(1e-4)) / LOG_SIZE,
        libm::sqrtf(source.probability.max(0.0)),
        0.0,
        0.0,
        usize_to_f32(found) / usize_to_f32(parts.max(1)),
        libm::logf(1.0 + lines) / LOG_SIZE,
        f32::from(u8::from(symbol.kind.runs())),
    ];
    WordLook {
        look: DefinitionLook { file: source.file, symbol: at, signals, naming, named_owners: 0, is_in_tests: false },
        counts,
        lines,
    }
}

#[cfg(test)]
mod tests {
    use proem_engine::workers::Sequential;

    use super::*;
    use crate::context::{CommentStyle, LineSpan};

    #[test]
    fn the_function_that_has_the_words_comes_first() {
        let content = b"fn parse_header(line) {\n  split(line)\n}\n\nfn flush() {\n  write_buffer()\n}\n";
        let symbol = |name: &str, first: u32| CodeSymbol {
            name: name.into(),
            kind: SymbolKind::Function,
            depth: 0,
            lines: LineSpan { first, last: first + 2 },
            own_line: first,
            signature_line: first,
        };
        let symbols = vec![symbol("parse_header", 1), symbol("flush", 5)];
        let record = FileRecord::new(content, CommentStyle::Slashes, symbols, Vec::new());
        let first = |task: &str, lines: &[u32]| {
            let source = DefinitionSource { file: 3, probability: 0.5, record: &record, content, lines };
            let weights = ContextWeights::shipped().expect("a test of the weights reads them");
            rank_definitions(&[source], &ContextTask::new(task), &weights, 10, &Sequential)
                .first()
                .map(|ranked| ranked.symbol)
        };
        assert_eq!(first("headers are parsed wrongly", &[]), Some(0));
        assert_eq!(first("the buffer isn't written", &[]), Some(1));
        assert_eq!(first("headers are parsed wrongly", &[6]), Some(1), "a line that is named decides");
        assert_eq!(first("call `flush` later, header", &[]), Some(1));
    }

    #[test]
    fn a_name_in_the_task_decides_in_its_own_case_first() {
        let content =
            b"class query {}\nclass Query {}\nvoid Table::get() {}\nvoid Other::get() {}\nvoid filter() { lost }\n";
        let names = ["query", "Query", "Table::get", "Other::get", "filter"];
        let symbol = |(line, name): (u32, &&str)| CodeSymbol {
            name: (*name).into(),
            kind: SymbolKind::Function,
            depth: 0,
            lines: LineSpan { first: line, last: line },
            own_line: line,
            signature_line: line,
        };
        let symbols: Vec<CodeSymbol> = (1..).zip(&names).map(symbol).collect();
        let record = FileRecord::new(content, CommentStyle::Slashes, symbols, Vec::new());
        let order = |task: &str| -> Vec<&str> {
            let source = DefinitionSource { file: 0, probability: 0.5, record: &record, content, lines: &[] };
            let weights = ContextWeights::shipped().expect("a test of the weights reads them");
            let ranked = rank_definitions(&[source], &ContextTask::new(task), &weights, 10, &Sequential);
            ranked.iter().filter_map(|ranked| names.get(ranked.symbol).copied()).collect()
        };
        for (task, first) in [
            ("`Query` is slow", &["Query", "query"][..]),
            ("`query` is slow", &["query", "Query"]),
            ("`QUERY` is slow", &["query", "Query"]),
            ("Table::get() fails in `Table`", &["Table::get", "Other::get"]),
            ("call `Other`'s `get`", &["Other::get", "Table::get"]),
            ("Fix: the Query drops what it has", &["Query"]),
            ("Filter what is lost", &["filter"]),
        ] {
            assert_eq!(order(task).get(..first.len()), Some(first), "{task}");
        }
    }

    #[test]
    fn what_stands_in_tests_comes_last_unless_they_are_asked_for() {
        let content = b"fn read(text) {\n  parse(text)\n}\n\n#[cfg(test)]\nmod checks {\n  #[tokio::test(flavor = \"one\")]\n  \
                        fn invalid_json() {\n    invalid json\n  }\n  fn json() {\n  }\n}\n#[testing]\nfn other() {\n}\n";
        let symbol = |name: &str, kind, depth, span: (u32, u32), signature_line| CodeSymbol {
            name: name.into(),
            kind,
            depth,
            lines: LineSpan { first: span.0, last: span.1 },
            own_line: span.0,
            signature_line,
        };
        let symbols = vec![
            symbol("read", SymbolKind::Function, 0, (1, 3), 1),
            symbol("checks", SymbolKind::Module, 0, (5, 13), 6),
            symbol("invalid_json", SymbolKind::Function, 1, (7, 10), 8),
            symbol("json", SymbolKind::Function, 1, (11, 12), 11),
            symbol("other", SymbolKind::Function, 0, (14, 16), 15),
        ];
        let record = FileRecord::new(content, CommentStyle::Slashes, symbols, Vec::new());
        let ranked = |task: &str| -> Vec<usize> {
            let source = DefinitionSource { file: 0, probability: 0.5, record: &record, content, lines: &[] };
            let weights = ContextWeights::shipped().expect("a test of the weights reads them");
            let ranked = rank_definitions(&[source], &ContextTask::new(task), &weights, 10, &Sequential);
            ranked.iter().map(|ranked| ranked.symbol).collect()
        };
        let plain = ranked("invalid json is accepted");
        assert_eq!(plain.iter().take(2).copied().max(), Some(4), "{plain:?}: `#[testing]` marks no test");
        assert_eq!(plain.get(2), Some(&2), "{plain:?}");
        assert_eq!(ranked("the test of invalid json fails").first(), Some(&2));
        assert_eq!(ranked("`invalid_json` hangs").first(), Some(&2), "a name that is written decides");
    }
}
