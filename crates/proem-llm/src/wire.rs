//! The wire traffic, whoever carries it.

use serde_json::Value as Json;

/// A request as it is sent, without its key.
#[derive(Debug, Clone, PartialEq)]
pub struct WireRequest {
    /// The path below the endpoint's base URL, such as `/chat/completions`.
    pub path: &'static str,
    /// The headers beside the key, lower case, sorted.
    pub headers: Vec<(&'static str, String)>,
    /// Its body. On the wire it is canonical JSON, its schemas' properties in order
    /// ([`proem_text::json::compact_in_order`]).
    pub body: Json,
}

/// How an answer begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
}

impl ResponseHead {
    /// The first header of that name, which is lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Whether more of an answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// More is wanted.
    More,
    /// No more is: all is there, or what is there is enough to know that it is wrong.
    Stop,
}

/// The place of a call within a run, for the names of cassettes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallSlot {
    /// The run's place among those of one command, from 1: the line of a batch.
    pub run: u32,
    /// The effect's place in its run, from 0.
    pub effect: u32,
}
