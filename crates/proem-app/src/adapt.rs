//! The profile that a history and signals give.

mod values;

use std::io::Read;
use std::path::{Path, PathBuf};

use proem_agents::adapt::{self as files, quote_json_name};
use proem_engine::profile::{Adaptation, Registry, ResultRecord, adapt, derive, is_contract_part, known_risks};
use proem_engine::run::Time;
use proem_guard::show;

pub use self::values::foreign_moment;
use crate::error::Error;
use crate::message::{Hint, Note, NoteKind, WithNotes};
use crate::project::OpenProject;
use crate::records;
use crate::records::learning::{CallerWishes, ageing};

/// The most bytes of a file of failures, signals or names. A hundred thousand failures are some twenty MiB.
const MOST_BYTES: u64 = 64 << 20;

/// How many names that are only counted are shown.
const NAMED: usize = 5;

/// The inputs of a profile.
#[derive(Debug, Clone)]
pub struct AdaptOptions {
    /// A file of failures, instead of those that are recorded.
    pub history: Option<PathBuf>,
    /// A file of signals; what it leaves out follows from the history.
    pub signals: Option<PathBuf>,
    /// A file with the names that may be shown.
    pub registry: Option<PathBuf>,
    /// Only results of this agent.
    pub agent: Option<String>,
    /// When it is.
    pub now: Time,
}

/// How a file's text is read.
pub type ReadText<'r> = &'r (dyn Fn(&Path) -> Result<String, Error> + Sync);

/// Reads the history and the signals. Notes about the records go to `said`, also on failure. The returned notes are
/// about the profile.
///
/// # Errors
///
/// If a file is not what it should be, or the records are unreadable.
pub async fn derive_adaptation(
    options: &AdaptOptions,
    project: &OpenProject,
    read: ReadText<'_>,
    said: &mut Vec<Note>,
) -> Result<WithNotes<Adaptation>, Error> {
    let mut notes: Vec<Note> = Vec::new();
    let history = match &options.history {
        Some(file) => {
            let read = files::read_failure_history(&read(file)?, &values::timestamp)?;
            notes.extend(read.notes.into_iter().map(|words| Note::new(NoteKind::Prompt, words)));
            read.value
        }
        None => recorded_results(project, options.agent.as_deref(), said).await?,
    };
    if let Some(agent) = options.agent.as_deref().filter(|_| history.is_empty()) {
        notes.push(Note::hinting(
            NoteKind::Prompt,
            format!("no result of {} is recorded for this project", quote_json_name(agent)),
            Hint::ListFailures,
        ));
    }
    let config = &project.config.adapt;
    let derived = derive(&history, CallerWishes::default().over(config)?, ageing(config), options.now);
    notes.extend(derived.notes.into_iter().map(|words| Note::new(NoteKind::Prompt, words)));
    let signals = match &options.signals {
        Some(file) => {
            let read = files::read_adaptation_signals(&read(file)?, derived.signals)?;
            notes.extend(read.notes.into_iter().map(|words| Note::new(NoteKind::Prompt, words)));
            read.value
        }
        None => derived.signals,
    };
    let (agents, risks) = match (&options.registry, &options.history) {
        (Some(file), _) => files::registry(&read(file)?)?,
        (None, Some(_)) => (Registry::Vouched, Registry::Vouched),
        (None, None) => (Registry::Closed(project.book()?.prompts()), known_risks()),
    };
    let value = adapt(&signals, &agents, &risks);
    notes.extend(value.notes.iter().cloned().map(|words| Note::new(NoteKind::Prompt, words)));
    notes.extend(
        not_shown("agent", &signals.last_failure_subagents, &agents).map(|words| Note::new(NoteKind::Prompt, words)),
    );
    notes.extend(not_shown("risk", &signals.risk_tags, &risks).map(|words| Note::new(NoteKind::Prompt, words)));
    Ok(WithNotes { value, notes })
}

/// The results of this project's runs.
async fn recorded_results(
    project: &OpenProject,
    agent: Option<&str>,
    said: &mut Vec<Note>,
) -> Result<Vec<ResultRecord>, Error> {
    let store = records::look_at_records(project).await?.collect(said);
    let owner = records::records_owner(project);
    let agents = match agent {
        Some(agent) => vec![agent.to_owned()],
        None => {
            let failures = store.failures(&owner, None).await?;
            let mut agents: Vec<String> = failures.into_iter().map(|row| row.recorded.agent).collect();
            agents.sort();
            agents.dedup();
            agents
        }
    };
    let mut history = Vec::new();
    for agent in agents {
        // The rules leave out old results and say so.
        history.extend(store.history(&owner, &agent, Time(0)).await?);
    }
    // Each prompt's own profile names parts of its contract. Several prompts have none in common.
    for result in &mut history {
        result.issue.risks.retain(|risk| !is_contract_part(risk));
    }
    Ok(history)
}

/// The text at `file`.
///
/// # Errors
///
/// If it is unreadable, too long or is not UTF-8.
pub fn read_history_file(file: &Path) -> Result<String, Error> {
    history_text(file, proem_runtime::files::open_regular(file).and_then(read_capped_text))
}

/// The text that is handed over as `file`.
///
/// # Errors
///
/// If it is unreadable, too long or is not UTF-8.
pub fn read_history_stream(file: &Path, from: impl Read) -> Result<String, Error> {
    history_text(file, read_capped_text(from))
}

fn history_text(file: &Path, read: std::io::Result<Option<String>>) -> Result<String, Error> {
    let shown = show::terminal_str(&file.display().to_string());
    read.map_err(|error| Error::invalid(format!("could not read `{shown}`: {error}")))?.ok_or_else(|| {
        Error::invalid(format!("`{shown}` has more than {} MiB; leave out what is old", MOST_BYTES >> 20))
    })
}

/// A text of at most [`MOST_BYTES`]. `None` if it is longer.
fn read_capped_text(from: impl Read) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if u64::try_from(from.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes)?).is_ok_and(|n| n <= MOST_BYTES) {
        return String::from_utf8(bytes).map(Some).map_err(|_| std::io::Error::other("it is not UTF-8"));
    }
    Ok(None)
}

/// Decides by their beginnings which names are only counted.
fn not_shown(what: &str, names: &[String], registry: &Registry) -> Option<String> {
    let mut unknown: Vec<&String> = names.iter().filter(|name| !registry.admits(name)).collect();
    unknown.dedup();
    if unknown.is_empty() {
        return None;
    }
    let more = unknown.len().saturating_sub(NAMED);
    let shown: Vec<String> = unknown.iter().take(NAMED).map(|name| quote_json_name(name)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("not in the registry as {what}, so only counted: {}{more}", shown.join(", ")))
}
