//! A run with everything that is kept of it, for programs.

use proem_store::query::{AttemptRow, CallRow};
use proem_store::record::{Replayable, SectionRow};
use serde_json::{Value as Json, json};

use super::{RunView, tools, turns};
use proem_app::runs::diff::CacheFinding;
use proem_app::runs::output::RunSummary;
use proem_app::runs::versions;
use proem_app::when;

/// The run. Texts that are not kept are null.
pub(super) fn run_json(shown: &RunView<'_>) -> Json {
    let run = shown.run;
    let calls: Vec<Json> =
        run.calls.iter().zip(&shown.beside).map(|(one, found)| call_json(shown, one, found.as_ref())).collect();
    let steps: Vec<Json> = run
        .steps
        .iter()
        .map(|(step, at, event)| json!({ "step": step, "at": when::rfc3339(*at), "event": event }))
        .collect();
    let feedback: Vec<Json> = run
        .feedback
        .iter()
        .map(|one| json!({ "at": when::rfc3339(one.at), "actor": one.actor, "verdict": one.verdict, "note": one.note }))
        .collect();
    let approvals: Vec<Json> = run
        .approvals
        .iter()
        .map(|one| {
            json!({
                "at": when::rfc3339(one.at), "actor": one.actor, "question": one.question,
                "options": one.options, "answer": one.answer, "shown": one.shown, "words": one.words,
            })
        })
        .collect();
    let why = match &run.replayable {
        Replayable::Yes => None,
        Replayable::No(why) => Some(why),
    };
    json!({
        "run": RunSummary::new(&run.row),
        "because": run.because,
        "value": run.value.as_deref().and_then(|hash| shown.texts.json(hash)),
        "files": run.files,
        "inputs": run.inputs,
        "settings": run.settings,
        "versions": versions(run),
        "profile": run.profiles,
        "replayable": why.is_none(),
        "notReplayable": why,
        "resumable": run.resumable,
        "calls": calls,
        "tools": tools::tool_rows(shown),
        "turns": turns::turn_rows(&shown.turns),
        "steps": steps,
        "feedback": feedback,
        "approvals": approvals,
    })
}

fn call_json(shown: &RunView<'_>, call: &CallRow, beside: Option<&CacheFinding>) -> Json {
    let sections: Vec<Json> = call.sections.iter().map(|one| section_json(shown, call, one)).collect();
    let attempts: Vec<Json> = call.attempts.iter().map(attempt_json).collect();
    let sent = !call.body.is_empty();
    json!({
        "effect": call.effect,
        "at": when::rfc3339(call.at),
        "prompt": format!("{}/{}", call.prompt.agent, call.prompt.name),
        "version": call.prompt.version,
        "model": call.model,
        "endpoint": call.endpoint,
        "tool": call.tool,
        "body": sent.then_some(&call.body),
        "state": sent.then_some(call.state),
        "result": shown.result(call),
        "finish": call.finish,
        "repairs": call.repairs,
        "problems": call.problems,
        "dropped": call.dropped,
        "cut": shown.cuts(call),
        "sections": sections,
        "tokens": call.tokens,
        "stableTokens": call.stable_tokens,
        "monolithicTokens": call.monolithic_tokens,
        "counter": call.counter,
        "plan": call.plan,
        "attempts": attempts,
        "cache": beside.map(|found| json!({ "before": found.first, "ours": found.words, "provider": found.theirs })),
    })
}

fn section_json(shown: &RunView<'_>, call: &CallRow, section: &SectionRow) -> Json {
    // The facts about a picture say more than its bytes, which `--body` has.
    let media = shown.media(call, &section.name);
    let text = shown.texts.get(&section.text).filter(|_| media.is_none());
    let mut out = json!({
        "name": section.name,
        "role": section.role,
        "trust": section.trust,
        "cache": section.cache,
        "rank": section.rank,
        "sources": section.sources,
        "tokens": section.tokens,
        "hash": section.text,
        "text": text,
        "boundary": section.boundary,
    });
    if let (Some(fields), Some(media)) = (out.as_object_mut(), media) {
        fields.insert("media".to_owned(), json!(media));
    }
    out
}

pub(in crate::commands) fn attempt_json(attempt: &AttemptRow) -> Json {
    json!({
        "id": attempt.id,
        "attempt": attempt.attempt,
        "at": when::rfc3339(attempt.at),
        "state": attempt.state,
        "mostNanoDollars": attempt.most.map(|most| most.0),
        "status": attempt.status,
        "failed": attempt.failed,
        "bytes": attempt.bytes,
        "tookMs": attempt.took_ms,
        "waitedMs": attempt.waited_ms,
        "usage": attempt.usage,
        "bookedNanoDollars": attempt.booked.map(|booked| booked.0),
        "corrected": attempt.corrected,
    })
}
