//! Writing for people: notes, errors, tables and bars.

mod answer;
mod count_line;
pub(crate) mod drawing;
mod markup;
mod notes;
mod output;
pub(crate) mod page;
mod person;
mod progress;
mod question;
pub(crate) mod width;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use proem_engine::call::NanoDollars;
use proem_guard::{LabelTree, Untrusted, show};
use proem_runtime::files;
use proem_text::character::is_hidden;
use proem_text::json;

pub(crate) use self::answer::{AnswerScreen, WaitNotes};
pub(crate) use self::count_line::CountLine;
pub(crate) use self::markup::{code_in_table, code_span, relative_uri, sarif_text};
pub(crate) use self::notes::{
    NOTES, NoteVisibility, PublishedDocument, finish_document, has_printed_document, print_note, print_notes,
    print_notes_of, print_progress_note, print_published_document, set_note_visibility,
};
use self::output::Shapes;
pub(crate) use self::output::{Printed, document_output as document_text, write_to_stdout};
pub(crate) use self::person::{confirm, display_pages, operator};
pub(crate) use self::progress::{clear_progress, progress_target};
pub(crate) use self::question::{TerminalQuestions, answerer};
use crate::failure::CommandFailure;
pub(crate) use proem_app::words::{count_with_noun, cut_to_width, group_thousands};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// The bright one: the other is next to black on many dark terminals.
pub(crate) const BLUE: Style = AnsiColor::BrightBlue.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// A text in a style, for [`print_note`] and the tables. Colours vanish where there is no terminal.
pub(crate) fn style_text(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes exactly the requested text to standard output: a prompt, an answer, a text without its attacks. A text
/// *about* such texts is a [`print_report`], a [`print_listing`] or a [`print_json_document`].
pub(crate) fn data(text: &str) -> Result<(), CommandFailure> {
    write_to_stdout(Printed::Exact, text).map(|_| ())
}

/// Writes a picture or a page to a file.
///
/// # Errors
///
/// If it can't be written.
pub(crate) fn write_text_file(file: &Path, text: &str) -> Result<(), CommandFailure> {
    let shown = show::terminal_str(&file.display().to_string());
    let failed = |error: std::io::Error| CommandFailure::outside(format!("could not write `{shown}`: {error}"));
    files::create(file).and_then(|mut out| out.write_all(text.as_bytes())).map_err(failed)
}

/// Writes bytes to standard output exactly as they are. A terminal gets the text of them, made safe to look at.
///
/// # Errors
///
/// If they hold a loaded credential, which is printed nowhere.
pub(crate) fn print_raw_bytes(bytes: &[u8]) -> Result<(), CommandFailure> {
    let text = String::from_utf8_lossy(bytes);
    if std::io::stdout().is_terminal() {
        return data(&text.split('\n').map(|line| format!("{}\n", show::terminal_str(line))).collect::<String>());
    }
    output::write_bytes_to_stdout(bytes)
}

/// Writes a value of PTC-Lisp, and a line break: exact on a pipe. On a terminal, escapes that read back take the place
/// of what could steer it.
pub(crate) fn print_lisp_value(text: &str) -> Result<(), CommandFailure> {
    if !std::io::stdout().is_terminal() {
        return data(&format!("{text}\n"));
    }
    let escape = |c: char| match u32::from(c) {
        code if is_hidden(c) && code <= 0xffff => format!("\\u{code:04x}"),
        _ if is_hidden(c) => c.escape_unicode().to_string(),
        _ => c.to_string(),
    };
    data(&format!("{}\n", text.chars().map(escape).collect::<String>()))
}

/// A text for the clipboard, without loaded credentials: where it is pasted nobody looks for them.
pub(crate) fn clipboard_text(text: &str) -> String {
    output::exact_output(text, Shapes::Stay).into_owned()
}

/// Writes a document of JSON to standard output, and a line break: read, it is exact, and no CI runner
/// obeys a text in it.
pub(crate) fn print_json_document(json: &str) -> Result<(), CommandFailure> {
    write_to_stdout(Printed::Document, &format!("{json}\n")).map(|_| ())
}

/// Writes rows of comma-separated values to standard output: exact on a pipe, and no CI runner obeys a text in them.
pub(crate) fn print_csv(rows: &str) -> Result<(), CommandFailure> {
    write_to_stdout(Printed::Report, rows).map(|_| ())
}

/// A name as it is, or as a text of JSON where a terminal or a CI runner would take it for something else.
pub(crate) fn quote_name(name: &Untrusted<String>) -> String {
    let exact = show::exact_json(name);
    let shown = show::terminal_text(name).into_string();
    let stays = |text: &str| text == shown && !text.contains([':', '"']) && !text.trim().is_empty();
    match exact.as_str() {
        Some(text) if stays(text) && show::safe_report(text) == text => shown,
        _ => output::document_output(&json::compact(&exact)),
    }
}

/// Writes a report that somebody else renders, such as Markdown, to standard output.
pub(crate) fn print_report(text: &str) -> Result<(), CommandFailure> {
    write_to_stdout(Printed::Report, text).map(|_| ())
}

/// Writes a table or listing to standard output, coloured on a terminal.
pub(crate) fn print_listing(text: &str) -> Result<(), CommandFailure> {
    write_to_stdout(Printed::Listing, text).map(|_| ())
}

/// The lead-in before a name from outside at the start of a line, so that the line isn't that name's.
pub(crate) const LEAD: &str = "- ";
/// The mark of a line that goes on with a text from outside.
pub(crate) const GOES_ON: &str = "· ";

/// Writes lines that are not data to standard error.
pub(crate) fn aside(text: &str) {
    // Nothing is left to tell if standard error is closed.
    _ = anstream::stderr().lock().write_all(output::report_output(text, Shapes::Cut).as_bytes());
}

/// A message without what could steer a terminal: names in it may have been chosen by anybody.
pub(crate) fn terminal_safe(text: &str) -> String {
    let escape = |c: char| if is_hidden(c) && c != '\t' { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// Prints a failure. Several problems go one below the other. An excerpt has its own severity, and an indented line
/// belongs to the problem above it.
pub(crate) fn print_failure(failure: &CommandFailure) {
    let text = failure.to_string();
    let excerpt = text.starts_with("error: ") || text.starts_with("warning: ");
    for line in text.lines() {
        let own =
            if excerpt || line.starts_with(' ') { String::new() } else { format!("{} ", style_text(RED, "error:")) };
        aside(&format!("{own}{}\n", terminal_safe(line)));
    }
}

/// Prints clap's answer to `--help` and `--version`.
pub(crate) fn help(answer: &clap::Error) -> Result<(), CommandFailure> {
    print_listing(&answer.render().ansi().to_string())
}

/// Prints the problem of the arguments. They are shown on one line each: a script may have put anybody's text into one.
pub(crate) fn print_usage_error(error: &clap::Error, arguments: impl Iterator<Item = OsString>) {
    let mut text = error.render().ansi().to_string();
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    for argument in arguments.filter(|argument| argument.contains(is_hidden)) {
        let value = argument.split_once('=').map_or(argument.as_str(), |(_, value)| value);
        for raw in [argument.as_str(), value] {
            text = text.replace(raw, show::terminal_str(raw).as_str());
        }
    }
    aside(&text);
}

/// Says on a terminal what is done, and for how long, until it is cleared.
pub(crate) fn working(what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, progress_target());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A text with its label on one line: ours as it is, anybody else's escaped. Nothing for what is no text.
pub(crate) fn on_line(tree: &LabelTree, most: usize) -> String {
    match tree {
        LabelTree::Text(text) => cut_to_width(text, most),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => show::terminal_capped(text, most).into_string(),
        _ => String::new(),
    }
}

/// The cells of a line that is not on a terminal.
const WIDTH: usize = 100;

/// The cells of a line of standard output.
pub(crate) fn output_width() -> usize {
    console::Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns))
}

/// A bar for `value` on a scale to `most`, at most `width` cells, in eighths of a cell.
pub(crate) fn bar(value: usize, most: usize, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = value.saturating_mul(width).saturating_mul(8) / most.max(1);
    let eighths = if value > 0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS.get(eighths % 8).unwrap_or(&""))
}

