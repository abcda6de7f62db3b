//! The files, definitions and commits that a task needs, as they go into its prompt.
//!
//! Every file is rendered on every rung of its ladder here, without credentials that are recognised by their shape. The
//! guard looks at each rendering afterwards, and the budget decides which one is shown.

use std::collections::BTreeSet;

use proem_agents::assemble::Task;
use proem_agents::assemble::code::{CodeRenderings, Definition, FileQuestion, code_renderings};
use proem_agents::assemble::outline::language_by_ending;
use proem_agents::assemble::place_facts::Gap;
use proem_agents::assemble::rule_names::is_rule_file;
use proem_agents::assemble::task_context::{FoundFile, TaskContext};
use proem_guard::{LanguageFamily, Untrusted, credential};
use proem_runtime::{GatherOptions, folder_rules, map_on_all};
use proem_select::context::{CodeSymbol, FilePurpose, LineSpan};

use super::AssembleOptions;
use crate::context::{self, ContextFile, ContextQuery, text_for_code};
use crate::error::Error;
use crate::project::OpenProject;
use crate::words::count_with_noun;

/// The most files of code that are offered to the budget. Tests and documents are a quarter as many.
const MOST_FILES: usize = 16;

/// The most lines that parts of a file have which is hardly likely.
const LEAST_LINES: usize = 60;

/// Of how many of the likeliest files the best function's callers are looked for.
const CALLED_FILES: usize = 2;

/// The shortest name whose callers are looked for, in bytes: shorter ones are called `run` and `get`.
const SHORTEST_CALLED: usize = 6;

/// How many more those of a file have that is certain.
const MORE_LINES: f32 = 900.0;

/// How many digits of a commit's id are shown.
const SHOWN_DIGITS: usize = 8;

/// The most of the evidence that is kept beside a path, for people. The prompt says the strongest.
const REASONS: usize = 2;

/// Finds the files that the task is about, and adds them to `found`. Facts that could not be found out are gaps.
/// Returns whether it is doubtful that the task is about code at all.
///
/// # Errors
///
/// If git refuses the repository.
pub(super) fn add_files(
    options: &AssembleOptions,
    project: &OpenProject,
    gathering: &GatherOptions,
    found: &mut TaskContext,
) -> Result<bool, Error> {
    let task = match &options.task {
        Task::Caller(text) => text.clone(),
        Task::Outside(text) => text_for_code(text),
    };
    let query = ContextQuery {
        task: &task,
        root: &options.root,
        most: MOST_FILES,
        patience: options.patience,
        choice: &options.choice,
        answers: gathering.answers.as_ref(),
    };
    let candidates = context::find_context(&query, project, &|_, _| ())?;
    let gap = |why: &String| Gap { what: "files for the task".to_owned(), why: why.clone(), about: None };
    found.gaps.extend(candidates.gaps.iter().map(gap));
    found.weak_evidence.clone_from(&candidates.weak_evidence);
    let mut redacted: u64 = 0;
    let mut files: Vec<&ContextFile> = candidates.all().collect();
    files.sort_by(|a, b| relative_need(b).total_cmp(&relative_need(a)));
    // Rule files have a section of their own.
    files.retain(|file| !is_rule_file(&text_for_code(&file.path)));
    let callees = callees(&candidates.code);
    for (file, is_redacted) in map_on_all(&files, |file| render_file(file, &task, &callees)) {
        found.files.push(file);
        redacted = redacted.saturating_add(u64::from(is_redacted));
    }
    if redacted > 0 {
        found.gaps.push(gap(&format!(
            "parts of {} look like a key, token or private key and are replaced by `[redacted:…]`",
            count_with_noun(redacted, "file")
        )));
    }
    let commit = |commit: &context::ContextCommit| {
        let id: String = commit.id.chars().take(SHOWN_DIGITS).collect();
        without_credentials(&commit.subject).map(|subject| format!("{id} {subject}"))
    };
    found.commits.extend(candidates.commits.iter().map(commit));
    if let Some(root) = &project.root {
        let folders = enclosing_folders(&files);
        let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
        found.folder_rules.extend(folder_rules(root, &folders, gathering, &mut found.gaps));
    }
    Ok(candidates.is_doubtful)
}

