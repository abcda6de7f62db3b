//! Takes out of a text whatever a program or a model would read as more than words.
//!
//! Invariants: the result holds no `<` or `>`, no fence, no code macro, no line that begins like a heading, a rule or
//! another speaker's turn, no template delimiter and no address that runs a script; what is left is copied and maps
//! back; taking formatting out of the result changes nothing.

use proem_guard::clean;
use proem_text::{OffsetMap, Span, View};

/// What stands for a block that was taken out.
const REMOVED: &str = "[removed]";

/// How often formatting is taken out of what is left: taking some out may put some together.
const MAX_ROUNDS: usize = 4;

/// The longest tag that is taken for one, in bytes.
const MAX_TAG: usize = 4096;

/// What ends a line, wherever it is read (The Unicode Standard, section 5.8).
const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Blocks that go as a whole, with how they begin and end, in lower case.
const BLOCKS: [(&str, &str); 9] = [
    ("<!--", "-->"),
    ("<script", "</script>"),
    ("<style", "</style>"),
    ("<template", "</template>"),
    ("```", "```"),
    ("~~~", "~~~"),
    ("{code", "{code}"),
    ("{noformat", "{noformat}"),
    ("{html", "{html}"),
];

/// What begins a speaker's turn when a line begins with it, in lower case.
const SPEAKERS: [&str; 11] =
    ["system", "assistant", "user", "human", "developer", "tool", "ai", "agent", "model", "function", "instructions"];

/// Marks that only prompts and pages have, each with what stands for it, in lower case.
const MARKS: [(&str, &str); 14] = [
    ("[inst]", " "),
    ("[/inst]", " "),
    ("[sys]", " "),
    ("[/sys]", " "),
    ("javascript:", "javascript "),
    ("vbscript:", "vbscript "),
    ("data:text", "data text"),
    ("![", "["),
    ("](", "] ("),
    ("{{", "{ "),
    ("}}", " }"),
    ("{%", "{ "),
    ("%}", " }"),
    ("`", ""),
];

/// The text without formatting, mapped to the original; `None` if it can't be had without it.
pub(super) fn without_formatting(text: &str) -> Option<View> {
    let cleaned = clean(text);
    let mut left = View { text: cleaned.text, map: cleaned.map };
    for _ in 0..MAX_ROUNDS {
        let next = one_round(&left.text);
        if next.text == left.text {
            return Some(left);
        }
        left = View { text: next.text, map: next.map.then(&left.map) };
    }
    (one_round(&left.text).text == left.text).then_some(left)
}

/// Whether there is nothing to take out.
pub(super) fn is_plain(text: &str) -> bool {
    one_round(text).text == text
}

/// What is read so far of a text, and what is made of it.
struct FormattingReader<'t> {
    text: &'t str,
    /// The same with capitals made small, byte by byte.
    lower: String,
    position: usize,
    result: View,
}

fn one_round(text: &str) -> View {
    let mut reader = FormattingReader { text, lower: text.to_ascii_lowercase(), position: 0, result: View::default() };
    let mut begins_line = true;
    while reader.position < text.len() {
        begins_line = reader.step(begins_line);
    }
    reader.result
}

impl<'t> FormattingReader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn lower_rest(&self) -> &str {
        self.lower.get(self.position..).unwrap_or_default()
    }

    fn copy(&mut self, len: usize) {
        let end = self.position.saturating_add(len).min(self.text.len());
        let span = Span::new(self.position, end);
        self.result.text.push_str(self.text.get(span.start..span.end).unwrap_or_default());
        self.result.map.push_verbatim(span);
        self.position = end;
    }

    fn replace(&mut self, len: usize, with: &str) {
        let end = self.position.saturating_add(len).min(self.text.len());
        self.result.text.push_str(with);
        self.result.map.push(with.len(), Span::new(self.position, end));
        self.position = end;
    }

    /// Reads one thing; whether what follows begins a line.
    fn step(&mut self, begins_line: bool) -> bool {
        if let Some(len) = self.block() {
            self.replace(len, REMOVED);
            return false;
        }
        if let Some((mark, with)) = MARKS.iter().find(|(mark, _)| self.lower_rest().starts_with(mark)) {
            self.replace(mark.len(), with);
            return begins_line;
        }
        if begins_line && let Some((len, with)) = self.line_start() {
            self.replace(len, with);
            return true;
        }
        let Some(first) = self.rest().chars().next() else { return false };
        match first {
            '<' => match self.tag() {
                Some(len) => self.replace(len, " "),
                None => self.replace(1, "‹"),
            },
            '>' => self.replace(1, "›"),
            _ => self.copy(first.len_utf8()),
        }
        LINE_ENDS.contains(&first) || (begins_line && (first.is_whitespace() || matches!(first, '>' | '<')))
    }

    /// The length of the block that begins here; one that never ends goes to the end.
    fn block(&self) -> Option<usize> {
        let rest = self.lower_rest();
        let (start, end) = BLOCKS.iter().find(|(start, _)| rest.starts_with(start))?;
        let inner = rest.get(start.len()..).unwrap_or_default();
        Some(inner.find(end).map_or(rest.len(), |at| start.len().saturating_add(at).saturating_add(end.len())))
    }

    /// The length of the tag that begins here: `<` and what a tag may begin with, to the next `>`.
    fn tag(&self) -> Option<usize> {
        let rest = self.rest();
        let second = rest.chars().nth(1)?;
        let begins = second.is_ascii_alphabetic() || matches!(second, '/' | '!' | '?' | '|' | '<');
        let len = rest.find('>').map(|at| at.saturating_add(1))?;
        (begins && len <= MAX_TAG).then_some(len)
    }

    /// What begins a line and is more than words: how long it is, and what stands for it.
    fn line_start(&self) -> Option<(usize, &'static str)> {
        let rest = self.rest();
        let heading = rest.bytes().take_while(|byte| *byte == b'#').count();
        if heading > 0 {
            return Some((heading, ""));
        }
        let line = rest.split(LINE_ENDS).next().unwrap_or_default().trim_end();
        let is_rule = |mark: char| line.len() >= 3 && line.chars().all(|c| c == mark);
        if ['-', '=', '_', '*'].into_iter().any(is_rule) {
            return Some((line.len(), ""));
        }
        self.speaker()
    }

    /// A speaker with a colon, which becomes a dash, so that the word stays: `User: Ann` is also what a ticket says.
    fn speaker(&self) -> Option<(usize, &'static str)> {
        let rest = self.lower_rest();
        let bare = rest.trim_start_matches(['*', '_', '[', '(', '|', '-', ' ', '\t', '"', '\'']);
        let speaker = SPEAKERS.iter().find(|speaker| bare.starts_with(**speaker))?;
        let after = bare.get(speaker.len()..)?;
        let colon = after.trim_start_matches(['*', '_', ']', ')', '|', ' ', '\t', '"', '\'']);
        let mark = colon.chars().next().filter(|c| matches!(c, ':' | '：' | '﹕' | '꞉' | '∶'))?;
        let len = rest.len().saturating_sub(colon.len()).saturating_add(mark.len_utf8());
        Some((len, speaker_words(speaker)))
    }
}

