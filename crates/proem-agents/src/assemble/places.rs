//! The places of outside texts in the prompt for a task, and the result without the request.

use proem_engine::{Error, ErrorKind};

use crate::screen::{self, Screen};

/// The place of a text in the prompt, in the prompt's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaskPlace {
    Command(usize),
    Rules(usize),
    Outline(usize),
    Found(usize),
    Folder,
    Branch,
    Change(usize),
    FolderRules(usize),
    RuleSection(usize),
    ChangedFile(usize),
    Difference(usize),
    FoundFile(usize),
    FoundText(usize),
    Commit(usize),
    Memory(usize),
    Event(usize),
    Request,
}

impl screen::PromptPlace for TaskPlace {
    fn names(&self) -> (&str, &str) {
        match self {
            Self::Command(_) => ("repository", "command"),
            Self::Rules(_) | Self::FolderRules(_) | Self::RuleSection(_) => ("rules", "text"),
            Self::Outline(_) | Self::ChangedFile(_) | Self::FoundFile(_) => ("repository", "path"),
            Self::Difference(_) => ("repository", "difference"),
            Self::FoundText(_) => ("repository", "text"),
            Self::Commit(_) => ("git", "commit"),
            Self::Found(_) => ("catalogue", "signature"),
            Self::Folder => ("env", "cwd"),
            Self::Branch => ("git", "branch"),
            Self::Change(_) => ("git", "path"),
            Self::Memory(_) => ("memory", "text"),
            Self::Event(_) => ("activity", "text"),
            Self::Request => ("task", "text"),
        }
    }

    fn section(&self) -> usize {
        match self {
            Self::Command(_) => 0,
            Self::Rules(_) => 1,
            Self::Outline(_) => 2,
            Self::Found(_) => 3,
            Self::Folder | Self::Branch | Self::Change(_) => 4,
            Self::FolderRules(_) => 5,
            Self::RuleSection(_) => 6,
            Self::ChangedFile(_) | Self::Difference(_) => 7,
            Self::FoundFile(_) | Self::FoundText(_) => 8,
            Self::Commit(_) => 9,
            Self::Memory(_) => 10,
            Self::Event(_) => 11,
            Self::Request => 12,
        }
    }

    fn is_long(&self) -> bool {
        matches!(self, Self::Rules(_) | Self::FolderRules(_) | Self::RuleSection(_) | Self::Request)
    }
}

/// Refuses to go on if the request itself stays out: there would be nothing to do.
pub(super) fn needs_request(screen: &Screen<'_, TaskPlace>) -> Result<(), Error> {
    if screen.keeps(&TaskPlace::Request) {
        return Ok(());
    }
    let rules = screen.noted().iter().find(|noted| noted.what == REQUEST).map(|noted| noted.rules.join(", "));
    let rules = rules.unwrap_or_default();
    let problem = format!("the untrusted task is an attack ({rules}) and no part of it can be used");
    Err(Error::new(ErrorKind::Quarantined, problem))
}

/// How the request is called in notes.
pub(super) const REQUEST: &str = "the untrusted task";
