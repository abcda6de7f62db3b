//! Proposals: changes of a book that wait for a person.
//!
//! A proposal is the folder `proposed/ID` of a book. It holds `proposal.toml` and the new files in the book's own
//! layout. The id is a hash over `proposal.toml`, which holds the hash of each file: if anybody edits a proposal after
//! it was made, its id no longer fits.
//!
//! Invariants: a proposal is outside text. No prompt is made of it, no lock and no trust covers it, and only a person at
//! a terminal moves its files into the book. Its files lie below the one prompt that it is about.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proem_engine::run::Time;
use proem_guard::show;
use proem_runtime::files::{self, FileAccess, FileContent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::journal::make_book;
use crate::error::Error;
use crate::project::{BOOK_FILE_ENDINGS, PROPOSED};
use crate::trust::{MAX_FILE_BYTES, sha256_hex};
use crate::when::rfc3339;

/// The version of the form of `proposal.toml`.
const FORM: u32 = 1;
/// The description's name in a proposal's folder.
const DESCRIPTION: &str = "proposal.toml";
/// The hexadecimal digits of an id: 64 bits of the hash.
const ID_DIGITS: usize = 16;
/// The most proposals of a book that are read.
const MAX_PROPOSALS: usize = 500;
/// The most files of one proposal.
const MAX_FILES: usize = 64;
/// The most characters of a reason or of a line of evidence.
pub(super) const MAX_LINE: usize = 2000;
/// The most lines of evidence.
const MAX_EVIDENCE: usize = 200;

/// The description of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// The version of the form.
    pub form: u32,
    /// The proposer.
    pub by: String,
    /// When it was made, by RFC 3339.
    pub made: String,
    /// The proposer's reason.
    pub because: String,
    /// The measurements, one line each, and who made them.
    pub evidence: Vec<String>,
    /// The proposed change.
    pub change: ProposedChange,
    /// SHA-256 of each new file, by its path in the book.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// The change that an approval makes to a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
pub enum ProposedChange {
    /// A new version enters the book.
    Version {
        /// `agent/name`.
        prompt: String,
        /// Three numbers.
        version: String,
        /// The version that it is compared with.
        base: ProposalBase,
    },
    /// A version of the book becomes the current one.
    Current {
        /// `agent/name`.
        prompt: String,
        /// Three numbers.
        version: String,
        /// The version that it is compared with.
        base: ProposalBase,
    },
    /// A threshold that the user keeps for a project gets another value.
    Threshold {
        /// The setting's key, such as `risk.coupling.second`.
        setting: String,
        /// Its value when the proposal was made, as TOML.
        from: String,
        /// The proposed value, as TOML.
        to: String,
        /// The project, by [`project_mark`].
        #[serde(default)]
        project: String,
    },
    /// A version's wording should be improved. An approval changes nothing in the book.
    Revision {
        /// `agent/name`.
        prompt: String,
        /// The version in use, whose runs are the reason.
        version: String,
        /// The project of these runs, by [`project_mark`].
        project: String,
    },
}

/// The mark of a project in proposals: 64 bits of the hash of its key, which may be a path that nobody else should see.
#[must_use]
pub fn project_mark(key: &str) -> String {
    sha256_hex(key.as_bytes()).chars().take(ID_DIGITS).collect()
}

/// The state of the book that a proposal was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalBase {
    /// The version that was current.
    pub version: String,
    /// The hash of its closure.
    pub closure: String,
}

/// A proposal to write.
#[derive(Debug, Clone)]
pub struct ProposalDraft<'d> {
    /// The proposer. Of a model's proposal, the person who started it.
    pub by: &'d str,
    /// When.
    pub made: Time,
    /// The reason.
    pub because: &'d str,
    /// The measurements, one line each.
    pub evidence: Vec<String>,
    /// The proposed change.
    pub change: ProposedChange,
    /// The text of each new file, by its path in the book.
    pub files: BTreeMap<String, String>,
}

/// A proposal as it is in a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProposal {
    /// Its id, which is its folder's name.
    pub id: String,
    /// Its description.
    pub proposal: Proposal,
    /// The text of each new file, by its path in the book.
    pub files: BTreeMap<String, String>,
}

/// A folder below `proposed` that is no proposal as it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenProposal {
    /// The folder's name, escaped for display.
    pub id: String,
    /// Everything that is wrong with it.
    pub problems: Vec<String>,
}

