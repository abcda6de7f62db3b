//! The rules about agents' files, and their sentences: what would happen, and when.
//!
//! Invariant: no text of a file is in a sentence.

use proem_guard::{FindingKind, Severity};
use proem_text::Span;

use super::{AgentFinding, AgentRule};

const fn agent_rule(id: &'static str, kind: FindingKind, meaning: &'static str) -> AgentRule {
    AgentRule { id, kind, meaning }
}

pub(super) const HOOK: AgentRule =
    agent_rule("agent/hook", FindingKind::AutoRun, "A hook runs a command at an event of an agent.");
pub(super) const SERVER: AgentRule =
    agent_rule("agent/server", FindingKind::AutoRun, "A command starts an MCP server.");
pub(super) const COMMAND_SETTING: AgentRule =
    agent_rule("agent/setting-command", FindingKind::AutoRun, "A setting of an agent runs a command.");
pub(super) const TASK: AgentRule =
    agent_rule("agent/task", FindingKind::AutoRun, "A task of an editor runs when the folder is opened.");
pub(super) const INLINE: AgentRule =
    agent_rule("agent/inline-command", FindingKind::AutoRun, "A prompt runs a command before it is sent.");
pub(super) const DOWNLOAD: AgentRule =
    agent_rule("agent/download", FindingKind::Download, "A command runs what it downloads or decodes.");
pub(super) const ALLOW_ALL: AgentRule =
    agent_rule("agent/allow-all", FindingKind::Permission, "A setting lets an agent act without asking.");
pub(super) const ALLOW_SHELL: AgentRule =
    agent_rule("agent/allow-shell", FindingKind::Permission, "A setting lets an agent run any shell command.");
pub(super) const TRUST_SERVERS: AgentRule = agent_rule(
    "agent/trust-servers",
    FindingKind::Permission,
    "A setting starts servers, or calls their tools, without asking.",
);
pub(super) const UNASKED: AgentRule =
    agent_rule("agent/unasked", FindingKind::Permission, "A flag starts an agent that asks nobody.");
pub(super) const OUTSIDE: AgentRule =
    agent_rule("agent/outside", FindingKind::Permission, "A setting lets an agent work on files outside the project.");
pub(super) const ENDPOINT: AgentRule =
    agent_rule("agent/endpoint", FindingKind::Redirect, "A setting sends an agent's requests to another host.");
pub(super) const ENVIRONMENT: AgentRule = agent_rule(
    "agent/environment",
    FindingKind::Redirect,
    "A setting changes which programs or code the commands of an agent load.",
);
pub(super) const REMOTE_SERVER: AgentRule =
    agent_rule("agent/remote-server", FindingKind::Offer, "A server elsewhere offers tools to an agent.");
pub(super) const TOOL_LIST: AgentRule =
    agent_rule("agent/tool-list", FindingKind::Offer, "A file describes tools to an agent.");
pub(super) const SHADOWED_TOOL: AgentRule =
    agent_rule("agent/shadowed-tool", FindingKind::Shadowing, "A tool has the name of another tool.");
pub(super) const SHADOWED_SERVER: AgentRule =
    agent_rule("agent/shadowed-server", FindingKind::Shadowing, "Two servers have one name.");
pub(super) const REPEATED_KEY: AgentRule =
    agent_rule("agent/repeated-key", FindingKind::Shadowing, "A key comes twice in settings.");
pub(super) const UNCLEAR: AgentRule =
    agent_rule("agent/unclear", FindingKind::Unclear, "Settings of an agent can't be read.");

/// All rules about agents' files.
pub const AGENT_RULES: [AgentRule; 19] = [
    ALLOW_ALL,
    ALLOW_SHELL,
    DOWNLOAD,
    ENDPOINT,
    ENVIRONMENT,
    HOOK,
    INLINE,
    OUTSIDE,
    REMOTE_SERVER,
    REPEATED_KEY,
    SERVER,
    COMMAND_SETTING,
    SHADOWED_SERVER,
    SHADOWED_TOOL,
    TASK,
    TOOL_LIST,
    TRUST_SERVERS,
    UNASKED,
    UNCLEAR,
];

