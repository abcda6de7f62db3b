//! The lines of a run, made of what the caller and the driver know.

use std::collections::BTreeMap;

use proem_engine::assembly::Assembly;
use proem_engine::call::{CallFailure, FailureKind, Response, call_cost};
use proem_engine::ledger::Pricing;
use proem_engine::run::{EffectId, ExchangeEnd, FallbackReason, Outcome};
use proem_llm::caller::gate::{AttemptEnd, CallAttempt};
use proem_store::body::fold_body;
use proem_store::record::{
    AttemptUsage, CallResult, CallState, HashedContent, NewAssembly, NewCall, NewRun, ReadCall, Replayable, RunOutcome,
    SectionRow, content_hash,
};
use proem_text::Sources;
use serde_json::{Value as Json, json};

use super::clean::{Cleaner, value_as_json};
use super::terms::{RecordDepth, RecordingContext, Start};

/// A run's line.
pub(super) fn new_run_row(kept: &RecordingContext<'_>, start: &Start<'_>, cleaner: &Cleaner<'_>) -> NewRun {
    let file = |(name, text): (&String, &String)| (name.clone(), cleaner.content(text));
    let files: BTreeMap<String, HashedContent> = start.files.iter().map(file).collect();
    let inputs = cleaner.inputs(start.inputs);
    let settings = cleaner.inline(start.settings.clone());
    let profiles = start.profiles.clone().filter(|_| cleaner.keeping() == RecordDepth::Content);
    NewRun {
        caller: None,
        id: start.id.clone(),
        project: kept.project.clone(),
        actor: kept.actor.clone(),
        kind: start.kind.to_owned(),
        parent: start.parent.clone(),
        prompt: start.prompt.clone(),
        role: start.role.to_owned(),
        model: start.model.to_owned(),
        endpoint: start.endpoint.to_owned(),
        line: start.line,
        started: proem_llm::caller::wall_clock(),
        files,
        inputs,
        settings,
        profiles,
        replayable: cleaner.missing().map_or(Replayable::Yes, Replayable::No),
    }
}

/// The common part of a run's calls.
#[derive(Debug, Clone)]
pub(super) struct CallContext {
    /// The account of its first request.
    pub(super) report: HashedContent,
    /// The tokens of the prompt that lists everything.
    pub(super) monolithic_tokens: Option<u64>,
}

/// A call's line, with what was assembled for it.
pub(super) fn new_call_row(attempt: &CallAttempt<'_>, common: &CallContext, cleaner: &Cleaner<'_>) -> NewCall {
    let assembly = assembly(&attempt.request.assembly, Some(attempt), common, cleaner);
    let (pieces, texts) = match cleaner.keeping() {
        RecordDepth::Hashes => (Json::Null, Vec::new()),
        RecordDepth::Content => {
            let sections: Vec<(&str, &str)> = assembly.texts.iter().map(text_with_hash).collect();
            let folded = fold_body(&cleaner.json_of(&attempt.wire.body, attempt.body), &sections);
            (folded.pieces, folded.texts)
        }
    };
    NewCall {
        effect: EffectId(attempt.slot.effect),
        prompt: attempt.request.assembly.prompt.clone(),
        model: attempt.model.name.clone(),
        endpoint: attempt.endpoint.name.clone(),
        tool: attempt.request.answer.bound_to().map(str::to_owned),
        body: content_hash(attempt.body),
        pieces,
        texts,
        assembly,
        dropped: cleaner.inline(dropped_json(attempt)),
    }
}

/// A text and its hash. A content of which the hash alone is kept folds nothing: an empty text is part of none.
fn text_with_hash(content: &HashedContent) -> (&str, &str) {
    let text = content.bytes.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    (text.unwrap_or_default(), &content.hash)
}

fn dropped_json(attempt: &CallAttempt<'_>) -> Json {
    attempt.dropped.iter().map(|dropped| json!({ "path": dropped.path, "why": dropped.why.to_string() })).collect()
}

/// The assembly, with the plan and the counter of the attempt that sends it; without them if nothing is called.
pub(super) fn assembly(
    assembly: &Assembly,
    attempt: Option<&CallAttempt<'_>>,
    common: &CallContext,
    cleaner: &Cleaner<'_>,
) -> NewAssembly {
    let texts: Vec<HashedContent> = assembly.sections.iter().map(|section| cleaner.content(&section.text)).collect();
    let row =
        |(index, (section, text)): (usize, (&proem_engine::assembly::PlacedSection, &HashedContent))| SectionRow {
            name: section.name.clone(),
            role: section.role.as_str().to_owned(),
            trust: section.trust.as_str().to_owned(),
            cache: section.cache.as_str().to_owned(),
            rank: section.rank.as_str().to_owned(),
            sources: match section.label.sources() {
                Sources::Named(named) => Some(named.iter().map(|source| source.as_str().to_owned()).collect()),
                Sources::Many => None,
            },
            tokens: token_count(section.tokens),
            text: text.hash.clone(),
            boundary: assembly.boundaries.contains(&index),
        };
    let sections = assembly.sections.iter().zip(&texts).enumerate().map(row).collect();
    let (tokens, stable, counter, plan) = match attempt {
        Some(CallAttempt { plan, model, .. }) => {
            (plan.total_tokens, plan.stable_tokens, model.counter().name().to_owned(), value_as_json(plan))
        }
        None => {
            let stable = assembly.prefix().iter().fold(0_usize, |sum, section| sum.saturating_add(section.tokens));
            (assembly.tokens(), stable, String::new(), Json::Null)
        }
    };
    NewAssembly {
        sections,
        texts,
        tokens: token_count(tokens),
        stable_tokens: token_count(stable),
        monolithic_tokens: common.monolithic_tokens,
        counter,
        plan,
        report: common.report.clone(),
    }
}

