//! Which file a touched path is.
//!
//! A file keeps its identity through exact renames. A path that was deleted and comes back is the same file. One whose
//! file was renamed away is another file once it is added again, and still the renamed one where a branch goes on with
//! the old name.

use alloc::vec;
use alloc::vec::Vec;

use super::table::{JaggedTable, index_to_u32, index_to_usize};
use super::{FileId, PathId, Touch, UnlinkedTouch};
use crate::change::FileStatus;

/// The identities of the touched paths.
pub(super) struct Lineage {
    /// The touched files of each commit, oldest first.
    pub(super) touches: JaggedTable<Touch>,
    /// The last path of each file.
    pub(super) last_paths: Vec<PathId>,
}

/// The meaning of a path at some point.
#[derive(Clone, Copy)]
enum PathMeaning {
    File(FileId),
    /// A file that has another name since.
    Moved(FileId),
}

impl Lineage {
    /// Follows the paths of commits, oldest first.
    pub(super) fn of(touched: &JaggedTable<UnlinkedTouch>, paths: usize) -> Self {
        let touches = JaggedTable::with_capacity(index_to_usize(touched.rows()), touched.items());
        let mut lineage = Self { touches, last_paths: Vec::new() };
        let mut named: Vec<Option<PathMeaning>> = vec![None; paths];
        for row in touched.iter() {
            lineage.commit(row, &mut named);
        }
        lineage
    }

    fn commit(&mut self, row: &[UnlinkedTouch], named: &mut [Option<PathMeaning>]) {
        // All sources are looked up first: two files may have swapped their names.
        let sources: Vec<FileId> = row
            .iter()
            .filter_map(|touch| touch.from)
            .map(|from| match named.get(index_to_usize(from.0)).copied().flatten() {
                Some(PathMeaning::File(file) | PathMeaning::Moved(file)) => file,
                None => self.begin(from),
            })
            .collect();
        for (touch, &file) in row.iter().filter(|touch| touch.from.is_some()).zip(&sources) {
            if let Some(place) = touch.from.and_then(|from| named.get_mut(index_to_usize(from.0))) {
                *place = Some(PathMeaning::Moved(file));
            }
        }
        for (touch, &file) in row.iter().filter(|touch| touch.from.is_some()).zip(&sources) {
            self.name(touch.path, file, named);
        }
        let mut sources = sources.into_iter();
        for touch in row {
            let source = touch.from.and_then(|_| sources.next());
            let file = source.unwrap_or_else(|| self.plain(touch, named));
            self.touches.push(Touch { path: touch.path, from: touch.from, file, status: touch.status });
        }
        self.touches.end();
    }

    /// The file of a touch that renames nothing.
    fn plain(&mut self, touch: &UnlinkedTouch, named: &mut [Option<PathMeaning>]) -> FileId {
        match named.get(index_to_usize(touch.path.0)).copied().flatten() {
            Some(PathMeaning::File(file)) => file,
            Some(PathMeaning::Moved(file)) if touch.status != FileStatus::Added => file,
            _ => {
                let file = self.begin(touch.path);
                self.name(touch.path, file, named);
                file
            }
        }
    }

    fn begin(&mut self, path: PathId) -> FileId {
        let file = FileId(index_to_u32(self.last_paths.len()));
        self.last_paths.push(path);
        file
    }

    fn name(&mut self, path: PathId, file: FileId, named: &mut [Option<PathMeaning>]) {
        if let Some(place) = named.get_mut(index_to_usize(path.0)) {
            *place = Some(PathMeaning::File(file));
        }
        if let Some(last) = self.last_paths.get_mut(index_to_usize(file.0)) {
            *last = path;
        }
    }
}
