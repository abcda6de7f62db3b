//! Values whose texts keep their labels apart: what a prompt is given, what an agent proposes, what is stored.
//!
//! [`Untrusted<Json>`](Untrusted) has one label for everything in it. A [`LabelTree`] has one for each leaf, so that a
//! person's word beside a stranger's mail stays trusted and the mail doesn't become so.
//!
//! Invariants: nothing here gives a text from outside a smaller label, moves one out of its [`Untrusted`] or makes
//! ours of it. Null, a yes or no and a number from outside keep a label too: a stranger's amount is no text, but it is
//! his. A list and a map have a label of their own for what somebody chose by their shape, which is how many
//! values there are and what they are called. Names from outside are text from outside: they are bounded, leave only
//! by the doors of this crate, and no message and no `Debug` holds one.
//!
//! Bounds: what comes from outside is checked where it is made, against [`MAX_DEPTH`], [`MAX_VALUES`], [`MAX_BYTES`]
//! and [`MAX_NAME_BYTES`]; what code lays together has the depth that the code gives it, and is checked by
//! [`LabelTree::bounded`] and before it is written. No order of names is compared, hashed or written: only a template
//! goes through a map as it was laid together.
//!
//! Each of these doesn't compile, while its twin below does:
//!
//! ```compile_fail,E0277
//! # use proem_guard::LabelTree;
//! println!("{}", LabelTree::from("main"));
//! ```
//! ```
//! # use proem_guard::{LabelTree, show};
//! println!("{}", show::tree(&LabelTree::from("main"), show::TreeCap::default()));
//! ```
//!
//! ```compile_fail,E0277
//! # use proem_guard::LabelTree;
//! let value = serde_json::to_value(LabelTree::from("main"));
//! ```
//! ```
//! # use proem_guard::{LabelTree, show};
//! let value = show::tree_json(&LabelTree::from("main"));
//! ```
//!
//! ```compile_fail,E0599
//! # use proem_guard::LabelTree;
//! let text: &str = LabelTree::from("main").as_ref();
//! ```
//! ```
//! # use proem_guard::LabelTree; use proem_text::Label;
//! let label: Label = LabelTree::from("main").label();
//! ```
//!
//! ```compile_fail,E0308
//! # use proem_guard::{LabelTree, TreeName};
//! # let tree = LabelTree::map([("a", LabelTree::Null)]);
//! # let LabelTree::Map(map) = &tree else { return };
//! let names: Vec<&str> = map.iter().map(|(name, _)| name).collect::<Vec<&str>>();
//! ```
//! ```
//! # use proem_guard::{LabelTree, TreeName};
//! # let tree = LabelTree::map([("a", LabelTree::Null)]);
//! # let LabelTree::Map(map) = &tree else { return };
//! let names: Vec<TreeName<'_>> = map.iter().map(|(name, _)| name).collect();
//! ```

mod bounds;
mod containers;
mod differences;
mod limits;
pub(crate) mod outline;
mod place;
mod reader;
mod write;

pub use self::containers::{LabelList, LabelMap, TreeName};
pub use self::differences::{DifferenceKind, TreeDifference, tree_differences};
pub use self::limits::{MAX_BYTES, MAX_DEPTH, MAX_LABELS, MAX_NAME_BYTES, MAX_VALUES};
pub use self::place::{PlacePart, TreeError, TreeFault, TreePlace};
pub use self::write::VERSION;

use self::bounds::Bounds;
use self::place::Trail;
use crate::untrusted::Untrusted;
use alloc::{borrow::ToOwned, string::String, sync::Arc};
use proem_text::Label;
use serde_json::{Number, Value as Json};

