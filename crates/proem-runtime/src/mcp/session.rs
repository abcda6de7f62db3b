//! A conversation with a server, from its first message to its end.

use std::fmt::Display;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::Duration;

use proem_guard::Untrusted;
use proem_text::{Label, Source, json};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, ErrorCode,
    Implementation, InitializeRequestParams, JsonObject, ProtocolVersion, RequestMetaObject,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::IntoTransport;
use serde_json::json as document;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::http::open_transport;
use super::{McpFailure, McpProgram, McpResult, McpServer, McpStage};
use crate::process::{GroupLife, TalkingGroup, talk_with_group};

/// The memory of its own that each process of a server may have: runtimes such as Node's ask for much at once.
const MEMORY: u64 = 4 << 30;
const ENDED: &str = "it ended before it had answered; start it by hand to see why";
/// The key of a call in the metadata of its request, by which a server can tell a repetition.
const CALL_KEY: &str = "dev.proem/call-key";

/// A conversation with a server.
#[derive(Debug)]
pub struct McpSession {
    service: RunningService<RoleClient, InitializeRequestParams>,
    /// The program, if the server is one.
    life: Option<GroupLife>,
}

impl McpSession {
    /// Starts a program, or asks a server, and agrees on a version of the protocol.
    ///
    /// # Errors
    ///
    /// [`McpStage::Unsent`] if there is no server, or none that speaks the protocol within `limit`.
    pub async fn open(server: &McpServer, limit: Duration) -> Result<Self, McpFailure> {
        match server {
            McpServer::Program(program) => {
                let TalkingGroup { input, output, life } = talk_with_group(&mut program_command(program), MEMORY)
                    .map_err(|error| unsent(format!("`{}` can't be started: {error}", program.program.display())))?;
                let streams = || io::Result::Ok((pipe_reader(output.into())?, pipe_writer(input.into())?));
                let streams = streams().map_err(|error| unsent(format!("it can't be talked with: {error}")))?;
                match open_service(streams, limit).await {
                    Ok(service) => Ok(Self { service, life: Some(life) }),
                    Err(failure) => {
                        // The words of its end are on their way when its output has ended.
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        let message = if life.has_ended() { ENDED.to_owned() } else { failure.message };
                        Err(McpFailure { message, wrote: last_words(&life), ..failure })
                    }
                }
            }
            McpServer::Address(address) => {
                let transport = open_transport(address, limit).map_err(unsent)?;
                Ok(Self { service: open_service(transport, limit).await?, life: None })
            }
        }
    }

    /// The tools of the server, as the text of its answer to `tools/list`, all pages in one.
    ///
    /// # Errors
    ///
    /// [`McpFailure`] if there is no such answer within `limit`.
    pub async fn tools(&self, limit: Duration) -> Result<String, McpFailure> {
        match timeout(limit, self.service.list_all_tools()).await {
            Ok(Ok(tools)) => Ok(json::pretty(&document!({ "tools": tools }))),
            Ok(Err(error)) => Err(self.failure(error)),
            Err(_) => Err(self.doubtful(format!("it did not list its tools within {} s", limit.as_secs()))),
        }
    }

    /// Calls a tool once. `arguments` is the text of an object of JSON. A call that takes too long is cancelled, and so is
    /// one whose future is dropped.
    ///
    /// # Errors
    ///
    /// [`McpFailure`] if there is no result that a program can read.
    pub async fn call(&self, tool: &str, arguments: &str, key: &str, limit: Duration) -> Result<McpResult, McpFailure> {
        let arguments: JsonObject = serde_json::from_str(arguments)
            .map_err(|error| McpFailure::new(McpStage::Refused, format!("its arguments can't be read: {error}")))?;
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let mut meta = RequestMetaObject::default();
        meta.insert(CALL_KEY.to_owned(), key.into());
        params.meta = Some(meta);
        match timeout(limit, self.service.call_tool_once(params)).await {
            Ok(Ok(CallToolResponse::Complete(result))) => readable_result(result),
            Ok(Ok(CallToolResponse::InputRequired(_))) => {
                Err(McpFailure::new(McpStage::Refused, "it asks for further input, which no server gets"))
            }
            Ok(Ok(_)) => Err(self.doubtful("it goes on with the call after its answer, which is not waited for")),
            Ok(Err(error)) => Err(self.failure(error)),
            Err(_) => Err(self.doubtful(format!("it did not answer within {} s", limit.as_secs()))),
        }
    }

