//! How a signal is written down: as one labelled tree, and as plain JSON.
//!
//! Both have the same names. The tree keeps each label and is read back by [`ProjectSignal::read`], from a store that
//! is sealed. The plain JSON is for people and programs, and what is read from it is somebody's text.

use std::fmt;

use proem_engine::run::Time;
use proem_guard::{LabelTree, TreeError, Untrusted};
use serde_json::{Value as Json, json};

use super::document::SignalDocument;
use super::{ProjectSignal, SenderAuthentication, SignalKind, SignalSender, SignalSource};
use crate::date::{SignalTime, TimeFault, parse_timestamp, utc_timestamp};

/// The version of what is written. It is raised with every change of it.
pub const FORM: u64 = 1;

/// The prefix of the source's own name of a kind.
const UNKNOWN: &str = "unknown:";

/// Why a written signal can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalFormError {
    /// It is no labelled tree.
    Tree(TreeError),
    /// It was written in another form, by another version of Proem.
    Version,
    /// This part is missing, or is not as it is written.
    Part(&'static str),
}

impl fmt::Display for SignalFormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(error) => error.fmt(f),
            Self::Version => write!(f, "the signal is not of form {FORM}; read its source again"),
            Self::Part(part) => write!(f, "the signal's `{part}` is not as it is written; read its source again"),
        }
    }
}

impl std::error::Error for SignalFormError {}

impl ProjectSignal {
    /// The signal with all its labels as canonical JSON, for a store. Never for a screen or a prompt.
    ///
    /// # Errors
    ///
    /// Writes it, or returns the place of the excess. A signal that [`crate::normalise_signals`] made always fits.
    pub fn write(&self) -> Result<String, TreeError> {
        self.to_tree().write()
    }

    /// The exact signal without its labels, for whoever asked for it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        json!(SignalDocument::new(self))
    }

    /// The signal as one value: what code computed is trusted, all else keeps its labels.
    #[must_use]
    pub fn to_tree(&self) -> LabelTree {
        let (time, said, fault) = match &self.time {
            SignalTime::Known(time) => (LabelTree::from(utc_timestamp(*time)), LabelTree::Null, LabelTree::Null),
            SignalTime::Doubtful { said, fault } => (LabelTree::Null, outside(Some(said)), fault.as_str().into()),
            SignalTime::Missing => (LabelTree::Null, LabelTree::Null, LabelTree::Null),
        };
        LabelTree::map([
            ("signal", LabelTree::from(FORM)),
            ("source", self.source.as_str().into()),
            ("type", kind_name(&self.kind)),
            ("id", self.id.as_str().into()),
            ("revision", self.revision.as_str().into()),
            ("time", time),
            ("time_said", said),
            ("time_fault", fault),
            ("sender", self.sender.as_ref().map_or(LabelTree::Null, sender_tree)),
            ("ticket", outside(self.ticket.as_ref())),
            ("project", outside(self.project.as_ref())),
            ("summary", outside(self.summary.as_ref())),
            ("fields", self.fields.clone()),
            ("notes", LabelTree::list(self.notes.iter().map(String::as_str))),
        ])
    }

    /// Reads what [`Self::write`] wrote. Labels are taken from it as they are, so it has to come from a store of one's
    /// own.
    ///
    /// # Errors
    ///
    /// [`SignalFormError`] names the part that is not as it is written.
    pub fn read(written: &str) -> Result<Self, SignalFormError> {
        let tree = LabelTree::read(written).map_err(SignalFormError::Tree)?;
        let parts = WrittenSignal(&tree);
        if parts.get("signal") != Some(&LabelTree::from(FORM)) {
            return Err(SignalFormError::Version);
        }
        Ok(Self {
            source: SignalSource::parse(parts.word("source")?).ok_or(SignalFormError::Part("source"))?,
            kind: parts.kind()?,
            id: parts.word("id")?.to_owned(),
            revision: parts.word("revision")?.to_owned(),
            time: parts.time()?,
            sender: parts.sender()?,
            ticket: parts.outside("ticket")?,
            project: parts.outside("project")?,
            summary: parts.outside("summary")?,
            fields: parts.get("fields").cloned().ok_or(SignalFormError::Part("fields"))?,
            notes: parts.notes()?,
        })
    }
}

