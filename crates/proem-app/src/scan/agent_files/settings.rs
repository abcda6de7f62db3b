//! Judges settings of agents: the commands that they run, the rights that they give.
//!
//! In a file that some program loads, keys decide, not its name: programs take over each other's forms, and a plugin
//! brings its own. Sources are in
//! [`super::places`].

use proem_guard::Severity;
use proem_text::Span;

use super::consequence::{
    self, ALLOW_ALL, ALLOW_SHELL, AgentProgram, COMMAND_SETTING, DOWNLOAD, ENDPOINT, ENVIRONMENT, HOOK, OUTSIDE,
    REPEATED_KEY, RUNS_DOWNLOAD, TASK, TRUST_SERVERS, UNASKED, UNCLEAR, agent_finding,
};
use super::permissions::{is_any_command, permission_consequence};
use super::places::{files_from_root, is_loaded_settings};
use super::settings_tree::{SettingsEntry, SettingsNode, SettingsSyntax, SettingsValue};
use super::shell_text::{downloads_that_run, unasked_flags};
use super::survey::AgentSurvey;
use super::{AgentFileUse, AgentFinding, AgentRule, prose};

/// Settings whose value is a command: the path of keys, and when it runs.
const COMMAND_KEYS: [(&[&str], &str); 14] = [
    (&["statusLine", "command"], "Again and again while a session is open"),
    (&["subagentStatusLine", "command"], "Again and again while a session is open"),
    (&["fileSuggestion", "command"], "Each time you name a file in a prompt"),
    (&["apiKeyHelper"], "When a session starts, and again when the key expires"),
    (&["awsAuthRefresh"], "When a session needs credentials"),
    (&["awsCredentialExport"], "When a session needs credentials"),
    (&["gcpAuthRefresh"], "When a session needs credentials"),
    (&["otelHeadersHelper"], "When a session starts, and again while it is open"),
    (&["toolDiscoveryCommand"], "When a session starts"),
    (&["toolCallCommand"], "Each time the agent uses a tool that was discovered"),
    (&["tools", "discoveryCommand"], "When a session starts"),
    (&["tools", "callCommand"], "Each time the agent uses a tool that was discovered"),
    (&["mcp", "serverCommand"], "When a session starts"),
    (&["notify"], "Each time the agent has finished an answer"),
];

/// Flags that let an agent act without asking, by their path of keys, with the rule.
const UNASKED_KEYS: [(&[&str], AgentRule); 8] = [
    (&["skipDangerousModePermissionPrompt"], ALLOW_ALL),
    (&["autoAccept"], ALLOW_ALL),
    (&["tools", "autoAccept"], ALLOW_ALL),
    (&["chat.tools.autoApprove"], ALLOW_ALL),
    (&["chat.tools.global.autoApprove"], ALLOW_ALL),
    (&["enableAllProjectMcpServers"], TRUST_SERVERS),
    (&["chat.mcp.autostart"], TRUST_SERVERS),
    (&["agent.alwaysAllowTools"], ALLOW_ALL),
];

/// Choices that let an agent act without asking: the path of keys, the value in lower case, and the severity.
const UNASKED_CHOICES: [(&[&str], &str, Severity); 8] = [
    (&["permissions", "defaultMode"], "bypasspermissions", Severity::High),
    (&["permissions", "defaultMode"], "acceptedits", Severity::Medium),
    (&["defaultMode"], "bypasspermissions", Severity::High),
    (&["general", "defaultApprovalMode"], "yolo", Severity::High),
    (&["general", "defaultApprovalMode"], "auto_edit", Severity::Medium),
    (&["approval_policy"], "never", Severity::High),
    (&["sandbox_mode"], "danger-full-access", Severity::High),
    (&["task.allowAutomaticTasks"], "on", Severity::Medium),
];

/// Variables that say where an agent's requests go, in upper case.
const ENDPOINTS: [&str; 11] = [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NODE_TLS_REJECT_UNAUTHORIZED",
];

