//! Payloads of values that fill a word, so that every value is two words.

use super::{BuiltinId, Value};

/// True or false, as a word.
#[repr(u64)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// The word 0.
    False = 0,
    /// The word 1.
    True = 1,
}

/// A float of 64 bits, as a word.
#[derive(Debug, Clone, Copy)]
pub struct FloatBits(u64);

/// A function of the table, as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinBits(u64);

impl Truth {
    /// Whether it is true.
    #[must_use]
    pub const fn get(self) -> bool {
        matches!(self, Self::True)
    }
}

impl FloatBits {
    /// The float.
    #[must_use]
    #[inline]
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl BuiltinBits {
    #[inline]
    pub(crate) fn get(self) -> BuiltinId {
        // Made of an id, which has 16 bits.
        BuiltinId(u16::try_from(self.0).unwrap_or(u16::MAX))
    }
}

impl Value {
    /// True or false.
    #[must_use]
    #[inline]
    pub const fn bool(value: bool) -> Self {
        Self::Bool(if value { Truth::True } else { Truth::False })
    }

    /// A number of 64 bits. All that are not a number are one.
    #[must_use]
    #[inline]
    pub const fn float(value: f64) -> Self {
        Self::Float(FloatBits(value.to_bits()))
    }

    pub(crate) fn builtin(id: BuiltinId) -> Self {
        Self::Builtin(BuiltinBits(u64::from(id.0)))
    }
}
