//! One run: driven to its end, and kept if records are.

use std::time::Duration;

use proem_agents::prompted::Prepared;
use proem_engine::assembly::PromptId;
use proem_engine::call::NanoDollars;
use proem_engine::ordered::Ordered;
use proem_engine::profile::{self, Profiles};
use proem_engine::run::{Ended, Exchange, Outcome, What};
use proem_guard::Verdict;
use proem_llm::caller::{Caller, Sent};
use proem_runtime::driver::{Bounds, Calls, Made, Onward, Reached, drive, go_on};
use proem_runtime::records::{End, Recording, Start};
use proem_store::record::{Evaluation, Numbers, RunId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::setting::Setting;
use crate::failure::Failure;
use proem_app::records::writing::Writing;
use proem_app::when;

/// One run, over.
pub(in crate::commands) struct Ran {
    pub(super) prepared: Prepared,
    pub(in crate::commands) outcome: Outcome,
    pub(super) made: Vec<Made>,
    /// Its id, if it is recorded.
    pub(super) run: Option<RunId>,
    /// What could not be recorded after something was sent, in words.
    pub(super) trouble: Option<String>,
    /// Whether an answer was lost with the process that went on with the run before.
    pub(super) lost: bool,
}

impl Ran {
    /// Whether something was sent of which nobody said what it used: the ledger books that in full.
    pub(super) fn is_unreported(&self) -> bool {
        let unreported = |sent: &Sent| sent.failed.is_some_and(|kind| !kind.is_unsent() || sent.status == Some(200));
        self.lost || self.made.iter().flat_map(|made| &made.attempts).any(unreported)
    }
}

/// A request with what its making took.
pub(in crate::commands) struct Assembled {
    pub(in crate::commands) prepared: Prepared,
    pub(in crate::commands) took: Duration,
}

impl Setting {
    /// Asks with these inputs, on that line of a batch.
    pub(in crate::commands) async fn ask(
        &self,
        inputs: &Ordered,
        line: Option<u32>,
        stop: &CancellationToken,
    ) -> Result<Ran, Failure> {
        self.ask_and(inputs, (line, stop), &|_| Ok(())).await
    }

    /// Asks, and hands on what came of it before its end is written: nobody waits for that. What was sent
    /// stands in the record by then.
    pub(super) async fn ask_and(
        &self,
        inputs: &Ordered,
        (line, stop): (Option<u32>, &CancellationToken),
        hand_on: &dyn Fn(&Ran) -> Result<(), Failure>,
    ) -> Result<Ran, Failure> {
        // Connections that are done go back to their pool before a new one is asked for.
        tokio::task::yield_now().await;
        let began = Instant::now();
        let assembled = Assembled { prepared: self.prepare(inputs)?, took: began.elapsed() };
        let caller = self.caller()?;
        let mut exchange = Exchange::new(self.terms(), assembled.prepared.request.clone());
        let calls = self.calls(caller, line.unwrap_or(1));
        let bounds = Bounds { stop: stop.clone(), time: Some(self.bounds) };
        let Some(records) = &self.records else {
            let driven = drive(&mut exchange, What::Started, &calls, &bounds).await?;
            let outcome = over(driven.reached)?;
            let made = calls.into_made();
            let prepared = assembled.prepared;
            let ran = Ran { prepared, outcome, made, run: None, trouble: None, lost: false };
            hand_on(&ran)?;
            return Ok(ran);
        };
        let kept = records.kept();
        let start = self.start(Writing::id()?, inputs, &assembled.prepared);
        let recording = Recording::new(&kept, &Start { line, ..start });
        let calls = calls.through(&recording);
        let from = Onward::Event(What::Started);
        let driven = go_on(&mut exchange, from, &calls, &bounds, &recording).await?;
        let outcome = over(driven.reached)?;
        let made = calls.into_made();
        let Assembled { prepared, took } = assembled;
        let mut ran = unwritten(&recording, prepared, (outcome, made));
        let handed = hand_on(&ran);
        self.write_end(&recording, &mut ran, (took, began)).await;
        handed?;
        Ok(ran)
    }

    /// A recorded run as it starts.
    pub(in crate::commands) fn start<'s>(
        &'s self,
        id: RunId,
        inputs: &'s Ordered,
        prepared: &'s Prepared,
    ) -> Start<'s> {
        Start {
            id,
            parent: None,
            kind: "prompt",
            prompt: &self.prompt.id,
            role: &self.role,
            model: &self.asked.model.name,
            endpoint: &self.asked.endpoint.name,
            line: None,
            files: &self.made.files,
            inputs,
            settings: &self.made.settings,
            policy: self.policy(),
            profiles: self.taught.as_ref().map(|taught| Profiles::Same(taught.adapted.profile.clone())),
            report: Some(&prepared.report),
            monolithic_tokens: None,
            steps: 0,
        }
    }

    /// The hash of the rules that runs are held to.
    pub(in crate::commands) fn policy(&self) -> &str {
        &self.guarding.rules
    }

    pub(in crate::commands) fn caller(&self) -> Result<&Caller, Failure> {
        self.caller.as_ref().ok_or_else(|| Failure::bug("nothing is sent", "a dry run was asked to send"))
    }

    pub(in crate::commands) fn calls<'c>(&'c self, caller: &'c Caller, run: u32) -> Calls<'c> {
        let calls = Calls::new(caller, &self.directory, run);
        match Instant::now().checked_add(self.bounds) {
            Some(end) => calls.before(end),
            None => calls,
        }
    }

    /// A run that was gone on with, with its end written; `lost` is how many answers were lost before.
    pub(in crate::commands) async fn finished(
        &self,
        recording: &Recording<'_>,
        assembled: Assembled,
        over: (Outcome, Vec<Made>),
        (began, lost): (Instant, usize),
    ) -> Ran {
        let Assembled { prepared, took } = assembled;
        let mut ran = unwritten(recording, prepared, over);
        ran.lost = lost > 0;
        self.write_end(recording, &mut ran, (took, began)).await;
        ran
    }

    /// Writes a run's end.
    async fn write_end(&self, recording: &Recording<'_>, ran: &mut Ran, (took, began): (Duration, Instant)) {
        let Ran { prepared, outcome, .. } = &*ran;
        let whole = |time: u128| u64::try_from(time).ok();
        let at_or_above = |verdict| prepared.noted.iter().filter(|noted| noted.verdict >= verdict).count() as u64;
        let sum = |counts: &mut dyn Iterator<Item = usize>| counts.fold(0_u64, |sum, n| sum.saturating_add(n as u64));
        let numbers = Numbers {
            took_ms: whole(began.elapsed().as_millis()),
            assembled_us: whole(took.as_micros()),
            schema_failures: sum(&mut outcome.attempts.iter().map(|attempt| usize::from(!attempt.problems.is_empty()))),
            repairs: sum(&mut outcome.attempts.iter().map(|attempt| attempt.repairs.len())),
            embedding_calls: Some(0),
            scanned: u64::try_from(prepared.scanned).ok(),
            threats: Some(at_or_above(Verdict::Flag)),
            filtered: Some(at_or_above(Verdict::Quarantine)),
            escalated: false,
            degraded: !matches!(outcome.ended, Ended::Answered { .. }),
        };
        let evaluations = evaluation(&self.prompt.id, outcome).into_iter().collect();
        let assembly = Some(prepared.request.assembly.clone());
        recording.finish(End { at: when::now(), outcome: outcome.clone(), assembly, numbers, evaluations }).await;
        ran.trouble = recording.trouble();
    }

    /// What a run cost; `None` if that is not known.
    pub(super) fn cost(&self, ran: &Ran) -> Option<NanoDollars> {
        if ran.is_unreported() {
            return None;
        }
        ran.outcome.cost(|usage| self.asked.cost(usage))
    }
}

/// A run that is over, whose end is not written yet.
fn unwritten(recording: &Recording<'_>, prepared: Prepared, (outcome, made): (Outcome, Vec<Made>)) -> Ran {
    let run = Some(recording.id().clone());
    Ran { prepared, outcome, made, run, trouble: None, lost: false }
}

pub(in crate::commands) fn over(reached: Reached<Outcome>) -> Result<Outcome, Failure> {
    match reached {
        Reached::Done(outcome) => Ok(outcome),
        Reached::Asked(_) => Err(Failure::bug("the run went wrong", "a prompt asked a question")),
    }
}

/// How good a result is; `None` where it says nothing about the prompt.
fn evaluation(id: &PromptId, outcome: &Outcome) -> Option<Evaluation> {
    let issue = profile::of_outcome(outcome)?;
    Some(Evaluation { agent: format!("{}/{}", id.agent, id.name), kind: id.agent.clone(), issue })
}
