//! Bytes that are written, up to a limit.

use super::StateError;
use alloc::vec::Vec;

/// The bytes so far.
#[derive(Debug)]
pub(super) struct Output {
    bytes: Vec<u8>,
    most: usize,
}

impl Output {
    pub(super) const fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        if self.bytes.len().saturating_add(bytes.len()) > self.most {
            return Err(StateError::TooLarge(self.most));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn byte(&mut self, byte: u8) -> Result<(), StateError> {
        self.raw(&[byte])
    }

    /// A number in seven bits each, the lowest first (LEB128).
    pub(super) fn number(&mut self, mut number: u64) -> Result<(), StateError> {
        loop {
            let low = u8::try_from(number & 0x7f).unwrap_or_default();
            number = number.wrapping_shr(7);
            if number == 0 {
                return self.byte(low);
            }
            self.byte(low | 0x80)?;
        }
    }

    pub(super) fn size(&mut self, size: usize) -> Result<(), StateError> {
        self.number(u64::try_from(size).unwrap_or(u64::MAX))
    }

    /// A number with a sign, of which small ones are short.
    pub(super) fn signed(&mut self, number: i64) -> Result<(), StateError> {
        self.number((number.wrapping_shl(1) ^ number.wrapping_shr(63)).cast_unsigned())
    }

    pub(super) fn text(&mut self, text: &str) -> Result<(), StateError> {
        self.size(text.len())?;
        self.raw(text.as_bytes())
    }
}