    /// Whether the server has left the conversation.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    fn doubtful(&self, message: impl Into<String>) -> McpFailure {
        let wrote = self.life.as_ref().and_then(last_words);
        McpFailure { wrote, ..McpFailure::new(McpStage::Doubtful, message) }
    }

    /// The meaning of an error for the request that it ended.
    fn failure(&self, error: ServiceError) -> McpFailure {
        match error {
            ServiceError::McpError(error) if is_refusal(error.code) => {
                let message = format!("the server refused it (error {})", error.code.0);
                McpFailure { wrote: server_words(&error.message), ..McpFailure::new(McpStage::Refused, message) }
            }
            ServiceError::McpError(error) => {
                let message = format!("the server failed (error {})", error.code.0);
                McpFailure { wrote: server_words(&error.message), ..McpFailure::new(McpStage::Doubtful, message) }
            }
            ServiceError::TransportClosed => self.doubtful("the server ended before its answer"),
            error => self.doubtful(in_one_line(&error)),
        }
    }
}

fn unsent(message: String) -> McpFailure {
    McpFailure::new(McpStage::Unsent, message)
}

/// An error of the protocol's own, without the lines that a server may have put into it.
fn in_one_line(error: &impl Display) -> String {
    proem_guard::show::terminal_str(&error.to_string()).into_string()
}

/// Whether an error of JSON-RPC 2.0 (section 5.1) says that nothing was begun.
const fn is_refusal(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST | ErrorCode::METHOD_NOT_FOUND | ErrorCode::INVALID_PARAMS
    )
}

fn program_command(program: &McpProgram) -> Command {
    let mut command = Command::new(&program.program);
    command.args(&program.arguments).current_dir(&program.folder).env_clear();
    command.envs(program.environment.iter().map(|(name, value)| (name, value)));
    command.envs(program.secrets.iter().map(|(name, secret)| (name, secret.expose())));
    command
}

fn pipe_reader(stream: OwnedFd) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(stream)
}

fn pipe_writer(stream: OwnedFd) -> io::Result<pipe::Sender> {
    pipe::Sender::from_owned_fd(stream)
}

fn last_words(life: &GroupLife) -> Option<Untrusted<String>> {
    server_words(&life.last_errors())
}

/// A server's words, if there are any.
fn server_words(words: &str) -> Option<Untrusted<String>> {
    let words = words.trim();
    (!words.is_empty()).then(|| Untrusted::new(words.to_owned(), Label::from_source(Source::named("mcp"))))
}

async fn open_service<T, E, A>(
    transport: T,
    limit: Duration,
) -> Result<RunningService<RoleClient, InitializeRequestParams>, McpFailure>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let own = Implementation::new("proem", env!("CARGO_PKG_VERSION"));
    let client = InitializeRequestParams::new(ClientCapabilities::default(), own);
    match timeout(limit, client.serve_with_lifecycle(transport, lifecycle())).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(ClientInitializeError::ConnectionClosed(_))) => Err(unsent(ENDED.to_owned())),
        Ok(Err(error)) => Err(unsent(format!("it does not speak the protocol: {}", in_one_line(&error)))),
        Err(_) => Err(unsent(format!("it did not answer within {} s", limit.as_secs()))),
    }
}

/// Both ways to begin: without a handshake, and with one for servers that know of no other.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

/// What of a result a program can read.
fn readable_result(result: CallToolResult) -> Result<McpResult, McpFailure> {
    if result.is_error == Some(true) {
        let words = result.content.into_iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text),
            _ => None,
        });
        let wrote = server_words(&words.collect::<Vec<_>>().join("\n"));
        return Err(McpFailure { wrote, ..McpFailure::new(McpStage::Refused, "the tool said that it failed") });
    }
    if let Some(structured) = result.structured_content {
        return Ok(McpResult::Structured(json::compact(&structured)));
    }
    let text = |block: ContentBlock| match block {
        ContentBlock::Text(text) => Ok(text.text),
        ContentBlock::Image(_) => Err("an image"),
        ContentBlock::Audio(_) => Err("sound"),
        ContentBlock::Resource(_) | ContentBlock::ResourceLink(_) => Err("a resource"),
        _ => Err("content of another kind"),
    };
    let texts: Result<Vec<String>, &str> = result.content.into_iter().map(text).collect();
    texts
        .map(McpResult::Texts)
        .map_err(|kind| McpFailure::new(McpStage::Doubtful, format!("its result has {kind}, which no program reads")))
}

#[cfg(test)]
mod tests;
