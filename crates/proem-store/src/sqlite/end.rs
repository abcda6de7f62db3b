//! The end of a run: what came of it, and how good it was.

use proem_engine::run::{EffectId, Time};
use serde_json::json;

use super::begin::{Opens, assembly, contents, event, no_run, opens};
use super::memory::Basis;
use super::script::Script;
use super::writer::Writing;
use crate::error::Error;
use crate::record::{Actor, Evaluation, Finish, RunId};

/// Where an evaluation comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'s> {
    /// Code read it off an answer.
    Answer,
    /// This person said it.
    Person(&'s Actor),
}

impl Source<'_> {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Person(_) => "person",
        }
    }
}

/// Adds how good the result of a run's prompt was, if that is not written yet.
pub(super) fn evaluation<'v>(
    script: &mut Script<'v>,
    (run, at, source): (&'v RunId, Time, Source<'_>),
    evaluation: &'v Evaluation,
) {
    let issue = &evaluation.issue;
    let (quality, completeness) = (json!(issue.quality), json!(issue.completeness));
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let actor = match source {
        Source::Answer => None,
        Source::Person(actor) => Some(actor.to_string()),
    };
    if !issue.is_none() {
        script.add(
            "INSERT INTO failures (run, project, actor, at, agent, kind, issue, source) \
             SELECT id, project, coalesce(?, actor), ?, ?, ?, ?, ? FROM runs WHERE id = ? \
             AND NOT EXISTS (SELECT 1 FROM outcomes WHERE (run, agent, source) = (runs.id, ?, ?))",
        );
        script.with(actor.clone()).with(at).with(&evaluation.agent).with(&evaluation.kind);
        script.with(proem_text::json::compact(&json!(issue))).with(source.as_str()).with(&run.0);
        script.with(&evaluation.agent).with(source.as_str());
    }
    script.add(
        "INSERT OR IGNORE INTO outcomes (run, source, project, actor, at, agent, kind, quality, completeness, risks) \
         SELECT id, ?, project, coalesce(?, actor), ?, ?, ?, ?, ?, ? FROM runs WHERE id = ?",
    );
    script.with(source.as_str()).with(actor).with(at).with(&evaluation.agent).with(&evaluation.kind);
    script.with(word(&quality)).with(word(&completeness));
    script.with(proem_text::json::compact(&json!(issue.risks))).with(&run.0);
}

impl Writing {
    /// Writes the end of a run; a second end changes nothing.
    pub(super) async fn finish(&mut self, finish: &Finish) -> Result<(), Error> {
        let (at, epoch, run) = (self.at(finish.at), self.epoch_id(), &finish.run);
        if let Some(settlement) = &finish.settles {
            self.settle(settlement).await?;
        }
        let mut script = Script::new();
        let begins = finish.begins.as_deref();
        opens(&mut script, &Opens { run, begins, steps: &finish.steps, snapshot: None }, &epoch, at);
        match self.basis {
            Basis::Memory => {
                script.suppose("FROM runs WHERE id = ? AND state <> 'ended'").with(&run.0);
            }
            Basis::File => {
                script.add("SELECT state FROM runs WHERE id = ?").with(&run.0);
                let rows = self.link.run(std::mem::take(&mut script)).await?;
                let Some(row) = rows.first() else { return Err(no_run(run)) };
                if self.link.get::<String>(row, 0)? == "ended" {
                    return Ok(());
                }
            }
        }
        if let Some(new) = &finish.assembly {
            assembly(&mut script, run, EffectId(0), at, new);
        }
        contents(&mut script, &finish.value);
        for call in &finish.calls {
            script.add("UPDATE calls SET repairs = ?, problems = ? WHERE run = ? AND effect = ?");
            script.with(proem_text::json::compact(&call.repairs)).with(proem_text::json::compact(&call.problems));
            script.with(&run.0).with(call.effect.0);
        }
        // A call that is still pending was never sent, unless an attempt of it is open.
        script.add(
            "UPDATE calls SET ended = ?, state = iif(EXISTS (SELECT 1 FROM attempts WHERE attempts.run = calls.run \
             AND attempts.effect = calls.effect AND attempts.state IN ('open', 'unknown')), 'unknown', 'failed') \
             WHERE run = ? AND state = 'pending'",
        );
        script.with(at).with(&run.0);
        for found in &finish.evaluations {
            evaluation(&mut script, (run, at, Source::Answer), found);
        }
        script.add("DELETE FROM snapshots WHERE run = ?").with(&run.0);
        script.add(
            "UPDATE runs SET state = 'ended', ended = ?, outcome = ?, because = ?, value = ?, numbers = ?, \
             replayable = coalesce(?, replayable) WHERE id = ?",
        );
        script.with(finish.at).with(finish.outcome.as_str());
        script.with(finish.because.as_ref().map(proem_text::json::compact));
        script.with(finish.value.as_ref().map(|value| &value.hash));
        script.with(proem_text::json::compact(&json!(finish.numbers)));
        script.with(finish.not_replayable.as_ref()).with(&run.0);
        event(&mut script, run, at, "ended", &json!({ "outcome": finish.outcome.as_str() }));
        self.link.defer(script);
        Ok(())
    }
}
