//! Tells wide permissions of tools from narrow ones.

use proem_guard::Severity;

/// Programs of which a permission allows any command.
const ANY_COMMAND: [&str; 14] =
    ["sh", "bash", "zsh", "python", "python3", "node", "ruby", "perl", "npx", "uvx", "sudo", "env", "eval", "xargs"];

/// Whether a program runs any code it is given.
pub(super) fn is_any_command(program: &str) -> bool {
    ANY_COMMAND.contains(&program)
}

/// The severity of a wide permission for a tool, and its effect. `None` for one that is narrow.
///
/// The form is `Tool` or `Tool(pattern)`, <https://code.claude.com/docs/en/permissions>.
pub(super) fn permission_consequence(permission: &str) -> Option<(Severity, &'static str)> {
    const ANY: &str = "In each session in this folder, the agent may run any shell command without asking.";
    const PROGRAM: &str = "In each session in this folder, the agent may run any code with this program, or as another user, without asking.";
    let permission = permission.trim();
    let (tool, pattern) = match permission.split_once('(') {
        Some((tool, rest)) => (tool.trim(), rest.trim_end().trim_end_matches(')').trim()),
        None => (permission, "*"),
    };
    if tool == "*" {
        return Some((
            Severity::High,
            "In each session in this folder, the agent may use all of its tools without asking.",
        ));
    }
    if !matches!(tool.to_ascii_lowercase().as_str(), "bash" | "shell" | "run_shell_command" | "shelltool") {
        return None;
    }
    if matches!(pattern, "*" | ":*" | "**" | "*:*" | "" | ".*") {
        return Some((Severity::High, ANY));
    }
    let (program, rest) = pattern.split_once([':', ' ']).unwrap_or((pattern, ""));
    let is_open = matches!(rest.trim(), "*" | "**" | "-c *" | "-c:*" | "-e *" | "-y *");
    let name = program.rsplit('/').next().unwrap_or(program);
    (is_open && is_any_command(name)).then_some((Severity::Medium, PROGRAM))
}
