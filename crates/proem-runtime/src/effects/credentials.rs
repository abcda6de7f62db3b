//! The credentials of mail and tickets: the one place that reads them.
//!
//! Invariants: a credential is read by name from where the user's configuration says, out of this process' own
//! environment or a file that nobody else can read. Its value is in no message; what is about to leave is searched for
//! it.
//!
//! This separates by code and by process. Another program of the same user can read the same file.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use mail_parser::MessageParser;
use proem_engine::effect::key::OutboxForm;
use proem_llm::secret::{SHORTEST, Secret, find_secret};

use serde_json::Value as Json;
use url::{Url, form_urlencoded};

use super::DeliveryBytes;
use crate::error::path_on_screen;
use crate::files::{FileContent, read_regular};
use crate::{Environment, Error};

/// The shortest credential that is taken, in bytes: a shorter one could not be told from the words of a mail.
pub const SHORTEST_CREDENTIAL: usize = 8;
/// The most bytes of a credential's file.
const FILE_BYTES: usize = 16 * 1024;

/// The source of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialPlace {
    /// In a variable of the environment.
    Variable(String),
    /// In a file: one line, readable by this user alone.
    File(PathBuf),
}

/// The starter of this process, and so whether its environment can be trusted.
#[derive(Debug, Clone, Copy)]
pub enum CredentialAccess<'a> {
    /// A person or a system's timer: variables count.
    Own(&'a Environment),
    /// Another process of Proem: the file alone counts.
    FileAlone,
}

/// Why there is no credential.
#[derive(Debug, thiserror::Error)]
pub enum CredentialRefusal {
    /// The variable is not there, or empty.
    #[error("no credential `{name}`; set the environment variable {variable}, or name a file in your configuration")]
    NoVariable {
        /// The credential's name.
        name: String,
        /// The environment variable that is not set.
        variable: String,
    },
    /// Variables don't count here.
    #[error(
        "the credential `{name}` is in a variable, which doesn't count here; put it into a file of mode 600 and name that in your configuration"
    )]
    FileWanted {
        /// The credential's name.
        name: String,
    },
    /// There is no such file.
    #[error("no credential `{name}`: there is no file `{}`; create it with mode 600", path_on_screen(.path))]
    NoFile {
        /// The credential's name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// The file is not one to be read.
    #[error("the credential `{name}` can't be read: {source}")]
    File {
        /// The credential's name.
        name: String,
        /// Why not.
        source: Error,
    },
    /// The file is another user's.
    #[error("the file `{}` of the credential `{name}` belongs to another user; copy it into one of your own", path_on_screen(.path))]
    NotOurs {
        /// The credential's name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// A text that can't be a credential.
    #[error(
        "the credential `{name}` is not one line of {SHORTEST_CREDENTIAL} or more visible characters; set it again"
    )]
    Form {
        /// The credential's name.
        name: String,
    },
}

/// Reads a credential.
///
/// # Errors
///
/// [`CredentialRefusal`], which holds no value.
pub fn load(name: &str, place: &CredentialPlace, access: CredentialAccess<'_>) -> Result<Secret, CredentialRefusal> {
    let named = || name.to_owned();
    let value = match (place, access) {
        (CredentialPlace::Variable(_), CredentialAccess::FileAlone) => {
            return Err(CredentialRefusal::FileWanted { name: named() });
        }
        (CredentialPlace::Variable(variable), CredentialAccess::Own(environment)) => {
            let value = environment.get(variable).filter(|value| !value.is_empty());
            let missing = || CredentialRefusal::NoVariable { name: named(), variable: variable.clone() };
            value.ok_or_else(missing)?.to_str().map(str::to_owned)
        }
        (CredentialPlace::File(path), _) => String::from_utf8(read_credential_file(name, path)?).ok(),
    };
    let value = value.map(|value| value.trim_end_matches(['\r', '\n']).to_owned());
    let is_credential =
        |value: &String| value.len() >= SHORTEST_CREDENTIAL && value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let value = value.filter(is_credential).ok_or_else(|| CredentialRefusal::Form { name: named() })?;
    Ok(Secret::new(name, value))
}