/// The folders below `proposed`.
#[derive(Debug, Clone, Default)]
pub struct Proposals {
    /// Those that are as they were made, by id.
    pub whole: Vec<StoredProposal>,
    /// The others.
    pub broken: Vec<BrokenProposal>,
}

impl ProposedChange {
    /// The prompt or the setting that it is about.
    #[must_use]
    pub fn about(&self) -> String {
        match self {
            Self::Version { prompt, .. } | Self::Current { prompt, .. } => prompt.clone(),
            Self::Threshold { setting, project, .. } => format!("{setting} in project {project}"),
            Self::Revision { prompt, project, .. } => format!("the wording of {prompt} in project {project}"),
        }
    }

    /// The change in words, escaped for display.
    #[must_use]
    pub fn in_words(&self) -> String {
        let shown = |text: &str| show::terminal_str(text).into_string();
        match self {
            Self::Version { prompt, version, base } => {
                format!("new version {}@{}, made from {}", shown(prompt), shown(version), shown(&base.version))
            }
            Self::Current { prompt, version, base } => {
                format!("{} {} → {} as the version in use", shown(prompt), shown(&base.version), shown(version))
            }
            Self::Threshold { setting, from, to, .. } => {
                format!("{} {} → {}", shown(setting), shown(from), shown(to))
            }
            Self::Revision { prompt, version, .. } => {
                format!("a better wording of {}, of which {} is in use", shown(prompt), shown(version))
            }
        }
    }
}

impl Proposal {
    /// The problems of its words and names, whatever its files hold.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.form != FORM {
            problems.push(format!("it has form {}, and this Proem knows form {FORM}", self.form));
        }
        let lines = self.evidence.iter().chain([&self.because, &self.by]);
        if lines.clone().any(|line| line.chars().count() > MAX_LINE) || self.evidence.len() > MAX_EVIDENCE {
            problems.push(format!(
                "its words are too long; a reason and a line of evidence have at most {MAX_LINE} characters, and there \
                 are at most {MAX_EVIDENCE} lines"
            ));
        }
        if self.by.trim().is_empty() || self.because.trim().is_empty() {
            problems.push("it names no proposer or no reason".to_owned());
        }
        if self.files.len() > MAX_FILES {
            problems.push(format!("it has more than {MAX_FILES} files"));
        }
        match &self.change {
            ProposedChange::Version { prompt, version, .. } => {
                if !is_prompt_name(prompt) {
                    problems.push(format!("`{}` is no prompt `agent/name`", show::terminal_str(prompt)));
                }
                let own = format!("{prompt}/{version}.prompt");
                if !self.files.contains_key(&own) {
                    problems.push(format!("it has no file `{}`", show::terminal_str(&own)));
                }
                let outside = self.files.keys().filter(|path| !is_file_of(path, prompt));
                problems.extend(outside.map(|path| {
                    format!("`{}` is no file of the prompt's own folder in a book", show::terminal_str(path))
                }));
            }
            ProposedChange::Current { prompt, .. } | ProposedChange::Revision { prompt, .. } => {
                if !is_prompt_name(prompt) {
                    problems.push(format!("`{}` is no prompt `agent/name`", show::terminal_str(prompt)));
                }
                if !self.files.is_empty() {
                    problems.push("it has files, but proposes no new version".to_owned());
                }
            }
            ProposedChange::Threshold { setting, .. } => {
                let is_key = |part: &str| !part.is_empty() && part.bytes().all(is_part_of_name);
                if !setting.split('.').all(is_key) {
                    problems.push(format!("`{}` is no key of a setting", show::terminal_str(setting)));
                }
                if !self.files.is_empty() {
                    problems.push("it has files, but proposes a setting".to_owned());
                }
            }
        }
        problems
    }
}

