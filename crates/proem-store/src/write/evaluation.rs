//! How good the result of a run's prompt was, from which the next prompts learn.

use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::{Value as Json, json};

use crate::error::Error;
use crate::record::{Actor, Evaluation, RunId};
use crate::sql::{Tables, params};

/// The judge of a result.
#[derive(Debug, Clone, Copy)]
pub(super) enum Judge<'s> {
    /// Code read it off an answer.
    Code,
    /// This person said it.
    Person(&'s Actor),
}

impl Judge<'_> {
    /// The word that is stored.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "answer",
            Self::Person(_) => "person",
        }
    }

    /// The judge's name, unless the judge started the run.
    fn actor(self) -> Option<String> {
        match self {
            Self::Code => None,
            Self::Person(actor) => Some(actor.to_string()),
        }
    }
}

/// How good the result of a run's prompt was, in somebody's words.
pub(super) struct Judgement<'j> {
    pub(super) run: &'j RunId,
    pub(super) at: Time,
    pub(super) judge: Judge<'j>,
    pub(super) evaluation: &'j Evaluation,
}

impl Judgement<'_> {
    /// Writes it, if none of that judge's is written yet.
    pub(super) fn write(&self, tables: &Tables) -> Result<(), Error> {
        if !self.evaluation.issue.is_none() {
            self.failure(tables)?;
        }
        self.outcome(tables)
    }

    /// Takes away what that judge said before.
    pub(super) fn clear(&self, tables: &Tables) -> Result<(), Error> {
        let whose = (&self.run.0, &self.evaluation.agent, self.judge.as_str());
        tables.execute("DELETE FROM failures WHERE (run, agent, source) = (?, ?, ?)", whose)?;
        tables.execute("DELETE FROM outcomes WHERE (run, agent, source) = (?, ?, ?)", whose)?;
        Ok(())
    }

    /// Writes what is wrong. It comes before the result, whose absence says that this is the first one.
    fn failure(&self, tables: &Tables) -> Result<(), Error> {
        let Evaluation { agent, kind, issue } = self.evaluation;
        tables.execute(
            "INSERT INTO failures (run, project, actor, at, agent, kind, issue, source) \
             SELECT id, project, coalesce(?1, actor), ?2, ?3, ?4, ?5, ?6 FROM runs WHERE id = ?7 \
             AND NOT EXISTS (SELECT 1 FROM outcomes WHERE (run, agent, source) = (runs.id, ?3, ?6))",
            params![
                self.judge.actor(),
                self.at.0,
                agent,
                kind,
                compact(&json!(issue)),
                self.judge.as_str(),
                self.run.0
            ],
        )?;
        Ok(())
    }

    fn outcome(&self, tables: &Tables) -> Result<(), Error> {
        let Evaluation { agent, kind, issue } = self.evaluation;
        let word = |value: Json| value.as_str().unwrap_or_default().to_owned();
        tables.execute(
            "INSERT INTO outcomes (run, source, project, actor, at, agent, kind, quality, completeness, \
             risks) SELECT id, ?, project, coalesce(?, actor), ?, ?, ?, ?, ?, ? FROM runs WHERE id = ? ON CONFLICT DO NOTHING",
            params![
                self.judge.as_str(),
                self.judge.actor(),
                self.at.0,
                agent,
                kind,
                word(json!(issue.quality)),
                word(json!(issue.completeness)),
                compact(&json!(issue.risks)),
                self.run.0
            ],
        )?;
        Ok(())
    }
}
