//! Lines that mean something by how they begin: roles, claims to be the system, headings.
//!
//! The signs that may come before the word that counts (space, quote marks, bullets, emphasis, rules) are the line's
//! *prefix*. It is read once, however long. A part from outside begins a line in any place, because only we know that
//! it doesn't.

use super::{
    marker::is_listed,
    matches::{Match, Remedy},
    reader::{FoldedReader, is_inline_blank},
};
use crate::finding::FindingKind;
use alloc::string::String;
use core::mem;
use proem_text::{Span, character};

/// How far a pattern may read ahead of the place it is looked for at, in characters per step.
const MAX_AHEAD: usize = 64;

/// The longest word that counts, in characters.
const MAX_WORD: usize = 16;

/// How many words a heading or a rule line may have to count.
const MAX_WORDS: usize = 6;

/// A heading is indented by at most three spaces (CommonMark, section 4.2).
const MAX_INDENT: usize = 3;

/// How many characters make a rule.
const MIN_RULE: usize = 2;

/// The speakers of turns, sorted.
const ROLES: [&str; 9] = ["ai", "assistant", "developer", "function", "human", "model", "system", "tool", "user"];

/// The nouns that may follow a role before its colon, sorted.
const ROLE_NOUNS: [&str; 6] = ["input", "instruction", "instructions", "message", "prompt", "turn"];

/// Headings that our own prompts use, sorted.
const HEADINGS: [&str; 19] = [
    "capabilities",
    "constitution",
    "context",
    "instruction",
    "instructions",
    "rules",
    "runtime context",
    "signals",
    "system",
    "system instructions",
    "system message",
    "system prompt",
    "task",
    "tools",
    "tools & skills",
    "tools and skills",
    "trusted context",
    "untrusted context",
    "your task",
];

/// First words of a bracket that claims to come from above, sorted: `[SYSTEM MESSAGE]`.
const CLAIMS: [&str; 7] = ["admin", "assistant", "constitution", "developer", "instruction", "instructions", "system"];

/// First words of a line that claims to mark a border, sorted: `--- END OF CONTEXT ---`.
const BORDERS: [&str; 5] = ["begin", "beginning", "end", "start", "stop"];

/// The things whose border such a line claims to mark, sorted.
const BORDERED: [&str; 11] = [
    "constitution",
    "context",
    "data",
    "input",
    "instruction",
    "instructions",
    "message",
    "prompt",
    "rules",
    "system",
    "task",
];

/// The state of reading a line.
#[derive(Debug)]
pub(super) struct LineProgress {
    /// The beginning of the line.
    start: usize,
    /// The beginning of the last part from outside in it, or of the line.
    part: usize,
    /// Whether something in it is broken: then it is text, whatever it was.
    is_broken: bool,
    /// `None` once the prefix is over.
    prefix: Option<Prefix>,
}

/// The prefix so far.
#[derive(Debug, Default)]
struct Prefix {
    last: Option<char>,
    /// Spaces since the line or the part began. A tab counts as four.
    indent: usize,
    /// Characters that rules are drawn with.
    rules: usize,
    /// Whether something is before that no heading can be behind.
    is_text: bool,
    /// The beginning of the last run of `#`.
    hash: Option<usize>,
    /// The beginning of the run of `*` or `_` right here.
    emphasis: Option<usize>,
}

impl LineProgress {
    /// The line that begins at `start`.
    pub(super) fn new(start: usize) -> Self {
        Self { start, part: start, is_broken: false, prefix: Some(Prefix::default()) }
    }

    /// Goes on to the line at `next`, after the line break at `end`. A match if the new line underlines a heading
    /// (CommonMark, section 4.3): one of ours, or any.
    ///
    /// Any heading is made by its underline alone, so that a rule of ours below a text from outside
    /// changes nothing.
    pub(super) fn begin(&mut self, end: FoldedReader<'_>, next: FoldedReader<'_>) -> Option<Match> {
        let last = mem::replace(self, Self::new(next.offset()));
        let underline = next.skip(usize::MAX, |c| is_inline_blank(c) || c == '>');
        let mark = underline.peek().filter(|c| matches!(c, '=' | '-'))?;
        let behind = underline.skip(usize::MAX, |c| c == mark);
        if !behind.skip(usize::MAX, is_inline_blank).is_at_line_end() {
            return None;
        }
        let lines = [last.start, last.part].map(|start| end.moved_to(start).skip(usize::MAX, is_prefix));
        let ours = lines.into_iter().find_map(|words| {
            let (kind, _) = heading_words(words)?;
            Some(escape_match(kind, Span::new(words.offset(), behind.offset()), underline.offset()))
        });
        ours.or_else(|| {
            let is_heading = last.is_broken || lines.into_iter().any(|words| !words.is_at_line_end());
            let span = Span::new(underline.offset(), behind.offset());
            is_heading.then(|| escape_match(FindingKind::Heading, span, underline.offset()))
        })
    }

