//! What is kept of an assessment: enough for feedback without a model, a whole run with one.

use std::collections::BTreeMap;

use proem_agents::adapt::Lessons;
use proem_agents::risk::feedback;
use proem_agents::risk::investigation::{InvestigationEnd, Subject};
use proem_agents::risk::report::{HistoryRead, InvestigationUsage, ReportContext, RiskReport};
use proem_engine::call::FailureKind;
use proem_engine::ordered::OrderedJson;
use proem_engine::profile::{self, Issue};
use proem_engine::run::{CancelReason, ExchangeEnd, FallbackReason, Outcome};
use proem_engine::versions::Versions;
use proem_risk::assess::Investigate;
use proem_runtime::driver::CallTrace;
use proem_runtime::records::{ASSEMBLED_ONLY, RecordDepth, Recording, RunEnd, Start};
use proem_store::record::{Evaluation, HashedContent, NewRun, Numbers, Replayable, RunFinish, RunId, RunOutcome};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::assessing::{AssessedRepository, ChangeAssessment};
use super::made;
use super::setting::{Investigator, RiskSetting};
use crate::error::Error as Failure;
use crate::message::Note;
use crate::records::writing::OpenRecords;
use crate::when;

/// An investigation with what it took.
pub(super) struct InvestigationRun {
    pub(super) investigated: InvestigationEnd,
    pub(super) made: Vec<CallTrace>,
    /// What was asked before, if it was resumed.
    pub(super) earlier: EarlierAttempts,
    pub(super) began: Instant,
}

/// What processes that are gone asked in an investigation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EarlierAttempts {
    /// How often something was sent, or may have been.
    pub(super) attempts: usize,
    /// How many answers of them were lost, so that nobody knows what they used.
    pub(super) lost: usize,
}

/// A change with everything that its record and its report are made of.
pub(super) struct ReportSubject<'k> {
    pub(super) setting: &'k RiskSetting,
    pub(super) assessing: &'k AssessedRepository,
    pub(super) looked: &'k ChangeAssessment,
}

/// The beginning of a recorded investigation.
pub(super) struct InvestigationOpening<'b> {
    pub(super) id: RunId,
    /// The run that it is a fork of.
    pub(super) parent: Option<RunId>,
    /// How many events it took before, if it is resumed.
    pub(super) steps: u32,
    pub(super) setting: &'b RiskSetting,
    pub(super) investigator: &'b Investigator,
    pub(super) inputs: OrderedJson,
    pub(super) settings: Json,
    /// The hash of what it is held to.
    pub(super) policy: String,
}

impl InvestigationOpening<'_> {
    pub(super) fn start(&self) -> Start<'_> {
        let Self { setting, investigator, .. } = self;
        Start {
            id: self.id.clone(),
            parent: self.parent.clone(),
            kind: feedback::KIND,
            prompt: &setting.synthesis.prompt.id,
            role: &investigator.role,
            model: &investigator.asked.model.name,
            endpoint: &investigator.asked.endpoint.name,
            line: None,
            files: &investigator.files,
            inputs: &self.inputs,
            settings: &self.settings,
            policy: &self.policy,
            profiles: setting.profiles(),
            report: None,
            monolithic_tokens: None,
            steps: self.steps,
        }
    }
}

/// A subject as the inputs of a run.
///
/// # Errors
///
/// If it can't be written down, which is a bug.
pub(super) fn inputs(subject: &Subject) -> Result<OrderedJson, Failure> {
    serde_json::to_value(subject)
        .map(OrderedJson::from)
        .map_err(|error| Failure::bug("the subject of the assessment can't be recorded", error))
}

