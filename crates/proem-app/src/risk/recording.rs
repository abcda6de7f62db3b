//! The record of an assessment: enough for feedback without a model, a whole run with one.

use std::collections::BTreeMap;

use proem_agents::adapt::Lessons;
use proem_agents::risk::feedback::{self, Meter};
use proem_agents::risk::investigation::{InvestigationEnd, InvestigationLimits, Subject};
use proem_agents::risk::report::{HistoryRead, InvestigationUsage, Rate, ReportContext, RiskReport};
use proem_engine::call::FailureKind;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::profile::{self, Issue, Judgement};
use proem_engine::prompt::book::experiment::VersionAssignment;
use proem_engine::run::{Attempt, CancelReason, ExchangeEnd, FallbackReason, Outcome};
use proem_engine::versions::Versions;
use proem_risk::assess::Investigate;
use proem_runtime::driver::CallTrace;
use proem_runtime::records::{ASSEMBLED_ONLY, Recording, RunEnd, Start};
use proem_store::record::{Evaluation, NewRun, Numbers, Replayable, RunFinish, RunId, RunOutcome};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::assessing::{AssessedRepository, ChangeAssessment};
use super::investigation_settings;
use super::prompts::InvestigationPrompts;
use crate::agents::EarlierAttempts;
use crate::agents::access::ModelAccess;
use crate::agents::base::run_numbers;
use crate::agents::basis::EXPERIMENTS;
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::records::writing::OpenRecords;
use crate::when;

/// An investigation with what it took.
pub(super) struct InvestigationRun {
    pub(super) investigated: InvestigationEnd,
    pub(super) made: Vec<CallTrace>,
    /// The earlier attempts, if it was resumed.
    pub(super) earlier: EarlierAttempts,
    pub(super) began: Instant,
}

/// A change with everything that its record and its report are made of.
#[derive(Clone, Copy)]
pub(super) struct ReportSubject<'k> {
    pub(super) prompts: &'k InvestigationPrompts,
    /// The investigator, or the reason that there is none.
    pub(super) access: Result<&'k ModelAccess, &'k str>,
    /// The versions that experiments chose for it.
    pub(super) assigned: &'k [VersionAssignment],
    /// How often a HIGH was said to be a false alarm.
    pub(super) false_positives: &'k BTreeMap<Meter, Rate>,
    pub(super) assessing: &'k AssessedRepository,
    pub(super) looked: &'k ChangeAssessment,
}

/// The beginning of a recorded investigation.
pub(super) struct InvestigationOpening<'b> {
    pub(super) id: RunId,
    pub(super) prompts: &'b InvestigationPrompts,
    pub(super) access: &'b ModelAccess,
    pub(super) inputs: OrderedJson,
    pub(super) settings: Json,
    /// The hash of what it is held to.
    pub(super) policy: String,
}

impl InvestigationOpening<'_> {
    pub(super) fn start(&self) -> Start<'_> {
        let Self { prompts, access, .. } = self;
        Start {
            id: self.id.clone(),
            parent: None,
            kind: feedback::KIND,
            prompt: &prompts.synthesis.prompt.id,
            role: &access.role,
            model: &access.asked.model.name,
            endpoint: &access.asked.endpoint.name,
            line: None,
            files: &access.files,
            inputs: &self.inputs,
            settings: &self.settings,
            policy: &self.policy,
            profiles: prompts.profiles(),
            report: None,
            monolithic_tokens: None,
            steps: 0,
        }
    }
}

/// A subject as the inputs of a run.
///
/// # Errors
///
/// If it can't be written down, which is a bug.
pub(super) fn subject_inputs(subject: &Subject) -> Result<OrderedJson, Error> {
    serde_json::to_value(subject)
        .map(OrderedJson::from)
        .map_err(|error| Error::bug("the subject of the assessment can't be recorded", error))
}

