//! A run's questions and their answers.

use proem_text::json::compact;
use serde_json::json;

use super::event::RunEvent;
use super::run::must_be_there;
use crate::error::Error;
use crate::record::NewApproval;
use crate::sql::{Transaction, Write, params};
use crate::store::Store;

impl Store {
    /// Writes what a run asked and what was answered.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such a run, [`Error::Unusable`].
    pub async fn approve(&self, approvals: Vec<NewApproval>) -> Result<(), Error> {
        self.write(approvals).await
    }
}

/// All of them or none.
impl Write for Vec<NewApproval> {
    type Answer = ();
    const NAME: &'static str = "approve";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        self.iter().try_for_each(|approval| write_approval(to, approval))
    }
}

fn write_approval(to: &mut Transaction<'_>, approval: &NewApproval) -> Result<(), Error> {
    let (at, run, actor) = (to.at(approval.at), &approval.run, approval.actor.to_string());
    must_be_there(to.tables, run)?;
    let options = compact(&json!(approval.options));
    to.tables.execute(
        "INSERT INTO approvals (run, project, actor, at, step, question, options, answer, shown, words) \
         SELECT id, project, ?, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE id = ?",
        params![
            actor,
            at.0,
            approval.step,
            approval.question,
            options,
            approval.answer,
            approval.shown,
            approval.words,
            run.0
        ],
    )?;
    let details = json!({ "step": approval.step, "answer": approval.answer, "actor": actor });
    RunEvent { run, at, what: "answered", details }.write(to.tables)
}
