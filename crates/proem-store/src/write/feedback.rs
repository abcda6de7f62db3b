//! A person's feedback on a run.

use serde_json::json;

use super::evaluation::{Judge, Judgement};
use super::event::RunEvent;
use super::run::must_be_there;
use crate::error::Error;
use crate::record::NewFeedback;
use crate::sql::{Transaction, Write};
use crate::store::Store;

impl Store {
    /// Writes what a person thinks of a run.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such a run, [`Error::Unusable`].
    pub async fn feedback(&self, feedback: NewFeedback) -> Result<(), Error> {
        self.write(feedback).await
    }
}

impl Write for NewFeedback {
    type Answer = ();
    const NAME: &'static str = "feedback";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let (at, run) = (to.at(self.at), &self.run);
        must_be_there(to.tables, run)?;
        to.tables.execute(
            "INSERT INTO feedback (run, project, actor, at, verdict, note) \
             SELECT id, project, ?, ?, ?, ? FROM runs WHERE id = ?",
            (self.actor.to_string(), at.0, &self.verdict, &self.note, &run.0),
        )?;
        RunEvent { run, at, what: "feedback", details: json!({ "verdict": self.verdict }) }.write(to.tables)?;
        if let Some(evaluation) = &self.evaluation {
            let judgement = Judgement { run, at, judge: Judge::Person(&self.actor), evaluation };
            judgement.clear(to.tables)?;
            judgement.write(to.tables)?;
        }
        Ok(())
    }
}
