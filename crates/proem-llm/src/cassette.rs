//! Cassettes: what went over the wire, in files, one for each attempt.
//!
//! A cassette is a file of canonical JSON, named after run, effect and attempt: `0001-00-00.json`. Invariants: no
//! header is kept that is not on the list. Nothing is written in which a loaded secret is found. A written cassette can
//! be read. A replay gives the same bytes in the same chunks, once, and only to the same request. The endpoint's place
//! may change: scheme, host, port and the part before the path in its base URL are kept for the reader and not
//! compared.

mod contents;
mod difference;
mod file;
mod name;
mod spread;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use proem_guard::show;

use self::contents::CassetteFile;
use self::name::CassetteName;
use crate::secret::{Secret, find_secret};
use crate::wire::{CallSlot, ResponseHead, WireRequest};

/// The wire traffic of one attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Tape {
    /// The address that was asked, without a user, password or query.
    pub url: String,
    /// The request, without its key.
    pub request: WireRequest,
    /// How the answer began. `None` if none came.
    pub head: Option<ResponseHead>,
    /// The answer's bytes as they came.
    pub chunks: Vec<Vec<u8>>,
    /// Whether all of the answer came, and what cut it off otherwise.
    pub end: TapeEnd,
}

/// How an attempt ended on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TapeEnd {
    /// The server closed the answer as the protocol says.
    Whole,
    /// We stopped reading after all chunks.
    Stopped,
    /// The connection failed, in our words.
    Broken {
        /// The word of [`proem_engine::call::FailureKind`].
        kind: proem_engine::call::FailureKind,
        /// The reason that it broke off, in our words.
        message: String,
    },
}

/// Writes cassettes into a folder.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    secrets: Vec<Secret>,
}

/// Why a cassette could not be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CassetteError(pub String);

impl Recorder {
    /// A recorder into `folder`, which is made if it isn't there. `secrets` are searched for.
    ///
    /// # Errors
    ///
    /// If the folder can't be made or holds cassettes already.
    pub fn open(folder: &Path, secrets: Vec<Secret>) -> Result<Self, CassetteError> {
        let failed = |error| CassetteError(format!("the folder {} can't be created: {error}", quote_path(folder)));
        make_folder(folder).map_err(failed)?;
        if let Some(name) = cassette_names(folder)?.first() {
            return Err(CassetteError(format!(
                "the folder {} already holds cassettes, such as `{name}`; name an empty one or remove them",
                quote_path(folder)
            )));
        }
        Ok(Self { folder: folder.to_owned(), secrets })
    }

    /// Writes one attempt, counted from 0.
    ///
    /// # Errors
    ///
    /// If it holds a secret, was written already or can't be written.
    pub fn write(&self, slot: CallSlot, attempt: u32, tape: &Tape) -> Result<(), CassetteError> {
        let name = CassetteName { slot, attempt };
        let stored =
            CassetteFile::of(tape).map_err(|problem| CassetteError(format!("`{name}` was not written: {problem}")))?;
        let text = stored.text();
        self.search(name, tape, &stored, &text)?;
        if let Err(problem) = CassetteFile::parse(text.as_bytes()) {
            return Err(CassetteError(format!("`{name}` was not written, because it could not be read: {problem}")));
        }
        let path = self.folder.join(name.to_string());
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::AlreadyExists => {
                CassetteError(format!("{} already exists; name an empty folder", quote_path(&path)))
            }
            _ => CassetteError(format!("{} can't be written: {error}", quote_path(&path))),
        };
        write_once(&path, text.as_bytes()).map_err(failed)
    }

    /// Refuses what holds a secret, in the file or in what the file's escapes and base64 represent.
    fn search(&self, name: CassetteName, tape: &Tape, stored: &CassetteFile, text: &str) -> Result<(), CassetteError> {
        let body = tape.chunks.concat();
        let together = spread::streamed_texts(&body);
        let sent = proem_text::json::compact_in_order(&tape.request.body);
        let parts = [("the address", stored.url.as_bytes()), ("the request's body", sent.as_bytes())];
        let headers = stored.headers().map(|(place, value)| (place, value.as_bytes()));
        let parts = parts.into_iter().chain(headers).chain([("the answer's body", &*body)]);
        let spread = together.iter().map(|text| ("the reassembled body of the answer", text.as_bytes()));
        for (place, bytes) in parts.chain([("the cassette", text.as_bytes())]).chain(spread) {
            if let Some(secret) = find_secret(&self.secrets, bytes) {
                let variable = show::terminal_str(secret.name());
                return Err(CassetteError(format!(
                    "{place} holds the value of `{variable}`, so `{name}` was not written; remove the secret from the \
                     inputs, and replace it if it was sent by mistake"
                )));
            }
        }
        Ok(())
    }
}

