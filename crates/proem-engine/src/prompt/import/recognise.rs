//! Tells the kind of a source from its name and its keys.

use super::ImportKind;
use super::document::parse_document;
use super::placeholder::is_placeholder_name;
use super::source::SourceFile;
use crate::error::{Error, ErrorKind};
use crate::prompt::file::PromptFile;
use crate::prompt::yaml::YamlNode;

/// The kind of a source. `path` has `/` between folders.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`] if the file is none of the kinds, with what to do with it instead.
pub fn recognise_source(path: &str, text: &str) -> Result<ImportKind, Error> {
    let refused = |problem: &str| Err(Error::new(ErrorKind::InvalidFile, format!("{path}: {problem}")));
    let base = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| base.ends_with(ending));
    // Whole names and the endings of rules go first: as `.md` alone they would pass for prompts.
    if ends(&[".instructions.md", ".mdc", ".cursorrules"])
        || matches!(base.as_str(), "copilot-instructions.md" | "agents.md" | "claude.md")
    {
        return refused("it is a file of rules, not a prompt; `proem assemble` reads rules where they are");
    }
    match base.as_str() {
        "skill.md" => return refused("it is a skill, not a prompt; skills are found by `proem select`"),
        "system.md" => return Ok(ImportKind::Fabric),
        "user.md" => return refused("it belongs to `system.md` of its folder; name that file"),
        "skprompt.txt" => return Ok(ImportKind::SemanticKernel),
        _ => {}
    }
    // Before its ending makes a Dotprompt file of it.
    if ends(&[".prompt"]) && PromptFile::is_strict(text) {
        return refused("it is a prompt file of Proem already; copy it into a book");
    }
    if ends(&[".baml"]) {
        return refused("BAML is a language with functions and is not imported");
    }
    if ends(&[".py", ".js", ".ts", ".mjs", ".cjs"]) {
        return refused("it is a program, not a prompt; save the prompt it makes as text and import that");
    }
    let by_ending = [
        (".prompty", ImportKind::Prompty),
        (".prompt.md", ImportKind::CopilotPrompt),
        (".prompt", ImportKind::Dotprompt),
        (".jinja", ImportKind::Jinja),
        (".jinja2", ImportKind::Jinja),
        (".j2", ImportKind::Jinja),
    ];
    if let Some((_, kind)) = by_ending.iter().find(|(ending, _)| base.ends_with(ending)) {
        return Ok(*kind);
    }
    if ends(&[".md"]) && path.contains("commands/") {
        return Ok(ImportKind::ClaudeCommand);
    }
    if ends(&[".json", ".yaml", ".yml"]) {
        let root = parse_document(SourceFile { name: path, text: text.strip_prefix('\u{feff}').unwrap_or(text) })
            .map_err(|problem| Error::new(ErrorKind::InvalidFile, problem))?;
        return match by_keys(&root) {
            Some(kind) => Ok(kind),
            None => refused("none of the known kinds has its keys; name the kind with `--as`"),
        };
    }
    if ends(&[".txt", ".md"]) {
        return match plain_text(text) {
            Some(kind) => Ok(kind),
            None => refused("it has both `{name}` and `{{name}}`; name the kind with `--as jinja` or `--as f-string`"),
        };
    }
    refused("its kind is not known by its name; name it with `--as`")
}

fn by_keys(root: &YamlNode) -> Option<ImportKind> {
    let has = |key: &str| root.get(key).is_some();
    if has("prompts") && (has("providers") || has("tests") || has("targets") || has("defaultTest")) {
        return Some(ImportKind::Promptfoo);
    }
    if has("lc")
        || has("_type")
        || (has("input_variables") && has("template") && !has("execution_settings") && !has("name"))
    {
        return Some(ImportKind::LangChain);
    }
    if has("template") && (has("template_format") || has("input_variables") || has("execution_settings")) {
        return Some(ImportKind::SemanticKernel);
    }
    let is_request = has("messages") || (has("input") && has("model"));
    is_request.then_some(ImportKind::Request)
}

/// The kind of a text by its placeholders. `None` if both kinds are there.
fn plain_text(text: &str) -> Option<ImportKind> {
    let has_double = text.contains("{{");
    let single = text.replace("{{", "").replace("}}", "");
    let is_placeholder = |rest: &str| {
        let name = rest.split_once('}').map_or("", |(name, _)| name);
        // A conversion is an f-string's too, and is refused there.
        is_placeholder_name(["!r", "!s", "!a"].iter().find_map(|sign| name.strip_suffix(sign)).unwrap_or(name))
    };
    let has_single =
        single.match_indices('{').any(|(at, _)| is_placeholder(single.get(at.saturating_add(1)..).unwrap_or_default()));
    match (has_double, has_single) {
        (true, true) => None,
        (false, true) => Some(ImportKind::FString),
        _ => Some(ImportKind::Jinja),
    }
}
