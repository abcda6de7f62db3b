//! The guard as this user configured it.
//!
//! In the user's configuration folder, `guard/verdicts.tsv` replaces the table of verdicts and `guard/calibration.json`
//! moves the flag point. A project's files can't do either (T2).

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use proem_agents::screen::Screening;
use proem_guard::calibrate::{Calibration, calibrated_scorer};
use proem_guard::{Guard, Policy, ToolVocabulary};
use proem_runtime::files;
use proem_select::catalogue::{Catalogue, CatalogueEntryKind};

use crate::error::Error;
use crate::message::{Hint, Note, NoteKind};
use crate::places::Places;
use crate::trust::sha256_hex;

/// The most that one of these files may have, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// The user's files about the guard. `None` if there is none, and the shipped data apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuardFiles {
    /// The table of verdicts.
    pub verdicts: Option<String>,
    /// The content of the calibration that the user made. `None` if there is none.
    pub calibration: Option<String>,
}

impl GuardFiles {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// If one of them is there and can't be read.
    pub fn load(places: &Places) -> Result<Self, Error> {
        Ok(Self {
            verdicts: read_guard_file(&verdicts_file(places))?,
            calibration: read_guard_file(&calibration_file(places))?,
        })
    }

    /// The policy on the guard's findings.
    fn policy(&self, places: &Places) -> Result<Policy, Error> {
        match &self.verdicts {
            // A table that is unreadable fails closed: nobody knows what it was to allow.
            Some(text) => Policy::parse(text)
                .map_err(|error| Error::invalid(format!("{}: {error}", verdicts_file(places).display()))),
            None => Policy::shipped().map_err(damaged_guard_data),
        }
    }

    /// The hash of the rules that runs are held to.
    pub fn rules(&self) -> String {
        let part = |text: &Option<String>| text.as_ref().map_or_else(String::new, |text| sha256_hex(text.as_bytes()));
        sha256_hex(format!("verdicts {}\ncalibration {}\n", part(&self.verdicts), part(&self.calibration)).as_bytes())
    }
}

/// The guard, its policy, and what the user should know about them.
#[derive(Debug)]
pub struct GuardSetup {
    /// The files it was made from.
    pub files: GuardFiles,
    /// The hash of the rules that runs are held to.
    pub rules: String,
    /// The scanners.
    pub guard: Guard,
    /// The policy on their findings.
    pub policy: Policy,
    /// The ignored files, and the reasons.
    pub notes: Vec<Note>,
}

impl GuardSetup {
    /// The guard for an agent with these tools.
    ///
    /// # Errors
    ///
    /// If the user's files are unreadable, or the table of verdicts can't be parsed.
    pub fn load(places: &Places, tools: &[ToolVocabulary]) -> Result<Self, Error> {
        Self::of(GuardFiles::load(places)?, places, tools)
    }

    /// The same, made from these files.
    ///
    /// # Errors
    ///
    /// If the table of verdicts can't be parsed.
    pub fn of(files: GuardFiles, places: &Places, tools: &[ToolVocabulary]) -> Result<Self, Error> {
        let guard = shipped_guard(tools)?;
        let mut notes = Vec::new();
        let guard = match &files.calibration {
            None => guard,
            Some(text) => match Calibration::read(text).and_then(|calibration| calibrated_scorer(&guard, &calibration))
            {
                Ok(stage) => guard.with_stage(stage),
                Err(problem) => {
                    notes.push(not_used(places, &problem));
                    guard
                }
            },
        };
        let policy = files.policy(places)?;
        Ok(Self { rules: files.rules(), files, guard, policy, notes })
    }
}

/// The guard of commands that seldom look at a text: made when the first one comes, which is half of what a command
/// without any would do.
#[derive(Debug)]
pub(crate) struct LazyGuard {
    /// The hash of the rules that runs are held to.
    pub(crate) rules: String,
    /// The policy on its findings.
    pub(crate) policy: Policy,
    /// The ignored files, and the reasons.
    pub(crate) notes: Vec<Note>,
    guard: OnceLock<Arc<Guard>>,
}

impl LazyGuard {
    /// The guard for an agent without tools.
    ///
    /// # Errors
    ///
    /// As [`GuardSetup::load`] has them: what is wrong with the user's files is said before any text comes.
    pub(crate) fn load(places: &Places) -> Result<Self, Error> {
        let files = GuardFiles::load(places)?;
        if files.calibration.is_some() {
            // Only beside the guard can it be told whether it counts.
            let GuardSetup { rules, guard, policy, notes, .. } = GuardSetup::of(files, places, &[])?;
            return Ok(Self { rules, policy, notes, guard: OnceLock::from(Arc::new(guard)) });
        }
        let policy = files.policy(places)?;
        Ok(Self { rules: files.rules(), policy, notes: Vec::new(), guard: OnceLock::new() })
    }

