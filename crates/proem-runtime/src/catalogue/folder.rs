//! A folder of the project's or of the user's.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use proem_select::catalogue::MAX_FILE_BYTES;

use crate::Error;
use crate::error::path_on_screen;
use crate::files::{FileContent, read_beneath, read_regular};

/// The most entries of one folder that are looked at.
const MAX_LISTED: usize = 2000;

/// Why something can't be read, and what to do about it.
type FolderProblem = (String, String);

#[derive(Debug, Default)]
pub(super) struct FolderNames {
    /// The names of what is in it, sorted.
    pub(super) names: Vec<String>,
    /// How many more there are than are looked at.
    pub(super) over: usize,
    /// How many names are not UTF-8.
    pub(super) unnamed: usize,
}

/// The root of paths, and whether links on the way are followed.
#[derive(Debug)]
pub(super) struct Folder<'p> {
    path: &'p Path,
    /// The path's name on a screen. None for a project.
    name: Option<String>,
}

impl<'p> Folder<'p> {
    /// A project's root: no link below it is followed.
    pub(super) const fn project(path: &'p Path) -> Self {
        Self { path, name: None }
    }

    /// A folder of the user's, below `home` or not: links are followed.
    pub(super) fn user(path: &'p Path, home: Option<&Path>) -> Self {
        let name = match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", path_on_screen(below)),
            None => path_on_screen(path),
        };
        Self { path, name: Some(name) }
    }

    pub(super) const fn is_project(&self) -> bool {
        self.name.is_none()
    }

    /// The path as a person would name it.
    pub(super) fn shown(&self, path: &Path) -> String {
        match &self.name {
            Some(name) if path.is_relative() => format!("{name}/{}", path_on_screen(path)),
            _ => path_on_screen(path),
        }
    }

    /// The bytes of a file and where it really is. `None` if there is nothing.
    pub(super) fn read(&self, path: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, FolderProblem> {
        let (real, content) = if self.is_project() {
            (self.path.join(path), read_beneath(self.path, path, MAX_FILE_BYTES))
        } else {
            match fs::canonicalize(self.path.join(path)) {
                Ok(real) => (real.clone(), read_regular(&real, MAX_FILE_BYTES)),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    return Ok(None);
                }
                Err(error) => return Err(unread(&error)),
            }
        };
        match content {
            Ok(Some(FileContent::Whole(bytes))) => Ok(Some((real, bytes))),
            Ok(Some(FileContent::Cut(_))) => {
                Err((format!("larger than {MAX_FILE_BYTES} bytes and left out"), "split it".into()))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(why(&error)),
        }
    }

    /// The names in a folder, sorted, but for hidden ones. None if there is no folder.
    pub(super) fn list(&self, path: &Path) -> Result<FolderNames, FolderProblem> {
        let mut listed = FolderNames::default();
        if !self.holds_folder(path)? {
            return Ok(listed);
        }
        for entry in fs::read_dir(self.path.join(path)).map_err(|error| unread(&error))? {
            let name = entry.map_err(|error| unread(&error))?.file_name();
            match name.to_str() {
                Some(name) if !name.starts_with('.') => listed.names.push(name.to_owned()),
                Some(_) => {}
                None => listed.unnamed = listed.unnamed.saturating_add(1),
            }
        }
        listed.names.sort_unstable();
        listed.over = listed.names.len().saturating_sub(MAX_LISTED);
        listed.names.truncate(MAX_LISTED);
        Ok(listed)
    }

    /// Whether there is a folder. In a project a link on the way is an error.
    pub(super) fn holds_folder(&self, path: &Path) -> Result<bool, FolderProblem> {
        if !self.is_project() {
            return Ok(self.path.join(path).is_dir());
        }
        let mut whole = self.path.to_path_buf();
        for component in path.components() {
            let std::path::Component::Normal(name) = component else {
                return Err(why(&Error::NotBeneath { path: path.to_path_buf() }));
            };
            whole.push(name);
            match whole.symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(metadata) if metadata.is_symlink() => {
                    return Err(why(&Error::Link { path: whole }));
                }
                Ok(_) => return Ok(false),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    return Ok(false);
                }
                Err(error) => return Err(unread(&error)),
            }
        }
        Ok(true)
    }

    /// Whether there is anything at a path that configuration names.
    pub(super) fn holds(&self, path: &Path) -> Result<bool, FolderProblem> {
        match self.path.join(path).symlink_metadata() {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(unread(&error)),
        }
    }
}

fn why(error: &Error) -> FolderProblem {
    match error {
        Error::Link { .. } => {
            ("a symbolic link, and links are not followed here".into(), "replace it with what it points to".into())
        }
        Error::NotRegular { found, wanted, .. } => (format!("{found}, not {wanted}"), "move it elsewhere".into()),
        Error::NotBeneath { .. } => {
            ("not a path below the project's root".into(), "leave out `..` and a leading `/`".into())
        }
        Error::Io { source, .. } => unread(source),
        other => (other.to_string(), "check the file".into()),
    }
}

fn unread(error: &std::io::Error) -> FolderProblem {
    (format!("could not be read: {error}"), "check its permissions".into())
}
