//! The limits of a reading of sources, and its results.

use std::{sync::Arc, time::Duration};

use proem_imports::{SourceFacts, SourceLimits};

/// Bounds on reading a repository's structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructureLimits {
    /// The most sources that are read, cached ones not counted.
    pub files: usize,
    /// The most bytes that are read.
    pub bytes: u64,
    /// Time for everything.
    pub time: Duration,
    /// Time for parsing one source.
    pub parse_time: Duration,
    /// Bytes of the list of files.
    pub listing: usize,
    /// Bounds on one source.
    pub source: SourceLimits,
}

impl Default for StructureLimits {
    /// 200,000 sources of 1 GiB in a minute, two seconds for each of at most 1 MiB, and 256 MiB of names.
    fn default() -> Self {
        Self {
            files: 200_000,
            bytes: 1 << 30,
            time: Duration::from_mins(1),
            parse_time: Duration::from_secs(2),
            listing: 256 << 20,
            source: SourceLimits::default(),
        }
    }
}

/// Why a source was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SourceGap {
    /// It is larger than a source that is read.
    TooLarge,
    /// Parsing it took too long.
    TimedOut,
    /// The bounds on all sources together were reached before it.
    NotReached,
    /// The repository, or a partial clone of it, doesn't have its content.
    Missing,
    /// Its language's parser could not be used.
    NoParser,
}

impl SourceGap {
    pub(super) const ALL: [Self; 5] = [Self::TooLarge, Self::TimedOut, Self::NotReached, Self::Missing, Self::NoParser];

    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::TooLarge => "too large to be read",
            Self::TimedOut => "too slow to parse",
            Self::NotReached => "not read, because an overall limit was reached",
            Self::Missing => "missing from this clone",
            Self::NoParser => "in a language without a parser",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum SourceReading {
    Facts(Arc<SourceFacts>),
    /// How many lines of it are not blank.
    Lines(u32),
}

/// The reading of a source, or the reason that there is none.
pub(super) type SourceResult = Result<SourceReading, SourceGap>;
