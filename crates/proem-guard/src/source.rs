//! The prose in a file of source: its comments and its strings.
//!
//! The learned scorer knows prose. Identifiers and operators are none, and a file of code has so many
//! of them that some always sound like an attack. So the scorer reads comments, strings of words,
//! and lines outside of both that read like a sentence, or a paragraph would be hidden by not calling it a
//! comment. Rules read the whole file beside it.
//!
//! The lexer knows families of languages, not languages: where it takes code for a string, or a string for code, every
//! line of words is read all the same. A comment is read whatever is before it.
//!
//! Invariants: the map of [`prose`] leads to where the words are. Time is linear in the text.

mod document;
mod family;
mod lexer;
mod licence;
mod syntax;

use alloc::{string::String, vec::Vec};
use proem_text::{OffsetMap, Span, View};

use lexer::{SourceToken, SourceTokenKind, lex_source};
pub(crate) use licence::Licences;
pub use syntax::LanguageFamily;

/// The fewest words of a string that are a phrase.
const PHRASE: usize = 3;

/// The fewest words of a line that may be a sentence, outside comments and strings.
const SENTENCE: usize = 7;

/// The most bytes of marks between two lines of one comment.
const MARKS: usize = 3;

/// The longest tag that is left out, in bytes.
const TAG: usize = 120;

/// The fewest letters of a phrase in a script that parts no words by spaces.
const UNSPACED: usize = 8;

/// The prose in a text of this family of languages.
///
/// Lines of comments that follow each other stay together, as do strings that a program joins. An empty line is between
/// what doesn't belong together.
#[must_use]
pub fn prose(text: &str, syntax: LanguageFamily) -> View {
    let unmarked = if syntax == LanguageFamily::Patch { Some(blank_diff_signs(text)) } else { None };
    let text = unmarked.as_deref().unwrap_or(text);
    let view = View { text: String::new(), map: OffsetMap::new() };
    let mut writing = ProseCollector { text, view, end: None, comment_end: None, is_fenced: false };
    let Some(rules) = syntax.rules() else {
        document::write_document_prose(text, syntax, &mut writing);
        return writing.view;
    };
    let mut phrase = StringSequence::default();
    for piece in lex_source(text, rules) {
        let content = text.get(piece.span.start..piece.span.end).unwrap_or_default();
        match piece.kind {
            SourceTokenKind::Comment => {
                phrase.finish(&mut writing);
                write_comment(piece, content, &mut writing);
            }
            SourceTokenKind::Literal => write_string_literal(piece, content, &mut phrase, &mut writing),
            SourceTokenKind::Code if phrase.is_open() && joins_strings(content) => {}
            SourceTokenKind::Code => {
                phrase.finish(&mut writing);
                write_sentence_code(piece, content, &mut writing);
            }
        }
    }
    phrase.finish(&mut writing);
    writing.view
}

/// A difference whose lines begin with a blank in place of `+` or `-`: as long, so that every place stays.
fn blank_diff_signs(patch: &str) -> String {
    let mut text = String::with_capacity(patch.len());
    for line in patch.split_inclusive('\n') {
        let rest = line.strip_prefix(['+', '-']);
        text.push_str(if rest.is_some() { " " } else { "" });
        text.push_str(rest.unwrap_or(line));
    }
    text
}

/// Writes a comment's lines without what decorates them. Of examples in fences, only sentences.
fn write_comment(piece: SourceToken, content: &str, writing: &mut ProseCollector<'_>) {
    let is_apart = |end: usize| {
        let between = writing.text.get(end..piece.span.start).unwrap_or_default();
        between.trim().len() > MARKS || between.bytes().filter(|byte| *byte == b'\n').count() > 1
    };
    if writing.comment_end.is_none_or(is_apart) {
        writing.is_fenced = false;
    }
    writing.comment_end = Some(piece.span.end);
    for line in line_spans(piece.span.start, content) {
        let text = writing.text.get(line.start..line.end).unwrap_or_default();
        let bare = text.trim_start().trim_start_matches(['/', '*', '#', '!', ';', '-', '<', '|']);
        if bare.trim_start().starts_with("```") {
            writing.is_fenced = !writing.is_fenced;
            continue;
        }
        let count = count_prose_words(bare);
        if is_read(writing.is_fenced, count) {
            writing.line(trimmed_span(line.end.saturating_sub(bare.len()), bare));
        }
    }
}

