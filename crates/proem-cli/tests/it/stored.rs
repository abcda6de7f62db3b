//! Credentials with a shape, put into every input there is: no file in the state folder has one afterwards, as it is or
//! in disguise.

use std::fs;
use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proem_app::effects::propose::parse_action;
use proem_engine::policy::Ruling;
use proem_guard::credential;
use proem_llm::scripted::Reply;
use proem_store::record::EscalationState;
use serde_json::{Value as Json, json};

use crate::approvals::scene::answered;
use crate::effects::scene::Office;
use crate::fixture::Fixture;
use crate::run::{fixture, start};
use crate::triage_signals::{charter_text, comment, created, flag_change};

/// A part of the token that its disguises leave as it is, or take apart as a whole.
const PART: &str = "a1B2c3D4e5F6";

/// The shape of a token, put together here so that no scanner of sources takes it for one.
fn token() -> String {
    format!("ghp_{}", PART.repeat(3))
}

/// The token as it is and in each disguise.
fn forms() -> Vec<String> {
    let token = token();
    let each = |to: &dyn Fn(char) -> String| token.chars().map(to).collect::<String>();
    vec![
        token.clone(),
        each(&|c| format!("{c}\u{200b}")),
        each(&|c| format!("{c}.")),
        each(&|c| format!("&#{};", u32::from(c))),
        each(&|c| format!("\\x{:02x}", u32::from(c))),
        each(&|c| format!("\\{:03o}", u32::from(c))),
        STANDARD.encode(&token),
        STANDARD.encode(STANDARD.encode(&token)),
    ]
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

/// That no file in the state folder has a form of the token. `written` names what some file has to have, so that
/// something was looked for.
#[track_caller]
fn none_is_kept(fixture: &Fixture, written: &[&str]) {
    let mut missing = written.to_vec();
    for path in files_in(&fixture.base.join("state")) {
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for form in forms().iter().map(String::as_str).chain([PART]) {
            let around = text.split_once(form).map(|(before, behind)| {
                let before = before.get(before.ceil_char_boundary(before.len().saturating_sub(120))..);
                (before, behind.get(..behind.floor_char_boundary(120)))
            });
            assert_eq!(around, None, "{} has {form:?}", path.display());
        }
        let found = credential::find_credentials(&text);
        let places: Vec<&str> = found.iter().filter_map(|one| text.get(one.span.start..one.span.end)).collect();
        assert_eq!(places, [""; 0], "{}", path.display());
        missing.retain(|wanted| !text.contains(wanted));
    }
    assert_eq!(missing, [""; 0], "no file has this");
}

/// The texts of a fixture with more behind each of those that people write.
fn poisoned(value: Json, more: &str) -> Json {
    const TEXTS: [&str; 16] = [
        "summary",
        "description",
        "body",
        "text",
        "displayName",
        "name",
        "content",
        "subject",
        "bodyPreview",
        "notes",
        "html_notes",
        "environment",
        "title",
        "toString",
        "value",
        "id",
    ];
    match value {
        Json::Object(fields) => {
            let field = |(key, value): (String, Json)| match value {
                Json::String(text) if TEXTS.contains(&&*key) => (key, Json::String(format!("{text} {more}"))),
                value => (key, poisoned(value, more)),
            };
            fields.into_iter().map(field).collect()
        }
        Json::Array(items) => items.into_iter().map(|item| poisoned(item, more)).collect(),
        other => other,
    }
}

/// Signals of every source with a text in each of their texts, as files.
fn signals(more: &str) -> Vec<(String, Vec<u8>)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proem-triage/tests/it/fixtures");
    let mut all = Vec::new();
    for source in ["asana", "graph", "mail"] {
        for path in files_in(&fixtures.join(source)) {
            let name = format!("{source}-{}", path.file_name().unwrap().to_string_lossy());
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            if let Ok(value) = serde_json::from_str::<Json>(&text) {
                all.push((name, poisoned(value, more).to_string().into_bytes()));
            } else if source == "mail" {
                let text = text.replace("\r\n", "\n").replacen("Subject: ", &format!("Subject: {more} "), 1);
                all.push((name, format!("X-Key: {more}\n{text}\n{more}\n").into_bytes()));
            }
        }
    }
    let jira = [comment(142, "The bank is late."), flag_change(143), created(144, "Refunds", "They are late.")];
    let jira = jira.map(|signal| poisoned(signal, more).to_string());
    all.push(("jira.jsonl".to_owned(), jira.join("\n").into_bytes()));
    let plain = json!({
        "signal": 1, "id": more, "type": more, "source": more, "sender": { "name": more, "account": more },
        "ticket": more, "project": more, "summary": more, "body": more, "fields": { more: more }, more: [more],
    });
    all.push(("plain.jsonl".to_owned(), plain.to_string().into_bytes()));
    all.push(("malformed.json".to_owned(), format!("{{ \"key\": \"{more}\", ").into_bytes()));
    all
}

