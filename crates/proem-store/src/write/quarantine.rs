//! Fields of signals that stay out until a person has looked.

use proem_text::json::compact;

use super::content::write_contents;
use super::person;
use crate::error::Error;
use crate::record::{NewQuarantine, QuarantineReview, QuarantineState};
use crate::sql::{Transaction, Write, params};
use crate::store::Store;

/// The outcome of an event for a field in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuarantineAnswer {
    /// It happened.
    Done,
    /// Nothing did, and nothing is written: the field is there already, or a person has said what it is.
    Stands,
}

impl Store {
    /// Keeps a field out. One that is there stays as it is: what a person released is not taken out again.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn quarantine(&self, item: NewQuarantine) -> Result<QuarantineAnswer, Error> {
        self.write(item).await
    }

    /// Writes what a person says of a field in quarantine, if nobody has before.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such a field, [`Error::Conflict`] unless a person says so or if it is neither
    /// released nor dismissed, [`Error::Unusable`].
    pub async fn review_quarantine(&self, review: QuarantineReview) -> Result<QuarantineAnswer, Error> {
        self.write(review).await
    }
}

impl Write for NewQuarantine {
    type Answer = QuarantineAnswer;
    const NAME: &'static str = "quarantine";

    fn write(&self, to: &mut Transaction<'_>) -> Result<QuarantineAnswer, Error> {
        let known = "SELECT 1 FROM quarantined WHERE (project, signal, revision, field) = (?, ?, ?, ?)";
        let id = (&self.project.0, &self.id.signal, &self.id.revision, &self.id.field);
        if to.tables.row(known, id, |_| Ok(()))?.is_some() {
            return Ok(QuarantineAnswer::Stands);
        }
        let at = to.at(self.at);
        write_contents(to.tables, [&self.text])?;
        to.tables.execute(
            "INSERT INTO quarantined (project, signal, revision, field, actor, at, text, findings, verdict, sender, \
             state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'quarantined')",
            params![
                self.project.0,
                self.id.signal,
                self.id.revision,
                self.id.field,
                self.actor.to_string(),
                at.0,
                self.text.hash,
                compact(&self.findings),
                self.verdict.as_str(),
                self.sender,
            ],
        )?;
        Ok(QuarantineAnswer::Done)
    }
}

impl Write for QuarantineReview {
    type Answer = QuarantineAnswer;
    const NAME: &'static str = "review-quarantine";

    fn write(&self, to: &mut Transaction<'_>) -> Result<QuarantineAnswer, Error> {
        person::must_be(&self.actor, "releases or dismisses what is in quarantine")?;
        if self.state == QuarantineState::Quarantined {
            let why = "a review releases or dismisses; say which of the two".to_owned();
            return Err(Error::Conflict(why));
        }
        let id = (&self.project.0, &self.id.signal, &self.id.revision, &self.id.field);
        let state = "SELECT state FROM quarantined WHERE (project, signal, revision, field) = (?, ?, ?, ?)";
        let state: Option<String> = to.tables.row(state, id, |row| row.get(0))?;
        match state.as_deref() {
            None => {
                let (signal, field) = (&self.id.signal, &self.id.field);
                let why = format!("`{field}` of the signal `{signal}` is not in quarantine; look at what is");
                Err(Error::NotFound(why.into()))
            }
            Some("quarantined") => {
                let at = to.at(self.at);
                to.tables.execute(
                    "UPDATE quarantined SET state = ?, settled = ?, settled_by = ? \
                     WHERE (project, signal, revision, field) = (?, ?, ?, ?)",
                    (self.state.as_str(), at.0, self.actor.to_string(), id.0, id.1, id.2, id.3),
                )?;
                Ok(QuarantineAnswer::Done)
            }
            Some(_) => Ok(QuarantineAnswer::Stands),
        }
    }
}
