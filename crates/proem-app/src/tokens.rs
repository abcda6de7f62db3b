//! Counts tokens, by one model or by several tokenisers beside each other.

pub mod output;

use std::io::Read;
use std::path::{Path, PathBuf};

use proem_engine::providers::{Model, Providers, Tokeniser};
use proem_engine::tokens::{Exactness, OpenAi, TokenCounter};
use proem_guard::show;
use proem_runtime::Environment;
use proem_runtime::files::{self, FileContent};
use proem_runtime::folder::{EntryKind, list_files_below};

use crate::calling;
use crate::error::Error;
use crate::factors::Factors;
use crate::message::{Hint, Note, NoteKind};
use crate::places::Places;
use crate::project;

/// The largest text that is counted, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The basis of counting tokens.
#[derive(Debug, Clone)]
pub struct TokensOptions {
    /// Only this model or role.
    pub model: Option<String>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The folder whose project's configuration counts.
    pub root: PathBuf,
}

/// A counter with its name.
pub struct TokenColumn {
    /// The counter: a tokeniser or a model.
    pub title: String,
    /// Whether its counts are exact.
    pub exactness: Exactness,
    counter: Box<dyn TokenCounter>,
    basis: CountBasis,
}

impl std::fmt::Debug for TokenColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { title, basis, .. } = self;
        f.debug_struct("TokenColumn").field("title", title).field("basis", basis).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountBasis {
    /// The model's own tokeniser.
    Own,
    /// Another tokeniser, by a factor that somebody measured.
    Measured,
    /// Another tokeniser, by the factor that recorded calls gave here.
    Fitted,
    /// Another tokeniser. How much the two differ is not known.
    Unmeasured,
}

/// The requested counters. Notes about the project go to `said`, also on failure.
///
/// # Errors
///
/// If the model can't be told, or the configuration is unreadable.
pub fn token_columns(
    options: &TokensOptions,
    places: &Places,
    said: &mut Vec<Note>,
) -> Result<Vec<TokenColumn>, Error> {
    let wanted = calling::WantedModel {
        model: options.model.as_deref(),
        provider: options.provider.as_deref(),
        prompt: Some("small"),
    };
    let config = project::settings_in(&options.root, places, said)?;
    let asked = calling::wanted_endpoint(&config, &Providers::load()?, &wanted, &Environment::inherited())?;
    let column = TokenColumn::of(asked.model, &Factors::load(places)?);
    if options.model.is_some() || options.provider.is_some() {
        return Ok(vec![column]);
    }
    Ok(vec![TokenColumn::of_tokeniser(OpenAi::O200k), TokenColumn::of_tokeniser(OpenAi::Cl100k), column])
}

impl TokenColumn {
    /// The tokens of a text.
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        self.counter.count(text)
    }

    /// The counter, with its factor.
    #[must_use]
    pub fn counter(&self) -> String {
        self.counter.name().to_string()
    }

    fn of_tokeniser(tokeniser: OpenAi) -> Self {
        Self {
            title: tokeniser.name().to_owned(),
            exactness: Exactness::Exact,
            counter: Box::new(tokeniser),
            basis: CountBasis::Own,
        }
    }

    fn of(mut model: Model, factors: &Factors) -> Self {
        let fitted = factors.apply(&mut model).is_some();
        let basis = match &model.tokeniser {
            Tokeniser::Exact(_) => CountBasis::Own,
            Tokeniser::Estimate { .. } if fitted => CountBasis::Fitted,
            Tokeniser::Estimate { sources, .. } if sources.iter().any(|source| source == "unmeasured") => {
                CountBasis::Unmeasured
            }
            Tokeniser::Estimate { .. } => CountBasis::Measured,
        };
        let counter = model.counter();
        Self { title: model.name, exactness: counter.exactness(), counter, basis }
    }

    /// The basis of an estimate. `None` for an exact count.
    #[must_use]
    pub fn estimate(&self) -> Option<Note> {
        let how = format!("{} = {}", show::terminal_str(&self.title), self.counter.name());
        Some(match self.basis {
            CountBasis::Own => return None,
            CountBasis::Measured => {
                Note::new(NoteKind::Model, format!("≈ is an estimate, because this tokeniser isn't public: {how}"))
            }
            CountBasis::Fitted => {
                Note::new(NoteKind::Model, format!("≈ is an estimate, based on recorded calls: {how}"))
            }
            CountBasis::Unmeasured => Note::hinting(
                NoteKind::Model,
                format!("≈ is an unverified estimate, because the tokeniser isn't known: {how}"),
                Hint::MeasureCounts,
            ),
        })
    }
}

/// The token count of a folder's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderCount {
    /// How many files were counted.
    pub files: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Their tokens by column.
    pub tokens: Vec<usize>,
    /// How many paths were not counted: binary files, larger ones than [`MAX_FOLDER_FILE`], links, submodules, devices.
    pub left_out: usize,
}

/// The largest file of a folder that is counted, in bytes, as `proem scan` reads them.
pub const MAX_FOLDER_FILE: usize = 1024 * 1024;

/// Counts the text files of a folder that git tracks, or all of them where there is no git. `tell` hears how many of how
/// many are done.
///
/// # Errors
///
/// In words, if the folder can't be listed.
pub fn count_folder(
    path: &Path,
    columns: &[TokenColumn],
    tell: &mut dyn FnMut(usize, usize),
) -> Result<FolderCount, String> {
    let listing =
        list_files_below(&Environment::inherited(), path).map_err(|error| format!("could not be listed: {error}"))?;
    let mut count = FolderCount { files: 0, bytes: 0, tokens: vec![0; columns.len()], left_out: 0 };
    for (number, entry) in listing.entries.iter().enumerate() {
        tell(number, listing.entries.len());
        let text = match entry.kind {
            EntryKind::File => text_beneath(path, &entry.path),
            EntryKind::Link | EntryKind::Submodule | EntryKind::Special => None,
        };
        let Some(text) = text else {
            count.left_out = count.left_out.saturating_add(1);
            continue;
        };
        count.files = count.files.saturating_add(1);
        count.bytes = count.bytes.saturating_add(text.len());
        for (sum, column) in count.tokens.iter_mut().zip(columns) {
            *sum = sum.saturating_add(column.count(&text));
        }
    }
    Ok(count)
}

/// The text of a file of a folder. `None` if it is none, or too long.
fn text_beneath(folder: &Path, path: &Path) -> Option<String> {
    match files::read_beneath(folder, path, MAX_FOLDER_FILE) {
        Ok(Some(FileContent::Whole(bytes))) => String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')),
        _ => None,
    }
}

/// The text of a file.
///
/// # Errors
///
/// In words, if it is unreadable, too long or not text.
pub fn read_counted_file(path: &Path) -> Result<String, String> {
    decode_counted_text(files::open_regular(path).and_then(read_capped_bytes))
}

/// The text that somebody hands over.
///
/// # Errors
///
/// In words, if it is unreadable, too long or not text.
pub fn read_counted_stream(from: impl Read) -> Result<String, String> {
    decode_counted_text(read_capped_bytes(from))
}

fn read_capped_bytes(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn decode_counted_text(bytes: std::io::Result<Vec<u8>>) -> Result<String, String> {
    let bytes = bytes.map_err(|e| format!("could not be read: {e}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("is larger than {MAX_BYTES} bytes; split it"));
    }
    String::from_utf8(bytes)
        .map_err(|e| format!("is not UTF-8 from byte {} on; only text has tokens", e.utf8_error().valid_up_to()))
}
