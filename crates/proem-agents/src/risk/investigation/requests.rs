//! The question to a model at a point of an investigation, within the limits of one call.

use core::num::NonZeroU32;

use proem_engine::assembly::Appendix;
use proem_engine::call::{Arrival, Request};
use proem_engine::report::Report;
use proem_engine::run;
use proem_engine::tokens::CachingCounter;
use serde_json::{Value as Json, json};

use super::offer::Offer;
use super::{Attempts, CitableEvidence, InvestigationPrompt, InvestigationState, InvestigationTerms, UnansweredCall};
use crate::prompt_call::{InputAuthor as By, PromptCall, prepare_prompt_call};
use crate::risk::evidence::{KnownFacts, ListedSignals, PromptEvidence, gather_evidence};

/// The section of both prompts that numbers the evidence.
const SIGNALS: &str = "signals";

/// A request that fits.
pub(super) struct FittedRequest {
    pub(super) request: Request,
    pub(super) asking: UnansweredCall,
    pub(super) report: Report,
    /// The evidence that is in it.
    pub(super) given: Vec<CitableEvidence>,
}

pub(super) fn decision_terms<'t>(
    terms: &InvestigationTerms<'t>,
    asking: UnansweredCall,
    attempts: Attempts,
) -> run::ExchangeTerms<'t> {
    let attempts = match attempts {
        Attempts::Left => NonZeroU32::MIN.saturating_add(1),
        Attempts::Used => NonZeroU32::MIN,
    };
    exchange_terms(terms, terms.decision, asking, attempts)
}

/// The terms of a synthesis.
pub(super) fn synthesis<'t>(terms: &InvestigationTerms<'t>, asking: UnansweredCall) -> run::ExchangeTerms<'t> {
    exchange_terms(terms, terms.synthesis, asking, NonZeroU32::MIN.saturating_add(1))
}

fn exchange_terms<'t>(
    terms: &InvestigationTerms<'t>,
    asked: InvestigationPrompt<'t>,
    asking: UnansweredCall,
    attempts: NonZeroU32,
) -> run::ExchangeTerms<'t> {
    run::ExchangeTerms {
        owed: asked.contract.owed(),
        fallback: asked.prompt.file.strict.fallback.as_ref(),
        limits: run::ExchangeLimits { attempts, tokens: Some(asking.tokens) },
        key: terms.key,
        counter: terms.counter,
    }
}

/// The request for a decision. `wrong` is what was wrong with the last answer, in our words.
///
/// # Errors
///
/// Why nothing can be asked, in words.
pub(super) fn ask_decision(
    terms: &InvestigationTerms<'_>,
    state: &mut InvestigationState,
    offer: &Offer,
    wrong: Option<&str>,
) -> Result<FittedRequest, String> {
    let (inputs, evidence) = decision_inputs(state, offer, terms.limits.hops);
    let (mut request, report) = investigation_request(terms, terms.decision, &inputs, state)?;
    if let Some(wrong) = wrong {
        let text = format!("The last answer can't be used: {wrong}. A new one is wanted.\n");
        request.assembly.append("wrong", Appendix::Ours(&text), terms.counter);
    }
    ready(terms, state, request, report, evidence)
}

/// The inputs of the decision prompt.
pub(super) fn decision_inputs(state: &mut InvestigationState, offer: &Offer, hops: u8) -> (Json, PromptEvidence) {
    let evidence = evidence_for_prompt(state, &offer.files());
    let mut inputs = shared_prompt_inputs(state, &evidence);
    if let Json::Object(fields) = &mut inputs {
        fields.insert("hop".to_owned(), json!(state.hops.len().saturating_add(1)));
        fields.insert("hops".to_owned(), json!(hops.min(super::offer::MOST_HOPS)));
        fields.insert("actions".to_owned(), json!(offer.lines()));
    }
    (inputs, evidence)
}

/// The request for a synthesis.
///
/// # Errors
///
/// Why nothing can be asked, in words.
pub(super) fn ask_synthesis(
    terms: &InvestigationTerms<'_>,
    state: &mut InvestigationState,
) -> Result<FittedRequest, String> {
    let (inputs, evidence) = synthesis_inputs(state);
    let (request, report) = investigation_request(terms, terms.synthesis, &inputs, state)?;
    ready(terms, state, request, report, evidence)
}

/// The inputs of the synthesis prompt.
pub(super) fn synthesis_inputs(state: &mut InvestigationState) -> (Json, PromptEvidence) {
    let evidence = evidence_for_prompt(state, &[]);
    let mut inputs = shared_prompt_inputs(state, &evidence);
    if let Json::Object(fields) = &mut inputs {
        fields.insert("level".to_owned(), json!(state.subject.assessment.level.as_str()));
        let diff = state.subject.diff.clone().unwrap_or_default();
        let left_out: Vec<String> = evidence.left_out.iter().cloned().chain(diff.left_out).collect();
        fields.insert("left_out".to_owned(), json!(left_out));
        fields.insert("diff".to_owned(), json!(diff.parts));
    }
    (inputs, evidence)
}

