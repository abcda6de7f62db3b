//! Versions that a person puts to use and takes back, from a proposal on.

use std::fs;

use proem_llm::scripted::{ReceivedRequest, Reply, ScriptedServer};
use serde_json::json;

use crate::fixture::Fixture;
use crate::guide::{self, Tried};
use crate::notes::notes_in_document;

const SORT: &str = "---\nmodel: small\ninput:\n  schema: { mail: string }\noutput:\n  schema: { type: string, enum: [offer, other] }\n\
                    proem:\n  version: 1.0.0\n  cases: cases.yaml\n  sections:\n    - { name: role, trust: constitution }\n    \
                    - { name: mail, trust: untrusted, keep: required }\n---\n{{role \"system\"}}{{section \"role\"}}\nYou sort \
                    mails. You must answer with one word.\n{{role \"user\"}}{{section \"mail\"}}\n{{mail}}\n";

/// A model that knows French only if it is told of it.
fn sorting(request: &ReceivedRequest) -> Reply {
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let word = match () {
        () if body.contains("When do you open?") => "question",
        () if body.contains("Achetez") && !body.contains("may be in French") => "other",
        () => "offer",
    };
    Reply::value(json!({ "value": word }))
}

/// A fixture with one version, locked, and a draft of the next.
fn fixture(server: &ScriptedServer) -> Fixture {
    let fixture = Fixture::folder();
    let address = server.address();
    fixture.configure(
        "config.toml",
        &format!("[providers.local]\nbase_url = \"http://{address}/v1\"\n[roles]\nsmall = \"local/llama3.1\"\n"),
    );
    fixture.configure("book/mails/sort/1.0.0.prompt", SORT);
    let cases = "cases:\n  - { name: a French offer, inputs: { mail: Achetez ! }, live: { answer: offer } }\n";
    fixture.configure("book/mails/sort/cases.yaml", cases);
    fixture.configure("book/book.toml", "[current]\n\"mails/sort\" = \"1.0.0\"\n");
    assert_eq!(fixture.proem(&["book", "lock"]).code(), 0);
    let draft = SORT.replace("1.0.0", "1.1.0").replace("one word.", "one word. Mails may be in French.");
    fixture.write("draft.prompt", draft);
    fixture
}

const PROPOSE: [&str; 7] = ["book", "propose", "draft.prompt", "--prompt", "mails/sort", "--because", "French mails"];

#[test]
fn the_guide_to_a_promotion_that_is_taken_back_runs() {
    let server = ScriptedServer::answering(sorting).unwrap();
    let fixture = Fixture::folder();
    let address = format!("http://{}/v1", server.address());
    let tried = guide::run(&fixture, "promotion.md", &[(&address, "http://127.0.0.1:11434/v1")]);
    assert_eq!(tried, Tried { files: 4, sessions: 7 });
    let journal = fs::read_to_string(fixture.base.join("config/proem/book/journal.jsonl")).unwrap();
    let kinds: Vec<&str> =
        journal.lines().filter_map(|line| line.split("\"kind\":\"").nth(1)?.split('"').next()).collect();
    assert_eq!(kinds, ["approved", "promoted", "demoted"], "{journal}");
}

#[test]
fn without_a_terminal_nobody_decides_and_nothing_changes() {
    let server = ScriptedServer::answering(sorting).unwrap();
    let fixture = fixture(&server);
    assert_eq!(fixture.proem(&PROPOSE).code(), 0);
    let book = fixture.base.join("config/proem/book");
    let manifest = fs::read(book.join("book.toml")).unwrap();
    for command in [
        &["book", "approve"][..],
        &["book", "reject", "--because", "too long"],
        &["book", "promote", "mails/sort@1.0.0"],
        &["book", "demote", "mails/sort"],
    ] {
        let run = fixture.proem(command);
        assert!(run.code() == 1 || run.code() == 2, "{}", run.transcript());
        let reason = run.stderr();
        assert!(
            ["terminal", "is the version in use already", "has no promotion"].iter().any(|why| reason.contains(why)),
            "{reason}"
        );
    }
    assert_eq!(fs::read(book.join("book.toml")).unwrap(), manifest);
    assert!(!book.join("journal.jsonl").exists() && book.join("proposed").exists());
    assert_eq!(fixture.proem(&["book", "check", "--proposals"]).code(), 0);
    assert!(server.requests().is_empty());
}

#[test]
fn a_proposal_takes_recorded_answers_and_asks_nobody() {
    let server = ScriptedServer::answering(sorting).unwrap();
    let fixture = fixture(&server);
    fs::copy(fixture.base.join("config/proem/book/mails/sort/cases.yaml"), fixture.repo.join("cases.yaml")).unwrap();
    // The contract in a request has the name of the file.
    fs::copy(fixture.repo.join("draft.prompt"), fixture.repo.join("sort.prompt")).unwrap();
    let recorded = fixture.proem(&["book", "test", "sort.prompt", "--live", "--times", "2", "--record", "tapes"]);
    assert_eq!(recorded.code(), 0, "{}", recorded.transcript());
    let asked = server.requests().len();
    let run = fixture.proem(&[&PROPOSE[..], &["--replay", "tapes", "--times", "2"]].concat());
    assert!(run.stdout().contains("1.1.0: 1 of 1 cases pass, each asked 2 times"), "{}", run.transcript());
    assert_eq!((run.code(), server.requests().len()), (0, asked));
    // A maximum is asked for before a model is.
    let unbounded = fixture.proem(&[&PROPOSE[..], &["--live"]].concat());
    assert!(unbounded.code() == 2 && unbounded.stderr().contains("--max-cost"), "{}", unbounded.transcript());
}

#[test]
fn what_is_printed_for_programs_is_what_its_schema_says() {
    let server = ScriptedServer::answering(sorting).unwrap();
    let fixture = fixture(&server);
    assert_eq!(fixture.proem(&PROPOSE).code(), 0);
    fs::create_dir_all(fixture.base.join("config/proem/book/proposed/no-id")).unwrap();
    for (args, schema) in [
        (&["book", "proposals", "--json"][..], "book-proposals"),
        (&["book", "test", "--json"], "book-test"),
        (&["book", "test", "--live", "--times", "2", "--json"], "book-test"),
    ] {
        notes_in_document(&fixture.proem(args), schema);
    }
}
