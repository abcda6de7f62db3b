//! Rows of different lengths, one behind the other.

use alloc::vec;
use alloc::vec::Vec;

/// Rows of items: two allocations however many rows there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JaggedTable<T> {
    /// The end of each row.
    ends: Vec<u32>,
    items: Vec<T>,
}

/// A count or an index; what doesn't fit is the largest number, which no row has.
pub(super) fn index_to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// An index as the standard library wants it.
pub(super) fn index_to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl<T> Default for JaggedTable<T> {
    fn default() -> Self {
        Self { ends: Vec::new(), items: Vec::new() }
    }
}

impl<T> JaggedTable<T> {
    pub(super) fn with_capacity(rows: usize, items: usize) -> Self {
        Self { ends: Vec::with_capacity(rows), items: Vec::with_capacity(items) }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> u32 {
        index_to_u32(self.ends.len())
    }

    /// How many items there are.
    pub(super) fn items(&self) -> usize {
        self.items.len()
    }

    /// The items of a row. None if there is no such row.
    pub(super) fn row(&self, row: u32) -> &[T] {
        let row = index_to_usize(row);
        let end = self.ends.get(row).copied().map_or(0, index_to_usize);
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().map_or(0, index_to_usize);
        self.items.get(start..end).unwrap_or_default()
    }

    /// The rows, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[T]> + Clone {
        (0..self.rows()).map(|row| self.row(row))
    }

    /// Adds an item to the row that the next [`Self::end`] ends.
    pub(super) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Ends a row.
    pub(super) fn end(&mut self) {
        self.ends.push(index_to_u32(self.items.len()));
    }
}

impl<T: Copy + Default> JaggedTable<T> {
    /// Puts each item into its row. Within a row the order stays.
    pub(super) fn grouped(rows: u32, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut counts = vec![0_u32; index_to_usize(rows)];
        for (row, _) in pairs.clone() {
            if let Some(count) = counts.get_mut(index_to_usize(row)) {
                *count += 1;
            }
        }
        let mut total = 0_u32;
        let mut next = Vec::with_capacity(counts.len());
        let mut ends = counts;
        for end in &mut ends {
            next.push(total);
            total += *end;
            *end = total;
        }
        let mut items = vec![T::default(); index_to_usize(total)];
        for (row, item) in pairs {
            let Some(next) = next.get_mut(index_to_usize(row)) else { continue };
            if let Some(place) = items.get_mut(index_to_usize(*next)) {
                *place = item;
            }
            *next += 1;
        }
        Self { ends, items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_grouped_in_order() {
        let pairs = [(2, 'a'), (0, 'b'), (2, 'c'), (9, 'x')];
        let table = JaggedTable::grouped(3, pairs.into_iter());
        let rows: Vec<&[char]> = table.iter().collect();
        assert_eq!(rows, [&['b'][..], &[], &['a', 'c']]);
        assert_eq!((table.row(3), table.items()), (&[][..], 3));
    }
}
