//! Why a statement failed, before it is known what that means for the store.

use std::path::Path;

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

/// The meaning of an SQLite error for the store, by its primary result code, which is the lowest byte of the extended
/// one (<https://www.sqlite.org/rescode.html>).
pub(crate) fn sqlite_unusable(path: &Path, error: &rusqlite::Error) -> Error {
    let path = path.to_owned();
    let why = match error {
        rusqlite::Error::SqliteFailure(_, Some(said)) | rusqlite::Error::SqlInputError { msg: said, .. } => {
            said.clone()
        }
        other => other.to_string(),
    };
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    Error::Unusable(match code & 0xff {
        // SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE: readers need room beside the file as well.
        10 if [4618, 4874].contains(&code) => {
            Unusable::Unwritable { path, why: "there is no space left in its folder; the disk may be full".to_owned() }
        }
        // SQLITE_BUSY, SQLITE_LOCKED.
        5 | 6 => Unusable::Busy { path },
        // SQLITE_PERM, SQLITE_READONLY, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_AUTH.
        3 | 8 | 13 | 14 | 23 => Unusable::Unwritable { path, why },
        // SQLITE_CORRUPT, SQLITE_NOTADB.
        11 | 26 => Unusable::Corrupt { path, why },
        // SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH.
        18..=20 => Unusable::Refused { path, why },
        _ => Unusable::Other { path, why },
    })
}

/// The meaning of an error of PostgreSQL's for the store, by its class
/// (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
#[cfg(feature = "postgres")]
fn postgres_unusable(place: &Path, error: &sqlx::Error) -> Error {
    let path = place.to_owned();
    let unusable = |why: String| Unusable::Server { address: place.display().to_string(), why };
    let Some(said) = error.as_database_error() else {
        let why = match error {
            sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed => format!(
                "the server is away, or ended the connection ({error}); check that it runs, and start again: what this \
                 process had open counts as ended"
            ),
            sqlx::Error::Tls(error) => {
                format!("no secure connection was made: {error}; check `sslmode` and `sslrootcert`")
            }
            error => error.to_string(),
        };
        return unusable(why).into();
    };
    let (code, why) = (said.code().unwrap_or_default().into_owned(), said.message().to_owned());
    Error::Unusable(match (code.get(..2).unwrap_or_default(), &*code) {
        (_, "55P03") => Unusable::Busy { path },
        (_, "25006") => unusable(format!("{why}; the server is a standby or read-only, so connect to the primary")),
        (_, "42501") => unusable(format!("{why}; let an administrator grant CREATE on the database to this role")),
        ("53", _) => unusable(format!("{why}; the server lacks room or connections, so free some and try again")),
        ("22" | "23", _) => Unusable::Refused { path, why },
        ("28", _) => unusable(format!("{why}; check the role and its password")),
        (_, "3D000") => unusable(format!("{why}; create it, with the encoding UTF8")),
        ("57" | "08", _) => unusable(format!(
            "{why}; the server ended the connection, so start again when it is back: what this process had open counts \
             as ended"
        )),
        _ => unusable(format!("{why} ({code})")),
    })
}
