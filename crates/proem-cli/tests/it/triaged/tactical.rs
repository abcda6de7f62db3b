//! The level that comments and mails: whom and what the trusted project's file lets it reach under the policy that ships,
//! and what becomes of what is refused.

use serde_json::{Value as Json, json};

use super::models::{TEXT, answers, calls_reply, classified, comment_id, one_comment, run, sanitised};
use super::{project, triaged};
use crate::approvals::scene::answered;
use crate::fixture::Fixture;
use crate::records::{records_file, sql};
use crate::run::start;
use crate::triage_signals::{charter_text, comment, created, flag_change, moved};

/// The states of the actions of a report by their names.
fn action_lines(report: &Json) -> Vec<String> {
    let text = |action: &Json, name: &str| action[name].as_str().unwrap_or_default().to_owned();
    let actions = report["actions"].as_array().unwrap().iter();
    actions.map(|action| format!("{} {}", text(action, "action"), text(action, "fate"))).collect()
}

#[test]
fn the_shipped_policy_lets_a_trusted_project_reach_its_own_people_and_tickets() {
    let fixture = project("tactical");
    fixture.switch_effects_on();
    let report = triaged(&fixture, &[created(1, "Refund in two parts", "")]);
    assert_eq!(action_lines(&report), ["jira_comment held"], "{report}");
    let listed = fixture.proem(&["policy", "check"]);
    assert!(listed.stdout().contains("corp.example"), "{}", listed.stdout());
}

#[test]
fn a_models_mail_to_a_stakeholder_is_held_under_the_shipped_policy() {
    let id = comment_id(1, TEXT);
    let server = start(answers(&id));
    let fixture = one_comment("tactical", &server);
    fixture.switch_effects_on();
    let report = run(&fixture, &["--json"]).json();
    assert_eq!(action_lines(&report), ["email_stakeholder held"], "{report}");
}

/// A repository that names its own people reaches nobody before somebody trusts it, nor once it has changed.
#[test]
fn a_project_file_that_nobody_trusts_allows_nobody() {
    let fixture = Fixture::folder().unborn();
    fixture.write(".proem/triage/project.toml", charter_text("tactical"));
    let none = |fixture: &Fixture| fixture.proem(&["policy", "check"]).stdout().to_owned();
    assert!(!none(&fixture).contains("corp.example"), "{}", none(&fixture));
    let fixture = project("tactical");
    assert!(none(&fixture).contains("corp.example"));
    fixture
        .write(".proem/triage/project.toml", charter_text("tactical").replace("sam@corp.example", "eve@win.example"));
    assert!(!none(&fixture).contains("corp.example"), "{}", none(&fixture));
}

/// An untrusted policy of the repository narrows what the trusted project's file allows.
#[test]
fn a_policy_of_the_repository_takes_recipients_away() {
    let fixture = project("tactical");
    fixture.write(".proem/policy.toml", "version = 1\ndomains = []\nrecipients = []\n");
    let listed = fixture.proem(&["policy", "check"]);
    assert!(!listed.stdout().contains("corp.example"), "{}", listed.transcript());
}

#[test]
fn a_refusal_is_a_question_that_names_the_command() {
    let fixture = project("tactical");
    let policy = include_str!("../../../../proem-engine/data/policy.toml");
    for (allowed, command) in [
        (policy.replace("denylist = []", "denylist = [\"jira-comment\"]"), "proem policy check"),
        (policy.replace("max_bytes = 2000, templates", "max_bytes = 3, templates"), "proem policy print"),
    ] {
        let list = allowed.replace(", \"jira_comment\"]", "]");
        let list = if allowed.contains("jira-comment") {
            let (before, rest) = list.split_once("[actions.jira_comment]").unwrap();
            let (_, after) = rest.split_once("[actions.email_stakeholder]").unwrap();
            format!("{before}[actions.email_stakeholder]{after}")
        } else {
            allowed
        };
        fixture.configure("policy.toml", &list);
        let number = if command.ends_with("check") { 1 } else { 2 };
        let report = triaged(&fixture, &[created(number, "Refund in two parts", "")]);
        let questions = report["questions"].as_array().unwrap();
        assert_eq!(questions.len(), 1, "{report}");
        let shown = fixture.proem(&["escalations", "show", questions[0]["id"].as_str().unwrap()]);
        assert!(shown.stdout().contains(command), "{}", shown.transcript());
    }
}

