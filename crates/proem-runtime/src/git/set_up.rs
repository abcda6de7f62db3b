//! The files that `proem init` wrote: as long as they are as it wrote them, nobody changed anything.

use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use proem_text::hex;
use sha2::{Digest, Sha256};

use crate::{
    files::{FileContent, TrustedFile, read_beneath},
    git::{StatusKind, status::StatusEntry},
};

/// The largest of them, in bytes.
const LARGEST: usize = 1024 * 1024;

/// The files that were written into one work tree.
#[derive(Debug)]
pub(crate) struct SetUp<'s> {
    root: &'s Path,
    files: &'s BTreeSet<TrustedFile>,
}

impl<'s> SetUp<'s> {
    pub(crate) const fn new(root: &'s Path, files: &'s BTreeSet<TrustedFile>) -> Self {
        Self { root, files }
    }

    /// Whether a path is new to the repository and as it was written.
    pub(crate) fn is_new(&self, entry: &StatusEntry) -> bool {
        let added = StatusKind::Tracked { staged: b'A', unstaged: b'.' };
        (entry.kind == added || entry.kind == StatusKind::Untracked) && self.wrote(&entry.path)
    }

    /// Whether it wrote nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether a path has the bytes with which it was written.
    pub(crate) fn wrote(&self, path: &[u8]) -> bool {
        let written: Vec<&TrustedFile> = self.files.iter().filter(|file| file.name.as_bytes() == path).collect();
        if written.is_empty() {
            return false;
        }
        match read_beneath(self.root, Path::new(OsStr::from_bytes(path)), LARGEST) {
            Ok(Some(FileContent::Whole(bytes))) => {
                let hash = hex::encode_hex(Sha256::digest(&bytes));
                written.iter().any(|file| file.hash == hash)
            }
            // An unreadable file counts as somebody else's.
            _ => false,
        }
    }
}
