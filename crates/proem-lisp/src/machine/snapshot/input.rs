//! Bytes that are read: nothing is taken that is missing.

use super::StateError;
use alloc::vec::Vec;

/// The bytes that are left.
#[derive(Debug)]
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn raw(&mut self, count: usize) -> Result<&'a [u8], StateError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(StateError::Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, StateError> {
        self.raw(1).map(|bytes| bytes.first().copied().unwrap_or_default())
    }

    pub(super) fn number(&mut self) -> Result<u64, StateError> {
        let mut number: u64 = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let low = u64::from(byte & 0x7f);
            let placed = low.wrapping_shl(shift);
            // One number has one form, so that equal states are equal bytes.
            let is_proper = placed.wrapping_shr(shift) == low && (byte != 0 || shift == 0);
            if !is_proper {
                break;
            }
            number |= placed;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(StateError::Malformed("a number isn't in its one form"))
    }

    pub(super) fn size(&mut self) -> Result<usize, StateError> {
        usize::try_from(self.number()?).map_err(|_| StateError::Malformed("a size is beyond this machine"))
    }

    /// The number of things of which each takes a byte at least.
    pub(super) fn count(&mut self) -> Result<usize, StateError> {
        let count = self.size()?;
        if count > self.0.len() { Err(StateError::Malformed("it ends too early")) } else { Ok(count) }
    }

    pub(super) fn signed(&mut self) -> Result<i64, StateError> {
        let number = self.number()?;
        Ok((number.wrapping_shr(1) ^ (number & 1).wrapping_neg()).cast_signed())
    }

    pub(super) fn text(&mut self) -> Result<&'a str, StateError> {
        let length = self.size()?;
        str::from_utf8(self.raw(length)?).map_err(|_| StateError::Malformed("a text isn't UTF-8"))
    }

    pub(super) fn flag(&mut self) -> Result<bool, StateError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(StateError::Malformed("a flag is neither yes nor no")),
        }
    }

    /// Some things of one kind.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, StateError>,
    ) -> Result<Vec<T>, StateError> {
        let count = self.count()?;
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(read(self)?);
        }
        Ok(all)
    }
}
