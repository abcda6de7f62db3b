//! The reach of tests: the test files of a file, and reports of measured coverage.
//!
//! Neither is the other: test files are found by names, imports and history, and say how much test code there is. A
//! report says which lines ran.

mod cobertura;
mod lcov;
mod names;
mod places;
mod python;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use self::places::SuffixIndex;
use crate::graph::EdgeKind;
use crate::path::{FileRole, RepoPath};
use crate::tree::FileTree;
use crate::{Error, ErrorKind};

/// The longest report that is read, in bytes: 64 MiB.
const LONGEST: usize = 64 * 1024 * 1024;

/// The tests of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tests {
    /// Test files that belong to it, by index in the tree, ascending.
    pub files: Vec<u32>,
    /// Their lines, and those inside the file. Lines that several files share count for each. Files that could not be
    /// read add nothing, so that it is the least there is.
    pub lines: u32,
    /// How they were found: of several ways the first in the order of [`TestLink`].
    pub found: TestLink,
}

/// How the tests of a file were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestLink {
    /// Inside the file.
    Inside,
    /// By their names.
    Name,
    /// They import it.
    Import,
    /// They change with it.
    CoChange,
}

/// Finds the tests of a file. `None` if none are found, which is unknown and not untested. `changes_with` are test
/// files that usually change with it.
///
/// All ways count together: tests inside the file, test files whose names say that they belong to it,
/// test files that import it themselves, and those of `changes_with`. `None` also for a test file, and
/// where none of the files found could be read.
#[must_use]
pub fn find_tests(tree: &FileTree, file: u32, changes_with: &[u32]) -> Option<Tests> {
    let tested = tree_file(tree, file).filter(|tested| tested.class.role != FileRole::Test)?;
    let is_test =
        |&test: &u32| test != file && tree_file(tree, test).is_some_and(|test| test.class.role == FileRole::Test);
    let imports = |kind| matches!(kind, EdgeKind::Import | EdgeKind::Test);
    let importers = tree.graph.importers(file).iter().filter(|importer| imports(importer.kind));
    let ways: [(TestLink, Vec<u32>); 3] = [
        (TestLink::Name, names::tests_by_name(tree, &tested.path)),
        (TestLink::Import, importers.map(|importer| importer.file).collect()),
        (TestLink::CoChange, changes_with.to_vec()),
    ];
    let mut found = (tested.inline_tests > 0).then_some(TestLink::Inside);
    let mut files = BTreeSet::new();
    for (way, tests) in ways {
        let before = files.len();
        files.extend(tests.into_iter().filter(is_test));
        if files.len() > before {
            found = found.or(Some(way));
        }
    }
    let found = found?;
    let known: Vec<u32> = files.iter().filter_map(|&test| tree_file(tree, test)?.lines).collect();
    if known.is_empty() && tested.inline_tests == 0 {
        return None;
    }
    let lines = known.iter().fold(tested.inline_tests, |sum, lines| sum.saturating_add(*lines));
    Some(Tests { files: files.into_iter().collect(), lines, found })
}

fn tree_file(tree: &FileTree, file: u32) -> Option<&crate::tree::TreeFile> {
    tree.files.get(usize::try_from(file).ok()?)
}

/// Measured coverage of lines, from a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The counts of each path, in the order of [`Self::places`].
    files: Vec<CoverageCount>,
    places: SuffixIndex,
    /// Whether the paths are those of the repository.
    is_placed: bool,
}

/// How much of a file is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoverageCount {
    /// Lines that were run.
    pub covered: u32,
    /// Lines that could be.
    pub lines: u32,
}

impl Coverage {
    /// Reads a report: lcov, Cobertura's XML or the JSON of coverage.py, told apart by their content.
    ///
    /// A file that is named several times is covered where it was covered once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unreadable`] with the line and what is expected.
    pub fn read(text: &[u8]) -> Result<Self, Error> {
        if text.len() > LONGEST {
            return Err(Error::new(
                ErrorKind::Unreadable,
                format!("the coverage report has more than {LONGEST} bytes; leave out packages that are not assessed"),
            ));
        }
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let drafts = match text.trim_ascii_start().first() {
            Some(b'<') => cobertura::read_cobertura(text)?,
            Some(b'{') => python::read_coverage_py(text)?,
            _ => lcov::read_lcov(text)?,
        };
        let (paths, files): (Vec<_>, Vec<_>) = drafts.finish().into_iter().unzip();
        Ok(Self { files, places: SuffixIndex::new(paths), is_placed: false })
    }