/// A person who allows a refused action gets it offered by the same question, and nobody does before.
#[test]
fn a_refused_action_is_offered_again_once_it_is_allowed() {
    let fixture = project("tactical");
    fixture.switch_effects_on();
    let policy = include_str!("../../../../proem-engine/data/policy.toml");
    let denied = policy.replace("denylist = []", "denylist = [\"jira-comment\"]").replace(", \"jira_comment\"]", "]");
    let (before, rest) = denied.split_once("[actions.jira_comment]").unwrap();
    let (_, after) = rest.split_once("[actions.email_stakeholder]").unwrap();
    fixture.configure("policy.toml", &format!("{before}[actions.email_stakeholder]{after}"));
    let report = triaged(&fixture, &[created(1, "Refund in two parts", "")]);
    let id = report["questions"][0]["id"].as_str().unwrap().to_owned();
    let decide = ["escalations", "decide", id.as_str(), "C"];
    let Some((said, code)) = answered(&fixture, &decide, "y") else { return };
    assert!(code != 0 && said.contains("the policy still refuses it"), "{said}");
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM actions WHERE name = 'jira_comment'"), ["0"]);
    fixture.configure("policy.toml", policy);
    let Some((said, code)) = answered(&fixture, &decide, "y") else { return };
    assert_eq!(code, 0, "{said}");
    assert_eq!(sql(&fixture, "SELECT state FROM actions WHERE name = 'jira_comment'"), ["held"], "{said}");
    // The question is decided, and the action is there once.
    let again = fixture.proem(&decide);
    assert!(again.code() == 1 && again.stderr().contains("was decided"), "{}", again.transcript());
}

/// Makes the records refuse every version of an artefact whose text is like that.
fn refusing(fixture: &Fixture, pattern: &str) {
    let connection = rusqlite::Connection::open(records_file(fixture)).unwrap();
    let trigger = format!(
        "CREATE TRIGGER refusing BEFORE INSERT ON artefact_versions WHEN \
         (SELECT CAST(bytes AS TEXT) FROM contents WHERE hash = NEW.content) LIKE '{pattern}' \
         BEGIN SELECT RAISE(ABORT, 'refused'); END"
    );
    connection.execute_batch(&trigger).unwrap();
}

/// A model's answer that notes a risk.
fn noting(id: &str) -> Vec<proem_llm::scripted::Reply> {
    let update = json!({
        "project_id": "0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f", "changes_summary": "A risk is noted.",
        "items_added": [{
            "id": "R002", "type": "risk", "title": "Vendor slips", "description": "Unwritable words.",
            "severity": "medium", "owner": "Olivia Reyes", "mitigation": "Ask the vendor.", "source": "agent_detected",
            "status": "open", "raised_date": "2026-11-29T09:00:00Z",
        }],
        "items_modified": [], "signals_incorporated": [id],
    });
    vec![
        calls_reply(vec![sanitised(id, &format!("Vendor certification\n{TEXT}"))]),
        calls_reply(vec![classified(id, "risk", "update_artefact")]),
        calls_reply(vec![("update_raid_log", update)]),
    ]
}

/// Rules decide alone about signals whose answer can't be written, a person is asked, and the next signal is asked about as
/// if nothing had been.
#[test]
fn an_answer_that_always_fails_to_apply_stops_nothing() {
    let id = comment_id(1, TEXT);
    let down = proem_llm::scripted::Reply::raw(400, "{}");
    let server = start(noting(&id).into_iter().chain((0..12).map(|_| down.clone())).collect());
    let fixture = one_comment("artefact", &server);
    fixture.write("first.json", comment(9, "The build is green.").to_string());
    fixture.proem(&["triage", "run", "first.json", "--no-model"]);
    refusing(&fixture, "%Unwritable words%");
    let done = run(&fixture, &["--json"]);
    assert_eq!(done.code(), 0, "{}", done.transcript());
    let report = done.json();
    assert_eq!(report["signals"][0]["id"], json!(id), "{report}");
    assert!(report["problems"].to_string().contains("could not be written"), "{report}");
    let titles = report["questions"].to_string();
    assert!(titles.contains("rules alone decided"), "{titles}");
    assert_eq!(fixture.triage().status()["signals"], json!({ "handled": 2 }));
    // The next run asks about what is new, and nothing is replayed.
    fixture.write("two.json", comment(2, "The tests are green.").to_string());
    let next = fixture.proem(&["triage", "run", "two.json", "--json"]);
    assert_eq!((next.code(), next.json()["signals"].as_array().unwrap().len()), (0, 1), "{}", next.transcript());
}

/// A record whose text is gone or damaged is asked about, and the signals beside it are worked on.
#[test]
fn a_damaged_record_of_a_signal_stops_no_other() {
    let mut fixture = project("artefact");
    fixture.set("PROEM_FAILPOINT", "fail:finish-cycle");
    fixture.write("signals.jsonl", format!("{}\n{}", flag_change(7), moved(1, "To Do", "Done")));
    assert_ne!(fixture.proem(&["triage", "run", "signals.jsonl"]).code(), 0);
    fixture.set("PROEM_FAILPOINT", "");
    let connection = rusqlite::Connection::open(records_file(&fixture)).unwrap();
    let damage =
        "UPDATE contents SET bytes = CAST('{' AS BLOB) WHERE hash = (SELECT text FROM signals ORDER BY seq LIMIT 1)";
    connection.execute_batch(damage).unwrap();
    drop(connection);
    let report = triaged(&fixture, &[moved(8, "To Do", "Done")]);
    assert_eq!(report["signals"].as_array().unwrap().len(), 2, "{report}");
    assert!(report["questions"].to_string().contains("can't be read"), "{report}");
    assert_eq!(sql(&fixture, "SELECT count(*) || '' FROM signals WHERE standing = 'open'"), ["0"]);
}
