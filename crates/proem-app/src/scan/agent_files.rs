//! The files of a repository that a coding agent loads by itself, or that run when one is opened.

use std::path::Path;

/// Names that agents read wherever they are, in lower case.
const NAMES: [&str; 14] = [
    "agents.md",
    "agent.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "qwen.md",
    "skill.md",
    "copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".goosehints",
    ".mcp.json",
    "mcp.json",
];

/// Folders whose files agents read, in lower case.
const FOLDERS: [&str; 18] = [
    ".claude",
    ".cursor",
    ".windsurf",
    ".clinerules",
    ".continue",
    ".roo",
    ".kiro",
    ".codex",
    ".gemini",
    ".qwen",
    ".amazonq",
    ".augment",
    ".junie",
    ".opencode",
    ".agents",
    ".proem",
    ".github/prompts",
    ".github/instructions",
];

/// Endings of files that are written for agents, in lower case.
const ENDINGS: [&str; 5] = [".prompt.md", ".instructions.md", ".chatmode.md", ".agent.md", ".mdc"];

/// Whether an agent loads the file at `path`, which is relative to the root of a project.
#[must_use]
pub fn is_read_by_agents(path: &Path) -> bool {
    let path = format!("/{}", path.to_string_lossy().to_lowercase());
    let name = path.rsplit('/').next().unwrap_or_default();
    NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || FOLDERS.iter().any(|folder| path.contains(&format!("/{folder}/")))
        || path.contains("/.github/chatmodes/")
        || path.contains("/skills/")
        || path.ends_with("/.vscode/tasks.json")
        || path.ends_with("/.vscode/settings.json")
        || path.ends_with("/.vscode/mcp.json")
}
