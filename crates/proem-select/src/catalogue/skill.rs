//! `SKILL.md`: a skill's front matter.
//!
//! Only `name` and `description` are read (agentskills.io, specification). The body never becomes
//! part of a definition, but its hash does: who approves a skill approves what it says.

use proem_text::{Span, line_column};
use serde_json::Value as Json;

use super::entry::{CatalogueContents, CatalogueEntryKind, SourceFile};
use super::hash::Sha256Hash;
use super::problem::FilePosition;
use super::reading::{EntryCollector, EntryDraft};
use proem_engine::prompt::yaml;

/// The name of a skill's file.
pub const FILE: &str = "SKILL.md";

/// Folders of a project that hold a folder for each skill.
pub const FOLDERS: [&str; 2] = [".claude/skills", ".agents/skills"];

/// Folders of the user's home that do.
pub const HOME_FOLDERS: [&str; 2] = [".claude/skills", ".agents/skills"];

/// The largest front matter, in bytes.
const MAX_FRONT_BYTES: usize = 64 * 1024;

/// Reads one skill. `folder` is the name of the folder it is in.
#[must_use]
pub fn parse_skill(file: &SourceFile, folder: &str) -> CatalogueContents {
    let mut reading = EntryCollector::new(file, None);
    match front(&file.text) {
        Ok((start, front)) => add_skill(start, front, folder, &mut reading),
        Err(why) => {
            let remedy = "begin the file with `---`, `name: …`, `description: …`, `---`";
            reading.problems.add(FilePosition::Line { line: 1, column: 1 }, why, remedy);
        }
    }
    reading.finish()
}

/// The front matter and where it starts, in bytes.
fn front(text: &str) -> Result<(usize, &str), &'static str> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = body.split_inclusive('\n').next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err("no front matter");
    }
    let rest = body.get(first.len()..).unwrap_or_default();
    let mut length = 0usize;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let start = text.len().saturating_sub(rest.len());
            return Ok((start, rest.get(..length).unwrap_or_default()));
        }
        length = length.saturating_add(line.len());
        if length > MAX_FRONT_BYTES {
            return Err("its front matter is longer than 64 KiB");
        }
    }
    Err("its front matter has no end")
}

fn add_skill(start: usize, front: &str, folder: &str, reading: &mut EntryCollector<'_>) {
    let place = |span: Option<Span>| match span {
        Some(span) => {
            let (line, column) = line_column(&reading.file.text, span.start);
            FilePosition::Line { line, column }
        }
        None => FilePosition::Whole,
    };
    let root = match yaml::parse_yaml(front, start) {
        Ok(Some(root)) => root,
        Ok(None) => {
            let at = FilePosition::Line { line: 1, column: 1 };
            reading.problems.add(at, "its front matter is empty", "give it `name` and `description`");
            return;
        }
        Err(diagnostic) => {
            let at = place(diagnostic.span);
            let remedy = "correct the YAML; a text with `: ` in it needs quotes";
            reading.problems.add(at, format!("its front matter can't be read: {}", diagnostic.message), remedy);
            return;
        }
    };
    let at = place(Some(root.span));
    let text = |key: &str| match root.get(key).map(yaml::YamlNode::to_json) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(Json::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(()),
    };
    let (name, description) = (text("name"), text("description"));
    for (key, value) in [("name", &name), ("description", &description)] {
        if value.is_err() {
            reading.problems.add(at.clone(), format!("`{key}` is not a string"), "write it as a string");
        }
    }
    // The folder's name is the skill's where nothing else is said.
    let name = name.ok().flatten().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| folder.to_owned());
    let description = description.ok().flatten().unwrap_or_default();
    let body = Some(Sha256Hash::of(reading.file.text.as_bytes()));
    reading.add(CatalogueEntryKind::Skill, name.trim(), EntryDraft { description, body, ..EntryDraft::default() }, at);
}
