//! Looks for attacks in files, and says where, why, and what was not looked at.
//!
//! An unreadable file never stops the others. A part that was not looked at is at least a flag. In a folder it is
//! counted.

pub mod acceptances;
pub mod agent_files;
mod agent_folder;
pub mod calibrate;
pub mod examine;
pub mod folder;
pub mod groups;
pub mod output;
mod place;
pub mod reasons;
pub mod rows;
pub mod text_marks;

use std::io::Read;
use std::path::Path;

use proem_runtime::readers::{
    Document, DocumentKind, DocumentLimits, DocumentOptions, ReadError, read_named_document, read_stream,
};
use proem_text::Source;

use self::examine::ScanDepth;
pub use self::place::Excerpt;
use crate::catalogue::load_catalogue;
use crate::error::Error;
use crate::guarding::{GuardSetup, tool_vocabularies};
use crate::places::Places;
use crate::project::{BookReading, OpenProject};

/// How files are read and judged.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// The kind to read them as, whatever they look like.
    pub kind: Option<DocumentKind>,
    /// The source whose verdicts apply. Otherwise `file/` and the kind.
    pub source: Option<Source>,
    /// How much is read of a file that was named, or of a row, in bytes.
    pub file_bytes: usize,
    /// The largest file of a folder that is read, in bytes.
    pub folder_file_bytes: usize,
    /// The detail about each field, beside its findings.
    pub detail: ScanDepth,
}

impl ScanOptions {
    /// Reads a file that was named. Links are followed.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if there is no file, or it is unreadable.
    pub fn read(&self, path: &Path) -> Result<Document, ReadError> {
        read_named_document(path, &self.ask())
    }

    /// Reads what somebody hands over.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if it can't be read.
    pub fn read_stream(&self, from: impl Read) -> Result<Document, ReadError> {
        read_stream(from, &self.ask())
    }

    fn ask(&self) -> DocumentOptions<'_> {
        let limits = DocumentLimits { bytes: self.file_bytes, ..DocumentLimits::default() };
        DocumentOptions {
            name: None,
            kind: self.kind,
            source: self.source.clone(),
            limits,
            ..DocumentOptions::default()
        }
    }
}

/// The guard as this user configured it, knowing the tools of the project around `root`.
///
/// Without a project it knows the usual ones, and so it does where the catalogue is unreadable: scanning must not
/// depend on a repository's files.
///
/// # Errors
///
/// If the user's table of verdicts can't be read.
pub fn guard_for_project(root: &Path, places: &Places) -> Result<GuardSetup, Error> {
    let loaded = OpenProject::open(root, places, BookReading::Trusted).and_then(|project| load_catalogue(&project));
    let tools = loaded.map_or_else(|_| Vec::new(), |loaded| tool_vocabularies(&loaded.catalogue));
    GuardSetup::load(places, &tools)
}
