//! The context for a coding agent, piece by piece.

use proem_guard::{Guard, LanguageFamily, Scan, Untrusted, credential};
use proem_select::context::LineSpan;

use crate::context::{ContextFile, TaskCandidates, text_for_code};
use crate::trust::sha256_hex;

/// How many definitions of a file are named.
const NAMED: usize = 3;

/// Of how many files the source of the best definition is shown, if there is room.
const SHOWN: usize = 2;

/// A piece of context about one file.
#[derive(Debug)]
pub(super) struct HookPiece {
    /// The file's path, as a hash.
    pub(super) file: String,
    /// The file's content, as a hash.
    pub(super) version: String,
    text: Untrusted<String>,
    syntax: Option<LanguageFamily>,
}

impl HookPiece {
    pub(super) const fn text(&self) -> &Untrusted<String> {
        &self.text
    }

    /// The guard's findings in it.
    pub(super) fn scan(&self, guard: &Guard) -> Scan {
        match self.syntax {
            Some(syntax) => guard.scan_source(&self.text, syntax),
            None => guard.scan(&self.text),
        }
    }

    fn of(file: &ContextFile, text: String, syntax: Option<LanguageFamily>) -> Self {
        let content = file.content.as_ref().map(text_for_code).unwrap_or_default();
        let text = credential::redact_credentials(&text).unwrap_or(text);
        Self {
            file: sha256_hex(text_for_code(&file.path).as_bytes()),
            version: sha256_hex(content.as_bytes()),
            text: Untrusted::new(text, file.path.label().clone()),
            syntax,
        }
    }
}

/// The place in each file at which it begins to be about the task, likeliest first, then the source of the best
/// definitions.
pub(super) fn hook_pieces(found: &TaskCandidates) -> Vec<HookPiece> {
    let places = found.all().map(|file| HookPiece::of(file, file_place(file), None));
    let sources = found.code.iter().filter_map(|file| {
        let syntax = LanguageFamily::of_name(&text_for_code(&file.path));
        Some(HookPiece::of(file, best_definition_source(file)?, syntax))
    });
    places.chain(sources.take(SHOWN)).collect()
}

/// `src/clock.rs:12 forward 12-19, Clock 3-9`.
fn file_place(file: &ContextFile) -> String {
    let named = file.fitting.iter().take(NAMED).filter_map(|at| file.symbols.get(*at));
    let named: Vec<String> = named.map(|symbol| format!("{} {}", symbol.name, line_range(symbol.lines))).collect();
    let names = if named.is_empty() { String::new() } else { format!(" {}", named.join(", ")) };
    format!("{}:{}{names}", text_for_code(&file.path), file.line())
}

/// The source of a file's best definition, with its place above.
fn best_definition_source(file: &ContextFile) -> Option<String> {
    let lines = file.lines_of(*file.fitting.first()?)?;
    let text = text_for_code(file.content.as_ref()?);
    let count = usize::try_from(lines.last.checked_sub(lines.first)?).ok()?.saturating_add(1);
    let skipped = usize::try_from(lines.first.checked_sub(1)?).ok()?;
    let body: Vec<&str> = text.lines().skip(skipped).take(count).collect();
    Some(format!("\n{}:{}\n{}", text_for_code(&file.path), line_range(lines), body.join("\n")))
}

fn line_range(lines: LineSpan) -> String {
    if lines.first == lines.last { lines.first.to_string() } else { format!("{}-{}", lines.first, lines.last) }
}
