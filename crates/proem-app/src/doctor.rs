//! Whether Proem can work here: what it needs, what is missing, and what would mend it.
//!
//! Invariants: nothing is changed or sent. A server is [`reach`]ed only by who was asked first. No value of a
//! credential is read into a line: a variable is named, and said to be set or not. One part that can't be looked at
//! hides no other; what depends on it is [`CheckupState::Unknown`], never good.

mod install_way;
mod installation;
mod model;
pub mod settings;
mod sources;
mod telemetry;
pub mod timers;

use std::path::Path;

use proem_engine::prompt::check::check_book;
use proem_engine::tokens::OpenAi;
use proem_guard::show;
use proem_runtime::Environment;
use proem_runtime::git::GitProgram;
use proem_text::diagnostic::DiagnosticSeverity;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::model::{ReachableServer, reach};
use crate::answer_modes::AnswerModes;
use crate::config::Config;
use crate::error::Error;
use crate::message::{Hint, Message};
use crate::places::Places;
use crate::project::{BookReading, OpenProject};
use crate::words::count_with_noun;

/// The subject of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckupSubject {
    /// This program: its version, and how it was installed.
    Program,
    /// The user's configuration and the project's.
    Configuration,
    /// The installation's key.
    Key,
    /// The models that roles represent.
    Model,
    /// The servers that run them, and whether there is a key for each.
    Provider,
    /// The file that runs are recorded in.
    Store,
    /// The program git, and the repository.
    Git,
    /// The project's files that count only if this user trusts them.
    Trust,
    /// The live sources of signals.
    Source,
    /// The prompts.
    Book,
    /// The permissions of agents.
    Policy,
    /// The guard, as it was calibrated.
    Guard,
    /// The model that says how near texts are in meaning.
    Embedding,
    /// The webhooks of the configuration, and their secrets.
    Webhook,
    /// The endpoint that runs are exported to.
    Telemetry,
    /// The terminal, and who can be asked there.
    Terminal,
}

proem_text::word_table! {
    pub CheckupSubject {
        Program = "program",
        Configuration = "configuration",
        Key = "key",
        Model = "model",
        Provider = "provider",
        Store = "store",
        Git = "git",
        Trust = "trust",
        Source = "source",
        Book = "book",
        Policy = "policy",
        Guard = "guard",
        Embedding = "embedding",
        Webhook = "webhook",
        Telemetry = "telemetry",
        Terminal = "terminal",
    }
}

/// How something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckupState {
    /// As it should be.
    Good,
    /// It is missing. Everything that doesn't need it works.
    Missing,
    /// Not looked at, because of something else.
    Unknown,
    /// There, and it can't be used.
    Wrong,
}

