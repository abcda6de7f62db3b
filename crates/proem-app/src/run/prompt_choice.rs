//! A prompt that is named by its file.
//!
//! Invariants: the file is the caller's choice and counts as written; what it uses comes from its own folder or, where
//! that is in a book, from what counts of that book, through no link and out of no other folder. It replaces no prompt
//! of the book.

use std::path::Path;

use proem_engine::prompt::book::{Book, LoosePrompt, loose_prompt};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::{MAX_FILE_BYTES, PartialText};
use proem_engine::prompt::origin::Origin;
use proem_guard::show;
use proem_runtime::files::{self, FileContent};

use super::input::input_path;
use crate::error::Error;
use crate::message::Hint;
use crate::project::OpenProject;

/// A prompt and the book that it is from.
#[derive(Debug)]
pub(super) struct ChosenPrompt {
    pub(super) prompt: Prompt,
    pub(super) book: Book,
}

/// The prompt that is meant: one of the book, as `agent/name` or `agent/name@version`, or a file.
///
/// # Errors
///
/// If there is none, or it can't be read.
pub(super) fn chosen_prompt(meant: &str, project: &OpenProject) -> Result<ChosenPrompt, Error> {
    let book = project.book()?;
    if is_file(meant) {
        return prompt_from_file(Path::new(meant), &book);
    }
    let (name, version) = match meant.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (meant, None),
    };
    match book.prompt(name, version) {
        Ok(prompt) => Ok(ChosenPrompt { prompt, book }),
        Err(error) => Err(explain_missing_partial(error, name, project)),
    }
}

/// Why a prompt can't be read, where a partial that it names is there and nobody trusted it.
fn explain_missing_partial(error: proem_engine::Error, name: &str, project: &OpenProject) -> Error {
    let problem = error.to_string();
    let Some((agent, _)) = name.split_once('/') else { return error.into() };
    let below = format!("/{agent}/");
    let untrusted = project.untrusted.iter().find(|untrusted| {
        let partial =
            untrusted.path.rsplit('/').next().and_then(|file| file.strip_prefix('_')?.strip_suffix(".prompt"));
        // A partial may have versions: `_tone@2.0.0.prompt`.
        let partial = partial.map(|partial| partial.split('@').next().unwrap_or(partial));
        untrusted.path.contains(&below)
            && partial.is_some_and(|partial| problem.contains(&format!("unknown partial `{partial}`")))
    });
    match untrusted {
        Some(file) => {
            let path = show::terminal_str(&file.path);
            Error::invalid(format!("the prompt's partial `{path}` is not trusted")).hinting(Hint::ReviewTrust)
        }
        None => error.into(),
    }
}

/// The book that a prompt is looked up in, and its name there: `counted` with the name as it is, or, for a file, a book
/// of what that file uses.
///
/// # Errors
///
/// If the file can't be read.
pub fn book_of(meant: &str, counted: Book) -> Result<(Book, String), Error> {
    if !is_file(meant) {
        return Ok((counted, meant.to_owned()));
    }
    let ChosenPrompt { prompt, book } = prompt_from_file(Path::new(meant), &counted)?;
    // The part behind the plus is a hash of text that nobody locked.
    let version = prompt.id.version.split('+').next().unwrap_or_default();
    Ok((book, format!("{}/{}@{version}", prompt.id.agent, prompt.id.name)))
}

/// Whether a file is meant: what ends as prompt files do, begins as a path does, or is deeper than any name of a book.
fn is_file(meant: &str) -> bool {
    meant.ends_with(".prompt") || meant.starts_with(['.', '/']) || meant.matches('/').count() > 1
}

fn prompt_from_file(path: &Path, counted: &Book) -> Result<ChosenPrompt, Error> {
    let failed = |error: std::io::Error| {
        let remedy = if error.kind() == std::io::ErrorKind::IsADirectory { "; name a prompt file in it" } else { "" };
        Error::invalid(format!("could not read the prompt file {}: {error}{remedy}", input_path(path)))
    };
    let text = files::read_text(path, MAX_FILE_BYTES).map_err(failed)?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder = std::fs::canonicalize(folder).map_err(failed)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = |name: &str| -> Result<Option<(PartialText, Origin)>, Error> {
        match files::read_beneath(&folder, Path::new(name), MAX_FILE_BYTES)? {
            Some(FileContent::Whole(bytes)) => {
                let text = String::from_utf8(bytes).map_err(|_| {
                    Error::invalid(format!("`{}` is not UTF-8; save it as UTF-8", show::terminal_str(name)))
                })?;
                Ok(Some((PartialText::Template(text), Origin::Named)))
            }
            Some(FileContent::Cut(_)) => {
                let name = show::terminal_str(name);
                Err(Error::invalid(format!("`{name}` is larger than {MAX_FILE_BYTES} bytes; shorten it")))
            }
            None => Ok(counted_file(&folder, name, counted)),
        }
    };
    let LoosePrompt { book, name, version } = loose_prompt(&stem, text, beside)?;
    match book.prompt(&name, Some(&version)) {
        Ok(prompt) => Ok(ChosenPrompt { prompt, book }),
        // A person knows the file by the path that was given, and what it uses by their own names.
        Err(error) => {
            let file = show::terminal_str(&path.display().to_string()).into_string();
            let text = error.to_string().replace(&format!("{name}/{version}.prompt"), &file);
            Err(Error::invalid(text.replace(&format!("{name}/"), "")))
        }
    }
}

/// The file of that name that counts for the prompt whose folder this is: a draft in a book uses what the book has.
fn counted_file(folder: &Path, name: &str, counted: &Book) -> Option<(PartialText, Origin)> {
    let prompt = folder.file_name()?.to_str()?;
    let agent = folder.parent()?.file_name()?.to_str()?;
    let (text, origin) = counted.file(&format!("{agent}/{prompt}/{name}"))?;
    Some((text.clone(), origin))
}

#[cfg(test)]
mod tests {
    use super::is_file;

    #[test]
    fn names_of_a_book_are_no_files() {
        for (meant, expected) in [
            ("reviews/triage", false),
            ("reviews/triage@1.0.0", false),
            ("reviews", false),
            ("x.prompt", true),
            ("prompts/x.prompt", true),
            ("./x", true),
            ("../x", true),
            ("/x", true),
            ("a/b/c", true),
        ] {
            assert_eq!(is_file(meant), expected, "{meant}");
        }
    }
}
