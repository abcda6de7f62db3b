//! Proposals of a book: made, checked, approved and rejected.
//!
//! Invariants: a proposal enters the book only by a person at a terminal who was shown all of it. Before a new version
//! enters, the version in use is written into `book.toml`, so that a newer file moves nothing. Each step can be
//! repeated after a crash: files first, then the lock, the journal's line and the end of the folder.

mod decision;
mod money;
mod trial;

use std::collections::BTreeMap;
use std::path::Path;

use proem_engine::prompt::book::Book;
use proem_engine::prompt::check::check_book;
use proem_engine::prompt::origin::Origin;
use proem_engine::run::Time;
use proem_engine::tokens::OpenAi;
use proem_guard::show;
use proem_runtime::files::{self, FileContent};
use proem_text::diagnostic::DiagnosticSeverity;
use proem_text::shorten_text;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::money::cost_in_words;
use super::diff::{BookDifference, compare_versions};
use super::journal::Journal;
use super::promotion::DecidedBook;
use super::proposals::{
    MAX_LINE, ProposalBase, ProposalDraft, Proposals, ProposedChange, StoredProposal, is_prompt_name, project_mark,
    read_proposals, write_proposal,
};
use super::test::{AssemblyState, suites};
use crate::error::Error;
use crate::project::{OpenProject, PROPOSED};
use crate::risk::feedback::ThresholdChange;
use crate::trust::MAX_FILE_BYTES;

/// The schemas, cases and partials that may lie beside a proposed prompt file.
const BESIDE: [&str; 4] = [".prompt", ".json", ".yaml", ".csv"];

/// A proposal to make.
#[derive(Debug, Clone, Copy)]
pub struct ProposalWish<'w> {
    /// A prompt file, or `agent/name@version` of a version in the book.
    pub what: &'w str,
    /// The prompt of a file, if its folder does not say it.
    pub prompt: Option<&'w str>,
    /// The proposer.
    pub by: &'w str,
    /// When.
    pub at: Time,
    /// Why.
    pub because: &'w str,
}

/// A proposal with what was found out about it.
#[derive(Debug)]
pub struct CheckedProposal {
    /// The proposal.
    pub stored: StoredProposal,
    /// Why it does not fit the book.
    pub problems: Vec<String>,
    /// The unmet expectations of its prompt's cases.
    pub failed_cases: Vec<String>,
    /// The differences from its base. `None` for a setting, or if the versions can't be compared.
    pub difference: Option<BookDifference>,
    /// Its prompt's cases.
    pub cases: CaseCounts,
    /// The cost of both versions' calls, in words. `None` if they can't be compared.
    pub cost: Option<String>,
}

/// A proposal that fits the book and is not written yet.
#[derive(Debug)]
pub struct PreparedProposal {
    change: ProposedChange,
    files: BTreeMap<String, String>,
    evidence: Vec<String>,
}

/// How many cases of a prompt held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CaseCounts {
    /// Those that held.
    pub passed: usize,
    /// All.
    pub all: usize,
}

/// The proposals of a book, checked.
#[derive(Debug, Default)]
pub struct CheckedProposals {
    /// Those that are as they were made, by id.
    pub whole: Vec<CheckedProposal>,
    /// Folders that are no proposal as it was made, and journal problems and conflicts, in words.
    pub problems: Vec<String>,
}

/// The change that an approval made to a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalResult {
    /// A version entered the book, locked, and is not in use yet.
    Entered {
        /// `agent/name@version`.
        version: String,
    },
    /// A version became the current one.
    Promoted {
        /// `agent/name@version`.
        version: String,
    },
    /// A threshold of this project has another value.
    ThresholdSet {
        /// Its key, with the value before and the one from then on.
        change: String,
    },
    /// A person wants a better wording. Nothing changed.
    RevisionWanted {
        /// `agent/name`.
        prompt: String,
    },
}

/// Makes a proposal for a book, with the results of its prompt's cases as evidence. Nothing is written.
///
/// # Errors
///
/// If the file or version is not there, names no prompt, is not newer, or does not read as a prompt.
pub fn prepare_proposal(book: &DecidedBook, wish: &ProposalWish<'_>) -> Result<PreparedProposal, Error> {
    let (change, files) = match wish.what.split_once('@') {
        Some((prompt, version)) if is_prompt_name(prompt) && !Path::new(wish.what).exists() => {
            book.book().as_it_is(prompt, version)?;
            let (prompt, version) = (prompt.to_owned(), version.to_owned());
            let base = current_base(book.book(), &prompt)?;
            (ProposedChange::Current { prompt, version, base }, BTreeMap::new())
        }
        _ => proposed_version(book, wish)?,
    };
    let trial = StoredProposal {
        id: String::new(),
        proposal: super::proposals::Proposal {
            form: 1,
            by: wish.by.to_owned(),
            made: String::new(),
            because: wish.because.to_owned(),
            evidence: Vec::new(),
            change: change.clone(),
            files: BTreeMap::new(),
        },
        files: files.clone(),
    };
    let checked = check_proposal(book, trial)?;
    if !checked.problems.is_empty() {
        return Err(Error::invalid(format!("nothing was proposed: {}", checked.problems.join("\n  "))));
    }
    let mut evidence = vec![checked.cases.in_words()];
    evidence.extend(checked.failed_cases);
    evidence.extend(checked.difference.as_ref().map(token_words));
    evidence.extend(checked.cost);
    Ok(PreparedProposal { change, files, evidence })
}

