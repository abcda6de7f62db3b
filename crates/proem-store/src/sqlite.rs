//! SQLite: one file, read by whoever asks and written by one thread of each process in turn.

pub(crate) mod form;
pub(crate) mod origin;
pub(crate) mod place;
mod site;

pub(crate) use self::site::{PATIENCE, Site, writing};
