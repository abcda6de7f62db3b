//! What persons write: what they think, what they answered, what they put right.

use proem_engine::run::Time;
use serde_json::{Value as Json, json};

use super::begin::{event, no_run};
use super::end::{Source, evaluation};
use super::opening::{seal, update_tables};
use super::script::{Script, number};
use super::writer::Writing;
use crate::error::Error;
use crate::record::{Actor, NewApproval, NewFeedback, Project, RunId};
use crate::store::{Clearing, ClearingWay, Correction, Origin};

/// The column of an attempt's booking: the last correction, or what was booked.
const BOOKED: &str = "coalesce((SELECT corrections.nanos FROM corrections WHERE corrections.attempt = attempts.id \
                      ORDER BY corrections.seq DESC LIMIT 1), usage.nanos)";

/// Adds an event that is not about one run.
fn happened(
    script: &mut Script<'_>,
    (project, actor, at): (&Project, &Actor, Time),
    what: &'static str,
    details: &Json,
) {
    script.add("INSERT INTO events (at, project, actor, what, details) VALUES (?, ?, ?, ?, ?)");
    script.with(at).with(project.0.clone()).with(actor.to_string()).with(what);
    script.with(proem_text::json::compact(details));
}

impl Writing {
    /// Fails if a run is not there.
    async fn must_be_there(&mut self, run: &RunId) -> Result<(), Error> {
        let mut script = Script::new();
        script.add("SELECT 1 FROM runs WHERE id = ?").with(&run.0);
        if self.link.run(script).await?.is_empty() { Err(no_run(run)) } else { Ok(()) }
    }

    /// Writes what a person thinks of a run.
    pub(super) async fn feedback(&mut self, feedback: &NewFeedback) -> Result<(), Error> {
        let (at, run) = (self.at(feedback.at), &feedback.run);
        self.must_be_there(run).await?;
        let mut script = Script::new();
        script.add(
            "INSERT INTO feedback (run, project, actor, at, verdict, note) \
             SELECT id, project, ?, ?, ?, ? FROM runs WHERE id = ?",
        );
        script.with(feedback.actor.to_string()).with(at).with(&feedback.verdict).with(&feedback.note).with(&run.0);
        event(&mut script, run, at, "feedback", &json!({ "verdict": feedback.verdict }));
        if let Some(said) = &feedback.evaluation {
            for table in ["failures", "outcomes"] {
                script.add(&format!("DELETE FROM {table} WHERE (run, agent, source) = (?, ?, 'person')"));
                script.with(&run.0).with(&said.agent);
            }
            evaluation(&mut script, (run, at, Source::Person(&feedback.actor)), said);
        }
        self.link.run(script).await.map(drop)
    }

    /// Writes what was answered.
    pub(super) async fn approve(&mut self, approvals: &[NewApproval]) -> Result<(), Error> {
        for approval in approvals {
            let (at, run) = (self.at(approval.at), &approval.run);
            self.must_be_there(run).await?;
            let mut script = Script::new();
            script.add(
                "INSERT INTO approvals (run, project, actor, at, step, question, options, answer) \
                 SELECT id, project, ?, ?, ?, ?, ?, ? FROM runs WHERE id = ?",
            );
            script.with(approval.actor.to_string()).with(at).with(approval.step).with(&approval.question);
            script.with(proem_text::json::compact(&json!(approval.options))).with(approval.answer).with(&run.0);
            let actor = approval.actor.to_string();
            event(
                &mut script,
                run,
                at,
                "answered",
                &json!({ "step": approval.step, "answer": approval.answer, "actor": actor }),
            );
            self.link.run(script).await?;
        }
        Ok(())
    }

