//! The author's own part of a text, without a mail's quotations.
//!
//! A line that begins with `>` is quoted. In a reply, so is all that follows the head of an older mail: `On … wrote:`,
//! `Original message`, or lines that name its sender and when it was sent. A mail that was sent on is its sender's news,
//! so only lines with `>` are quotes there. A text of quotes alone is read whole, so that nothing is hidden by
//! quoting it.

use std::borrow::Cow;

use super::floors::{FloorWord, FloorWords};

/// The kind of a mail, by its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MailKind {
    /// It answers another.
    Reply,
    /// It begins a thread, sends another one on, or is no mail.
    Other,
}

impl MailKind {
    /// The kind by the subject: `Re: …`.
    pub(super) fn of_subject(subject: &str, words: &FloorWords) -> Self {
        let head = subject.split_once([':', '：']).map_or("", |(head, _)| head.trim());
        let is_head = (1..=MAX_HEAD).contains(&head.chars().count());
        if is_head && words.begins_with(head, FloorWord::Reply) { Self::Reply } else { Self::Other }
    }
}

/// The longest word before the colon of a subject, in characters: `Trả lời`, `回复`, `Re[2]`.
const MAX_HEAD: usize = 12;

/// The longest line that begins a quoted mail, in bytes.
const MAX_LINE: usize = 300;

/// The own words of a text's author.
pub(super) fn author_words<'t>(text: &'t str, kind: MailKind, words: &FloorWords) -> Cow<'t, str> {
    let mut own = String::new();
    let mut is_quoting = false;
    let mut before: Option<&str> = None;
    for line in text.lines() {
        if kind == MailKind::Reply {
            // The two lines of a head may come in any order, and lines of it may be between.
            is_quoting |= begins_quote(line, before, words);
            before = Some(line).filter(|line| !line.trim().is_empty()).or(before);
        }
        if !is_quoting && !is_marked(line) {
            own.push_str(line);
            own.push('\n');
        }
    }
    if own.len() >= text.len() || !own.chars().any(char::is_alphabetic) { Cow::Borrowed(text) } else { Cow::Owned(own) }
}

/// Whether a line is marked as quoted. Formatting has made `›` of `>`.
fn is_marked(line: &str) -> bool {
    line.trim_start().starts_with(['>', '›'])
}

/// Whether an older mail begins with this line.
fn begins_quote(line: &str, before: Option<&str>, words: &FloorWords) -> bool {
    let line = line.trim();
    if line.is_empty() || line.len() > MAX_LINE {
        return false;
    }
    let is_told =
        line.ends_with([':', '：']) && line.chars().any(char::is_numeric) && words.has(line, FloorWord::Wrote);
    let is_headed = || {
        let names_time = |line: &str| line.contains([':', '：']) && words.begins_with(line, FloorWord::SentLine);
        let names_sender = |line: &str| line.contains([':', '：']) && words.begins_with(line, FloorWord::SenderLine);
        before.is_some_and(|before| {
            (names_sender(before) && names_time(line)) || (names_time(before) && names_sender(line))
        })
    };
    let is_ruled = || !line.contains(['.', '!', '?']) && words.has(line, FloorWord::Original);
    is_told || is_ruled() || is_headed()
}