/// The end of a sentence about a command that runs what it downloads.
pub(super) const RUNS_DOWNLOAD: &str =
    "it runs what it downloads or decodes, so that somebody else decides what happens on this machine.";

/// A finding to which nothing more belongs than its place.
pub(super) const fn agent_finding(
    rule: AgentRule,
    span: Span,
    severity: Severity,
    consequence: String,
) -> AgentFinding {
    AgentFinding { rule, span, whole: span, severity, consequence, refers: Vec::new() }
}

/// The programs whose settings are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentProgram {
    ClaudeCode,
    Cursor,
    VsCode,
    Gemini,
    Codex,
    Unknown,
}

impl AgentProgram {
    /// The program that reads the file at `path`.
    pub(super) fn of_path(path: &str) -> Self {
        let path = format!("/{}", path.to_lowercase());
        let folders = [
            ("/.claude", Self::ClaudeCode),
            ("/.mcp.json", Self::ClaudeCode),
            ("/hooks/hooks.json", Self::ClaudeCode),
            ("/.cursor", Self::Cursor),
            ("/.vscode/", Self::VsCode),
            ("/.github/", Self::VsCode),
            ("/.gemini/", Self::Gemini),
            ("/gemini-extension.json", Self::Gemini),
            ("/.codex/", Self::Codex),
        ];
        folders.into_iter().find(|(folder, _)| path.contains(folder)).map_or(Self::Unknown, |(_, program)| program)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "Copilot",
            Self::Gemini => "Gemini CLI",
            Self::Codex => "Codex",
            Self::Unknown => "an agent",
        }
    }
}

/// When a hook runs, by the name of its event. The names are those of Claude Code, Cursor, Gemini CLI and Copilot.
pub(super) fn event_in_words(event: &str) -> &'static str {
    match event.to_lowercase().as_str() {
        "sessionstart" | "setup" => "When a session starts in this folder",
        "sessionend" => "When a session ends",
        "userpromptsubmit" | "userpromptexpansion" | "beforesubmitprompt" | "beforeagent" | "userpromptsubmitted" => {
            "Each time you send a prompt"
        }
        "pretooluse"
        | "beforetool"
        | "beforeshellexecution"
        | "beforemcpexecution"
        | "beforereadfile"
        | "beforetabfileread"
        | "permissionrequest"
        | "beforetoolselection" => "Each time the agent is about to use a tool",
        "posttooluse"
        | "posttoolusefailure"
        | "posttoolbatch"
        | "aftertool"
        | "aftershellexecution"
        | "aftermcpexecution"
        | "afterfileedit"
        | "aftertabfileedit" => "Each time the agent has used a tool",
        "stop" | "stopfailure" | "afteragent" | "afteragentresponse" | "afteragentthought" | "agentstop" => {
            "Each time the agent has finished an answer"
        }
        "subagentstart" | "subagentstop" | "taskcreated" | "taskcompleted" | "teammateidle" => {
            "Each time another agent starts or ends its work"
        }
        "precompact" | "postcompact" | "precompress" => "When a long conversation is shortened",
        "notification" => "Each time the agent notifies you",
        "beforemodel" | "aftermodel" => "At each request to the model",
        "workspaceopen" => "When the folder is opened",
        "erroroccurred" => "Each time an error occurs",
        _ => "At an event of the agent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_sorted_and_have_sentences() {
        let ids: Vec<&str> = AGENT_RULES.iter().map(|rule| rule.id).collect();
        assert!(ids.is_sorted() && ids.iter().all(|id| id.starts_with("agent/")), "{ids:?}");
        assert!(AGENT_RULES.iter().all(|rule| rule.meaning.ends_with('.')));
    }
}
