//! The one way to perform an action: with a permit, which is spent, and an intent that the witness has.

use proem_engine::effect::key::EffectKey;
use proem_engine::policy::Permit;
use proem_llm::secret::Secret;
use proem_store::WitnessedIntent;

use super::deliver::deliver;
use super::{DeliveryBytes, DeliveryOutcome, DeliveryRoute, DeliveryTrouble};

/// Hands the recorded bytes of an action over, once. `secrets` are all credentials that are loaded.
///
/// The permit is taken by value, so that it is good for one attempt. `proem_engine::policy::decide` is the only maker
/// of one:
///
/// ```compile_fail,E0382
/// # use proem_engine::policy::Permit;
/// # use proem_runtime::effects::{DeliveryBytes, DeliveryRoute, perform::perform_outside};
/// # use proem_store::WitnessedIntent;
/// async fn twice(permit: Permit, intent: &WitnessedIntent, delivery: &DeliveryBytes<'_>, route: &DeliveryRoute<'_>) {
///     perform_outside(permit, intent, delivery, route, &[]).await;
///     perform_outside(permit, intent, delivery, route, &[]).await;
/// }
/// ```
///
/// Nor does anything leave before the witness has its intent, for only a saved line makes one:
///
/// ```compile_fail,E0451
/// # use proem_store::WitnessedIntent;
/// fn without_a_line(like: WitnessedIntent) -> WitnessedIntent {
///     WitnessedIntent { ..like }
/// }
/// ```
///
/// The future must not be dropped while it runs: what became of the action would be unknown.
pub async fn perform_outside(
    permit: Permit,
    intent: &WitnessedIntent,
    delivery: &DeliveryBytes<'_>,
    route: &DeliveryRoute<'_>,
    secrets: &[Secret],
) -> DeliveryOutcome {
    match permit_refusal(&permit, intent, &delivery.key) {
        Some(trouble) => DeliveryOutcome::NotSent(trouble),
        None => deliver(delivery, route, secrets).await,
    }
}

/// Performs an action that leaves this machine by no way: it is done when that is written down.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "the permit is spent")]
pub fn inside(permit: Permit, intent: &WitnessedIntent) -> DeliveryOutcome {
    permit_refusal(&permit, intent, intent.key())
        .map_or(DeliveryOutcome::Sent { answer: None }, DeliveryOutcome::NotSent)
}

/// Why a permit or an intent is none for this action.
fn permit_refusal(permit: &Permit, intent: &WitnessedIntent, key: &EffectKey) -> Option<DeliveryTrouble> {
    let message = "the permit or the witnessed intent is for another action, which is a bug in Proem; please report it";
    (permit.key() != key || intent.key() != key).then(|| DeliveryTrouble::new(message))
}
