//! Small files of the state folder that keep what was found out here, as JSON with the version of their form.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use proem_guard::show;
use proem_runtime::files::{self, FileAccess, FileContent};
use proem_text::json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::places::Places;

/// The most bytes of such a file that are read.
const MAX_BYTES: usize = 1 << 20;

/// A file of the state folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateFile {
    /// Its name there.
    pub(crate) name: &'static str,
    /// The version of its form, which is under `version`.
    pub(crate) version: u32,
}

/// The part of a file that says its form.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl StateFile {
    /// Its content. `None` if it isn't there.
    ///
    /// # Errors
    ///
    /// If it is there and can't be read, is too large, is damaged or has another version: the message names the file, and
    /// the caller adds the remedy.
    pub(crate) fn load<T: DeserializeOwned>(self, places: &Places) -> Result<Option<T>, Error> {
        let bytes = match files::read_regular(&places.state.join(self.name), MAX_BYTES)? {
            None => return Ok(None),
            Some(FileContent::Whole(bytes)) => bytes,
            Some(FileContent::Cut(_)) => return Err(self.fault(places, format!("it has more than {MAX_BYTES} bytes"))),
        };
        let wrong = |error: serde_json::Error| self.fault(places, error.to_string());
        let Version { version } = serde_json::from_slice(&bytes).map_err(wrong)?;
        if version != self.version {
            let known = self.version;
            return Err(self.fault(places, format!("it has version {version}, and this Proem knows version {known}")));
        }
        serde_json::from_slice(&bytes).map(Some).map_err(wrong)
    }

    /// Writes it, and the folder if this is the first thing that is ever kept.
    ///
    /// # Errors
    ///
    /// If the folder or the file can't be written.
    pub(crate) fn store(self, places: &Places, content: &impl Serialize) -> Result<(), Error> {
        let value = serde_json::to_value(content).map_err(|error| Error::bug(self.name, error))?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&places.state)
            .map_err(|error| Error::outside(format!("could not create `{}`: {error}", places.state.display())))?;
        let text = format!("{}\n", json::pretty(&value));
        files::replace_file(&places.state, Path::new(self.name), text.as_bytes(), FileAccess::Private)?;
        Ok(())
    }

    /// The error of a file that can't be used.
    pub(crate) fn fault(self, places: &Places, why: impl std::fmt::Display) -> Error {
        Error::invalid(format!("`{}` can't be used: {why}", places.state.join(self.name).display()))
    }
}

/// Takes a lock in the state folder, which is free again when the file is closed.
///
/// # Errors
///
/// If the folder or the lock can't be made.
pub(crate) fn lock_folder(folder: &Path, lock: &str) -> Result<File, Error> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(Error::invalid("the state folder has no parent folder; set XDG_STATE_HOME to an absolute path"));
    };
    let failed = |doing: &'static str, path: &Path| {
        let shown = show::terminal_str(&path.display().to_string()).into_string();
        move |e: std::io::Error| Error::outside(format!("could not {doing} `{shown}`: {e}"))
    };
    std::fs::create_dir_all(parent).map_err(failed("create", parent))?;
    // The file stays, and is never replaced: all who lock it lock the same one.
    match files::write_new(parent, &Path::new(name).join(lock), b"", FileAccess::Private) {
        Ok(()) | Err(proem_runtime::Error::Exists { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let path = folder.join(lock);
    let lock = files::open_regular(&path).map_err(failed("open", &path))?;
    lock.lock().map_err(failed("lock", &path))?;
    Ok(lock)
}
