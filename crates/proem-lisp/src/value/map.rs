//! Persistent maps and sets that keep the order in which keys were first put in.
//!
//! The entries are a persistent vector in that order. Beyond [`FEW`] of them a trie of hashes leads to their places.
//! Nothing ever goes through the trie, so no order depends on a hash. A key taken away leaves an empty place until more
//! places are empty than full.

use super::{
    Text, Value,
    compare::{hash, is_equal},
    drop::Entry,
    index::Index,
    trie::Trie,
};
use crate::{
    error::Fault,
    limits::{Meter, cost},
};

/// Up to so many entries are compared one by one.
const FEW: usize = 12;

/// A persistent map in the order of insertion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Map {
    pub(super) entries: Trie<Option<Entry>>,
    pub(super) index: Option<Index>,
    len: usize,
}

/// A persistent set in the order of insertion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Set(pub(crate) Map);

impl Map {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The entries with empty places, and the index that leads to them.
    pub(crate) const fn parts(&self) -> (&Trie<Option<Entry>>, Option<&Index>) {
        (&self.entries, self.index.as_ref())
    }

    /// A map of such parts with `len` entries, if there is an index where one is needed. That it leads to the entries
    /// is for the caller to check.
    pub(crate) fn from_parts(entries: Trie<Option<Entry>>, index: Option<Index>, len: usize) -> Option<Self> {
        let is_right = index.is_some() == (entries.len() > FEW) && entries.len() <= len.saturating_mul(2);
        is_right.then_some(Self { entries, index, len })
    }

    /// The places of all keys with the hash of this one.
    pub(crate) fn places_like(&self, key: &Value, meter: &mut Meter) -> Result<&[u32], Fault> {
        let hash = hash(key, meter)?;
        Ok(self.index.as_ref().map_or(&[][..], |index| index.places(hash)))
    }

    /// Bytes that copying the object itself takes.
    pub(crate) fn own_bytes(&self) -> usize {
        self.entries.own_bytes().saturating_add(cost::OBJECT)
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.entries.iter().flatten().map(|entry| (&entry.key, &entry.value))
    }

    /// The place after that of the entry at or behind `place`, and the entry.
    pub(crate) fn next_entry(&self, mut place: usize) -> Option<(usize, &Value, &Value)> {
        loop {
            let entry = self.entries.get(place)?;
            place = place.saturating_add(1);
            if let Some(entry) = entry {
                return Some((place, &entry.key, &entry.value));
            }
        }
    }

    fn place(&self, key: &Value, meter: &mut Meter) -> Result<Option<usize>, Fault> {
        match (&self.index, key, self.entries.as_chunk()) {
            // Most keys are keywords in small maps.
            (None, Value::Keyword(name), Some(entries)) => {
                charge_names(entries, name, meter)?;
                let is_key = |entry: &Option<Entry>| match entry {
                    Some(Entry { key: Value::Keyword(other), .. }) => other.has_text_of(name),
                    _ => false,
                };
                Ok(entries.iter().position(is_key))
            }
            (None, ..) => {
                for (place, entry) in self.entries.iter().enumerate() {
                    if let Some(entry) = entry
                        && is_equal(&entry.key, key, meter)?
                    {
                        return Ok(Some(place));
                    }
                }
                Ok(None)
            }
            (Some(index), ..) => {
                for place in index.places(hash(key, meter)?) {
                    let place = usize::try_from(*place).unwrap_or(usize::MAX);
                    meter.work(cost::COMPARISON)?;
                    if let Some(Some(entry)) = self.entries.get(place)
                        && is_equal(&entry.key, key, meter)?
                    {
                        return Ok(Some(place));
                    }
                }
                Ok(None)
            }
        }
    }

    /// The value of exactly this key.
    pub(crate) fn get(&self, key: &Value, meter: &mut Meter) -> Result<Option<&Value>, Fault> {
        Ok(self.entry(key, meter)?.map(|entry| &entry.value))
    }

    /// The entry of exactly this key.
    pub(crate) fn entry(&self, key: &Value, meter: &mut Meter) -> Result<Option<&Entry>, Fault> {
        let Some(place) = self.place(key, meter)? else { return Ok(None) };
        Ok(self.entries.get(place).and_then(Option::as_ref))
    }