/// The id that a proposal has once it is written, and the text of its `proposal.toml`. The same draft has the same.
///
/// # Errors
///
/// If a name, a path or a text is not one that a proposal may have.
pub(super) fn describe_proposal(draft: &ProposalDraft<'_>) -> Result<(String, String), Error> {
    let proposal = Proposal {
        form: FORM,
        by: draft.by.to_owned(),
        made: rfc3339(draft.made),
        because: draft.because.to_owned(),
        evidence: draft.evidence.clone(),
        change: draft.change.clone(),
        files: draft.files.iter().map(|(path, text)| (path.clone(), sha256_hex(text.as_bytes()))).collect(),
    };
    let mut problems = proposal.problems();
    problems.extend(draft.files.iter().filter(|(_, text)| text.len() > MAX_FILE_BYTES).map(|(path, _)| {
        format!("`{}` is larger than the {MAX_FILE_BYTES} bytes that can be reviewed", show::terminal_str(path))
    }));
    if !problems.is_empty() {
        return Err(Error::invalid(format!("nothing was proposed: {}", problems.join("\n  "))));
    }
    let text = toml::to_string(&proposal).map_err(|error| Error::bug(DESCRIPTION, error))?;
    Ok((proposal_id(text.as_bytes()), text))
}

/// Removes the folder of a proposal.
///
/// # Errors
///
/// If the disk refuses.
pub(super) fn remove_proposal(book: &Path, id: &str) -> Result<(), Error> {
    let folder = book.join(PROPOSED).join(id);
    std::fs::remove_dir_all(&folder).map_err(|error| {
        let shown = show::terminal_str(&folder.display().to_string()).into_string();
        Error::outside(format!("could not remove `{shown}`: {error}"))
    })
}

/// Writes a proposal into the book at `book`. Writing the same proposal twice changes nothing.
///
/// # Errors
///
/// If a name, a path or a text is not one that a proposal may have, or the files can't be written.
pub fn write_proposal(book: &Path, draft: &ProposalDraft<'_>) -> Result<StoredProposal, Error> {
    let (id, text) = describe_proposal(draft)?;
    let below = Path::new(PROPOSED).join(&id);
    make_book(book)?;
    // A folder without a description is a proposal that is still being written.
    let own = [(DESCRIPTION.to_owned(), &text)];
    for (path, text) in draft.files.iter().map(|(path, text)| (path.clone(), text)).chain(own) {
        match files::write_new(book, &below.join(&path), text.as_bytes(), FileAccess::Shared) {
            // The id covers each byte, so that the check of a stored proposal finds a file that is another one.
            Ok(()) | Err(proem_runtime::Error::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    read_proposal(book, &id)?.map_err(|broken| {
        Error::invalid(format!("proposal {} can't be used: {}", broken.id, broken.problems.join("; ")))
    })
}

/// Reads the proposals of the book at `book`. A book without any has none.
///
/// # Errors
///
/// If the folder can't be read, or has too many.
pub fn read_proposals(book: &Path) -> Result<Proposals, Error> {
    let folder = book.join(PROPOSED);
    let shown = || show::terminal_str(&folder.display().to_string()).into_string();
    match folder.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Proposals::default()),
        Ok(metadata) if metadata.is_dir() => {}
        _ => return Err(Error::invalid(format!("`{}` is not a folder; move it elsewhere", shown()))),
    }
    let unread = |error: std::io::Error| Error::outside(format!("could not read `{}`: {error}", shown()));
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).map_err(unread)? {
        names.insert(entry.map_err(unread)?.file_name().to_string_lossy().into_owned());
        if names.len() > MAX_PROPOSALS {
            return Err(Error::invalid(format!("`{}` has more than {MAX_PROPOSALS} proposals", shown())));
        }
    }
    let mut proposals = Proposals::default();
    for name in names.iter().filter(|name| !name.starts_with('.')) {
        match read_proposal(book, name)? {
            Ok(stored) => proposals.whole.push(stored),
            Err(broken) => proposals.broken.push(broken),
        }
    }
    Ok(proposals)
}

