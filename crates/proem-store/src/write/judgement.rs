//! A person's judgement of a signal, which opens it again for the next cycle.

use serde_json::json;

use super::event::StoreEvent;
use super::person;
use super::work;
use crate::error::Error;
use crate::record::{SignalJudgement, SignalStanding};
use crate::sql::{Transaction, Write, params};
use crate::store::Store;

/// The outcome of a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgementAnswer {
    /// It is written, and the signal is open.
    Open,
    /// Nothing is written: the signal is there, and cycles pass it over.
    Stands(SignalStanding),
    /// Nothing is written: the signal's text is gone.
    Purged,
    /// Nothing is written: there is no such signal.
    Unknown,
}

impl Store {
    /// Writes a person's judgement and opens the signal again, both or neither.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] unless a person judges, [`Error::Unusable`].
    pub async fn judge_signal(&self, judgement: SignalJudgement) -> Result<JudgementAnswer, Error> {
        self.write(judgement).await
    }
}

impl Write for SignalJudgement {
    type Answer = JudgementAnswer;
    const NAME: &'static str = "judge-signal";

    fn write(&self, to: &mut Transaction<'_>) -> Result<JudgementAnswer, Error> {
        person::must_be(&self.actor, "judges a signal")?;
        let standing = "SELECT standing, text IS NOT NULL FROM signals WHERE (project, id, revision) = (?, ?, ?)";
        let id = (&self.project.0, &self.id.id, &self.id.revision);
        let found = to.tables.row(standing, id, |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
        let Some((standing, has_text)) = found else { return Ok(JudgementAnswer::Unknown) };
        for unworked in [SignalStanding::SetAside, SignalStanding::Malformed] {
            if standing == unworked.as_str() {
                return Ok(JudgementAnswer::Stands(unworked));
            }
        }
        if !has_text {
            return Ok(JudgementAnswer::Purged);
        }
        let at = to.at(self.at);
        to.tables.execute(
            "INSERT INTO signal_judgements (project, id, revision, actor, at, importance, before, category, sender, note) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                self.project.0,
                self.id.id,
                self.id.revision,
                self.actor.to_string(),
                at.0,
                self.importance,
                self.before,
                self.category,
                self.sender,
                self.note,
            ],
        )?;
        to.tables.execute(
            "UPDATE signals SET standing = 'open' WHERE (project, id, revision) = (?, ?, ?)",
            (&self.project.0, &self.id.id, &self.id.revision),
        )?;
        work::want_triage(to, &self.project, &self.actor, at)?;
        let details = json!({
            "signal": self.id.id, "revision": self.id.revision, "importance": self.importance, "before": self.before,
        });
        StoreEvent { project: &self.project, actor: &self.actor, at, what: "signal-judged", details }
            .write(to.tables)?;
        Ok(JudgementAnswer::Open)
    }
}