/// Variables that say which code a program loads, in upper case.
const LOADERS: [&str; 14] = [
    "PATH",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "SHELL",
];

/// The syntax of a settings file. `None` for a text or a program.
pub(super) fn syntax_of(path: &str) -> Option<SettingsSyntax> {
    let lower = path.to_lowercase();
    match AgentFileUse::of_path(path) {
        AgentFileUse::Settings if lower.ends_with(".toml") => Some(SettingsSyntax::Toml),
        AgentFileUse::Settings => Some(SettingsSyntax::Json),
        _ => None,
    }
}

pub(super) fn judge_settings_file(
    path: &str,
    text: &str,
    syntax: SettingsSyntax,
    survey: &AgentSurvey,
) -> Vec<AgentFinding> {
    let Some(root) = SettingsNode::parse(text, syntax) else {
        let mut found = prose::judge_prose(path, text);
        let end = text.lines().next().map_or(0, str::len);
        let consequence = "Nobody can tell what these settings do: they can't be read as JSON or TOML. A program that \
                           is more lenient may still take them."
            .to_owned();
        if !text.trim().is_empty() && is_loaded_settings(path) {
            found.push(agent_finding(UNCLEAR, Span::new(0, end), Severity::Medium, consequence));
        }
        return found;
    };
    let is_plugin = path.ends_with("hooks/hooks.json") || path.contains(".claude-plugin/");
    let program = AgentProgram::of_path(path);
    let mut judge = SettingsJudge { path, program, is_plugin, survey, found: Vec::new() };
    if is_loaded_settings(path) {
        judge.judge_root(&root);
    } else {
        judge.judge_tools(&root);
        judge.found.extend(prose::judge_prose(path, text));
    }
    judge.found
}

/// The place of a command, and of all that belongs to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandPlace {
    pub(super) span: Span,
    pub(super) whole: Span,
}

/// The judgement of one file of settings.
pub(super) struct SettingsJudge<'s> {
    pub(super) program: AgentProgram,
    pub(super) path: &'s str,
    /// Whether the settings are a plugin's, which hold where it is installed.
    is_plugin: bool,
    pub(super) survey: &'s AgentSurvey,
    pub(super) found: Vec<AgentFinding>,
}

impl CommandPlace {
    const fn of(node: &SettingsNode) -> Self {
        Self { span: node.span, whole: node.span }
    }
}