/// Reads one proposal, by its id.
///
/// # Errors
///
/// If the disk fails.
pub fn read_proposal(book: &Path, id: &str) -> Result<Result<StoredProposal, BrokenProposal>, Error> {
    let broken = |problems: Vec<String>| BrokenProposal { id: show::terminal_str(id).into_string(), problems };
    if id.len() != ID_DIGITS || !id.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()) {
        return Ok(Err(broken(vec![format!("its name is not the id of a proposal, {ID_DIGITS} hexadecimal digits")])));
    }
    let below = Path::new(PROPOSED).join(id);
    let text = match proposal_text(book, &below.join(DESCRIPTION)) {
        Ok(text) => text,
        Err(problem) => return Ok(Err(broken(vec![problem]))),
    };
    if proposal_id(text.as_bytes()) != id {
        let remedy = "make a new proposal of the changed files";
        return Ok(Err(broken(vec![format!("`{DESCRIPTION}` was edited after the proposal was made; {remedy}")])));
    }
    let proposal: Proposal = match toml::from_str(&text) {
        Ok(proposal) => proposal,
        Err(error) => {
            let why = show::terminal_str(error.message()).into_string();
            return Ok(Err(broken(vec![format!("`{DESCRIPTION}`: {why}")])));
        }
    };
    let mut problems = proposal.problems();
    if !problems.is_empty() {
        return Ok(Err(broken(problems)));
    }
    let mut texts = BTreeMap::new();
    for (path, hash) in &proposal.files {
        match proposal_text(book, &below.join(path)) {
            Err(problem) => problems.push(problem),
            Ok(text) if sha256_hex(text.as_bytes()) != *hash => {
                problems.push(format!("`{}` was edited after the proposal was made", show::terminal_str(path)));
            }
            Ok(text) => _ = texts.insert(path.clone(), text),
        }
    }
    problems.extend(foreign_files(&book.join(&below), &proposal)?);
    Ok(if problems.is_empty() {
        Ok(StoredProposal { id: id.to_owned(), proposal, files: texts })
    } else {
        Err(broken(problems))
    })
}

/// Entries of a proposal's folder that it does not name, links among them.
fn foreign_files(folder: &Path, proposal: &Proposal) -> Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    let mut folders = vec![String::new()];
    let mut entries_left = MAX_FILES.saturating_mul(4);
    while let Some(below) = folders.pop() {
        let at = folder.join(&below);
        let unread = |error: std::io::Error| {
            Error::outside(format!("could not read `{}`: {error}", show::terminal_str(&at.display().to_string())))
        };
        for entry in std::fs::read_dir(&at).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let Some(left) = entries_left.checked_sub(1) else {
                problems.push("its folder has too many entries".to_owned());
                return Ok(problems);
            };
            entries_left = left;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            let is_parent = proposal.files.keys().any(|file| file.starts_with(&format!("{path}/")));
            let kind = entry.file_type().map_err(unread)?;
            if kind.is_dir() && is_parent {
                folders.push(path);
            } else if !(kind.is_file() && (path == DESCRIPTION || proposal.files.contains_key(&path))) {
                problems.push(format!("`{}` is not a part of the proposal", show::terminal_str(&path)));
            }
        }
    }
    problems.sort();
    Ok(problems)
}

fn proposal_text(book: &Path, path: &Path) -> Result<String, String> {
    let shown = show::terminal_str(&path.display().to_string()).into_string();
    match files::read_beneath(book, path, MAX_FILE_BYTES) {
        Ok(Some(FileContent::Whole(bytes))) => String::from_utf8(bytes).map_err(|_| format!("`{shown}` is not UTF-8")),
        Ok(Some(FileContent::Cut(_))) => Err(format!("`{shown}` is larger than {MAX_FILE_BYTES} bytes")),
        Ok(None) => Err(format!("`{shown}` is missing")),
        Err(error) => Err(show::terminal_str(&error.to_string()).into_string()),
    }
}

fn proposal_id(description: &[u8]) -> String {
    sha256_hex(description).chars().take(ID_DIGITS).collect()
}

const fn is_part_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Whether a text is `agent/name`, of plain names.
#[must_use]
pub fn is_prompt_name(text: &str) -> bool {
    let is_name = |name: &str| (1..=64).contains(&name.len()) && name.bytes().all(is_part_of_name);
    text.split_once('/').is_some_and(|(agent, name)| is_name(agent) && is_name(name)) && !text.starts_with(PROPOSED)
}

/// Whether a path is a file in the folder of a prompt, and neither a lock nor a manifest.
fn is_file_of(path: &str, prompt: &str) -> bool {
    let name = path.strip_prefix(prompt).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| {
        let is_plain = name.bytes().all(|byte| is_part_of_name(byte) || matches!(byte, b'.' | b'@'));
        let is_known = BOOK_FILE_ENDINGS.iter().any(|ending| name.ends_with(ending));
        is_plain && is_known && !name.starts_with('.') && !name.ends_with(".lock") && !name.ends_with(".toml")
    })
}

#[cfg(test)]
mod tests;