/// Whether a line is read: of code a sentence, of prose what has words.
fn is_read(is_code: bool, count: Count) -> bool {
    if is_code { count.is_at_least(SENTENCE) } else { count.is_prose() }
}

/// Takes a string's lines into the phrase at hand.
fn write_string_literal(
    piece: SourceToken,
    content: &str,
    phrase: &mut StringSequence,
    writing: &mut ProseCollector<'_>,
) {
    for (index, line) in line_spans(piece.span.start, content).enumerate() {
        if index > 0 {
            phrase.finish(writing);
        }
        phrase.parts.push(line);
    }
    phrase.open = true;
}

/// Writes the lines of code that read like a sentence.
fn write_sentence_code(piece: SourceToken, content: &str, writing: &mut ProseCollector<'_>) {
    for line in line_spans(piece.span.start, content) {
        let text = writing.text.get(line.start..line.end).unwrap_or_default();
        if count_prose_words(text).is_at_least(SENTENCE) {
            writing.line(trimmed_span(line.start, text));
        }
    }
}

/// Whether a program joins the strings on both sides of this code.
fn joins_strings(code: &str) -> bool {
    code.chars().all(|c| c.is_whitespace() || matches!(c, '+' | '\\' | '.' | '&' | '|'))
}

/// The lines of a piece that begins at `start`.
fn line_spans(start: usize, content: &str) -> impl Iterator<Item = Span> {
    let mut at = start;
    content.split('\n').map(move |line| {
        let span = Span::new(at, at.saturating_add(line.len()));
        at = span.end.saturating_add(1);
        span
    })
}

/// The span of a text that begins at `start`, without the blanks at its ends.
fn trimmed_span(start: usize, text: &str) -> Span {
    let blank = text.len().saturating_sub(text.trim_start().len());
    let from = start.saturating_add(blank);
    Span::new(from, from.saturating_add(text.trim().len()))
}

/// Strings in a row that a program joins, within one line of what it prints.
#[derive(Debug, Default)]
struct StringSequence {
    parts: Vec<Span>,
    /// Whether another string may join.
    open: bool,
}

impl StringSequence {
    const fn is_open(&self) -> bool {
        self.open
    }

    /// Writes the phrase if it is one of words.
    fn finish(&mut self, writing: &mut ProseCollector<'_>) {
        let parts = self.parts.iter().filter_map(|part| writing.text.get(part.start..part.end));
        if parts.map(count_prose_words).fold(Count::default(), Count::and).is_at_least(PHRASE) {
            let mut parts = self.parts.iter().filter(|part| !part.is_empty());
            parts.next().into_iter().for_each(|part| writing.line(*part));
            parts.for_each(|part| writing.copy(*part));
        }
        self.parts.clear();
        self.open = false;
    }
}

/// The view so far.
struct ProseCollector<'a> {
    text: &'a str,
    view: View,
    /// The end of the last line in the text.
    end: Option<usize>,
    /// The end of the last comment.
    comment_end: Option<usize>,
    /// Whether an example in it is open.
    is_fenced: bool,
}