impl PreparedProposal {
    /// Writes the proposal into the book, with more lines of evidence.
    ///
    /// # Errors
    ///
    /// If the files can't be written.
    pub fn write(
        self,
        book: &DecidedBook,
        wish: &ProposalWish<'_>,
        measured: Vec<String>,
    ) -> Result<StoredProposal, Error> {
        let Self { change, files, mut evidence } = self;
        evidence.extend(measured.into_iter().map(|line| shorten_text(&line, MAX_LINE.saturating_sub(1)).into_owned()));
        let draft = ProposalDraft { by: wish.by, made: wish.at, because: wish.because, evidence, change, files };
        write_proposal(&book.folder, &draft)
    }
}

/// The change and the files of a prompt file that is a new version.
fn proposed_version(
    book: &DecidedBook,
    wish: &ProposalWish<'_>,
) -> Result<(ProposedChange, BTreeMap<String, String>), Error> {
    let path = Path::new(wish.what);
    let shown = show::terminal_str(wish.what).into_string();
    let text = outside_text(path)?.ok_or_else(|| {
        Error::invalid(format!("`{shown}` is neither a file nor a version such as reviews/triage@1.2.0"))
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = std::fs::canonicalize(folder).map_err(|e| Error::outside(format!("could not open `{shown}`: {e}")))?;
    let mut names = whole.iter().rev().filter_map(|name| name.to_str());
    let by_folder = names.next().zip(names.next()).map(|(name, agent)| format!("{agent}/{name}"));
    let known = |prompt: &String| book.book().prompts().contains(prompt);
    let prompt = match wish.prompt {
        Some(prompt) => prompt.to_owned(),
        None => by_folder.filter(known).ok_or_else(|| {
            Error::invalid(format!(
                "the folder of `{shown}` names no prompt of the book; name it with --prompt AGENT/NAME"
            ))
        })?,
    };
    let version = proem_engine::prompt::book::loose_prompt("file", text.clone(), |_| Ok::<_, Error>(None))?.version;
    let base = current_base(book.book(), &prompt)?;
    if book.book().file(&format!("{prompt}/{version}.prompt")).is_some() {
        let (prompt, version) = (show::terminal_str(&prompt), show::terminal_str(&version));
        return Err(Error::invalid(format!(
            "the book has {prompt} {version} already; write another `proem.version` into `{shown}`, or propose \
             `{prompt}@{version}`"
        )));
    }
    let mut files = BTreeMap::new();
    for entry in
        std::fs::read_dir(folder).map_err(|e| Error::outside(format!("could not read the folder of `{shown}`: {e}")))?
    {
        let Some(name) = entry.ok().and_then(|entry| entry.file_name().to_str().map(str::to_owned)) else { continue };
        let called = name.strip_prefix('_').and_then(|rest| rest.strip_suffix(".prompt")).unwrap_or(&name);
        let is_beside = BESIDE.iter().any(|ending| name.ends_with(ending)) && path.file_name() != Some(name.as_ref());
        let inside = format!("{prompt}/{name}");
        if is_beside && text.contains(called) && book.book().file(&inside).is_none() {
            files.extend(outside_text(&folder.join(&name))?.map(|text| (inside, text)));
        }
    }
    files.insert(format!("{prompt}/{version}.prompt"), text);
    Ok((ProposedChange::Version { prompt, version, base }, files))
}

fn outside_text(path: &Path) -> Result<Option<String>, Error> {
    let shown = || show::terminal_str(&path.display().to_string()).into_string();
    match files::read_regular(path, MAX_FILE_BYTES)? {
        None => Ok(None),
        Some(FileContent::Whole(bytes)) => {
            String::from_utf8(bytes).map(Some).map_err(|_| Error::invalid(format!("`{}` is not UTF-8", shown())))
        }
        Some(FileContent::Cut(_)) => {
            Err(Error::invalid(format!("`{}` is larger than {MAX_FILE_BYTES} bytes", shown())))
        }
    }
}

/// The version in use of a prompt, with its closure.
///
/// # Errors
///
/// If the book has no such prompt.
pub fn current_base(book: &Book, prompt: &str) -> Result<ProposalBase, Error> {
    let version = book.current(prompt)?;
    let closure = book.as_it_is(prompt, &version)?.id.closure;
    Ok(ProposalBase { version, closure })
}

/// Checks every proposal of a book, and its journal.
///
/// # Errors
///
/// If the proposals or the journal can't be read.
pub fn check_proposals(book: &DecidedBook) -> Result<CheckedProposals, Error> {
    let Proposals { whole, broken } = read_proposals(&book.folder)?;
    let mut wanted: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for stored in &whole {
        if let ProposedChange::Version { prompt, version, .. } = &stored.proposal.change {
            wanted.entry((prompt.clone(), version.clone())).or_default().push(stored.id.clone());
        }
    }
    let mut checked = CheckedProposals::default();
    for stored in whole {
        let rivals: Vec<String> = match &stored.proposal.change {
            ProposedChange::Version { prompt, version, .. } => {
                let of = wanted.get(&(prompt.clone(), version.clone())).into_iter().flatten();
                of.filter(|id| **id != stored.id).cloned().collect()
            }
            _ => Vec::new(),
        };
        let mut proposal = check_proposal(book, stored)?;
        if !rivals.is_empty() {
            let rivals = rivals.join(", ");
            proposal.problems.push(format!("proposal {rivals} is about the same version; reject one of them"));
        }
        checked.whole.push(proposal);
    }
    for folder in broken {
        checked.problems.push(format!("{PROPOSED}/{}: {}", folder.id, folder.problems.join("; ")));
    }
    checked.problems.extend(journal_problems(&Journal::load(&book.folder)?));
    Ok(checked)
}

/// Lines of a journal that can't be read, and decisions that two machines made from the same state.
#[must_use]
pub fn journal_problems(journal: &Journal) -> Vec<String> {
    let conflicts = journal.conflicts().into_iter().map(|conflict| {
        format!(
            "two decisions about {} were made from the same state; promote the version that should be in use: {}",
            show::terminal_str(&conflict.prompt),
            conflict.decisions.join(" | ")
        )
    });
    journal.problems.iter().cloned().chain(conflicts).collect()
}

/// Checks one proposal: its base is unchanged, its files fit the book, and its prompt's cases hold.
///
/// # Errors
///
/// If the book or its journal can't be read.
pub fn check_proposal(book: &DecidedBook, stored: StoredProposal) -> Result<CheckedProposal, Error> {
    let mut checked = CheckedProposal {
        stored,
        problems: Vec::new(),
        failed_cases: Vec::new(),
        difference: None,
        cases: CaseCounts::default(),
        cost: None,
    };
    let id = checked.stored.id.clone();
    if let Some(entry) = Journal::load(&book.folder)?.verdict(&id).filter(|_| !id.is_empty()) {
        let words = entry.in_words();
        checked
            .problems
            .push(format!("it was decided already: {words}; `proem book reject {id}` removes what is left"));
    }
    match checked.stored.proposal.change.clone() {
        ProposedChange::Threshold { setting, from, to, project } => {
            let change = ThresholdChange::parse(&setting, &from, &to);
            checked.problems.extend(change.as_ref().err().cloned());
            if let Ok(change) = change {
                checked.problems.extend(threshold_problem(book, &change, &project)?);
            }
        }
        ProposedChange::Revision { prompt, version, .. } => {
            let now = book.book().current(&prompt).ok().filter(|now| *now != version);
            checked.problems.extend(now.map(|now| {
                let (version, prompt) = (show::terminal_str(&version), show::terminal_str(&prompt));
                format!("it is about {version}, and {prompt} {} is in use", show::terminal_str(&now))
            }));
        }
        ProposedChange::Current { prompt, version, base } => {
            checked.problems.extend(base_problem(book.book(), &prompt, &base));
            checked.examine(book.project(), book.book(), (&prompt, &version), &base);
        }
        ProposedChange::Version { prompt, version, base } => {
            checked.problems.extend(base_problem(book.book(), &prompt, &base));
            // The same file may be there: a crash can end an approval half-way.
            let has_other =
                |path: &String, text: &String| book.book().file(path).is_some_and(|(known, _)| known.as_str() != text);
            let known = checked.stored.files.iter().filter(|(path, text)| has_other(path, text));
            let known: Vec<String> = known
                .map(|(path, _)| {
                    format!("the book has `{}` already; use another name or version", show::terminal_str(path))
                })
                .collect();
            checked.problems.extend(known);
            let overlaid = book.with_files(&checked.stored.files)?;
            let name = format!("{prompt}@{version}");
            for remark in check_book(&overlaid, &OpenAi::O200k)? {
                if remark.prompt == name && remark.severity == DiagnosticSeverity::Error {
                    checked.problems.push(escape_lines(&remark.text));
                }
            }
            checked.examine(book.project(), &overlaid, (&prompt, &version), &base);
        }
    }
    Ok(checked)
}

/// Why a threshold can't be set by a proposal as it is.
fn threshold_problem(book: &DecidedBook, change: &ThresholdChange, project: &str) -> Result<Option<String>, Error> {
    // The authors of a project's files must not move the thresholds for their own changes.
    if book.origin() != Origin::User {
        return Ok(Some("a threshold is yours alone, and only a proposal in your own book can change it".to_owned()));
    }
    if project != project_mark(&book.project().key) {
        return Ok(Some("it is about another project; decide it in a folder of that project".to_owned()));
    }
    let now = change.in_force(book.project())?;
    Ok((now.to_bits() != change.from.to_bits())
        .then(|| format!("it was made when the value was {}, and {now} is in force; run the batch again", change.from)))
}

fn base_problem(book: &Book, prompt: &str, base: &ProposalBase) -> Option<String> {
    let shown = |text: &str| show::terminal_str(text).into_string();
    match current_base(book, prompt) {
        Ok(now) if now == *base => None,
        Ok(now) if now.version == base.version => {
            Some(format!("{} {} has changed since the proposal was made", shown(prompt), shown(&base.version)))
        }
        Ok(now) => Some(format!(
            "it was made from {}, and {} {} is in use; propose it anew",
            shown(&base.version),
            shown(prompt),
            shown(&now.version)
        )),
        Err(error) => Some(shown(&error.to_string())),
    }
}

impl CheckedProposal {
    /// Everything because of which it can't be approved as it is.
    #[must_use]
    pub fn obstacles(&self) -> Vec<&str> {
        self.problems.iter().chain(&self.failed_cases).map(String::as_str).collect()
    }

    /// Compares a version with its base and runs its cases.
    fn examine(&mut self, project: &OpenProject, book: &Book, (prompt, version): (&str, &str), base: &ProposalBase) {
        let name = format!("{prompt}@{version}");
        self.difference = compare_versions(book, &format!("{prompt}@{}", base.version), &name).ok();
        self.cost = self.difference.as_ref().map(|difference| cost_in_words(project, book, difference));
        // A prompt that names no cases has none that could fail.
        let has_cases = book.as_it_is(prompt, version).is_ok_and(|read| read.file.strict.cases.is_some());
        if !has_cases {
            return;
        }
        let results = suites(book, Some(&name)).and_then(|(suites, _)| {
            let bench = AssemblyState::new()?;
            suites.iter().map(|suite| suite.test(&bench)).collect::<Result<Vec<_>, _>>()
        });
        match results {
            Err(error) => self.problems.push(escape_lines(&error.to_string())),
            Ok(results) => {
                for case in results.into_iter().flatten() {
                    self.cases.all = self.cases.all.saturating_add(1);
                    self.cases.passed = self.cases.passed.saturating_add(usize::from(case.passed));
                    let named = show::terminal_str(&case.case).into_string();
                    let failed = case.problems.iter().map(|problem| escape_lines(problem));
                    self.failed_cases.extend(failed.map(|problem| format!("case `{named}`: {problem}")));
                }
            }
        }
    }

    /// Refuses a person who may not approve: the proposer, where the book asks for two persons. A person who is not
    /// known may be the proposer.
    fn require_second_person(&self, persons: u8, approver: &str) -> Result<(), Error> {
        let is_known = |name: &str| !name.trim().is_empty() && !name.eq_ignore_ascii_case("unknown");
        let by = &self.stored.proposal.by;
        if persons < 2 || (is_known(by) && is_known(approver) && !by.eq_ignore_ascii_case(approver)) {
            return Ok(());
        }
        Err(Error::negative(format!(
            "the book asks for {persons} persons, and {} proposed this; another person has to approve it",
            show::terminal_str(by)
        )))
    }
}

impl CaseCounts {
    /// The counts in words.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self { all: 0, .. } => "no cases".to_owned(),
            Self { passed, all } => format!("{passed} of {all} cases hold"),
        }
    }
}

/// A problem for a terminal, with its lines as they are: one of a file shows the line and marks the place.
fn escape_lines(problem: &str) -> String {
    let lines = problem.lines().map(|line| show::terminal_str(line).into_string());
    lines.collect::<Vec<_>>().join("\n  ")
}

/// The tokens of both versions' own text, in words.
fn token_words(difference: &BookDifference) -> String {
    let (before, after) = difference.own_tokens();
    format!("{before} → {after} tokens of the sections' own text")
}

#[cfg(test)]
mod tests;