proem_text::word_table! {
    pub CheckupState {
        Good = "good",
        Missing = "missing",
        Unknown = "unknown",
        Wrong = "wrong",
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckupLine {
    /// The part of the installation that was looked at.
    pub subject: CheckupSubject,
    /// How it was found.
    pub state: CheckupState,
    /// The finding, with a remedy.
    pub message: Message,
}

impl CheckupLine {
    /// A line.
    #[must_use]
    pub fn new(subject: CheckupSubject, state: CheckupState, text: impl Into<String>) -> Self {
        Self { subject, state, message: text.into().into() }
    }

    /// The same with what could be done about it.
    #[must_use]
    pub fn hinting(mut self, hint: Hint) -> Self {
        self.message.hint = Some(hint);
        self
    }

    /// A failure in its own words.
    fn failed(subject: CheckupSubject, failure: Error) -> Self {
        Self { subject, state: CheckupState::Wrong, message: failure.into() }
    }
}

/// The results of a checkup.
#[derive(Debug)]
pub struct Checkup {
    /// A line for each thing, in the order in which they depend on each other.
    pub lines: Vec<CheckupLine>,
    /// The servers that could be asked whether they are there.
    pub servers: Vec<ReachableServer>,
    /// The project, if it could be opened.
    pub project: Option<OpenProject>,
}

/// Looks at everything that needs no connection but that to the records.
///
/// # Errors
///
/// Never for what it finds: only if the system gives no resources for the work.
pub fn examine_installation(folder: &Path, places: &Places) -> Result<Checkup, Error> {
    let environment = Environment::inherited();
    let mut lines = vec![install_way::program_line()];
    let configured = check_configuration(places, &mut lines);
    lines.push(installation::key_line(places));
    let git = git_line(&environment);
    let has_git = git.state == CheckupState::Good;
    lines.push(git);
    let project = if configured && has_git { check_project(folder, places, &mut lines) } else { None };
    let Some(project) = project else {
        use CheckupSubject::{Book, Embedding, Guard, Model, Policy, Provider, Store, Trust};
        let unknown = "not looked at: what is wrong above comes first";
        let rest = [Model, Provider, Store, Trust, Book, Policy, Guard, Embedding];
        lines.extend(rest.map(|subject| CheckupLine::new(subject, CheckupState::Unknown, unknown)));
        lines.push(installation::locale(&environment));
        return Ok(Checkup { lines, servers: Vec::new(), project: None });
    };
    let modes = match AnswerModes::load(&project.places) {
        Ok(modes) => modes,
        Err(failure) => {
            lines.push(CheckupLine::failed(CheckupSubject::Model, failure));
            AnswerModes::default()
        }
    };
    let servers = model::check_models(&project.config, (&environment, &modes), &mut lines);
    lines.push(installation::records_line(&project)?);
    lines.extend(installation::index_line(&project));
    lines.push(installation::trust(folder, &project));
    lines.extend(sources::live_source_lines(&project));
    lines.push(book_line(folder, places));
    lines.extend(installation::rules_lines(&project));
    lines.extend(installation::webhook_line(places, &project.config));
    lines.extend(telemetry::telemetry_line(&project));
    lines.push(installation::locale(&environment));
    Ok(Checkup { lines, servers, project: Some(project) })
}

/// Looks at the user's configuration. Whether it can be used.
fn check_configuration(places: &Places, lines: &mut Vec<CheckupLine>) -> bool {
    let path = places.config_file();
    let subject = CheckupSubject::Configuration;
    let shown = show::terminal_str(&path.display().to_string()).into_string();
    let line = match Config::of_user(&path) {
        Ok(_) if path.exists() => CheckupLine::new(subject, CheckupState::Good, format!("`{shown}`")),
        Ok(_) => CheckupLine::new(subject, CheckupState::Good, format!("no `{shown}`; the defaults hold"))
            .hinting(Hint::SeeEveryKey),
        Err(failure) => CheckupLine::failed(subject, failure),
    };
    let is_usable = line.state != CheckupState::Wrong;
    lines.push(line);
    is_usable
}

fn git_line(environment: &Environment) -> CheckupLine {
    match GitProgram::find(environment) {
        Ok(git) => {
            let path = show::terminal_str(&git.path().display().to_string()).into_string();
            CheckupLine::new(CheckupSubject::Git, CheckupState::Good, format!("`{path}`"))
        }
        Err(failure) => CheckupLine::failed(CheckupSubject::Git, failure.into()),
    }
}

/// Opens the project, and says what of its configuration counts.
fn check_project(folder: &Path, places: &Places, lines: &mut Vec<CheckupLine>) -> Option<OpenProject> {
    match OpenProject::without_book(folder, places) {
        Ok(project) => {
            let root = project.root.as_ref().map_or("a bare repository".to_owned(), |root| {
                format!("`{}`", show::terminal_str(&root.display().to_string()))
            });
            let kind = if project.root.as_ref().is_some_and(|root| project.key == root.to_string_lossy()) {
                "a folder outside any repository; `assemble` knows less there, and `risk` needs one"
            } else {
                "in a repository"
            };
            lines.push(CheckupLine::new(CheckupSubject::Git, CheckupState::Good, format!("{root}, {kind}")));
            lines.extend(project.notes.iter().map(|note| {
                let state = CheckupState::Missing;
                CheckupLine { subject: CheckupSubject::Configuration, state, message: note.message.clone() }
            }));
            Some(project)
        }
        Err(failure) => {
            lines.push(CheckupLine::failed(CheckupSubject::Configuration, failure));
            None
        }
    }
}

fn book_line(folder: &Path, places: &Places) -> CheckupLine {
    let subject = CheckupSubject::Book;
    let opened = OpenProject::open(folder, places, BookReading::Trusted);
    match opened.and_then(|project| Ok((project.book()?, project.unread))) {
        Ok((_, Some(unread))) => {
            let why = unread.lines().next().unwrap_or_default().to_owned();
            CheckupLine::new(subject, CheckupState::Wrong, format!("the project's book is ignored: {why}"))
                .hinting(Hint::CheckBook)
        }
        Ok((book, None)) => {
            let prompts = count_with_noun(u64::try_from(book.prompts().len()).unwrap_or(u64::MAX), "prompt");
            match check_book(&book, &OpenAi::O200k) {
                Ok(remarks) => {
                    match remarks.iter().filter(|remark| remark.severity == DiagnosticSeverity::Error).count() {
                        0 => CheckupLine::new(subject, CheckupState::Good, prompts),
                        errors => {
                            let errors = count_with_noun(u64::try_from(errors).unwrap_or(u64::MAX), "error");
                            CheckupLine::new(subject, CheckupState::Wrong, format!("{prompts}, {errors}"))
                                .hinting(Hint::CheckBook)
                        }
                    }
                }
                Err(failure) => CheckupLine::failed(subject, failure.into()).hinting(Hint::CheckBook),
            }
        }
        Err(failure) => CheckupLine::failed(subject, failure).hinting(Hint::CheckBook),
    }
}
