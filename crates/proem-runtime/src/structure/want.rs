//! The request for a file, by its path.

use proem_imports::{Manifests, SourceLanguage};

use crate::{context::record::RecordWant, structure::languages};

/// The request for a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// The facts of a source.
    Facts(SourceLanguage),
    /// How many lines it has.
    Lines,
    /// The bytes of a project file.
    Manifest,
    /// The parts of a file, for ranking.
    Record(RecordWant),
}

impl Want {
    /// The request for the file at a path. `None` if it is no source.
    pub(super) fn of_path(path: &[u8]) -> Option<Self> {
        if Manifests::wanted(path) {
            return Some(Self::Manifest);
        }
        let lines = || languages::without_parser(path).map(|_| Self::Lines);
        SourceLanguage::of_path(path).map(Self::Facts).or_else(lines)
    }

    /// Its byte in the keys of the cache.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Facts(language) => {
                let at = SourceLanguage::ALL.iter().position(|known| *known == language);
                // One that the list forgot must not share the entries of another.
                at.and_then(|at| u8::try_from(at).ok()).unwrap_or(0xfd)
            }
            Self::Lines => 0xff,
            Self::Manifest => 0xfe,
            Self::Record(want) => want.code(),
        }
    }
}
