//! Takes out of a text whatever a program or a model would read as more than words.
//!
//! Invariants: the result holds no `<` or `>`, no fence, no code macro, no line that begins like a heading, a rule or
//! another speaker's turn, no template delimiter and no address that runs a script; what is left is copied and maps
//! back. Taking formatting out of the result changes nothing. The time is linear in the text: a search whose result is
//! the same for the places that follow is done once for all of them.

use proem_guard::clean_view;
use proem_text::{OffsetMap, Span, View};

/// The placeholder for a block that was taken out.
const REMOVED: &str = "[removed]";

/// How often formatting is taken out of what is left: taking some out may put some together.
const MAX_ROUNDS: usize = 4;

/// The longest tag that is taken for one, in bytes.
const MAX_TAG: usize = 4096;

/// The ends of a line, wherever it is read (The Unicode Standard, section 5.8).
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

/// The beginnings of a speaker's turn at the start of a line, in lower case.
const SPEAKERS: [&str; 11] =
    ["system", "assistant", "user", "human", "developer", "tool", "ai", "agent", "model", "function", "instructions"];

/// Marks that only prompts and pages have, each with what represents it, in lower case.
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

/// The text without formatting, mapped to the original. `None` if that is impossible.
pub(super) fn without_formatting(text: &str) -> Option<View> {
    let cleaned = clean_view(text);
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
pub(super) fn has_no_formatting(text: &str) -> bool {
    one_round(text).text == text
}

/// The reader of a text, with its output.
struct FormattingReader<'t> {
    text: &'t str,
    /// The same with capitals made small, byte by byte.
    lower: String,
    position: usize,
    /// The place of the next `>`, once it was looked for. The text's end if there is none.
    closing: usize,
    /// The target of the last decoration, once that was looked for.
    decoration: Decoration,
    result: View,
}

