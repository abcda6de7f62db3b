//! What can go wrong with a store.

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
        /// Where it is.
        path: PathBuf,
    },
    /// Effects are parked until a person adopts the records.
    #[error("effects are parked: {0}")]
    Parked(String),
    /// What was named is not there, or several things are.
    #[error("{0}")]
    NotFound(Absence),
    /// What was asked for contradicts what is recorded.
    #[error("{0}")]
    Conflict(String),
}

/// What is not there.
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
    /// List the runs.
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
        /// Where it is.
        path: PathBuf,
        /// Its form.
        found: i64,
        /// The newest form that is known here.
        known: i64,
    },
    /// What is there is no store, or a damaged one.
    #[error(
        "the records in `{}` are damaged ({why}); move the file elsewhere together with its -wal and -shm files, and \
         let Proem create a new one or put a copy in its place; leave `effects.witness` where it is: it keeps what was \
         sent since from being sent again",
        path.display()
    )]
    Corrupt {
        /// Where it is.
        path: PathBuf,
        /// What SQLite says.
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
        /// Where it is.
        path: PathBuf,
    },
    /// It lies where locks and syncs can't be relied on.
    #[error(
        "the records in `{}` are on a network file system ({kind}), where locks and syncs are unreliable; set \
         XDG_STATE_HOME to a folder on a local disk",
        path.display()
    )]
    Network {
        /// Where it is.
        path: PathBuf,
        /// The kind of file system.
        kind: String,
    },
    /// It can't be written: no permission, no room, or the file system is read-only.
    #[error("the records in `{}` can't be written: {why}", path.display())]
    Unwritable {
        /// Where it is.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The witness of effects can't be used.
    #[error("the witness of effects in `{}` can't be used: {why}", path.display())]
    Witness {
        /// Where it is.
        path: PathBuf,
        /// What is known.
        why: String,
    },
    /// Another process has kept it locked for too long.
    #[error("the records in `{}` are locked by another process; try again when it is done", path.display())]
    Busy {
        /// Where it is.
        path: PathBuf,
    },
    /// What was to be written breaks a rule of its tables, so that it would break it again.
    #[error("the records in `{}` do not take what was to be written: {why}", path.display())]
    Refused {
        /// Where it is.
        path: PathBuf,
        /// What SQLite says.
        why: String,
    },
    /// Something else.
    #[error("the records in `{}` can't be used: {why}", path.display())]
    Other {
        /// Where it is.
        path: PathBuf,
        /// What is known.
        why: String,
    },
}
