//! A project that is triaged without a model: the golden scenarios, attacks, and what is wrong with its file.

mod attack;
mod decided;
mod endings;
mod evenings;
mod going_on;
mod held;
mod hostile;
mod input;
mod killed;
mod listed;
mod models;
mod tactical;
mod taped;
mod unreadable;

pub(crate) use self::models::one_local_comment;

use proem_store::query::EscalationRow;
use proem_store::record::EscalationState;
use serde_json::{Value as Json, json};

use crate::approvals::scene::answered;
use crate::fixture::{Fixture, Run};
use crate::terminal::scene::proem;
use crate::terminal::screen::{WIDE, has_terminal, start_on};
use crate::triage_scene::{changed_items, signal_outcomes};
use crate::triage_signals::{added_to_sprint, charter_text, created, flag_change, moved};

/// A project at a level whose file a person trusted.
fn project(level: &str) -> Fixture {
    project_of(&charter_text(level))
}

/// The same of a file's text.
fn project_of(charter: &str) -> Fixture {
    let fixture = Fixture::folder().unborn();
    fixture.trust_charter(charter);
    fixture
}

/// Takes signals in without a model; the report as programs get it.
fn triaged(fixture: &Fixture, signals: &[Json]) -> Json {
    if fixture.is_in_this_process() {
        return fixture.triage().take_signals(signals);
    }
    let lines: Vec<String> = signals.iter().map(Json::to_string).collect();
    fixture.write("signals.jsonl", lines.join("\n"));
    take_files(fixture, &["signals.jsonl"])
}

/// The same of files.
fn take_files(fixture: &Fixture, files: &[&str]) -> Json {
    if fixture.is_in_this_process() {
        return fixture.triage().take_files(files);
    }
    let run = fixture.proem(&[&["triage", "run"], files, &["--json"]].concat());
    assert_eq!(run.code(), 0, "{}", run.stderr());
    run.json()
}

/// An artefact as it is.
fn artefact(fixture: &Fixture, name: &str) -> Json {
    fixture.triage().artefact(name)
}

fn count(value: &Json) -> usize {
    value.as_array().unwrap().len()
}

/// A person who trusts a project's file is told whom it lets triage reach.
#[test]
fn the_file_of_a_project_is_shown_with_all_that_it_allows() {
    let fixture = Fixture::folder().unborn();
    let eve = "\n[[stakeholders]]\nname = \"Eve\"\nrole = \"sponsor\"\naddress = \"eve@x.example\"\n";
    fixture.write(".proem/triage/project.toml", charter_text("tactical") + eve);
    let Some((said, code)) = answered(&fixture, &["trust", ".proem/triage/project.toml"], "y") else { return };
    assert!(code == 0 && said.contains("how much triage does without asking"), "{said}");
    assert!(said.contains("eve@x.example"), "{said}");
    assert_eq!(fixture.triage().status()["level"], "tactical");
}

/// Scenarios 3 and 7.
#[test]
fn a_person_decides_about_the_scope_and_it_is_written_down_as_his() {
    let fixture = project("artefact");
    let added = [added_to_sprint(150, "Gift cards"), added_to_sprint(151, "Loyalty points")];
    let report = triaged(&fixture, &added);
    assert_eq!(signal_outcomes(&report), ["escalated scope high", "escalated scope high"]);
    assert_eq!(changed_items(&report), ["H001", "H002", "BACKLOG001", "STATUS001"]);
    assert_eq!(count(&report["questions"]), 1, "one question for both: {report}");
    let questions = fixture.proem(&["escalations", "list", "--json"]).json();
    let id = questions[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(count(&questions[0]["options"]), 3);
    assert!(questions[0]["reason"].as_str().unwrap().contains("Recommended is B"), "{questions}");
    snapshot!(shown(&fixture.proem(&["escalations", "show", &id]), &id));

    let decide = ["escalations", "decide", &id, "B", "--because", "Loyalty points can wait"];
    let (said, code) = answered(&fixture, &decide, "y").unwrap();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("written into the decision log as DEC001"), "{said}");
    let decision = artefact(&fixture, "decision-log")["content"]["items"][0].clone();
    assert_eq!((&decision["made_by"], count(&decision["options_considered"])), (&json!("user"), 3));
    assert_eq!(decision["rationale"], "Loyalty points can wait");
}

