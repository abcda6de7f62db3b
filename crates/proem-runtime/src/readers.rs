//! Reads files and streams as fields of text from outside.
//!
//! A file is somebody's mail, page, webhook or document. The parts that a person or a model would read come back as
//! fields, each `Untrusted`, each with its place in the file if the file contains it literally. An unread part comes
//! back as a gap, never as silence.
//!
//! Invariants: at most [`DocumentLimits::bytes`] of a file are held. The work is bounded by them and by
//! [`DocumentLimits::fields`]. Nothing recurses deeper than [`DocumentLimits::depth`]. Names and gaps are in our words,
//! with no text of the file in them but plain identifiers.

mod charset;
mod collect;
mod html;
mod json;
mod kind;
mod mail;

use std::{
    fs::{self, File, FileType},
    io::{self, Read},
    path::Path,
};

use proem_guard::{LanguageFamily, Untrusted};
use proem_text::Source;

use crate::{files, process::read_capped};
use charset::CharsetDecoding;
use collect::Collector;

pub(crate) use charset::decode_charset;
pub use charset::source_text;
pub use kind::{DocumentKind, recognise_document};
pub use mail::mail_envelope;

/// Bounds of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentLimits {
    /// How much of a file is read, in bytes.
    pub bytes: usize,
    /// The most fields, and the most gaps.
    pub fields: usize,
    /// How deep parts of a mail, or values of JSON, may be in one another.
    pub depth: usize,
}

impl Default for DocumentLimits {
    /// 16 MiB, 20,000 fields, 128 levels.
    fn default() -> Self {
        Self { bytes: 16 * 1024 * 1024, fields: 20_000, depth: 128 }
    }
}

/// The caller's knowledge of a file.
#[derive(Debug, Clone, Default)]
pub struct DocumentOptions<'a> {
    /// Its name, whose ending tells the kind.
    pub name: Option<&'a Path>,
    /// Its kind, if it must not be guessed.
    pub kind: Option<DocumentKind>,
    /// The project's own rules for reading the file.
    pub surroundings: FileSurroundings,
    /// The source that its fields are labelled with; without one, `file/` and the kind.
    pub source: Option<Source>,
    /// How much is read of it.
    pub limits: DocumentLimits,
}

/// A project's own rules for reading a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileSurroundings {
    /// Nothing: somebody sent it, or named it.
    #[default]
    Alone,
    /// A project: JSON is its settings and data, a page its documentation or template, and no message.
    Project,
}

/// The reading of a file.
#[derive(Debug)]
pub struct Document {
    /// The kind it was read as.
    pub kind: DocumentKind,
    /// How it marks what people write in it. `None` for messages and pages, and for what has no name.
    pub syntax: Option<LanguageFamily>,
    /// How many bytes were read.
    pub bytes: usize,
    /// Its texts, in the order of the file. An empty text is no field.
    pub fields: Vec<DocumentField>,
    /// The parts that were not read, or not literally.
    pub gaps: Vec<DocumentGap>,
}

/// One text of a file.
#[derive(Debug, Clone)]
pub struct DocumentField {
    /// Its name, in our words: `subject`, `body[0]`, `/issue/fields/summary`.
    ///
    /// ASCII letters, digits, and punctuation only. Other characters of a JSON pointer are percent-encoded as in its
    /// fragment form (RFC 6901, section 6). Empty for a file that is one text.
    pub name: String,
    /// The field's text, decoded.
    pub text: Untrusted<String>,
    /// The place of its first character, if the file contains the text literally.
    pub place: Option<DocumentPosition>,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentPosition {
    /// The offset in bytes.
    pub offset: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// Something that was not read, or not as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentGap {
    /// The reason that it was not read.
    pub reason: GapReason,
    /// The field it is about. Empty for the whole file.
    pub field: String,
    /// The detail, in our words: lower case, no full stop.
    pub about: String,
}

/// Why something was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapReason {
    /// The file is longer than what is read of it.
    TooLong,
    /// There are more fields than are read.
    TooMany,
    /// Something is too deep inside something else.
    TooDeep,
    /// It holds no text.
    NotText,
    /// It names a character set or a transfer encoding that is not known.
    Unknown,
    /// Some bytes or escapes represent no character. They were read as U+FFFD.
    Replaced,
    /// It is not what it says it is, and was read as plain text.
    Malformed,
}

