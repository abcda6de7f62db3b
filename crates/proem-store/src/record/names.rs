//! The owner of a line, and its run.

use std::fmt;

use proem_text::hex;
use serde::{Deserialize, Serialize};

/// Which project a line belongs to: its root, as the trust store calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Project(pub String);

/// The actor that did something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor {
    /// The kind of actor.
    pub kind: ActorKind,
    /// Its name: a user's, an agent's.
    pub id: String,
    /// How it came in, such as `terminal` or `pipe`.
    pub channel: String,
}

/// A person, an agent or the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActorKind {
    /// Somebody at a terminal or an authenticated page.
    Person,
    /// A program of ours that a model steers.
    Agent,
    /// Proem itself.
    System,
}

/// As it is stored: `person:alice@terminal`.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ActorKind::Person => "person",
            ActorKind::Agent => "agent",
            ActorKind::System => "system",
        };
        write!(f, "{kind}:{}@{}", self.id, self.channel)
    }
}

/// Which run: sixteen hexadecimal digits, drawn at random.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl RunId {
    /// How many digits are shown.
    pub const SHOWN: usize = 8;

    /// The id with these random bytes.
    #[must_use]
    pub fn new(random: [u8; 8]) -> Self {
        Self(hex::encode_hex(random))
    }

    /// The digits that are shown.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..Self::SHOWN).unwrap_or(&self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
