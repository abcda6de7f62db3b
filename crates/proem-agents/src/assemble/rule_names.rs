//! The files of a repository that ask to be read as rules. They are context until a person trusts exactly their bytes.

use proem_text::Source;

/// Files at the root that ask to be read as rules, in the order in which a prompt has them.
pub const RULE_FILES: [&str; 5] =
    ["AGENTS.md", "CLAUDE.md", ".proem/rules.md", ".cursorrules", ".github/copilot-instructions.md"];

/// Files that ask for the files of their own folder, wherever that is.
pub const FOLDER_RULES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The folders of which each file with one of these endings asks that. Cursor's and Copilot's:
/// <https://docs.cursor.com/context/rules>,
/// <https://docs.github.com/copilot/customizing-copilot/adding-repository-custom-instructions-for-github-copilot>.
pub const RULE_FOLDERS: [(&str, &[&str]); 2] =
    [(".cursor/rules/", &[".md", ".mdc"]), (".github/instructions/", &[".instructions.md"])];

/// Whether the file at a path, relative to the root, asks to be read as rules.
#[must_use]
pub fn is_rule_file(path: &str) -> bool {
    let in_folder = RULE_FOLDERS.iter().any(|(folder, endings)| {
        let file = path.strip_prefix(folder).filter(|file| !file.contains('/'));
        file.is_some_and(|file| endings.iter().any(|ending| file.ends_with(ending)))
    });
    RULE_FILES.contains(&path) || FOLDER_RULES.contains(&file_name(path)) || in_folder
}

/// The source that a rule file's text is labelled with.
#[must_use]
pub fn rule_source(path: &str) -> Source {
    match file_name(path) {
        "AGENTS.md" => Source::named("file/agents-md"),
        "CLAUDE.md" => Source::named("file/claude-md"),
        _ if path.starts_with(".proem/") => Source::named("file/proem-rules"),
        _ if path.starts_with(".github/") => Source::named("file/copilot-instructions"),
        _ => Source::named("file/cursor-rules"),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
