//! How long deciding 10,000 actions takes, beside looking each one's list up.
//!
//! `cargo bench -p proem-engine --bench policy`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and prints"
)]

use std::hint::black_box;
use std::time::Instant;

use proem_engine::effect::key::EffectKey;
use proem_engine::policy::{
    ActionEvidence, ActionPast, AutonomyLevel, CauseVerdict, DecisionMoment, DecisionRequest, EffectSwitch, Policy,
    ProposedAction, Ruling, SourceAgreement, SourceConflict, VerdictBasis, decide,
};
use proem_guard::check::{ConfidentialPrompt, TrustedExcerpt};
use proem_guard::{Untrusted, Verdict};
use proem_text::{Label, Source};
use serde_json::{Value as Json, json};

/// How many actions are decided in a round.
const ACTIONS: usize = 10_000;
/// How many rounds. Both are timed in each.
const ROUNDS: usize = 9;

fn main() {
    let policy = Policy::shipped().unwrap();
    let actions: Vec<ProposedAction> = (0..ACTIONS).map(|index| proposed_action(index, &policy)).collect();
    let label = Label::from_source(Source::named("model"));
    let trusted = [TrustedExcerpt::whole("task", "Look after PROJ-1.")];
    let (mut ours, mut lookups) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        lookups.push(micros(|| {
            for action in &actions {
                _ = black_box(policy.action(action.name().unwrap()).map(|terms| terms.list));
            }
        }));
        ours.push(micros(|| {
            for action in &actions {
                let decision = decide(&DecisionRequest {
                    action,
                    key: EffectKey::of_bytes([0; 32]),
                    policy: &policy,
                    level: AutonomyLevel::Tactical,
                    verdict: CauseVerdict { worst: Verdict::Allow, basis: VerdictBasis::Rule },
                    evidence: ActionEvidence {
                        trusted: &trusted,
                        untrusted: &[],
                        request: &label,
                        prompt: ConfidentialPrompt { text: "You look after tickets.", ..ConfidentialPrompt::default() },
                    },
                    past: ActionPast { executed: 3, approvals: 0 },
                    sources: SourceAgreement { agreeing: 2, conflict: SourceConflict::Absent },
                    switch: EffectSwitch::On,
                    moment: DecisionMoment::Proposal,
                });
                assert!(matches!(black_box(decision).ruling, Ruling::Hold(_)));
            }
        }));
    }
    println!(
        "{ACTIONS} actions: decide {} µs, the lookup of their lists {} µs",
        median_nanos(ours),
        median_nanos(lookups)
    );
}

fn proposed_action(index: usize, policy: &Policy) -> ProposedAction {
    let (action, fields): (&str, Json) = match index % 3 {
        0 => ("jira_comment", json!({ "body": "Blocked by PROJ-1 until the review on Monday." })),
        1 => ("jira_status_change", json!({ "status": "blocked" })),
        _ => ("artefact_update", json!({ "content": "R-1 is open. Next step: review.", "reason": "A new signal." })),
    };
    let causes = json!([{ "id": format!("jira/{index}"), "revision": "1" }]);
    let json = json!({ "action": action, "target": "PROJ-1", "fields": fields, "causes": causes });
    ProposedAction::read(&Untrusted::new(json, Label::from_source(Source::named("model"))), policy).unwrap()
}

fn micros(work: impl FnOnce()) -> u128 {
    let start = Instant::now();
    work();
    start.elapsed().as_micros()
}

fn median_nanos(mut all: Vec<u128>) -> u128 {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}