impl<'k> ReportSubject<'k> {
    /// A recorded investigation as it starts.
    pub(super) fn start(
        &self,
        id: RunId,
        access: &'k ModelAccess,
        subject: &Subject,
        limits: InvestigationLimits,
    ) -> Result<InvestigationOpening<'k>, Error> {
        let Some(assessed) = self.assessing.assessed(self.looked.change) else {
            return Err(Error::bug("a change is missing", self.looked.change));
        };
        let investigation = investigation_settings::InvestigationSettings {
            basis: access.basis.clone().with_assignments(self.assigned),
            decision: self.prompts.decision.prompt.id.clone(),
            limits,
            assessed,
        };
        let mut settings = self.settings();
        if let Json::Object(fields) = &mut settings {
            fields.insert(investigation_settings::SETTINGS.to_owned(), investigation.written()?);
            if !self.assigned.is_empty() {
                // The records find the outcomes of an experiment by it.
                fields.insert(EXPERIMENTS.to_owned(), json!(self.assigned));
            }
        }
        Ok(InvestigationOpening {
            id,
            prompts: self.prompts,
            access,
            inputs: subject_inputs(subject)?,
            policy: investigation_settings::investigation_policy_hash(&access.guarding.rules, &settings),
            settings,
        })
    }

    /// The facts about an assessment that feedback needs: numbers and our names only.
    fn settings(&self) -> Json {
        json!({ "proem": env!("CARGO_PKG_VERSION"), "versions": Versions::TODAY, "risk": feedback::recorded_signals(&self.looked.full) })
    }

    /// The report of a change.
    pub(super) fn report(&self, id: Option<&RunId>, done: Option<&InvestigationRun>) -> Result<RiskReport, Error> {
        let Some((change, resolved)) = self.assessing.change(self.looked.change) else {
            return Err(Error::bug("a change is missing", self.looked.change));
        };
        let access = self.access.ok();
        let spent = done.zip(access).map(|(done, access)| investigation_usage(done, access));
        let about = ReportContext {
            id: id.map(|id| id.short().to_owned()),
            chosen: Some(resolved.said.to_owned()),
            model: access.map(|access| access.asked.model.name.clone()),
            prompts: done.map_or_else(Vec::new, |_| self.prompts.used()),
            learned: done.map_or_else(Vec::new, |done| self.learned(done)),
            spent,
            history: self.history(),
            false_positives: self.false_positives.clone(),
            notes: self.notes(done),
        };
        let investigated = done.map(|done| &done.investigated);
        Ok(RiskReport::new(change, &self.looked.full, investigated, about))
    }

    /// Writes an investigation's end, and reports it. Beside it what could not be written after a model was asked.
    pub(super) async fn ended(
        &self,
        recording: &Recording<'_>,
        done: &InvestigationRun,
    ) -> Result<(RiskReport, Option<String>), Error> {
        let report = self.report(Some(recording.id()), Some(done))?;
        recording.finish(recorded_investigation_end(self.prompts, done)).await;
        Ok((report, recording.trouble()))
    }

    /// The lessons of the prompts that were used.
    fn learned(&self, done: &InvestigationRun) -> Vec<Lessons> {
        self.prompts.learned(&done.investigated).filter_map(|taught| taught.lessons.clone()).collect()
    }

    fn history(&self) -> HistoryRead {
        let about = self.assessing.assessor().about();
        let ChangeAssessment { left_out, sampled: (sampled, sampled_of), .. } = self.looked;
        HistoryRead {
            commits: about.commits,
            cached: about.cached,
            window_months: self.assessing.grounds.window_months,
            first_parent: self.assessing.grounds.first_parent,
            merges: u64::from(left_out.merges),
            bots: u64::from(left_out.bots),
            ignored: u64::from(left_out.ignored),
            sampled: u32::try_from(*sampled).unwrap_or(u32::MAX),
            sampled_of: *sampled_of,
            shallow: about.missing.shallow,
            partial: about.missing.partial,
            capped: about.missing.capped,
            misdated: about.missing.misdated,
        }
    }

    /// Why nobody was asked although the rules wanted it, and what was lost.
    fn notes(&self, done: Option<&InvestigationRun>) -> Vec<String> {
        let lost = done.map_or(0, |done| done.earlier.lost);
        let unbooked = done.and_then(|done| unbooked_reason(&done.investigated));
        match self.access.err() {
            None if let Some(why) = unbooked => vec![why.to_owned()],
            Some(why) if self.looked.full.investigate == Investigate::Yes => vec![why.to_owned()],
            None if lost > 0 => vec![format!(
                "{} lost when the process ended, so the tokens used are not known",
                if lost == 1 { "an answer was".to_owned() } else { format!("{lost} answers were") }
            )],
            _ => Vec::new(),
        }
    }
}

/// Why the last call of an investigation was not made, if that is for a budget's sake.
pub(super) fn unbooked_reason(investigated: &InvestigationEnd) -> Option<&str> {
    let last = investigated.exchanges.last()?.outcome.attempts.last()?;
    last.failure
        .as_ref()
        .filter(|failure| failure.kind == FailureKind::NotBooked)
        .map(|failure| failure.message.as_str())
}

