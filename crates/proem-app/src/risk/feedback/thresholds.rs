//! A project's thresholds as its user took them over, in the user's state folder.

use std::path::PathBuf;

use proem_risk::level::Thresholds;
use proem_runtime::files::{self, FileAccess, FileContent};
use proem_text::json;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::project::OpenProject;
use crate::trust::sha256_hex;

/// The folder in the state folder.
const FOLDER: &str = "risk-thresholds";
/// The most bytes of a file that are read.
const MAX_BYTES: usize = 1 << 20;
/// The form of the file.
const VERSION: u32 = 1;

/// The stored thresholds of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ThresholdsFile {
    version: u32,
    /// The project, for a reader.
    project: String,
    /// The thresholds in force. Null where they are the shipped ones.
    thresholds: Option<Thresholds>,
    /// Those before, the last ones last.
    previous: Vec<Option<Thresholds>>,
}

impl ThresholdsFile {
    /// Loads the stored thresholds. None yet if there is no file.
    pub(super) fn load(project: &OpenProject) -> Result<Self, Error> {
        let path = project.places.state.join(thresholds_path(project));
        let wrong = |why: String| {
            let path = path.display();
            Error::invalid(format!("`{path}` can't be used: {why}; delete it to go back to the shipped thresholds"))
        };
        let bytes = match files::read_regular(&path, MAX_BYTES)? {
            None => {
                let project = project.key.clone();
                return Ok(Self { version: VERSION, project, thresholds: None, previous: Vec::new() });
            }
            Some(FileContent::Whole(bytes)) => bytes,
            Some(FileContent::Cut(_)) => return Err(wrong(format!("it has more than {MAX_BYTES} bytes"))),
        };
        let kept: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if kept.version != VERSION {
            return Err(wrong(format!("it has version {}, and this Proem knows version {VERSION}", kept.version)));
        }
        for thresholds in kept.previous.iter().chain([&kept.thresholds]).flatten() {
            thresholds.check().map_err(|error| wrong(error.to_string()))?;
        }
        Ok(kept)
    }

    /// The thresholds in force.
    pub(super) fn in_force(&self) -> Result<Thresholds, Error> {
        match &self.thresholds {
            Some(thresholds) => Ok(thresholds.clone()),
            None => Thresholds::shipped().map_err(|error| Error::bug("the shipped thresholds", error)),
        }
    }

    /// Puts others in force, and keeps those before.
    pub(super) fn take(&mut self, thresholds: Thresholds) {
        self.previous.push(self.thresholds.replace(thresholds));
    }

    /// Puts those before in force again. Whether there were any.
    pub(super) fn undo(&mut self) -> bool {
        match self.previous.pop() {
            Some(thresholds) => {
                self.thresholds = thresholds;
                true
            }
            None => false,
        }
    }

    /// Writes the file. There is none as long as nothing was taken over, so that an undo restores every byte.
    pub(super) fn store(&self, project: &OpenProject) -> Result<(), Error> {
        if self.thresholds.is_none() && self.previous.is_empty() {
            let path = project.places.state.join(thresholds_path(project));
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(Error::outside(format!("could not remove `{}`: {error}", path.display())))
                }
                _ => Ok(()),
            };
        }
        let value = serde_json::to_value(self).map_err(|error| Error::bug("thresholds", error))?;
        let text = format!("{}\n", json::pretty(&value));
        files::replace_file(&project.places.state, &thresholds_path(project), text.as_bytes(), FileAccess::Private)?;
        Ok(())
    }
}

/// The file of a project, by the hash of what identifies it.
fn thresholds_path(project: &OpenProject) -> PathBuf {
    let name: String = sha256_hex(project.key.as_bytes()).chars().take(32).collect();
    PathBuf::from(FOLDER).join(format!("{name}.json"))
}
