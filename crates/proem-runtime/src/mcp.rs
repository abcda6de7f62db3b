//! A client of servers of the Model Context Protocol: lists a server's tools and calls them.
//!
//! Source: Model Context Protocol, revision 2026-07-28, and 2025-11-25 for servers that begin with a handshake
//! (<https://modelcontextprotocol.io/specification/2026-07-28>).
//!
//! Invariants: a server gets the environment and the credentials that the user's configuration names, and no others. It
//! is answered nothing: no request of a server for a model, a folder or a person's words is met. A program ends with its
//! session, and so does all that it started. A message has at most 16 MiB.

#[cfg(not(feature = "mcp"))]
mod absent;
#[cfg(feature = "mcp")]
mod http;
#[cfg(feature = "mcp")]
mod session;

use std::ffi::OsString;
use std::path::PathBuf;

use proem_guard::Untrusted;
use proem_llm::client::hosts::HostScope;
use proem_llm::secret::Secret;

#[cfg(not(feature = "mcp"))]
pub use self::absent::McpSession;
#[cfg(feature = "mcp")]
pub use self::session::McpSession;

/// A server, and the way to it.
#[derive(Debug, Clone)]
pub enum McpServer {
    /// A program that is talked with over its standard streams.
    Program(McpProgram),
    /// A server at an address.
    Address(McpAddress),
}

/// A program that is a server.
#[derive(Debug, Clone)]
pub struct McpProgram {
    /// The program's file.
    pub program: PathBuf,
    /// The arguments that it is started with.
    pub arguments: Vec<String>,
    /// The folder that it runs in.
    pub folder: PathBuf,
    /// Its environment, which has nothing else.
    pub environment: Vec<(String, OsString)>,
    /// The credentials in its environment, by the names of their variables.
    pub secrets: Vec<(String, Secret)>,
}

/// A server at an address.
#[derive(Debug, Clone)]
pub struct McpAddress {
    /// Its whole address, such as `https://mcp.example.org/mcp`.
    pub url: String,
    /// The addresses that its host may have.
    pub scope: HostScope,
    /// The bearer token.
    pub credential: Option<Secret>,
}

/// The result of a tool, as its server gave it.
#[derive(Debug, Clone, PartialEq)]
pub enum McpResult {
    /// Structured content, as the text of JSON.
    Structured(String),
    /// Texts, in their order.
    Texts(Vec<String>),
}

/// How far a request had come when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpStage {
    /// Nothing of it was sent.
    Unsent,
    /// The server refused it, or said that the tool failed.
    Refused,
    /// It was sent, and what became of it is not known.
    Doubtful,
}

/// A request without a result.
#[derive(Debug)]
pub struct McpFailure {
    /// How far it had come.
    pub stage: McpStage,
    /// What happened, in our words.
    pub message: String,
    /// The tool's words about its failure, or the last that a program wrote to standard error, if there is anything.
    pub wrote: Option<Untrusted<String>>,
}

impl McpFailure {
    pub(crate) fn new(stage: McpStage, message: impl Into<String>) -> Self {
        Self { stage, message: message.into(), wrote: None }
    }
}