/// The process ends right behind the decision: its entry in the log and the option's action are there with it, once.
#[test]
fn what_follows_from_a_decision_is_there_whenever_the_process_ends() {
    for (place, follows) in [("before-decision", 0), ("after-decision", 1)] {
        let mut fixture = project("monitoring");
        let mut critical = flag_change(142);
        critical["issue"]["fields"]["priority"] = json!({ "name": "Blocker" });
        triaged(&fixture, std::slice::from_ref(&critical));
        let questions = fixture.triage().questions(Some(EscalationState::Open));
        let acts = |row: &&EscalationRow| row.options.iter().any(|option| option.action.is_some());
        let id = questions.iter().find(acts).unwrap().id.0.clone();
        let decide = ["escalations", "decide", &id, "D", "--because", "It is blocked"];
        fixture.set("PROEM_FAILPOINT", place);
        let mut terminal = start_on(WIDE, proem(&fixture, &decide)).unwrap();
        terminal.until("[y/N]");
        terminal.press("y\n");
        let left = terminal.end();
        fixture.set("PROEM_FAILPOINT", "");
        assert_ne!(left.code, Some(0), "{place}: {}", left.shown);
        for _ in 0..2 {
            assert_eq!(fixture.open_actions().len(), follows, "{place}");
            let logged = artefact(&fixture, "decision-log");
            let items = logged["content"]["items"].as_array().map_or(0, Vec::len);
            assert_eq!(items, follows, "{place}: {logged}");
            triaged(&fixture, std::slice::from_ref(&critical));
        }
        // An undecided question can be decided. A decided one is asked no more.
        if follows == 0 {
            let (said, code) = answered(&fixture, &decide, "y").unwrap();
            assert_eq!(code, 0, "{place}: {said}");
        } else {
            let left = start_on(WIDE, proem(&fixture, &decide)).unwrap().end();
            assert!(left.code == Some(1) && left.shown.contains("was decided"), "{place}: {}", left.shown);
        }
    }
}

/// Text without what differs from run to run.
fn shown(run: &Run, id: &str) -> String {
    let text = run.stdout().replace(id, "[id]").replace(id.get(..8).unwrap(), "[id]");
    // The first line says when it was asked.
    text.split_once('\n').unwrap().1.to_owned()
}

#[test]
fn other_projects_and_what_can_t_be_read_are_set_aside() {
    let fixture = project("artefact");
    let mut other = flag_change(142);
    other["issue"]["key"] = json!("OPS-1");
    other["issue"]["fields"]["project"]["key"] = json!("OPS");
    fixture.write("signals.jsonl", format!("{other}\n{{\"broken\": \n{}\n", moved(1, "To Do", "Done")));
    let first = fixture.proem(&["triage", "run", "signals.jsonl"]);
    let runs = [
        first,
        fixture.proem(&["triage", "run", "signals.jsonl", "gone.json"]),
        fixture.proem(&["artefacts", "diff", "raid-log", "1", "2"]),
        fixture.proem(&["artefacts", "log", "decision-log"]),
    ];
    let sessions: Vec<String> = runs.iter().map(Run::transcript).collect();
    snapshot!(sessions.join("\n"));
}

#[test]
fn what_is_wrong_with_the_file_is_said() {
    let fixture = Fixture::folder().unborn();
    let file = ".proem/triage/project.toml";
    let none = fixture.proem(&["triage", "status"]);
    fixture.write(file, charter_text("artefact"));
    let untrusted = fixture.proem(&["triage", "run", "signals.jsonl"]);
    fixture.write(file, charter_text("full").replace("sam@corp.example", "sam"));
    let broken = fixture.proem(&["triage", "run", "signals.jsonl"]);
    let there = fixture.proem(&["triage", "init", "--name", "A", "--key", "A", "--owner", "B"]);
    let missing = Fixture::folder().unborn().proem(&["triage", "init", "--name", "A"]);
    let sessions = [none, untrusted, broken, there, missing];
    let sessions: Vec<String> = sessions.iter().map(Run::transcript).collect();
    snapshot!(sessions.join("\n"));
}

