//! Promotion: a person makes a version of a prompt the current one, and takes that back.
//!
//! Invariants: only a person at a terminal moves a current version, and sees the evidence and the differences before.
//! The decision is in the journal before `book.toml` changes; after a crash between the two, the same command completes
//! the change without a second line. A version is promoted only if it is locked as it is and its files are trusted.
//! Promotion neither gains nor loses trust in anything but the one line that the person decided.

use std::path::{Path, PathBuf};

use proem_engine::prompt::book::experiment::contract_value;
use proem_engine::prompt::book::{Book, BookLayer, LockState};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::origin::Origin;
use proem_engine::run::Time;
use proem_guard::show;
use proem_runtime::files::{self, FileAccess, FileContent};
use serde_json::Value as Json;

use super::diff::{BookDifference, compare_versions};
use super::journal::{Journal, JournalDecision, JournalEntry, ManifestEdit, NewDecision, append_decision};
use super::lock::{find_books, lock_book};
use super::manifest::{differ_in_one_version, edit_current, manifest_before, named_version};
use crate::error::Error;
use crate::operator::Operator;
use crate::places::Places;
use crate::project::{BOOK, BookReading, OpenProject};
use crate::trust::{MAX_FILE_BYTES, TrustStore, sha256_hex};

/// The manifest's name in a book.
const MANIFEST: &str = "book.toml";
/// The lock's name in a book.
const LOCK: &str = "book.lock";

/// The book whose current version moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookChoice {
    /// The project's, if it has one, or else the user's.
    Nearest,
    /// The user's own.
    User,
}

/// The consent of a person to a version that takes other inputs or owes another answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterfaceConsent {
    /// Such a version is refused.
    Same,
    /// The person asked for it.
    MayDiffer,
}

/// A book that decisions change.
#[derive(Debug)]
pub struct DecidedBook {
    /// The folder that its files are below.
    pub folder: PathBuf,
    origin: Origin,
    /// The folder that no link leads out of, and the book's path below it.
    root: PathBuf,
    below: PathBuf,
    project: OpenProject,
    book: Book,
}

/// A version that is about to become the current one.
#[derive(Debug)]
pub struct PromotionPlan {
    /// `agent/name`.
    pub prompt: String,
    /// The version in use.
    pub from: String,
    /// The version that will be.
    pub to: String,
    /// The differences between the two.
    pub difference: BookDifference,
    /// The effect on providers' caches, in words.
    pub cache: String,
    /// The differences of inputs and contract, in words.
    pub interface: Vec<String>,
    edit: (String, ManifestEdit),
}

/// A promotion that is about to be taken back.
#[derive(Debug)]
pub struct DemotionPlan {
    /// `agent/name`.
    pub prompt: String,
    /// The version in use.
    pub from: String,
    /// The version that will be.
    pub to: String,
    /// Whether the bytes of `book.toml` before the promotion come back. Otherwise only its line does, because somebody
    /// edited the file since.
    pub is_exact: bool,
    /// The person's promotion, in words.
    pub promotion: String,
    text: Option<String>,
}

/// A person's reason and moment.
#[derive(Debug, Clone, Copy)]
pub struct DecisionReason<'r> {
    /// When.
    pub at: Time,
    /// Why, in the person's words.
    pub because: Option<&'r str>,
    /// SHA-256 of the evidence that was shown.
    pub evidence: Option<&'r str>,
}

/// The effect of a decision on trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustEffect {
    /// The file needs no trust, or is trusted while it is edited.
    None,
    /// The changed file is trusted, as the one before it was.
    Kept,
}

impl DecidedBook {
    /// The book of the project around a folder, or the user's.
    ///
    /// # Errors
    ///
    /// If the project can't be opened, or there is neither book.
    pub fn open(root: &Path, places: &Places, choice: BookChoice) -> Result<Self, Error> {
        Self::open_reading(root, places, choice, BookReading::Trusted)
    }

