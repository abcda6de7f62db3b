//! The errors of a store.

use std::fmt;
use std::path::PathBuf;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It can't be used at all.
    #[error("{0}")]
    Unusable(#[from] Unusable),
    /// It may only be read.
    #[error("the records in `{}` were not made by this installation, so they are read-only", path.display())]
    Foreign {
        /// The database's path.
        path: PathBuf,
    },
    /// Effects are parked until a person adopts the records.
    #[error("effects are parked: {0}")]
    Parked(String),
    /// The named item does not exist, or the name fits several.
    #[error("{0}")]
    NotFound(Absence),
    /// The request contradicts the records.
    #[error("{0}")]
    Conflict(String),
}

/// The missing item, or the ambiguous name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// In our words.
    pub what: String,
    /// How to see what is there.
    pub remedy: Option<AbsenceRemedy>,
}

/// How to see what is there, for whoever knows the commands or buttons that show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AbsenceRemedy {
    /// See the runs that are recorded.
    ListRuns,
    /// List all runs, those without a call, too.
    ListAllRuns,
    /// Look at a run with its attempts.
    ListAttempts,
}

impl Absence {
    pub(crate) fn remedied(what: impl Into<String>, remedy: AbsenceRemedy) -> Self {
        Self { what: what.into(), remedy: Some(remedy) }
    }
}

impl From<String> for Absence {
    fn from(what: String) -> Self {
        Self { what, remedy: None }
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Why a store can't be used. Each says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// A newer Proem made it.
    #[error(
        "the records in `{}` have format version {found}, and this version of Proem supports up to {known}; update \
         Proem, or move the file elsewhere",
        path.display()
    )]
    Newer {
        /// The database's path.
        path: PathBuf,
        /// Its form.
        found: i64,
        /// The newest form that is known here.
        known: i64,
    },
    /// The file is no store, or it is damaged.
    #[error(
        "the records in `{}` are damaged ({why}); move the file elsewhere together with its -wal and -shm files, and \
         let Proem create a new one or put a copy in its place; leave `effects.witness` where it is: it keeps what was \
         sent since from being sent again",
        path.display()
    )]
    Corrupt {
        /// The database's path.
        path: PathBuf,
        /// SQLite's message.
        why: String,
    },
    /// Nothing is left of it.
    #[error(
        "the records in `{}` are lost: the file is empty, but it used to contain runs; delete the file to start a new \
         one without past costs, or put a copy in its place; leave `effects.witness` where it is: it keeps what was \
         sent since from being sent again",
        path.display()
    )]
    Emptied {
        /// The database's path.
        path: PathBuf,
    },
    /// It is where locks and syncs can't be relied on.
    #[error(
        "the records in `{}` are on a network file system ({kind}), where locks and syncs are unreliable; set \
         XDG_STATE_HOME to a folder on a local disk",
        path.display()
    )]
    Network {
        /// The database's path.
        path: PathBuf,
        /// The kind of file system.
        kind: String,
    },
    /// It can't be written: no permission, no room, or the file system is read-only.
    #[error("the records in `{}` can't be written: {why}", path.display())]
    Unwritable {
        /// The database's path.
        path: PathBuf,
        /// The system's message.
        why: String,
    },
    /// The witness of effects can't be used.
    #[error("the witness of effects in `{}` can't be used: {why}", path.display())]
    Witness {
        /// The database's path.
        path: PathBuf,
        /// The details that are known.
        why: String,
    },
    /// Another process has kept it locked for too long.
    #[error("the records in `{}` are locked by another process; try again when it is done", path.display())]
    Busy {
        /// The database's path.
        path: PathBuf,
    },
    /// A server's database can't be used.
    #[error("the records in the database `{address}` can't be used: {why}")]
    Server {
        /// Its address, without a password.
        address: String,
        /// The details that are known, and what to do.
        why: String,
    },
    /// The line breaks a rule of its table. Writing it again would fail in the same way.
    #[error("the records in `{}` do not take what was to be written: {why}", path.display())]
    Refused {
        /// The database's path.
        path: PathBuf,
        /// SQLite's message.
        why: String,
    },
    /// Something else.
    #[error("the records in `{}` can't be used: {why}", path.display())]
    Other {
        /// The database's path.
        path: PathBuf,
        /// The details that are known.
        why: String,
    },
}
