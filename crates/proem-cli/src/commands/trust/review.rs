//! The page of a file before a person decides about it.
//!
//! The text is written by an attacker until it is trusted. Invariants: every line of it is behind a mark and is shorter
//! than a terminal is wide, so that it can't pass for a line of ours. It is escaped; what it would mean to trust it is
//! said below it, in our words.

mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use proem_guard::show;
use similar::{ChangeTag, TextDiff};

use crate::ui::{BOLD, DIM, GREEN, RED, YELLOW, group_thousands, style_text};
use proem_app::trust::candidates::UntrustablePath;
use proem_app::trust::{Before, FileReview};

/// The most lines of one file, or of its difference, that are shown.
pub(crate) const MAX_LINES: usize = 400;

/// The cells of text beside the mark. Eighty is the narrowest terminal in common use.
const WIDTH: usize = 74;

/// The mark of a line, and of what was too long for one.
const MARK: &str = "│ ";
const CONTINUED: &str = "┆ ";

/// How long finding a difference may take before it becomes approximate.
const DIFF_TIME: Duration = Duration::from_secs(1);

/// All files, one below the other.
pub(crate) fn trust_review(files: &[FileReview<'_>], refused: &[UntrustablePath]) -> String {
    let mut out = String::new();
    for (index, file) in files.iter().enumerate() {
        let of = format!("{} of {}: ", index.saturating_add(1), files.len());
        out.push_str(&file_review(&of, file));
        out.push('\n');
    }
    for refused in refused {
        out.push_str(&path_heading(&style_text(YELLOW, "left out: "), &refused.path));
        _ = writeln!(out, "  {}\n", refused.why);
    }
    out
}

fn file_review(of: &str, file: &FileReview<'_>) -> String {
    let candidate = file.candidate;
    let mut out = path_heading(&style_text(BOLD, of), &candidate.path);
    let bytes = candidate.text.len();
    let short: String = candidate.hash.chars().take(12).collect();
    let state = match &file.before {
        Before::New => "new: you never trusted it".to_owned(),
        Before::Lost => {
            "changed since you trusted it; the earlier copy no longer exists, so the whole file is shown".to_owned()
        }
        Before::Trusted(_) => "changed since you trusted it".to_owned(),
    };
    let noun = if bytes == 1 { "byte" } else { "bytes" };
    _ = writeln!(out, "  {} {noun}, sha256 {short}, {state}", group_thousands(bytes));
    let rows = match &file.before {
        Before::Trusted(before) => unified_difference(before, &candidate.text, Inside::Plain),
        Before::New | Before::Lost => {
            candidate.text.split_terminator('\n').flat_map(|line| diff_rows("", line, None)).collect()
        }
    };
    if bytes == 0 {
        out.push_str("  it is empty\n");
    }
    for row in rows.iter().take(MAX_LINES) {
        out.push_str(row);
        out.push('\n');
    }
    let cut = rows.len().saturating_sub(MAX_LINES);
    if cut > 0 {
        let text =
            format!("NOT SHOWN: {} more lines; open the file to read them before you answer", group_thousands(cut));
        _ = writeln!(out, "  {}", style_text(RED, &text));
    }
    for usage in &candidate.uses {
        _ = writeln!(out, "  If you trust it: {}.", usage.meaning(&candidate.path));
    }
    out
}

/// A path after words of ours. A long one goes on behind a mark.
pub(in crate::commands) fn path_heading(words: &str, path: &str) -> String {
    let shown = show::terminal_str(path).into_string();
    let mut parts = cut_into_cells(&shown, WIDTH.saturating_sub(12)).into_iter();
    let mut out = format!("{words}{}\n", style_text(BOLD, &parts.next().unwrap_or_default()));
    for part in parts {
        _ = writeln!(out, "{CONTINUED}{}", style_text(BOLD, &part));
    }
    out
}

/// The marks for a line that only changed in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Inside {
    /// The line as it was, and as it is.
    Plain,
    /// The same, with marks below what changed.
    Marked,
}

/// The difference between two texts, in the unified form.
pub(in crate::commands) fn unified_difference(before: &str, after: &str, inside: Inside) -> Vec<String> {
    // Only line feeds end lines here. `diff_lines` would cut at carriage returns too.
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_slices(&before, &after);
    let mut out = Vec::new();
    for hunk in diff.unified_diff().iter_hunks() {
        out.push(format!("{MARK}{}", style_text(DIM, &hunk.header().to_string())));
        let changes: Vec<(ChangeTag, &str)> =
            hunk.iter_changes().map(|change| (change.tag(), change.value())).collect();
        let marks = match inside {
            Inside::Plain => BTreeMap::new(),
            Inside::Marked => change_marks(&changes),
        };
        for (index, (tag, line)) in changes.into_iter().enumerate() {
            let (sign, style) = match tag {
                ChangeTag::Equal => (" ", None),
                ChangeTag::Delete => ("-", Some(RED)),
                ChangeTag::Insert => ("+", Some(GREEN)),
            };
            out.extend(diff_rows(sign, line.strip_suffix('\n').unwrap_or(line), style));
            out.extend(marks.get(&index).map(|marks| format!("{MARK} {}", style_text(YELLOW, marks))));
            if !line.ends_with('\n') {
                out.push(format!("{MARK}{}", style_text(DIM, "(no line break at the end of the file)")));
            }
        }
    }
    out
}

/// The marks below each changed line that has a counterpart, by its place among the changes: removed lines are paired
/// with those that replace them, in order.
fn change_marks(changes: &[(ChangeTag, &str)]) -> BTreeMap<usize, String> {
    let mut marks = BTreeMap::new();
    let (mut gone, mut paired) = (Vec::new(), 0_usize);
    for (index, (tag, line)) in changes.iter().enumerate() {
        match tag {
            ChangeTag::Equal => (gone, paired) = (Vec::new(), 0),
            ChangeTag::Delete if paired > 0 => (gone, paired) = (vec![(index, *line)], 0),
            ChangeTag::Delete => gone.push((index, *line)),
            ChangeTag::Insert => {
                if let Some((before, old)) = gone.get(paired)
                    && let Some((below_old, below_new)) = words::word_marks(old, line, WIDTH.saturating_sub(1))
                {
                    marks.extend(below_old.map(|marks| (*before, marks)));
                    marks.extend(below_new.map(|marks| (index, marks)));
                }
                paired = paired.saturating_add(1);
            }
        }
    }
    marks
}

/// One line of the text as rows of the screen.
pub(in crate::commands) fn diff_rows(sign: &str, line: &str, style: Option<anstyle::Style>) -> Vec<String> {
    let shown = format!("{sign}{}", show::terminal_str(line));
    let marked = |(index, part): (usize, String)| {
        let mark = if index == 0 { MARK } else { CONTINUED };
        match style {
            _ if part.is_empty() => mark.trim_end().to_owned(),
            Some(style) => format!("{mark}{}", style_text(style, &part)),
            None => format!("{mark}{part}"),
        }
    };
    cut_into_cells(&shown, WIDTH).into_iter().enumerate().map(marked).collect()
}

/// Cuts a text so that no part is wider than `width` cells. Every character beyond ASCII is taken to be two wide.
fn cut_into_cells(text: &str, width: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut cells = 0usize;
    for c in text.chars() {
        let wide = if c.is_ascii() { 1 } else { 2 };
        if cells.saturating_add(wide) > width {
            parts.push(String::new());
            cells = 0;
        }
        cells = cells.saturating_add(wide);
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

#[cfg(test)]
mod tests;