    /// The same with the paths of a repository: each path of the report goes to the file with the longest
    /// common end, if only one has it. Paths that lead nowhere, and those that lead to one file
    /// together, are left out.
    #[must_use]
    pub fn placed(&self, tree: &FileTree) -> Self {
        let repository = SuffixIndex::new(tree.files.iter().map(|file| file.path.as_bytes().to_vec()).collect());
        let mut placed: BTreeMap<u32, Option<CoverageCount>> = BTreeMap::new();
        for (path, covered) in self.places.paths().iter().zip(&self.files) {
            let Some(at) = repository.find(path) else { continue };
            placed.entry(at).and_modify(|known| *known = None).or_insert(Some(*covered));
        }
        let paths = repository.paths();
        let known = placed.into_iter().filter_map(|(at, covered)| {
            let path = paths.get(usize::try_from(at).ok()?)?;
            Some((path.clone(), covered?))
        });
        let (paths, files): (Vec<_>, Vec<_>) = known.unzip();
        Self { files, places: SuffixIndex::new(paths), is_placed: true }
    }

    /// The counts of a file. Paths match by their longest common end, if only one does. Of two files of a repository
    /// that match the same path only [`Self::placed`] knows.
    #[must_use]
    pub fn of(&self, path: &RepoPath) -> Option<CoverageCount> {
        let at = match self.places.exact(path.as_bytes()) {
            None if !self.is_placed => self.places.find(path.as_bytes()),
            exact => exact,
        };
        self.files.get(usize::try_from(at?).ok()?).copied()
    }

    /// How many files it covers.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether it covers none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// The contents of a report, line by line.
#[derive(Debug, Default)]
struct Drafts {
    files: BTreeMap<Vec<u8>, CoverageDraft>,
}

#[derive(Debug, Default)]
struct CoverageDraft {
    lines: Vec<(u32, LineRun)>,
    /// The sums, if there are no lines.
    sums: Option<CoverageCount>,
}

/// Whether a line was run. Run goes before not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineRun {
    Yes,
    No,
}

impl Drafts {
    fn file(&mut self, path: &[u8]) -> &mut CoverageDraft {
        self.files.entry(normalise_path(path)).or_default()
    }

    fn finish(self) -> Vec<(Vec<u8>, CoverageCount)> {
        let finished = self.files.into_iter().filter_map(|(path, draft)| Some((path, draft.finish()?)));
        finished.collect()
    }
}

impl CoverageDraft {
    /// `None` if nothing is known of the file.
    fn finish(mut self) -> Option<CoverageCount> {
        if self.lines.is_empty() {
            return self.sums;
        }
        self.lines.sort_unstable();
        self.lines.dedup_by_key(|(line, _)| *line);
        let count = |lines: usize| u32::try_from(lines).ok();
        let covered = self.lines.iter().filter(|(_, run)| *run == LineRun::Yes).count();
        Some(CoverageCount { covered: count(covered)?, lines: count(self.lines.len())? })
    }
}

/// A path with `/` between its parts and without empty ones. Windows writes `\`.
fn normalise_path(path: &[u8]) -> Vec<u8> {
    let is_windows = !path.contains(&b'/') || path.get(1) == Some(&b':');
    let is_separator = |byte: &u8| *byte == b'/' || (is_windows && *byte == b'\\');
    let parts: Vec<&[u8]> = path.split(is_separator).filter(|part| !part.is_empty() && *part != b".").collect();
    parts.join(&b'/')
}

/// The number of the line at a byte, counted from 1.
fn line_at(text: &[u8], at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.iter().filter(|&&byte| byte == b'\n').count().saturating_add(1)
}

fn unreadable_coverage(line: usize, expected: &str) -> Error {
    let message: String = format!("line {line} of the coverage report: {expected}");
    Error::new(ErrorKind::Unreadable, message)
}

#[cfg(test)]
mod tests;
