//! A call as it is about to be made, and what was assembled for it.

use proem_engine::assembly::PromptId;
use proem_engine::run::{EffectId, Time};
use proem_text::json::compact;
use serde_json::json;

use super::amount::stored_number;
use super::content::write_contents;
use crate::error::Error;
use crate::record::{NewAssembly, NewCall, RunId};
use crate::sql::{Tables, params};

/// The run and the effect that a line is written about.
pub(super) struct CallPlace<'c> {
    pub(super) run: &'c RunId,
    pub(super) effect: EffectId,
    pub(super) at: Time,
}

impl CallPlace<'_> {
    /// Writes a call with its assembly.
    pub(super) fn call(&self, tables: &Tables, new: &NewCall) -> Result<(), Error> {
        write_contents(tables, &new.texts)?;
        let PromptId { agent, name, version, closure } = &new.prompt;
        tables.execute(
            "INSERT INTO calls (run, effect, project, actor, at, agent, prompt, version, closure, model, \
             endpoint, tool, body, pieces, state, dropped) \
             SELECT id, ?, project, actor, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ? FROM runs WHERE id = ? ON CONFLICT DO NOTHING",
            params![
                self.effect.0,
                self.at.0,
                agent,
                name,
                version,
                closure,
                new.model,
                new.endpoint,
                new.tool,
                new.body,
                compact(&new.pieces),
                compact(&new.dropped),
                self.run.0,
            ],
        )?;
        self.assembly(tables, &new.assembly)
    }

    /// Writes what was assembled.
    pub(super) fn assembly(&self, tables: &Tables, new: &NewAssembly) -> Result<(), Error> {
        write_contents(tables, new.texts.iter().chain([&new.report]))?;
        tables.execute(
            "INSERT INTO assemblies (run, effect, project, actor, at, sections, tokens, stable_tokens, \
             monolithic_tokens, counter, plan, report) \
             SELECT id, ?, project, actor, ?, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE id = ? ON CONFLICT DO NOTHING",
            params![
                self.effect.0,
                self.at.0,
                compact(&json!(new.sections)),
                stored_number(new.tokens),
                stored_number(new.stable_tokens),
                new.monolithic_tokens.map(stored_number),
                new.counter,
                compact(&new.plan),
                new.report.hash,
                self.run.0,
            ],
        )?;
        Ok(())
    }
}