fn investigation_usage(done: &InvestigationRun, access: &ModelAccess) -> InvestigationUsage {
    // The usage of an answer that was lost with its process is unknown.
    let usage = done.investigated.usage().filter(|_| done.earlier.lost == 0);
    let cost = usage.as_ref().and_then(|usage| access.asked.cost(usage));
    let attempts = done.made.iter().fold(done.earlier.attempts, |sum, made| sum.saturating_add(made.attempts.len()));
    InvestigationUsage {
        model: access.asked.model.name.clone(),
        calls: u32::try_from(attempts).unwrap_or(u32::MAX),
        input_tokens: usage.as_ref().and_then(|usage| usage.input),
        cached_tokens: usage.as_ref().and_then(|usage| usage.cache_read),
        output_tokens: usage.as_ref().and_then(|usage| usage.output),
        cost_nano_dollars: cost.map(|cost| cost.0),
    }
}

/// How a recorded investigation ended.
fn recorded_investigation_end(prompts: &InvestigationPrompts, done: &InvestigationRun) -> RunEnd {
    let investigated = &done.investigated;
    let attempts: Vec<&Attempt> =
        investigated.exchanges.iter().flat_map(|exchange| &exchange.outcome.attempts).collect();
    let numbers = Numbers { degraded: investigated.synthesis.is_none(), ..run_numbers(&attempts, done.began) };
    let outcome = investigation_outcome(investigated);
    RunEnd { at: when::time_now(), evaluations: evaluations(prompts, investigated), outcome, assembly: None, numbers }
}

/// The outcome of an investigation for its record: that of its last exchange with all attempts. An investigation that
/// ended before it asked anything had no time to.
pub(super) fn investigation_outcome(investigated: &InvestigationEnd) -> Outcome {
    let unasked = || ExchangeEnd::Failed { because: FallbackReason::Cancelled(CancelReason::Deadline) };
    investigated.outcome().unwrap_or_else(|| Outcome { ended: unasked(), attempts: Vec::new() })
}

/// How good the results of each prompt were: what its last answer says counts, since that came after the others.
pub(super) fn evaluations(prompts: &InvestigationPrompts, investigated: &InvestigationEnd) -> Vec<Evaluation> {
    let mut last: BTreeMap<&str, Issue> = BTreeMap::new();
    for exchange in &investigated.exchanges {
        // A refused answer is no success, which would end the failures before it. It names no part of the contract
        // either.
        let refused = exchange.refused.then(|| profile::of_judgement(Judgement::Bad));
        if let Some(issue) = refused.or_else(|| profile::of_outcome(&exchange.outcome)) {
            last.insert(&exchange.prompt, issue);
        }
    }
    let kind = &prompts.synthesis.prompt.id.agent;
    last.into_iter().map(|(agent, issue)| Evaluation { agent: agent.to_owned(), kind: kind.clone(), issue }).collect()
}

/// Records an assessment that no model was asked about. That it could not be is only noted, since nothing
/// depends on it.
pub(super) async fn record_assessment(
    records: &OpenRecords,
    id: RunId,
    kept: &ReportSubject<'_>,
    report: &RiskReport,
) -> Option<Note> {
    let written = write_assessment(records, id, kept, report).await;
    written.err().map(|why| Note::new(NoteKind::Records, format!("the assessment is not recorded: {why}")))
}

async fn write_assessment(
    records: &OpenRecords,
    id: RunId,
    kept: &ReportSubject<'_>,
    report: &RiskReport,
) -> Result<(), Error> {
    let value = serde_json::to_value(report).map_err(|error| Error::bug("a report can't be recorded", error))?;
    let inputs = proem_text::json::compact(&json!({ "change": value.get("change") }));
    let prompt = kept.prompts.synthesis.prompt.id.clone();
    let run = NewRun {
        settings: kept.settings(),
        replayable: Replayable::No(ASSEMBLED_ONLY.to_owned()),
        ..records.unasked_run(&id, feedback::KIND, prompt, &inputs)
    };
    let finish = RunFinish {
        begins: Some(Box::new(run)),
        // Of many changes only what feedback needs is kept.
        value: (kept.assessing.count() == 1).then(|| records.content(proem_text::json::compact(&value))),
        numbers: Numbers { degraded: true, ..Numbers::default() },
        not_replayable: Some(ASSEMBLED_ONLY.to_owned()),
        ..RunFinish::new(id, when::time_now(), RunOutcome::Assembled)
    };
    records.store().finish(finish).await?;
    Ok(())
}