impl ProseCollector<'_> {
    /// Adds a line: right below the last one if nothing but blanks and what decorates comments is between.
    fn line(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        if let Some(end) = self.end {
            let between = self.text.get(end..span.start).unwrap_or_default();
            let is_near = between.bytes().filter(|byte| *byte == b'\n').count() == 1
                && !between.contains(|c: char| c.is_alphanumeric());
            self.insert(if is_near { "\n" } else { "\n\n" }, end);
        }
        self.copy(span);
    }

    /// Adds what belongs to the last line, without tags.
    fn copy(&mut self, span: Span) {
        let mut at = span.start;
        while let Some(rest) = self.text.get(at..span.end).filter(|rest| !rest.is_empty()) {
            let (length, tag) = before_tag(rest);
            let part = Span::new(at, at.saturating_add(length));
            self.view.text.push_str(self.text.get(part.start..part.end).unwrap_or_default());
            self.view.map.push_verbatim(part);
            at = part.end.saturating_add(tag);
        }
        self.end = Some(span.end);
    }

    fn insert(&mut self, text: &str, at: usize) {
        self.view.text.push_str(text);
        self.view.map.push(text.len(), Span::new(at, at));
    }
}

/// How many bytes are before the first tag, and how many it has: `<code>`, `</a>`, `<li class="one">`.
fn before_tag(text: &str) -> (usize, usize) {
    let mut from = 0usize;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('<')).map(|at| from.saturating_add(at)) {
        if let Some(length) = text.get(at..).and_then(leading_tag_length) {
            return (at, length);
        }
        from = at.saturating_add(1);
    }
    (text.len(), 0)
}

/// The length of the tag that a text begins with, if it is a short one that says nothing: what describes a
/// picture may be a sentence.
fn leading_tag_length(text: &str) -> Option<usize> {
    let near = text.get(..text.floor_char_boundary(TAG))?;
    let tag = near.get(..=near.find('>')?)?;
    let name = tag.trim_start_matches('<').trim_start_matches('/');
    (name.starts_with(|c: char| c.is_ascii_alphabetic()) && !count_prose_words(tag).is_at_least(PHRASE))
        .then_some(tag.len())
}

/// How much of a text is words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    words: usize,
    figures: usize,
    others: usize,
    /// Letters of scripts that part no words.
    unspaced: usize,
}

impl Count {
    const fn and(self, other: Self) -> Self {
        Self {
            words: self.words.saturating_add(other.words),
            figures: self.figures.saturating_add(other.figures),
            others: self.others.saturating_add(other.others),
            unspaced: self.unspaced.saturating_add(other.unspaced),
        }
    }

    /// Whether most of it is words.
    const fn is_prose(self) -> bool {
        self.words > self.others || (self.others == 0 && self.figures > 0) || self.unspaced >= UNSPACED
    }

    /// Whether it is words, at least this many, and three of four are.
    const fn is_at_least(self, least: usize) -> bool {
        (self.words >= least && self.words >= self.others.saturating_mul(3)) || self.unspaced >= UNSPACED
    }
}

fn count_prose_words(text: &str) -> Count {
    let mut count = Count::default();
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation() || matches!(c, '“' | '”' | '‘' | '’' | '…'));
        if bare.is_empty() {
            continue;
        }
        // Figures and digits of a code say nothing about what is around them.
        if bare.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, '.' | ',')) {
            count.figures = count.figures.saturating_add(1);
        } else if is_prose_word(bare) {
            count.words = count.words.saturating_add(1);
        } else {
            count.others = count.others.saturating_add(1);
        }
        let unspaced = bare.chars().filter(|c| is_spaceless_letter(*c)).count();
        count.unspaced = count.unspaced.saturating_add(unspaced);
    }
    count
}

/// Whether it is a word, and no name of a program's: `resetEntry`, `assert()`, `a_b`.
fn is_prose_word(text: &str) -> bool {
    // Letters with marks, as Devanagari writes them, are not all alphabetic.
    let is_spelt = |c: char| c.is_alphabetic() || matches!(c, '\'' | '’' | '-') || !c.is_ascii();
    let mut pairs = text.chars().zip(text.chars().skip(1));
    text.chars().all(is_spelt) && !pairs.any(|(c, next)| c.is_lowercase() && next.is_uppercase())
}

/// Whether a letter belongs to a script that parts no words by spaces: Thai, Lao, Burmese, Khmer, Chinese,
/// Japanese.
const fn is_spaceless_letter(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests;
