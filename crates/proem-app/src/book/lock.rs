//! Locks of the user's book and the project's, each with one of its own.

use std::path::{Path, PathBuf};

use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::check::check_book;
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::OpenAi;
use proem_guard::show;
use proem_runtime::files::{self, FileAccess};
use proem_text::diagnostic::DiagnosticSeverity;

use crate::error::Error;
use crate::message::Hint;
use crate::places::Places;
use crate::project::{BOOK, BookReading, OpenProject, read_book};

/// A book that can be locked.
#[derive(Debug)]
pub struct LockTarget {
    origin: Origin,
    folder: PathBuf,
    /// It with all that is below it; or why it can't be read.
    layers: Result<Vec<BookLayer>, String>,
}

/// The locked prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockSummary {
    /// The book's folder, so that it can be shown.
    pub folder: String,
    /// How many versions its lock has.
    pub versions: usize,
    /// How many of them it did not have before.
    pub new: usize,
}

impl LockTarget {
    /// The book's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A folder that is a book, on its own.
    ///
    /// # Errors
    ///
    /// If it is none, or is unreadable.
    pub fn alone(folder: &Path) -> Result<Self, Error> {
        let layer = read_book(folder, Origin::Project)?;
        let layer = layer.ok_or_else(|| Error::invalid(format!("`{}` is not a folder", folder.display())))?;
        Ok(Self { origin: Origin::Project, folder: folder.to_path_buf(), layers: Ok(vec![layer]) })
    }
}

/// The user's book and that of the project around a folder, as far as they are there.
///
/// # Errors
///
/// If neither is there.
pub fn find_books(root: &Path, places: &Places) -> Result<Vec<LockTarget>, Error> {
    let project = OpenProject::open(root, places, BookReading::All)?;
    let up_to = |origin: Origin| {
        let layers = project.layers.iter().filter(move |layer| layer.origin <= origin);
        layers.cloned().collect::<Vec<_>>()
    };
    let mut targets = Vec::new();
    if places.book().is_dir() {
        targets.push(LockTarget { origin: Origin::User, folder: places.book(), layers: Ok(up_to(Origin::User)) });
    }
    let own = project.root.as_ref().map(|root| root.join(BOOK));
    if let Some(folder) = own.clone().filter(|folder| folder.is_dir()) {
        let layers = match &project.unread {
            Some(why) => Err(why.clone()),
            None => Ok(up_to(Origin::Project)),
        };
        targets.push(LockTarget { origin: Origin::Project, folder, layers });
    }
    if targets.is_empty() {
        let own = own.map_or_else(String::new, |own| format!("neither `{}` nor ", lock_path(&own)));
        let verb = if own.is_empty() { "is not a folder" } else { "is a folder" };
        return Err(Error::invalid(format!("there is no book to lock: {own}`{}` {verb}", lock_path(&places.book())))
            .hinting(Hint::MakeBook));
    }
    Ok(targets)
}

/// Writes the lock of one book, unless something in it is wrong.
///
/// # Errors
///
/// If something is, or the lock can't be written.
pub fn lock_book(target: &LockTarget) -> Result<LockSummary, Error> {
    let folder = lock_path(&target.folder);
    let about = |why: &dyn std::fmt::Display| Error::negative(format!("`{folder}/book.lock` was not written: {why}"));
    let layers = target.layers.clone().map_err(|why| about(&why))?;
    let has_any = layers.iter().any(|layer| layer.origin == target.origin);
    let book = Book::new(layers).map_err(|error| about(&error))?;
    if !has_any {
        return Err(about(&"it has no files"));
    }
    let text = book.lock(target.origin).map_err(|error| about(&error))?;
    let errors = errors(&book, target.origin)?;
    if errors > 0 {
        let plural = if errors == 1 { "" } else { "s" };
        return Err(about(&format!("it has {errors} error{plural}")).hinting(Hint::CheckBook));
    }
    files::replace_file(&target.folder, Path::new("book.lock"), text.as_bytes(), FileAccess::Shared)?;
    let before = book.layers().iter().find(|layer| layer.origin == target.origin);
    let before = before.and_then(|layer| layer.files.get("book.lock")).map_or("", |text| text.as_str());
    let is_version = |line: &&str| line.starts_with('"') && line.contains('@');
    let versions = text.lines().filter(is_version).count();
    let new = text.lines().filter(is_version).filter(|line| !before.contains(line)).count();
    Ok(LockSummary { folder, versions, new })
}

/// How many errors a check finds in the versions that have a file of this book.
fn errors(book: &Book, origin: Origin) -> Result<usize, Error> {
    let has_own = |prompt: &str| -> Result<bool, Error> {
        let mut versions = book.versions()?.into_iter();
        let found = versions.find(|version| format!("{}@{}", version.prompt, version.version) == prompt);
        // A remark on a prompt as a whole, such as its current version, belongs to the book that makes it.
        Ok(found.is_none_or(|version| version.files.iter().any(|(_, by)| *by == origin)))
    };
    let mut errors = 0_usize;
    for remark in check_book(book, &OpenAi::O200k)?.iter().filter(|remark| remark.severity == DiagnosticSeverity::Error)
    {
        errors = errors.saturating_add(usize::from(has_own(&remark.prompt)?));
    }
    Ok(errors)
}

fn lock_path(path: &Path) -> String {
    show::terminal_str(&path.display().to_string()).into_string()
}
