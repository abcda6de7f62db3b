//! Sentences on a screen: safe, and within their width.

use proem_agents::risk::report::{FractionOut, MetricOut, Part, Rate, Words};

use crate::ui::{self, UNKNOWN};

/// The most characters of a name or message on the one screen.
const SHOWN: usize = 60;

/// A sentence for a screen: what steers a terminal, or is wider than a cell, is escaped; a message stands
/// in quotes.
pub(super) fn plain(words: &Words) -> String {
    safe(&quoted(words))
}

/// The same for the one screen, where a long name must not displace what is said of it.
pub(super) fn brief(words: &Words) -> String {
    let mut text = String::new();
    for part in words.parts() {
        match part {
            Part::Ours(ours) => text.push_str(&safe(ours)),
            Part::Path(path) => text.push_str(&end_of(path)),
            Part::Message(message) if !text.ends_with('"') => {
                text.push_str(&format!("\"{}\"", ui::cut(message, SHOWN)));
            }
            Part::Message(outside) | Part::Person(outside) => text.push_str(&ui::cut(outside, SHOWN)),
            Part::Foreign(outside) => text.push_str(&safe(outside)),
        }
    }
    text
}

/// A path for the one screen: its end tells most.
pub(super) fn end_of(path: &str) -> String {
    let shown = safe(path);
    let length = shown.chars().count();
    if length <= SHOWN {
        return shown;
    }
    let kept: String = shown.chars().skip(length.saturating_sub(SHOWN.saturating_sub(1))).collect();
    format!("…{kept}")
}

/// A text from outside for a screen.
pub(super) fn safe(text: &str) -> String {
    ui::cut(text, usize::MAX)
}

/// A sentence as one text, with its messages in quotes.
pub(super) fn quoted(words: &Words) -> String {
    let mut text = String::new();
    for part in words.parts() {
        match part {
            Part::Message(message) if !text.ends_with('"') => text.push_str(&format!("\"{message}\"")),
            part => text.push_str(part.text()),
        }
    }
    text
}

/// A text on lines of at most `width` characters, at most `most` of them; what is left out shows as `…`.
pub(super) fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ').flat_map(|word| pieces(word, width)) {
        let Some(line) = lines.last_mut() else { break };
        let taken = line.chars().count();
        if taken == 0 {
            line.push_str(&word);
        } else if taken.saturating_add(1).saturating_add(word.chars().count()) <= width {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
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

/// A word, cut where it is longer than a line.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    match chars.len() {
        0 => vec![String::new()],
        _ => chars.chunks(width.max(1)).map(|chunk| chunk.iter().collect()).collect(),
    }
}

/// A number with at most two decimals.
pub(in crate::commands::risk) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A metric's value with its unit, or [`UNKNOWN`].
pub(super) fn value(metric: &MetricOut) -> String {
    let Some(value) = metric.value else { return UNKNOWN.to_owned() };
    let shown = number(value);
    match metric.unit.as_str() {
        "share" | "ratio" | "count" => shown,
        "flag" => if value > 0.0 { "yes" } else { "no" }.to_owned(),
        "percentile" => format!("{shown} %"),
        unit if shown == "1" => format!("1 {}", unit.strip_suffix('s').unwrap_or(unit)),
        unit => format!("{shown} {unit}"),
    }
}

/// The parts of a share: `15 of 20`.
pub(super) fn parts(of: Option<FractionOut>) -> String {
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
pub(in crate::commands::risk) fn named(name: &str) -> String {
    match name {
        "co_change" => "co-change".to_owned(),
        "co_change_gap" => "co-change gap".to_owned(),
        other => other.replace('_', " "),
    }
}
