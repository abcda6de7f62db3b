//! A build without the protocol.

use std::time::Duration;

use super::{McpFailure, McpResult, McpServer, McpStage};

/// A conversation with a server, of which this build has none.
#[derive(Debug)]
pub enum McpSession {}

impl McpSession {
    /// # Errors
    ///
    /// Always: this build does not have the protocol.
    pub async fn open(_: &McpServer, _: Duration) -> Result<Self, McpFailure> {
        Err(McpFailure::new(McpStage::Unsent, "this build of Proem has no client of the Model Context Protocol"))
    }

    /// # Errors
    ///
    /// Never: there is no session.
    pub async fn tools(&self, _: Duration) -> Result<String, McpFailure> {
        match *self {}
    }

    /// Never asked: there is no session.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        match *self {}
    }

    /// # Errors
    ///
    /// Never: there is no session.
    pub async fn call(&self, _: &str, _: &str, _: &str, _: Duration) -> Result<McpResult, McpFailure> {
        match *self {}
    }
}
