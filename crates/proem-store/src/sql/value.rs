//! Values on their way into a statement and out of a column.
//!
//! There are four kinds, as SQLite has them. A truth value is the integer 0 or 1.

use std::borrow::Cow;
use std::sync::Arc;

/// The kinds of values that are not null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ValueKind {
    Integer,
    Real,
    Text,
    Bytes,
}

/// A value for a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BoundValue<'v> {
    /// No value, where one of this kind could be.
    Null(ValueKind),
    Integer(i64),
    Real(f64),
    Text(Cow<'v, str>),
    Bytes(Cow<'v, [u8]>),
}

impl BoundValue<'_> {
    /// The bytes that it takes, about.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Null(_) | Self::Integer(_) | Self::Real(_) => size_of::<i64>(),
        }
    }

    /// The kind of the value, or of the value that is missing.
    #[cfg(feature = "postgres")]
    pub(super) const fn kind(&self) -> ValueKind {
        match self {
            Self::Null(kind) => *kind,
            Self::Integer(_) => ValueKind::Integer,
            Self::Real(_) => ValueKind::Real,
            Self::Text(_) => ValueKind::Text,
            Self::Bytes(_) => ValueKind::Bytes,
        }
    }
}

impl From<i64> for BoundValue<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<String> for BoundValue<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

/// A type that a statement takes as a value.
pub(crate) trait ToBound {
    /// The kind of its values.
    const KIND: ValueKind;

    /// The value.
    fn to_bound(&self) -> BoundValue<'_>;
}

/// [`ToBound`] of any type.
pub(crate) trait AnyBound {
    /// The value.
    fn any_bound(&self) -> BoundValue<'_>;
}

impl<T: ToBound + ?Sized> AnyBound for T {
    fn any_bound(&self) -> BoundValue<'_> {
        self.to_bound()
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl ToBound for $type {
            const KIND: ValueKind = ValueKind::Integer;

            fn to_bound(&self) -> BoundValue<'_> {
                BoundValue::Integer(i64::from(*self))
            }
        }

        impl FromColumn for $type {
            fn from_column(value: ColumnValue<'_>) -> Option<Self> {
                match value {
                    ColumnValue::Integer(value) => Self::try_from(value).ok(),
                    _ => None,
                }
            }
        }
    )*};
}

integers!(i64 i32 u32 u16 u8);

impl ToBound for bool {
    const KIND: ValueKind = ValueKind::Integer;

    fn to_bound(&self) -> BoundValue<'_> {
        BoundValue::Integer(i64::from(*self))
    }
}

impl ToBound for f64 {
    const KIND: ValueKind = ValueKind::Real;

    fn to_bound(&self) -> BoundValue<'_> {
        BoundValue::Real(*self)
    }
}

impl ToBound for str {
    const KIND: ValueKind = ValueKind::Text;

    fn to_bound(&self) -> BoundValue<'_> {
        BoundValue::Text(Cow::Borrowed(self))
    }
}

impl ToBound for String {
    const KIND: ValueKind = ValueKind::Text;

    fn to_bound(&self) -> BoundValue<'_> {
        BoundValue::Text(Cow::Borrowed(self))
    }
}

impl ToBound for [u8] {
    const KIND: ValueKind = ValueKind::Bytes;

    fn to_bound(&self) -> BoundValue<'_> {
        BoundValue::Bytes(Cow::Borrowed(self))
    }
}

impl ToBound for Vec<u8> {
    const KIND: ValueKind = ValueKind::Bytes;

    fn to_bound(&self) -> BoundValue<'_> {
        BoundValue::Bytes(Cow::Borrowed(self))
    }
}

impl<T: ToBound + ?Sized> ToBound for &T {
    const KIND: ValueKind = T::KIND;

    fn to_bound(&self) -> BoundValue<'_> {
        (**self).to_bound()
    }
}

impl<T: ToBound + ?Sized> ToBound for Arc<T> {
    const KIND: ValueKind = T::KIND;

    fn to_bound(&self) -> BoundValue<'_> {
        (**self).to_bound()
    }
}

impl<T: ToBound> ToBound for Option<T> {
    const KIND: ValueKind = T::KIND;

    fn to_bound(&self) -> BoundValue<'_> {
        self.as_ref().map_or(BoundValue::Null(T::KIND), ToBound::to_bound)
    }
}

/// Reads the column of a row by its name or place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ColumnValue<'r> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'r str),
    Bytes(&'r [u8]),
}

impl ColumnValue<'_> {
    /// The name of the value's kind, for errors.
    pub(crate) const fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
        }
    }
}

/// A type that can be read from a column.
pub(crate) trait FromColumn: Sized {
    /// It, from the value of a column. `None` if that is of another kind.
    fn from_column(value: ColumnValue<'_>) -> Option<Self>;
}

impl FromColumn for bool {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        i64::from_column(value).map(|value| value != 0)
    }
}

impl FromColumn for f64 {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        match value {
            ColumnValue::Real(value) => Some(value),
            #[expect(clippy::cast_precision_loss, reason = "as SQLite reads an integer as a real number")]
            ColumnValue::Integer(value) => Some(value as Self),
            _ => None,
        }
    }
}

impl FromColumn for String {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        match value {
            ColumnValue::Text(text) => Some(text.to_owned()),
            // A content is kept as bytes.
            ColumnValue::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
            _ => None,
        }
    }
}

impl FromColumn for Vec<u8> {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        match value {
            ColumnValue::Bytes(bytes) => Some(bytes.to_owned()),
            _ => None,
        }
    }
}

impl FromColumn for BoundValue<'static> {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        match value {
            ColumnValue::Null => None,
            ColumnValue::Integer(value) => Some(Self::Integer(value)),
            ColumnValue::Real(value) => Some(Self::Real(value)),
            ColumnValue::Text(text) => Some(Self::Text(Cow::Owned(text.to_owned()))),
            ColumnValue::Bytes(bytes) => Some(Self::Bytes(Cow::Owned(bytes.to_owned()))),
        }
    }
}

impl<T: FromColumn> FromColumn for Option<T> {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        match value {
            ColumnValue::Null => Some(None),
            value => T::from_column(value).map(Some),
        }
    }
}
