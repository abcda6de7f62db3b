//! A project whose files are reviewed, and what is trusted in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proem_guard::show;
use proem_runtime::git::GitProgram;

use super::candidates::{Candidates, TrustCandidate, path_within_root, shortened_name_list};
use super::{EDITING_SECONDS, EditingGrant, RepositoryTrust, TrustStore};
use crate::error::Error;
use crate::message::{Hint, Note, NoteKind};
use crate::operator::Operator;
use crate::places::Places;
use crate::project::{BOOK, find_git, head_commit, locate_project, unix_seconds};

/// A project and what is trusted in it.
#[derive(Debug)]
pub struct TrustPlace {
    /// The project's root.
    pub root: PathBuf,
    /// The folder that was named. Relative paths start there.
    folder: PathBuf,
    /// The project's name in the trust store.
    key: String,
    store: TrustStore,
    /// The trusted files.
    pub trust: RepositoryTrust,
    git: GitProgram,
}

/// The trust in earlier versions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// It was never trusted.
    New,
    /// This was trusted last.
    Trusted(String),
    /// Something was, and no copy of it is left.
    Lost,
}

/// A file with its history.
#[derive(Debug)]
pub struct FileReview<'c> {
    /// The file.
    pub candidate: &'c TrustCandidate,
    /// The earlier trust in it.
    pub before: Before,
}

/// An offer to trust files while they are edited.
#[derive(Debug)]
pub struct EditingOffer {
    /// The path that was named, relative to the root.
    pub path: String,
    /// The files that it represents.
    pub covered: Vec<TrustCandidate>,
    /// The commit that ends it as soon as it is no longer checked out.
    pub head: Option<String>,
    /// The second since 1970 at which it ends at the latest.
    pub until: i64,
}

/// The trust that was taken back.
#[derive(Debug)]
pub struct Revocation {
    /// The paths that are no longer trusted.
    pub paths: Vec<String>,
    /// The remaining trust.
    pub notes: Vec<Note>,
}

/// The trust to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokeScope {
    /// Everything that was trusted in this repository.
    All,
    /// The files that were named, and what is below the folders.
    Named,
}

impl TrustPlace {
    /// The project around a folder.
    ///
    /// # Errors
    ///
    /// If it has no work tree, or the trust store is unreadable.
    pub fn open(folder: &Path, places: &Places) -> Result<Self, Error> {
        let git = find_git(places)?;
        let (root, key) = locate_project(folder, &git)?;
        let shown = show::terminal_str(&folder.display().to_string()).into_string();
        let Some(root) = root else {
            let problem =
                format!("`{shown}` is in a bare repository, which has no files to trust; run this in a work tree");
            return Err(Error::invalid(problem));
        };
        let folder =
            std::fs::canonicalize(folder).map_err(|e| Error::invalid(format!("could not open `{shown}`: {e}")))?;
        let store = TrustStore::new(places.state.clone());
        let trust = store.trust_of(&key, &root.to_string_lossy(), unix_seconds(), || head_commit(&root, &git))?;
        Ok(Self { root, folder, key, store, trust, git })
    }

    /// The path, relative to the root, of a file that was named.
    ///
    /// # Errors
    ///
    /// If it is outside the project, or its name is not UTF-8.
    pub fn path(&self, file: &Path) -> Result<String, Error> {
        path_within_root(&self.root, &self.folder, file)
    }

    /// Outside git the project is called by its own path.
    #[must_use]
    pub fn in_git(&self) -> bool {
        Path::new(&self.key) != self.root
    }