    /// The same with all files or only the trusted ones. Only with the trusted ones may anything be decided.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_reading(root: &Path, places: &Places, choice: BookChoice, reading: BookReading) -> Result<Self, Error> {
        let project = OpenProject::open(root, places, reading)?;
        if let Some(why) = &project.unread {
            return Err(Error::invalid(format!("{BOOK} can't be read: {why}")));
        }
        let is_folder = |path: PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        let own = project.root.clone().filter(|root| is_folder(root.join(".proem")) && is_folder(root.join(BOOK)));
        let (origin, root, below) = match (choice, own) {
            (BookChoice::Nearest, Some(root)) => (Origin::Project, root, PathBuf::from(BOOK)),
            _ => {
                (Origin::User, places.config.clone(), places.book().file_name().map(PathBuf::from).unwrap_or_default())
            }
        };
        let layers: Vec<BookLayer> = project.layers.iter().filter(|layer| layer.origin <= origin).cloned().collect();
        let book = Book::new(layers)?;
        Ok(Self { folder: root.join(&below), origin, root, below, project, book })
    }

    /// The book with all that is below it, as far as it is trusted.
    #[must_use]
    pub const fn book(&self) -> &Book {
        &self.book
    }

    /// The project that it was opened for.
    #[must_use]
    pub const fn project(&self) -> &OpenProject {
        &self.project
    }

    /// The author of the book's files.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// The folder that no link leads out of.
    pub(super) fn root_folder(&self) -> &Path {
        &self.root
    }

    /// The book's path below [`Self::root_folder`].
    pub(super) fn below(&self) -> &Path {
        &self.below
    }

    /// The choice that opens this book again.
    pub(super) const fn choice(&self) -> BookChoice {
        if matches!(self.origin, Origin::Project) { BookChoice::Nearest } else { BookChoice::User }
    }

    /// The book's path, escaped for display.
    #[must_use]
    pub fn shown_path(&self) -> String {
        show::terminal_str(&self.folder.display().to_string()).into_string()
    }

    /// Plans the promotion of `wanted`, `agent/name@version`.
    ///
    /// # Errors
    ///
    /// If there is no such version, its files are not trusted, it is not locked or was edited, it takes other inputs or
    /// owes another answer without consent, it is the current one, or `book.toml` can't be edited.
    pub fn plan_promotion(&self, wanted: &str, consent: InterfaceConsent) -> Result<PromotionPlan, Error> {
        let Some((prompt, to)) = wanted.split_once('@') else {
            let shown = show::terminal_str(wanted);
            return Err(Error::invalid(format!("`{shown}` names no version; write it like reviews/triage@1.2.0")));
        };
        self.require_locked(prompt, to)?;
        let from = self.book.current(prompt)?;
        let text = self.manifest()?;
        let named = text.as_deref().map_or(Ok(None), |text| named_version(text, prompt))?;
        if from == to && named.as_deref() == Some(to) {
            return Err(Error::negative(format!("{prompt} {to} is the version in use already")));
        }
        let (before, after) = (self.book.as_it_is(prompt, &from)?, self.book.as_it_is(prompt, to)?);
        let interface = interface_differences(&before, &after);
        if !interface.is_empty() && consent == InterfaceConsent::Same {
            return Err(Error::negative(format!(
                "{prompt} {to} is no drop-in for {from}: {}; what fills it and what reads its answer may break. If you \
                 have changed both, promote it with --although-interface-differs",
                interface.join("; ")
            )));
        }
        let difference = compare_versions(&self.book, &format!("{prompt}@{from}"), &format!("{prompt}@{to}"))?;
        let cache = cache_effect(&difference);
        let edit = edit_current(text.as_deref(), prompt, to)?;
        Ok(PromotionPlan { prompt: prompt.to_owned(), from, to: to.to_owned(), difference, cache, interface, edit })
    }

    /// Promotes what a person at a terminal has seen and agreed to.
    ///
    /// # Errors
    ///
    /// If the journal, `book.toml` or the trust store can't be written.
    pub fn promote(
        &self,
        plan: &PromotionPlan,
        operator: &Operator,
        reason: DecisionReason<'_>,
    ) -> Result<TrustEffect, Error> {
        self.carry_out(plan, &operator.actor().id, reason)
    }

    pub(super) fn carry_out(
        &self,
        plan: &PromotionPlan,
        by: &str,
        reason: DecisionReason<'_>,
    ) -> Result<TrustEffect, Error> {
        let (text, edit) = &plan.edit;
        let decision = JournalDecision::Promoted { from: plan.from.clone(), to: plan.to.clone(), edit: edit.clone() };
        let journal = Journal::load(&self.folder)?;
        // A crash after the line and before the change leaves a line that describes this very change.
        let is_recorded = journal.heads(&plan.prompt).iter().any(|(_, entry)| entry.decision == decision);
        if !is_recorded {
            self.append(&plan.prompt, &decision, by, reason)?;
        }
        self.replace_manifest(edit.before.as_deref(), Some(text))
    }

    /// Plans to take back the last promotion of `prompt` that still holds.
    ///
    /// # Errors
    ///
    /// If there is none, two machines decided from the same state, or another version than the promoted one is in use.
    pub fn plan_demotion(&self, prompt: &str) -> Result<DemotionPlan, Error> {
        let shown = show::terminal_str(prompt).into_string();
        let journal = Journal::load(&self.folder)?;
        if let Some(conflict) = journal.conflicts().into_iter().find(|conflict| conflict.prompt == prompt) {
            return Err(Error::negative(format!(
                "two decisions about {shown} were made from the same state: {}; promote the version that should be in \
                 use",
                conflict.decisions.join(" | ")
            )));
        }
        let Some(entry) = standing_promotion(&journal, prompt) else {
            return Err(Error::negative(format!("the journal of `{}` has no promotion of {shown}", self.shown_path())));
        };
        let JournalDecision::Promoted { from: before, to: promoted, edit } = &entry.decision else {
            return Err(Error::bug("demotion", "the standing promotion is another decision"));
        };
        let text = self.manifest()?;
        let now = text.as_deref().unwrap_or_default();
        if let Some(restored) = manifest_before(now, edit) {
            self.require_known(prompt, before)?;
            if !differ_in_one_version(restored.as_deref().unwrap_or_default(), now, prompt)? {
                return Err(Error::invalid(format!(
                    "the journal's line of {} would change more than the version of {shown}; edit `book.toml` by hand",
                    show::terminal_str(&entry.at)
                )));
            }
            return Ok(demotion(prompt, promoted, before, entry, (true, restored)));
        }
        if named_version(now, prompt)?.as_deref() != Some(promoted) {
            return Err(Error::negative(format!(
                "`book.toml` does not name {shown} {} any more, which was promoted; promote the version that should be \
                 in use",
                show::terminal_str(promoted)
            )));
        }
        self.require_known(prompt, before)?;
        let is_line = edit.removed.is_empty() && edit.inserted.starts_with('"');
        let mut parts = now.splitn(3, edit.inserted.as_str());
        let without = match (is_line, parts.next(), parts.next(), parts.next()) {
            (true, Some(head), Some(tail), None) => Some(format!("{head}{tail}")),
            _ => None,
        };
        let is_safe = |text: &String| differ_in_one_version(text, now, prompt).unwrap_or(false);
        let text = match without.filter(is_safe) {
            Some(text) => text,
            None => edit_current(Some(now), prompt, before)?.0,
        };
        Ok(demotion(prompt, promoted, before, entry, (false, Some(text))))
    }

    /// Takes back what a person at a terminal has seen and agreed to.
    ///
    /// # Errors
    ///
    /// If the journal, `book.toml` or the trust store can't be written.
    pub fn demote(
        &self,
        plan: &DemotionPlan,
        operator: &Operator,
        reason: DecisionReason<'_>,
    ) -> Result<TrustEffect, Error> {
        self.take_back(plan, &operator.actor().id, reason)
    }

    pub(super) fn take_back(
        &self,
        plan: &DemotionPlan,
        by: &str,
        reason: DecisionReason<'_>,
    ) -> Result<TrustEffect, Error> {
        let before = self.manifest()?.map(|text| sha256_hex(text.as_bytes()));
        // The file first: after a crash the promotion still stands in the journal, so that the command can be repeated.
        let effect = self.replace_manifest(before.as_deref(), plan.text.as_deref())?;
        let decision = JournalDecision::Demoted { from: plan.from.clone(), to: plan.to.clone() };
        self.append(&plan.prompt, &decision, by, reason)?;
        Ok(effect)
    }

    /// Appends a decision to the book's journal.
    pub(super) fn append(
        &self,
        about: &str,
        decision: &JournalDecision,
        by: &str,
        reason: DecisionReason<'_>,
    ) -> Result<(), Error> {
        let DecisionReason { at, because, evidence } = reason;
        let line = NewDecision { at, by, about, decision, because, evidence };
        append_decision(&self.folder, &self.project.places, &line)?;
        Ok(())
    }

    /// The text of `book.toml`. `None` if there is no file.
    ///
    /// A project's file that is there and not trusted decides nothing, so a change of it would decide nothing either.
    fn manifest(&self) -> Result<Option<String>, Error> {
        let path = self.below.join(MANIFEST);
        let text = match files::read_beneath(&self.root, &path, MAX_FILE_BYTES)? {
            None => return Ok(None),
            Some(FileContent::Whole(bytes)) => {
                String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{}` is not UTF-8", path.display())))?
            }
            Some(FileContent::Cut(_)) => {
                return Err(Error::invalid(format!("`{}` is larger than {MAX_FILE_BYTES} bytes", path.display())));
            }
        };
        if self.origin == Origin::Project && !self.is_trusted(MANIFEST, &text) {
            return Err(Error::negative(format!(
                "`{BOOK}/{MANIFEST}` is not trusted, so it decides nothing; review it with `proem trust` first"
            )));
        }
        Ok(Some(text))
    }

    fn is_trusted(&self, path: &str, text: &str) -> bool {
        self.project.trust.is_trusted(&format!("{BOOK}/{path}"), &sha256_hex(text.as_bytes()))
    }

    /// Puts another text in place of `book.toml`, unless somebody changed it meanwhile.
    fn replace_manifest(&self, before: Option<&str>, text: Option<&str>) -> Result<TrustEffect, Error> {
        let path = self.below.join(MANIFEST);
        let found = self.manifest()?;
        if found.as_ref().map(|text| sha256_hex(text.as_bytes())).as_deref() != before {
            return Err(Error::negative("`book.toml` was changed meanwhile; run the command again"));
        }
        match text {
            Some(text) => files::replace_file(&self.root, &path, text.as_bytes(), FileAccess::Shared)?,
            None => std::fs::remove_file(self.root.join(&path))
                .map_err(|error| Error::outside(format!("could not remove `{}`: {error}", path.display())))?,
        }
        if self.origin != Origin::Project {
            return Ok(TrustEffect::None);
        }
        let was_trusted = found.is_none_or(|found| {
            let hash = sha256_hex(found.as_bytes());
            self.project.trust.is_trusted_by_hash(&format!("{BOOK}/{MANIFEST}"), &hash)
        });
        let Some(text) = text.filter(|_| was_trusted) else { return Ok(TrustEffect::None) };
        self.trust_files(&[(MANIFEST, text)])?;
        Ok(TrustEffect::Kept)
    }

    /// Names the version in use in `book.toml`, unless it is named there, so that a newer file moves nothing.
    pub(super) fn pin_current(&self, prompt: &str) -> Result<(), Error> {
        let text = self.manifest()?;
        if text.as_deref().map_or(Ok(None), |text| named_version(text, prompt))?.is_some() {
            return Ok(());
        }
        let (text, edit) = edit_current(text.as_deref(), prompt, &self.book.current(prompt)?)?;
        self.replace_manifest(edit.before.as_deref(), Some(&text))?;
        Ok(())
    }

    /// Locks the book. A project's lock that was trusted, or is the first one, is trusted with its new lines.
    pub(super) fn lock(&self) -> Result<(), Error> {
        let lock_text = || match files::read_beneath(&self.root, &self.below.join(LOCK), MAX_FILE_BYTES)? {
            Some(FileContent::Whole(bytes)) => Ok::<_, Error>(String::from_utf8(bytes).ok()),
            _ => Ok(None),
        };
        let was_trusted = lock_text()?.is_none_or(|text| self.is_trusted(LOCK, &text));
        let targets = find_books(&self.root, &self.project.places)?;
        for target in targets.iter().filter(|target| target.folder() == self.folder) {
            lock_book(target)?;
        }
        match lock_text()? {
            Some(text) if was_trusted => self.trust_files(&[(LOCK, &text)]),
            _ => Ok(()),
        }
    }

    /// Trusts files of the project's book whose texts a person has just decided.
    pub(super) fn trust_files(&self, texts: &[(&str, &str)]) -> Result<(), Error> {
        if self.origin != Origin::Project {
            return Ok(());
        }
        let trusted: Vec<(String, Vec<u8>)> =
            texts.iter().map(|(path, text)| (format!("{BOOK}/{path}"), text.as_bytes().to_vec())).collect();
        TrustStore::new(self.project.places.state.clone()).trust(&self.project.key, &trusted)
    }

    /// Refuses a version that is not there, not trusted, not locked, or not as it was locked.
    fn require_locked(&self, prompt: &str, version: &str) -> Result<(), Error> {
        let found = self.book.versions()?.into_iter().find(|found| found.prompt == prompt && found.version == version);
        let Some(found) = found else {
            let file = format!("{prompt}/{version}.prompt");
            let is_there = files::read_beneath(&self.folder, Path::new(&file), MAX_FILE_BYTES);
            if self.origin == Origin::Project && matches!(is_there, Ok(Some(_))) {
                let shown = show::terminal_str(&file);
                return Err(Error::negative(format!(
                    "`{BOOK}/{shown}` is not trusted; review it with `proem trust` first"
                )));
            }
            return self.book.as_it_is(prompt, version).map(|_| ()).map_err(Error::from);
        };
        match found.state {
            LockState::Locked => Ok(()),
            LockState::Unlocked => Err(Error::negative(format!(
                "{prompt} {version} is not locked, so it could change after its promotion; run `proem book lock` first"
            ))),
            // Reading it to use it gives the error with the files that were changed.
            LockState::Edited => self.book.prompt(prompt, Some(version)).map(|_| ()).map_err(Error::from),
        }
    }

    /// Refuses to go back to a version that is no longer there.
    fn require_known(&self, prompt: &str, version: &str) -> Result<(), Error> {
        self.book.prompt(prompt, Some(version)).map(|_| ()).map_err(Error::from)
    }
}

fn demotion(
    prompt: &str,
    promoted: &str,
    before: &str,
    entry: &JournalEntry,
    (is_exact, text): (bool, Option<String>),
) -> DemotionPlan {
    DemotionPlan {
        prompt: prompt.to_owned(),
        from: promoted.to_owned(),
        to: before.to_owned(),
        is_exact,
        promotion: entry.in_words(),
        text,
    }
}

/// The last promotion of a prompt that no demotion took back.
fn standing_promotion<'j>(journal: &'j Journal, prompt: &str) -> Option<&'j JournalEntry> {
    let mut standing = Vec::new();
    for (_, entry) in journal.entries.iter().filter(|(_, entry)| entry.about == prompt) {
        match entry.decision {
            JournalDecision::Promoted { .. } => standing.push(entry),
            JournalDecision::Demoted { .. } => _ = standing.pop(),
            _ => {}
        }
    }
    standing.pop()
}

/// The differences between the inputs and the contracts of two versions, in words.
fn interface_differences(before: &Prompt, after: &Prompt) -> Vec<String> {
    let mut differences = Vec::new();
    let trust = |prompt: &Prompt| -> Vec<(String, String)> {
        let mut trust: Vec<(String, String)> =
            prompt.file.strict.inputs.iter().map(|(name, trust)| (name.clone(), format!("{trust:?}"))).collect();
        trust.sort();
        trust
    };
    let names = |prompt: &Prompt| -> Vec<String> {
        let schema = prompt.file.input_schema();
        let properties = schema.get("properties").and_then(Json::as_object);
        properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
    };
    let (first, second) = (names(before), names(after));
    let listed = |word: &str, names: Vec<&String>| {
        let names: Vec<String> = names.into_iter().map(|name| show::terminal_str(name).into_string()).collect();
        (!names.is_empty()).then(|| format!("it {word} the input {}", names.join(", ")))
    };
    differences.extend(listed("also takes", second.iter().filter(|name| !first.contains(name)).collect()));
    differences.extend(listed("no longer takes", first.iter().filter(|name| !second.contains(name)).collect()));
    if differences.is_empty() && before.file.input_schema() != after.file.input_schema() {
        differences.push("the schema of its inputs differs".to_owned());
    }
    if trust(before) != trust(after) {
        differences.push("it trusts other inputs".to_owned());
    }
    if contract_value(before) != contract_value(after) {
        differences.push("its answer has another contract".to_owned());
    }
    differences
}

/// The effect of a change of text on cached prefixes, in words.
fn cache_effect(difference: &BookDifference) -> String {
    let is_cached = |cache: &str| cache != "never";
    let mut kept = 0_usize;
    for row in &difference.sections {
        let cache = row.second.as_ref().or(row.first.as_ref()).map_or("never", |side| side.cache);
        if !row.is_same() && is_cached(cache) {
            let name = show::terminal_str(&row.name);
            return format!(
                "cached prefixes end before the section `{name}`, after {kept} tokens of text that stay the same; the \
                 first call with each prefix is written anew"
            );
        }
        kept = kept.saturating_add(row.first.as_ref().map_or(0, |side| side.tokens));
    }
    "no section that is cached changes, so cached prefixes stay valid".to_owned()
}

#[cfg(test)]
pub(super) mod tests;
