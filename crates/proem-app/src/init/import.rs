//! An existing prompt, split into the parts of Proem's.

use std::path::Path;

use proem_agents::assemble::split::{SplitDestination, missing_rules, split_prompt, text_of_part};
use proem_engine::prompt::file::MAX_FILE_BYTES;
use proem_engine::prompt::import::{ImportKind, recognise_source};
use proem_guard::show;
use proem_runtime::files::{self, FileContent};

use super::PlannedFile;
use crate::config::document::KeyValues;
use crate::error::Error;
use crate::message::Hint;

const CONSTITUTION: &str = ".proem/prompts/constitution.md";
const RULES: &str = ".proem/prompts/rules.md";
const PROJECT: &str = ".proem/rules.md";
/// The prompt as it was.
pub const BASELINE: &str = ".proem/prompts/monolithic.md";

/// The result for an existing prompt.
#[derive(Debug)]
pub struct PromptImport {
    /// The files to write.
    pub(super) planned: Vec<PlannedFile>,
    /// The settings for `proem.toml`.
    pub(super) values: KeyValues,
    /// The prompt as it was.
    pub text: String,
    /// Its constitution with what was added. Empty if nothing in it reads like one.
    pub constitution: String,
    /// The additions to the constitution, which must say so.
    pub added: Vec<String>,
    /// Whether something in it reads like rules of work.
    pub has_rules: bool,
}

/// Reads and splits a prompt.
pub(super) fn import_prompt(file: &Path) -> Result<PromptImport, Error> {
    let text = read_prompt_to_import(file)?;
    refuse_foreign(file, &text)?;
    if let Some((line, tag)) = template_tag(&text) {
        let shown = show::terminal_str(&file.display().to_string());
        let tag = show::terminal_str(tag);
        return Err(Error::invalid(format!(
            "`{shown}`, line {line}: `{tag}` makes this a template, which nobody would fill in within a constitution; put \
             the file into the book as a prompt, or write the tag in backticks if it is meant as text"
        )));
    }
    let pieces = split_prompt(&text);
    let mut planned = Vec::new();
    let mut values = KeyValues::from([("baseline", format!("\"{BASELINE}\""))]);
    let mut constitution = text_of_part(&pieces, SplitDestination::Constitution);
    let mut added = Vec::new();
    if !constitution.is_empty() {
        for rule in missing_rules(&constitution) {
            constitution.push_str(&format!("\n{rule}\n"));
            added.push(rule.to_owned());
        }
        planned.push(PlannedFile::trusted(
            CONSTITUTION,
            constitution.clone(),
            "the model's role and its prohibitions; replaces the book's constitution",
        ));
        values.insert("assemble.paths.constitution", format!("\"{CONSTITUTION}\""));
    }
    let rules = text_of_part(&pieces, SplitDestination::Rules);
    let has_rules = !rules.is_empty();
    if has_rules {
        planned.push(PlannedFile::trusted(RULES, rules, "how to work; replaces the book's common rules"));
        values.insert("assemble.paths.rules", format!("\"{RULES}\""));
    }
    let project = text_of_part(&pieces, SplitDestination::Project);
    if !project.is_empty() {
        planned.push(PlannedFile::trusted(
            PROJECT,
            project,
            "context, tools, examples and anything else about the project",
        ));
    }
    planned.push(PlannedFile::plain(
        BASELINE,
        text.clone(),
        "the original prompt; token savings are measured against it",
    ));
    Ok(PromptImport { planned, values, text, constitution, added, has_rules })
}

/// The first tag of a template language in a text, outside code, with its line.
fn template_tag(text: &str) -> Option<(usize, &str)> {
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            continue;
        }
        // Every second part is in backticks.
        for part in line.split('`').step_by(2) {
            for (open, close) in [("{{", "}}"), ("{%", "%}")] {
                let Some((before, behind)) = part.split_once(open) else { continue };
                let Some((inside, _)) = behind.split_once(close) else { continue };
                let length = open.len().saturating_add(inside.len()).saturating_add(close.len());
                let tag = part.get(before.len()..before.len().saturating_add(length)).unwrap_or(open);
                return Some((index.saturating_add(1), tag));
            }
        }
    }
    None
}

/// Refuses a file of another tool that holds one prompt with its settings: split, its form would become instructions.
fn refuse_foreign(file: &Path, text: &str) -> Result<(), Error> {
    let path = file.to_string_lossy().replace('\\', "/");
    let kind = recognise_source(&path, text).ok();
    let is_words = matches!(kind, None | Some(ImportKind::Jinja | ImportKind::FString | ImportKind::Fabric));
    let Some(kind) = kind.filter(|_| !is_words) else { return Ok(()) };
    let shown = show::terminal_str(&file.display().to_string()).into_string();
    let problem = format!("`{shown}` is a prompt of the kind {}, which is not split into instructions", kind.as_str());
    Err(Error::invalid(problem).hinting(Hint::ImportPrompt { path: shown }))
}

fn read_prompt_to_import(file: &Path) -> Result<String, Error> {
    let shown = show::terminal_str(&file.display().to_string()).into_string();
    let bytes = match files::read_regular(file, MAX_FILE_BYTES) {
        Ok(Some(FileContent::Whole(bytes))) => bytes,
        Ok(Some(FileContent::Cut(_))) => {
            return Err(Error::invalid(format!(
                "`{shown}` is larger than {MAX_FILE_BYTES} bytes; name a smaller file"
            )));
        }
        Ok(None) => return Err(Error::invalid(format!("`{shown}` does not exist; check the path"))),
        Err(error) => return Err(Error::invalid(error.to_string())),
    };
    let text =
        String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{shown}` is not UTF-8; save it as UTF-8")))?;
    if text.trim().is_empty() {
        return Err(Error::invalid(format!("`{shown}` is empty; name a file that holds a prompt")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::template_tag;

    #[test]
    fn a_template_is_told_from_a_text_about_templates() {
        for (text, expected) in [
            ("You help {{ user }}.\nMore", Some((1, "{{ user }}"))),
            ("a\n{% if x %}b{% endif %}", Some((2, "{% if x %}"))),
            ("Write `{{name}}` in templates.", None),
            ("```\n{{name}}\n```\nplain", None),
            ("A set {1, 2} and {{ open", None),
        ] {
            assert_eq!(template_tag(text), expected, "{text}");
        }
    }
}
