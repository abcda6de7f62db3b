//! A tree as lines, one for each value: what screens and prompts are written from.

use super::LabelTree;
use alloc::vec::Vec;
use proem_text::{Label, Secrecy};

/// One value of a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutlineLine<'t> {
    /// How many lists and maps are around it.
    pub(crate) depth: usize,
    pub(crate) name: OutlineName<'t>,
    pub(crate) tree: &'t LabelTree,
}

/// The beginning of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OutlineName<'t> {
    None,
    Ours(&'t str),
    Outside(&'t str, &'t Label),
    Index(usize),
}

/// All values of a tree, names in their order.
pub(crate) fn tree_outline<'t>(name: OutlineName<'t>, tree: &'t LabelTree) -> Vec<OutlineLine<'t>> {
    let mut lines = Vec::new();
    add_outline_line(OutlineLine { depth: 0, name, tree }, &mut lines);
    lines
}

fn add_outline_line<'t>(line: OutlineLine<'t>, lines: &mut Vec<OutlineLine<'t>>) {
    lines.push(line);
    let depth = line.depth.saturating_add(1);
    match line.tree {
        LabelTree::List(list) => {
            for (index, tree) in list.iter().enumerate() {
                add_outline_line(OutlineLine { depth, name: OutlineName::Index(index), tree }, lines);
            }
        }
        LabelTree::Map(map) => {
            for (name, tree) in map.sorted() {
                let name = match map.outside_label() {
                    Some(label) => OutlineName::Outside(name, label),
                    None => OutlineName::Ours(name),
                };
                add_outline_line(OutlineLine { depth, name, tree }, lines);
            }
        }
        _ => {}
    }
}

/// Whether what has this label stays hidden.
pub(crate) fn is_secret_label(label: &Label) -> bool {
    label.secrecy() == Secrecy::Secret
}
