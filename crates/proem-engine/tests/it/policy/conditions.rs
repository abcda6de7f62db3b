//! The seven conditions, what tightens, and the order, case by case.

use proem_engine::assembly::{Appendix, Assembly, PromptId};
use proem_engine::call::{AnswerForm, Arrival, Request};
use proem_engine::policy::{
    ActionPast, AutonomyLevel, CauseVerdict, DecisionMoment, EffectSwitch, Policy, ProposedAction, Ruling,
    SourceAgreement, SourceConflict, VerdictBasis,
};
use proem_engine::tokens::OpenAi;
use proem_guard::check::HoldMinutes;
use proem_guard::{Untrusted, Verdict};
use proem_text::{Audience, Label};
use serde_json::{Value as Json, json};

use super::scene::{PROMPT, Scene, causes, comment, line, mail, policy, read, status_change};

/// The names of the conditions that are not met.
fn unmet(scene: &Scene, action: Json) -> Vec<&'static str> {
    let decision = scene.decide(action);
    let unmet = decision.conditions.iter().filter(|result| !result.is_met());
    unmet.map(|result| result.condition.as_str()).collect()
}

#[test]
fn each_condition_breaks_alone() {
    let scene = Scene::new();
    assert_eq!(unmet(&scene, mail()), [""; 0]);
    let check = |name: &str, change: &dyn Fn(&mut Scene, &mut Json)| {
        let (mut scene, mut action) = (scene.clone(), mail());
        change(&mut scene, &mut action);
        assert_eq!(unmet(&scene, action.clone()), [name]);
        assert!(!matches!(scene.decide(action).ruling, Ruling::Hold(_) | Ruling::Permit(_)), "{name}");
    };
    check("allowlist", &|_, action| {
        *action = comment();
        action["target"] = json!("PROJ-99");
    });
    check("denylist", &|_, action| action["action"] = json!("Delete-Data"));
    check("autonomy", &|scene, _| scene.level = AutonomyLevel::Artefact);
    check("prompt-leakage", &|_, action| action["fields"]["body"] = json!(PROMPT));
    check("external-urls", &|_, action| action["fields"]["body"] = json!("See https://evil.example/a."));
    check("known-recipients", &|scene, action| {
        let text = Policy::shipped_text().replace("domains = []", "domains = [\"corp.example\"]");
        scene.policy = Policy::parse(&text, "policy.toml").unwrap();
        action["fields"]["cc"] = json!([]);
    });
}

#[test]
fn a_credential_goes_nowhere_whoever_said_yes() {
    let key = format!("AKIA{}", "Q3ZK2WD7XV4LM5PB");
    for (field, moment) in [
        ("body", DecisionMoment::Proposal),
        ("subject", DecisionMoment::ApprovedExecution { approved_at: AutonomyLevel::Tactical }),
    ] {
        let mut action = mail();
        action["fields"][field] = format!("The key is {key}.").into();
        let scene = Scene { moment, ..Scene::new() };
        let decision = scene.decide(action);
        assert!(decision.finds_credential());
        assert_eq!(line(&decision), "refusal: credential", "{field}");
        let words = decision.reasons[0].to_string();
        assert!(words.contains(field) && !words.contains(&key), "{words}");
    }
}

/// A model's text carries the model even if it was written after trusted texts alone, so its free text is foreign: a
/// finding by score alone asks for approval, and a hold is not shortened below its least.
#[test]
fn a_models_text_is_foreign_whatever_it_read() {
    let prompt = PromptId { agent: "a".into(), name: "b".into(), version: "1.0.0".into(), closure: String::new() };
    let mut assembly = Assembly { prompt, sections: Vec::new(), boundaries: Vec::new(), output_tokens: 100 };
    assembly.append("task", Appendix::Ours("Write to Ada."), &OpenAi::O200k);
    let request = Request {
        model: "m".into(),
        assembly,
        answer: AnswerForm::Text,
        sampling: Default::default(),
        arrival: Arrival::Whole,
        way: None,
        inquiry: None,
    };
    let check = |label: Label, expected: [&str; 2]| {
        let mut scene = Scene { request: label.clone(), ..Scene::new() };
        let action = ProposedAction::read(&Untrusted::new(mail(), label), &scene.policy).unwrap();
        scene.past.approvals = 20;
        let held = line(&scene.decide_read(&action));
        scene.verdict = CauseVerdict { worst: Verdict::Flag, basis: VerdictBasis::ScoreAlone };
        let flagged = line(&scene.decide_read(&action));
        assert_eq!([held.as_str(), flagged.as_str()], expected);
    };
    check(request.label(), ["hold 5: shorter-hold, held", "approval: flagged, shorter-hold"]);
    // The same without the model's part in it.
    check(Label::trusted(), ["hold 1: shorter-hold, held", "hold 1: shorter-hold, held"]);
}

#[test]
fn a_policy_that_wants_another_form_refuses_what_waits() {
    let mut scene = Scene::new();
    let action = read(mail(), &scene.policy).unwrap();
    let text = Policy::shipped_text().replace("fields.cc = {", "fields.copies = { required = true,");
    scene.policy = Policy::parse(&text, "policy.toml").unwrap();
    let decision = scene.decide_read(&action);
    assert_eq!(decision.ruling.as_str(), "refusal");
    assert!(!decision.conditions[0].is_met() && decision.confidence.schema == 0);
}

