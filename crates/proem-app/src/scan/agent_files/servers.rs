//! The servers and tools that a project offers to agents.

use proem_guard::Severity;
use proem_text::Span;

use super::consequence::{REMOTE_SERVER, SERVER, SHADOWED_SERVER, SHADOWED_TOOL, TOOL_LIST, TRUST_SERVERS};
use super::places::project_of;
use super::settings::{CommandPlace, SettingsJudge, is_tool, nodes_at};
use super::settings_tree::{SettingsEntry, SettingsNode};
use super::shell_text::runs_newest_package;

/// The paths of keys whose tables have servers by name.
const SERVER_TABLES: [&[&str]; 7] = [
    &["mcpServers"],
    &["servers"],
    &["context_servers"],
    &["mcp_servers"],
    &["mcp"],
    &["mcp", "servers"],
    &["amp.mcpServers"],
];

/// The names of tools that agents have of their own, in lower case. Sources: the tools of Claude Code,
/// <https://code.claude.com/docs/en/settings>, of Gemini CLI, <https://geminicli.com/docs/tools/>, and of Codex.
const BUILT_IN: [&str; 26] = [
    "bash",
    "read",
    "write",
    "edit",
    "multiedit",
    "glob",
    "grep",
    "ls",
    "webfetch",
    "websearch",
    "task",
    "agent",
    "skill",
    "todowrite",
    "notebookedit",
    "exitplanmode",
    "run_shell_command",
    "read_file",
    "write_file",
    "replace",
    "web_fetch",
    "google_web_search",
    "save_memory",
    "shell",
    "apply_patch",
    "update_plan",
];

/// A server as a file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfferedServer<'n> {
    pub(super) name: &'n str,
    /// Its command with the arguments, or its address.
    pub(super) start: String,
    is_remote: bool,
    /// The key and the table.
    span: Span,
}

/// The servers of a file that are switched on.
pub(super) fn offered_servers(root: &SettingsNode) -> Vec<(OfferedServer<'_>, &SettingsNode)> {
    let tables = SERVER_TABLES.iter().flat_map(|keys| nodes_at(root, keys));
    tables.flat_map(SettingsNode::entries).filter_map(|entry| Some((offered_server(entry)?, &entry.node))).collect()
}

fn offered_server(entry: &SettingsEntry) -> Option<OfferedServer<'_>> {
    let SettingsEntry { key, key_span, node } = entry;
    let is_off = node.get("disabled").is_some_and(SettingsNode::is_true);
    // Zed nests the program: `{"command": {"path": …, "args": […]}}`.
    let program = node.get("command").map(|command| command.get("path").unwrap_or(command));
    let arguments = node.get("args").or_else(|| node.get("command")?.get("args"));
    let words = [program, arguments].into_iter().flatten().filter_map(SettingsNode::command_line);
    let command = words.collect::<Vec<_>>().join(" ");
    let address = ["url", "httpUrl", "serverUrl"].into_iter().find_map(|key| node.get(key)?.text());
    let (start, is_remote) = match address {
        _ if program.is_some() => (command, false),
        Some(address) => (address.to_owned(), true),
        None => return None,
    };
    let span = Span::new(key_span.start, node.span.end);
    (!is_off).then_some(OfferedServer { name: key, start, is_remote, span })
}

/// The lists of tools of a file, as a server gives them: `{"tools": […]}`, or the list alone.
pub(super) fn tool_lists(root: &SettingsNode) -> Vec<&SettingsNode> {
    let paths: [&[&str]; 3] = [&[], &["tools"], &["result", "tools"]];
    let lists = paths.into_iter().flat_map(|keys| nodes_at(root, keys));
    lists.filter(|list| list.items().iter().any(is_tool)).collect()
}

impl SettingsJudge<'_> {
    pub(super) fn judge_servers(&mut self, root: &SettingsNode) {
        for (server, node) in offered_servers(root) {
            let span = server.span;
            if server.is_remote {
                let text = "When a session starts, the agent asks this server for tools. The server decides what their \
                            descriptions tell the agent, and sees what it calls them with.";
                self.push(REMOTE_SERVER, span, Severity::Medium, text.to_owned());
            } else {
                let place = CommandPlace { span: node.get("command").unwrap_or(node).span, whole: span };
                let when = "When a session starts and the servers of this folder are allowed";
                self.push_command(SERVER, place, when, &server.start);
                if let Some(last) = self.found.iter_mut().rfind(|found| found.rule == SERVER)
                    && runs_newest_package(&server.start)
                {
                    last.consequence.push_str(" It fetches the newest version each time.");
                }
            }
            if self.survey.has_other_server(&project_of(self.path), server.name, &server.start) {
                let text = "Another file of this project gives the same name to another server. Which of the two an \
                            agent uses depends on the agent.";
                self.push(SHADOWED_SERVER, span, Severity::Medium, text.to_owned());
            }
            let is_all = |node: &SettingsNode| node.items().iter().any(|item| item.text() == Some("*"));
            let allowed = ["alwaysAllow", "autoApprove"].into_iter().filter_map(|key| node.get(key));
            for allowed in
                allowed.filter(|allowed| is_all(allowed)).chain(node.get("trust").filter(|trust| trust.is_true()))
            {
                let text = "In each session in this folder, the agent calls all tools of this server without asking.";
                self.push(TRUST_SERVERS, allowed.span, Severity::High, text.to_owned());
            }
            for env in node.all("env") {
                self.judge_environment(env);
            }
        }
    }

    pub(super) fn judge_tools(&mut self, root: &SettingsNode) {
        for list in tool_lists(root) {
            let text = "An agent that is offered these tools reads their descriptions as instructions. Accept the list \
                        to be told of every change.";
            self.push(TOOL_LIST, list.span, Severity::Medium, text.to_owned());
            for name in list.items().iter().filter_map(|tool| tool.get("name")) {
                let Some(word) = name.text() else { continue };
                let is_built_in = BUILT_IN.contains(&word.to_lowercase().as_str());
                if is_built_in || self.survey.has_tool_twice(word) {
                    let of =
                        if is_built_in { "a tool that agents have of their own" } else { "a tool of another list" };
                    let text =
                        format!("When an agent calls {of} by this name, this one may get the call and its data.");
                    self.push(SHADOWED_TOOL, name.span, Severity::Medium, text);
                }
            }
        }
    }
}