#[test]
fn a_file_is_written_shown_and_trusted_at_a_terminal() {
    let fixture = Fixture::folder().unborn();
    let given = [
        "triage",
        "init",
        "--name",
        "Mobile checkout",
        "--key",
        "TES",
        "--level",
        "tactical",
        "--owner",
        "Olivia",
        "--zone",
        "Europe/Lisbon",
        "--domain",
        "corp.example",
        "--stakeholder",
        "Sam <sam@corp.example>",
        "--milestone",
        "Beta=2999-12-24",
        "--models",
        "no",
    ];
    let Some((said, code)) = answered(&fixture, &given, "y") else { return };
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("address = \"sam@corp.example\""), "the file is shown: {said}");
    let status = fixture.proem(&["triage", "status"]);
    assert_eq!(status.code(), 0, "{}", status.stderr());
    assert!(status.stdout().contains("level tactical"), "{}", status.stdout());
}

/// No folder has to be a repository for triage.
#[test]
fn a_folder_without_git_is_set_up_trusted_and_triaged() {
    let fixture = Fixture::folder();
    assert!(!fixture.repo.join(".git").exists());
    let given =
        ["triage", "init", "--name", "Mobile checkout", "--key", "TES", "--level", "artefact", "--owner", "Olivia"];
    let given = [&given[..], &["--zone", "UTC", "--domain", "corp.example", "--models", "no"]].concat();
    let Some((said, code)) = answered(&fixture, &given, "y") else { return };
    assert_eq!(code, 0, "{said}");
    fixture.write("signals.jsonl", format!("{}\n", flag_change(7)));
    let run = fixture.proem(&["triage", "run", "signals.jsonl"]);
    assert!(run.stdout().contains("B001") || run.stderr().contains("B001"), "{}\n{}", run.stdout(), run.stderr());
    let status = fixture.proem(&["triage", "status"]);
    assert!(status.stdout().contains("level artefact"), "{}", status.stdout());
    // Another folder doesn't share its trust.
    let other = Fixture::folder();
    let charter = std::fs::read_to_string(fixture.repo.join(".proem/triage/project.toml")).unwrap();
    other.write(".proem/triage/project.toml", charter);
    assert_eq!(other.proem(&["triage", "status"]).code(), 2);
}

/// A person's text is that person's, by the same rules, and an artefact that moved on is not written over.
#[test]
fn a_person_edits_an_artefact() {
    let fixture = project("artefact");
    triaged(&fixture, &[flag_change(7)]);
    let raid = artefact(&fixture, "raid-log");
    let id = raid["content"]["items"][0]["id"].as_str().unwrap().to_owned();
    let owner = ["artefacts", "edit", &id, "--set", "owner=Sam Okoro", "--reason", "agreed in the review"];
    let (said, code) = answered(&fixture, &owner, "n").unwrap();
    assert!(code == 1 && said.contains("nothing was written"), "{said}");
    assert_eq!(artefact(&fixture, "raid-log"), raid);
    let (said, code) = answered(&fixture, &owner, "y").unwrap();
    assert!(code == 0 && said.contains("Sam Okoro") && said.contains(&format!("{id} is written")), "{said}");
    let edited = artefact(&fixture, "raid-log");
    assert_eq!(edited["content"]["items"][0]["owner"], "Sam Okoro");
    let log = fixture.proem(&["artefacts", "log", "raid-log", "--limit", "1"]);
    assert!(log.stdout().contains("agreed in the review") && log.stdout().contains("person"), "{}", log.stdout());

    let added =
        ["title=Late audit", "description=The auditor is booked out", "severity=high", "mitigation=Ask another"];
    let mut new = vec!["artefacts", "edit", "risk"];
    added.iter().for_each(|set| new.extend(["--set", set]));
    let (said, code) = answered(&fixture, &new, "y").unwrap();
    assert!(code == 0 && said.contains("R001 is written"), "{said}");

    let refused: Vec<String> = [
        &["artefacts", "edit", "R001", "--set", "severity=awful", "--reason", "x"][..],
        &["artefacts", "edit", "R001", "--set", "due_date=soon", "--reason", "x"],
        &["artefacts", "edit", "R001", "--set", "goal=x", "--reason", "x"],
        &["artefacts", "edit", "R001", "--status", "closed"],
        &["artefacts", "edit", "R009", "--status", "closed", "--reason", "x"],
        &["artefacts", "edit", "risk", "--set", "title=Only this"],
    ]
    .iter()
    .map(|args| {
        let mut command = fixture.command(&fixture.binary);
        command.args(*args).env("NO_COLOR", "1");
        let left = crate::terminal::screen::start(command).unwrap().end();
        format!("$ proem {}\n{}exit {}", args.join(" "), left.raw.replace('\r', ""), left.code.unwrap())
    })
    .collect();
    insta::assert_snapshot!("an_edit_is_refused", refused.join("\n\n"));
    let run = fixture.proem(&["artefacts", "edit", "R001", "--set", "owner=x", "--reason", "y"]);
    assert_eq!(run.code(), 2, "a pipe is no person: {}", run.stderr());
}