fn read_credential_file(name: &str, path: &Path) -> Result<Vec<u8>, CredentialRefusal> {
    let broken = |source| CredentialRefusal::File { name: name.to_owned(), source };
    let missing = || CredentialRefusal::NoFile { name: name.to_owned(), path: path.to_path_buf() };
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing()),
        found => found.map_err(Error::io("look at", path)).map_err(broken)?,
    };
    if metadata.is_file() && metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(CredentialRefusal::NotOurs { name: name.to_owned(), path: path.to_path_buf() });
    }
    let mode = metadata.mode() & 0o777;
    if metadata.is_file() && mode & 0o077 != 0 {
        return Err(broken(Error::TooOpen { path: path.to_path_buf(), mode, wanted: 0o600 }));
    }
    match read_regular(path, FILE_BYTES).map_err(broken)?.ok_or_else(missing)? {
        FileContent::Whole(bytes) => Ok(bytes),
        FileContent::Cut(_) => Err(CredentialRefusal::Form { name: name.to_owned() }),
    }
}

/// The first of these credentials that is in what is about to leave: in its bytes in any of the forms that [`proem_llm::secret::find_secret`]
/// knows, or in what a reader of the mail sees. Those that are too short for that search are looked for as they are.
#[must_use]
pub fn leaking<'s>(delivery: &DeliveryBytes<'_>, secrets: &'s [Secret]) -> Option<&'s Secret> {
    if secrets.is_empty() {
        return None;
    }
    views(delivery).iter().find_map(|view| {
        let short = |secret: &&Secret| {
            let value = secret.expose().as_bytes();
            (1..SHORTEST).contains(&value.len()) && view.windows(value.len()).any(|window| window == value)
        };
        find_secret(secrets, view).or_else(|| secrets.iter().find(short))
    })
}

/// The bytes, and the texts that they represent.
fn views(delivery: &DeliveryBytes<'_>) -> Vec<Vec<u8>> {
    let mut views = vec![delivery.bytes.to_vec()];
    match delivery.form {
        OutboxForm::Mail => {
            let Some(message) = MessageParser::new().parse(delivery.bytes) else { return views };
            views.extend(message.subject().map(|subject| subject.as_bytes().to_vec()));
            views.extend(message.parts.iter().map(|part| part.contents().to_vec()));
            let people = [message.from(), message.to()].into_iter().flatten().flat_map(|list| list.iter());
            views.extend(people.filter_map(|person| person.name.as_ref().map(|name| name.as_bytes().to_vec())));
        }
        OutboxForm::Request => {
            let Ok(request) = serde_json::from_slice::<Json>(delivery.bytes) else { return views };
            let text = |name: &str| request.get(name).and_then(Json::as_str).unwrap_or_default();
            views.push(text("body").as_bytes().to_vec());
            if let Ok(body) = serde_json::from_str::<Json>(text("body")) {
                texts_of_body(&body, &mut views);
            }
            if let Ok(url) = Url::parse(text("url")) {
                // The encoded text of a segment has neither `&` nor `=`, so that it is one name without a value.
                let segments = url.path_segments().into_iter().flatten();
                let segments = segments.flat_map(|segment| form_urlencoded::parse(segment.as_bytes()));
                let parts = segments.chain(url.query_pairs()).flat_map(|(name, value)| [name, value]);
                views.extend(parts.map(|part| part.as_bytes().to_vec()));
            }
        }
    }
    views
}

fn texts_of_body(body: &Json, views: &mut Vec<Vec<u8>>) {
    match body {
        Json::String(text) => views.push(text.as_bytes().to_vec()),
        Json::Array(items) => items.iter().for_each(|item| texts_of_body(item, views)),
        Json::Object(fields) => fields.values().for_each(|item| texts_of_body(item, views)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
