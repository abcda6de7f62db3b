//! The texts that a CI runner would obey, broken in place in a report.
//!
//! Runners read what a job prints, line by line, and take orders from it. The sources:
//! - GitHub Actions takes `::name …::` at the start of a line, behind space
//!   (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>), and `##[name …]`
//!   wherever it is. Gitea and Forgejo take the same.
//! - Azure Pipelines takes `##vso[…]` and `##[…]` wherever they stand
//!   (<https://learn.microsoft.com/en-us/azure/devops/pipelines/scripts/logging-commands>).
//! - TeamCity takes `##teamcity[…]` wherever it stands
//!   (<https://www.jetbrains.com/help/teamcity/service-messages.html>).
//! - GitLab folds what is between `section_start:…` and `section_end:…`
//!   (<https://docs.gitlab.com/ci/jobs/job_logs/#custom-collapsible-sections>), Travis what is between
//!   `travis_fold:start:…` and `travis_fold:end:…`, wherever they are.
//! - Buildkite folds what follows a line that begins with `--- `, `+++ `, `~~~ ` or `^^^ `
//!   (<https://buildkite.com/docs/pipelines/configure/managing-log-output>).
//!
//! No line of ours is an order, so that every one that is in a report is somebody else's. This is done to whole reports
//! and not to the texts in them: an order may be cut in two by a colour, a column or a fold, and whoever joins the
//! pieces joins it again. For the same reason a report has no control characters but line breaks, tabs and colours:
//! whoever takes the others out joins what was around them.

use alloc::{
    borrow::Cow,
    collections::VecDeque,
    string::{String, ToString as _},
};
use core::fmt::Write as _;

/// The words behind `##` in an order, in lower case.
const ORDERS: [&str; 3] = ["[", "vso[", "teamcity["];

/// The words before the colon of an order, in lower case.
const FOLDS: [&str; 4] = ["section_start", "section_end", "travis_fold", "travis_time"];

/// The characters of the longest of them.
const LONGEST_FOLD: usize = 13;

/// The characters that make a heading if three of them and a space begin a line.
const HEADINGS: [char; 4] = ['-', '+', '~', '^'];

/// How a character is written that would make an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// By [`super::terminal_text`]'s escape for it.
    Text,
    /// By an escape of JSON's, where a reader sees the character again. Only strings have a `#` or a colon behind a
    /// word, no string has a control character, and each line begins with a bracket, a quote, a digit or a letter.
    Json,
}

/// A report, list or note with no order in it: the sign that makes one is shown by its code.
///
/// Colours count as nothing, because they are taken out where there is no terminal. Other control sequences are shown.
#[must_use]
pub fn safe_report(text: &str) -> Cow<'_, str> {
    break_orders(text, Dialect::Text)
}

/// A document of JSON with no order in it, which a reader reads as before.
#[must_use]
pub fn report_json(document: &str) -> Cow<'_, str> {
    break_orders(document, Dialect::Json)
}

