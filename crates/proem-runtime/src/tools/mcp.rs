//! Tools of servers of the Model Context Protocol.
//!
//! Invariants: a server is started or asked when a program first calls one of its tools, once for a run, and once more
//! for the first call after its end. A tool is called
//! only if a person approved exactly the definition that the server gives of it now, so that a server can't change what a
//! person has permitted. A server's words reach a program as the result of a call alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proem_agents::lisp::{CommandOutput, McpTool};
use proem_engine::run::ToolUse;
use proem_guard::show;
use proem_select::catalogue::tools_list::parse_tools_list;
use proem_select::catalogue::{Approval, Approvals, Catalogue, CatalogueContents, SourceFile, SourceTrust};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempt_end::{Attempt, AttemptEnd, MAX_RESULT, json_result, printed_result, tool_words};
use crate::mcp::{McpFailure, McpResult, McpServer, McpSession, McpStage};

/// The servers that the tools of a run may call, and the definitions that a person approved.
#[derive(Debug, Default)]
pub struct McpServers {
    servers: BTreeMap<String, McpServer>,
    approvals: Approvals,
    open: Mutex<BTreeMap<String, Arc<OnceCell<OpenServer>>>>,
}

/// A server that is talked with.
#[derive(Debug)]
struct OpenServer {
    session: McpSession,
    /// Its tools, each with whether its definition is approved.
    tools: BTreeMap<String, Approval>,
}

impl McpServers {
    /// The configured servers, by name.
    #[must_use]
    pub fn new(servers: BTreeMap<String, McpServer>, approvals: Approvals) -> Self {
        Self { servers, approvals, open: Mutex::default() }
    }

    /// Why a tool can't be called by this name of a server.
    pub(super) fn check(&self, tool: &McpTool) -> Result<(), String> {
        if self.servers.contains_key(&tool.server) {
            return Ok(());
        }
        let server = show::terminal_str(&tool.server);
        Err(format!("no server `{server}`; configure it under `[mcp.{server}]`"))
    }

    /// Calls a tool once.
    pub(super) async fn call(
        &self,
        tool: &McpTool,
        call: &ToolUse,
        key: &str,
        (limit, stop): (Duration, &CancellationToken),
    ) -> Attempt {
        let begun = Instant::now();
        let work = async {
            let place = Arc::clone(self.open.lock().await.entry(tool.server.clone()).or_default());
            let server = match place.get_or_try_init(|| self.open_server(&tool.server, limit)).await {
                Ok(server) => server,
                Err(failure) => return unanswered_attempt(McpFailure { stage: McpStage::Unsent, ..failure }),
            };
            if let Err(why) = check_approval(server, tool) {
                return AttemptEnd::Refused(why).into();
            }
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return AttemptEnd::Unbegun(format!("its server was not ready within {} s", limit.as_secs())).into();
            }
            let answer = server.session.call(&tool.tool, &call.arguments, key, left).await;
            if server.session.has_ended() {
                self.forget(&tool.server, &place).await;
            }
            answer.map_or_else(unanswered_attempt, |result| answered_attempt(result, tool.output).into())
        };
        tokio::select! {
            biased;
            end = work => end,
            () = stop.cancelled() => AttemptEnd::Doubtful("the run was given up while it was asked".to_owned()).into(),
        }
    }

    /// Lets the next call begin another conversation, unless one has begun already.
    async fn forget(&self, name: &str, ended: &Arc<OnceCell<OpenServer>>) {
        let mut open = self.open.lock().await;
        if open.get(name).is_some_and(|known| Arc::ptr_eq(known, ended)) {
            open.remove(name);
        }
    }

    async fn open_server(&self, name: &str, limit: Duration) -> Result<OpenServer, McpFailure> {
        let begun = Instant::now();
        let Some(server) = self.servers.get(name) else {
            return Err(McpFailure::new(McpStage::Unsent, "it is not configured"));
        };
        let session = McpSession::open(server, limit).await?;
        let listed = session.tools(limit.saturating_sub(begun.elapsed())).await?;
        let definitions = server_definitions(name, listed);
        let tools = Catalogue::new(definitions, &self.approvals);
        let of = tools.entries().iter().map(|entry| (own_tool_name(entry.own_name()), entry.approval()));
        Ok(OpenServer { session, tools: of.collect() })
    }
}

/// The catalogue's entries of a server's answer to `tools/list`.
#[must_use]
pub fn server_definitions(server: &str, answer: String) -> CatalogueContents {
    let file = SourceFile { path: format!("tools/list of {server}"), text: answer, standing: SourceTrust::Outside };
    parse_tools_list(&file, server)
}

/// The name as the server has it: it is compared, and shown to nobody.
fn own_tool_name(name: &proem_guard::Untrusted<String>) -> String {
    show::exact_json(name).as_str().unwrap_or_default().to_owned()
}

fn check_approval(server: &OpenServer, tool: &McpTool) -> Result<(), String> {
    match server.tools.get(&tool.tool) {
        Some(Approval::Approved) => Ok(()),
        Some(Approval::Outside) => Err(format!(
            "nobody approved the definition that `{server}` gives of it now; run `proem catalogue fetch {server}`, then \
             `proem catalogue approve {server}`",
            server = show::terminal_str(&tool.server)
        )),
        None => Err(format!(
            "`{}` has no tool `{}`; `proem catalogue list --server` lists them",
            show::terminal_str(&tool.server),
            show::terminal_str(&tool.tool)
        )),
    }
}

fn unanswered_attempt(failure: McpFailure) -> Attempt {
    let wrote = failure.wrote.as_ref().map(show::exact_json);
    let wrote = wrote.as_ref().and_then(|words| words.as_str()).map(|words| tool_words(words.as_bytes()));
    let end = match failure.stage {
        McpStage::Unsent => AttemptEnd::Unbegun(failure.message),
        McpStage::Refused => AttemptEnd::Refused(failure.message),
        McpStage::Doubtful => AttemptEnd::Doubtful(failure.message),
    };
    Attempt { end, wrote: wrote.unwrap_or_default() }
}

fn answered_attempt(result: McpResult, output: CommandOutput) -> AttemptEnd {
    let text = match result {
        McpResult::Structured(text) => json_result(text.into_bytes()),
        McpResult::Texts(texts) => printed_result(texts.join("\n").into_bytes(), output),
    };
    match text {
        Ok(text) if text.len() > MAX_RESULT => {
            AttemptEnd::Doubtful(format!("its result has more than {} MiB", MAX_RESULT >> 20))
        }
        Ok(text) => AttemptEnd::Answered(text),
        Err(why) => AttemptEnd::Doubtful(why),
    }
}