/// A speaker's word with a dash behind it.
fn speaker_words(speaker: &str) -> &'static str {
    match speaker {
        "system" => "system –",
        "assistant" => "assistant –",
        "user" => "user –",
        "human" => "human –",
        "developer" => "developer –",
        "tool" => "tool –",
        "ai" => "AI –",
        "agent" => "agent –",
        "model" => "model –",
        "function" => "function –",
        _ => "instructions –",
    }
}

/// What of the original is left after spans of the view were cut out of it.
pub(super) fn kept(map: &OffsetMap, cut: &[Span]) -> Vec<Span> {
    let mut kept = Vec::new();
    for (view, original) in map.copies() {
        let shift = |at: usize| original.start.saturating_add(at.saturating_sub(view.start));
        let mut position = view.start;
        for gap in cut.iter().filter(|gap| gap.start < view.end && gap.end > view.start) {
            if gap.start > position {
                kept.push(Span::new(shift(position), shift(gap.start)));
            }
            position = position.max(gap.end);
        }
        if position < view.end {
            kept.push(Span::new(shift(position), shift(view.end)));
        }
    }
    kept
}

/// How much of an original is left, 0 to 1, in visible bytes that are no whitespace; 1 if there were none.
pub(super) fn preserved_ratio(original: &str, kept: &[Span]) -> (usize, usize) {
    let visible = |text: &str| clean(text).text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
    let left = kept.iter().map(|span| visible(original.get(span.start..span.end).unwrap_or_default()));
    let all = visible(original);
    (left.fold(0, usize::saturating_add).min(all), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_goes_and_words_stay() {
        for (text, expected) in [
            ("PAY-7 moved to In Progress", "PAY-7 moved to In Progress"),
            ("latency < 5 ms and > 2 ms", "latency ‹ 5 ms and › 2 ms"),
            ("one<br/>two <b>three</b>", "one two  three "),
            ("a <script>alert(1)</script> b", "a [removed] b"),
            ("a <!-- hidden", "a [removed]"),
            ("see\n```\ncurl x | sh\n```\nafter", "see\n[removed]\nafter"),
            ("see {code:java}int i;{code} after", "see [removed] after"),
            ("## System prompt\nobey", " System prompt\nobey"),
            ("User: Ann\nassistant : yes", "user – Ann\nassistant – yes"),
            ("The user: Ann", "The user: Ann"),
            ("[INST] x [/INST]", "  x  "),
            ("![alt](https://x.example/a.png)", "[alt] (https://x.example/a.png)"),
            ("---\nname", "\nname"),
            ("---\rname\u{2028}system: x", "\rname\u{2028}system – x"),
            ("<scr<b>ipt>alert", " ipt›alert"),
            ("> quoted\n> system: x", "› quoted\n›system – x"),
            ("#<b># x", "  x"),
        ] {
            let view = without_formatting(text).unwrap();
            assert_eq!(view.text, expected, "{text:?}");
            assert!(is_plain(&view.text), "{text:?}");
        }
    }

    #[test]
    fn what_is_left_is_counted_in_bytes_of_the_original() {
        let text = "ab <!-- cd --> ef";
        let view = without_formatting(text).unwrap();
        assert_eq!(kept(&view.map, &[]), [Span::new(0, 3), Span::new(14, 17)]);
        // All of it without blanks is `ab<!--cd-->ef`.
        assert_eq!(preserved_ratio(text, &kept(&view.map, &[])), (4, 13));
        assert_eq!(kept(&view.map, &[Span::new(0, 2)]), [Span::new(2, 3), Span::new(14, 17)]);
    }
}
