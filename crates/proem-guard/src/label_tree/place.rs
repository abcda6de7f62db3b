//! A place in a tree, and the fault there.

use super::limits::{MAX_BYTES, MAX_DEPTH, MAX_LABELS, MAX_NAME_BYTES, MAX_VALUES};
use crate::untrusted::Untrusted;
use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::fmt;
use proem_text::Label;

/// A place in a tree.
///
/// It is no text, because names on the way may be from outside. [`crate::show::terminal_place`] shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreePlace(Vec<PlacePart>);

/// One level of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacePart {
    /// A name that code wrote. In a list, its digits are an index.
    Ours(String),
    /// A name from outside.
    Outside(Untrusted<String>),
    /// The place in a list, from 0.
    Index(usize),
}

impl TreePlace {
    /// Reads a JSON pointer that code wrote, such as `/fields/body`. `None` if it is none.
    ///
    /// Source: RFC 6901, section 3. The whole tree is the empty text.
    #[must_use]
    pub fn pointer(pointer: &str) -> Option<Self> {
        if pointer.is_empty() {
            return Some(Self::default());
        }
        let parts = pointer.strip_prefix('/')?.split('/').map(|part| {
            let is_whole = part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
            is_whole.then(|| PlacePart::Ours(part.replace("~1", "/").replace("~0", "~")))
        });
        parts.collect::<Option<_>>().map(Self)
    }

    /// Its levels, from the root.
    #[must_use]
    pub fn parts(&self) -> &[PlacePart] {
        &self.0
    }
}

impl PlacePart {
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Ours(name) => Some(name),
            Self::Outside(name) => Some(name.value()),
            Self::Index(_) => None,
        }
    }

    pub(super) fn index(&self) -> Option<usize> {
        match self {
            Self::Index(index) => Some(*index),
            Self::Ours(digits) => {
                let is_index = digits == "0" || !digits.starts_with(['0', '+']);
                is_index.then(|| digits.parse().ok()).flatten()
            }
            Self::Outside(_) => None,
        }
    }
}

/// The way from the root to what is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trail<'t> {
    Root,
    /// A name, with its label if it is from outside.
    Name(&'t Self, &'t str, Option<&'t Label>),
    Index(&'t Self, usize),
}

impl<'t> Trail<'t> {
    const fn parent(&self) -> Option<&'t Self> {
        match self {
            Self::Root => None,
            Self::Name(parent, ..) | Self::Index(parent, _) => Some(parent),
        }
    }

    /// The name of what is looked at.
    pub(super) const fn name(&self) -> Option<&'t str> {
        if let Self::Name(_, name, _) = self { Some(name) } else { None }
    }

    /// How many lists and maps are around it.
    pub(super) fn depth(&self) -> usize {
        core::iter::successors(self.parent(), |trail| trail.parent()).count()
    }

    pub(super) fn place(&self) -> TreePlace {
        let all = core::iter::successors(Some(self), |trail| trail.parent());
        let mut parts: Vec<PlacePart> = all
            .filter_map(|trail| match trail {
                Self::Root => None,
                Self::Name(_, name, None) => Some(PlacePart::Ours((*name).to_owned())),
                Self::Name(_, name, Some(label)) => {
                    Some(PlacePart::Outside(Untrusted::new((*name).to_owned(), (*label).clone())))
                }
                Self::Index(_, index) => Some(PlacePart::Index(*index)),
            })
            .collect();
        parts.reverse();
        TreePlace(parts)
    }
}

/// Something is wrong with a tree.
///
/// Its message has `*` for each name from outside, and holds no text of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeError {
    /// The place: in the tree, or in the document that should be read as one.
    pub place: TreePlace,
    /// The fault there.
    pub fault: TreeFault,
}

/// The reason why a tree of labels can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeFault {
    /// It is in more than [`MAX_DEPTH`] lists and maps.
    Depth,
    /// With it there are more than [`MAX_VALUES`] values.
    Values,
    /// With it there are more than [`MAX_BYTES`] bytes.
    Bytes,
    /// Its name is longer than [`MAX_NAME_BYTES`] bytes.
    Name,
    /// With its label there are more than [`MAX_LABELS`] of them.
    Labels,
    /// Nothing is there.
    NoPlace,
    /// The document is longer than any tree.
    Length,
    /// The document is no JSON.
    NoJson,
    /// It isn't written as this version writes it.
    Form,
    /// It was written by another version.
    Version,
    /// It is no label: a source, an audience or a field of it is none.
    Label,
    /// It names a label that isn't in the table.
    LabelIndex,
    /// Everything in it could be read, but it isn't written the one way in which it is written: at this byte.
    Canonical(usize),
}

impl TreeError {
    pub(super) const fn new(place: TreePlace, fault: TreeFault) -> Self {
        Self { place, fault }
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.0.is_empty() {
            f.write_str("the whole tree")?;
        } else {
            f.write_str("`")?;
            for part in &self.place.0 {
                match part {
                    PlacePart::Ours(name) => write!(f, "/{}", crate::show::terminal_str(name))?,
                    PlacePart::Outside(_) => f.write_str("/*")?,
                    PlacePart::Index(index) => write!(f, "/{index}")?,
                }
            }
            f.write_str("`")?;
        }
        match self.fault {
            TreeFault::Depth => write!(f, ": more than {MAX_DEPTH} lists and maps stand in each other; flatten it"),
            TreeFault::Values => write!(f, ": there are more than {MAX_VALUES} values; leave some out"),
            TreeFault::Bytes => write!(f, ": texts and names have more than {MAX_BYTES} bytes; shorten them"),
            TreeFault::Name => write!(f, ": the name has more than {MAX_NAME_BYTES} bytes; shorten it"),
            TreeFault::Labels => write!(f, ": there are more than {MAX_LABELS} different labels; join some"),
            TreeFault::NoPlace => f.write_str(": nothing stands there; name a place of the tree"),
            TreeFault::Length => f.write_str(": it is longer than any written tree; it is not one of ours"),
            TreeFault::NoJson => f.write_str(": it is not JSON; take it from where it was stored again"),
            TreeFault::Form => f.write_str(": no tree is written like this; take it from where it was stored again"),
            TreeFault::Version => {
                write!(f, ": only versions 1 to {} can be read; use the Proem that wrote it", super::VERSION)
            }
            TreeFault::Label => f.write_str(": it is not a label; take it from where it was stored again"),
            TreeFault::LabelIndex => {
                f.write_str(": there is no label of this number; take it from where it was stored again")
            }
            TreeFault::Canonical(byte) => {
                write!(f, ": byte {byte} is not as a tree is written; take it from where it was stored again")
            }
        }
    }
}

impl core::error::Error for TreeError {}
