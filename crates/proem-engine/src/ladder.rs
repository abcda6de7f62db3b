//! The ladders: how a list or a text gets smaller as a whole. [`items`] climb alone.

pub(crate) mod items;

use proem_guard::{LabelList, LabelTree, Untrusted};
use proem_text::shorten_text;

use crate::section::Rung;

/// Items kept at the head of a list that is shown in brief.
const HEAD: usize = 3;
/// Items kept at its tail.
const TAIL: usize = 2;
/// The longest line that a text is shown by in brief, in characters.
const LINE: usize = 200;

/// A value on one rung, with the line of ours that says what is missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShrunkValue {
    pub(crate) value: LabelTree,
    pub(crate) note: Option<String>,
}

/// Puts `value` on `rung`.
///
/// In brief a list keeps its first three and last two items, each text in it its first line. A text keeps its first
/// line. As a count nothing is kept but the number of items, or of lines and bytes.
pub(crate) fn shrink_value(name: &str, value: &LabelTree, rung: Rung) -> ShrunkValue {
    let kept = |value: LabelTree, note: Option<String>| ShrunkValue { value, note };
    match (value, rung) {
        // The last four are for items that bring them themselves. A file that asks for one here is refused.
        (_, Rung::Full | Rung::Parts | Rung::Excerpt | Rung::Outline | Rung::Named)
        | (LabelTree::Null | LabelTree::Bool(_) | LabelTree::Number(_) | LabelTree::Scalar(_) | LabelTree::Map(_), _) => {
            kept(value.clone(), None)
        }
        (LabelTree::List(items), Rung::Brief) => {
            let cut = items.len().saturating_sub(HEAD.saturating_add(TAIL));
            let tail = items.iter().skip(HEAD.saturating_add(cut));
            let few: Vec<LabelTree> = items.iter().take(HEAD).chain(tail).map(first_lines).collect();
            let note = match (cut, items.len()) {
                (0, 1) => format!("[{name}: the first line of the one item]"),
                (0, all) => format!("[{name}: {all} items, the first line of each]"),
                (_, all) => format!("[{name}: {} of {all} items, first and last, the first line of each]", few.len()),
            };
            let note = (!few.iter().eq(items.iter())).then_some(note);
            kept(list_like(items, few), note)
        }
        (LabelTree::List(items), Rung::Count) => {
            let s = if items.len() == 1 { "" } else { "s" };
            let note = (!items.is_empty()).then(|| format!("[{name}: {} item{s}, not shown]", items.len()));
            kept(list_like(items, Vec::new()), note)
        }
        (LabelTree::List(items), Rung::Omitted) => kept(list_like(items, Vec::new()), None),
        (LabelTree::Text(text), _) => {
            let (short, note) = shrink_text(name, text, rung);
            kept(LabelTree::Text(short), note)
        }
        (LabelTree::Outside(text) | LabelTree::Flagged(text), _) => {
            let (mut lines, mut bytes, mut changed) = (0usize, 0usize, false);
            text.measure(|text| {
                (lines, bytes) = (text.lines().count(), text.len());
                changed = shrink_text(name, text, rung).0 != *text;
            });
            let short: Untrusted<String> = text.clone().map(|text| shrink_text(name, &text, rung).0);
            kept(value.with_outside(short), shrink_note(name, rung, lines, bytes).filter(|_| changed))
        }
    }
}

fn shrink_text(name: &str, text: &str, rung: Rung) -> (String, Option<String>) {
    let short = match rung {
        Rung::Full | Rung::Parts | Rung::Excerpt | Rung::Outline | Rung::Named => text.to_owned(),
        Rung::Brief => first_cut_line(text),
        Rung::Count | Rung::Omitted => String::new(),
    };
    let note = shrink_note(name, rung, text.lines().count(), text.len()).filter(|_| short != text);
    (short, note)
}

fn shrink_note(name: &str, rung: Rung, lines: usize, bytes: usize) -> Option<String> {
    match rung {
        Rung::Full | Rung::Parts | Rung::Excerpt | Rung::Outline | Rung::Named | Rung::Omitted => None,
        Rung::Brief => Some(format!("[{name}: the first of {lines} lines]")),
        Rung::Count => Some(format!("[{name}: {lines} lines, {bytes} bytes, not shown]")),
    }
}

fn first_lines(value: &LabelTree) -> LabelTree {
    match value {
        LabelTree::Text(text) => LabelTree::Text(first_cut_line(text)),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => {
            value.with_outside(text.clone().map(|text| first_cut_line(&text)))
        }
        LabelTree::List(items) => list_like(items, items.iter().map(first_lines).collect()),
        LabelTree::Map(map) => LabelTree::Map(map.map(first_lines)),
        other => other.clone(),
    }
}

/// Other items under the label of a list's shape.
fn list_like(list: &LabelList, items: Vec<LabelTree>) -> LabelTree {
    LabelTree::List(LabelList::new(list.label().clone(), items))
}

fn first_cut_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    shorten_text(line, LINE).into_owned()
}
