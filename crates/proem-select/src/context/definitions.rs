//! Which definitions of the best files a task is about.
//!
//! A definition is scored by the task's words in its name, its documentation and its body, weighed by how telling they
//! are among the definitions looked at, and by how likely its file is. A name that the task writes comes first.

use super::document::FileRecord;
use super::symbol::{CodeSymbol, SymbolKind};
use super::task::ContextTask;
use super::words::{Term, each_word};

/// A file whose definitions are looked at.
#[derive(Debug, Clone, Copy)]
pub struct DefinitionSource<'c> {
    /// Its place in the corpus.
    pub file: usize,
    /// How likely the task is about it, 0 to 1.
    pub probability: f32,
    /// What it is made of.
    pub record: &'c FileRecord,
    /// Its content.
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

/// What a word of the task counts in a name, beside 1 in a body.
const IN_NAME: f32 = 3.0;
/// What it counts in documentation and signature.
const IN_HEAD: f32 = 1.5;
/// What a definition has whose name or line the task writes.
const NAMED: f32 = 20.0;

/// One definition with the words of the task that it has.
struct Look {
    ranked: RankedDefinition,
    probability: f32,
    /// What each word of the task counts in it.
    counts: Vec<f32>,
    length: f32,
    bonus: f32,
}

/// The best definitions, at most `most`; containers stand behind their members, which say more.
#[must_use]
pub fn rank_definitions(sources: &[DefinitionSource<'_>], task: &ContextTask, most: usize) -> Vec<RankedDefinition> {
    let mut looks: Vec<Look> = Vec::new();
    for source in sources {
        let lines: Vec<&[u8]> = source.content.split(|&byte| byte == b'\n').collect();
        let symbols = source.record.symbols.iter().enumerate();
        looks.extend(
            symbols.filter(|(_, symbol)| counts(symbol)).map(|(at, symbol)| look(source, at, symbol, &lines, task)),
        );
    }
    let all = looks.len();
    let weights: Vec<f32> = (0..task.terms.len())
        .map(|number| {
            let with = looks.iter().filter(|look| look.counts.get(number).is_some_and(|count| *count > 0.0)).count();
            let telling = libm::logf(1.0 + (real(all.saturating_sub(with)) + 0.5) / (real(with) + 0.5));
            task.terms.get(number).map_or(0.0, |query| query.weight) * telling
        })
        .collect();
    let mut ranked: Vec<RankedDefinition> = looks
        .into_iter()
        .map(|look| {
            let words: f32 =
                look.counts.iter().zip(&weights).map(|(count, weight)| weight * count / (count + 1.2)).sum();
            // A long body has every word; that is no merit.
            let length = 1.0 / (1.0 + 0.12 * libm::logf(1.0 + look.length / 12.0));
            let score = look.bonus + (0.3 + words * length) * libm::sqrtf(look.probability.max(1e-3));
            RankedDefinition { score, ..look.ranked }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then((a.file, a.symbol).cmp(&(b.file, b.symbol))));
    ranked.truncate(most);
    ranked
}

#[expect(clippy::cast_precision_loss, reason = "counts of definitions and lines are far below 2²⁴")]
fn real(count: usize) -> f32 {
    count as f32
}

/// What holds others is shown by its members.
const fn counts(symbol: &CodeSymbol) -> bool {
    match symbol.kind {
        SymbolKind::Module | SymbolKind::Extension => false,
        SymbolKind::Type | SymbolKind::Interface => symbol.lines.len() < 80,
        _ => true,
    }
}

fn look(source: &DefinitionSource<'_>, at: usize, symbol: &CodeSymbol, lines: &[&[u8]], task: &ContextTask) -> Look {
    let mut counts = vec![0.0_f32; task.terms.len()];
    let mut add = |text: &[u8], worth: f32| {
        each_word(text, &mut |term: Term, _| {
            if let Ok(number) = task.terms.binary_search_by_key(&term, |query| query.term)
                && let Some(slot) = counts.get_mut(number)
            {
                *slot += worth;
            }
        });
    };
    add(symbol.name.as_bytes(), IN_NAME);
    for number in symbol.lines.first..=symbol.lines.last {
        let line = usize::try_from(number.saturating_sub(1)).ok().and_then(|at| lines.get(at));
        let worth = if number <= symbol.signature_line { IN_HEAD } else { 1.0 };
        add(line.copied().unwrap_or_default(), worth);
    }
    let is_named = task.names.contains(&symbol.name) || source.lines.iter().any(|line| symbol.lines.holds(*line));
    Look {
        ranked: RankedDefinition { file: source.file, symbol: at, score: 0.0 },
        probability: source.probability,
        counts,
        length: real(usize::try_from(symbol.lines.len()).unwrap_or(usize::MAX)),
        bonus: if is_named { NAMED } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
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
        let record = FileRecord {
            symbols: vec![symbol("parse_header", 1), symbol("flush", 5)],
            ..FileRecord::new(content, CommentStyle::Slashes, Vec::new(), Vec::new())
        };
        let first = |task: &str, lines: &[u32]| {
            let source = DefinitionSource { file: 3, probability: 0.5, record: &record, content, lines };
            rank_definitions(&[source], &ContextTask::new(task), 10).first().map(|ranked| ranked.symbol)
        };
        assert_eq!(first("headers are parsed wrongly", &[]), Some(0));
        assert_eq!(first("the buffer isn't written", &[]), Some(1));
        assert_eq!(first("headers are parsed wrongly", &[6]), Some(1), "a line that is named decides");
        assert_eq!(first("call `flush` later, header", &[]), Some(1));
    }
}
