//! The output of `effects propose` in each outcome, for people and for programs.

use serde_json::{Value as Json, json};

use crate::approvals::scene::{action, user};
use crate::fixture::Fixture;
use crate::terminal::scene::settled;

/// Proposes an action for a person and another one, from a signal of its own, for a program; what both print.
fn propose_signals(fixture: &Fixture, mut of_signal: impl FnMut(&str) -> Json, code: i32) -> String {
    let mut said = String::new();
    for (signal, args) in [("report/1", vec![]), ("report/2", vec!["--json"])] {
        fixture.write("action.json", of_signal(signal).to_string());
        let args = [vec!["effects", "propose", "action.json"], args].concat();
        let run = fixture.proem(&args);
        assert_eq!((run.code(), run.stderr()), (code, ""), "{args:?}");
        said.push_str(&format!("$ proem {}\n── exit code {code}\n{}\n", args.join(" "), run.stdout()));
    }
    settled(fixture, &said)
}

#[test]
fn what_is_held() {
    let fixture = user("tactical");
    fixture.switch_effects_on();
    snapshot!(propose_signals(&fixture, |signal| action("email_stakeholder", &[signal]), 0));
}

#[test]
fn what_waits_for_an_approval() {
    let fixture = user("tactical");
    fixture.switch_effects_on();
    snapshot!(propose_signals(&fixture, |signal| action("email_sponsor", &[signal]), 0));
}

#[test]
fn what_a_person_has_to_decide() {
    let fixture = user("artefact");
    fixture.switch_effects_on();
    snapshot!(propose_signals(&fixture, |signal| action("email_stakeholder", &[signal]), 0));
}

#[test]
fn what_is_refused() {
    let fixture = user("tactical");
    let stranger = |signal: &str| {
        let mut action = action("email_stakeholder", &[signal]);
        action["target"] = json!("ada@corp.example.evil.test");
        action
    };
    // It is refused while effects are off, too.
    snapshot!("refused_while_off", propose_signals(&fixture, stranger, 1));
    let fixture = user("tactical");
    fixture.switch_effects_on();
    snapshot!("refused", propose_signals(&fixture, stranger, 1));
}

#[test]
fn what_no_list_has() {
    let fixture = user("tactical");
    fixture.switch_effects_on();
    snapshot!(propose_signals(&fixture, |signal| action("buy_shares", &[signal]), 1));
    // The person who has to decide sees the proposal, although it is recorded nowhere else.
    let listed = fixture.proem(&["escalations", "list"]);
    assert!(listed.answer().lines().all(|line| line.ends_with("; it calls itself buy_shares")), "{}", listed.stdout());
    let asked = fixture.proem(&["escalations", "list", "--json"]).json();
    assert_eq!(asked[0]["about"]["action"], "buy_shares", "{asked:#}");
    let id = asked[0]["id"].as_str().unwrap();
    let shown = fixture.proem(&["escalations", "show", id]);
    for text in ["buy_shares", asked[0]["about"]["target"].as_str().unwrap(), "do it yourself, outside Proem"] {
        assert!(shown.answer().contains(text), "{text}: {}", shown.stdout());
    }
}

#[test]
fn what_another_action_stands_for() {
    let fixture = user("tactical");
    fixture.switch_effects_on();
    for signal in ["report/1", "report/2"] {
        assert_eq!(fixture.propose(&action("email_stakeholder", &[signal]))["state"], "held");
    }
    let both = |signal: &str| action("email_stakeholder", &[signal, "mail/7"]);
    snapshot!(propose_signals(&fixture, both, 0));
    assert_eq!(fixture.open_actions().len(), 2);
}

#[test]
fn what_is_known_already() {
    let fixture = user("tactical");
    fixture.switch_effects_on();
    let same = |_: &str| action("email_stakeholder", &["report/1"]);
    assert_eq!(fixture.propose(&same(""))["state"], "held");
    snapshot!(propose_signals(&fixture, same, 0));
}

#[test]
fn a_list_shows_what_each_action_is_aimed_at() {
    let fixture = user("tactical");
    let long = format!("{}@corp.example.evil.test", "a".repeat(60));
    // The `о` of the third is Cyrillic.
    let targets = ["ada@corp.example", "ada@corp.example.evil.test", "ada@c\u{43e}rp.example", &long];
    for (index, target) in targets.iter().enumerate() {
        let mut action = action("email_stakeholder", &[&format!("report/{index}")]);
        action["target"] = json!(target);
        fixture.propose(&action);
    }
    let open = fixture.proem(&["queue", "list"]);
    let refused = fixture.proem(&["queue", "list", "--state", "refused"]);
    let mut refused: Vec<String> = settled(&fixture, refused.answer()).lines().map(str::to_owned).collect();
    refused.sort();
    assert_eq!(refused.len(), targets.len() - 1, "{refused:?}");
    snapshot!(format!("{}\n{}\n", settled(&fixture, open.answer()), refused.join("\n")));
    let exact = fixture.proem(&["queue", "list", "--json"]).json();
    assert_eq!(exact[0]["target"], "ada@corp.example");
}
