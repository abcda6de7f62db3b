//! The options for opening a store: access and owner.

use std::path::PathBuf;

use crate::record::{Actor, Project};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The file. It is created, with its folder, if it isn't there and `access` allows it.
    pub path: PathBuf,
    /// The installation's key, which says whether this installation created the store.
    pub key: proem_guard::InstallationKey,
    /// The access to open it with.
    pub access: StoreAccess,
    /// The project of this process, for its epoch.
    pub project: Project,
    /// The actor that started it.
    pub actor: Actor,
    /// The zone by which days are booked.
    pub zone: jiff::tz::TimeZone,
}

/// Permission to read a store, or to write to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreAccess {
    /// To read and write.
    Write,
    /// To read what is there. Nothing is created.
    Read,
}

/// The one that may make a store that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreCreator {
    /// This installation: it may be written.
    Own,
    /// Another one, or nobody knows: it is only read.
    Foreign,
}
