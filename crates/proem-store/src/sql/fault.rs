//! Why a statement failed, before it is known what that means for the store.

use std::path::Path;

#[cfg(feature = "postgres")]
use super::postgres_connection::postgres_unusable;
use super::sqlite_connection::sqlite_unusable;
use crate::error::{Error, Unusable};

/// The result of a statement, or of reading a row of its.
pub(crate) type SqlResult<T> = Result<T, SqlFault>;

/// Why a statement, or reading a row, failed.
#[derive(Debug)]
pub(crate) enum SqlFault {
    /// SQLite says so.
    Sqlite(rusqlite::Error),
    /// PostgreSQL says so.
    #[cfg(feature = "postgres")]
    Postgres(sqlx::Error),
    /// A column holds another kind of value than is read from it, or a statement was given other values than it has
    /// places for: in our words.
    Mismatch(String),
}

impl From<rusqlite::Error> for SqlFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

#[cfg(feature = "postgres")]
impl From<sqlx::Error> for SqlFault {
    fn from(error: sqlx::Error) -> Self {
        Self::Postgres(error)
    }
}

impl SqlFault {
    /// The meaning of the fault for the store in a place.
    pub(crate) fn into_error(self, place: &Path) -> Error {
        match self {
            Self::Sqlite(error) => sqlite_unusable(place, &error),
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => postgres_unusable(place, &error),
            Self::Mismatch(why) => Unusable::Other { path: place.to_owned(), why }.into(),
        }
    }
}