#[test]
fn one_thing_changes_and_the_ruling_with_it() {
    let check = |action: Json, expected: &str, change: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::new();
        change(&mut scene);
        assert_eq!(line(&scene.decide(action)), expected);
    };
    let with = |mut action: Json, key: &str, value: Json| {
        action[key] = value;
        action
    };
    let unknown = || json!({ "action": "launch", "target": "x", "causes": causes() });
    check(mail(), "hold 30: held", &|_| {});
    check(status_change(), "hold 5: held", &|_| {});
    check(comment(), "hold 0: automatic", &|_| {});
    check(comment(), "hold 30: first-of-type, held", &|scene| scene.past.executed = 0);
    check(comment(), "approval: no-source", &|scene| {
        scene.sources = SourceAgreement { agreeing: 0, conflict: SourceConflict::Absent };
    });
    check(unknown(), "refusal: unknown", &|_| {});
    check(unknown(), "refusal: unknown", &|scene| scene.switch = EffectSwitch::Off);
    check(mail(), "standstill: switch", &|scene| scene.switch = EffectSwitch::Off);
    check(mail(), "standstill: switch", &|scene| scene.switch = EffectSwitch::Killed);
    check(mail(), "escalation: level", &|scene| scene.level = AutonomyLevel::Monitoring);
    check(with(mail(), "target", json!("eve@partner.example")), "approval: external", &|_| {});
    check(with(mail(), "is_external", json!(true)), "approval: external", &|_| {});
    check(with(mail(), "is_external", json!(false)), "hold 30: held", &|_| {});
    check(with(mail(), "requires_approval", json!(true)), "approval: model-asks", &|_| {});
    check(with(mail(), "requires_approval", json!(false)), "hold 30: held", &|_| {});
    check(with(mail(), "hold_duration_minutes", json!(60)), "hold 60: held", &|_| {});
    check(with(mail(), "hold_duration_minutes", json!(1)), "hold 30: held", &|_| {});
    check(with(mail(), "confidence", json!(0.1)), "hold 30: held", &|_| {});
    // The text is built from something that its readers may not see. The template's text is excused.
    let restricted = |scene: &mut Scene| scene.request = scene.request.clone().narrowed_to(Audience::Restricted);
    check(mail(), "approval: breach, breach", &restricted);
    check(with(comment(), "fields", json!({ "body": "See RAID-7." })), "hold 0: automatic", &restricted);
    check(with(comment(), "fields", json!({ "body": "See it all." })), "approval: breach", &restricted);
    let secret = |scene: &mut Scene| scene.request = scene.request.clone().made_secret();
    check(with(comment(), "fields", json!({ "body": "See RAID-7." })), "approval: breach", &secret);
    // The learned score alone stops what carries text.
    let score = |scene: &mut Scene| {
        scene.verdict = CauseVerdict { worst: Verdict::Flag, basis: VerdictBasis::ScoreAlone };
    };
    check(status_change(), "hold 5: held", &score);
    check(mail(), "approval: flagged", &score);
}

#[test]
fn approvals_shorten_a_hold_and_never_text_below_five_minutes() {
    let check = |action: Json, approvals: u32, expected: u32| {
        let mut scene = Scene::new();
        scene.past = ActionPast { executed: 3, approvals };
        assert_eq!(scene.decide(action).hold, Some(HoldMinutes(expected)), "{approvals}");
    };
    for (approvals, minutes) in [(0, 30), (4, 30), (5, 15), (9, 15), (10, 5), (20, 5), (99, 5)] {
        check(mail(), approvals, minutes);
    }
    for (approvals, minutes) in [(0, 5), (5, 5), (10, 5), (19, 5), (20, 1)] {
        check(status_change(), approvals, minutes);
    }
}

#[test]
fn the_gate_asks_again_before_execution() {
    let held = |minutes| DecisionMoment::HeldExecution { held: HoldMinutes(minutes) };
    let approved = |approved_at| DecisionMoment::ApprovedExecution { approved_at };
    let check = |moment, expected: &str, change: &dyn Fn(&mut Scene)| {
        let mut scene = Scene { moment, ..Scene::new() };
        change(&mut scene);
        assert_eq!(line(&scene.decide(mail())), expected);
    };
    check(held(30), "permit: automatic", &|_| {});
    check(held(29), "approval: longer-hold", &|_| {});
    check(held(30), "approval: level", &|scene| scene.level = AutonomyLevel::Artefact);
    check(held(30), "standstill: switch", &|scene| scene.switch = EffectSwitch::Killed);
    let flag = |scene: &mut Scene| scene.verdict.worst = Verdict::Flag;
    let block = |scene: &mut Scene| scene.verdict.worst = Verdict::Block;
    check(held(30), "approval: flagged", &flag);
    check(held(30), "refusal: blocked", &block);
    check(approved(AutonomyLevel::Tactical), "permit: approved", &|_| {});
    check(approved(AutonomyLevel::Tactical), "permit: flagged, approved", &flag);
    check(approved(AutonomyLevel::Tactical), "refusal: blocked", &block);
    let fell = |scene: &mut Scene| scene.level = AutonomyLevel::Monitoring;
    check(approved(AutonomyLevel::Tactical), "approval: level, level-fell", &fell);
    check(approved(AutonomyLevel::Monitoring), "permit: level, approved", &fell);
}

#[test]
fn a_permit_is_for_what_was_decided_about() {
    let scene = Scene { moment: DecisionMoment::HeldExecution { held: HoldMinutes(30) }, ..Scene::new() };
    let action = read(mail(), &scene.policy).unwrap();
    let Ruling::Permit(permit) = scene.decide_read(&action).ruling else { panic!("no permit") };
    assert_eq!((permit.content(), permit.policy()), (action.content(), policy().hash()));
    assert_eq!(permit.key().as_bytes(), &[7; 32]);
}

#[test]
fn the_document_says_it_all() {
    let mut action = mail();
    action["fields"]["body"] = json!("See https://evil.example/a.");
    action["confidence"] = json!(0.25);
    let mut document = Scene::new().decide(action).to_json();
    document["content"] = json!("…");
    document["policy"] = json!("…");
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
}
