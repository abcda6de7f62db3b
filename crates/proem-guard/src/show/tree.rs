//! Trees of labelled values on a screen.
//!
//! Each line begins with a sign, a number or a word of ours, or with a remark of ours about the value there. A list or
//! map without a name or an origin has no line of its own. Texts from outside come below the name of their source, each
//! line of them behind a bar, and capped. Names from outside come in the brackets of our remarks, which no text from
//! outside can have. Secrets are not shown.

use super::{ScreenText, html_escaped, terminal_str};
use crate::label_tree::{
    DifferenceKind, LabelTree, PlacePart, TreeDifference, TreePlace,
    outline::{OutlineName, is_secret_label},
};
use alloc::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use proem_text::{Audience, Label, Sources, json::compact};
use serde_json::Value as Json;

/// How much of a tree is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeCap {
    /// The most characters of each text from outside.
    pub characters: usize,
    /// The most lines.
    pub lines: usize,
}

impl TreeCap {
    /// Everything.
    pub const WHOLE: Self = Self { characters: usize::MAX, lines: usize::MAX };
}

impl Default for TreeCap {
    /// The size that a person reads.
    fn default() -> Self {
        Self { characters: 2000, lines: 500 }
    }
}

/// The most characters of a name from outside.
const NAME: usize = 64;
/// The most sources of a label.
const SOURCES: usize = 4;

/// The tree for a terminal, a line for each value, without a final line break.
#[must_use]
pub fn tree(tree: &LabelTree, cap: TreeCap) -> ScreenText {
    let tree = innermost_item(tree);
    if !is_silent(tree) {
        return cap_lines(tree_lines(OutlineName::None, tree, 0, cap), cap);
    }
    let mut shown = Vec::new();
    add_child_lines("", "-", tree, cap, &mut shown);
    cap_lines(shown, cap)
}

/// The tree for a web page, inside a `pre`: as [`tree()`], with character references.
#[must_use]
pub fn tree_html(tree: &LabelTree, cap: TreeCap) -> ScreenText {
    ScreenText(html_escaped(self::tree(tree, cap).as_str()))
}

/// The exact values without their labels, as [`super::exact_json`] gives a text: never capped, nothing hidden.
#[must_use]
pub fn tree_json(tree: &LabelTree) -> Json {
    match tree {
        LabelTree::List(list) => list.iter().map(tree_json).collect(),
        LabelTree::Map(map) => {
            let fields = map.sorted().into_iter().map(|(name, field)| (String::from(name), tree_json(field)));
            Json::Object(fields.collect())
        }
        leaf => leaf.text().map(Json::from).or_else(|| leaf.scalar()).unwrap_or_default(),
    }
}

/// A place for a terminal, on one line: `/fields/body`.
#[must_use]
pub fn terminal_place(place: &TreePlace) -> ScreenText {
    let mut out = String::new();
    for part in place.parts() {
        out.push('/');
        match part {
            PlacePart::Ours(name) => out.push_str(terminal_str(name).as_str()),
            PlacePart::Outside(name) => out.push_str(&outside_name(name.value(), name.label())),
            PlacePart::Index(index) => out.push_str(&index.to_string()),
        }
    }
    if out.is_empty() {
        out.push('/');
    }
    ScreenText(out)
}

