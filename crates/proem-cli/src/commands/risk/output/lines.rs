//! Sentences on a screen: safe, and within their width.

use proem_agents::risk::report::{FractionOut, MetricOut, Rate, ReportPhrase, ReportSentence};

use crate::ui::{self, GOES_ON, UNKNOWN};
use proem_app::words::two_decimals;

/// The most characters of a name or message on the one screen.
const SHOWN: usize = 60;

/// Stands before each word from outside until lines are made. No text from outside has it: it is a
/// noncharacter, which [`screen_safe`] escapes.
const OUTSIDE: char = '\u{fdd1}';

/// The start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineStart {
    /// A label of ours.
    Labelled,
    /// The text.
    Bare,
}

/// A sentence for a line of a screen: what steers a terminal, or is wider than a cell, is escaped. A message is in
/// quotes.
pub(super) fn screen_sentence(words: &ReportSentence) -> String {
    screen_safe(&quoted_sentence(words))
}

/// The same for [`wrap_sentence`], which begins no line with a text from outside.
pub(super) fn flowing(words: &ReportSentence) -> String {
    words.parts().iter().fold(String::new(), |mut text, part| {
        match part {
            ReportPhrase::Ours(ours) => text.push_str(&screen_safe(ours)),
            ReportPhrase::Message(message) if !text.ends_with('"') => {
                append_foreign(&mut text, &format!("\"{}\"", screen_safe(message)));
            }
            part => append_foreign(&mut text, &screen_safe(part.text())),
        }
        text
    })
}

/// The same for the one screen, where a long name must not displace what is said of it.
pub(super) fn short_screen_sentence(words: &ReportSentence) -> String {
    words.parts().iter().fold(String::new(), |mut text, part| {
        match part {
            ReportPhrase::Ours(ours) => text.push_str(&screen_safe(ours)),
            ReportPhrase::Path(path) => append_foreign(&mut text, &end_of(path)),
            ReportPhrase::Message(message) if !text.ends_with('"') => {
                append_foreign(&mut text, &format!("\"{}\"", ui::cut_to_width(message, SHOWN)));
            }
            ReportPhrase::Message(outside) | ReportPhrase::Person(outside) => {
                append_foreign(&mut text, &ui::cut_to_width(outside, SHOWN));
            }
            ReportPhrase::Foreign(outside) => append_foreign(&mut text, &screen_safe(outside)),
        }
        text
    })
}

/// Appends a text from outside that is safe, so that [`wrap_sentence`] begins no line with a word of it.
pub(super) fn append_foreign(text: &mut String, outside: &str) {
    for (index, word) in outside.split(' ').enumerate() {
        if index > 0 {
            text.push(' ');
        }
        if text.is_empty() || text.ends_with(' ') {
            text.push(OUTSIDE);
        }
        text.push_str(word);
    }
}

/// A path for the one screen: its end tells most.
pub(super) fn end_of(path: &str) -> String {
    let shown = screen_safe(path);
    let length = shown.chars().count();
    if length <= SHOWN {
        return shown;
    }
    let kept: String = shown.chars().skip(length.saturating_sub(SHOWN.saturating_sub(1))).collect();
    format!("…{kept}")
}

/// A text from outside for a screen.
pub(super) fn screen_safe(text: &str) -> String {
    ui::cut_to_width(text, usize::MAX)
}

/// A sentence as one text, with its messages in quotes.
pub(super) fn quoted_sentence(words: &ReportSentence) -> String {
    let mut text = String::new();
    for part in words.parts() {
        match part {
            ReportPhrase::Message(message) if !text.ends_with('"') => text.push_str(&format!("\"{message}\"")),
            part => text.push_str(part.text()),
        }
    }
    text
}