/// The name of a kind, which may be the source's own.
pub(super) fn kind_name(kind: &SignalKind) -> LabelTree {
    match kind {
        SignalKind::Unknown(name) => LabelTree::Outside(name.clone().map(|name| format!("{UNKNOWN}{name}"))),
        kind => kind.as_str().into(),
    }
}

fn outside(text: Option<&Untrusted<String>>) -> LabelTree {
    text.map_or(LabelTree::Null, |text| LabelTree::Outside(text.clone()))
}

fn sender_tree(sender: &SignalSender) -> LabelTree {
    LabelTree::map([
        ("account", outside(sender.account.as_ref())),
        ("address", outside(sender.address.as_ref())),
        ("name", outside(sender.name.as_ref())),
        ("authentication", sender.authentication.as_str().into()),
    ])
}

/// The parts of a signal, or of its sender.
struct WrittenSignal<'t>(&'t LabelTree);

impl<'t> WrittenSignal<'t> {
    fn get(&self, part: &str) -> Option<&'t LabelTree> {
        if let LabelTree::Map(map) = self.0 { map.get(part) } else { None }
    }

    fn word(&self, part: &'static str) -> Result<&'t str, SignalFormError> {
        match self.get(part) {
            Some(LabelTree::Text(text)) => Ok(text),
            _ => Err(SignalFormError::Part(part)),
        }
    }

    fn outside(&self, part: &'static str) -> Result<Option<Untrusted<String>>, SignalFormError> {
        match self.get(part) {
            Some(LabelTree::Null) => Ok(None),
            Some(LabelTree::Outside(text)) => Ok(Some(text.clone())),
            _ => Err(SignalFormError::Part(part)),
        }
    }

    fn kind(&self) -> Result<SignalKind, SignalFormError> {
        let fault = SignalFormError::Part("type");
        match self.get("type") {
            Some(LabelTree::Text(word)) => SignalKind::parse(word).ok_or(fault),
            Some(LabelTree::Outside(text)) if text.measure(|text| text.starts_with(UNKNOWN)) => {
                let name = text.clone().map(|text| text.strip_prefix(UNKNOWN).unwrap_or_default().to_owned());
                Ok(SignalKind::Unknown(name))
            }
            _ => Err(fault),
        }
    }

    fn time(&self) -> Result<SignalTime, SignalFormError> {
        match (self.get("time"), self.outside("time_said")?) {
            (Some(LabelTree::Text(text)), None) => {
                let time = parse_timestamp(text).map_err(|_| SignalFormError::Part("time"))?;
                Ok(SignalTime::Known(Time(time)))
            }
            (Some(LabelTree::Null), Some(said)) => {
                let fault = TimeFault::parse(self.word("time_fault")?).ok_or(SignalFormError::Part("time_fault"))?;
                Ok(SignalTime::Doubtful { said, fault })
            }
            (Some(LabelTree::Null), None) => Ok(SignalTime::Missing),
            _ => Err(SignalFormError::Part("time")),
        }
    }

    fn sender(&self) -> Result<Option<SignalSender>, SignalFormError> {
        let tree = self.get("sender").ok_or(SignalFormError::Part("sender"))?;
        if *tree == LabelTree::Null {
            return Ok(None);
        }
        let parts = WrittenSignal(tree);
        let authentication = SenderAuthentication::parse(parts.word("authentication")?);
        Ok(Some(SignalSender {
            account: parts.outside("account")?,
            address: parts.outside("address")?,
            name: parts.outside("name")?,
            authentication: authentication.ok_or(SignalFormError::Part("authentication"))?,
        }))
    }

    fn notes(&self) -> Result<Vec<String>, SignalFormError> {
        let Some(LabelTree::List(notes)) = self.get("notes") else { return Err(SignalFormError::Part("notes")) };
        let note = |note: &LabelTree| match note {
            LabelTree::Text(text) => Ok(text.clone()),
            _ => Err(SignalFormError::Part("notes")),
        };
        notes.iter().map(note).collect()
    }
}
