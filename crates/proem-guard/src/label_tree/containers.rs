//! Lists and maps of a tree, each with the label of its shape.

use super::LabelTree;
use crate::untrusted::Untrusted;
use alloc::{borrow::ToOwned, string::String, sync::Arc, vec::Vec};
use core::fmt;
use proem_text::{Label, OrderedMap};

/// Values in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelList {
    label: Label,
    items: Vec<LabelTree>,
}

impl LabelList {
    /// A list whose number and order of items was chosen by whom `label` says.
    pub fn new(label: Label, items: impl IntoIterator<Item = LabelTree>) -> Self {
        Self { label, items: items.into_iter().collect() }
    }

    /// The label of their number and order.
    #[must_use]
    pub const fn label(&self) -> &Label {
        &self.label
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item at a place, from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&LabelTree> {
        self.items.get(index)
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &LabelTree> + ExactSizeIterator {
        self.items.iter()
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut LabelTree> {
        self.items.get_mut(index)
    }

    pub(super) fn items(&self) -> &[LabelTree] {
        &self.items
    }
}

/// Values by name. Two maps are equal if they have the same values by the same names, in any order.
#[derive(Clone)]
pub struct LabelMap {
    label: Label,
    fields: OrderedMap<LabelTree>,
}

/// The name of a value in a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeName<'t> {
    /// By a word that code wrote.
    Ours(&'t str),
    /// By a text from outside.
    Outside(Untrusted<String>),
}

impl LabelMap {
    /// A map whose names were chosen by whom `label` says. A name that comes twice takes the last value.
    pub fn new<N: Into<Arc<str>>>(label: Label, fields: impl IntoIterator<Item = (N, LabelTree)>) -> Self {
        Self { label, fields: fields.into_iter().collect() }
    }

    /// The label of the set of names.
    #[must_use]
    pub const fn label(&self) -> &Label {
        &self.label
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The value of a name that code knows.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&LabelTree> {
        self.fields.get(name)
    }

    /// All of them, in the order in which they were laid together.
    pub fn iter(&self) -> impl Iterator<Item = (TreeName<'_>, &LabelTree)> {
        self.fields.iter().map(|(name, field)| (self.name(name), field))
    }

    /// The same names with other values.
    #[must_use]
    pub fn map(&self, change: impl Fn(&LabelTree) -> LabelTree) -> Self {
        let fields = self.fields.shared().map(|(name, field)| (Arc::clone(name), change(field)));
        Self::new(self.label.clone(), fields)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &LabelTree> {
        self.fields.iter().map(|(_, field)| field)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut LabelTree> {
        self.fields.get_mut(name)
    }

    /// All of them by name, for this crate's own doors.
    pub(crate) fn sorted(&self) -> Vec<(&str, &LabelTree)> {
        let mut fields: Vec<_> = self.fields.iter().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        fields
    }

    /// The label of its names if they are from outside.
    pub(crate) fn outside_label(&self) -> Option<&Label> {
        (!self.label.is_trusted()).then_some(&self.label)
    }

    fn name<'t>(&self, name: &'t str) -> TreeName<'t> {
        match self.outside_label() {
            Some(label) => TreeName::Outside(Untrusted::new(name.to_owned(), label.clone())),
            None => TreeName::Ours(name),
        }
    }
}

impl PartialEq for LabelMap {
    fn eq(&self, other: &Self) -> bool {
        let holds = |(name, field)| other.fields.get(name) == Some(field);
        self.label == other.label && self.len() == other.len() && self.fields.iter().all(holds)
    }
}

impl fmt::Debug for LabelMap {
    /// Without names from outside.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LabelMap ")?;
        f.debug_map().entries(self.iter()).finish()
    }
}
