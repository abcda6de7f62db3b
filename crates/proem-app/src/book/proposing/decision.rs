//! Proposals of a book as a person decides about them.

use std::collections::BTreeMap;

use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::file::PartialText;
use proem_guard::show;
use proem_runtime::files::{self, FileAccess};

use super::{ApprovalResult, CheckedProposal, outside_text};
use crate::book::journal::{Journal, JournalDecision};
use crate::book::promotion::{DecidedBook, DecisionReason, InterfaceConsent};
use crate::book::proposals::{Proposals, ProposedChange, StoredProposal, read_proposals, remove_proposal};
use crate::error::Error;
use crate::operator::{Displayed, Operator};
use crate::project::BookReading;
use crate::risk::feedback::ThresholdChange;

impl DecidedBook {
    /// The book with further files laid over it.
    pub(super) fn with_files(&self, files: &BTreeMap<String, String>) -> Result<Book, Error> {
        let mut layers = self.book().layers().to_vec();
        let texts = files.iter().map(|(path, text)| (path.clone(), PartialText::Template(text.clone())));
        layers.push(BookLayer { origin: self.origin(), files: texts.collect() });
        Ok(Book::new(layers)?)
    }

    /// The only proposal.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn only_proposal(&self) -> Result<StoredProposal, Error> {
        let mut whole = read_proposals(&self.folder)?.whole.into_iter();
        match (whole.next(), whole.len()) {
            (Some(stored), 0) => Ok(stored),
            (None, _) => Err(Error::negative(format!("there is no proposal in `{}`", self.shown_path()))),
            (Some(_), more) => Err(Error::invalid(format!(
                "there are {} proposals; name one by the beginning of its id, which `proem book proposals` shows",
                more.saturating_add(1)
            ))),
        }
    }

    /// Finds the one proposal whose id begins like that.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn find_proposal(&self, id: &str) -> Result<StoredProposal, Error> {
        let shown = show::terminal_str(id).into_string();
        let Proposals { whole, broken } = read_proposals(&self.folder)?;
        if let Some(broken) = broken.iter().find(|broken| broken.id == id) {
            let problems = broken.problems.join("; ");
            return Err(Error::negative(format!("proposal {shown} can't be decided: {problems}")));
        }
        let mut found = whole.into_iter().filter(|stored| !id.is_empty() && stored.id.starts_with(id));
        match (found.next(), found.next()) {
            (Some(stored), None) => Ok(stored),
            (None, _) => Err(Error::negative(format!(
                "there is no proposal `{shown}` in `{}`; `proem book proposals` lists them",
                self.shown_path()
            ))),
            _ => Err(Error::invalid(format!("`{shown}` begins the ids of several proposals; write more of it"))),
        }
    }

    /// Approves a proposal that a person at a terminal was shown to its end.
    ///
    /// # Errors
    ///
    /// If it has problems, its proposer may not approve it, or a file can't be written.
    pub fn approve(
        &self,
        proposal: &CheckedProposal,
        operator: &Operator,
        _displayed: &Displayed,
        reason: DecisionReason<'_>,
    ) -> Result<ApprovalResult, Error> {
        self.accept(proposal, &operator.actor().id, reason)
    }

    pub(in crate::book) fn accept(
        &self,
        proposal: &CheckedProposal,
        by: &str,
        reason: DecisionReason<'_>,
    ) -> Result<ApprovalResult, Error> {
        let id = &proposal.stored.id;
        let obstacles = proposal.obstacles();
        if !obstacles.is_empty() {
            let problems = obstacles.join("\n  ");
            return Err(Error::negative(format!("proposal {id} can't be approved: {problems}")));
        }
        // Files that nobody trusts may ask for more persons, never for fewer.
        let whole = Self::open_reading(self.root_folder(), &self.project().places, self.choice(), BookReading::All)?;
        let persons = self.book().approving_persons().max(whole.book().approving_persons());
        proposal.require_second_person(persons, by)?;
        let result = match &proposal.stored.proposal.change {
            change @ ProposedChange::Threshold { setting, from, to, .. } => {
                let words = change.in_words();
                let change = ThresholdChange::parse(setting, from, to).map_err(Error::negative)?;
                change.put_in_force(self.project())?;
                ApprovalResult::ThresholdSet { change: words }
            }
            ProposedChange::Revision { prompt, .. } => ApprovalResult::RevisionWanted { prompt: prompt.clone() },
            ProposedChange::Current { prompt, version, .. } => {
                let version = format!("{prompt}@{version}");
                let plan = self.plan_promotion(&version, InterfaceConsent::Same)?;
                self.carry_out(&plan, by, reason)?;
                ApprovalResult::Promoted { version }
            }
            ProposedChange::Version { prompt, version, .. } => {
                self.pin_current(prompt)?;
                self.enter_files(&proposal.stored.files)?;
                ApprovalResult::Entered { version: format!("{prompt}@{version}") }
            }
        };
        let decision = JournalDecision::Approved { proposal: id.clone() };
        self.append(&proposal.stored.proposal.change.about(), &decision, by, reason)?;
        remove_proposal(&self.folder, id)?;
        Ok(result)
    }

    /// Rejects a proposal.
    ///
    /// # Errors
    ///
    /// If the journal can't be written, or the folder not be removed.
    pub fn reject(
        &self,
        proposal: &StoredProposal,
        operator: &Operator,
        reason: DecisionReason<'_>,
    ) -> Result<(), Error> {
        self.turn_down(proposal, &operator.actor().id, reason)
    }

    pub(in crate::book) fn turn_down(
        &self,
        proposal: &StoredProposal,
        by: &str,
        reason: DecisionReason<'_>,
    ) -> Result<(), Error> {
        if Journal::load(&self.folder)?.verdict(&proposal.id).is_none() {
            let decision = JournalDecision::Rejected { proposal: proposal.id.clone() };
            self.append(&proposal.proposal.change.about(), &decision, by, reason)?;
        }
        remove_proposal(&self.folder, &proposal.id)
    }

    /// Writes new files into the book, and its lock.
    fn enter_files(&self, texts: &BTreeMap<String, String>) -> Result<(), Error> {
        for (path, text) in texts {
            let below = self.below().join(path);
            match files::write_new(self.root_folder(), &below, text.as_bytes(), FileAccess::Shared) {
                Ok(()) => {}
                // A crash may have left the same file.
                Err(proem_runtime::Error::Exists { .. })
                    if outside_text(&self.root_folder().join(&below))?.as_deref() == Some(text) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // The person saw each of them to its end.
        let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        self.trust_files(&texts)?;
        self.lock()
    }
}
