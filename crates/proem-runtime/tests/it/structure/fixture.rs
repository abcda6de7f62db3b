//! Ways to read the structure of a fixture's repository, and to show it.

use std::path::PathBuf;

use proem_runtime::{
    Error,
    structure::{Structure, StructureLimits, StructureReader, TreeState},
};

use crate::fixture::Fixture;

impl Fixture {
    /// The folder that [`Self::read_cached`] keeps what it read in.
    pub(crate) fn cache(&self) -> PathBuf {
        self.base.join("cache/here")
    }

    pub(crate) fn try_read(&self, at: TreeState<'_>, limits: StructureLimits) -> Result<Structure, Error> {
        StructureReader::open(&self.program(), &self.repository(), None, limits).read(at, &|_, _| {})
    }

    pub(crate) fn read(&self, at: TreeState<'_>) -> Structure {
        self.try_read(at, StructureLimits::default()).unwrap()
    }

    /// Reads HEAD with the cache; what can't be kept is a gap.
    pub(crate) fn read_cached(&self) -> Structure {
        let limits = StructureLimits::default();
        let reader = StructureReader::open(&self.program(), &self.repository(), Some(&self.cache()), limits);
        let mut structure = reader.read(TreeState::Commit("HEAD"), &|_, _| {}).unwrap();
        structure.gaps.extend(reader.keep());
        structure
    }
}

/// The edges, by path.
pub(crate) fn edges(structure: &Structure) -> Vec<String> {
    let name = |file: u32| structure.files[usize::try_from(file).unwrap()].path.escape_ascii().to_string();
    let from = |file: u32| structure.graph.imported(file).iter().map(move |end| (file, end.file));
    (0..structure.graph.files()).flat_map(from).map(|(from, to)| format!("{} -> {}", name(from), name(to))).collect()
}

/// The paths.
pub(crate) fn paths(structure: &Structure) -> Vec<String> {
    structure.files.iter().map(|file| file.path.escape_ascii().to_string()).collect()
}