fn evidence_for_prompt(state: &mut InvestigationState, named: &[u32]) -> PromptEvidence {
    let known = KnownFacts {
        assessment: &state.subject.assessment,
        hops: &state.hops,
        neighbours: &state.neighbours,
        named,
        signals: if state.subject.yardsticks.is_some() { ListedSignals::All } else { ListedSignals::AboveLow },
    };
    gather_evidence(known, &mut state.aliases)
}

/// The common part of both prompts.
fn shared_prompt_inputs(state: &InvestigationState, evidence: &PromptEvidence) -> Json {
    let lines: Vec<&str> = evidence.items.iter().map(|item| item.line.as_str()).collect();
    let mut inputs = json!({
        "change": evidence.change,
        "signals": lines,
        "left_out": evidence.left_out,
        "details": evidence.details,
        "neighbours": evidence.neighbours,
        "chain": evidence.chain,
        "names": evidence.names,
        "reasons": evidence.reasons,
    });
    let subject = crate::risk::evidence::first_message_line(&state.subject.subject);
    if let (Json::Object(fields), false) = (&mut inputs, subject.is_empty()) {
        fields.insert("subject".to_owned(), json!(subject));
    }
    if let (Json::Object(fields), Some(yardsticks)) = (&mut inputs, &state.subject.yardsticks) {
        fields.insert("measures".to_owned(), json!(yardsticks.lines(&state.subject.assessment)));
    }
    inputs
}

/// Those of the inputs that a prompt has a place for: an older version of it has none for the measures.
fn declared_inputs(asked: InvestigationPrompt<'_>, inputs: &Json) -> Json {
    let schema = asked.prompt.file.input_schema();
    let declared = schema.get("properties").and_then(Json::as_object);
    let all = inputs.as_object().into_iter().flatten();
    let kept = all.filter(|(name, _)| declared.is_some_and(|declared| declared.contains_key(*name)));
    Json::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The calls' lessons so far about the model's server.
pub(super) fn server(state: &InvestigationState) -> run::ServerFindings {
    run::ServerFindings::of(state.exchanges.iter().flat_map(|exchange| &exchange.outcome.attempts))
}

fn investigation_request(
    terms: &InvestigationTerms<'_>,
    asked: InvestigationPrompt<'_>,
    inputs: &Json,
    state: &mut InvestigationState,
) -> Result<(Request, Report), String> {
    let strict = &asked.prompt.file.strict;
    let call = usize::try_from(terms.limits.call_tokens).unwrap_or(usize::MAX);
    let room = call.saturating_sub(strict.output_budget.unwrap_or(0));
    let model = server(state).apply_to(terms.model);
    let ask = PromptCall {
        prompt: asked.prompt,
        owed: asked.contract.owed(),
        inputs: &declared_inputs(asked, inputs).into(),
        given: By::ByCaller,
        model: &model,
        key: terms.key,
        screening: terms.screening,
        input_tokens: Some(strict.input_budget.map_or(room, |budget| budget.min(room))),
        output_tokens: None,
        arrival: Arrival::Whole,
        profile: asked.profile,
        inquiry: None,
    };
    let prepared =
        prepare_prompt_call(&ask, &mut CachingCounter::new(terms.counter)).map_err(|error| error.to_string())?;
    for noted in &prepared.noted {
        let note = format!("guard: {}", noted.in_words());
        if !state.notes.contains(&note) {
            state.notes.push(note);
        }
    }
    Ok((prepared.request, prepared.report))
}

/// Numbers the call and holds it to the most tokens of one.
fn ready(
    terms: &InvestigationTerms<'_>,
    state: &InvestigationState,
    request: Request,
    report: Report,
    evidence: PromptEvidence,
) -> Result<FittedRequest, String> {
    let tokens = request.assembly.tokens().saturating_add(request.assembly.output_tokens);
    let tokens = u64::try_from(tokens).unwrap_or(u64::MAX);
    let most = u64::from(terms.limits.call_tokens);
    if tokens > most {
        return Err(format!("the prompt and its answer have {tokens} tokens, and a call may have {most}"));
    }
    let sections = request.assembly.sections.iter().filter(|section| section.name == SIGNALS);
    let shown: Vec<&str> = sections.flat_map(|section| section.text.lines()).collect();
    let stands = |mark: &str| shown.iter().any(|line| line.trim_start_matches("- ").starts_with(mark));
    let given = evidence.items.into_iter().filter(|item| stands(&item.mark())).map(|item| item.given).collect();
    // A second attempt may have as many tokens as any call, so the two may have this many together.
    let asking = UnansweredCall { first: state.effects, tokens: tokens.saturating_add(most) };
    Ok(FittedRequest { request, asking, report, given })
}