/// A text from anywhere as one cell of a table: what is hidden or wider than a cell is escaped, what
/// is too long is cut, and the rest is filled up.
pub(crate) fn table_cell(text: &str, width: usize) -> String {
    let shown = cut_to_width(text, width);
    let gap = width.saturating_sub(shown.chars().count());
    format!("{shown}{}", " ".repeat(gap))
}

/// A whole number in at most six cells: `9,999`, `12.3k`, `4.5M`.
pub(crate) fn short_number(number: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", number / unit, number % unit / (unit / 10));
    match number {
        0..=9_999 => group_thousands(usize::try_from(number).unwrap_or(usize::MAX)),
        10_000..=999_999 => format!("{}k", tenths(1_000)),
        1_000_000..=999_999_999 => format!("{}M", tenths(1_000_000)),
        _ => format!("{}G", tenths(1_000_000_000)),
    }
}

/// Money in at most eight cells, rounded down: `$0.00123`, `$12.34`.
pub(crate) fn short_price(cost: NanoDollars) -> String {
    let (dollars, nanos) = (cost.0 / 1_000_000_000, cost.0 % 1_000_000_000);
    match dollars {
        0 if nanos > 0 && nanos < 10_000 => "<$.00001".to_owned(),
        0..=9 => format!("${dollars}.{:05}", nanos / 10_000),
        10..=9_999 => format!("${dollars}.{:02}", nanos / 10_000_000),
        _ => format!("${dollars}"),
    }
}