    /// A file with what was trusted of it.
    #[must_use]
    pub fn reviewed<'c>(&self, candidate: &'c TrustCandidate) -> FileReview<'c> {
        let copy = self.store.last(&self.trust, &candidate.path).and_then(|bytes| String::from_utf8(bytes).ok());
        let before = match copy {
            Some(text) => Before::Trusted(text),
            None if self.trust.knows(&candidate.path) => Before::Lost,
            None => Before::New,
        };
        FileReview { candidate, before }
    }

    /// The files to review: those that were named, or all.
    ///
    /// # Errors
    ///
    /// If one that was named can't be trusted.
    pub fn candidates(&self, files: &[PathBuf]) -> Result<Candidates, Error> {
        let mut candidates = Candidates::read(&self.root);
        if !files.is_empty() {
            // Somebody who names files wants to hear about those only.
            let wanted = self.wanted(&candidates, files)?;
            candidates.files.retain(|candidate| wanted.contains(&candidate.path));
            candidates.refused.clear();
        }
        Ok(candidates)
    }

    /// Those whose present bytes nobody trusted.
    #[must_use]
    pub fn untrusted<'c>(&self, files: &'c [TrustCandidate]) -> Vec<&'c TrustCandidate> {
        files.iter().filter(|candidate| self.is_untrusted(candidate)).collect()
    }

    /// Whether nobody trusted the present bytes of a file.
    #[must_use]
    pub fn is_untrusted(&self, candidate: &TrustCandidate) -> bool {
        !self.trust.is_trusted_by_hash(&candidate.path, &candidate.hash)
    }

    /// Trusts these files as they were read, and a person was shown them.
    ///
    /// # Errors
    ///
    /// If the trust store can't be changed.
    pub fn trust(&self, _: &Operator, files: &[&TrustCandidate]) -> Result<(), Error> {
        self.keep(files)
    }

    fn keep(&self, files: &[&TrustCandidate]) -> Result<(), Error> {
        let trusted: Vec<(String, Vec<u8>)> =
            files.iter().map(|candidate| (candidate.path.clone(), candidate.text.clone().into_bytes())).collect();
        self.store.trust(&self.key, &trusted)
    }

    /// Trusts one file whose hash was reviewed elsewhere. Its path.
    ///
    /// # Errors
    ///
    /// If the hash is none, or not the file's.
    pub fn trust_hash(&self, file: &Path, wanted: &str) -> Result<String, Error> {
        let wanted = wanted.to_ascii_lowercase();
        if wanted.len() != 64 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let wanted = show::terminal_str(&wanted);
            return Err(Error::invalid(format!(
                "`{wanted}` is not a SHA-256 of 64 hexadecimal digits; `sha256sum FILE` prints one"
            )));
        }
        let path = self.path(file)?;
        let candidates = Candidates::read(&self.root);
        let candidate = candidates.get(&path)?;
        if candidate.hash != wanted {
            let shown = show::terminal_str(&path);
            let problem = format!("`{shown}` has the SHA-256 {}, not {wanted}; review what it holds", candidate.hash);
            return Err(Error::negative(problem));
        }
        if candidate.takes_a_person() {
            return Err(only_by_a_person(&path));
        }
        self.keep(&[candidate])?;
        Ok(path)
    }

    /// The files that would be trusted while a file or folder is edited.
    ///
    /// # Errors
    ///
    /// If it is the whole project, or can't be trusted.
    pub fn editing(&self, file: &Path) -> Result<EditingOffer, Error> {
        let path = self.path(file)?;
        if path.is_empty() {
            let problem = format!("that is the whole project; name a file, or a folder such as `{BOOK}`");
            return Err(Error::invalid(problem));
        }
        let covered = self.covered(Candidates::read(&self.root), &path)?;
        if covered.iter().any(|candidate| candidate.path == path && candidate.takes_a_person()) {
            return Err(only_by_a_person(&path));
        }
        Ok(EditingOffer { path, covered, head: None, until: 0 })
    }

    /// From when to when: the commit and the time that end it.
    ///
    /// # Errors
    ///
    /// If git does not say which commit is checked out.
    pub fn timed(&self, offer: EditingOffer) -> Result<EditingOffer, Error> {
        let head = head_commit(&self.root, &self.git)?;
        Ok(EditingOffer { head, until: unix_seconds().saturating_add(EDITING_SECONDS), ..offer })
    }

    /// Trusts it, as a person said.
    ///
    /// # Errors
    ///
    /// If the trust store can't be changed.
    pub fn edit(&self, _: &Operator, offer: EditingOffer) -> Result<(), Error> {
        let EditingOffer { path, head, until, .. } = offer;
        let root = self.root.to_string_lossy().into_owned();
        self.store.edit(&self.key, &EditingGrant { root, path, head, until })
    }

    /// Takes trust back. `None` if nothing is trusted here.
    ///
    /// # Errors
    ///
    /// If a file that was named is untrusted, or the trust store can't be changed.
    pub fn revoke(&self, files: &[PathBuf], scope: RevokeScope) -> Result<Option<Revocation>, Error> {
        let stored = &self.trust;
        let paths =
            stored.hashes().map(|(path, _)| path).chain(stored.editing().iter().map(|editing| editing.path.as_str()));
        let known: BTreeSet<&str> = paths.collect();
        let all = scope == RevokeScope::All;
        if all && known.is_empty() {
            return Ok(None);
        }
        let mut wanted = BTreeSet::new();
        for file in files {
            let path = self.path(file)?;
            let found: Vec<&str> =
                known.iter().copied().filter(|known| *known == path || is_below(known, &path)).collect();
            if found.is_empty() {
                return Err(self.unknown(&path, &known));
            }
            wanted.extend(found.into_iter().map(str::to_owned));
        }
        let paths = self.store.revoke(&self.key, |path| all || wanted.contains(path))?;
        let mut notes = Vec::new();
        for path in paths.iter().filter(|_| !all) {
            let still = stored
                .editing()
                .iter()
                .find(|editing| !wanted.contains(&editing.path) && is_below(path, &editing.path));
            if let Some(editing) = still {
                let (path, folder) = (show::terminal_str(path), show::terminal_str(&editing.path));
                let text = format!("`{path}` is still trusted while `{folder}` is edited");
                notes.push(Note::hinting(NoteKind::Trust, text, Hint::EndEditing { path: folder.into_string() }));
            }
        }
        Ok(Some(Revocation { paths, notes }))
    }

    fn unknown(&self, path: &str, known: &BTreeSet<&str>) -> Error {
        let shown = show::terminal_str(path);
        if let Some(editing) = self.trust.editing().iter().find(|editing| is_below(path, &editing.path)) {
            let folder = show::terminal_str(&editing.path);
            return Error::negative(format!("`{shown}` is trusted only while `{folder}` is edited"))
                .hinting(Hint::EndEditing { path: folder.into_string() });
        }
        if known.is_empty() {
            return Error::negative(format!("`{shown}` is not trusted; nothing is trusted here"));
        }
        let names: Vec<&str> = known.iter().copied().collect();
        Error::negative(format!("`{shown}` is not trusted; the trusted files are {}", shortened_name_list(&names)))
    }

    /// The paths that were named. A folder represents the candidates below it.
    fn wanted(&self, candidates: &Candidates, files: &[PathBuf]) -> Result<BTreeSet<String>, Error> {
        let mut wanted = BTreeSet::new();
        for file in files {
            let path = self.path(file)?;
            let below: Vec<&TrustCandidate> =
                candidates.files.iter().filter(|candidate| is_below(&candidate.path, &path)).collect();
            if below.is_empty() {
                wanted.insert(candidates.get(&path)?.path.clone());
            }
            wanted.extend(below.into_iter().map(|candidate| candidate.path.clone()));
        }
        Ok(wanted)
    }

    /// The candidates at or below a path that may be trusted while it is edited.
    fn covered(&self, candidates: Candidates, path: &str) -> Result<Vec<TrustCandidate>, Error> {
        let in_book = path == ".proem" || path == BOOK || is_below(path, BOOK);
        let holds_some = candidates.files.iter().any(|candidate| is_below(&candidate.path, path));
        let refused = candidates.refused.iter().any(|refused| refused.path == path);
        if refused || !is_plain_folder(&self.root, path) || !(in_book || holds_some) {
            return Ok(vec![candidates.get(path)?.clone()]);
        }
        let files = candidates.files.into_iter();
        Ok(files.filter(|candidate| is_below(&candidate.path, path) && !candidate.takes_a_person()).collect())
    }
}

/// Why a policy is trusted by review alone.
fn only_by_a_person(path: &str) -> Error {
    let shown = show::terminal_str(path);
    Error::invalid(format!("`{shown}` decides what agents may do, so each version of it takes a person at a terminal"))
        .hinting(Hint::ReviewTrust)
}

/// Whether `path` is below `folder`. Everything is below the root, which is empty.
fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a path is a folder, and no link is on the way to it.
fn is_plain_folder(root: &Path, path: &str) -> bool {
    let mut folder = root.to_path_buf();
    path.split('/').all(|name| {
        folder.push(name);
        folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
    })
}
