//! The results of a batch on disk: kept as they come, put in order at the end.
//!
//! Invariants: a result is written as soon as it is there, so that an interrupted batch goes on where it stopped and
//! nothing is paid for twice. The file under its own name is whole and in the order of the lines, or not there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use proem_runtime::files;
use serde::Deserialize;

use super::input;
use crate::error::Error;
use crate::message::Hint;

/// The longest result that is read back.
const MAX_RESULT_BYTES: u64 = 64 * 1024 * 1024;

/// The part of a result that says whether it can be kept.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultKey {
    line: u32,
    input_hash: String,
    closure: String,
    model: String,
    provider: String,
    outcome: String,
}

/// The common part of all results of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchKey {
    pub(super) closure: String,
    pub(super) model: String,
    pub(super) provider: String,
}

/// Results as they come.
#[derive(Debug)]
pub(super) struct BatchJournal {
    path: PathBuf,
    partial: PathBuf,
    file: File,
    /// The place of each line's result in the partial file, with the hash of its inputs.
    places: BTreeMap<u32, (u64, u64, String)>,
    end: u64,
}

impl BatchJournal {
    /// Opens the results of a batch, with what earlier runs of it got.
    ///
    /// # Errors
    ///
    /// If they belong to another prompt or model, or can't be read or written.
    pub(super) fn open(path: &Path, same: &BatchKey) -> Result<Self, Error> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let failed =
            |error: std::io::Error| Error::outside(format!("could not open {}: {error}", input::input_path(&partial)));
        let earlier: Vec<String> = [path, &partial]
            .into_iter()
            .map(|file| answered_results(file, same))
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        // Kept results are written anew, without a line that an interruption cut off.
        let mut fresh = partial.as_os_str().to_owned();
        fresh.push(".new");
        let fresh = PathBuf::from(fresh);
        let file = files::create(&fresh).map_err(failed)?;
        let mut journal =
            Self { path: path.to_path_buf(), partial: partial.clone(), file, places: BTreeMap::new(), end: 0 };
        for result in earlier {
            if let Ok(kept) = serde_json::from_str::<ResultKey>(&result) {
                journal.write(kept.line, &kept.input_hash, &result)?;
            }
        }
        journal.file.sync_all().map_err(failed)?;
        std::fs::rename(&fresh, &partial).map_err(failed)?;
        Ok(journal)
    }

    /// The lines that were answered, each with the hash of its inputs.
    pub(super) fn answered(&self) -> BTreeMap<u32, String> {
        self.places.iter().map(|(line, (_, _, hash))| (*line, hash.clone())).collect()
    }

    /// Keeps a line's result.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub(super) fn write(&mut self, line: u32, input_hash: &str, result: &str) -> Result<(), Error> {
        let text = format!("{result}\n");
        let written = self.file.seek(SeekFrom::Start(self.end)).and_then(|_| self.file.write_all(text.as_bytes()));
        written.map_err(|error| {
            Error::outside(format!("could not write {}: {error}", input::input_path(&self.partial)))
        })?;
        let length = text.len() as u64;
        self.places.insert(line, (self.end, length, input_hash.to_owned()));
        self.end = self.end.saturating_add(length);
        Ok(())
    }

    /// Puts the results of these lines, each with the hash of its inputs, in order under the file's
    /// own name.
    ///
    /// # Errors
    ///
    /// If they can't be written. The partial file stays.
    pub(super) fn finish(mut self, lines: &BTreeMap<u32, String>) -> Result<(), Error> {
        let failed = |path: &Path| {
            let shown = input::input_path(path);
            move |error: std::io::Error| Error::outside(format!("could not write {shown}: {error}"))
        };
        let mut ordered = self.path.as_os_str().to_owned();
        ordered.push(".new");
        let ordered = PathBuf::from(ordered);
        let mut out = BufWriter::new(files::create(&ordered).map_err(failed(&ordered))?);
        for (line, (start, length, hash)) in &self.places {
            // A line that is no longer in the batch has no place in its results.
            if lines.get(line) != Some(hash) {
                continue;
            }
            let copied = self
                .file
                .seek(SeekFrom::Start(*start))
                .and_then(|_| std::io::copy(&mut (&mut self.file).take(*length), &mut out));
            copied.map_err(failed(&ordered))?;
        }
        let file = out.into_inner().map_err(|error| failed(&ordered)(error.into_error()))?;
        file.sync_all().map_err(failed(&ordered))?;
        std::fs::rename(&ordered, &self.path).map_err(failed(&self.path))?;
        std::fs::remove_file(&self.partial).map_err(failed(&self.partial))
    }
}

/// The answered results of a file. None if it is missing.
fn answered_results(path: &Path, same: &BatchKey) -> Result<Vec<String>, Error> {
    let shown = input::input_path(path);
    let failed = |error: std::io::Error| Error::outside(format!("could not read {shown}: {error}"));
    let file = match files::open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut reader = BufReader::new(file);
    let mut found = Vec::new();
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(MAX_RESULT_BYTES).read_until(b'\n', &mut line).map_err(failed)?;
        if read == 0 {
            return Ok(found);
        }
        // The last line of an interrupted run may be cut off. It counts as not there.
        let whole = line.ends_with(b"\n");
        let Some(kept) = serde_json::from_slice::<ResultKey>(&line).ok().filter(|_| whole) else {
            if whole {
                return Err(Error::invalid(format!("{shown} holds something other than batch results"))
                    .hinting(Hint::ChooseResults));
            }
            return Ok(found);
        };
        let other = BatchKey { closure: kept.closure, model: kept.model, provider: kept.provider };
        if other != *same {
            return Err(Error::invalid(format!(
                "{shown} holds results of another version of the prompt or of another model ({}/{})",
                other.provider, other.model
            ))
            .hinting(Hint::DeleteOrChooseResults));
        }
        if kept.outcome == "answered" {
            found.push(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
    }
}
