//! The steps with which a person can allow a refused action.

use std::collections::BTreeSet;

use proem_engine::policy::{Decision, DecisionReason};
use proem_guard::check::{ActionRule, ReferentKind};

/// How each reason of a refusal is lifted, with the command that does it, in the order of the reasons. Nothing for
/// reasons that no file lifts.
pub(super) fn refusal_remedies(decision: &Decision) -> Vec<String> {
    let mut known = BTreeSet::new();
    let remedies = decision.reasons.iter().filter_map(reason_remedy);
    remedies.filter(|remedy| known.insert(*remedy)).map(|remedy| format!("to allow such an action, {remedy}")).collect()
}

fn reason_remedy(reason: &DecisionReason) -> Option<&'static str> {
    match reason {
        DecisionReason::UnknownRecipient(_)
        | DecisionReason::Breach { rule: ActionRule::Provenance(ReferentKind::Recipient, _), .. } => Some(
            "name the recipient under `[[stakeholders]]` in `.proem/triage/project.toml` and run `proem trust \
             .proem/triage/project.toml`",
        ),
        DecisionReason::Breach { rule: ActionRule::Provenance(ReferentKind::Id, _), .. } => Some(
            "name the tracker's prefix under `id_prefixes` of `[allow]` in `policy.toml` of your own configuration \
             (`proem policy print` writes one to start from) and run `proem policy check`",
        ),
        DecisionReason::Breach { rule: ActionRule::Provenance(..), .. } => Some(
            "name the value under `[allow]` in `policy.toml` of your own configuration (`proem policy print` writes one \
             to start from) and run `proem policy check`",
        ),
        DecisionReason::Never | DecisionReason::Unknown => Some(
            "put it on another list in `policy.toml` of your own configuration (`proem policy print` writes one to \
             start from) and run `proem policy check`",
        ),
        DecisionReason::Malformed(_) => Some("give it the fields that `proem policy print` shows"),
        DecisionReason::Blocked => Some("look at its signal with `proem queue quarantine` and release it"),
        _ => None,
    }
}
