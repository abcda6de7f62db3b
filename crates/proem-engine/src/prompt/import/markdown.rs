//! Prompts that are Markdown or plain text: commands of Claude Code, prompts of VS Code, patterns of fabric, texts.

use super::document::{mapping_entries, parse_lenient_front_matter};
use super::placeholder::{PlaceholderStyle, scan_placeholders};
use super::source::{Fragment, ImportReader};
use super::{ImportedPrompt, ImportedTurn, TextPiece};
use crate::message::Role;

/// Reads `.claude/commands/*.md`: the whole text is the user's.
///
/// Source: <https://code.claude.com/docs/en/slash-commands>.
pub(super) fn read_claude_command(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let about = |key: &str| match key {
        "allowed-tools" => Some("tools and what they may do are set in your configuration"),
        "argument-hint" => Some("inputs are declared with their names"),
        "disable-model-invocation" => Some("only a caller runs a prompt"),
        _ => None,
    };
    let prompts = read_command(reader, PlaceholderStyle::Claude, about);
    let mut offset = 0_usize;
    for line in reader.file.text.split_inclusive('\n') {
        let is_reference = |word: &str| {
            word.strip_prefix('@')
                .is_some_and(|path| path.len() > 1 && path.contains(['/', '.']) && !path.contains('@'))
        };
        if line.split_whitespace().any(is_reference) {
            let text = "`@` and a path stay as text; Claude Code puts the file's content in its place, so add an input";
            reader.leave_out(reader.file, offset, text);
        }
        offset = offset.saturating_add(line.len());
    }
    prompts
}

/// Reads `*.prompt.md`: the whole text is the user's.
///
/// Source: <https://code.visualstudio.com/docs/copilot/customization/prompt-files>.
pub(super) fn read_copilot_prompt(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let about = |key: &str| match key {
        "mode" | "agent" => Some("a prompt is asked once; who asks is the caller's choice"),
        "tools" => Some("tools and what they may do are set in your configuration"),
        "argument-hint" => Some("inputs are declared with their names"),
        _ => None,
    };
    read_command(reader, PlaceholderStyle::Copilot, about)
}

fn read_command(
    reader: &mut ImportReader<'_>,
    style: PlaceholderStyle,
    about: impl Fn(&str) -> Option<&'static str>,
) -> Vec<ImportedPrompt> {
    let file = reader.file;
    let front = match parse_lenient_front_matter(file) {
        Ok(front) => front,
        Err(problem) => {
            reader.refuse_whole(problem);
            return Vec::new();
        }
    };
    let base = file.base_name();
    let stem = base.strip_suffix(".prompt.md").or_else(|| base.strip_suffix(".md")).unwrap_or(base);
    let mut prompt = reader.prompt(stem);
    for (key, node) in mapping_entries(front.root.as_ref()) {
        match key.name.as_str() {
            "description" => prompt.purpose = node.as_str().map(str::to_owned),
            "name" => {}
            "model" => prompt.settings.model = node.as_str().map(str::to_owned),
            other => {
                let why = about(other).unwrap_or("a prompt file has no such key");
                reader.leave_out(file, key.span.start, format!("`{other}` is left out: {why}"));
            }
        }
    }
    let fragment = Fragment { file, start: front.body_start, text: front.body.to_owned() };
    let pieces = scan_placeholders(&fragment, style, reader);
    prompt.turns.push(ImportedTurn { role: Role::User, pieces, line: file.line(front.body_start) });
    vec![prompt]
}

/// Reads a pattern of fabric: `system.md` is the system message, what the caller gives is the user's.
///
/// `user.md` is before the caller's text. Source: <https://github.com/danielmiessler/fabric>.
pub(super) fn read_fabric(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let file = reader.file;
    let folder = reader.folder.to_owned();
    let mut prompt = reader.prompt(&folder);
    let fragment = Fragment { file, start: 0, text: file.text.to_owned() };
    let mut pieces = scan_placeholders(&fragment, PlaceholderStyle::Jinja, reader);
    let is_caller_text =
        |piece: &TextPiece| matches!(piece, TextPiece::Input(path) if path.iter().any(|name| name == "input"));
    // fabric puts the caller's text where `{{input}}` is, and sends it as a message of its own otherwise.
    let has_place = pieces.iter().any(is_caller_text);
    if pieces.is_empty() {
        pieces.push(TextPiece::Text(file.text.to_owned()));
    }
    prompt.turns.push(ImportedTurn { role: Role::System, pieces, line: 1 });
    let mut user = Vec::new();
    if let Some(beside) = reader.beside("user.md") {
        let fragment = Fragment { file: beside, start: 0, text: beside.text.to_owned() };
        user = scan_placeholders(&fragment, PlaceholderStyle::Jinja, reader);
    }
    if !has_place && !user.iter().any(is_caller_text) {
        user.push(TextPiece::Input(vec!["input".to_owned()]));
    }
    if !user.is_empty() {
        prompt.turns.push(ImportedTurn { role: Role::User, pieces: user, line: 1 });
    }
    vec![prompt]
}

/// Reads a text with placeholders: all of it is the user's.
pub(super) fn read_plain_text(reader: &mut ImportReader<'_>, style: PlaceholderStyle) -> Vec<ImportedPrompt> {
    let file = reader.file;
    let stem = file.base_name().split('.').next().unwrap_or_default().to_owned();
    let mut prompt = reader.prompt(&stem);
    // Jinja takes one line break from the end of a template: `keep_trailing_newline` is off by default.
    let text = match style {
        PlaceholderStyle::Jinja => file.text.strip_suffix('\n').unwrap_or(file.text),
        _ => file.text,
    };
    let fragment = Fragment { file, start: 0, text: text.to_owned() };
    let pieces = scan_placeholders(&fragment, style, reader);
    prompt.turns.push(ImportedTurn { role: Role::User, pieces, line: 1 });
    vec![prompt]
}
