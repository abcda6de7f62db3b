//! All cells of list, level, verdict and moment, by a law that is written without the code's order.

use proem_engine::policy::{AutonomyLevel, DecisionMoment};
use proem_guard::Verdict;
use proem_guard::check::HoldMinutes;
use serde_json::{Value as Json, json};

use super::scene::{Scene, causes, comment, mail};

const MOMENTS: [DecisionMoment; 3] = [
    DecisionMoment::Proposal,
    DecisionMoment::HeldExecution { held: HoldMinutes(30) },
    DecisionMoment::ApprovedExecution { approved_at: AutonomyLevel::Monitoring },
];

/// One action of each list, all of the level `tactical`.
fn actions() -> [(&'static str, Json); 5] {
    let external = json!({
        "action": "email_external", "target": "eve@partner.example",
        "fields": { "subject": "Status", "body": "On Monday." }, "causes": causes(),
    });
    let never = json!({ "action": "delete_data", "target": "x", "causes": causes() });
    let unknown = json!({ "action": "launch", "target": "x", "causes": causes() });
    [("auto", comment()), ("hold", mail()), ("approval", external), ("never", never), ("unknown", unknown)]
}

#[test]
fn every_cell_keeps_the_law() {
    let mut cells = 0;
    for (list, action) in actions() {
        for level in AutonomyLevel::ALL {
            for worst in Verdict::ALL {
                for moment in MOMENTS {
                    let mut scene = Scene { level, moment, ..Scene::new() };
                    scene.verdict.worst = worst;
                    let ruling = scene.decide(action.clone()).ruling;
                    let got = ruling.as_str();
                    let cell = format!("{list} {level:?} {worst:?} {moment:?}: {got}");
                    let is_forbidden = matches!(list, "never" | "unknown") || worst == Verdict::Block;
                    let is_free =
                        matches!(list, "auto" | "hold") && level == AutonomyLevel::Tactical && worst == Verdict::Allow;
                    let is_approved = matches!(moment, DecisionMoment::ApprovedExecution { .. });
                    // A forbidden action is refused, and nothing else is.
                    assert_eq!(got == "refusal", is_forbidden, "{cell}");
                    // A permit needs an execution, and a free action or a person's yes.
                    let is_proposal = moment == DecisionMoment::Proposal;
                    let may_go = !is_forbidden && !is_proposal && (is_free || is_approved);
                    assert_eq!(got == "permit", may_go, "{cell}");
                    // A hold is for the proposal of what is free.
                    assert_eq!(got == "hold", is_proposal && is_free, "{cell}");
                    // Only a level is escalated, and never what a person has to approve anyway.
                    let is_low = level != AutonomyLevel::Tactical && matches!(list, "auto" | "hold");
                    assert_eq!(got == "escalation", is_proposal && is_low && !is_forbidden, "{cell}");
                    cells += 1;
                }
            }
        }
    }
    assert_eq!(cells, 5 * 3 * 4 * 3);
}
