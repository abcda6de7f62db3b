//! Whether a tree keeps to its limits.

use super::LabelTree;
use super::limits::{MAX_BYTES, MAX_DEPTH, MAX_NAME_BYTES, MAX_VALUES};
use super::place::{Trail, TreeError, TreeFault};

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    values: usize,
    bytes: usize,
}

impl Bounds {
    /// Counts the value at a place, with the bytes of its text.
    pub(super) fn enter(&mut self, trail: Trail<'_>, text: usize) -> Result<(), TreeError> {
        let name = trail.name().map_or(0, str::len);
        self.values = self.values.saturating_add(1);
        self.bytes = self.bytes.saturating_add(text).saturating_add(name);
        let fault = if trail.depth() > MAX_DEPTH {
            TreeFault::Depth
        } else if name > MAX_NAME_BYTES {
            TreeFault::Name
        } else if self.values > MAX_VALUES {
            TreeFault::Values
        } else if self.bytes > MAX_BYTES {
            TreeFault::Bytes
        } else {
            return Ok(());
        };
        Err(TreeError::new(trail.place(), fault))
    }
}

impl LabelTree {
    /// Whether it is within bounds.
    pub(super) fn check(&self) -> Result<(), TreeError> {
        count_tree(self, Trail::Root, &mut Bounds::default())
    }
}

fn count_tree(tree: &LabelTree, trail: Trail<'_>, bounds: &mut Bounds) -> Result<(), TreeError> {
    let text = match tree {
        LabelTree::Text(text) => text.len(),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => text.len(),
        _ => 0,
    };
    bounds.enter(trail, text)?;
    match tree {
        LabelTree::List(list) => {
            let mut items = list.iter().enumerate();
            items.try_for_each(|(index, item)| count_tree(item, Trail::Index(&trail, index), bounds))
        }
        LabelTree::Map(map) => {
            let mut fields = map.sorted().into_iter();
            fields
                .try_for_each(|(name, field)| count_tree(field, Trail::Name(&trail, name, map.outside_label()), bounds))
        }
        _ => Ok(()),
    }
}