    /// Puts right what is booked for an attempt.
    pub(super) async fn correct(&mut self, correction: &Correction) -> Result<(), Error> {
        let (at, id, nanos) = (self.at(correction.at), correction.attempt.0, number(correction.nanos.0));
        let mut script = Script::new();
        script.add(&format!(
            "SELECT attempts.run, attempts.state, {BOOKED}, EXISTS (SELECT 1 FROM corrections WHERE attempt = \
             attempts.id) FROM attempts LEFT JOIN usage ON usage.attempt = attempts.id WHERE attempts.id = ?"
        ));
        script.with(id);
        let rows = self.link.run(script).await?;
        let Some(row) = rows.first() else { return Err(Error::NotFound(format!("no attempt `{id}`"))) };
        let run = RunId(self.link.get(row, 0)?);
        let state: String = self.link.get(row, 1)?;
        if state == "open" {
            return Err(Error::Conflict(format!("attempt `{id}` is still open; wait until it is settled")));
        }
        let (before, corrected): (Option<i64>, bool) = (self.link.get(row, 2)?, self.link.get(row, 3)?);
        let actor = correction.actor.to_string();
        let mut script = Script::new();
        script.add(
            "INSERT INTO corrections (attempt, project, actor, at, nanos, why) \
             SELECT id, project, ?, ?, ?, ? FROM attempts WHERE id = ?",
        );
        script.with(&actor).with(at).with(nanos).with(&correction.why).with(id);
        script.add(
            "UPDATE spend SET nanos = max(0, nanos + ?), unknown = unknown - ?, unpriced = unpriced - ? \
             WHERE (day, project, model, endpoint, agent, prompt) = (SELECT attempts.day, attempts.project, \
             coalesce(calls.model, runs.model), coalesce(calls.endpoint, runs.endpoint), \
             coalesce(calls.agent, runs.agent), coalesce(calls.prompt, runs.prompt) \
             FROM attempts JOIN runs ON runs.id = attempts.run \
             LEFT JOIN calls ON calls.run = attempts.run AND calls.effect = attempts.effect WHERE attempts.id = ?)",
        );
        script.with(nanos.saturating_sub(before.unwrap_or(0)));
        script.with(i64::from(state == "unknown" && !corrected)).with(i64::from(before.is_none())).with(id);
        // What is unknown or open and not put right leaves the run's sum unknown.
        script.add(&format!(
            "UPDATE runs SET nanos = (SELECT iif(count(*) = count(booked), sum(booked), NULL) FROM (SELECT \
             iif(attempts.state = 'unknown' AND NOT EXISTS (SELECT 1 FROM corrections WHERE attempt = attempts.id), \
             NULL, {BOOKED}) AS booked FROM attempts JOIN usage ON usage.attempt = attempts.id \
             WHERE attempts.run = ?)) WHERE id = ?"
        ));
        script.with(&run.0).with(&run.0);
        let details = json!({ "attempt": id, "before": before, "nanos": nanos, "why": correction.why, "actor": actor });
        event(&mut script, &run, at, "corrected", &details);
        self.link.run(script).await.map(drop)
    }

    /// Clears failures, or undoes that.
    pub(super) async fn clear(&mut self, clearing: &Clearing) -> Result<u64, Error> {
        let at = self.at(clearing.at);
        let (project, agent) = (&clearing.project.0, clearing.agent.as_ref());
        let mut script = Script::new();
        script.add("SELECT max(cleared) FROM failures WHERE project = ? AND agent = coalesce(?, agent)");
        script.with(project).with(agent);
        let rows = self.link.run(script).await?;
        let last: Option<i64> = rows.first().map_or(Ok(None), |row| self.link.get(row, 0))?;
        let mut script = Script::new();
        let what = match clearing.way {
            ClearingWay::Clear => {
                script.add(
                    "UPDATE failures SET cleared = ? WHERE project = ? AND agent = coalesce(?, agent) \
                     AND cleared IS NULL RETURNING seq",
                );
                // Two clearings are never at the same time, so that each can be undone alone.
                script.with(at.0.max(last.map_or(i64::MIN, |last| last.saturating_add(1))));
                script.with(project).with(agent);
                "failures-cleared"
            }
            ClearingWay::Undo => {
                script.add(
                    "UPDATE failures SET cleared = NULL WHERE project = ? AND agent = coalesce(?, agent) \
                     AND cleared = ? RETURNING seq",
                );
                script.with(project).with(agent).with(last);
                "failures-restored"
            }
        };
        let count = u64::try_from(self.link.run(script).await?.len()).unwrap_or(u64::MAX);
        let mut script = Script::new();
        let details = json!({ "agent": clearing.agent, "count": count });
        happened(&mut script, (&clearing.project, &clearing.actor, at), what, &details);
        self.link.run(script).await?;
        Ok(count)
    }

    /// Makes the store this installation's own.
    pub(super) async fn adopt(&mut self, actor: &Actor, at: Time) -> Result<(), Error> {
        let at = self.at(at);
        update_tables(&mut self.link).await?;
        let mut script = Script::new();
        script.add("SELECT value FROM meta WHERE key = 'store_id'");
        let rows = self.link.run(script).await?;
        let id: String = rows.first().map_or_else(|| Ok(String::new()), |row| self.link.get(row, 0))?;
        let mut script = Script::new();
        script.add(
            "INSERT INTO meta (key, value) VALUES ('seal', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        );
        script.with(seal(&self.opening.key, &id));
        happened(&mut script, (&self.opening.project, actor, at), "adopted", &json!({}));
        self.link.run(script).await?;
        if self.epoch.is_none() {
            self.begin_epoch()?;
            self.write_epoch(at).await?;
        }
        self.origin = Origin::Own;
        Ok(())
    }

    /// Sets the last time that was seen back.
    pub(super) async fn reset_clock(&mut self, actor: &Actor, at: Time) -> Result<(), Error> {
        let before = self.seen;
        self.seen = at.0;
        let mut script = Script::new();
        happened(
            &mut script,
            (&self.opening.project, actor, at),
            "clock-reset",
            &json!({ "from": before, "to": at.0 }),
        );
        self.link.run(script).await.map(drop)
    }
}
