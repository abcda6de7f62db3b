//! Remembers the author of each line, by its print.

use alloc::collections::BTreeMap;

use super::PatchedFile;
use crate::history::{CommitIndex, FileId, Mends};
use crate::metrics::decides_level;

/// The author of a line, or of its removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineOrigin {
    /// The commit that wrote the line.
    pub commit: CommitIndex,
    /// Its claim of mending.
    pub mends: Mends,
}

/// The telling lines of the remembered commits, by file and print.
///
/// A line is recognised by its text, not by its place: one that stands twice in a file belongs to who wrote it last.
/// That needs no blame, and follows a file over merges.
#[derive(Debug, Clone, Default)]
pub struct LineMemory {
    written: BTreeMap<(FileId, u64), LineOrigin>,
    /// Lines that a revert took away and nobody wrote since.
    reverted: BTreeMap<(FileId, u64), LineOrigin>,
}

impl LineMemory {
    /// The last author of a line of a file. `None` if that was before the remembered commits.
    #[must_use]
    pub fn author(&self, file: FileId, print: u64) -> Option<LineOrigin> {
        self.written.get(&(file, print)).copied()
    }

    /// The revert that took a line away.
    #[must_use]
    pub fn reverted(&self, file: FileId, print: u64) -> Option<LineOrigin> {
        self.reverted.get(&(file, print)).copied()
    }

    /// The commits that wrote the lines which a commit takes away from code and configuration.
    pub(super) fn authors_of_removed<'m>(&'m self, files: &'m [PatchedFile]) -> impl Iterator<Item = CommitIndex> + 'm {
        let counted = files.iter().filter(|file| decides_level(file.role));
        let lines = counted.flat_map(|file| file.prints.removed.iter().map(move |print| (file.file, *print)));
        lines.filter_map(|(file, print)| self.author(file, print)).map(|origin| origin.commit)
    }

    /// Takes in a commit.
    pub(super) fn remember(&mut self, commit: CommitIndex, mends: Mends, files: &[PatchedFile]) {
        let origin = LineOrigin { commit, mends };
        for file in files {
            for print in &file.prints.removed {
                let line = (file.file, *print);
                let known = self.written.remove(&line);
                if mends == Mends::Revert && known.is_some() {
                    self.reverted.insert(line, origin);
                }
            }
            for print in &file.prints.added {
                let line = (file.file, *print);
                self.reverted.remove(&line);
                self.written.insert(line, origin);
            }
        }
    }
}
