//! Texts: immutable, shared, and indexed by grapheme.

use alloc::{boxed::Box, string::String, sync::Arc};
use core::fmt;
use unicode_segmentation::UnicodeSegmentation as _;

/// An immutable text. A clone shares it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(Arc<TextBody>);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TextBody {
    text: Box<str>,
    /// Whether each byte is a grapheme, so that places are found without looking.
    is_plain: bool,
}

impl Text {
    /// The text as a string slice.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.text.len()
    }

    /// Whether it has no character.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.text.is_empty()
    }

    /// The namespace and the name of a keyword or symbol. `/` alone is a name.
    pub(crate) fn qualified_name(&self) -> (Option<&str>, &str) {
        match self.as_str().split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => (Some(namespace), name),
            _ => (None, self.as_str()),
        }
    }

    /// Whether each byte is a grapheme.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.0.is_plain
    }

    /// The number of graphemes (UAX #29, extended).
    #[must_use]
    pub fn grapheme_count(&self) -> usize {
        if self.0.is_plain { self.len() } else { self.0.text.graphemes(true).count() }
    }

    /// The graphemes in order.
    pub fn graphemes(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.text.graphemes(true)
    }

    /// The grapheme at an index.
    #[must_use]
    pub fn grapheme(&self, index: usize) -> Option<&str> {
        if self.0.is_plain {
            return self.0.text.get(index..index.checked_add(1)?);
        }
        self.0.text.graphemes(true).nth(index)
    }

    /// The byte offset at which the grapheme of an index starts. The length for the index after the last.
    #[must_use]
    pub fn byte_offset(&self, index: usize) -> Option<usize> {
        if self.0.is_plain {
            return (index <= self.len()).then_some(index);
        }
        let starts = self.0.text.grapheme_indices(true).map(|(at, _)| at);
        starts.chain(core::iter::once(self.len())).nth(index)
    }

    /// Whether both are the same object in memory.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether both have the same characters.
    #[inline]
    pub(crate) fn has_text_of(&self, other: &Self) -> bool {
        self.is_same(other) || self.0.text == other.0.text
    }

    /// Its address, which tells it from other texts of the same characters.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Its address if it is shared, for counting it once.
    pub(crate) fn shared_address(&self) -> Option<usize> {
        (Arc::strong_count(&self.0) > 1).then(|| Arc::as_ptr(&self.0).addr())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(Box::<str>::from(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.into_boxed_str())
    }
}

impl From<Box<str>> for Text {
    fn from(text: Box<str>) -> Self {
        // CR LF is the one grapheme of ASCII with two bytes.
        let is_plain = text.is_ascii() && !text.as_bytes().contains(&b'\r');
        Self(Arc::new(TextBody { text, is_plain }))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
