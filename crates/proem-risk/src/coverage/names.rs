//! Finds the test files of a file by their names and places.

use alloc::vec;
use alloc::vec::Vec;

use crate::path::{FileRole, RepoPath};
use crate::tree::{FileTree, TreeFile};

/// How the tests of a family of languages are named. `*` represents the name of the tested file.
struct Family {
    extensions: &'static [&'static str],
    /// Before the name, after it, and the extensions that tests have.
    names: &'static [(&'static str, &'static str)],
    tests: &'static [&'static str],
    /// Whether a file of the very same name in a folder of tests is its test.
    same_name: SameName,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SameName {
    IsTest,
    IsNone,
}

/// After what the runners of each language discover. `data/paths.tsv` names them.
const FAMILIES: &[Family] = &[
    Family {
        extensions: &["py", "pyx"],
        names: &[("test_", ""), ("", "_test"), ("", "_tests")],
        tests: &["py"],
        same_name: SameName::IsNone,
    },
    Family {
        extensions: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        names: &[("", ".test"), ("", ".spec"), ("", "-test"), ("", "_test"), ("", "-spec")],
        tests: &["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts"],
        same_name: SameName::IsTest,
    },
    Family { extensions: &["go"], names: &[("", "_test")], tests: &["go"], same_name: SameName::IsNone },
    Family {
        extensions: &["rs"],
        names: &[("", "_test"), ("", "_tests"), ("test_", "")],
        tests: &["rs"],
        same_name: SameName::IsTest,
    },
    Family {
        extensions: &["java", "kt", "groovy", "scala"],
        names: &[("", "Test"), ("", "Tests"), ("Test", ""), ("", "IT"), ("", "Spec"), ("", "TestCase")],
        tests: &["java", "kt", "groovy", "scala"],
        same_name: SameName::IsNone,
    },
    Family {
        extensions: &["cs", "php", "swift"],
        names: &[("", "Test"), ("", "Tests")],
        tests: &["cs", "php", "swift"],
        same_name: SameName::IsNone,
    },
    Family {
        extensions: &["rb"],
        names: &[("", "_spec"), ("", "_test"), ("test_", "")],
        tests: &["rb"],
        same_name: SameName::IsNone,
    },
    Family {
        extensions: &["c", "cc", "cpp", "cxx", "h", "hh", "hpp"],
        names: &[("", "_test"), ("", "_unittest"), ("test_", ""), ("", "Test"), ("", "Tests")],
        tests: &["c", "cc", "cpp", "cxx"],
        same_name: SameName::IsNone,
    },
    Family {
        extensions: &["ex", "dart", "clj", "cljs", "lua", "ml"],
        names: &[("", "_test"), ("", "_spec")],
        tests: &["exs", "dart", "clj", "cljs", "lua", "ml"],
        same_name: SameName::IsNone,
    },
    Family { extensions: &["hs"], names: &[("", "Spec"), ("", "Test")], tests: &["hs"], same_name: SameName::IsNone },
];

/// Folders that hold tests, below any folder above the tested file.
const FOLDERS: &[&str] = &["tests", "test", "__tests__", "spec", "specs", "tests/unit", "test/unit", "unittests", "t"];

/// How many folders above a file are looked into. Deeper ones are not found in practice.
const MOST_FOLDERS: usize = 32;

/// The test files that belong to the file at `path`: those beside it; else those at the same place in a
/// folder of tests; else those of its name straight in a folder of tests above it, the nearest first.
pub(super) fn tests_by_name(tree: &FileTree, path: &RepoPath) -> Vec<u32> {
    let Some(tested) = TestSubject::of(path) else { return vec![] };
    let folders: Vec<&[u8]> = tested.folder.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).collect();
    let beside = tested.beside(tree);
    if !beside.is_empty() {
        return beside;
    }
    // Below `above` lies `rest`, in which leading folders such as `src` or the package may be missing
    // among the tests.
    let mut straight: Vec<u32> = vec![];
    for above in (0..=folders.len()).rev().take(MOST_FOLDERS) {
        let (Some(base), Some(rest)) = (folders.get(..above), folders.get(above..)) else { continue };
        for tests in FOLDERS {
            let root = join_path(base.iter().copied().chain([tests.as_bytes()]));
            if files_in_folder(tree, &root).0.is_empty() {
                continue;
            }
            for missing in 0..rest.len().min(3) {
                let place = join_path([root.as_slice()].into_iter().chain(rest.iter().skip(missing).copied()));
                let mirrored = tested.tests_in(tree, &place, SameName::IsTest);
                if !mirrored.is_empty() {
                    return mirrored;
                }
            }
            if straight.is_empty() {
                straight = tested.tests_in(tree, &root, SameName::IsTest);
            }
        }
    }
    straight
}