/// A value with a label for each of its leaves.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelTree {
    /// No value: an optional field that is left open.
    Null,
    /// A yes or no that code computed.
    Bool(bool),
    /// A number that code computed.
    Number(Number),
    /// A text that code computed, such as an id, a date or a word of a closed list, or that a person typed or
    /// approved.
    Text(String),
    /// Somebody else's value that can't carry text.
    Scalar(Untrusted<LabelScalar>),
    /// A text from outside.
    Outside(Untrusted<String>),
    /// A text from outside that the guard flagged: it is contained with a mark at each word.
    Flagged(Untrusted<String>),
    /// Values in their order.
    List(LabelList),
    /// Values by name, in the order in which templates go through them.
    Map(LabelMap),
}

/// A value that can't carry text.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelScalar {
    /// No value.
    Null,
    /// A yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
}

impl LabelTree {
    /// JSON from outside: everything in it keeps its label, shape and names included.
    ///
    /// # Errors
    ///
    /// If it is too deep, too large or has too long a name, with the place.
    pub fn from_outside(json: &Untrusted<Json>) -> Result<Self, TreeError> {
        tree_from_json(json.value(), Some(json.label()), Trail::Root, &mut Bounds::default())
    }

    /// JSON that code computed, or that a person typed or approved.
    ///
    /// # Errors
    ///
    /// If it is too deep, too large or has too long a name, with the place.
    pub fn from_trusted(json: &Json) -> Result<Self, TreeError> {
        tree_from_json(json, None, Trail::Root, &mut Bounds::default())
    }

    /// A list that code lays together.
    pub fn list<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(LabelList::new(Label::trusted(), items.into_iter().map(Into::into)))
    }

    /// A map that code lays together, with names of its own. A name that comes twice takes the last value.
    pub fn map<N: Into<Arc<str>>>(fields: impl IntoIterator<Item = (N, Self)>) -> Self {
        Self::Map(LabelMap::new(Label::trusted(), fields))
    }

    /// The tree, if it is within bounds.
    ///
    /// # Errors
    ///
    /// If it is too deep, too large or has too long a name, with the place.
    pub fn bounded(self) -> Result<Self, TreeError> {
        self.check()?;
        Ok(self)
    }

    /// The join of all labels in it.
    #[must_use]
    pub fn label(&self) -> Label {
        let mut label = Label::trusted();
        self.join_into(&mut label);
        label
    }

    /// The subtree at a place.
    #[must_use]
    pub fn get(&self, place: &TreePlace) -> Option<&Self> {
        place.parts().iter().try_fold(self, |tree, part| match tree {
            Self::List(list) => list.get(part.index()?),
            Self::Map(map) => map.get(part.name()?),
            _ => None,
        })
    }

    /// Puts `tree` where something is, and gives back what was there.
    ///
    /// All other leaves keep their labels. The new subtree comes with its own: a person's words are trusted and a
    /// model's are not, and only the caller knows which they are.
    ///
    /// # Errors
    ///
    /// [`TreeFault::NoPlace`] if nothing is there; what is then too deep or too much. The tree stays as it was.
    pub fn replace(&mut self, place: &TreePlace, tree: Self) -> Result<Self, TreeError> {
        let Some(old) = self.get_mut(place) else {
            return Err(TreeError::new(place.clone(), TreeFault::NoPlace));
        };
        let old = core::mem::replace(old, tree);
        let Err(error) = self.check() else { return Ok(old) };
        if let Some(new) = self.get_mut(place) {
            *new = old;
        }
        Err(error)
    }

    /// Another text from outside, flagged if this one is.
    #[must_use]
    pub const fn with_outside(&self, text: Untrusted<String>) -> Self {
        if matches!(self, Self::Flagged(_)) { Self::Flagged(text) } else { Self::Outside(text) }
    }

    /// Whether a text or a name in it is from outside.
    #[must_use]
    pub fn has_outside(&self) -> bool {
        match self {
            Self::Outside(_) | Self::Flagged(_) => true,
            Self::List(list) => list.iter().any(Self::has_outside),
            Self::Map(map) => {
                let is_named_outside = !map.label().is_trusted() && !map.is_empty();
                is_named_outside || map.values().any(Self::has_outside)
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Scalar(_) => false,
        }
    }

    /// The text of a leaf, for this crate's own doors.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Outside(text) | Self::Flagged(text) => Some(text.value()),
            _ => None,
        }
    }

    /// The value of a leaf that is no text.
    pub(crate) fn scalar(&self) -> Option<Json> {
        match self {
            Self::Null => Some(Json::Null),
            Self::Bool(value) => Some(Json::Bool(*value)),
            Self::Number(number) => Some(Json::Number(number.clone())),
            Self::Scalar(scalar) => Some(scalar.value().to_json()),
            _ => None,
        }
    }

    /// The label of this value alone, without those below it.
    pub(crate) fn own_label(&self) -> Option<&Label> {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => None,
            Self::Scalar(scalar) => Some(scalar.label()),
            Self::Outside(text) | Self::Flagged(text) => Some(text.label()),
            Self::List(list) => Some(list.label()),
            Self::Map(map) => Some(map.label()),
        }
    }

    fn join_into(&self, all: &mut Label) {
        // Most leaves of a tree have one label, so that most joins give what is there.
        if let Some(label) = self.own_label().filter(|label| *label != all) {
            *all = all.join(label);
        }
        match self {
            Self::List(list) => list.iter().for_each(|item| item.join_into(all)),
            Self::Map(map) => map.values().for_each(|field| field.join_into(all)),
            _ => {}
        }
    }

    fn get_mut(&mut self, place: &TreePlace) -> Option<&mut Self> {
        place.parts().iter().try_fold(self, |tree, part| match tree {
            Self::List(list) => list.get_mut(part.index()?),
            Self::Map(map) => map.get_mut(part.name()?),
            _ => None,
        })
    }
}

