//! A trie of hashes that leads to places. It knows neither keys nor values.

use crate::{error::Fault, limits::Meter};
use alloc::{sync::Arc, vec, vec::Vec};
use core::slice;

const BITS: u32 = 5;
const MASK: u32 = (1 << BITS) - 1;
/// Bits of a hash.
const HASH_BITS: u32 = 32;

/// Places by hash.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    pub(crate) root: Arc<Branch>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Branch {
    /// One bit for each child that is there.
    pub(crate) bits: u32,
    pub(crate) children: Vec<Child>,
}

#[derive(Debug, Clone)]
pub(crate) enum Child {
    Branch(Arc<Branch>),
    One {
        hash: u32,
        place: u32,
    },
    /// The places of several keys with one hash.
    Several {
        hash: u32,
        places: Arc<Vec<u32>>,
    },
}

impl Branch {
    fn slot(&self, hash: u32, shift: u32) -> (u32, usize, bool) {
        let bit = 1_u32.wrapping_shl(hash.wrapping_shr(shift) & MASK);
        let before = (self.bits & bit.wrapping_sub(1)).count_ones();
        (bit, usize::try_from(before).unwrap_or(usize::MAX), self.bits & bit != 0)
    }

    fn make_mut<'a>(branch: &'a mut Arc<Self>, meter: &mut Meter) -> Result<&'a mut Self, Fault> {
        if Arc::get_mut(branch).is_none() {
            meter.allocate(branch.children.len().saturating_add(1).saturating_mul(size_of::<Child>()))?;
        }
        Ok(Arc::make_mut(branch))
    }
}

impl Index {
    /// The places of all keys with this hash.
    pub(crate) fn places(&self, hash: u32) -> &[u32] {
        let mut branch = &self.root;
        let mut shift = 0;
        loop {
            let (_, slot, is_there) = branch.slot(hash, shift);
            if !is_there {
                return &[];
            }
            match branch.children.get(slot) {
                Some(Child::Branch(below)) => {
                    branch = below;
                    shift = shift.saturating_add(BITS);
                }
                Some(Child::One { hash: other, place }) if *other == hash => return slice::from_ref(place),
                Some(Child::Several { hash: other, places }) if *other == hash => return places,
                _ => return &[],
            }
        }
    }

    /// Adds a place that isn't there yet.
    pub(crate) fn insert(&mut self, hash: u32, place: usize, meter: &mut Meter) -> Result<(), Fault> {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let mut branch = &mut self.root;
        let mut shift = 0;
        loop {
            let owned = Branch::make_mut(branch, meter)?;
            let (bit, slot, is_there) = owned.slot(hash, shift);
            if !is_there {
                owned.bits |= bit;
                owned.children.insert(slot.min(owned.children.len()), Child::One { hash, place });
                return Ok(());
            }
            let Some(child) = owned.children.get_mut(slot) else { return Ok(()) };
            match child {
                Child::Branch(_) => {}
                Child::One { hash: other, place: first } if *other == hash => {
                    meter.allocate(size_of::<Branch>())?;
                    *child = Child::Several { hash, places: Arc::new(vec![*first, place]) };
                    return Ok(());
                }
                Child::Several { hash: other, places } if *other == hash => {
                    if Arc::get_mut(places).is_none() {
                        meter.allocate(places.len().saturating_mul(size_of::<u32>()))?;
                    }
                    Arc::make_mut(places).push(place);
                    return Ok(());
                }
                Child::One { hash: other, .. } | Child::Several { hash: other, .. } => {
                    let below = shift.saturating_add(BITS);
                    meter.allocate(size_of::<Branch>().saturating_add(size_of::<Child>()))?;
                    let bits = 1_u32.wrapping_shl(other.wrapping_shr(below) & MASK);
                    *child = Child::Branch(Arc::new(Branch { bits, children: vec![child.clone()] }));
                }
            }
            let Child::Branch(below) = child else { return Ok(()) };
            branch = below;
            // Two hashes that differ part at the latest with the last bits.
            shift = shift.saturating_add(BITS).min(HASH_BITS.saturating_sub(1));
        }
    }

    /// Takes a place away.
    pub(crate) fn remove(&mut self, hash: u32, place: usize, meter: &mut Meter) -> Result<(), Fault> {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let mut branch = &mut self.root;
        let mut shift = 0;
        loop {
            let owned = Branch::make_mut(branch, meter)?;
            let (bit, slot, is_there) = owned.slot(hash, shift);
            if !is_there {
                return Ok(());
            }
            let is_last = match owned.children.get(slot) {
                Some(Child::Branch(_)) => false,
                Some(Child::Several { places, .. }) => places.len() <= 1,
                Some(Child::One { .. }) | None => true,
            };
            if is_last {
                owned.bits &= !bit;
                if slot < owned.children.len() {
                    owned.children.remove(slot);
                }
                return Ok(());
            }
            match owned.children.get_mut(slot) {
                Some(Child::Branch(below)) => branch = below,
                Some(Child::Several { places, .. }) => {
                    meter.allocate(places.len().saturating_mul(size_of::<u32>()))?;
                    Arc::make_mut(places).retain(|other| *other != place);
                    return Ok(());
                }
                Some(Child::One { .. }) | None => return Ok(()),
            }
            shift = shift.saturating_add(BITS);
        }
    }
}
