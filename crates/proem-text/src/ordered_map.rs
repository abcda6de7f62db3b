//! Values by name, in the order in which they were written.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use core::fmt;

/// Values by name. Going through them keeps the order as written; finding one takes logarithmic time.
#[derive(Clone)]
pub struct OrderedMap<T> {
    entries: Vec<(Arc<str>, T)>,
    /// The entries' places.
    places: BTreeMap<Arc<str>, usize>,
}

impl<T> OrderedMap<T> {
    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        let place = self.places.get(name)?;
        self.entries.get(*place).map(|(_, value)| value)
    }

    /// The value of this name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        let place = self.places.get(name)?;
        self.entries.get_mut(*place).map(|(_, value)| value)
    }

    /// All of them as written.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &T)> + ExactSizeIterator {
        self.entries.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// All of them as written, their values to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut T)> {
        self.entries.iter_mut().map(|(name, value)| (&**name, value))
    }

    /// All of them as written, with names that can be shared.
    pub fn shared(&self) -> impl Iterator<Item = &(Arc<str>, T)> {
        self.entries.iter()
    }

    /// Gives `name` a value: in its place if it has one, else behind all others.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, value: T) {
        let name = name.into();
        let place = *self.places.entry(Arc::clone(&name)).or_insert(self.entries.len());
        match self.entries.get_mut(place) {
            Some((_, old)) => *old = value,
            None => self.entries.push((name, value)),
        }
    }
}

impl<T> Default for OrderedMap<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: BTreeMap::new() }
    }
}

impl<T: fmt::Debug> fmt::Debug for OrderedMap<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T: PartialEq> PartialEq for OrderedMap<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<N: Into<Arc<str>>, T> FromIterator<(N, T)> for OrderedMap<T> {
    /// A name that comes twice keeps its place and takes the last value.
    fn from_iter<I: IntoIterator<Item = (N, T)>>(entries: I) -> Self {
        let mut fields = Self::default();
        entries.into_iter().for_each(|(name, value)| fields.insert(name, value));
        fields
    }
}
