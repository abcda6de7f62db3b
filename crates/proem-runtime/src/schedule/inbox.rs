//! A folder into which other programs put files: which of them are new and complete.
//!
//! Nothing here is opened, changed or deleted. Whether a file is the one of before is told by its inode, its size and
//! when it was changed last, so a file that is renamed in the folder is not new, and one that grows is.
//!
//! Invariants: a file is handed out only after it stayed as it is for the time to settle, as far as was seen or by when
//! it was changed last. One that was handed out is not handed out again unless it changes or whoever had it asks for
//! it. Links and what is no file are never handed out.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The endings of files that other programs have not written to their end.
const UNFINISHED: [&str; 7] = ["tmp", "part", "partial", "crdownload", "download", "swp", "lock"];
/// How many entries of a folder are looked at.
const MOST: usize = 100_000;

/// A folder that is looked at again and again.
#[derive(Debug)]
pub struct WatchedFolder {
    folder: PathBuf,
    settle: Duration,
    endings: &'static [&'static str],
    known: BTreeMap<FileIdentity, FileStanding>,
    left: BTreeMap<PathBuf, LeftAlone>,
    overfull: bool,
}

/// The identity of a file: its device and its number on it.
type FileIdentity = (u64, u64);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    size: u64,
    changed: Option<SystemTime>,
}

#[derive(Debug)]
struct FileStanding {
    state: FileState,
    /// Since when it has been like this, by the steady clock.
    since: Duration,
    handed_out: bool,
    /// Not to be handed out before.
    not_before: Duration,
}

/// Why a file is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftAlone {
    /// It is a link, which may lead anywhere.
    Link,
    /// It is a folder, a pipe, or something else that is no file.
    NoFile,
    /// Its name ends as none of those that are read.
    OtherEnding,
    /// There are more files than are looked at.
    TooMany,
}

/// A file that can be read now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledFile {
    /// The place of the file, which did not change between two looks.
    pub path: PathBuf,
    /// How long it has been as it is.
    pub settled: Duration,
    identity: FileIdentity,
}

/// The result of a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FolderNews {
    /// Files that can be read now, by name.
    pub settled: Vec<SettledFile>,
    /// The files that are left alone, each once.
    pub left: Vec<(PathBuf, LeftAlone)>,
}

impl WatchedFolder {
    /// A folder of which the files with some endings are wanted, in lower case without a dot, once they have not changed
    /// for `settle`.
    #[must_use]
    pub const fn new(folder: PathBuf, settle: Duration, endings: &'static [&'static str]) -> Self {
        Self { folder, settle, endings, known: BTreeMap::new(), left: BTreeMap::new(), overfull: false }
    }

    /// Looks at the folder at a time by the steady clock and by that of files. Hidden files and those that others still
    /// write, by their names, are passed over.
    ///
    /// # Errors
    ///
    /// If the folder can't be listed; what was known stays known.
    pub fn look(&mut self, now: Duration, wall: SystemTime) -> io::Result<FolderNews> {
        let mut news = FolderNews::default();
        let mut seen = BTreeMap::new();
        let mut left = BTreeMap::new();
        for (index, entry) in fs::read_dir(&self.folder)?.enumerate() {
            let path = entry?.path();
            if index >= MOST {
                if !std::mem::replace(&mut self.overfull, true) {
                    news.left.push((self.folder.clone(), LeftAlone::TooMany));
                }
                break;
            }
            if is_passed_over(&path) {
                continue;
            }
            // A file that went away meanwhile is nobody's loss.
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            match self.why_left(&path, &metadata) {
                None => {
                    _ = seen.insert(identity(&metadata), (path, metadata));
                }
                Some(why) => {
                    if self.left.get(&path) != Some(&why) {
                        news.left.push((path.clone(), why));
                    }
                    left.insert(path, why);
                }
            }
        }
        self.left = left;
        self.known.retain(|identity, _| seen.contains_key(identity));
        for (identity, (path, metadata)) in seen {
            let state = FileState { size: metadata.len(), changed: metadata.modified().ok() };
            let standing = self.known.entry(identity).or_insert_with(|| FileStanding::new(&state, now));
            if standing.state != state {
                *standing = FileStanding::new(&state, now);
            }
            let age = standing.state.changed.and_then(|changed| wall.duration_since(changed).ok());
            let settled = now.saturating_sub(standing.since).max(age.unwrap_or_default());
            if !standing.handed_out && settled >= self.settle && now >= standing.not_before {
                standing.handed_out = true;
                news.settled.push(SettledFile { path, settled, identity });
            }
        }
        news.settled.sort_by(|one, other| one.path.cmp(&other.path));
        news.left.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(news)
    }

    /// Has a file handed out once more at a time by the steady clock, unless it is gone or has changed until then.
    pub fn again(&mut self, file: &SettledFile, at: Duration) {
        if let Some(standing) = self.known.get_mut(&file.identity) {
            standing.handed_out = false;
            standing.not_before = at;
        }
    }

    fn why_left(&self, path: &Path, metadata: &Metadata) -> Option<LeftAlone> {
        if metadata.is_symlink() {
            return Some(LeftAlone::Link);
        }
        if !metadata.is_file() {
            return Some(LeftAlone::NoFile);
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        let is_wanted = ending.is_some_and(|ending| self.endings.contains(&ending.as_str()));
        (!is_wanted).then_some(LeftAlone::OtherEnding)
    }
}

