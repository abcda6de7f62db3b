//! An action is read or refused; what was read is read again as it was written. Nothing of it goes by itself but to
//! whom the policy knows, with words that the policy has.

use std::sync::LazyLock;

use proem_engine::effect::key::EffectKey;
use proem_engine::policy::{
    ActionEvidence, ActionPast, AutonomyLevel, CauseVerdict, DecisionMoment, DecisionRequest, EffectSwitch, Policy,
    ProposedAction, Ruling, SourceAgreement, SourceConflict, VerdictBasis, decide,
};
use proem_guard::check::{ConfidentialPrompt, FieldRole, HoldMinutes};
use proem_guard::{Untrusted, Verdict};
use proem_text::{Label, Source};
use serde_json::{Value as Json, json};

/// The policy that ships, with one recipient.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let text = Policy::shipped_text().replace("domains = []", "domains = [\"corp.example\"]");
    let known = "\n[[recipients]]\naddress = \"ada@corp.example\"\nname = \"Ada\"\nrole = \"sponsor\"\n";
    Policy::parse(&(text + known), "policy.toml").expect("it ships")
});

/// An action for that recipient.
static KNOWN: LazyLock<ProposedAction> = LazyLock::new(|| {
    let json = json!({
        "action": "email_stakeholder", "target": "ada@corp.example", "fields": { "subject": "S", "body": "B" },
        "causes": [{ "id": "jira/PROJ-1", "revision": "3" }],
    });
    ProposedAction::read(&Untrusted::new(json, Label::trusted()), &POLICY).expect("the policy has it")
});

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let Ok(json) = serde_json::from_str::<Json>(text) else { return };
    let json = Untrusted::new(json, Label::from_source(Source::named("action")));
    let action = match ProposedAction::read(&json, &POLICY) {
        Ok(action) => action,
        Err(error) => return assert!(!error.problems().is_empty()),
    };
    let written = action.write().expect("one label can be written");
    let again = ProposedAction::stored(&written, &POLICY).expect("it was written so");
    assert_eq!(again, action, "what is stored is what was read");
    assert_eq!(action.key("p", &POLICY), again.key("p", &POLICY));
    for moment in [
        DecisionMoment::Proposal,
        DecisionMoment::HeldExecution { held: HoldMinutes(10_080) },
        DecisionMoment::ApprovedExecution { approved_at: AutonomyLevel::Tactical },
    ] {
        let label = action.tree().label();
        let decision = decide(&DecisionRequest {
            action: &action,
            key: EffectKey::of_bytes([7; 32]),
            policy: &POLICY,
            level: AutonomyLevel::Tactical,
            verdict: CauseVerdict { worst: Verdict::Allow, basis: VerdictBasis::Rule },
            evidence: ActionEvidence {
                trusted: &[],
                untrusted: &[],
                request: &label,
                prompt: ConfidentialPrompt::default(),
            },
            past: ActionPast { executed: 3, approvals: 20 },
            sources: SourceAgreement { agreeing: 2, conflict: SourceConflict::Absent },
            switch: EffectSwitch::On,
            moment,
        });
        assert!(!decision.reasons.is_empty() || matches!(decision.ruling, Ruling::Permit(_) | Ruling::Hold(_)));
        let Ruling::Permit(_) = decision.ruling else { continue };
        assert!(moment != DecisionMoment::Proposal, "nothing is permitted at the door");
        let name = action.name().expect("what no list has is refused");
        let terms = POLICY.action(name).expect("what is never taken is refused");
        if terms.target.role == FieldRole::Recipient {
            assert_eq!(action.referent(&POLICY), KNOWN.referent(&POLICY), "it goes to whom the policy knows");
        }
    }
}
