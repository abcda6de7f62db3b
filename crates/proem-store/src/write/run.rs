//! A run's own lines: that it began, the events that it took, and the state to go on from.

use std::collections::BTreeMap;

use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::json;

use super::content::write_contents;
use crate::error::{Absence, AbsenceRemedy, Error};
use crate::record::{NewRun, NewStep, Replayable, RunId, Snapshot};
use crate::sql::{Tables, Transaction, params};

/// The lines of a run that are written before any other.
pub(super) struct RunLines<'i> {
    pub(super) run: &'i RunId,
    pub(super) begins: Option<&'i NewRun>,
    pub(super) steps: &'i [NewStep],
    pub(super) snapshot: Option<&'i Snapshot>,
}

impl RunLines<'_> {
    /// Writes the line of a run, its steps and its state, as far as they aren't there.
    pub(super) fn write(&self, to: &Transaction<'_>, at: Time) -> Result<(), Error> {
        if let Some(new) = self.begins {
            begin_run(to, new, at)?;
        }
        for new in self.steps {
            write_step(to.tables, self.run, new)?;
        }
        if let Some(new) = self.snapshot {
            snapshot(to.tables, self.run, new)?;
        }
        Ok(())
    }
}

/// No such run.
pub(super) fn no_run(run: &RunId) -> Error {
    Error::NotFound(Absence::remedied(format!("there is no run `{run}`"), AbsenceRemedy::ListRuns))
}

/// Fails if a run is not there.
pub(super) fn must_be_there(tables: &Tables, run: &RunId) -> Result<(), Error> {
    tables.row("SELECT 1 FROM runs WHERE id = ?", [&run.0], |_| Ok(()))?.ok_or_else(|| no_run(run))
}

/// Writes the line of a run with the contents that it names.
fn begin_run(to: &Transaction<'_>, new: &NewRun, at: Time) -> Result<(), Error> {
    write_contents(to.tables, new.files.values().chain([&new.inputs]))?;
    let actor = new.actor.to_string();
    // The event is before the run, and only if the run is missing: behind it nobody could tell whether it was.
    let details = compact(&json!({ "kind": new.kind, "parent": new.parent, "line": new.line }));
    to.tables.execute(
        "INSERT INTO events (at, project, actor, run, what, details) \
         SELECT ?, ?, ?, ?, 'started', ? WHERE NOT EXISTS (SELECT 1 FROM runs WHERE id = ?)",
        (at.0, &new.project.0, &actor, &new.id.0, details, &new.id.0),
    )?;
    let files: BTreeMap<&str, &str> =
        new.files.iter().map(|(name, content)| (name.as_str(), content.hash.as_str())).collect();
    let replayable = match &new.replayable {
        Replayable::Yes => "yes",
        Replayable::No(why) => why,
    };
    to.tables.execute(
        "INSERT INTO runs (id, project, actor, epoch, kind, parent, agent, prompt, version, closure, role, model, \
         endpoint, line, started, state, files, inputs, settings, profile, replayable, input_tokens, \
         cache_read_tokens, output_tokens, nanos, numbers) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, 0, 0, 0, 0, '{}') \
         ON CONFLICT (id) DO NOTHING",
        params![
            new.id.0,
            new.project.0,
            actor,
            to.epoch_id(),
            new.kind,
            new.parent.as_ref().map(|parent| &parent.0),
            new.prompt.agent,
            new.prompt.name,
            new.prompt.version,
            new.prompt.closure,
            new.role,
            new.model,
            new.endpoint,
            new.line,
            new.started.0,
            compact(&json!(files)),
            new.inputs.hash,
            compact(&new.settings),
            new.profiles.as_ref().map_or_else(|| "null".to_owned(), |profiles| compact(&json!(profiles))),
            replayable,
        ],
    )?;
    // The settings say it; the table is what an experiment's outcomes are found by.
    if new.settings.get("experiments").is_some() {
        to.tables.execute(
            "INSERT INTO assignments (run, experiment, started, project, actor, prompt, version, subject) \
             SELECT ?1, a.value ->> '$.experiment', CAST(a.value ->> '$.started' AS INTEGER), ?2, ?3, a.value ->> '$.prompt', \
             a.value ->> '$.version', a.value ->> '$.subject' FROM json_each(?4, '$.experiments') a WHERE true ON CONFLICT DO NOTHING",
            (&new.id.0, &new.project.0, &actor, compact(&new.settings)),
        )?;
    }
    if let Some(caller) = &new.caller {
        to.tables.execute(
            "INSERT INTO callers (run, project, actor, caller, effect) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (&new.id.0, &new.project.0, new.actor.to_string(), &caller.run.0, caller.effect.0),
        )?;
    }
    Ok(())
}

/// Writes an event that a run took.
fn write_step(tables: &Tables, run: &RunId, new: &NewStep) -> Result<(), Error> {
    write_contents(tables, [&new.event])?;
    tables.execute(
        "INSERT INTO steps (run, step, project, actor, at, event) \
         SELECT id, ?, project, actor, ?, ? FROM runs WHERE id = ? ON CONFLICT DO NOTHING",
        (new.step, new.at.0, &new.event.hash, &run.0),
    )?;
    Ok(())
}

/// Writes a state to go on from, unless a later one is there or the run has ended. Parts that it doesn't name go.
fn snapshot(tables: &Tables, run: &RunId, new: &Snapshot) -> Result<(), Error> {
    for part in &new.parts {
        let Some(sealed) = &part.sealed else { continue };
        tables.execute(
            "INSERT INTO states (run, name, project, actor, at, sealed) \
             SELECT id, ?, project, actor, ?, ? FROM runs WHERE id = ? AND state <> 'ended' ON CONFLICT DO NOTHING",
            (&part.name, new.at.0, sealed.as_ref(), &run.0),
        )?;
    }
    let written = tables.execute(
        "INSERT INTO snapshots (run, project, actor, step, at, sealed) \
         SELECT id, project, actor, ?, ?, ? FROM runs WHERE id = ? AND state <> 'ended' \
         ON CONFLICT (run) DO UPDATE SET step = excluded.step, at = excluded.at, sealed = excluded.sealed \
         WHERE excluded.step >= snapshots.step",
        (new.step, new.at.0, &new.sealed, &run.0),
    )?;
    if written > 0 {
        let names: Vec<&str> = new.parts.iter().map(|part| part.name.as_str()).collect();
        let unnamed = "DELETE FROM states WHERE run = ? AND name NOT IN (SELECT value FROM json_each(?))";
        tables.execute(unnamed, (&run.0, compact(&json!(names))))?;
    }
    Ok(())
}
