//! The basis of assessments, so that their record says how to find the same again.

use std::io::Read as _;
use std::path::Path;

use proem_guard::show::terminal_str;
use proem_risk::change::ChangeKind;
use proem_risk::coverage::Coverage;
use proem_risk::history::ObjectId;
use proem_risk::incident::{Corpus, Incident};
use proem_risk::level::{LevelRules, Thresholds};
use proem_runtime::change::{ResolvedChange, Spec, resolve_change};
use proem_runtime::files;
use proem_runtime::git::{GitProgram, Repository};
use serde::{Deserialize, Serialize};

use super::feedback;
use super::options::{EvidenceOptions, HistoryCaching};
use crate::error::Error;
use crate::project::{OpenProject, unix_seconds};
use crate::trust::sha256_hex;

/// The most bytes of a file of incidents or coverage.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// How many digits of a commit's id are shown.
const SHOWN_DIGITS: usize = 8;

/// The basis of assessments, beside their repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AssessmentBasis {
    /// The clock, in seconds since 1970.
    pub(super) now: i64,
    /// How far back changes count that were made together.
    pub(super) window_months: u16,
    /// Whether only first parents are followed.
    pub(super) first_parent: bool,
    /// The part of the history that is kept between commands.
    pub(super) caching: HistoryCaching,
    /// The thresholds of signals.
    pub(super) thresholds: Thresholds,
    #[serde(default, skip_serializing_if = "LevelRules::are_of_before")]
    pub(super) level_rules: LevelRules,
    /// Incidents of the caller's.
    incidents: Option<CallerFile>,
    /// Measured coverage.
    coverage: Option<CallerFile>,
}

/// The contents of the caller's own files.
#[derive(Debug)]
pub(super) struct Corpora {
    pub(super) incidents: Option<Vec<Incident>>,
    pub(super) coverage: Option<Coverage>,
}

impl AssessmentBasis {
    /// The basis of a command's assessments.
    ///
    /// # Errors
    ///
    /// If a file or the project's thresholds can't be read.
    pub(super) fn of(evidence: &EvidenceOptions, project: &OpenProject) -> Result<(Self, Corpora), Error> {
        let (incidents, known) = open_caller_file(evidence.incidents.as_deref(), Corpus::read)?;
        let (coverage, covered) = open_caller_file(evidence.coverage.as_deref(), Coverage::read)?;
        let grounds = Self {
            now: unix_seconds(),
            window_months: evidence.window_months,
            first_parent: evidence.first_parent,
            caching: evidence.caching,
            thresholds: feedback::thresholds(project)?,
            level_rules: evidence.rules,
            incidents,
            coverage,
        };
        Ok((grounds, Corpora { incidents: known, coverage: covered }))
    }

    /// The caller's files, which must be what they were.
    ///
    /// # Errors
    ///
    /// In words, if one of them isn't.
    pub(super) fn corpora(&self) -> Result<Corpora, String> {
        Ok(Corpora {
            incidents: reopen_caller_file(&self.incidents, Corpus::read)?,
            coverage: reopen_caller_file(&self.coverage, Coverage::read)?,
        })
    }
}

/// A file of the caller's, by its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CallerFile {
    path: String,
    hash: String,
}

impl CallerFile {
    /// Reads a file whole.
    fn open(path: &Path) -> Result<(Self, Vec<u8>), Error> {
        let shown = terminal_str(&path.display().to_string());
        let failed = |error: std::io::Error| Error::invalid(format!("could not read `{shown}`: {error}"));
        let mut bytes = Vec::new();
        let file = files::open_regular(path).map_err(failed)?;
        file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(Error::invalid(format!("`{shown}` has more than {} MiB; split it", MOST_BYTES / 1024 / 1024)));
        }
        let path = std::path::absolute(path).map_err(failed)?.to_string_lossy().into_owned();
        Ok((Self { path, hash: sha256_hex(&bytes) }, bytes))
    }
}

/// How a file of the caller's is read.
type FileParser<T> = fn(&[u8]) -> Result<T, proem_risk::Error>;

fn open_caller_file<T>(path: Option<&Path>, reader: FileParser<T>) -> Result<(Option<CallerFile>, Option<T>), Error> {
    let Some(path) = path else { return Ok((None, None)) };
    let (source, bytes) = CallerFile::open(path)?;
    let shown = terminal_str(&path.display().to_string());
    let read = reader(&bytes).map_err(|error| Error::invalid(format!("`{shown}`: {error}")))?;
    Ok((Some(source), Some(read)))
}

fn reopen_caller_file<T>(source: &Option<CallerFile>, reader: FileParser<T>) -> Result<Option<T>, String> {
    let Some(source) = source else { return Ok(None) };
    let (found, bytes) = CallerFile::open(Path::new(&source.path)).map_err(|failure| failure.to_string())?;
    if found.hash != source.hash {
        return Err(format!(
            "`{}` has changed since the assessment; restore the earlier version",
            terminal_str(&source.path)
        ));
    }
    reader(&bytes).map(Some).map_err(|error| format!("`{}`: {error}", terminal_str(&source.path)))
}

/// One change that a command assessed, with what it was assessed from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AssessmentRecord {
    pub(super) change: ChangeLocation,
    /// The newest of all changes of the command, if that is another one: the history reaches up to it.
    pub(super) newest: Option<ChangeLocation>,
    /// The oldest, if that is another one: who is who, and which commits are ignored, is what its base says.
    pub(super) oldest: Option<ChangeLocation>,
    #[serde(flatten)]
    pub(super) grounds: AssessmentBasis,
}

/// The place of a change in its repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangeLocation {
    kind: ChangeKind,
    id: Option<String>,
    base: Option<String>,
}

impl ChangeLocation {
    /// The place of a resolved change.
    pub(super) fn of(resolved: &ResolvedChange) -> Self {
        let digits = |id: Option<ObjectId>| id.map(|id| id.to_string());
        Self { kind: resolved.kind, id: digits(resolved.id), base: digits(resolved.base) }
    }

    /// The change in the repository of today. `now` is the clock that it was found by.
    ///
    /// # Errors
    ///
    /// In words, if it isn't there, or is on another commit.
    pub(super) fn find(&self, git: &GitProgram, repository: &Repository, now: i64) -> Result<ResolvedChange, String> {
        let spec = match (self.kind, &self.id, &self.base) {
            (ChangeKind::Commit, Some(id), _) => Spec::Rev(id.clone()),
            (ChangeKind::Range, Some(id), Some(base)) => Spec::Range(base.clone(), id.clone()),
            (ChangeKind::Staged, ..) => Spec::Staged,
            (ChangeKind::WorkTree, ..) => Spec::WorkTree,
            (ChangeKind::Commit | ChangeKind::Range, ..) => {
                return Err("its record doesn't say which commits it assessed".to_owned());
            }
        };
        let found = resolve_change(git, repository, &spec, now).map_err(|error| match error {
            proem_runtime::Error::NoRevision { revision } => {
                format!("commit {} is not in this repository any more", short_commit_id(Some(&revision)))
            }
            other => other.to_string(),
        })?;
        let today = Self::of(&found);
        if today != *self {
            let (before, today) = (short_commit_id(self.base.as_deref()), short_commit_id(today.base.as_deref()));
            return Err(format!("the assessed changes were based on {before}, and are based on {today} now"));
        }
        Ok(found)
    }
}

/// A commit by the beginning of its id.
fn short_commit_id(id: Option<&str>) -> String {
    id.map_or_else(|| "nothing".to_owned(), |id| terminal_str(id.get(..SHOWN_DIGITS).unwrap_or(id)).to_string())
}