    /// The value of this key, or of the keyword or string of the same name.
    pub(crate) fn lookup(&self, key: &Value, meter: &mut Meter) -> Result<Option<&Value>, Fault> {
        if self.len == 0 {
            return Ok(None);
        }
        if let (None, Value::Keyword(name) | Value::Text(name), Some(entries)) =
            (&self.index, key, self.entries.as_chunk())
        {
            charge_names(entries, name, meter)?;
            return Ok(value_of_name(entries, name, matches!(key, Value::Keyword(_))));
        }
        if let Some(place) = self.place(key, meter)? {
            return Ok(self.entries.get(place).and_then(Option::as_ref).map(|entry| &entry.value));
        }
        let other = match key {
            Value::Keyword(name) => Value::Text(name.clone()),
            Value::Text(name) => Value::Keyword(name.clone()),
            _ => return Ok(None),
        };
        self.get(&other, meter)
    }

    pub(crate) fn contains(&self, key: &Value, meter: &mut Meter) -> Result<bool, Fault> {
        Ok(self.place(key, meter)?.is_some())
    }

    /// Puts an entry in, or another value to a key that is there, which stays as it is.
    pub(crate) fn insert(&mut self, key: Value, value: Value, meter: &mut Meter) -> Result<(), Fault> {
        if let Some(place) = self.place(&key, meter)? {
            if let Some(Some(entry)) = self.entries.slot_mut(place, meter)? {
                entry.value = value;
            }
            return Ok(());
        }
        meter.collection(self.len.saturating_add(1))?;
        meter.allocate(cost::ENTRY)?;
        let place = self.entries.len();
        if let Some(index) = &mut self.index {
            index.insert(hash(&key, meter)?, place, meter)?;
        }
        self.entries.push(Some(Entry { key, value }), meter)?;
        self.len = self.len.saturating_add(1);
        if self.index.is_none() && self.entries.len() > FEW {
            self.build_index(meter)?;
        }
        Ok(())
    }

    /// Takes a key away.
    pub(crate) fn remove(&mut self, key: &Value, meter: &mut Meter) -> Result<(), Fault> {
        let Some(place) = self.place(key, meter)? else { return Ok(()) };
        if let Some(index) = &mut self.index {
            index.remove(hash(key, meter)?, place, meter)?;
        }
        self.entries.set(place, None, meter)?;
        self.len = self.len.saturating_sub(1);
        if self.entries.len() > self.len.saturating_mul(2) {
            self.close_gaps(meter)?;
        }
        Ok(())
    }

    fn close_gaps(&mut self, meter: &mut Meter) -> Result<(), Fault> {
        let mut entries = Trie::default();
        for entry in self.entries.iter().flatten() {
            entries.push(Some(entry.clone()), meter)?;
        }
        self.entries = entries;
        self.index = None;
        if self.entries.len() > FEW { self.build_index(meter) } else { Ok(()) }
    }

    fn build_index(&mut self, meter: &mut Meter) -> Result<(), Fault> {
        let mut index = Index::default();
        for (place, entry) in self.entries.iter().enumerate() {
            if let Some(entry) = entry {
                index.insert(hash(&entry.key, meter)?, place, meter)?;
            }
        }
        self.index = Some(index);
        Ok(())
    }
}

/// Charges comparing a name with the keys of some entries.
fn charge_names(entries: &[Option<Entry>], name: &Text, meter: &mut Meter) -> Result<(), Fault> {
    meter.elements(entries.len())?;
    meter.text(name.len().saturating_mul(entries.len()))
}

/// The value under a keyword or a string of this name, first of the kind that is asked for.
#[inline]
fn value_of_name<'a>(entries: &'a [Option<Entry>], name: &Text, is_keyword: bool) -> Option<&'a Value> {
    let mut of_other_kind = None;
    for entry in entries.iter().flatten() {
        let (other, is_kind) = match &entry.key {
            Value::Keyword(other) => (other, is_keyword),
            Value::Text(other) => (other, !is_keyword),
            _ => continue,
        };
        if other.has_text_of(name) {
            if is_kind {
                return Some(&entry.value);
            }
            of_other_kind = Some(&entry.value);
        }
    }
    of_other_kind
}
