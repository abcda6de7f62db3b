//! Values by name, in the order in which they were written.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use core::fmt;

/// Up to so many entries are gone through to find one: a tree of places costs more to build than it saves.
const FEW: usize = 16;

/// Values by name. Going through them keeps the order as written. Finding one takes logarithmic time.
#[derive(Clone)]
pub struct OrderedMap<T> {
    entries: Vec<(Arc<str>, T)>,
    /// The entries' places, if there are more than [`FEW`]; else none.
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
        self.entries.get(self.place(name)?).map(|(_, value)| value)
    }

    /// The value of this name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        let place = self.place(name)?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    fn place(&self, name: &str) -> Option<usize> {
        match self.entries.len() {
            0..=FEW => self.entries.iter().position(|(other, _)| **other == *name),
            _ => self.places.get(name).copied(),
        }
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
        if let Some((_, old)) = self.place(&name).and_then(|place| self.entries.get_mut(place)) {
            *old = value;
            return;
        }
        self.entries.push((name, value));
        // From one more than a few on each has its place. The first that is too many brings those of all.
        if self.entries.len() > FEW {
            let new = self.entries.iter().enumerate().skip(self.places.len());
            self.places.extend(new.map(|(place, (name, _))| (Arc::clone(name), place)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::String};

    /// As a plain list does it, below and above the number up to which there are no places.
    #[test]
    fn names_are_found_and_replaced_however_many_there_are() {
        for count in [0, 1, FEW - 1, FEW, FEW + 1, FEW + 2, 5 * FEW] {
            let name = |n: usize| format!("{}", (n * 7) % (5 * FEW + 1));
            let mut map: OrderedMap<usize> = (0..count).map(|n| (name(n), n)).collect();
            assert_eq!(map.len(), count);
            (0..count).for_each(|n| assert_eq!(map.get(&name(n)), Some(&n), "{count}"));
            assert!(map.get("none").is_none() && map.get_mut("").is_none());
            (0..count).step_by(3).for_each(|n| map.insert(name(n), n + 1000));
            if let Some(value) = map.get_mut(&name(1)) {
                *value += 5;
            }
            let value = |n: usize| if n.is_multiple_of(3) { n + 1000 } else { n + usize::from(n == 1) * 5 };
            let expected: Vec<(String, usize)> = (0..count).map(|n| (name(n), value(n))).collect();
            let found: Vec<(String, usize)> = map.iter().map(|(name, value)| (name.into(), *value)).collect();
            assert_eq!(found, expected, "{count}");
        }
    }
}