fn break_orders(text: &str, dialect: Dialect) -> Cow<'_, str> {
    let (mut out, mut copied) = (String::new(), 0);
    let mut line = LineReader::new(dialect);
    let mut shown = VisibleCharacters::at(text, 0);
    while let Some((at, c)) = shown.next() {
        if line.is_broken_at(c, &shown) {
            out.push_str(text.get(copied..at).unwrap_or_default());
            match dialect {
                Dialect::Text => out.push_str(&c.escape_unicode().to_string()),
                // Formatting into a string does not fail.
                Dialect::Json => _ = write!(out, "\\u{:04x}", u32::from(c)),
            }
            copied = shown.offset;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// The state of reading a line, as far as the next character's meaning depends on it.
struct LineReader {
    dialect: Dialect,
    /// Whether nothing of the line was read.
    is_new: bool,
    /// Whether nothing but space was.
    is_blank: bool,
    /// The last characters, in lower case.
    tail: VecDeque<char>,
}

impl LineReader {
    fn new(dialect: Dialect) -> Self {
        Self { dialect, is_new: true, is_blank: true, tail: VecDeque::with_capacity(LONGEST_FOLD) }
    }

    /// Takes the next character, which is before `rest`. Whether it is to be written by its code.
    fn is_broken_at(&mut self, c: char, rest: &VisibleCharacters<'_>) -> bool {
        let is_broken = match c {
            '#' => self.tail.back() == Some(&'#') && ORDERS.iter().any(|order| rest.clone().begins_with(order)),
            ':' => FOLDS.iter().any(|fold| self.ends_with(fold)) || (self.is_blank_text() && rest.peek() == Some(':')),
            c if self.is_new && HEADINGS.contains(&c) => self.is_text() && rest.clone().begins_heading(c),
            '\n' | '\t' => false,
            c => c.is_control() && self.is_text(),
        };
        // A line break that is shown ends no line.
        if c == '\n' {
            *self = Self::new(self.dialect);
            return is_broken;
        }
        self.is_new = false;
        self.is_blank = self.is_blank && !is_broken && (c.is_whitespace() || c == '\u{feff}');
        if self.tail.len() == LONGEST_FOLD {
            self.tail.pop_front();
        }
        self.tail.push_back(c.to_ascii_lowercase());
        is_broken
    }

    fn is_text(&self) -> bool {
        self.dialect == Dialect::Text
    }

    fn is_blank_text(&self) -> bool {
        self.is_blank && self.is_text()
    }

    fn ends_with(&self, word: &str) -> bool {
        let mut tail = self.tail.iter().rev();
        word.chars().rev().all(|wanted| tail.next() == Some(&wanted))
    }
}

/// The characters of a text that are shown: without colours.
#[derive(Debug, Clone)]
struct VisibleCharacters<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> VisibleCharacters<'a> {
    const fn at(text: &'a str, offset: usize) -> Self {
        Self { text, offset }
    }

    fn peek(&self) -> Option<char> {
        self.clone().next().map(|(_, c)| c)
    }

    fn begins_with(mut self, wanted: &str) -> bool {
        wanted.chars().all(|wanted| self.next().is_some_and(|(_, c)| c.to_ascii_lowercase() == wanted))
    }

    /// Whether two more of `sign` and a space come first.
    fn begins_heading(mut self, sign: char) -> bool {
        [sign, sign, ' '].iter().all(|wanted| self.next().is_some_and(|(_, c)| c == *wanted))
    }
}

impl Iterator for VisibleCharacters<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.text.get(self.offset..)?;
            if let Some(length) = colour_bytes(rest) {
                self.offset = self.offset.saturating_add(length);
                continue;
            }
            let c = rest.chars().next()?;
            let at = self.offset;
            self.offset = at.saturating_add(c.len_utf8());
            return Some((at, c));
        }
    }
}

