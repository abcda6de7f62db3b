//! How lines of a file are written: behind a tab, some with their number, with notes on what is not shown between them; and
//! the outline.
//!
//! Invariant: no line of a file that isn't empty stands without a tab before it, so that none passes for a note.

use std::collections::BTreeSet;

use proem_select::context::LineSpan;
use proem_text::shorten_text;

use super::{Definition, LONGEST_LINE, last_line, numbered_lines, place_of};

/// The most lines of an outline.
const MAX_OUTLINE: usize = 60;
/// Of how many lines one has its number before it.
const NUMBERED_LINES: u32 = 10;

/// These lines, each behind a tab, and behind its number where a span begins and then in every tenth line: in front of
/// each, numbers took a sixth of the tokens (evals/context). Between them stands what is not shown, behind no tab.
/// An underline has its number as well: behind space alone, containment breaks it as that of a heading.
pub(super) fn code_listing(lines: &[&str], spans: &BTreeSet<LineSpan>, definitions: &[Definition]) -> String {
    let mut out = String::new();
    let mut next = 1;
    for span in spans {
        elision(next, span.first.saturating_sub(1), definitions, &mut out);
        for (number, line) in numbered_lines(lines, *span) {
            if number == span.first || number.is_multiple_of(NUMBERED_LINES) || is_underline(line) {
                out.push_str(&format!("{number}\t"));
            } else if !line.is_empty() {
                out.push('\t');
            }
            push_line(line, &mut out);
        }
        next = span.last.saturating_add(1);
    }
    elision(next, last_line(lines), definitions, &mut out);
    out
}

/// Says what is between two lines and is not shown.
fn elision(first: u32, last: u32, definitions: &[Definition], out: &mut String) {
    if first > last {
        return;
    }
    let lines = last.saturating_sub(first).saturating_add(1);
    let inside = |definition: &&Definition| (first..=last).contains(&definition.lines.first);
    let s = |is_one: bool| if is_one { "" } else { "s" };
    let defined = definitions.iter().filter(inside).count();
    let defined = if defined == 0 { String::new() } else { format!(", {defined} definition{}", s(defined == 1)) };
    let of = cut_definition(first, last, definitions);
    let of = match of {
        Some(cut) if last < cut.lines.last => format!(" of `{}`", cut.name),
        Some(cut) => format!(" from `{}` on", cut.name),
        None => String::new(),
    };
    out.push_str(&format!("[{lines} line{}{of}{defined} not shown]\n", s(lines == 1)));
}

/// The definition of which some lines are shown and these are cut out. `None` if they are between definitions, or
/// behind a signature.
fn cut_definition(first: u32, last: u32, definitions: &[Definition]) -> Option<&Definition> {
    let is_around = |definition: &&Definition| definition.lines.holds(first) && definition.signature.last < first;
    let inner = definitions.iter().filter(is_around).min_by_key(|definition| definition.lines.len())?;
    // A reader knows that a container goes on behind its members.
    let holds_others = definitions.iter().any(|other| inner.lines.contains(other.lines) && other.lines != inner.lines);
    let is_cut = last < inner.lines.last || first > inner.signature.last.saturating_add(1);
    (is_cut && !holds_others && !inner.name.is_empty()).then_some(inner)
}

/// Whether a line underlines the one above it, as titles of reStructuredText and of documentation in Python are.
fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| matches!(c, '-' | '='))
}

fn push_line(line: &str, out: &mut String) {
    out.push_str(&shorten_text(line, LONGEST_LINE));
    out.push('\n');
}

/// The signatures of a file's definitions, or a document's headings.
pub(super) fn signature_outline(lines: &[&str], definitions: &[Definition]) -> Option<String> {
    let mut starts: Vec<u32> = definitions.iter().map(|definition| definition.signature.first).collect();
    if starts.is_empty() {
        let is_heading = |line: &&str| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
        starts = (1..).zip(lines).filter(|(_, line)| is_heading(line)).map(|(number, _)| number).collect();
    }
    starts.sort_unstable();
    starts.dedup();
    if starts.is_empty() {
        return None;
    }
    let mut out = String::new();
    for start in starts.iter().take(MAX_OUTLINE) {
        let Some(line) = lines.get(place_of(*start)) else { continue };
        out.push_str(&format!("{start}\t"));
        push_line(line.trim_end_matches(['{', ' ']), &mut out);
    }
    let more = starts.len().saturating_sub(MAX_OUTLINE);
    if more > 0 {
        out.push_str(&format!("[{more} more not shown]\n"));
    }
    Some(out)
}