/// The usage of an attempt that was made.
///
/// An answer that began and broke is unknown, whatever broke it: what was written by then is paid for.
pub(super) fn attempt_usage(attempt: &CallAttempt<'_>, left: &AttemptEnd<'_>, priced: Pricing) -> AttemptUsage {
    match left.result {
        // The failure may name what ended an earlier attempt. The attempt itself says what became of it.
        Err(failure) if left.sent.failed.unwrap_or(failure.kind).is_unsent() && left.sent.status != Some(200) => {
            AttemptUsage::Nothing
        }
        Err(_) => AttemptUsage::Unknown,
        Ok(response) => {
            let usage = &response.usage;
            if usage.doubt.is_some() {
                return AttemptUsage::Doubted(usage.clone());
            }
            if usage.estimate.is_some() {
                return AttemptUsage::Estimated(usage.clone());
            }
            let (Some(input), Some(_)) = (usage.input, usage.output) else { return AttemptUsage::Unknown };
            let listed = attempt.model.prices_for(usize::try_from(input).unwrap_or(usize::MAX)).is_some();
            match (priced, call_cost(usage, attempt.model)) {
                (Pricing::Free, _) => AttemptUsage::Reported(usage.clone(), Some(proem_engine::call::NanoDollars(0))),
                // Counts that contradict each other have no cost, and that is no reason to book none.
                (Pricing::Listed, None) if listed => AttemptUsage::Unknown,
                (Pricing::Listed, cost) => AttemptUsage::Reported(usage.clone(), cost),
            }
        }
    }
}

/// How a call ended.
pub(super) fn result(result: Result<&Response, &CallFailure>, cleaner: &Cleaner<'_>) -> CallResult {
    match result {
        Ok(response) => {
            let finish = value_as_json(&response.finish);
            CallResult {
                state: CallState::Answered,
                result: cleaner.serialised(response),
                finish: finish.as_str().map(str::to_owned),
            }
        }
        Err(failure) => CallResult { state: CallState::Failed, result: cleaner.serialised(failure), finish: None },
    }
}

/// A run's end: in which way, why without a value of a model's, and the value.
pub(super) fn run_end(
    outcome: &Outcome,
    asked: SendState,
    cleaner: &Cleaner<'_>,
) -> (RunOutcome, Option<Json>, Option<HashedContent>) {
    // A run whose budget forbade asking was refused, whatever replaces its answer.
    let or_refused = |because: &FallbackReason, otherwise| match (because, asked) {
        (FallbackReason::Failed(FailureKind::NotBooked), SendState::Nothing) => RunOutcome::Refused,
        _ => otherwise,
    };
    match &outcome.ended {
        ExchangeEnd::Answered { value } => {
            (RunOutcome::Answered, None, Some(cleaner.json_content(&proem_guard::show::exact_value(value))))
        }
        ExchangeEnd::FellBack { value, because } => {
            let value = Some(cleaner.json_content(value));
            (or_refused(because, RunOutcome::FellBack), Some(value_as_json(because)), value)
        }
        ExchangeEnd::Failed { because } => {
            (or_refused(because, RunOutcome::Failed), Some(value_as_json(because)), None)
        }
    }
}

/// Whether anything was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendState {
    /// Nothing was: whoever was refused by the budget was asked nothing.
    Nothing,
    /// Something may have been.
    Something,
}

/// The findings about each call; for the problems of answers only the rules if no text is kept.
pub(super) fn read_calls(outcome: &Outcome, cleaner: &Cleaner<'_>) -> Vec<ReadCall> {
    let problems = |attempt: &proem_engine::run::Attempt| match cleaner.keeping() {
        RecordDepth::Content => cleaner.json(value_as_json(&attempt.problems)),
        RecordDepth::Hashes => attempt.problems.iter().map(|problem| json!({ "rule": problem.rule })).collect(),
    };
    let repairs = |attempt: &proem_engine::run::Attempt| match cleaner.keeping() {
        RecordDepth::Content => value_as_json(&attempt.repairs),
        RecordDepth::Hashes => attempt.repairs.iter().map(|repair| json!(repair.kind)).collect(),
    };
    let read = |attempt: &proem_engine::run::Attempt| ReadCall {
        effect: attempt.effect,
        repairs: repairs(attempt),
        problems: problems(attempt),
    };
    outcome.attempts.iter().map(read).collect()
}

fn token_count(tokens: usize) -> u64 {
    u64::try_from(tokens).unwrap_or(u64::MAX)
}
