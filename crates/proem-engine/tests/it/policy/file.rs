//! The policy's file and what is wrong with one.

use proem_engine::policy::{ActionList, AutonomyLevel, EffectRoute, Policy};

#[test]
fn the_shipped_policy_has_the_decided_lists_and_levels() {
    let policy = Policy::shipped().unwrap();
    let check = |name: &str, list: &str, hold: Option<u32>, level| {
        let terms = policy.action(name).unwrap();
        let minutes = if let ActionList::Hold(minutes) = terms.list { Some(minutes.0) } else { None };
        assert_eq!((terms.list.as_str(), minutes), (list, hold), "{name}");
        if list != "approval" {
            assert_eq!(terms.level, level, "{name}");
        }
    };
    check("heartbeat_log", "auto", None, AutonomyLevel::Monitoring);
    check("artefact_update", "auto", None, AutonomyLevel::Artefact);
    check("notification_internal", "auto", None, AutonomyLevel::Artefact);
    check("jira_comment", "auto", None, AutonomyLevel::Tactical);
    check("email_stakeholder", "hold", Some(30), AutonomyLevel::Tactical);
    check("jira_status_change", "hold", Some(5), AutonomyLevel::Tactical);
    for name in ["email_external", "jira_create_ticket", "scope_change", "milestone_change"] {
        check(name, "approval", None, AutonomyLevel::Tactical);
    }
    assert_eq!(policy.actions().count(), 10);
    let never: Vec<&str> = policy.never().collect();
    assert_eq!(never, ["change_own_autonomy_level", "delete_data", "modify_integration_config", "share_confidential"]);
    assert_eq!(policy.level(), AutonomyLevel::Monitoring);
    assert_eq!(policy.action("heartbeat_log").unwrap().route, EffectRoute::Inside);
    assert_eq!(policy.release_window().0, 4 * 3_600_000);
    assert_eq!((policy.decision_time(), policy.approval_time()), (7 * 86_400_000, 86_400_000));
}

#[test]
fn every_mistake_is_shown_at_its_place() {
    let wrong = r#"version = 1
level = "tactial"
domains = ["corp example"]
denylist = ["jira-comment"]
levle = "tactical"

[lists]
auto = ["jira_comment", "log"]
hold = { mail = -5, log = 5 }
approval = ["mail to"]
nevr = []

[times]
decision = "a week"

[holds]
untrusted = 2
shorter = [{ approvals = 5 }]

[[recipients]]
address = "Ada, Bob <a@corp.example>"

[actions.jira_comment]
level = "high"
perform = "smtp"
target = { role = "text" }
external = "log"
fields.body = { role = "txt", requird = true }
fields.kind = { role = "id", one_of = ["a"], templates = ["x"] }

[actions.unlisted]
"#;
    insta::assert_snapshot!(Policy::parse(wrong, "policy.toml").unwrap_err().to_string());
}

/// A file that goes with a mail has a name that the policy gives it and no agent: what is wrong with it is shown there.
#[test]
fn a_file_that_goes_along_is_named_by_the_policy() {
    let policy = |fields: &str, perform: &str| {
        let text = format!(
            "version = 1\n[lists]\napproval = [\"report\"]\n[actions.report]\nperform = \"{perform}\"\n\
             target = {{ role = \"recipient\" }}\nfields.body = {{ role = \"text\" }}\n{fields}"
        );
        Policy::parse(&text, "policy.toml")
    };
    let figures = "fields.figures = { role = \"text\", attachment = \"figures.csv\" }\n";
    let named = policy(figures, "mail").unwrap();
    assert_eq!(named.action("report").unwrap().fields["figures"].attachment.as_deref(), Some("figures.csv"));
    assert_ne!(named.hash(), policy(&figures.replace(".csv", ".txt"), "mail").unwrap().hash());
    let mut said = String::new();
    for name in ["../figures.csv", ".figures", "", "a\\r\\nBcc: eve@evil.example", "figures.csv; x", &"f".repeat(101)] {
        let field = format!("fields.figures = {{ role = \"text\", attachment = \"{name}\" }}");
        said.push_str(&format!("{}\n\n", policy(&field, "mail").unwrap_err()));
    }
    for (fields, perform) in [
        (figures, "inside"),
        ("fields.subject = { role = \"text\", attachment = \"a.txt\" }", "mail"),
        ("fields.figures = { role = \"text\", list = true, attachment = \"a.txt\" }", "mail"),
        ("fields.figures = { role = \"id\", attachment = \"a.txt\" }", "mail"),
        (
            "fields.a = { role = \"text\", attachment = \"a.txt\" }\n\
             fields.b = { role = \"text\", attachment = \"A.txt\" }",
            "mail",
        ),
    ] {
        said.push_str(&format!("{}\n\n", policy(fields, perform).unwrap_err()));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn what_is_no_toml_is_shown_alone() {
    insta::assert_snapshot!(Policy::parse("version = \nlevle = 5", "policy.toml").unwrap_err().to_string());
}

#[test]
fn the_hash_is_of_what_it_says_and_not_how() {
    let text = Policy::shipped_text();
    let hash = |text: &str| Policy::parse(text, "policy.toml").unwrap().hash();
    let bare: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(hash(text), hash(&bare));
    for (old, new) in [
        ("email_stakeholder = 30", "email_stakeholder = 31"),
        ("level = \"monitoring\"\n", "level = \"tactical\"\n"),
        ("domains = []", "domains = [\"corp.example\"]"),
        ("release_window = 240", "release_window = 241"),
        ("untrusted = 5", "untrusted = 6"),
        ("\"Blocked by {id}.\",", ""),
    ] {
        assert!(text.contains(old), "{old}");
        assert_ne!(hash(text), hash(&text.replacen(old, new, 1)), "{old}");
    }
}
