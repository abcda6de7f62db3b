//! What a CI runner would obey, broken where it stands in a report.
//!
//! Runners read what a job prints, line by line, and take orders from it. The sources:
//! - GitHub Actions takes `::name …::` at the start of a line, behind space
//!   (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>), and
//!   `##[name …]` wherever it stands.
//! - Azure Pipelines takes `##vso[…]` and `##[…]` wherever they stand
//!   (<https://learn.microsoft.com/en-us/azure/devops/pipelines/scripts/logging-commands>).
//! - TeamCity takes `##teamcity[…]` wherever it stands
//!   (<https://www.jetbrains.com/help/teamcity/service-messages.html>).
//!
//! No line of ours is an order, so that every one that stands in a report is somebody else's. This
//! is done to whole reports and not to the texts in them: an order may be cut in two by a colour, a
//! column or a fold, and whoever joins the pieces joins it again.

use alloc::{borrow::Cow, string::String, vec::Vec};

/// What follows `##` in an order, in lower case.
const ORDERS: [&str; 3] = ["[", "vso[", "teamcity["];

/// What stands for the second `#` of an order in a report: [`super::terminal`]'s escape for it.
const HASH: &str = "\\u{23}";
/// What stands for it in JSON, where a reader sees a `#` again.
const JSON_HASH: &str = "\\u0023";
/// What stands for the first `:` of a line in a report.
const COLON: &str = "\\u{3a}";

/// A report, list or note with no order in it: the sign that makes one is shown by its code.
///
/// Colours count as nothing, because they are taken out where there is no terminal.
#[must_use]
pub fn report(text: &str) -> Cow<'_, str> {
    // A colour may stand between two colons.
    let is_suspicious = text.contains([':', '#']);
    if is_suspicious { broken(text, &[starts(text), hashes(text, HASH)].concat()) } else { Cow::Borrowed(text) }
}

/// A document of JSON with no order in it, which a reader reads as before.
///
/// Only strings have a `#`, and each line begins with a bracket, a quote, a digit or a letter.
#[must_use]
pub fn report_json(document: &str) -> Cow<'_, str> {
    broken(document, &hashes(document, JSON_HASH))
}

/// An ASCII sign at a place, and what stands for it.
type Break = (usize, &'static str);

fn broken<'a>(text: &'a str, breaks: &[Break]) -> Cow<'a, str> {
    if breaks.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut breaks = breaks.to_vec();
    breaks.sort_unstable();
    let (mut out, mut position) = (String::with_capacity(text.len()), 0);
    for (at, code) in breaks {
        out.push_str(text.get(position..at).unwrap_or_default());
        out.push_str(code);
        position = at.saturating_add(1);
    }
    out.push_str(text.get(position..).unwrap_or_default());
    Cow::Owned(out)
}

/// The first colons of `::` that begin a line, behind space and colours.
fn starts(text: &str) -> Vec<Break> {
    let mut breaks = Vec::new();
    let mut starts_line = true;
    let mut shown = VisibleCharacters::at(text, 0);
    while let Some((at, c)) = shown.next() {
        if starts_line && c == ':' && shown.peek() == Some(':') {
            breaks.push((at, COLON));
        }
        starts_line = matches!(c, '\n' | '\r') || (starts_line && (c.is_whitespace() || c == '\u{feff}'));
    }
    breaks
}

/// The second `#` of every order.
fn hashes(text: &str, code: &'static str) -> Vec<Break> {
    let mut breaks = Vec::new();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find('#')) {
        from = from.saturating_add(found).saturating_add(1);
        let mut shown = VisibleCharacters::at(text, from);
        if let Some((at, '#')) = shown.next()
            && ORDERS.iter().any(|order| shown.clone().begins_with(order))
        {
            breaks.push((at, code));
        }
    }
    breaks
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
}

impl Iterator for VisibleCharacters<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.text.get(self.offset..)?;
            let colour = rest.strip_prefix("\u{1b}[").and_then(|rest| rest.find(|c: char| c.is_ascii_alphabetic()));
            if let Some(end) = colour {
                // The two signs before it and the letter that ends it.
                self.offset = self.offset.saturating_add(end).saturating_add(3);
                continue;
            }
            let c = rest.chars().next()?;
            let at = self.offset;
            self.offset = at.saturating_add(c.len_utf8());
            return Some((at, c));
        }
    }
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
            ("a\r::add-mask::x", "a\r\\u{3a}:add-mask::x"),
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
        ] {
            assert_eq!(report(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_document_stays_what_it_says() {
        let text = "::error::x ##vso[a]b ###[c] ##TeamCity[d]";
        let document = alloc::format!("{{\n  \"{text}\": [\n    \"{text}\"\n  ]\n}}");
        let broken = report_json(&document);
        assert!(!broken.contains("##vso[") && !broken.contains("##["), "{broken}");
        let read = |document: &str| serde_json::from_str::<serde_json::Value>(document).unwrap();
        assert_eq!(read(&broken), read(&document));
    }

    proptest! {
        #[test]
        fn nothing_is_left_to_obey(pieces in prop::collection::vec(prop::sample::select(
            &["#", "##", "[", "vso[", "teamcity[", "::", ":", "\n", "\r", " ", "\u{1b}[31m", "\u{1b}[0m", "x", "木"][..],
        ), 0..20)) {
            let text = pieces.concat();
            let broken = report(&text).into_owned();
            prop_assert_eq!(report(&broken), &*broken);
            let plain = broken.replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
            for order in ORDERS {
                prop_assert!(!plain.contains(&alloc::format!("##{order}")), "{:?}", plain);
            }
            prop_assert!(plain.split(['\n', '\r']).all(|line| !line.trim_start().starts_with("::")), "{:?}", plain);
            // Nothing else is changed.
            prop_assert_eq!(broken.replace(HASH, "#").replace(COLON, ":"), text);
        }
    }
}