/// Differences for a terminal, without a final line break: each place with what was there and what does.
#[must_use]
pub fn terminal_differences(all: &[TreeDifference<'_>], cap: TreeCap) -> ScreenText {
    let mut shown = Vec::new();
    for difference in all {
        let place = self::terminal_place(&difference.place);
        match difference.kind {
            DifferenceKind::Added(tree) => {
                shown.push(format!("added {place}"));
                shown.extend(tree_lines(OutlineName::Ours("new"), tree, 1, cap));
            }
            DifferenceKind::Removed(tree) => {
                shown.push(format!("removed {place}"));
                shown.extend(tree_lines(OutlineName::Ours("old"), tree, 1, cap));
            }
            DifferenceKind::Changed { before, after } => {
                shown.push(format!("changed {place}"));
                shown.extend(tree_lines(OutlineName::Ours("old"), before, 1, cap));
                shown.extend(tree_lines(OutlineName::Ours("new"), after, 1, cap));
            }
            DifferenceKind::Relabelled { before, after } => {
                let origin = |tree| origin_remark(tree).unwrap_or_else(|| "⟨ours⟩".into());
                shown.push(format!("relabelled {place}: was {}, is {}", origin(before), origin(after)));
            }
        }
    }
    cap_lines(shown, cap)
}

/// As many lines as there may be.
fn cap_lines(mut lines: Vec<String>, cap: TreeCap) -> ScreenText {
    let more = lines.len().saturating_sub(cap.lines);
    lines.truncate(cap.lines);
    if more > 0 {
        lines.push(format!("⟨{more} more lines⟩"));
    }
    ScreenText(lines.join("\n"))
}

/// The lines of a tree below a name.
fn tree_lines(name: OutlineName<'_>, tree: &LabelTree, depth: usize, cap: TreeCap) -> Vec<String> {
    let mut shown = Vec::new();
    add_value_lines(
        &Lead { indent: "  ".repeat(depth), sign: "-".into(), name: outline_name_words(name) },
        tree,
        cap,
        &mut shown,
    );
    shown
}

/// The lead of a value: the start of its line, the sign of an item, and its name.
#[derive(Debug, Clone)]
struct Lead {
    indent: String,
    sign: String,
    name: String,
}

impl Lead {
    fn begin(&self) -> String {
        let words = [self.sign.as_str(), self.name.as_str()].into_iter().filter(|word| !word.is_empty());
        format!("{}{}", self.indent, words.collect::<Vec<_>>().join(" "))
    }
}

fn outline_name_words(name: OutlineName<'_>) -> String {
    match name {
        OutlineName::None | OutlineName::Index(_) => String::new(),
        OutlineName::Ours(name) => format!("{}:", terminal_str(name)),
        OutlineName::Outside(name, label) => format!("{}:", outside_name(name, label)),
    }
}

/// Whether the line of a list or map of its own would say nothing: there is more below it, and it came from nowhere.
fn is_silent(tree: &LabelTree) -> bool {
    let is_full = match tree {
        LabelTree::List(list) => list.iter().len() > 0,
        LabelTree::Map(map) => !map.is_empty(),
        _ => false,
    };
    is_full && origin_remark(tree).is_none()
}

/// The one thing that a list holds, as often as that is so: nobody counts to one.
fn innermost_item(tree: &LabelTree) -> &LabelTree {
    match tree {
        LabelTree::List(list) if list.iter().len() == 1 && is_silent(tree) => list.get(0).map_or(tree, innermost_item),
        tree => tree,
    }
}

/// Adds a value with all below it.
fn add_value_lines(lead: &Lead, tree: &LabelTree, cap: TreeCap, shown: &mut Vec<String>) {
    let tree = innermost_item(tree);
    if !is_silent(tree) || !lead.name.is_empty() {
        shown.extend(of_line(lead, tree, cap));
        return add_child_lines(&format!("{}  ", lead.indent), "-", tree, cap, shown);
    }
    // A number without a name is before the first of what it counts, and the rest below that.
    let (first, width) = (shown.len(), lead.sign.chars().count().saturating_add(1));
    let indent = format!("{}{}", lead.indent, " ".repeat(width));
    add_child_lines(&indent, "", tree, cap, shown);
    if let Some(line) = shown.get_mut(first) {
        let rest = line.strip_prefix(&indent).unwrap_or_default();
        *line = format!("{}{} {rest}", lead.indent, lead.sign);
    }
}

/// Adds what a list or a map holds: items with their numbers, fields with their names behind `sign`.
fn add_child_lines(indent: &str, sign: &str, tree: &LabelTree, cap: TreeCap, shown: &mut Vec<String>) {
    let lead = |sign: String, name: String| Lead { indent: indent.into(), sign, name };
    match tree {
        LabelTree::List(list) => {
            for (number, item) in (1_usize..).zip(list.iter()) {
                add_value_lines(&lead(format!("{number}."), String::new()), item, cap, shown);
            }
        }
        LabelTree::Map(map) => {
            for (name, field) in map.sorted() {
                let name = map.outside_label().map_or(OutlineName::Ours(name), |of| OutlineName::Outside(name, of));
                add_value_lines(&lead(sign.into(), outline_name_words(name)), field, cap, shown);
            }
        }
        _ => {}
    }
}

fn of_line(lead: &Lead, tree: &LabelTree, cap: TreeCap) -> Vec<String> {
    let indent = &lead.indent;
    let begin = lead.begin();
    let begin = match origin_remark(tree) {
        Some(origin) if begin.trim().is_empty() => format!("{indent}{origin}"),
        Some(origin) => format!("{begin} {origin}"),
        None => begin,
    };
    if tree.own_label().is_some_and(is_secret_label) {
        return vec![begin];
    }
    if let Some(scalar) = tree.scalar() {
        return vec![format!("{begin} {}", compact(&scalar))];
    }
    let Some(text) = tree.text() else {
        let is_empty = match tree {
            LabelTree::List(list) => list.is_empty(),
            LabelTree::Map(map) => map.is_empty(),
            _ => false,
        };
        return vec![if is_empty { format!("{begin} (none)") } else { begin }];
    };
    if text.is_empty() {
        return vec![format!("{begin} (empty)")];
    }
    let is_ours = matches!(tree, LabelTree::Text(_));
    if is_ours && !text.contains('\n') {
        return vec![format!("{begin} {}", terminal_str(text))];
    }
    let most = if is_ours { usize::MAX } else { cap.characters };
    let (head, more) = match text.char_indices().nth(most) {
        Some((end, _)) => text.split_at_checked(end).unwrap_or((text, "")),
        None => (text, ""),
    };
    let mut shown = vec![begin];
    shown.extend(head.split('\n').map(|text| format!("{indent}    │ {}", terminal_str(text))));
    if !more.is_empty() {
        shown.push(format!("{indent}    ⟨{} more characters⟩", more.chars().count()));
    }
    shown
}

fn outside_name(name: &str, label: &Label) -> String {
    if is_secret_label(label) {
        return "⟨secret⟩".into();
    }
    format!("⟨{}⟩", super::show_capped(name, NAME, super::push_plain))
}

/// A value's origin, as a remark. Nothing for a computed value.
fn origin_remark(tree: &LabelTree) -> Option<String> {
    let label = tree.own_label()?;
    let is_shape = matches!(tree, LabelTree::List(_) | LabelTree::Map(_));
    if is_shape && *label == Label::trusted() {
        return None;
    }
    let mut words = Vec::new();
    if matches!(tree, LabelTree::Flagged(_)) {
        words.push("flagged".into());
    }
    if is_secret_label(label) {
        words.push("secret".into());
    }
    words.push(match label.sources() {
        Sources::Many => "from many sources".into(),
        Sources::Named(named) if named.is_empty() => "from outside".into(),
        Sources::Named(named) => {
            let some: Vec<&str> = named.iter().take(SOURCES).map(proem_text::Source::as_str).collect();
            match named.len().saturating_sub(some.len()) {
                0 => format!("from {}", some.join(", ")),
                more => format!("from {} and {more} more", some.join(", ")),
            }
        }
    });
    if label.audience() > Audience::Public {
        words.push(format!("for {}", label.audience().as_str()));
    }
    Some(format!("⟨{}⟩", words.join(", ")))
}