/// A text on lines of at most `width` characters, at most `most` of them; what is left out shows as `…`.
///
/// A line that would begin with a word from outside begins with [`GOES_ON`].
pub(super) fn wrap_sentence(text: &str, width: usize, most: usize, begins: LineStart) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').flat_map(|word| split_long_word(word, width)) {
        let (lead, word) = match word.strip_prefix(OUTSIDE) {
            Some(word) if lines.is_empty() && begins == LineStart::Labelled => ("", word),
            Some(word) => (GOES_ON, word),
            None => ("", word.as_str()),
        };
        let room = lines.last().map(|line| width.saturating_sub(line.chars().count()));
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&format!("{lead}{word}")),
            Some(line) if room > Some(word.chars().count()) => line.push_str(&format!(" {word}")),
            _ => lines.push(format!("{lead}{word}")),
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let kept: String = last.chars().take(width.saturating_sub(2)).collect();
            *last = format!("{kept} …");
        }
    }
    lines
}

/// A word, cut where it is longer than a line; what is behind a cut in one from outside is from outside too.
fn split_long_word(word: &str, width: usize) -> Vec<String> {
    let (mark, word, width) = match word.strip_prefix(OUTSIDE) {
        Some(word) => (OUTSIDE.to_string(), word, width.saturating_sub(GOES_ON.chars().count())),
        None => (String::new(), word, width),
    };
    let chars: Vec<char> = word.chars().collect();
    match chars.len() {
        0 => vec![mark],
        _ => chars.chunks(width.max(1)).map(|chunk| mark.clone() + &chunk.iter().collect::<String>()).collect(),
    }
}

/// A metric's value with its unit, or [`UNKNOWN`].
pub(super) fn metric_value(metric: &MetricOut) -> String {
    let Some(value) = metric.value else { return UNKNOWN.to_owned() };
    let shown = two_decimals(value);
    match metric.unit.as_str() {
        "share" | "ratio" | "count" => shown,
        "flag" => if value > 0.0 { "yes" } else { "no" }.to_owned(),
        "percentile" => format!("{shown} %"),
        unit if shown == "1" => format!("1 {}", unit.strip_suffix('s').unwrap_or(unit)),
        unit => format!("{shown} {unit}"),
    }
}

/// The parts of a share: `15 of 20`.
pub(super) fn fraction_parts(of: Option<FractionOut>) -> String {
    of.map_or_else(String::new, |of| format!("{} of {}", of.numerator, of.denominator))
}

/// How often a HIGH was a false alarm.
pub(super) fn false_alarms(rate: Option<Rate>) -> String {
    match rate {
        Some(Rate { count, n }) if n > 0 => {
            let percent = count.saturating_mul(100).saturating_add(n / 2) / n;
            format!("{count} of {n} ({percent} %)")
        }
        _ => "unknown".to_owned(),
    }
}

/// A metric's name as words: `co_change` as `co-change`.
pub(in crate::commands::risk) fn metric_words(name: &str) -> String {
    match name {
        "co_change" => "co-change".to_owned(),
        "co_change_gap" => "co-change gap".to_owned(),
        other => other.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text whose parts from outside are between `<` and `>`, on lines of twelve.
    #[track_caller]
    fn check(text: &str, begins: LineStart, expected: &[&str]) {
        let mut joined = String::new();
        for part in text.split('<') {
            match part.split_once('>') {
                Some((outside, ours)) => {
                    append_foreign(&mut joined, outside);
                    joined.push_str(ours);
                }
                None => joined.push_str(part),
            }
        }
        assert_eq!(wrap_sentence(&joined, 12, usize::MAX, begins), expected, "{text:?}");
    }

    #[test]
    fn no_line_begins_with_a_word_from_outside() {
        check("", LineStart::Bare, &[""]);
        check("our own words are wrapped", LineStart::Bare, &["our own", "words are", "wrapped"]);
        check("<a.rs> changed", LineStart::Labelled, &["a.rs changed"]);
        check("<a.rs> changed", LineStart::Bare, &["· a.rs", "changed"]);
        check("see <::error here now> twice", LineStart::Labelled, &["see ::error", "· here now", "twice"]);
        check("changed by <::error::x>", LineStart::Labelled, &["changed by", "· ::error::x"]);
        check("of \"<src a>\"", LineStart::Labelled, &["of \"src a\""]);
        check("see <abcdefghijklmnopq>", LineStart::Labelled, &["see", "· abcdefghij", "· klmnopq"]);
        check("abcdefghijklmnopq", LineStart::Labelled, &["abcdefghijkl", "mnopq"]);
    }
}