/// A file with how its tests are named.
struct TestSubject<'p> {
    folder: &'p [u8],
    stem: &'p [u8],
    family: &'static Family,
}

impl<'p> TestSubject<'p> {
    fn of(path: &'p RepoPath) -> Option<Self> {
        let name = path.name();
        let dot = name.iter().rposition(|&byte| byte == b'.')?;
        let extension = core::str::from_utf8(name.get(dot.saturating_add(1)..)?).ok()?;
        let family = FAMILIES.iter().find(|family| family.extensions.contains(&extension))?;
        let (folder, stem) = match name.get(..dot)? {
            // The tests of a folder's root are named like the folder.
            b"mod" | b"__init__" => {
                let folder = path.folder();
                let slash = folder.iter().rposition(|&byte| byte == b'/');
                let stem = folder.get(slash.map_or(0, |slash| slash.saturating_add(1))..)?;
                (slash.and_then(|slash| folder.get(..slash)).unwrap_or_default(), stem)
            }
            stem => (path.folder(), stem),
        };
        (!stem.is_empty()).then_some(Self { folder, stem, family })
    }

    /// Test files in the same folder, in a folder of tests in it, or in the folder of its name.
    fn beside(&self, tree: &FileTree) -> Vec<u32> {
        let mut found = self.tests_in(tree, self.folder, SameName::IsNone);
        let inside = |name: &[u8]| join_path([self.folder, name].into_iter().filter(|part| !part.is_empty()));
        for tests in ["__tests__", "tests", "test"] {
            found.extend(self.tests_in(tree, &inside(tests.as_bytes()), SameName::IsTest));
        }
        if self.family.extensions.contains(&"rs") {
            let own = inside(self.stem);
            let modules = [b"tests.rs".as_slice(), b"tests/mod.rs"].map(|name| join_path([own.as_slice(), name]));
            found.extend(modules.iter().filter_map(|path| test_at_path(&tree.files, 0, path)));
        }
        found
    }

    fn tests_in(&self, tree: &FileTree, folder: &[u8], same_name: SameName) -> Vec<u32> {
        let mut found = vec![];
        let (files, first) = files_in_folder(tree, folder);
        if files.is_empty() {
            return found;
        }
        let mut path: Vec<u8> = Vec::with_capacity(folder.len().saturating_add(self.stem.len()).saturating_add(16));
        let own: &[(&str, &str)] =
            if (same_name, self.family.same_name) == (SameName::IsTest, SameName::IsTest) { &[("", "")] } else { &[] };
        for (before, after) in self.family.names.iter().chain(own) {
            for extension in self.family.tests {
                path.clear();
                path.extend_from_slice(folder);
                if !folder.is_empty() {
                    path.push(b'/');
                }
                for part in [before.as_bytes(), self.stem, after.as_bytes(), b".", extension.as_bytes()] {
                    path.extend_from_slice(part);
                }
                found.extend(test_at_path(files, first, &path));
            }
        }
        found
    }
}

fn join_path<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let parts: Vec<&[u8]> = parts.into_iter().collect();
    parts.join(&b'/')
}

/// The test file at a path, among files from `first` on.
fn test_at_path(files: &[TreeFile], first: usize, path: &[u8]) -> Option<u32> {
    let at = files.binary_search_by(|file| file.path.as_bytes().cmp(path)).ok()?;
    let is_test = files.get(at).is_some_and(|file| file.class.role == FileRole::Test);
    is_test.then(|| first.checked_add(at)).flatten().and_then(|at| u32::try_from(at).ok())
}

/// The files in a folder and below it, with the index of the first.
fn files_in_folder<'t>(tree: &'t FileTree, folder: &[u8]) -> (&'t [TreeFile], usize) {
    if folder.is_empty() {
        return (&tree.files, 0);
    }
    let first = tree.files.partition_point(|file| is_before(file.path.as_bytes(), folder));
    let rest = tree.files.get(first..).unwrap_or_default();
    let is_below =
        |file: &TreeFile| file.path.as_bytes().strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"));
    if !rest.first().is_some_and(is_below) {
        return (&[], first);
    }
    (rest.get(..rest.partition_point(is_below)).unwrap_or_default(), first)
}

/// Whether a path is before everything in a folder.
fn is_before(path: &[u8], folder: &[u8]) -> bool {
    match path.strip_prefix(folder) {
        Some(rest) => rest < b"/".as_slice(),
        None => path < folder,
    }
}