    /// Notes that a part from outside begins here. A prefix that isn't over goes on, since both
    /// readings count.
    pub(super) fn begin_part(&mut self, here: FoldedReader<'_>) {
        self.part = here.offset();
        let prefix = self.prefix.take().unwrap_or_default();
        let Prefix { rules, hash, emphasis, .. } = prefix;
        let last = prefix.last.filter(|c| *c == '<');
        self.prefix = Some(Prefix { rules, hash, emphasis, last, ..Prefix::default() });
    }

    /// Notes that a backslash will be in it.
    pub(super) const fn break_up(&mut self) {
        self.is_broken = true;
    }

    /// Notes that what follows isn't at the start of a line.
    pub(super) fn leave_start(&mut self) {
        self.prefix = None;
    }

    /// Whether the line is past the place where a role, claim or heading may be.
    pub(super) const fn is_inside(&self) -> bool {
        self.prefix.is_none()
    }

    /// Takes the next character. The matches that begin with it, or with the prefix before it.
    pub(super) fn read(&mut self, here: FoldedReader<'_>) -> [Option<Match>; 2] {
        let Some(c) = here.peek() else { return [None, None] };
        if is_prefix(c) {
            return [self.prefix.as_mut().and_then(|prefix| prefix.read(c, here)), None];
        }
        let Some(prefix) = self.prefix.take() else { return [None, None] };
        let heading = heading_match(here, prefix.hash).or_else(|| bold(here, &prefix));
        // An escaped heading is no start of a line any more, but a part that begins behind it is.
        if heading.is_some() && prefix.hash >= Some(self.part) {
            return [heading, None];
        }
        let marker = role_marker(here).or_else(|| border_match(here, prefix.rules)).or_else(|| claim(here));
        [heading, marker]
    }
}

impl Prefix {
    /// Takes the next character. A match if a first-level heading begins with it.
    fn read(&mut self, c: char, here: FoldedReader<'_>) -> Option<Match> {
        let mut found = None;
        if c == '#' && self.last != Some('#') {
            self.hash = Some(here.offset());
            let behind = here.next();
            if behind.peek().is_some_and(is_inline_blank) && self.indent <= MAX_INDENT && !self.is_text {
                let span = Span::new(here.offset(), behind.next().offset());
                found = Some(escape_match(FindingKind::Heading, span, here.offset()));
            }
        }
        self.indent = self.indent.saturating_add(match c {
            '\t' => 4,
            c if is_inline_blank(c) => 1,
            _ => 0,
        });
        self.rules = self.rules.saturating_add(usize::from(is_rule(c)));
        self.is_text |= !is_inline_blank(c) && !is_quote_or_bullet(c);
        self.emphasis = match c {
            '*' | '_' if self.last == Some(c) => self.emphasis,
            '*' | '_' => Some(here.offset()),
            _ => None,
        };
        self.last = Some(c);
        found
    }
}

/// Whether a character may come before the word that counts.
fn is_prefix(c: char) -> bool {
    is_inline_blank(c) || is_quote_or_bullet(c) || is_rule(c) || c.is_ascii_digit() || matches!(c, '.' | ')' | '|')
}

const fn is_quote_or_bullet(c: char) -> bool {
    matches!(c, '>' | '-' | '*' | '+' | '•' | '‣' | '◦' | '·')
}

/// Characters that lines are drawn with. The ranges are dashes and the block *Box Drawing*.
const fn is_rule(c: char) -> bool {
    matches!(c, '-' | '=' | '*' | '#' | '_' | '~' | '<' | '>' | '\u{2010}'..='\u{2015}' | '\u{2500}'..='\u{257f}')
}

/// Emphasis, quotes and brackets that may be between a word and what belongs to it.
fn is_closer(c: char) -> bool {
    is_inline_blank(c) || matches!(c, '*' | '_' | '~' | '`' | '"' | '\'' | ')')
}

fn escape_match(kind: FindingKind, span: Span, at: usize) -> Match {
    Match { kind, span, remedy: Remedy::Escape { at } }
}

/// `## System`: the words after the `#`s at `hash`.
fn heading_match(words: FoldedReader<'_>, hash: Option<usize>) -> Option<Match> {
    let hash = hash?;
    let (kind, end) = heading_words(words)?;
    Some(escape_match(kind, Span::new(hash, end.offset()), hash))
}

/// `**Rules**`, `__Rules__:` or `<b>Rules</b>`: nothing in the line but a heading of ours in bold.
fn bold(words: FoldedReader<'_>, prefix: &Prefix) -> Option<Match> {
    let (at, end) = if prefix.last == Some('<') {
        let (_, end) = role_phrase(bold_tag(words)?)?;
        let closing = end.skip(MAX_AHEAD, |c| is_closer(c) || c == ':').open()?.take('/')?;
        (words.offset(), bold_tag(closing)?)
    } else {
        let at = prefix.emphasis.filter(|at| words.moved_to(*at).next().offset() < words.offset())?;
        (at, role_phrase(words)?.1)
    };
    ends_heading(end).then(|| escape_match(FindingKind::Heading, Span::new(at, end.offset()), at))
}

