//! The places where the learned scorer cuts a text.
//!
//! The rule is part of the model: another rule needs another training. Invariants: sentences are
//! in order, don't overlap, begin and end with something that isn't blank, hold at most
//! [`MAX_CHARS`] characters, and together hold everything that isn't blank.

use alloc::vec::Vec;
use proem_text::Span;

/// The longest sentence, in characters. A longer one is cut after a space of its second half, or anywhere.
pub const MAX_CHARS: usize = 250;

/// The shortest sentence, in bytes: what is shorter belongs to the next one.
const MIN_BYTES: usize = 16;

/// A line that is at least this long, in characters, may have been wrapped and go on in the next.
const WRAPPED: usize = 40;

/// The sentences of a text.
///
/// One ends after `.`, `!`, `?` and the like before a space or the end of the text, after the full stops of Chinese and
/// Japanese anywhere, and with a line that is short or is before an empty line or a list item. Closing quotes and
/// brackets belong to the sentence they close.
#[must_use]
pub fn scored_sentences(text: &str) -> Vec<Span> {
    let mut sentences = Vec::new();
    let mut cutter = SentenceCutter::default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        cutter.take(at, c);
        let ends = if is_stop(c) || is_wide_stop(c) {
            while let Some((at, c)) = chars.next_if(|(_, c)| is_stop(*c) || is_wide_stop(*c) || is_closing_mark(*c)) {
                cutter.take(at, c);
            }
            is_wide_stop(c) || chars.peek().is_none_or(|(_, next)| next.is_whitespace())
        } else {
            c == '\n' && cutter.ends_line(text.get(cutter.read..).unwrap_or_default())
        };
        if c == '\n' {
            cutter.line = 0;
        }
        if ends && cutter.content().len() >= MIN_BYTES {
            push_sentence_pieces(text, cutter.content(), &mut sentences);
            cutter.content = None;
        }
    }
    push_sentence_pieces(text, cutter.content(), &mut sentences);
    sentences
}

/// The sentence so far.
#[derive(Default)]
struct SentenceCutter {
    /// From its first to its last character that isn't blank.
    content: Option<Span>,
    /// The place where reading goes on.
    read: usize,
    /// The characters of the line so far.
    line: usize,
}

impl SentenceCutter {
    fn take(&mut self, at: usize, c: char) {
        self.read = at.saturating_add(c.len_utf8());
        if c != '\n' {
            self.line = self.line.saturating_add(1);
        }
        if !c.is_whitespace() {
            let start = self.content.map_or(at, |content| content.start);
            self.content = Some(Span::new(start, self.read));
        }
    }

    fn content(&self) -> Span {
        self.content.unwrap_or_default()
    }

    /// Whether the line that ends here ends a sentence. `rest` is what follows it.
    fn ends_line(&self, rest: &str) -> bool {
        let next = rest.split('\n').next().unwrap_or_default();
        self.line < WRAPPED || next.trim().is_empty() || is_item(next)
    }
}

/// Adds a sentence in pieces that are short enough.
fn push_sentence_pieces(text: &str, span: Span, sentences: &mut Vec<Span>) {
    let mut start = span.start;
    while let Some(rest) = text.get(start..span.end).filter(|rest| !rest.is_empty()) {
        let length = sentence_cut(rest).unwrap_or(rest.len());
        let piece = rest.get(..length).unwrap_or(rest);
        let blank = piece.len().saturating_sub(piece.trim_start().len());
        let kept = piece.trim();
        if !kept.is_empty() {
            let from = start.saturating_add(blank);
            sentences.push(Span::new(from, from.saturating_add(kept.len())));
        }
        start = start.saturating_add(piece.len());
    }
}

/// The place to cut a text that is too long, in bytes.
fn sentence_cut(text: &str) -> Option<usize> {
    let (hard, _) = text.char_indices().nth(MAX_CHARS)?;
    let head = text.char_indices().take(MAX_CHARS).skip(MAX_CHARS / 2);
    let space = head.filter(|(_, c)| c.is_whitespace()).last();
    Some(space.map_or(hard, |(at, c)| at.saturating_add(c.len_utf8())))
}