impl SettingsJudge<'_> {
    fn judge_root(&mut self, root: &SettingsNode) {
        for hooks in root.all("hooks") {
            for event in hooks.entries() {
                self.judge_hook(consequence::event_in_words(&event.key), &event.node);
            }
        }
        self.judge_servers(root);
        self.judge_tools(root);
        self.judge_command_settings(root);
        self.judge_tasks(root);
        self.judge_permissions(root);
        for env in root.all("env") {
            self.judge_environment(env);
        }
        let repeated = root.repeated_keys();
        self.found.extend(repeated.into_iter().map(|span| {
            let text = "Programs take one of the two values, and not all of them the same one, so that a reader may \
                        see another setting than the agent."
                .to_owned();
            agent_finding(REPEATED_KEY, span, Severity::Medium, text)
        }));
    }

    pub(super) fn push(&mut self, rule: AgentRule, span: Span, severity: Severity, consequence: String) {
        self.found.push(agent_finding(rule, span, severity, consequence));
    }

    /// A command that runs by itself, with what else its words tell. `when` is the start of the sentence.
    pub(super) fn push_command(&mut self, rule: AgentRule, place: CommandPlace, when: &str, command: &str) {
        let CommandPlace { span, whole } = place;
        let name = self.program.name();
        let plugin = if self.is_plugin { " This holds for everybody who has installed the plugin." } else { "" };
        let text = format!("{when}, {name} runs this command with your rights, and doesn't ask each time.{plugin}");
        let mut finding = agent_finding(rule, span, Severity::Medium, text);
        (finding.whole, finding.refers) = (whole, files_from_root(self.path, command));
        self.found.push(finding);
        let mut push = |rule: AgentRule, text: String| {
            let mut finding = agent_finding(rule, span, Severity::High, text);
            finding.whole = whole;
            self.found.push(finding);
        };
        if !downloads_that_run(command).is_empty() {
            push(DOWNLOAD, format!("{when}, {RUNS_DOWNLOAD}"));
        }
        if !unasked_flags(command).is_empty() {
            push(UNASKED, format!("{when}, it starts an agent that asks nobody before it acts."));
        }
    }

    /// The commands of a hook, however deep its program nests them.
    fn judge_hook(&mut self, when: &str, node: &SettingsNode) {
        // An early form: commands by the tool that they are for, or alone. Deeper texts are names and descriptions.
        let texts = node.entries().iter().map(|entry| &entry.node).chain(node.items()).chain([node]);
        let is_early = ["command", "bash", "hooks", "url"].iter().all(|key| node.get(key).is_none());
        for (node, command) in texts.filter(|_| is_early).filter_map(|node| Some((node, node.text()?))) {
            self.push_command(HOOK, CommandPlace::of(node), when, command);
        }
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            // A hook may have a command for each system, and arguments in a list of their own.
            let is_command = |entry: &&SettingsEntry| {
                matches!(entry.key.as_str(), "command" | "bash" | "powershell" | "windows" | "linux" | "osx")
            };
            let commands = node.entries().iter().filter(is_command).filter_map(|entry| {
                let arguments = node.get("args").and_then(SettingsNode::command_line).unwrap_or_default();
                Some((entry.node.span, format!("{} {arguments}", entry.node.command_line()?)))
            });
            let commands: Vec<(Span, String)> = commands.collect();
            if !commands.is_empty() {
                for (span, command) in commands {
                    self.push_command(HOOK, CommandPlace { span, whole: node.span }, when, &command);
                }
                continue;
            }
            if node.get("url").is_some_and(|url| url.text().is_some()) {
                let text =
                    format!("{when}, the agent sends the event, with what you and its tools wrote, to a server.");
                self.push(HOOK, node.span, Severity::Medium, text);
                continue;
            }
            open.extend(node.entries().iter().map(|entry| &entry.node));
            open.extend(node.items());
        }
    }

    fn judge_command_settings(&mut self, root: &SettingsNode) {
        for (keys, when) in COMMAND_KEYS {
            for node in nodes_at(root, keys) {
                if let Some(command) = node.command_line().filter(|command| !command.trim().is_empty()) {
                    self.push_command(COMMAND_SETTING, CommandPlace::of(node), when, &command);
                }
            }
        }
    }

    /// Tasks of VS Code that run when the folder is opened, <https://code.visualstudio.com/docs/debugtest/tasks>.
    fn judge_tasks(&mut self, root: &SettingsNode) {
        for task in root.all("tasks").flat_map(SettingsNode::items) {
            let run_on = task.get("runOptions").and_then(|options| options.get("runOn")).and_then(SettingsNode::text);
            let when = match run_on {
                Some("folderOpen") => "When the folder is opened and automatic tasks are allowed",
                Some("worktreeCreated") => "When a work tree is created for an agent",
                _ => continue,
            };
            let words = ["command", "args"].into_iter().filter_map(|key| task.get(key)?.command_line());
            let command: Vec<String> = words.collect();
            let span = task.get("command").unwrap_or(task).span;
            self.push_command(TASK, CommandPlace { span, whole: task.span }, when, &command.join(" "));
        }
    }

    fn judge_permissions(&mut self, root: &SettingsNode) {
        for (keys, rule) in UNASKED_KEYS {
            for node in nodes_at(root, keys).into_iter().filter(|node| node.is_true()) {
                let text = if rule == TRUST_SERVERS {
                    "When a session starts, the servers that this folder names start without asking."
                } else {
                    "In each session in this folder, the agent uses its tools without asking."
                };
                self.push(rule, node.span, Severity::High, text.to_owned());
            }
        }
        for (keys, choice, severity) in UNASKED_CHOICES {
            let is_chosen = |node: &&SettingsNode| node.text().is_some_and(|text| text.eq_ignore_ascii_case(choice));
            for node in nodes_at(root, keys).into_iter().filter(is_chosen) {
                let text = if severity == Severity::High {
                    "In each session in this folder, the agent runs commands and changes files without asking."
                } else {
                    "In each session in this folder, something that is usually asked happens without asking."
                };
                self.push(ALLOW_ALL, node.span, severity, text.to_owned());
            }
        }
        let lists = [&["permissions", "allow"][..], &["allowedTools"], &["tools", "allowed"], &["coreTools"]];
        for item in lists.iter().flat_map(|keys| nodes_at(root, keys)).flat_map(SettingsNode::items) {
            if let Some((severity, text)) = item.text().and_then(permission_consequence) {
                self.push(ALLOW_SHELL, item.span, severity, text.to_owned());
            }
        }
        let terminal = nodes_at(root, &["chat.tools.terminal.autoApprove"]);
        for SettingsEntry { key, node, .. } in terminal.into_iter().flat_map(SettingsNode::entries) {
            let is_any = is_any_command(key) || matches!(key.as_str(), "/.*/" | "/^.*$/" | "*" | "/./");
            if is_any && (node.is_true() || node.get("approve").is_some_and(SettingsNode::is_true)) {
                let text =
                    "In each session in this folder, the agent may run any shell command this way without asking.";
                self.push(ALLOW_SHELL, node.span, Severity::High, text.to_owned());
            }
        }
        for folder in
            nodes_at(root, &["permissions", "additionalDirectories"]).into_iter().flat_map(SettingsNode::items)
        {
            let is_wide = |path: &str| path.starts_with(['/', '~', '$']) || path.starts_with("..");
            if folder.text().is_some_and(is_wide) {
                let text = "In each session in this folder, the agent may also work on files of a folder outside it.";
                self.push(OUTSIDE, folder.span, Severity::Medium, text.to_owned());
            }
        }
    }

    /// Variables that a session, or a server, is given.
    pub(super) fn judge_environment(&mut self, env: &SettingsNode) {
        for SettingsEntry { key, key_span, node } in env.entries() {
            let name = key.to_ascii_uppercase();
            let span = Span::new(key_span.start, node.span.end);
            let value = node.text().unwrap_or_default();
            // A variable that takes its value from the user's own environment changes nothing.
            if value.is_empty() || value.starts_with("${") && value.ends_with('}') && !value.contains(":-") {
                continue;
            }
            if ENDPOINTS.contains(&name.as_str()) {
                let text = "In each session in this folder, requests go where this says, with the key, the prompts and \
                            the files in them.";
                self.push(ENDPOINT, span, Severity::High, text.to_owned());
            } else if LOADERS.contains(&name.as_str()) {
                let text = "Each command of a session in this folder loads code or programs from where this says.";
                self.push(ENVIRONMENT, span, Severity::High, text.to_owned());
            }
        }
    }
}

/// All nodes at a path of keys.
pub(super) fn nodes_at<'n>(root: &'n SettingsNode, keys: &[&str]) -> Vec<&'n SettingsNode> {
    keys.iter().fold(vec![root], |nodes, key| {
        let below =
            |node: &'n SettingsNode| node.entries().iter().filter(|entry| entry.key == *key).map(|entry| &entry.node);
        nodes.into_iter().flat_map(below).collect()
    })
}

/// Whether a node is a list of tools as a server gives it.
pub(super) fn is_tool(node: &SettingsNode) -> bool {
    let has = |key: &str| node.get(key).is_some();
    let is_named = node.get("name").is_some_and(|name| matches!(name.value, SettingsValue::Text(_)));
    is_named && has("description") && (has("inputSchema") || has("input_schema") || has("parameters"))
}

#[cfg(test)]
mod tests;