/// Behind the rest of a tag that makes text bold.
fn bold_tag(name: FoldedReader<'_>) -> Option<FoldedReader<'_>> {
    let (name, end) = next_letters(name);
    matches!(name.as_str(), "b" | "strong").then(|| end.close())?
}

/// A line's last words, if they are a heading of ours or a role, and the place behind them.
fn heading_words(start: FoldedReader<'_>) -> Option<(FindingKind, FoldedReader<'_>)> {
    role_phrase(start).filter(|(_, end)| ends_heading(*end))
}

/// Words that are a heading of ours or a role, and the place behind them.
fn role_phrase(start: FoldedReader<'_>) -> Option<(FindingKind, FoldedReader<'_>)> {
    let mut phrase = String::new();
    let mut end = start;
    for index in 0..MAX_WORDS {
        let gap = if index == 0 { end } else { end.skip(MAX_AHEAD, is_closer) };
        let (word, behind) = gap.word(MAX_WORD, |c| c.is_alphanumeric() || c == '&');
        if word.is_empty() {
            break;
        }
        if index > 0 {
            phrase.push(' ');
        }
        phrase.push_str(&word);
        end = behind;
    }
    let kind = if is_listed(&phrase, &HEADINGS) {
        FindingKind::Heading
    } else if is_listed(&phrase, &ROLES) {
        FindingKind::RoleMarker
    } else {
        return None;
    };
    Some((kind, end))
}

/// Whether nothing but a heading's decoration comes before the end of the line.
fn ends_heading(end: FoldedReader<'_>) -> bool {
    is_line_end(end, |c| is_closer(c) || matches!(c, '#' | '.' | '!' | ':'))
}

/// `system:`, `**User:**`, `Assistant message :`. Not `user::path`.
fn role_marker(start: FoldedReader<'_>) -> Option<Match> {
    let (role, end) = next_letters(start);
    if !is_listed(&role, &ROLES) {
        return None;
    }
    let (noun, noun_end) = next_letters(end.skip(MAX_AHEAD, is_closer));
    let end = if is_listed(&noun, &ROLE_NOUNS) { noun_end } else { end };
    let end = end.skip(MAX_AHEAD, is_closer).take(':')?;
    if end.peek() == Some(':') {
        return None;
    }
    Some(escape_match(FindingKind::RoleMarker, Span::new(start.offset(), end.offset()), start.offset()))
}

/// `--- END OF CONTEXT ---`, with a rule before or behind.
fn border_match(start: FoldedReader<'_>, rules: usize) -> Option<Match> {
    let (first, mut end) = next_letters(start);
    if !is_listed(&first, &BORDERS) {
        return None;
    }
    let mut last = String::new();
    for _ in 0..MAX_WORDS {
        let (word, behind) = next_letters(end.skip(MAX_AHEAD, |c| is_inline_blank(c) || c == '_'));
        if word.is_empty() {
            break;
        }
        (last, end) = (word, behind);
    }
    let is_over = is_line_end(end, |c| is_closer(c) || is_rule(c) || matches!(c, ':' | '|' | '.'));
    if !is_listed(&last, &BORDERED) || !is_over {
        return None;
    }
    if rules < MIN_RULE {
        end = end.skip(MAX_AHEAD, is_inline_blank);
        for _ in 0..MIN_RULE {
            end.peek().filter(|c| is_rule(*c))?;
            end = end.next();
        }
    }
    Some(escape_match(FindingKind::SystemLine, Span::new(start.offset(), end.offset()), start.offset()))
}

/// `[SYSTEM MESSAGE]`.
fn claim(start: FoldedReader<'_>) -> Option<Match> {
    let (word, end) = next_letters(start.take('[')?.skip(MAX_AHEAD, is_closer));
    if !is_listed(&word, &CLAIMS) {
        return None;
    }
    let end = end.skip(MAX_AHEAD, |c| !matches!(c, '[' | ']' | '\\') && !character::is_line_break(c)).take(']')?;
    Some(escape_match(FindingKind::SystemLine, Span::new(start.offset(), end.offset()), start.offset()))
}

/// Whether only what `may_follow` comes before the end of the line. More of it than is read ahead
/// counts as the end.
fn is_line_end(start: FoldedReader<'_>, may_follow: impl Fn(char) -> bool) -> bool {
    let behind = start.skip(MAX_AHEAD, &may_follow);
    behind.is_at_line_end() || behind.peek().is_some_and(may_follow)
}

/// The next word of letters, and the place behind it.
fn next_letters(start: FoldedReader<'_>) -> (String, FoldedReader<'_>) {
    start.word(MAX_WORD, char::is_alphanumeric)
}