#[test]
fn signals_a_charter_and_a_persons_words_leave_no_credential() {
    let fixture = Fixture::folder().unborn();
    let token = token();
    let poisoned = charter_text("artefact").replace("Olivia Reyes", &format!("Olivia {token}"));
    fixture.trust_charter(&format!("# {token}\n{poisoned}"));
    for (round, form) in forms().into_iter().enumerate() {
        for (name, bytes) in signals(&form) {
            let name = format!("{round}-{name}");
            fixture.write(&name, bytes);
            fixture.triage().take_files(&[&name]);
        }
    }
    let reason = format!("because of {token}");
    let risk = ["title=Late audit", &format!("description=Booked {token}"), "severity=high", "mitigation=Ask"];
    let set: Vec<&str> = risk.iter().flat_map(|field| ["--set", field]).collect();
    let edit = [&["artefacts", "edit", "risk"][..], &set, &["--reason", &reason]].concat();
    let Some((said, code)) = answered(&fixture, &edit, "y") else { return };
    assert_eq!(code, 0, "{said}");
    let questions = fixture.triage().questions(Some(EscalationState::Open));
    let question = questions.first().expect("a signal asks a person something");
    let option = question.options.first().map_or("A", |option| option.id.as_str());
    let decide = ["escalations", "decide", &question.id.0, option, "--because", &reason];
    let (said, code) = answered(&fixture, &decide, "y").unwrap();
    assert_eq!(code, 0, "{said}");
    none_is_kept(&fixture, &["The bank is late. [redacted:github-token]", "because of [redacted:github-token]"]);
    // A store written without it is read as ever.
    for args in
        [&["artefacts", "show"][..], &["artefacts", "log"], &["triage", "status"], &["escalations", "list", "--all"]]
    {
        let run = fixture.proem(args);
        assert_eq!(run.code(), 0, "{}", run.transcript());
    }
}

#[test]
fn an_action_leaves_no_credential_and_none_goes_out() {
    let Some(office) = Office::open() else { return };
    let id = office.propose_note();
    for form in forms() {
        for field in ["subject", "body", "target", "cause"] {
            let mut note = office.note();
            match field {
                "target" => note["target"] = form.clone().into(),
                "cause" => note["causes"][0]["id"] = form.clone().into(),
                field => note["fields"][field] = format!("Use {form} for it.").into(),
            }
            let note = parse_action(note.to_string().as_bytes()).unwrap();
            let proposal = office.fixture.at_desk(async |desk| Ok(desk.propose(&note).await));
            let is_taken = proposal.as_ref().is_ok_and(|taken| !matches!(taken.decision.ruling, Ruling::Refusal(_)));
            assert!(field == "cause" || !is_taken, "{field} {form}: {proposal:?}");
        }
        let edit = office.fixture.proem(&["queue", "edit", &id, "--set", &format!("body=Use {form}.")]);
        assert_ne!(edit.code(), 0, "{form}: {}", edit.transcript());
    }
    let because = format!("it has {}", forms().join(" | "));
    let left = office.decide(&["queue", "cancel", &id, "--because", &because], "y\n").unwrap();
    assert_eq!(left.code, Some(0), "{}", left.shown);
    office.sweep();
    assert!(office.in_outbox().is_empty());
    none_is_kept(&office.fixture, &["it has [redacted:github-token]"]);
}

#[test]
fn a_run_leaves_no_credential() {
    for form in forms() {
        let answer = || Reply::value(json!({ "severity": "low", "reason": &form }));
        let wrong = Reply::value(json!({ "severity": &form, (form.clone()): [&form] }));
        let refused = Reply::raw(401, json!({ "error": { "message": format!("bad key {form}") } }).to_string());
        let server = start(vec![answer(), wrong, refused]);
        let fixture = fixture(&server, "attempts = 1\n");
        let set = format!("title=Why is {form} refused?");
        for _ in 0..3 {
            fixture.proem(&["run", "reviews/strict", "--set", &set]);
        }
        none_is_kept(&fixture, &["Why is [redacted:github-token]"]);
    }
}

#[test]
fn questions_tasks_and_ratings_leave_no_credential() {
    // The first one is the token itself.
    let all = forms().join(" | ");
    let server = start(vec![Reply::value(json!({ "severity": "low", "reason": "so" })), Reply::text(all.clone())]);
    let fixture = fixture(&server, "attempts = 1\n");
    fixture.proem(&["run", "reviews/strict", "--set", "title=a"]).answer();
    fixture.proem(&["ask", &format!("Why is {all} refused?"), "--system", &all]);
    fixture.write("AGENTS.md", format!("Call the server with {all}.\n"));
    fixture.proem(&["assemble", &format!("replace {all}")]).answer();
    fixture.proem(&["runs", "feedback", "last~1", "bad", "--note", &format!("it holds {all}")]);
    fixture.proem(&["run", "reviews/strict", "--set", &format!("{all}={all}")]);
    none_is_kept(&fixture, &["Why is [redacted:github-token]"]);
}