/// Figures of the backlog are known once all of it was told, and unknown before.
#[test]
fn figures_are_known_from_a_whole_search_and_unknown_from_a_part_of_it() {
    let issue = |number: u32, status: &str, category: &str, points: u32| {
        json!({ "id": format!("20{number}"), "key": format!("TES-{number}"), "fields": {
            "project": { "key": "TES" }, "summary": format!("Story {number}"), "issuetype": { "name": "Story" },
            "priority": { "name": "High" }, "updated": "2026-11-23T09:00:00.000+0000", "customfield_10016": points,
            "status": { "name": status, "statusCategory": { "key": category } },
        } })
    };
    let issues =
        [issue(1, "To Do", "new", 3), issue(2, "Done", "done", 5), issue(3, "In Progress", "indeterminate", 8)];
    let whole = json!({ "startAt": 0, "total": 3, "issues": issues });
    let of_tokens = json!({ "issues": issues, "isLast": true });
    let page = json!({ "startAt": 0, "total": 9, "issues": issues });
    let figures = |fixture: &Fixture| artefact(fixture, "backlog-summary")["figures"].clone();
    for (text, args, known) in [
        (&whole, &[][..], true),
        (&of_tokens, &[], false),
        (&of_tokens, &["--whole-backlog"], true),
        (&page, &[], false),
    ] {
        let fixture = project("artefact");
        fixture.write("backlog.json", text.to_string());
        let run = fixture.proem(&[&["triage", "run", "backlog.json"][..], args].concat());
        assert_eq!(run.code(), 0, "{}", run.stderr());
        assert_eq!(fixture.triage().status()["signals"], json!({ "handled": 3 }), "only signals are counted");
        let shown = figures(&fixture).to_string();
        assert_eq!(!shown.contains("only a part of the backlog"), known, "{args:?} {shown}");
    }
}

/// The owner is told of new questions in words of ours, once, if the trusted project's file has the address.
#[test]
fn the_owner_is_told_of_new_questions() {
    let fixture = project("artefact");
    let scope = created(8, "Please add wallets", "The sponsor asks for wallets to be part of the release, too.");
    let untold = triaged(&fixture, &[scope]);
    assert_eq!((count(&untold["questions"]), count(&untold["actions"])), (1, 0), "nobody has the address: {untold}");

    let owner = "\n[[stakeholders]]\nname = \"Olivia Reyes\"\nrole = \"owner\"\naddress = \"olivia@corp.example\"\n";
    fixture.trust_charter(&(charter_text("artefact") + owner));
    let again = created(9, "Please add vouchers", "The sponsor asks for vouchers to be part of the release, too.");
    let report = triaged(&fixture, &[again]);
    assert_eq!(count(&report["questions"]), 1, "{report}");
    assert_eq!(
        report["actions"],
        json!([{ "action": "notification_internal", "fate": "proposed" }]),
        "effects are off"
    );
    let listed = fixture.open_actions();
    let shown = fixture.proem(&["queue", "show", &listed[0].key.to_string()]);
    assert!(shown.stdout().contains("Mobile checkout: a question waits"), "{}", shown.stdout());
    // The signal's words come beside it, between bars, and nowhere in the text that leaves.
    let (_, says) = shown.stdout().split_once("What it says:").unwrap();
    assert!(!says.contains("vouchers"), "nothing of a signal's text: {}", shown.stdout());
    let mut quoted = shown.stdout().lines().filter(|line| line.contains("vouchers"));
    assert!(quoted.all(|line| line.trim_start().starts_with("│ ")), "{}", shown.stdout());
}