proem_text::word_table! {
    pub GapReason {
        TooLong = "too-long",
        TooMany = "too-many",
        TooDeep = "too-deep",
        NotText = "not-text",
        Unknown = "unknown",
        Replaced = "replaced",
        Malformed = "malformed",
    }
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is nothing.
    #[error("does not exist; check its name")]
    Missing,
    /// It is a folder.
    #[error("is a folder; name the files in it")]
    Folder,
    /// It is neither a file nor a folder.
    #[error("is {0}, not a file; send its content to standard input and name `-`")]
    NotAFile(&'static str),
    /// The operating system refused.
    #[error("could not be read: {0}; check its permissions")]
    Io(#[from] io::Error),
}

/// Reads the file at `path`. Links are followed: the caller named it.
///
/// # Errors
///
/// [`ReadError`] if there is no file, or it is unreadable. The contents are never an error.
pub fn read_named_document(path: &Path, ask: &DocumentOptions<'_>) -> Result<Document, ReadError> {
    let file = open_document(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let ask = DocumentOptions { name: ask.name.or(Some(path)), ..ask.clone() };
    let (bytes, _) = read_capped(&file, ask.limits.bytes)?;
    Ok(extract(&bytes, more(length.saturating_sub(bytes.len())), &ask))
}

/// Opens a file that the caller named. Links are followed.
///
/// # Errors
///
/// [`ReadError`] if the file is missing, or it may not be read.
pub fn open_document(path: &Path) -> Result<File, ReadError> {
    let of = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::Missing,
        _ => ReadError::Io(error),
    };
    must_be_readable(fs::metadata(path).map_err(of)?.file_type())?;
    files::open_regular(path).map_err(of)
}

/// Reads a stream, such as standard input.
///
/// # Errors
///
/// [`ReadError::Io`] if it can't be read.
pub fn read_stream(from: impl Read, ask: &DocumentOptions<'_>) -> Result<Document, ReadError> {
    let (bytes, extent) = read_capped(from, ask.limits.bytes)?;
    let rest = if extent == crate::Extent::Cut { UnreadTail::Unknown } else { UnreadTail::Nothing };
    Ok(extract(&bytes, rest, ask))
}

fn must_be_readable(found: FileType) -> Result<(), ReadError> {
    match found {
        found if found.is_file() => Ok(()),
        found if found.is_dir() => Err(ReadError::Folder),
        found => Err(ReadError::NotAFile(files::file_type_name(found))),
    }
}

/// The rest after the bytes that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadTail {
    /// Nothing: they are all.
    Nothing,
    /// This many bytes.
    Bytes(usize),
    /// More, nobody knows how many.
    Unknown,
}

const fn more(bytes: usize) -> UnreadTail {
    if bytes == 0 { UnreadTail::Nothing } else { UnreadTail::Bytes(bytes) }
}

/// The fields of a file's bytes. `rest` says what of it is not among them.
#[must_use]
pub fn extract(bytes: &[u8], rest: UnreadTail, ask: &DocumentOptions<'_>) -> Document {
    let cut = rest != UnreadTail::Nothing;
    let bytes = if cut { whole_characters(bytes) } else { bytes };
    let kind = ask.kind.unwrap_or_else(|| match (recognise_document(ask.name, bytes), ask.surroundings) {
        (DocumentKind::Json, FileSurroundings::Project) => DocumentKind::Source,
        (kind, _) => kind,
    });
    let source = ask.source.clone().unwrap_or(Source::named(kind.source()));
    let mut collector = Collector::new(bytes, source, ask.limits);
    match kind {
        DocumentKind::Mail => mail::read_mail(bytes, &mut collector),
        DocumentKind::Html => html::read_html(bytes, &mut collector),
        DocumentKind::Json => json::read_json_strings(bytes, &mut collector),
        DocumentKind::Text | DocumentKind::Markdown | DocumentKind::Source => collect_plain_text(bytes, &mut collector),
    }
    let after = |what: String| format!("{what} after the first {}", bytes_in_words(bytes.len()));
    match rest {
        UnreadTail::Nothing => {}
        UnreadTail::Bytes(more) => collector.gap(GapReason::TooLong, "", after(bytes_in_words(more))),
        UnreadTail::Unknown => collector.gap(GapReason::TooLong, "", after("everything".to_owned())),
    }
    let (fields, gaps) = collector.finish();
    Document { kind, syntax: marks(kind, bytes, ask), bytes: bytes.len(), fields, gaps }
}

/// How a document of this kind marks what people write in it.
fn marks(kind: DocumentKind, bytes: &[u8], ask: &DocumentOptions<'_>) -> Option<LanguageFamily> {
    let named = ask.name.map_or_else(|| unnamed_syntax(bytes), syntax);
    match kind {
        DocumentKind::Markdown => Some(LanguageFamily::Document),
        // Strings in quotes are what JSON has in common with source.
        DocumentKind::Source => named.or(Some(LanguageFamily::Script)),
        // A project's files are no messages, whatever their names.
        DocumentKind::Text if ask.kind.is_none() && ask.surroundings == FileSurroundings::Project => {
            named.or(Some(LanguageFamily::Plain))
        }
        // If the caller says that it is a text, all of it is read as one.
        DocumentKind::Text => named.filter(|_| ask.kind.is_none()),
        DocumentKind::Html if ask.surroundings == FileSurroundings::Project => Some(LanguageFamily::Plain),
        DocumentKind::Html | DocumentKind::Mail | DocumentKind::Json => None,
    }
}

/// The family that a file of this name is read as. `None` if its name doesn't say.
fn syntax(name: &Path) -> Option<LanguageFamily> {
    LanguageFamily::of_name(&name.to_string_lossy())
}

/// The family that a text without a name is read as.
fn unnamed_syntax(bytes: &[u8]) -> Option<LanguageFamily> {
    LanguageFamily::of_text(&String::from_utf8_lossy(bytes))
}

/// A number of bytes in words.
fn bytes_in_words(bytes: usize) -> String {
    if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") }
}

/// Bytes without a character of UTF-8 that the cut left incomplete.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let start = bytes.len().saturating_sub(3);
    let last = (start..bytes.len()).rev().find(|at| bytes.get(*at).is_some_and(|byte| byte & 0xc0 != 0x80));
    let Some(at) = last else { return bytes };
    let wanted = match bytes.get(at) {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 1,
    };
    if bytes.len().saturating_sub(at) < wanted { bytes.get(..at).unwrap_or(bytes) } else { bytes }
}

/// A file that is one text.
fn collect_plain_text(bytes: &[u8], collector: &mut Collector<'_>) {
    if let Some(decoded) = collector.decode("", bytes, None) {
        push_whole(decoded, collector);
    }
}

/// Adds a text that is the whole file.
fn push_whole(decoded: CharsetDecoding, collector: &mut Collector<'_>) {
    let at = decoded.verbatim_from;
    collector.push(String::new(), decoded.text, at);
}