/// The need for a file relative to the others, 0 to 1: its likelihood in its own list, and less of it for files beside
/// the code. Mending a function begins with reading it. The weights of tests and the lengths of parts were chosen by
/// the share of past changes that prompts show, on repositories that are not reported on (evals/context).
fn relative_need(file: &ContextFile) -> f32 {
    let share = match file.used_for {
        FilePurpose::Code | FilePurpose::Foreign => 1.0,
        FilePurpose::Test => 0.2,
        FilePurpose::Documentation | FilePurpose::Configuration => 0.2,
    };
    file.probability * share
}

/// The text without its credentials, known by their shapes: nobody asked for them to be sent.
fn without_credentials(text: &Untrusted<String>) -> Untrusted<String> {
    text.clone().map(|text| credential::redact_credentials(&text).unwrap_or(text))
}

/// A file on its rungs, and whether a credential was in it.
fn render_file(file: &ContextFile, task: &str, callees: &[String]) -> (FoundFile, bool) {
    let mut is_redacted = false;
    let path = text_for_code(&file.path);
    let mut shown = CodeRenderings::default();
    if let Some(content) = &file.content {
        let text = text_for_code(content);
        let text = credential::redact_credentials(&text).map_or(text, |without| {
            is_redacted = true;
            without
        });
        let symbols = file.symbols.iter().enumerate();
        let definitions: Vec<Definition> = symbols.map(|(at, symbol)| file_definition(file, at, symbol)).collect();
        let places: Vec<LineSpan> =
            file.named_lines.iter().map(|line| LineSpan { first: *line, last: *line }).collect();
        let question = FileQuestion { definitions: &definitions, places: &places, task, callees, room: room(file) };
        shown = code_renderings(&text, &question);
        // Without definitions an outline is headings, which comments and texts within code only look like.
        shown.outline =
            shown.outline.filter(|_| !definitions.is_empty() || language_by_ending(&path) == Some("Markdown"));
    }
    let label = file.path.label().clone();
    let outside = |text: String| Untrusted::new(text, label.clone());
    let found = FoundFile {
        path: without_credentials(&file.path),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a hundred")]
        likely: (relative_need(file) * 100.0).clamp(0.0, 100.0) as u8,
        evidence: file.evidence.iter().take(REASONS).map(without_credentials).collect(),
        kind: match file.used_for {
            FilePurpose::Test => "a test",
            FilePurpose::Configuration => "configuration",
            _ => language_by_ending(&path).unwrap_or("text"),
        },
        syntax: LanguageFamily::of_name(&path),
        full: shown.full.map(outside),
        parts: shown.parts.map(outside),
        excerpt: shown.excerpt.map(outside),
        outline: shown.outline.map(outside),
    };
    (found, is_redacted)
}

/// The names of the best functions of the likeliest files, whose callers matter: without what many things are called.
fn callees(code: &[ContextFile]) -> Vec<String> {
    let best = code.iter().take(CALLED_FILES).filter_map(|file| file.symbols.get(*file.fitting.first()?));
    let names = best.filter(|symbol| symbol.kind.runs()).map(|symbol| symbol.last_name().to_owned());
    names.filter(|name| name.len() >= SHORTEST_CALLED).collect()
}

/// The most lines of parts of a file: the likelier it is, the more.
fn room(file: &ContextFile) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of some hundred lines")]
    let more = (relative_need(file).clamp(0.0, 1.0) * MORE_LINES) as usize;
    LEAST_LINES.saturating_add(more)
}

/// A definition at a place of a file's list.
fn file_definition(file: &ContextFile, at: usize, symbol: &CodeSymbol) -> Definition {
    Definition {
        name: symbol.last_name().to_owned(),
        lines: symbol.lines,
        signature: LineSpan { first: symbol.own_line, last: symbol.signature_line.max(symbol.own_line) },
        rank: file.ranked.iter().position(|place| *place == at),
        is_among_best: file.fitting.contains(&at),
    }
}

/// The folders from the root to the likeliest code, outermost first.
fn enclosing_folders(files: &[&ContextFile]) -> BTreeSet<String> {
    let code = files.iter().filter(|file| file.used_for == FilePurpose::Code).take(MOST_FILES);
    let mut folders = BTreeSet::new();
    for path in code.map(|file| text_for_code(&file.path)) {
        let mut rest = path.as_str();
        while let Some((folder, _)) = rest.rsplit_once('/') {
            folders.insert(folder.to_owned());
            rest = folder;
        }
    }
    folders
}
