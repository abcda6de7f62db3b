//! `proem book lock`: the user's book and the project's, each with a lock of its own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::check::check;
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::OpenAi;
use proem_guard::show;
use proem_runtime::files::{self, Access};
use proem_text::diagnostic::Severity;

use super::counted;
use crate::args::BookPlace;
use crate::failure::Failure;
use crate::ui;
use proem_app::project::{BOOK, Project, Reading, read_book};

/// A book that is locked.
struct Target {
    origin: Origin,
    folder: PathBuf,
    /// It with all that lies below it; or why it can't be read.
    layers: Result<Vec<BookLayer>, String>,
}

pub(super) fn run(place: &BookPlace) -> Result<ExitCode, Failure> {
    let targets = match &place.book {
        Some(folder) => {
            let layer = read_book(folder, Origin::Project)?;
            let layer = layer.ok_or_else(|| Failure::usage(format!("`{}` is not a folder", folder.display())))?;
            vec![Target { origin: Origin::Project, folder: folder.clone(), layers: Ok(vec![layer]) }]
        }
        None => found(&place.root)?,
    };
    // What is wrong with one book keeps no other from being locked.
    let failures: Vec<String> =
        targets.iter().filter_map(|target| lock(target).err().map(|failure| failure.to_string())).collect();
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::finding(failures.join("\n"))) }
}

/// The user's book and that of the project around a folder, as far as they are there.
fn found(root: &Path) -> Result<Vec<Target>, Failure> {
    let places = crate::places()?;
    let project = Project::open(root, &places, Reading::All)?;
    let up_to = |origin: Origin| {
        let layers = project.layers.iter().filter(move |layer| layer.origin <= origin);
        layers.cloned().collect::<Vec<_>>()
    };
    let mut targets = Vec::new();
    if places.book().is_dir() {
        targets.push(Target { origin: Origin::User, folder: places.book(), layers: Ok(up_to(Origin::User)) });
    }
    let own = project.root.as_ref().map(|root| root.join(BOOK));
    if let Some(folder) = own.clone().filter(|folder| folder.is_dir()) {
        let layers = match &project.unread {
            Some(why) => Err(why.clone()),
            None => Ok(up_to(Origin::Project)),
        };
        targets.push(Target { origin: Origin::Project, folder, layers });
    }
    if targets.is_empty() {
        let own = own.map_or_else(String::new, |own| format!("neither `{}` nor ", shown(&own)));
        let verb = if own.is_empty() { "is no folder" } else { "is a folder" };
        return Err(Failure::usage(format!(
            "there is no book to lock: {own}`{}` {verb}; `proem init` makes one",
            shown(&places.book())
        )));
    }
    Ok(targets)
}

/// Writes the lock of one book, unless something in it is wrong.
fn lock(target: &Target) -> Result<(), Failure> {
    let folder = shown(&target.folder);
    let about = |why: &dyn std::fmt::Display| Failure::finding(format!("`{folder}/book.lock` is not written: {why}"));
    let layers = target.layers.clone().map_err(|why| about(&why))?;
    let has_any = layers.iter().any(|layer| layer.origin == target.origin);
    let book = Book::new(layers).map_err(|error| about(&error))?;
    if !has_any {
        return Err(about(&"it has no files"));
    }
    let text = book.lock(target.origin).map_err(|error| about(&error))?;
    let errors = errors(&book, target.origin)?;
    if errors > 0 {
        return Err(about(&format!("it has {}; fix what `proem book check` shows", counted(errors, "error"))));
    }
    files::replace(&target.folder, Path::new("book.lock"), text.as_bytes(), Access::Shared)?;
    let before = book.layers().iter().find(|layer| layer.origin == target.origin);
    let before = before.and_then(|layer| layer.files.get("book.lock")).map_or("", |text| text.as_str());
    let is_version = |line: &&str| line.starts_with('"') && line.contains('@');
    let locked = text.lines().filter(is_version).count();
    let new = text.lines().filter(is_version).filter(|line| !before.contains(line)).count();
    ui::note(&format!(
        "`{folder}`: {} locked, {new} of them new; a change to one of them needs a new version number from here on",
        counted(locked, "version")
    ));
    Ok(())
}

/// How many errors a check finds in the versions that have a file of this book.
fn errors(book: &Book, origin: Origin) -> Result<usize, Failure> {
    let has_own = |prompt: &str| -> Result<bool, Failure> {
        let mut versions = book.versions()?.into_iter();
        let found = versions.find(|version| format!("{}@{}", version.prompt, version.version) == prompt);
        // What is said of a prompt as a whole, such as its current version, is the book's that says it.
        Ok(found.is_none_or(|version| version.files.iter().any(|(_, by)| *by == origin)))
    };
    let mut errors = 0_usize;
    for remark in check(book, &OpenAi::O200k)?.iter().filter(|remark| remark.severity == Severity::Error) {
        errors = errors.saturating_add(usize::from(has_own(&remark.prompt)?));
    }
    Ok(errors)
}

fn shown(path: &Path) -> String {
    show::terminal_str(&path.display().to_string()).into_string()
}