/// Gives recorded answers.
#[derive(Debug)]
pub struct Replayer {
    folder: PathBuf,
    cassettes: BTreeMap<CassetteName, CassetteFile>,
    used: Mutex<BTreeSet<CassetteName>>,
}

impl Replayer {
    /// Reads all cassettes of a folder. Files that don't end in `.json` may be beside them.
    ///
    /// # Errors
    ///
    /// If there are none or one can't be read.
    pub fn open(folder: &Path) -> Result<Self, CassetteError> {
        let mut cassettes = BTreeMap::new();
        for name in cassette_names(folder)? {
            let path = folder.join(name.to_string());
            let bytes = file::read_cassette_file(&path)
                .map_err(|error| CassetteError(format!("the cassette {} can't be read: {error}", quote_path(&path))))?;
            let stored = CassetteFile::parse(&bytes).map_err(|problem| {
                CassetteError(format!("the cassette {} can't be read: {problem}", quote_path(&path)))
            })?;
            cassettes.insert(name, stored);
        }
        if cassettes.is_empty() {
            let folder = quote_path(folder);
            return Err(CassetteError(format!("the folder {folder} holds no cassettes; record into it first")));
        }
        Ok(Self { folder: folder.to_owned(), cassettes, used: Mutex::default() })
    }

    /// The recorded attempt, if the request is the recorded one. It is given once.
    ///
    /// # Errors
    ///
    /// If nothing was recorded under that slot and attempt, or another request: then with the
    /// difference, line by line.
    pub fn take(&self, slot: CallSlot, attempt: u32, url: &str, request: &WireRequest) -> Result<Tape, CassetteError> {
        // The endpoint's place may change, as the module says.
        _ = url;
        let name = CassetteName { slot, attempt };
        let Some(stored) = self.cassettes.get(&name) else { return Err(self.missing(name)) };
        let path = quote_path(&self.folder.join(name.to_string()));
        if let Some(difference) = difference::request_difference(stored, request) {
            return Err(CassetteError(format!(
                "the cassette {path} holds another request (- recorded, + to be sent); record again if the change is \
                 intended\n{difference}"
            )));
        }
        if !self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
            return Err(CassetteError(format!(
                "the cassette {path} was requested twice, but recorded once; record again"
            )));
        }
        Ok(stored.tape(request))
    }

    /// The files that nobody has asked for, sorted.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.cassettes.keys().filter(|name| !used.contains(name)).map(ToString::to_string).collect()
    }

    /// Says what there is in place of `name`.
    fn missing(&self, name: CassetteName) -> CassetteError {
        const MOST: usize = 8;
        let of_call: Vec<&CassetteName> = self.cassettes.keys().filter(|known| known.slot == name.slot).collect();
        let (whose, known) = match of_call.is_empty() {
            true => ("", self.cassettes.keys().collect()),
            false => (" of this call", of_call),
        };
        let listed: Vec<_> = known.iter().take(MOST).map(|name| format!("`{name}`")).collect();
        let more = match known.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        CassetteError(format!(
            "the folder {} holds no cassette `{name}`; its cassettes{whose} are {}{more}; record again if the change \
             is intended",
            quote_path(&self.folder),
            listed.join(", ")
        ))
    }
}

/// A path as it is shown.
fn quote_path(path: &Path) -> String {
    format!("`{}`", show::terminal_str(&path.display().to_string()))
}

/// The cassettes of a folder, sorted.
fn cassette_names(folder: &Path) -> Result<Vec<CassetteName>, CassetteError> {
    let failed = |error| CassetteError(format!("the folder {} can't be read: {error}", quote_path(folder)));
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.file_name();
        if Path::new(&file).extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let Some(name) = file.to_str().and_then(CassetteName::parse) else {
            return Err(CassetteError(format!(
                "{} does not have the name of a cassette, such as `0001-00-00.json`; move it out of the folder",
                quote_path(&folder.join(file))
            )));
        };
        names.push(name);
    }
    names.sort_unstable();
    Ok(names)
}

/// Makes a folder that only its owner may enter. One that is there stays as it is.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a file that only its owner may read, and which is whole or not there.
fn write_once(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if path.try_exists()? {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let temporary = path.with_extension("part");
    let in_the_way = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => {
            std::io::Error::other(format!("{} is in the way; remove it", quote_path(&temporary)))
        }
        _ => error,
    };
    let mut file = file::make_cassette_file(&temporary).map_err(in_the_way)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error says more than one about cleaning up.
        _ = fs::remove_file(&temporary);
    }
    written
}
