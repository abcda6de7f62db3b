//! The number of each object by its address.

use alloc::{vec, vec::Vec};

/// A table with open addressing. Nothing goes through it, so its order is nobody's.
#[derive(Debug)]
pub(super) struct Numbers {
    /// Address and number. The address 0 is that of none.
    slots: Vec<(usize, usize)>,
    /// How many numbers were given.
    count: usize,
}

impl Numbers {
    pub(super) fn new() -> Self {
        Self { slots: vec![(0, 0); 64], count: 0 }
    }

    pub(super) fn get(&self, address: usize) -> Option<usize> {
        let (found, number) = self.slots.get(self.place(address)).copied()?;
        (found == address).then_some(number)
    }

    /// Gives the next number to an address. One that has a number keeps it.
    pub(super) fn add(&mut self, address: usize) {
        if self.count.saturating_mul(2) >= self.slots.len() {
            let larger = vec![(0, 0); self.slots.len().saturating_mul(2)];
            for (old, number) in core::mem::replace(&mut self.slots, larger) {
                if old != 0 {
                    self.insert_at(old, number);
                }
            }
        }
        self.insert_at(address, self.count);
        self.count = self.count.saturating_add(1);
    }

    fn insert_at(&mut self, address: usize, number: usize) {
        let place = self.place(address);
        if let Some(slot) = self.slots.get_mut(place)
            && slot.0 == 0
        {
            *slot = (address, number);
        }
    }

    /// The place of an address, present or future: the table is never more than half full.
    fn place(&self, address: usize) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        // Addresses are multiples of 8. The high bits of this product depend on all of theirs (Knuth, 6.4).
        let mixed = u64::try_from(address).unwrap_or_default().wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_shr(32);
        let mut place = usize::try_from(mixed).unwrap_or_default() & mask;
        while self.slots.get(place).is_some_and(|(other, _)| *other != 0 && *other != address) {
            place = place.wrapping_add(1) & mask;
        }
        place
    }
}