impl From<&str> for LabelTree {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for LabelTree {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for LabelTree {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<Untrusted<String>> for LabelTree {
    fn from(text: Untrusted<String>) -> Self {
        Self::Outside(text)
    }
}

impl<const N: usize> From<[(&str, Self); N]> for LabelTree {
    fn from(fields: [(&str, Self); N]) -> Self {
        Self::map(fields)
    }
}

fn tree_from_json(
    json: &Json,
    label: Option<&Label>,
    trail: Trail<'_>,
    bounds: &mut Bounds,
) -> Result<LabelTree, TreeError> {
    let text = if let Json::String(text) = json { text.len() } else { 0 };
    bounds.enter(trail, text)?;
    let scalar = |ours: LabelTree, theirs: LabelScalar| match label {
        Some(label) => LabelTree::Scalar(Untrusted::new(theirs, label.clone())),
        None => ours,
    };
    let own = || label.cloned().unwrap_or_else(Label::trusted);
    Ok(match json {
        Json::Null => scalar(LabelTree::Null, LabelScalar::Null),
        Json::Bool(value) => scalar(LabelTree::Bool(*value), LabelScalar::Bool(*value)),
        Json::Number(number) => scalar(LabelTree::Number(number.clone()), LabelScalar::Number(number.clone())),
        Json::String(text) => match label {
            Some(label) => LabelTree::Outside(Untrusted::new(text.clone(), label.clone())),
            None => LabelTree::Text(text.clone()),
        },
        Json::Array(items) => {
            let items = items
                .iter()
                .enumerate()
                .map(|(index, item)| tree_from_json(item, label, Trail::Index(&trail, index), bounds));
            LabelTree::List(LabelList::new(own(), items.collect::<Result<alloc::vec::Vec<_>, _>>()?))
        }
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| {
                let trail = Trail::Name(&trail, name, label);
                Ok((name.as_str(), tree_from_json(field, label, trail, bounds)?))
            });
            LabelTree::Map(LabelMap::new(own(), fields.collect::<Result<alloc::vec::Vec<_>, _>>()?))
        }
    })
}