    /// The scanners.
    ///
    /// # Errors
    ///
    /// If the data inside the program are damaged.
    pub(crate) fn guard(&self) -> Result<&Guard, Error> {
        self.made_guard().map(Arc::as_ref)
    }

    /// The scanners, for a thread of its own.
    ///
    /// # Errors
    ///
    /// If the data inside the program are damaged.
    pub(crate) fn shared_guard(&self) -> Result<Arc<Guard>, Error> {
        self.made_guard().cloned()
    }

    fn made_guard(&self) -> Result<&Arc<Guard>, Error> {
        get_or_make(&self.guard, || shipped_guard(&[]).map(Arc::new))
    }

    /// The guard for text from outside.
    ///
    /// # Errors
    ///
    /// If the data inside the program are damaged.
    pub(crate) fn screening(&self) -> Result<Screening<'_>, Error> {
        Ok(Screening { guard: self.guard()?, policy: &self.policy })
    }
}

/// The existing value, or one that is made here; if two are made at the same time, one stays.
pub(crate) fn get_or_make<T>(place: &OnceLock<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(made) = place.get() {
        return Ok(made);
    }
    let made = make()?;
    Ok(place.get_or_init(|| made))
}

/// The guard that ships, for an agent with these tools, before anything of the user's counts.
pub(crate) fn shipped_guard(tools: &[ToolVocabulary]) -> Result<Guard, Error> {
    Guard::shipped(tools).map_err(damaged_guard_data)
}

fn damaged_guard_data(error: impl std::fmt::Display) -> Error {
    Error::bug("the injection scanner's own data are damaged", error)
}

/// The tools of a catalogue, by name. Their descriptions are from outside and teach the guard
/// nothing.
pub fn tool_vocabularies(catalogue: &Catalogue) -> Vec<ToolVocabulary> {
    let entries = catalogue.entries().iter().filter(|entry| entry.kind() == CatalogueEntryKind::Tool);
    let tool = |name: &str| ToolVocabulary { name: name.to_owned(), words: vec![name.replace(['_', '-'], " ")] };
    entries.map(|entry| tool(entry.name().as_str())).collect()
}

/// The path at which the user's calibration of the guard is kept.
pub fn calibration_file(places: &Places) -> PathBuf {
    places.config.join("guard").join("calibration.json")
}

fn verdicts_file(places: &Places) -> PathBuf {
    places.config.join("guard").join("verdicts.tsv")
}

fn not_used(places: &Places, problem: &str) -> Note {
    let text = format!("{} is not used: {problem}", calibration_file(places).display());
    Note::hinting(NoteKind::Guard, text, Hint::CalibrateGuard)
}

/// The file's text. `None` if there is no such file.
fn read_guard_file(path: &Path) -> Result<Option<String>, Error> {
    match files::read_text(path, MAX_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::outside(format!("could not read {}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::places::Channel;

    use super::*;

    /// The guard of a user whose folder has this file.
    fn of_user(name: &str, text: &str) -> Result<LazyGuard, Error> {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().to_owned();
        fs::create_dir(base.join("guard")).unwrap();
        fs::write(base.join("guard").join(name), text).unwrap();
        LazyGuard::load(&Places {
            config: base.clone(),
            state: base.clone(),
            cache: base.clone(),
            home: base.clone(),
            programs: base,
            channel: Channel::Pipe,
        })
    }

    #[test]
    fn the_guard_is_made_when_it_is_asked_for() {
        let guard = of_user("notes.txt", "").unwrap();
        assert!(guard.guard.get().is_none() && guard.notes.is_empty());
        let made: *const Guard = guard.guard().unwrap();
        assert!(std::ptr::eq(made, guard.screening().unwrap().guard), "once");
    }

    #[test]
    fn what_is_wrong_with_the_users_files_is_said_at_once() {
        assert!(of_user("verdicts.tsv", "nonsense").is_err());
        let guard = of_user("calibration.json", "{}").unwrap();
        assert!(
            matches!(guard.notes.as_slice(), [said] if said.kind == NoteKind::Guard && said.message.text.contains("is not used"))
        );
    }
}