/// The length of the colour that a text begins with, if it does (ECMA-48, SGR).
fn colour_bytes(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | ':'))?;
    parameters.get(end..)?.starts_with('m').then(|| end.saturating_add("\u{1b}[m".len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_are_broken() {
        for (text, expected) in [
            ("", ""),
            ("plain ## [heading] a::b #[x] # #[y]\n", "plain ## [heading] a::b #[x] # #[y]\n"),
            ("::error::x", "\\u{3a}:error::x"),
            ("a\n  ::set-env name=x::y\n", "a\n  \\u{3a}:set-env name=x::y\n"),
            ("a\r::add-mask::x", "a\\u{d}::add-mask::x"),
            ("\t ::set-output name=a::x", "\t \\u{3a}:set-output name=a::x"),
            ("\u{1b}[31m:\u{1b}[0m:error::x", "\u{1b}[31m\\u{3a}\u{1b}[0m:error::x"),
            (":\u{1b}[31m:", "\\u{3a}\u{1b}[31m:"),
            (":::", "\\u{3a}::"),
            ("a ::error::x", "a ::error::x"),
            ("##vso[task.setvariable]x", "#\\u{23}vso[task.setvariable]x"),
            ("a ##[error]x ##[group]", "a #\\u{23}[error]x #\\u{23}[group]"),
            ("a ##TeamCity[x", "a #\\u{23}TeamCity[x"),
            ("###[error]", "##\\u{23}[error]"),
            ("#\u{1b}[1m#v\u{1b}[0mso[x", "#\u{1b}[1m\\u{23}v\u{1b}[0mso[x"),
            ("##vso", "##vso"),
            ("木##[", "木#\\u{23}["),
            ("section_start:1:a\r\u{1b}[0K", "section_start\\u{3a}1:a\\u{d}\\u{1b}[0K"),
            ("a Section_\u{1b}[1mEnd\u{1b}[0m:1:a", "a Section_\u{1b}[1mEnd\u{1b}[0m\\u{3a}1:a"),
            ("travis_fold:start:a travis_time:end:b", "travis_fold\\u{3a}start:a travis_time\\u{3a}end:b"),
            ("--- a\n+++ b\n~~~ c\n^^^ +++", "\\u{2d}-- a\n\\u{2b}++ b\n\\u{7e}~~ c\n\\u{5e}^^ +++"),
            ("\u{1b}[31m--- a", "\u{1b}[31m\\u{2d}-- a"),
            ("---\n a --- b\n--- ", "---\n a --- b\n\\u{2d}-- "),
            // Removing a sequence joins its neighbours.
            ("#\u{1b}]0;x\u{7}#[error]", "#\\u{1b}]0;x\\u{7}#[error]"),
            ("#\u{9b}0K#\u{1b}[0K#\u{7f}", "#\\u{9b}0K#\\u{1b}[0K#\\u{7f}"),
            ("\u{1b}[31", "\\u{1b}[31"),
        ] {
            assert_eq!(safe_report(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_document_stays_what_it_says() {
        let text = "::error::x ##vso[a]b ###[c] ##TeamCity[d] --- section_start:1:a travis_fold:start:b";
        let document = alloc::format!("{{\n  \"{text}\": [\n    \"{text}\"\n  ]\n}}");
        let broken = report_json(&document);
        for order in ["##vso[", "##[", "section_start:", "travis_fold:"] {
            assert!(!broken.contains(order), "{broken}");
        }
        let read = |document: &str| serde_json::from_str::<serde_json::Value>(document).unwrap();
        assert_eq!(read(&broken), read(&document));
    }

    /// Reads the codes back.
    fn without_codes(broken: &str) -> String {
        let mut pieces = broken.split("\\u{");
        let first = String::from(pieces.next().unwrap());
        pieces.fold(first, |mut out, piece| {
            let (code, rest) = piece.split_once('}').unwrap();
            out.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
            out + rest
        })
    }

    proptest! {
        #[test]
        fn nothing_is_left_to_obey(pieces in prop::collection::vec(prop::sample::select(
            &[
                "#", "##", "[", "vso[", "teamcity[", "::", ":", "\n", "\r", " ", "\t", "\u{1b}[31m", "\u{1b}[0m", "x", "木",
                "\u{1b}", "\u{1b}[0K", "\u{1b}]0;", "\u{7}", "section_", "start", "travis_fold", "---", "-", "+++", "~~~",
            ][..],
        ), 0..20)) {
            let text = pieces.concat();
            let broken = safe_report(&text).into_owned();
            prop_assert_eq!(safe_report(&broken), &*broken);
            let plain = broken.replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
            prop_assert!(plain.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{:?}", plain);
            for order in ORDERS {
                prop_assert!(!plain.contains(&alloc::format!("##{order}")), "{:?}", plain);
            }
            prop_assert!(!plain.contains("section_start:") && !plain.contains("travis_fold:"), "{:?}", plain);
            for line in plain.split('\n') {
                prop_assert!(!line.trim_start().starts_with("::"), "{:?}", plain);
                prop_assert!(!["--- ", "+++ ", "~~~ "].iter().any(|heading| line.starts_with(heading)), "{:?}", plain);
            }
            // Nothing else is changed.
            prop_assert_eq!(without_codes(&broken), text);
        }
    }
}
