//! Writing for people: notes, errors, tables and bars.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use proem_text::character::is_hidden;

use crate::failure::Failure;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const BLUE: Style = AnsiColor::Blue.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// A text in a style, for [`note`] and the tables; colours vanish where there is no terminal.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes data to standard output.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|e| Failure::outside(format!("could not write the output: {e}"))),
    }
}

/// Writes a table or listing to standard output, coloured on a terminal.
pub(crate) fn listing(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|e| Failure::outside(format!("could not write the output: {e}"))),
    }
}

/// Writes lines that are not data to standard error.
pub(crate) fn aside(text: &str) {
    // Nothing is left to tell if standard error is closed.
    _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// A message without what could steer a terminal: names in it may have been chosen by anybody.
fn plain(text: &str) -> String {
    let escape = |c: char| if is_hidden(c) && c != '\t' { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// One line about something the user may want to know.
pub(crate) fn note(text: &str) {
    aside(&format!("{} {}\n", styled(CYAN, "note:"), plain(text)));
}

/// What went wrong. Several problems stand one below the other; an excerpt has its own severity,
/// and an indented line belongs to the problem above it.
pub(crate) fn error(failure: &Failure) {
    let text = failure.to_string();
    let excerpt = text.starts_with("error: ") || text.starts_with("warning: ");
    for line in text.lines() {
        let own = if excerpt || line.starts_with(' ') { String::new() } else { format!("{} ", styled(RED, "error:")) };
        aside(&format!("{own}{}\n", plain(line)));
    }
}

/// A bar for `value` on a scale to `most`, at most `width` cells, in eighths of a cell.
pub(crate) fn bar(value: usize, most: usize, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = value.saturating_mul(width).saturating_mul(8) / most.max(1);
    let eighths = if value > 0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS.get(eighths % 8).unwrap_or(&""))
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_numbers() {
        assert_eq!(bar(0, 10, 10), "");
        assert_eq!(bar(10, 10, 10), "██████████");
        assert_eq!(bar(1, 1000, 10), "▏");
        assert_eq!(bar(5, 16, 4), "█▎");
        assert_eq!(
            (grouped(0).as_str(), grouped(999).as_str(), grouped(1_234_567).as_str()),
            ("0", "999", "1,234,567")
        );
    }
}
