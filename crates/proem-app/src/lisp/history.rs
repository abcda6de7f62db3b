//! The lines that a person typed before, in the user's state folder, for the user alone.

use std::path::{Path, PathBuf};

use proem_runtime::files::{self, FileAccess, FileContent};
use proem_text::json;

use crate::error::Error;
use crate::places::Places;

/// The file, one text of JSON on each line.
const FILE: &str = "lisp-history";
/// The most entries that are kept.
const MOST: usize = 1_000;
/// The most bytes of the file, and of one entry.
const MOST_BYTES: usize = 1 << 20;
const MOST_OF_ENTRY: usize = 16 << 10;

/// The lines that a person typed in earlier sessions and this one.
#[derive(Debug)]
pub struct LineHistory {
    state: PathBuf,
}

impl LineHistory {
    /// The history of this user. Nothing is read or written yet.
    #[must_use]
    pub fn of_user(places: &Places) -> Self {
        Self { state: places.state.clone() }
    }

    /// The entries, the oldest first. Lines that are no entry are left out.
    ///
    /// # Errors
    ///
    /// If the file is there and is unreadable, or is no regular file.
    pub fn entries(&self) -> Result<Vec<String>, Error> {
        let bytes = match files::read_regular(&self.state.join(FILE), MOST_BYTES)? {
            None => return Ok(Vec::new()),
            Some(FileContent::Whole(bytes) | FileContent::Cut(bytes)) => bytes,
        };
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Adds an entry behind what any session has added. One that begins with a space, is too long, or repeats the
    /// last one is left out.
    ///
    /// # Errors
    ///
    /// If the file can't be read or written.
    pub fn add(&self, entry: &str) -> Result<(), Error> {
        if entry.starts_with(' ') || entry.trim().is_empty() || entry.len() > MOST_OF_ENTRY {
            return Ok(());
        }
        let mut entries = self.entries()?;
        if entries.last().is_some_and(|last| last == entry) {
            return Ok(());
        }
        entries.push(entry.to_owned());
        let mut size: usize = 0;
        let mut lines: Vec<String> = Vec::new();
        for entry in entries.iter().rev().take(MOST) {
            let line = format!("{}\n", json::quote_json(entry));
            size = size.saturating_add(line.len());
            if size > MOST_BYTES {
                break;
            }
            lines.push(line);
        }
        lines.reverse();
        std::fs::create_dir_all(&self.state)
            .map_err(|error| Error::outside(format!("could not create `{}`: {error}", self.state.display())))?;
        files::replace_file(&self.state, Path::new(FILE), lines.concat().as_bytes(), FileAccess::Private)?;
        Ok(())
    }
}
