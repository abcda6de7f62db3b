//! A server on streams in memory, and a client that writes lines of JSON.

use std::path::Path;

use proem_app::places::{Channel, Places};
use proem_app::records::runtime;
use proem_mcp::{McpServer, McpSetting, serve_streams};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

/// The revision of the protocol without a handshake.
pub(crate) const NEWEST: &str = "2026-07-28";

/// A server for a folder that is a project of its own, with a user who has nothing yet.
pub(crate) fn server(base: &Path) -> McpServer {
    let [config, state, cache] = ["config", "state", "cache"].map(|name| base.join(name));
    let places = Places { config, state, cache, home: base.into(), programs: base.into(), channel: Channel::Pipe };
    let error_words = |error: &proem_app::Error| error.to_string();
    McpServer::new(McpSetting { root: base.to_owned(), places, error_words })
}

/// A client's end of a session.
pub(crate) struct Session {
    write: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

/// Runs a session with a server of its own. The server must end well once the client goes.
pub(crate) fn with_session(work: impl AsyncFnOnce(&mut Session)) {
    let folder = TempDir::new().unwrap();
    let base = folder.path().canonicalize().unwrap();
    runtime().unwrap().block_on(async {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let streams = tokio::io::split(theirs);
        let serving = tokio::spawn(serve_streams(server(&base), streams, |_| {}, CancellationToken::new()));
        let (read, write) = tokio::io::split(ours);
        let mut session = Session { write, lines: BufReader::new(read).lines() };
        work(&mut session).await;
        session.write.shutdown().await.unwrap();
        drop(session);
        serving.await.unwrap().unwrap();
    });
}

impl Session {
    /// Writes a line.
    pub(crate) async fn line(&mut self, text: &str) {
        self.write.write_all(text.as_bytes()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    /// Writes a message.
    pub(crate) async fn say(&mut self, message: Json) {
        self.line(&message.to_string()).await;
    }

    /// The next message.
    pub(crate) async fn hear(&mut self) -> Json {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Begins as clients did before there was no handshake.
    pub(crate) async fn shake_hands(&mut self) -> Json {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
        });
        self.say(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
        let answer = self.hear().await;
        self.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        answer
    }

    /// Asks, and hears the answer.
    pub(crate) async fn ask(&mut self, id: u32, method: &str, params: Json) -> Json {
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        let answer = self.hear().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool.
    pub(crate) async fn call(&mut self, id: u32, tool: &str, arguments: Json) -> Json {
        self.ask(id, "tools/call", json!({ "name": tool, "arguments": arguments })).await
    }
}

/// The `_meta` of each request if there is no handshake.
pub(crate) fn meta(version: &str) -> Json {
    json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    } })
}
