//! A tree of labelled values as one contained text.

use super::{ContainedText, ContainmentMode, ContainmentPart, InstallationKey, Tag, contain};
use crate::{
    label_tree::{
        LabelTree,
        outline::{OutlineLine, OutlineName, is_secret_label, tree_outline},
    },
    untrusted::Untrusted,
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use proem_text::{Label, character::is_line_break, json::compact};

/// Puts a tree between delimiters that nothing in it can end: a line for each value, behind its name.
///
/// Texts and names that code computed are treated like those from outside, so that a person who typed a delimiter ends
/// nothing either. Their label stays. Further lines of a text come behind a bar, a name on one line, and the places of
/// findings are those of the texts laid out in this way. Secrets are left out, with a note.
#[must_use]
pub fn contain_tree(tree: &LabelTree, tag: &Tag, key: &InstallationKey) -> ContainedText {
    let lines: Vec<ContainmentLine> =
        tree_outline(OutlineName::None, tree).into_iter().map(ContainmentLine::of).collect();
    let parts: Vec<ContainmentPart<'_>> = lines.iter().flat_map(ContainmentLine::parts).collect();
    let mut contained = contain(&parts, tag, key);
    // Of numbers, yes and no and shapes the text has no part of its own.
    contained.label = contained.label.join(&tree.label());
    contained
}

/// The parts of one line.
struct ContainmentLine {
    begin: String,
    name: Option<Untrusted<String>>,
    value: String,
    text: Option<(Untrusted<String>, ContainmentMode)>,
}

impl ContainmentLine {
    fn of(line: OutlineLine<'_>) -> Self {
        let mut begin = format!("{}-", "  ".repeat(line.depth));
        let named = |text: &str, label: Label| Some(Untrusted::new(with_breaks(text, " "), label));
        let mut name = None;
        match line.name {
            OutlineName::None => {}
            OutlineName::Ours(text) => name = named(text, Label::trusted()),
            OutlineName::Index(index) => begin.push_str(&format!(" {index}:")),
            OutlineName::Outside(_, label) if is_secret_label(label) => begin.push_str(" (secret):"),
            OutlineName::Outside(text, label) => name = named(text, label.clone()),
        }
        let (mut value, mut text) = (String::new(), None);
        if name.is_some() {
            begin.push(' ');
            value.push(':');
        }
        if line.tree.own_label().is_some_and(is_secret_label) {
            value.push_str(" (secret)");
        } else if let Some(scalar) = line.tree.scalar() {
            value.push_str(&format!(" {}", compact(&scalar)));
        } else {
            text = match line.tree {
                LabelTree::Text(text) => {
                    Some((Untrusted::new(text.to_string(), Label::trusted()), ContainmentMode::Delimit))
                }
                LabelTree::Outside(text) => Some((text.clone(), ContainmentMode::Delimit)),
                LabelTree::Flagged(text) => Some((text.clone(), ContainmentMode::Datamark)),
                _ => None,
            };
            // A line that begins with foreign text would pass for one of the tree's.
            let margin = format!("\n{}  │ ", "  ".repeat(line.depth));
            text = text.map(|(text, mode)| (text.map(|text| with_breaks(&text, &margin)), mode));
            if text.is_some() {
                value.push(' ');
            }
        }
        Self { begin, name, value, text }
    }

    fn parts(&self) -> Vec<ContainmentPart<'_>> {
        let name = self.name.as_ref().map(ContainmentPart::Outside);
        let text = self.text.as_ref().map(|(text, mode)| ContainmentPart::Kept(text, *mode));
        let begin = [ContainmentPart::Ours(&self.begin)];
        let parts = begin.into_iter().chain(name).chain([ContainmentPart::Ours(&self.value)]).chain(text);
        parts.chain([ContainmentPart::Ours("\n")]).collect()
    }
}

/// The text with something else for each of its line breaks.
fn with_breaks(text: &str, other: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        match c {
            // CR LF is one line break (UAX #14, LB5).
            '\n' if before == Some('\r') => {}
            c if is_line_break(c) => out.push_str(other),
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}
