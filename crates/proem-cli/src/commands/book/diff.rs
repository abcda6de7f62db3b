//! `proem book diff`: two versions of a prompt side by side.

use std::process::ExitCode;

use proem_app::book::diff::{BookDifference, SectionDifference, SectionSide, compare_versions};
use proem_guard::show;
use proem_text::json;
use serde_json::{Value as Json, json};

use super::args::BookPlace;
use crate::commands::trust::review::{Inside, unified_difference};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, GREEN, LEAD, RED, YELLOW, cut_to_width, group_thousands, style_text};

/// The lines of a difference that are shown of each file.
const LINES: usize = 80;
/// The cells of a line below which a row takes two.
const NARROW: usize = 64;
/// The most cells of a section's name.
const NAME: usize = 28;

pub(super) fn run_book_diff(first: &str, second: &str, place: &BookPlace) -> Result<ExitCode, CommandFailure> {
    let book = super::open_book(place)?;
    let found = compare_versions(&book, first, second)?;
    if place.json {
        ui::print_json_document(&json::pretty(&book_diff_json(&found)))?;
    } else {
        ui::print_listing(&book_diff_page(&found, ui::output_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn book_diff_json(found: &BookDifference) -> Json {
    let side = |side: &Option<SectionSide>| {
        side.as_ref().map(
            |side| json!({ "tokens": side.tokens, "trust": side.trust, "cache": side.cache, "inputs": side.inputs }),
        )
    };
    let section = |row: &SectionDifference| json!({ "name": row.name, "same": row.is_same(), "first": side(&row.first), "second": side(&row.second) });
    let (before, after) = book_diff_totals(found);
    json!({
        "first": found.first,
        "second": found.second,
        "changes": found.changes,
        "sections": found.sections.iter().map(section).collect::<Vec<_>>(),
        "tokens": { "first": before, "second": after },
        "files": found.files.iter().map(|file| json!({ "name": file.name, "first": file.first, "second": file.second }))
            .collect::<Vec<_>>(),
    })
}

/// The tokens of all sections of each.
fn book_diff_totals(found: &BookDifference) -> (usize, usize) {
    let sum = |side: fn(&SectionDifference) -> &Option<SectionSide>| {
        found
            .sections
            .iter()
            .filter_map(|row| side(row).as_ref())
            .fold(0_usize, |sum, side| sum.saturating_add(side.tokens))
    };
    (sum(|row| &row.first), sum(|row| &row.second))
}

pub(super) fn book_diff_page(found: &BookDifference, room: usize) -> String {
    let mut out = format!(
        "{LEAD}{}\n",
        style_text(BOLD, &format!("{} → {}", cut_to_width(&found.first, 60), cut_to_width(&found.second, 60)))
    );
    if let Some(changes) = &found.changes {
        out.push_str(&format!("  {}\n", cut_to_width(changes, room.saturating_sub(2).max(16))));
    }
    let longest = found.sections.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).clamp(5, NAME);
    let columns = Columns { name: longest, room };
    out.push_str(&columns.head());
    for row in &found.sections {
        out.push_str(&columns.row(row));
    }
    let (before, after) = book_diff_totals(found);
    out.push_str(&columns.line(&TableRow {
        name: "total",
        kind: "",
        first: Some(before),
        second: Some(after),
        words: "",
    }));
    out.push_str(&style_text(DIM, "tokens of the sections' own text, by o200k; inputs come on top"));
    out.push('\n');
    for file in &found.files {
        out.push_str(&format!("\n{LEAD}{}\n", style_text(BOLD, &show::terminal_str(&file.name).into_string())));
        let text = |side: &Option<String>| side.clone().unwrap_or_default();
        let lines = unified_difference(&text(&file.first), &text(&file.second), Inside::Plain);
        out.extend(lines.iter().take(LINES).map(|line| format!("{line}\n")));
        let more = lines.len().saturating_sub(LINES);
        if more > 0 {
            out.push_str(&style_text(DIM, &format!("  {more} more lines; --json has all\n")));
        }
    }
    if found.files.is_empty() {
        out.push_str("both have the same files\n");
    }
    out
}

/// The contents of a line of the table.
struct TableRow<'r> {
    name: &'r str,
    kind: &'r str,
    first: Option<usize>,
    second: Option<usize>,
    words: &'r str,
}

/// The table's measures.
struct Columns {
    name: usize,
    room: usize,
}

impl Columns {
    fn head(&self) -> String {
        let head =
            format!("  {:name$}  {:>8} {:>8} {:>8}  {}", "section", "first", "second", "change", "", name = self.name);
        if self.room < NARROW { String::new() } else { format!("{}\n", style_text(DIM, head.trim_end())) }
    }

    fn row(&self, row: &SectionDifference) -> String {
        let (first, second) = (row.first.as_ref(), row.second.as_ref());
        let mut words = Vec::new();
        match (first, second) {
            (Some(_), None) => words.push(style_text(RED, "removed")),
            (None, Some(_)) => words.push(style_text(GREEN, "added")),
            (Some(first), Some(second)) if first != second => {
                words.push(style_text(YELLOW, "changed"));
                if first.trust != second.trust {
                    words.push(style_text(RED, &format!("trust {} → {}", first.trust, second.trust)));
                }
                if first.cache != second.cache {
                    words.push(format!("cache {} → {}", first.cache, second.cache));
                }
                let names = |from: &SectionSide, without: &SectionSide| {
                    from.inputs
                        .difference(&without.inputs)
                        .map(|name| cut_to_width(name, 24))
                        .collect::<Vec<_>>()
                        .join(", ")
                };
                let (gone, new) = (names(first, second), names(second, first));
                words.extend((!gone.is_empty()).then(|| format!("no longer shows {gone}")));
                words.extend((!new.is_empty()).then(|| format!("shows {new}")));
            }
            _ => {}
        }
        let kind = second.or(first).map_or(String::new(), |side| format!("{}, {}", side.trust, side.cache));
        self.line(&TableRow {
            name: &row.name,
            kind: &kind,
            first: first.map(|side| side.tokens),
            second: second.map(|side| side.tokens),
            words: &words.join("; "),
        })
    }

    fn line(&self, row: &TableRow<'_>) -> String {
        let TableRow { name, kind, first, second, words } = *row;
        let shown = |tokens: Option<usize>| tokens.map_or_else(|| ui::UNKNOWN.to_owned(), group_thousands);
        let (before, after) = (first.unwrap_or(0), second.unwrap_or(0));
        let change = match after.cmp(&before) {
            std::cmp::Ordering::Equal => String::new(),
            std::cmp::Ordering::Greater => format!("+{}", group_thousands(after.saturating_sub(before))),
            std::cmp::Ordering::Less => format!("−{}", group_thousands(before.saturating_sub(after))),
        };
        let name = cut_to_width(name, NAME);
        let kind = if kind.is_empty() { String::new() } else { style_text(DIM, &format!("({kind})")) };
        let behind =
            [words.to_owned(), kind].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("  ");
        if self.room < NARROW {
            let tokens = format!("{} → {} {change}", shown(first), shown(second));
            let words = if words.is_empty() { String::new() } else { format!("    {words}\n") };
            return format!("  {name}\n    {}\n{words}", tokens.trim_end());
        }
        let width = self.name;
        format!("  {name:width$}  {:>8} {:>8} {change:>8}  {behind}", shown(first), shown(second)).trim_end().to_owned()
            + "\n"
    }
}
