//! `proem book`

pub(crate) mod args;
pub(crate) mod decide;
pub(crate) mod diff;
pub(crate) mod experiment;
pub(super) mod import;
mod lock;
pub(super) mod output;
mod stats;
pub(crate) mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use proem_engine::prompt::book::{Book, LockState, PromptVersion};
use proem_engine::prompt::check::check_book;
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::OpenAi;
use proem_guard::show;
use proem_text::diagnostic::DiagnosticSeverity;
use proem_text::json;
use serde_json::json;

use self::args::{BookCheck, BookCommand, BookPlace};
use self::output::{BookCheckOutput, BookVersionOutput};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, GREEN, LEAD, RED, YELLOW, style_text};
use proem_app::book::journal::Journal;
use proem_app::book::proposing::journal_problems;
use proem_app::project::{BOOK, BookReading, OpenProject, read_book};
use proem_app::run::prompt_choice::book_of;

pub(super) fn run_book(command: &BookCommand) -> Result<ExitCode, CommandFailure> {
    match command {
        BookCommand::List(place) => list_book(place),
        BookCommand::Show { prompt, place } => show_prompt(prompt, place),
        BookCommand::Lock(place) => lock::run_book_lock(place),
        BookCommand::Diff { first, second, place } => diff::run_book_diff(first, second, place),
        BookCommand::Check(args) => run_book_check(args),
        BookCommand::Test(args) => test::run_book_test(args),
        BookCommand::Import(args) => import::run_book_import(args),
        BookCommand::Promote(args) => decide::run_promote(args),
        BookCommand::Demote(args) => decide::run_demote(args),
        BookCommand::Propose(args) => decide::run_propose(args),
        BookCommand::Proposals(args) => decide::run_proposals(args),
        BookCommand::Approve(args) => decide::run_approve(args),
        BookCommand::Reject(args) => decide::run_reject(args),
        BookCommand::Stats { prompt, place } => stats::run_book_stats(prompt.as_deref(), place),
        BookCommand::Experiment(command) => experiment::run_book_experiment(command),
    }
}

/// The book that is meant: a folder on its own, or a project's with all that is below it.
fn open_book(place: &BookPlace) -> Result<Book, CommandFailure> {
    if let Some(folder) = &place.book {
        let layer = read_book(folder, Origin::Project)?;
        let layer = layer.ok_or_else(|| CommandFailure::usage(format!("`{}` is not a folder", folder.display())))?;
        return Ok(Book::new(vec![layer])?);
    }
    Ok(looked_at(&place.root)?.book)
}

/// A project's book with all that is below it.
struct SeenBook {
    book: Book,
    /// Why the project's own could not be read, if it could not.
    unread: Option<String>,
    /// The folders of the user's book and the project's.
    folders: Vec<PathBuf>,
}

/// The book of the project around a folder.
fn looked_at(root: &Path) -> Result<SeenBook, CommandFailure> {
    let places = crate::user_places()?;
    let mut project = OpenProject::open(root, &places, BookReading::All)?;
    let book = project.looked_at();
    ui::print_notes(&project.all_notes());
    let folders = std::iter::once(places.book()).chain(project.root.map(|root| root.join(BOOK))).collect();
    Ok(SeenBook { book: book?, unread: project.unread, folders })
}

