//! `proem book diff`: two versions of a prompt side by side.

use std::collections::BTreeSet;
use std::process::ExitCode;

use proem_app::book::diff::{
    BookDifference, CacheEffect, FileDifference, SectionDifference, SectionSide, compare_versions,
};
use proem_guard::show;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

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
        ui::print_json_document(&json::pretty(&json!(BookDiffOutput::new(&found))))?;
    } else {
        ui::print_listing(&book_diff_page(&found, ui::output_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The output of `book diff --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BookDiffOutput<'d> {
    /// The first version, `agent/name@version`.
    first: &'d str,
    /// The newer side of the comparison.
    second: &'d str,
    /// The second version's own list of changes.
    changes: Option<&'d str>,
    /// The sections of both, in the second's order.
    sections: Vec<SectionOutput<'d>>,
    /// The tokens of all sections' own text.
    tokens: TokensOutput,
    /// The files whose texts differ.
    files: Vec<FileOutput<'d>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SectionOutput<'d> {
    name: &'d str,
    /// Whether both versions have it, with the same text, inputs, trust and cache class.
    same: bool,
    /// As the first version has it.
    first: Option<SideOutput<'d>>,
    /// As the second version has it.
    second: Option<SideOutput<'d>>,
    /// The effect on cached prefixes: `not cached`, `stays cached` or `cached anew`.
    cache: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SideOutput<'d> {
    /// The tokens of its own text, by o200k.
    tokens: usize,
    /// How much its text may bind a model.
    trust: &'static str,
    /// For how long its bytes stay the same.
    cache: &'static str,
    /// The inputs that it shows.
    inputs: &'d BTreeSet<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TokensOutput {
    first: usize,
    second: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileOutput<'d> {
    /// Its name, without the version.
    name: &'d str,
    /// The first version's text, if it has the file.
    first: Option<&'d str>,
    /// The second version's text, if it has the file.
    second: Option<&'d str>,
}

impl<'d> BookDiffOutput<'d> {
    pub(super) fn new(found: &'d BookDifference) -> Self {
        let side = |side: &'d SectionSide| SideOutput {
            tokens: side.tokens,
            trust: side.trust,
            cache: side.cache,
            inputs: &side.inputs,
        };
        let section = |(row, effect): (&'d SectionDifference, CacheEffect)| SectionOutput {
            name: &row.name,
            same: row.is_same(),
            first: row.first.as_ref().map(side),
            second: row.second.as_ref().map(side),
            cache: effect.as_str(),
        };
        let file = |file: &'d FileDifference| FileOutput {
            name: &file.name,
            first: file.first.as_deref(),
            second: file.second.as_deref(),
        };
        let (first, second) = found.own_tokens();
        Self {
            first: &found.first,
            second: &found.second,
            changes: found.changes.as_deref(),
            sections: found.sections.iter().zip(found.cache_effects()).map(section).collect(),
            tokens: TokensOutput { first, second },
            files: found.files.iter().map(file).collect(),
        }
    }
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
    for (row, effect) in found.sections.iter().zip(found.cache_effects()) {
        out.push_str(&columns.row(row, effect));
    }
    let (before, after) = found.own_tokens();
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

    fn row(&self, row: &SectionDifference, effect: CacheEffect) -> String {
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
        let kind = second.or(first).map_or(String::new(), |side| match effect {
            CacheEffect::Never => format!("{}, {}", side.trust, side.cache),
            CacheEffect::Kept | CacheEffect::Anew => format!("{}, {}: {}", side.trust, side.cache, effect.as_str()),
        });
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