/// Whether the line begins like an item of a list, a heading, a quote or a row of a table.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(['-', '*', '•', '+', '>', '#', '|']);
    let rest = if rest.len() < line.len() {
        Some(rest)
    } else {
        let digits = line.bytes().take(3).take_while(u8::is_ascii_digit).count();
        line.get(digits..).filter(|_| digits > 0).and_then(|rest| rest.strip_prefix(['.', ')']))
    };
    rest.is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
}

/// Whether a character ends a sentence before a space.
const fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '।' | '؟' | '۔')
}

/// Whether a character ends a sentence in scripts without spaces.
const fn is_wide_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡')
}

const fn is_closing_mark(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '»' | '」' | '』' | '）')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<&str> {
        scored_sentences(text).into_iter().map(|span| text.get(span.start..span.end).unwrap()).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(cut(text), expected, "{text:?}");
    }

    #[test]
    fn sentences_end_where_a_reader_stops() {
        check("", &[]);
        check(" \n\t ", &[]);
        check("One sentence only", &["One sentence only"]);
        check(
            "Version 1.2 of a.com is out! (Really, it is.) Yes, today.",
            &["Version 1.2 of a.com is out!", "(Really, it is.)", "Yes, today."],
        );
        check(
            "He said \"let us go now.\" Then they went home...  And slept well.",
            &["He said \"let us go now.\"", "Then they went home...", "And slept well."],
        );
        check(
            "请在今天之前检查报告。然后发送给王经理！谢谢",
            &["请在今天之前检查报告。", "然后发送给王经理！", "谢谢"],
        );
        check("क्या आप आ सकते हैं? बैठक तीन बजे है। धन्यवाद", &["क्या आप आ सकते हैं?", "बैठक तीन बजे है।", "धन्यवाद"]);
    }

    #[test]
    fn short_sentences_belong_to_the_next_one() {
        check("Hi Bob. How are you today? Fine.", &["Hi Bob. How are you today?", "Fine."]);
        check("Dear all,\n\nthe canteen is closed.", &["Dear all,\n\nthe canteen is closed."]);
    }

    #[test]
    fn lines_end_a_sentence_unless_they_were_wrapped() {
        let wrapped = "This line was wrapped by a mail program at\nforty characters or more.";
        check(wrapped, &[wrapped]);
        check(
            "- the first item of a list\n- the second item of a list",
            &["- the first item of a list", "- the second item of a list"],
        );
        check(
            "These are the things that have to be done today\n12) write the summary\n## and the next part",
            &["These are the things that have to be done today", "12) write the summary", "## and the next part"],
        );
        check(
            "a paragraph that is longer than forty characters\n \nand another one",
            &["a paragraph that is longer than forty characters", "and another one"],
        );
    }

    #[test]
    fn long_sentences_are_cut_at_a_space_or_anywhere() {
        let word = "x".repeat(MAX_CHARS * 2 + 1);
        assert_eq!(cut(&word).iter().map(|piece| piece.len()).collect::<Vec<_>>(), [MAX_CHARS, MAX_CHARS, 1]);
        let words = "日本 ".repeat(MAX_CHARS);
        assert!(cut(&words).iter().all(|piece| piece.starts_with('日') && piece.ends_with('本')));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_doubled(text in "(\\PC|[ .\n!-])*") {
            let spans = scored_sentences(&text);
            let mut end = 0;
            for span in &spans {
                let gap = text.get(end..span.start).unwrap();
                let sentence = text.get(span.start..span.end).unwrap();
                prop_assert!(gap.trim().is_empty(), "{:?}", gap);
                prop_assert!(!sentence.is_empty() && sentence.trim() == sentence, "{:?}", sentence);
                prop_assert!(sentence.chars().count() <= MAX_CHARS);
                end = span.end;
            }
            prop_assert!(text.get(end..).unwrap().trim().is_empty());
        }
    }
}