/// The evening of 24 November 2026, the day of the guide's newest signal, in milliseconds since 1970: a week later its
/// tickets would are blocked.
const GUIDED_AT: &str = "1795543200000";

/// The id of a mail that the guide asks models about: it is a hash of what came.
fn guided(fixture: &Fixture, name: &str) -> String {
    let guide = concat!(
        include_str!("../../../../docs/guide/triage-models.md"),
        include_str!("../../../../docs/guide/triage-mail.md")
    );
    let (_, mail) = guide.split_once(&format!("text title={name}\n")).unwrap();
    fixture.write(name, mail.split_once("```").unwrap().0);
    let written = fixture.proem(&["triage", "normalise", name, "--json"]);
    let signal: Json = serde_json::from_str(written.stdout().lines().next().unwrap()).unwrap();
    signal["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_guide_says_what_the_binary_does() {
    // The id of the mail that the guide shows depends on the folder.
    let mut fixture = Fixture::fixed("triage").unborn();
    fixture.set("NO_COLOR", "1");
    fixture.set("PROEM_CLOCK", GUIDED_AT);
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef");
    let answers = |name: &str, text: &str| {
        let id = guided(&fixture, name);
        [
            models::calls_reply(vec![models::sanitised(&id, text)]),
            models::calls_reply(vec![models::classified(&id, "stakeholder", "draft_communication")]),
            models::calls_reply(vec![models::drafted_call(&id, "sam@corp.example")]),
        ]
    };
    let first = answers("question.eml", "Vouchers\nWhen will the vouchers be ready?");
    let again = answers("again.eml", "Vouchers again\nWhen will the vouchers be ready?");
    let server = crate::run::start(first.into_iter().chain(again).collect());
    let address = format!("http://{}", server.address());
    let pages =
        ["triage.md", "triage-judge.md", "triage-project.md", "triage-decide.md", "triage-models.md", "triage-mail.md"];
    let tried = crate::guide::run_pages(&fixture, &pages, &[(&address, "https://api.anthropic.com")]);
    assert_eq!(tried, crate::guide::Tried { files: 10, sessions: 24 });
    assert_eq!(server.requests().len(), 6);
}

/// Golden scenarios 1, 2, 3, 5, 6, 7, 9 and 10 as a person meets them; 4 and 8 take a model.
#[test]
fn eight_projects_go_as_their_guide_says() {
    if !has_terminal() {
        return;
    }
    let tried = crate::guide::run_sections("triage-scenarios.md", || {
        let mut fixture = Fixture::folder().unborn();
        fixture.set("NO_COLOR", "1");
        fixture
    });
    let numbers: Vec<&str> = tried.iter().filter_map(|(title, _)| Some(title.split_once('.')?.0)).collect();
    assert_eq!(numbers, ["1", "2", "3", "5", "6", "7", "9", "10"]);
    assert!(tried.iter().all(|(_, tried)| tried.files >= 2 && tried.sessions >= 4), "{tried:?}");
}

/// The output for programs fits its published schema.
#[test]
fn json_is_what_its_schema_says() {
    let fixture = project("artefact");
    let sponsor =
        "Subject: Beta date\nFrom: Sam <sam@corp.example>\nMessage-ID: <1@corp.example>\n\nWhen will it be there?\n";
    fixture.write("sponsor.eml", sponsor);
    fixture.write("signals.jsonl", flag_change(7).to_string());
    for (args, schema) in [
        (&["triage", "run", "signals.jsonl", "sponsor.eml", "--json"][..], "triage-run"),
        (&["triage", "status", "--json"], "triage-status"),
        (&["triage", "signals", "--json"], "triage-signals"),
        (&["artefacts", "show", "--json"], "artefacts"),
        (&["artefacts", "export", "--format", "json"], "artefacts"),
    ] {
        let path = format!("{}/../../docs/reference/{schema}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let schema: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let run = fixture.proem(args);
        let output = run.json();
        let problems: Vec<String> =
            validator.iter_errors(&output).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{args:?}: {problems:#?}");
        assert!(!validator.is_valid(&json!({ "degraded": "no" })), "{args:?}");
    }
}
