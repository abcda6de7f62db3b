//! The differences of another version of a tree.

use super::place::Trail;
use super::{LabelTree, TreePlace};
use alloc::{collections::BTreeSet, vec::Vec};

/// One place at which two trees differ.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeDifference<'t> {
    /// The place; for a removed value in the older tree, else in the newer one.
    pub place: TreePlace,
    /// How the trees differ there.
    pub kind: DifferenceKind<'t>,
}

/// How two trees differ at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DifferenceKind<'t> {
    /// Only the newer tree has something there.
    Added(&'t LabelTree),
    /// Only the older tree had something there.
    Removed(&'t LabelTree),
    /// The value is another one, the label maybe too.
    Changed {
        /// The older tree's value.
        before: &'t LabelTree,
        /// The newer one's value.
        after: &'t LabelTree,
    },
    /// The value is the same and has another label, or was flagged or is no longer. Of a list or a map the label of its
    /// shape is meant, not those of what is in it.
    Relabelled {
        /// The older tree's value.
        before: &'t LabelTree,
        /// The newer one's value.
        after: &'t LabelTree,
    },
}

/// The differences of two trees: names in their order, the surroundings before the contents. There is none exactly if
/// they are equal.
///
/// Of two lists the items at both ends that are the same are no difference. Those between them are compared one by one,
/// so that an item put in front of others doesn't change them all.
#[must_use]
pub fn tree_differences<'t>(before: &'t LabelTree, after: &'t LabelTree) -> Vec<TreeDifference<'t>> {
    let mut all = Vec::new();
    compare_trees(before, after, Trail::Root, &mut all);
    all
}

fn compare_trees<'t>(before: &'t LabelTree, after: &'t LabelTree, trail: Trail<'_>, all: &mut Vec<TreeDifference<'t>>) {
    let mut push = |kind| all.push(TreeDifference { place: trail.place(), kind });
    match (before, after) {
        (LabelTree::List(old), LabelTree::List(new)) => {
            if old.label() != new.label() {
                push(DifferenceKind::Relabelled { before, after });
            }
            compare_items(old.items(), new.items(), trail, all);
        }
        (LabelTree::Map(old), LabelTree::Map(new)) => {
            if old.label() != new.label() {
                push(DifferenceKind::Relabelled { before, after });
            }
            let names: BTreeSet<&str> = old.sorted().into_iter().chain(new.sorted()).map(|(name, _)| name).collect();
            for name in names {
                let is_new = new.get(name).is_some();
                let trail = Trail::Name(&trail, name, if is_new { new } else { old }.outside_label());
                compare_at(old.get(name), new.get(name), trail, all);
            }
        }
        _ if before == after => {}
        _ if is_same_value(before, after) => push(DifferenceKind::Relabelled { before, after }),
        _ => push(DifferenceKind::Changed { before, after }),
    }
}

fn compare_at<'t>(
    before: Option<&'t LabelTree>,
    after: Option<&'t LabelTree>,
    trail: Trail<'_>,
    all: &mut Vec<TreeDifference<'t>>,
) {
    let kind = match (before, after) {
        (Some(before), Some(after)) => return compare_trees(before, after, trail, all),
        (Some(before), None) => DifferenceKind::Removed(before),
        (None, Some(after)) => DifferenceKind::Added(after),
        (None, None) => return,
    };
    all.push(TreeDifference { place: trail.place(), kind });
}

fn compare_items<'t>(
    before: &'t [LabelTree],
    after: &'t [LabelTree],
    trail: Trail<'_>,
    all: &mut Vec<TreeDifference<'t>>,
) {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (before, after) = (before.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |items: &'t [LabelTree]| items.get(..items.len().saturating_sub(tail)).unwrap_or_default();
    let (before, after) = (middle(before), middle(after));
    for at in 0..before.len().max(after.len()) {
        compare_at(before.get(at), after.get(at), Trail::Index(&trail, head.saturating_add(at)), all);
    }
}

/// Whether two leaves have the same value, whoever gave it.
fn is_same_value(a: &LabelTree, b: &LabelTree) -> bool {
    match (a.text(), b.text()) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.scalar().zip(b.scalar()).is_some_and(|(a, b)| a == b),
        _ => false,
    }
}
