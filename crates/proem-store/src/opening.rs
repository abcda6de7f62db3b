//! What a store is opened for, and whose it is.

use std::path::PathBuf;

use crate::record::{Actor, Project};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The file; it is created, with its folder, if it isn't there and `access` allows it.
    pub path: PathBuf,
    /// The installation's key, which says whether this installation created the store.
    pub key: proem_guard::InstallationKey,
    /// What is wanted.
    pub access: StoreAccess,
    /// Whose process this is, for its epoch.
    pub project: Project,
    /// Who started it.
    pub actor: Actor,
    /// The zone by which days are booked.
    pub zone: jiff::tz::TimeZone,
}

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreAccess {
    /// To read and write.
    Write,
    /// To read what is there; nothing is created.
    Read,
}

/// Who created a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreCreator {
    /// This installation: it may be written.
    Own,
    /// Another one, or nobody knows: it is only read.
    Foreign,
}