/// A run of the signs that may be before a speaker.
#[derive(Clone, Copy, Default)]
struct Decoration {
    end: usize,
    /// The speaker behind it, and where that one's colon ends.
    speaker: Option<(&'static str, usize)>,
}

fn one_round(text: &str) -> View {
    let (lower, decoration) = (text.to_ascii_lowercase(), Decoration::default());
    let mut reader = FormattingReader { text, lower, position: 0, closing: 0, decoration, result: View::default() };
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

    /// Reads one thing. Whether what follows begins a line.
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

    /// The length of the block that begins here. One that never ends goes to the end.
    fn block(&self) -> Option<usize> {
        let rest = self.lower_rest();
        let (start, end) = BLOCKS.iter().find(|(start, _)| rest.starts_with(start))?;
        let inner = rest.get(start.len()..).unwrap_or_default();
        Some(inner.find(end).map_or(rest.len(), |at| start.len().saturating_add(at).saturating_add(end.len())))
    }

    /// The length of the tag that begins here: `<` and what a tag may begin with, to the next `>`.
    fn tag(&mut self) -> Option<usize> {
        let rest = self.rest();
        let second = rest.chars().nth(1)?;
        let begins = second.is_ascii_alphabetic() || matches!(second, '/' | '!' | '?' | '|' | '<');
        if self.closing <= self.position {
            self.closing = rest.find('>').map_or(self.text.len(), |at| self.position.saturating_add(at));
        }
        let len = self.closing.saturating_sub(self.position).saturating_add(1);
        (begins && self.closing < self.text.len() && len <= MAX_TAG).then_some(len)
    }

    /// The beginning of a line if it is more than words: its length, and its replacement.
    fn line_start(&mut self) -> Option<(usize, &'static str)> {
        let rest = self.rest();
        let run_of = |mark: u8| rest.bytes().take_while(|byte| *byte == mark).count();
        let heading = run_of(b'#');
        if heading > 0 {
            return Some((heading, ""));
        }
        if let Some(mark) = rest.bytes().next().filter(|byte| matches!(byte, b'-' | b'=' | b'_' | b'*')) {
            let rule = run_of(mark);
            let behind = rest
                .get(rule..)
                .unwrap_or_default()
                .trim_start_matches(|c: char| c.is_whitespace() && !LINE_ENDS.contains(&c));
            if rule >= 3 && behind.chars().next().is_none_or(|c| LINE_ENDS.contains(&c)) {
                return Some((rule, ""));
            }
        }
        self.speaker()
    }

    /// A speaker with a colon, which becomes a dash, so that the word stays: `User: Ann` is also what a ticket says.
    fn speaker(&mut self) -> Option<(usize, &'static str)> {
        if self.decoration.end < self.position || self.position == 0 {
            self.decoration = self.next_decoration();
        }
        let (speaker, end) = self.decoration.speaker?;
        Some((end.saturating_sub(self.position), speaker_words(speaker)))
    }

    /// The decoration that goes on or ends here.
    fn next_decoration(&self) -> Decoration {
        let rest = self.lower_rest();
        let bare = rest.trim_start_matches(['*', '_', '[', '(', '|', '-', ' ', '\t', '"', '\'']);
        let place_of = |left: &str| self.text.len().saturating_sub(left.len());
        let end_of_colon = |speaker: &&'static str| {
            let after = bare.strip_prefix(*speaker)?;
            let colon = after.trim_start_matches(['*', '_', ']', ')', '|', ' ', '\t', '"', '\'']);
            let mark = colon.chars().next().filter(|c| matches!(c, ':' | '：' | '﹕' | '꞉' | '∶'))?;
            Some((*speaker, place_of(colon).saturating_add(mark.len_utf8())))
        };
        let speaker = SPEAKERS.iter().find(|speaker| bare.starts_with(**speaker)).and_then(end_of_colon);
        Decoration { end: place_of(bare), speaker }
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

/// The rest of the original after spans of the view were cut out of it. They are in order and don't overlap.
pub(super) fn kept_original_spans(map: &OffsetMap, cut: &[Span]) -> Vec<Span> {
    let (mut kept, mut cut) = (Vec::new(), cut);
    for (view, original) in map.copies() {
        let shift = |at: usize| original.start.saturating_add(at.saturating_sub(view.start));
        cut = cut.get(cut.partition_point(|gap| gap.end <= view.start)..).unwrap_or_default();
        let mut position = view.start;
        for gap in cut.iter().take_while(|gap| gap.start < view.end) {
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
    let visible = |text: &str| clean_view(text).text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
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
            assert!(has_no_formatting(&view.text), "{text:?}");
        }
    }

    /// A reader that looks again from each place takes hours for these.
    #[test]
    fn a_hostile_comment_is_read_in_linear_time() {
        for (unit, expected) in [
            (" ", " "),
            ("<a", "‹a"),
            ("<a>", " "),
            ("</div>", " "),
            ("<!", "‹!"),
            ("- ", "- "),
            ("<", "‹"),
            ("> ", "› "),
            (" *", " *"),
            ("user ", "user "),
            ("` -", " -"),
            ("[inst", "[inst"),
        ] {
            let count = (256 << 10) / unit.len();
            let view = without_formatting(&unit.repeat(count)).unwrap();
            assert!(view.text == expected.repeat(count), "{unit:?}");
            let cuts: Vec<Span> = (0..view.text.len()).step_by(4).map(|at| Span::new(at, at + 1)).collect();
            assert!(kept_original_spans(&view.map, &cuts).is_sorted_by_key(|span| span.start), "{unit:?}");
        }
        // A mark put together by taking another out goes in the next round, and there is an end of rounds.
        let nested = format!("{}{}", "<".repeat(100_000), ">".repeat(100_000));
        assert_eq!(without_formatting(&nested).map(|view| view.text.contains(['<', '>'])), Some(false));
    }

    #[test]
    fn what_is_left_is_counted_in_bytes_of_the_original() {
        let text = "ab <!-- cd --> ef";
        let view = without_formatting(text).unwrap();
        assert_eq!(kept_original_spans(&view.map, &[]), [Span::new(0, 3), Span::new(14, 17)]);
        // All of it without blanks is `ab<!--cd-->ef`.
        assert_eq!(preserved_ratio(text, &kept_original_spans(&view.map, &[])), (4, 13));
        assert_eq!(kept_original_spans(&view.map, &[Span::new(0, 2)]), [Span::new(2, 3), Span::new(14, 17)]);
    }
}