/// The sign for an unknown value.
pub(crate) const UNKNOWN: &str = "–";

/// A count for a table, or [`UNKNOWN`].
pub(crate) fn short_or_unknown(number: Option<u64>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), short_number)
}

/// One column for each value, in eighths of a line. A value that is not zero shows.
pub(crate) fn column_bars(values: &[u64]) -> String {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let height = |value: u64| usize::try_from(value.saturating_mul(8).div_ceil(most)).unwrap_or(8);
    values.iter().map(|value| EIGHTHS.get(height(*value)).copied().unwrap_or('█')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_as_wide_as_they_say() {
        for (text, width, expected) in [
            ("ab", 4, "ab  "),
            ("abcdef", 4, "abc…"),
            ("grün", 4, "grün"),
            ("\u{1b}[2J", 12, "\\u{1b}[2J   "),
            ("木", 12, "\\u{6728}    "),
            ("a\nb", 5, "a\\nb "),
            ("e\u{301}", 9, "e\\u{301} "),
        ] {
            assert_eq!(table_cell(text, width), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_fit_their_columns() {
        for (number, expected) in [
            (0, "0"),
            (9_999, "9,999"),
            (10_000, "10.0k"),
            (999_999, "999.9k"),
            (1_250_000, "1.2M"),
            (5_000_000_000, "5.0G"),
        ] {
            assert_eq!(short_number(number), expected);
        }
        for (nanos, expected) in [
            (0, "$0.00000"),
            (1, "<$.00001"),
            (1_239_999, "$0.00123"),
            (12_345_000_000, "$12.34"),
            (12_345_678_000_000_000, "$12345678"),
        ] {
            assert_eq!(short_price(NanoDollars(nanos)), expected);
        }
        assert_eq!(column_bars(&[0, 1, 4, 8, 100]), " ▁▁▁█");
        assert_eq!((count_with_noun(1, "run").as_str(), count_with_noun(0, "run").as_str()), ("1 run", "0 runs"));
    }

    #[test]
    fn bars_and_numbers() {
        assert_eq!(bar(0, 10, 10), "");
        assert_eq!(bar(10, 10, 10), "██████████");
        assert_eq!(bar(1, 1000, 10), "▏");
        assert_eq!(bar(5, 16, 4), "█▎");
        assert_eq!(
            (group_thousands(0).as_str(), group_thousands(999).as_str(), group_thousands(1_234_567).as_str()),
            ("0", "999", "1,234,567")
        );
    }
}