fn list_book(place: &BookPlace) -> Result<ExitCode, CommandFailure> {
    let book = open_book(place)?;
    let versions = book.versions()?;
    if place.json {
        let all: Vec<BookVersionOutput> =
            versions.iter().map(|version| BookVersionOutput::new(&book, version)).collect();
        ui::print_json_document(&json::pretty(&json!(all)))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Folders of a project's book are named by whoever wrote the project.
    let shown = |version: &PromptVersion| show::terminal_str(&version.prompt).into_string();
    let longest = versions.iter().map(|version| shown(version).chars().count()).max().unwrap_or(0);
    let widest = versions.iter().map(|version| origins(version).len()).max().unwrap_or(0);
    let mut out = String::new();
    for version in &versions {
        let current = if version.current { "current" } else { "" };
        let state = match version.state {
            LockState::Locked => style_text(GREEN, &format!("{:8}", "locked")),
            LockState::Unlocked => style_text(YELLOW, &format!("{:8}", "unlocked")),
            LockState::Edited => style_text(RED, &format!("{:8}", "edited")),
        };
        let about = match book.as_it_is(&version.prompt, &version.version) {
            Ok(prompt) => {
                let strict = &prompt.file.strict;
                let about = if version.current { strict.purpose.as_ref() } else { strict.changes.as_ref() };
                show::terminal_str(about.map_or("", String::as_str)).into_string()
            }
            Err(_) => style_text(RED, "can't be read; see `proem book check`"),
        };
        out.push_str(&format!(
            "{LEAD}{:longest$}  {:9}  {current:7}  {state}  {:widest$}  {about}\n",
            shown(version),
            version.version,
            origins(version)
        ));
    }
    ui::print_listing(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// The authors of a version's files, lowest layer first.
fn origins(version: &PromptVersion) -> String {
    let mut origins: Vec<Origin> = version.files.iter().map(|(_, origin)| *origin).collect();
    origins.sort_unstable();
    origins.dedup();
    origins.iter().map(|origin| origin.as_str()).collect::<Vec<_>>().join("+")
}

fn show_prompt(name: &str, place: &BookPlace) -> Result<ExitCode, CommandFailure> {
    let (book, name) = book_of(name, open_book(place)?)?;
    let name = name.as_str();
    let (prompt, version) = match name.split_once('@') {
        Some((prompt, version)) => (prompt, version.to_owned()),
        None => (name, book.current(name)?),
    };
    let found = book.versions()?.into_iter().find(|v| v.prompt == prompt && v.version == version);
    let Some(found) = found else {
        // Reading it gives the error that lists what there is.
        return Err(book
            .as_it_is(prompt, &version)
            .map_or_else(CommandFailure::from, |_| CommandFailure::usage("no such version")));
    };
    if place.json {
        ui::print_json_document(&json::pretty(&json!(BookVersionOutput::new(&book, &found))))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = String::new();
    for (path, origin) in &found.files {
        let text = book.file(path).map_or("", |(text, _)| text.as_str());
        out.push_str(&format!(
            "{}\n",
            style_text(BOLD, &format!("── {} ({})", show::terminal_str(path), origin.as_str()))
        ));
        for line in text.lines() {
            out.push_str(&format!("{}\n", show::terminal_str(line)));
        }
        out.push('\n');
    }
    let name = show::terminal_str(prompt);
    out.push_str(&style_text(
        DIM,
        &format!("{name}@{version}: {}, hash of all its files {}", found.state.as_str(), found.closure),
    ));
    out.push('\n');
    ui::print_listing(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// Looks for what is wrong in the embedded book, the user's and the project's.
fn run_book_check(args: &BookCheck) -> Result<ExitCode, CommandFailure> {
    let place = &args.place;
    let SeenBook { book, unread, folders } = match &place.book {
        Some(folder) => SeenBook { book: open_book(place)?, unread: None, folders: vec![folder.clone()] },
        None => looked_at(&place.root)?,
    };
    let mut decisions = Vec::new();
    if args.proposals {
        decisions = decide::all_problems(&decide::check_all_proposals(&place.root)?);
    } else {
        for folder in folders {
            decisions.extend(journal_problems(&Journal::load(&folder)?));
        }
    }
    let remarks = check_book(&book, &OpenAi::O200k)?;
    let errors = remarks.iter().filter(|remark| remark.severity == DiagnosticSeverity::Error).count();
    let errors = errors.saturating_add(usize::from(unread.is_some())).saturating_add(decisions.len());
    let code = ExitCode::from(u8::from(errors > 0));
    if place.json {
        let output = BookCheckOutput { remarks, errors, unread, decisions };
        ui::print_json_document(&json::pretty(&json!(output)))?;
        return Ok(code);
    }
    let mut out = String::new();
    for remark in &remarks {
        let style = if remark.severity == DiagnosticSeverity::Error { RED } else { YELLOW };
        let head = style_text(style, &format!("{}:", remark.severity.as_str()));
        out.push_str(&book_remark(&head, &remark.prompt, &remark.text));
    }
    if let Some(why) = &unread {
        out.push_str(&book_remark(&style_text(RED, "error:"), BOOK, why));
    }
    out.push_str(&decide::problem_lines(&decisions));
    let warnings = remarks.iter().filter(|remark| remark.severity != DiagnosticSeverity::Error).count();
    out.push_str(&format!(
        "{} checked: {}, {}\n",
        count_with_plural(book.versions()?.len(), "version"),
        count_with_plural(errors, "error"),
        count_with_plural(warnings, "warning")
    ));
    ui::print_listing(&out)?;
    Ok(code)
}

/// A remark: its first line behind what it is about, the others below.
fn book_remark(head: &str, about: &str, text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let mut out = format!("{head} {}: {}\n", show::terminal_str(about), show::terminal_str(first));
    lines.for_each(|line| out.push_str(&format!("    {}\n", show::terminal_str(line))));
    out
}

/// `1 error`, `2 errors`.
fn count_with_plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