impl FileStanding {
    fn new(state: &FileState, now: Duration) -> Self {
        Self { state: state.clone(), since: now, handed_out: false, not_before: Duration::ZERO }
    }
}

/// Whether a name is one of a hidden file, or of one that somebody still writes.
fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    name.starts_with('.') || name.ends_with('~') || ending.is_some_and(|ending| UNFINISHED.contains(&ending.as_str()))
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

/// Elsewhere a file is told by when it was made and how large it is.
#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> FileIdentity {
    let made = metadata.created().ok().and_then(|made| made.duration_since(SystemTime::UNIX_EPOCH).ok());
    let made = made.and_then(|made| u64::try_from(made.as_nanos()).ok());
    (metadata.len(), made.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const SETTLE: Duration = Duration::from_secs(2);

    struct Scene {
        folder: TempDir,
        watched: WatchedFolder,
        now: Duration,
    }

    impl Scene {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            let watched = WatchedFolder::new(folder.path().to_owned(), SETTLE, &["json", "eml"]);
            Self { folder, watched, now: Duration::ZERO }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.folder.path().join(name), text).unwrap();
        }

        /// The result of a look this many seconds later: the names of files, and of those that are left alone.
        fn look(&mut self, seconds: u64) -> (Vec<String>, Vec<(String, LeftAlone)>) {
            self.now += Duration::from_secs(seconds);
            let news = self.watched.look(self.now, SystemTime::now()).unwrap();
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            let settled = news.settled.iter().map(|file| name(&file.path)).collect();
            (settled, news.left.iter().map(|(path, why)| (name(path), *why)).collect())
        }

        fn settled(&mut self, seconds: u64) -> Vec<String> {
            self.look(seconds).0
        }
    }

    #[test]
    fn a_file_is_handed_out_once_when_it_has_settled() {
        let mut scene = Scene::new();
        scene.write("b.json", "{}");
        scene.write("a.eml", "x");
        assert_eq!(scene.settled(0), [""; 0]);
        assert_eq!(scene.settled(1), [""; 0]);
        assert_eq!(scene.settled(1), ["a.eml", "b.json"]);
        assert_eq!(scene.settled(100), [""; 0]);
    }

    #[test]
    fn what_was_changed_long_ago_has_settled() {
        let mut scene = Scene::new();
        scene.write("old.json", "{}");
        scene.write("coming.json", "{}");
        let changed = |name: &str, at: SystemTime| {
            fs::File::options().write(true).open(scene.folder.path().join(name)).unwrap().set_modified(at).unwrap();
        };
        changed("old.json", SystemTime::UNIX_EPOCH);
        changed("coming.json", SystemTime::now() + Duration::from_hours(1));
        assert_eq!(scene.settled(0), ["old.json"]);
        assert_eq!(scene.settled(2), ["coming.json"], "a time to come says nothing");
    }

    #[test]
    fn one_that_grows_is_waited_for_and_one_that_grew_comes_again() {
        let mut scene = Scene::new();
        scene.write("a.json", "{");
        scene.look(0);
        scene.write("a.json", "{\"a\"");
        assert_eq!(scene.settled(2), [""; 0], "it changed since");
        scene.write("a.json", "{\"a\":1}");
        assert_eq!(scene.settled(1), [""; 0]);
        assert_eq!(scene.settled(2), ["a.json"]);
        scene.write("a.json", "{\"a\":1}\n{\"a\":2}");
        assert_eq!(scene.settled(1), [""; 0]);
        assert_eq!(scene.settled(2), ["a.json"]);
    }

    #[test]
    fn one_that_is_renamed_is_known_and_one_that_is_gone_is_forgotten() {
        let mut scene = Scene::new();
        scene.write("a.json", "{}");
        scene.look(0);
        assert_eq!(scene.settled(2), ["a.json"]);
        let path = |name: &str| scene.folder.path().join(name);
        fs::rename(path("a.json"), path("b.json")).unwrap();
        assert_eq!(scene.settled(2), [""; 0]);
        fs::remove_file(scene.folder.path().join("b.json")).unwrap();
        assert_eq!(scene.settled(2), [""; 0]);
        assert!(scene.watched.known.is_empty());
        scene.write("c.json.part", "{");
        assert_eq!(scene.settled(10), [""; 0], "somebody writes it");
        fs::rename(scene.folder.path().join("c.json.part"), scene.folder.path().join("c.json")).unwrap();
        scene.look(0);
        assert_eq!(scene.settled(2), ["c.json"]);
    }

    #[test]
    fn one_that_could_not_be_used_comes_again_when_it_was_asked_for() {
        let mut scene = Scene::new();
        scene.write("a.json", "{}");
        scene.watched.look(Duration::ZERO, SystemTime::now()).unwrap();
        let news = scene.watched.look(SETTLE, SystemTime::now()).unwrap();
        scene.watched.again(&news.settled[0], Duration::from_secs(60));
        scene.now = SETTLE;
        assert_eq!(scene.settled(50), [""; 0]);
        assert_eq!(scene.settled(10), ["a.json"]);
    }

    #[test]
    fn what_is_no_file_of_these_is_left_alone_and_said_once() {
        let mut scene = Scene::new();
        scene.write("notes.txt", "x");
        scene.write(".hidden.json", "x");
        scene.write("half.json.tmp", "x");
        scene.write("saved.json~", "x");
        fs::create_dir(scene.folder.path().join("old.json")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", scene.folder.path().join("link.json")).unwrap();
        let (settled, left) = scene.look(0);
        assert_eq!(settled, [""; 0]);
        #[cfg(unix)]
        assert_eq!(left[0], ("link.json".to_owned(), LeftAlone::Link));
        let rest: Vec<_> = left.iter().filter(|left| left.1 != LeftAlone::Link).cloned().collect();
        let expected = [("notes.txt", LeftAlone::OtherEnding), ("old.json", LeftAlone::NoFile)];
        assert_eq!(rest, expected.map(|(name, why)| (name.to_owned(), why)));
        assert_eq!(scene.look(10), (Vec::new(), Vec::new()), "it was said");
        fs::remove_file(scene.folder.path().join("notes.txt")).unwrap();
        scene.look(1);
        scene.write("notes.txt", "y");
        assert_eq!(scene.look(1).1, [("notes.txt".to_owned(), LeftAlone::OtherEnding)], "it is another one");
    }

    #[test]
    fn a_folder_that_is_gone_is_an_error_and_loses_nothing() {
        let mut scene = Scene::new();
        scene.write("a.json", "{}");
        scene.look(0);
        assert_eq!(scene.settled(2), ["a.json"]);
        let away = scene.folder.path().with_extension("away");
        fs::rename(scene.folder.path(), &away).unwrap();
        assert_eq!(
            scene.watched.look(Duration::from_secs(3), SystemTime::now()).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        fs::rename(&away, scene.folder.path()).unwrap();
        assert_eq!(scene.settled(2), [""; 0]);
    }
}
