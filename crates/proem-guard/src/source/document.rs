//! The prose in a document with code in it.

use super::{LanguageFamily, ProseCollector, count_prose_words, is_read, line_spans, trimmed_span};

/// How many blanks before a line may make it code: four in Markdown, three in reStructuredText.
const INDENT: usize = 3;

/// The fences around code, and around literal text.
const FENCES: [&str; 4] = ["```", "~~~", "----", "...."];

/// Writes a document without the lines of code that don't read like a sentence.
pub(super) fn write_document_prose(text: &str, syntax: LanguageFamily, writing: &mut ProseCollector<'_>) {
    let mut fence: Option<&str> = None;
    for line in line_spans(0, text) {
        let whole = text.get(line.start..line.end).unwrap_or_default();
        let bare = whole.trim();
        let has_code = syntax == LanguageFamily::Document;
        let mark = FENCES.into_iter().find(|mark| has_code && bare.starts_with(mark));
        let is_fence = match (fence, mark) {
            (Some(open), Some(mark)) => open == mark && is_made_of(bare, mark),
            // A longer row of dashes or dots underlines a heading.
            (None, Some(mark)) => mark.starts_with(['`', '~']) || bare == mark,
            (_, None) => false,
        };
        if is_fence {
            fence = if fence.is_some() { None } else { mark };
            continue;
        }
        let indent = whole.len().saturating_sub(whole.trim_start().len());
        let is_code = has_code && (fence.is_some() || indent >= INDENT || whole.starts_with('\t'));
        if is_read(is_code, count_prose_words(bare)) {
            writing.line(trimmed_span(line.start, whole));
        }
    }
}

/// Whether a line is nothing but a mark, repeated or not.
fn is_made_of(line: &str, mark: &str) -> bool {
    mark.chars().next().is_some_and(|c| line.chars().all(|other| other == c))
}