impl<'k> ReportSubject<'k> {
    /// A recorded investigation as it starts.
    pub(super) fn start(
        &self,
        id: RunId,
        investigator: &'k Investigator,
        subject: &Subject,
    ) -> Result<InvestigationOpening<'k>, Failure> {
        let Some(assessed) = self.assessing.assessed(self.looked.change) else {
            return Err(Failure::bug("a change is missing", self.looked.change));
        };
        let investigation = made::InvestigationSettings {
            basis: investigator.basis.clone(),
            decision: self.setting.decision.prompt.id.clone(),
            limits: self.setting.limits,
            assessed,
        };
        let mut settings = self.settings();
        if let Json::Object(fields) = &mut settings {
            fields.insert(made::SETTINGS.to_owned(), investigation.written()?);
        }
        Ok(InvestigationOpening {
            id,
            parent: None,
            steps: 0,
            setting: self.setting,
            investigator,
            inputs: inputs(subject)?,
            policy: made::policy(&investigator.guarding.rules, &settings),
            settings,
        })
    }

    /// What feedback needs to know of an assessment: numbers and our names only.
    fn settings(&self) -> Json {
        json!({ "proem": env!("CARGO_PKG_VERSION"), "versions": Versions::TODAY, "risk": feedback::signals(&self.looked.full) })
    }

    /// The report of a change.
    pub(super) fn report(&self, id: Option<&RunId>, done: Option<&InvestigationRun>) -> Result<RiskReport, Failure> {
        let Some((change, resolved)) = self.assessing.change(self.looked.change) else {
            return Err(Failure::bug("a change is missing", self.looked.change));
        };
        let investigator = self.setting.investigator();
        let spent = done.zip(investigator).map(|(done, investigator)| spent(done, investigator));
        let about = ReportContext {
            id: id.map(|id| id.short().to_owned()),
            chosen: Some(resolved.said.to_owned()),
            model: investigator.map(|investigator| investigator.asked.model.name.clone()),
            prompts: done.map_or_else(Vec::new, |_| self.setting.prompts()),
            learned: done.map_or_else(Vec::new, |done| self.learned(done)),
            spent,
            history: self.history(),
            false_positives: self.setting.false_positives.clone(),
            notes: self.notes(done),
        };
        let investigated = done.map(|done| &done.investigated);
        Ok(RiskReport::new(change, &self.looked.full, investigated, about))
    }

    /// Writes an investigation's end, and reports it; beside it what could not be written after a model was
    /// asked.
    pub(super) async fn ended(
        &self,
        recording: &Recording<'_>,
        done: &InvestigationRun,
    ) -> Result<(RiskReport, Option<String>), Failure> {
        let report = self.report(Some(recording.id()), Some(done))?;
        recording.finish(end(self.setting, done)).await;
        Ok((report, recording.trouble()))
    }

    /// What prompts that were asked with had learned.
    fn learned(&self, done: &InvestigationRun) -> Vec<Lessons> {
        self.setting.learned(&done.investigated).filter_map(|taught| taught.lessons.clone()).collect()
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
        let unbooked = done.and_then(|done| unbooked(&done.investigated));
        match self.setting.unasked() {
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
pub(super) fn unbooked(investigated: &InvestigationEnd) -> Option<&str> {
    let last = investigated.exchanges.last()?.outcome.attempts.last()?;
    last.failure
        .as_ref()
        .filter(|failure| failure.kind == FailureKind::NotBooked)
        .map(|failure| failure.message.as_str())
}

/// What an investigation used.
fn spent(done: &InvestigationRun, investigator: &Investigator) -> InvestigationUsage {
    // What an answer used that was lost with its process is not known.
    let usage = done.investigated.usage().filter(|_| done.earlier.lost == 0);
    let cost = usage.as_ref().and_then(|usage| investigator.asked.cost(usage));
    let attempts = done.made.iter().fold(done.earlier.attempts, |sum, made| sum.saturating_add(made.attempts.len()));
    InvestigationUsage {
        model: investigator.asked.model.name.clone(),
        calls: u32::try_from(attempts).unwrap_or(u32::MAX),
        input_tokens: usage.as_ref().and_then(|usage| usage.input),
        cached_tokens: usage.as_ref().and_then(|usage| usage.cache_read),
        output_tokens: usage.as_ref().and_then(|usage| usage.output),
        cost_nano_dollars: cost.map(|cost| cost.0),
    }
}

/// How a recorded investigation ended.
fn end(setting: &RiskSetting, done: &InvestigationRun) -> RunEnd {
    let investigated = &done.investigated;
    let attempts = || investigated.exchanges.iter().flat_map(|exchange| &exchange.outcome.attempts);
    let count = |counts: &mut dyn Iterator<Item = usize>| counts.fold(0_u64, |sum, n| sum.saturating_add(n as u64));
    let numbers = Numbers {
        took_ms: u64::try_from(done.began.elapsed().as_millis()).ok(),
        schema_failures: count(&mut attempts().map(|attempt| usize::from(!attempt.problems.is_empty()))),
        repairs: count(&mut attempts().map(|attempt| attempt.repairs.len())),
        embedding_calls: Some(0),
        degraded: investigated.synthesis.is_none(),
        ..Numbers::default()
    };
    let outcome = outcome(investigated);
    RunEnd { at: when::now(), evaluations: evaluations(setting, done), outcome, assembly: None, numbers }
}

/// What a record has of an investigation's outcome: that of its last exchange with all attempts. One that ended
/// before it asked anything had no time to.
pub(super) fn outcome(investigated: &InvestigationEnd) -> Outcome {
    let unasked = || ExchangeEnd::Failed { because: FallbackReason::Cancelled(CancelReason::Deadline) };
    investigated.outcome().unwrap_or_else(|| Outcome { ended: unasked(), attempts: Vec::new() })
}

/// How good the results of each prompt were: what its last answer says counts, since that came after the others.
fn evaluations(setting: &RiskSetting, done: &InvestigationRun) -> Vec<Evaluation> {
    let mut last: BTreeMap<&str, Issue> = BTreeMap::new();
    for exchange in &done.investigated.exchanges {
        if let Some(issue) = profile::of_outcome(&exchange.outcome) {
            last.insert(&exchange.prompt, issue);
        }
    }
    let kind = &setting.synthesis.prompt.id.agent;
    last.into_iter().map(|(agent, issue)| Evaluation { agent: agent.to_owned(), kind: kind.clone(), issue }).collect()
}

/// Records an assessment that no model was asked about. That it could not be is only noted, since nothing
/// depends on it.
pub(super) async fn assessed(
    setting: &RiskSetting,
    records: &OpenRecords,
    id: RunId,
    (kept, report): (&ReportSubject<'_>, &RiskReport),
) -> Option<Note> {
    let written = write(setting, records, id, (kept, report)).await;
    written.err().map(|why| format!("the assessment is not recorded: {why}").into())
}

async fn write(
    setting: &RiskSetting,
    records: &OpenRecords,
    id: RunId,
    (kept, report): (&ReportSubject<'_>, &RiskReport),
) -> Result<(), Failure> {
    let common = records.kept();
    let keep = |text: String| match common.keeping {
        RecordDepth::Content => HashedContent::new(text),
        RecordDepth::Hashes => HashedContent::new(text).forgotten(),
    };
    let value = serde_json::to_value(report).map_err(|error| Failure::bug("a report can't be recorded", error))?;
    let inputs = json!({ "change": value.get("change") });
    let run = NewRun {
        id: id.clone(),
        project: common.project.clone(),
        actor: common.actor.clone(),
        kind: feedback::KIND.to_owned(),
        parent: None,
        prompt: setting.synthesis.prompt.id.clone(),
        role: String::new(),
        model: String::new(),
        endpoint: String::new(),
        line: None,
        started: when::now(),
        files: BTreeMap::new(),
        inputs: keep(proem_text::json::compact(&inputs)),
        settings: kept.settings(),
        profiles: None,
        replayable: Replayable::No(ASSEMBLED_ONLY.to_owned()),
    };
    let finish = RunFinish {
        settles: None,
        run: id,
        at: when::now(),
        begins: Some(Box::new(run)),
        steps: Vec::new(),
        outcome: RunOutcome::Assembled,
        because: None,
        // Of many changes only what feedback needs is kept.
        value: (kept.assessing.count() == 1).then(|| keep(proem_text::json::compact(&value))),
        calls: Vec::new(),
        assembly: None,
        numbers: Numbers { degraded: true, ..Numbers::default() },
        evaluations: Vec::new(),
        not_replayable: Some(ASSEMBLED_ONLY.to_owned()),
    };
    records.store().finish(finish).await?;
    Ok(())
}
