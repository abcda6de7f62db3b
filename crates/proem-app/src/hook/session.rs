//! The context that a coding agent got in this session.
//!
//! A file for each session in the state folder, without texts of the repository: a hash of each path and one of the content that the file had.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use proem_runtime::files::{self, FileAccess};

use super::pieces::HookPiece;
use crate::message::{Note, NoteKind};
use crate::project::OpenProject;
use crate::trust::sha256_hex;

/// The folder in the state folder.
const FOLDER: &str = "hook";

/// How many sessions are remembered. The oldest are forgotten first.
const SESSIONS: usize = 64;

/// The most bytes of a session that are read: more than four thousand pieces.
const MAX_BYTES: usize = 1 << 20;

/// The files that an agent knows of.
#[derive(Debug)]
pub(super) struct ToldFiles {
    /// The state folder, and the session's file in it. `None` if nothing is remembered.
    place: Option<(PathBuf, PathBuf)>,
    /// Contents by path, each as a hash.
    told: BTreeMap<String, String>,
}

impl ToldFiles {
    /// The context that the agent got in the session of this id. A file that can't be read counts as empty: at worst
    /// something is repeated.
    pub(super) fn of(session: Option<&str>, project: &OpenProject) -> Self {
        let place = session.map(|id| {
            let name = sha256_hex(format!("{}\n{id}", project.key).as_bytes());
            (project.places.state.clone(), Path::new(FOLDER).join(format!("{name}.tsv")))
        });
        let read = place.as_ref().and_then(|(root, file)| files::read_text(&root.join(file), MAX_BYTES).ok());
        let text = read.unwrap_or_default();
        let told = text.lines().filter_map(|line| {
            let (file, version) = line.split_once('\t')?;
            Some((file.to_owned(), version.to_owned()))
        });
        Self { told: told.collect(), place }
    }

    /// Whether the agent wasn't told of the file as it is.
    pub(super) fn is_new(&self, piece: &HookPiece) -> bool {
        self.told.get(&piece.file) != Some(&piece.version)
    }

    /// Remembers what is said now.
    ///
    /// # Errors
    ///
    /// A note, if it can't be written.
    pub(super) fn keep<'p>(&mut self, pieces: impl Iterator<Item = &'p HookPiece>) -> Result<(), Note> {
        let Some((root, file)) = &self.place else { return Ok(()) };
        self.told.extend(pieces.map(|piece| (piece.file.clone(), piece.version.clone())));
        let text: String = self.told.iter().map(|(file, version)| format!("{file}\t{version}\n")).collect();
        let made = fs::create_dir_all(root).map_err(|error| error.to_string());
        let kept = made.and_then(|()| {
            files::replace_file(root, file, text.as_bytes(), FileAccess::Private).map_err(|error| error.to_string())
        });
        kept.map_err(|problem| {
            Note::new(
                NoteKind::Records,
                format!(
                    "the coding agent may be told the same again, because its record could not be written: {problem}"
                ),
            )
        })?;
        forget_oldest(&root.join(FOLDER));
        Ok(())
    }
}

/// Removes the files of all but the newest sessions. One that can't be removed stays: it is as good as the others.
fn forget_oldest(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "tsv"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let surplus = files.len().saturating_sub(SESSIONS);
    for (_, path) in files.into_iter().take(surplus) {
        _ = fs::remove_file(path);
    }
}
