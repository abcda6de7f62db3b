//! Small inputs as models, servers, repositories, trackers and mail programs really produce them, read in place.

use std::fs;
use std::path::{Path, PathBuf};

use proem_llm::scripted::{RawReply, Reply, ReplyContent, ScriptedServer};
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, Run};
use crate::run::start;
use crate::skipped::skip;

/// The folder of the inputs. `None`, said out loud, where there is none.
fn cases_folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join("shared/cases");
    let folder = folder.canonicalize().ok().filter(|folder| folder.is_dir());
    if folder.is_none() {
        skip("shared-data", "there is no folder of small inputs beside the checkout");
    }
    folder
}

/// The server's answer in a case: its literal bytes, or its text as a completion.
fn reply(case: &Path) -> Reply {
    let raw = |name: &str, kind: &str| {
        let body = fs::read(case.join(name)).ok()?;
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Some(Reply { say: ReplyContent::Raw(RawReply { status: 200, headers, body }), how: Default::default() })
    };
    let answer = || {
        let text = fs::read_to_string(case.join("answer.txt")).unwrap();
        let message = json!({ "role": "assistant", "content": text.strip_suffix('\n').unwrap_or(&text) });
        Reply::raw(200, json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] }).to_string())
    };
    raw("answer.sse", "text/event-stream").or_else(|| raw("answer.json", "application/json")).unwrap_or_else(answer)
}

/// Asks with a case's prompt. The server answers each of two attempts with the same.
fn ask(case: &Path, provider: &str) -> Run {
    let server: ScriptedServer = start(vec![reply(case), reply(case)]);
    let fixture = Fixture::folder();
    let address = server.address();
    let config = format!(
        "[providers.local]\nbase_url = \"http://{address}/v1\"\nanswers = \"object\"\n\n\
         [providers.tools]\nbase_url = \"http://{address}/v1\"\nanswers = \"tool\"\n\n[roles]\nsmall = \"local/none\"\n"
    );
    fixture.configure("config.toml", &config);
    let (prompt, model) = (case.join("case.prompt"), format!("{provider}/m"));
    fixture.proem(&["run", prompt.to_str().unwrap(), "--set", "title=x", "--model", &model, "--no-record"])
}

/// The value, or that no answer met the contract after the model was asked again.
#[track_caller]
fn check_answer(cases: &Path, name: &str, provider: &str, expected: Option<Json>) {
    let run = ask(&cases.join(name), provider);
    match expected {
        Some(value) => assert_eq!(run.json(), value, "{name}"),
        None => assert!(run.code() == 3 && run.stderr().contains("attempt 2: "), "{name}: {}", run.stderr()),
    }
}

#[track_caller]
fn check_failure(cases: &Path, name: &str, said: &str) {
    let run = ask(&cases.join(name), "local");
    assert!(run.code() == 3 && run.stderr().contains(said), "{name}: {}", run.stderr());
}

/// A repository as a case's script makes it. `None`, said out loud, where the machine lacks what the script needs.
fn repository(case: &Path) -> Option<Fixture> {
    let mut fixture = Fixture::folder();
    let made = fixture.command("bash").arg(case.join("make.sh")).arg(fixture.repo.join("r")).output().unwrap();
    if !made.status.success() {
        skip("shared-data", format!("`make.sh` failed: {}", String::from_utf8_lossy(&made.stderr)));
        return None;
    }
    fixture.repo = fixture.repo.join("r");
    Some(fixture)
}

fn signal(case: &Path) -> Json {
    let file = ["payload.json", "a.eml"].into_iter().map(|name| case.join(name)).find(|file| file.exists()).unwrap();
    Fixture::folder().proem(&["triage", "normalise", file.to_str().unwrap(), "--json"]).json()
}

fn verdict(file: &Path) -> String {
    let run = Fixture::folder().proem(&["scan", file.to_str().unwrap(), "--json"]);
    let document: Json = serde_json::from_str(run.stdout()).unwrap();
    document["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn every_small_input_is_read_right_or_asked_about() {
    let Some(cases) = cases_folder() else { return };
    check_answer(&cases, "06-answer-then-example", "local", Some(json!({ "title": "Login fails" })));
    check_answer(&cases, "09-list-closed-too-early", "local", None);
    let formula = json!({ "formula": "\\alpha = \\frac{1}{2} \\times \\beta" });
    check_answer(&cases, "11-latex-half-escaped", "local", Some(formula));
    check_answer(&cases, "17-ellipsis-in-a-list", "local", Some(json!({ "tags": ["red", "blue"] })));
    check_answer(&cases, "19-no-end-quote-in-the-middle", "local", None);
    check_answer(&cases, "21-integer-beyond-64-bits", "local", None);
    let mine = json!({ "title": "mine", "tags": ["x"] });
    check_answer(&cases, "23-reasoning-complete-answer-cut", "local", Some(mine));
    check_answer(&cases, "27-tool-call-id-changes", "tools", Some(json!({ "severity": "high" })));
    check_failure(&cases, "33-error-field-of-llama-cpp", "the request exceeds the available context size");
    check_failure(&cases, "34-error-object-with-status-200", "The model `x` does not exist.");
    repositories(&cases);
    prompts(&cases);
    check_signals(&cases);
    assert_ne!(verdict(&cases.join("67-orders-in-a-hidden-comment/README.md")), "allow");
    assert_ne!(verdict(&cases.join("68-install-in-an-issue-title/issue.json")), "allow");
    assert_eq!(verdict(&cases.join("72-guidance-do-not-tell-the-user/analyze.md")), "allow");
}

fn repositories(cases: &Path) {
    let Some(odd) = repository(&cases.join("40-path-not-utf8")) else { return };
    assert!(odd.proem(&["find", "fix format_cart_total"]).stdout().contains("\"src/f\\365rmat_total.py\":1\n"));
    assert!(odd.proem(&["risk", "HEAD", "--no-model", "--json"]).stdout().contains(r#""\"src/f\\365rmat_total.py\"""#));
    let Some(encoded) = repository(&cases.join("41-source-not-utf8")) else { return };
    let prompt = encoded.proem(&["assemble", "fix delta_cart_total rounding"]);
    assert!(prompt.stdout().contains("def delta_cart_total"), "{}", prompt.stdout());
    assert!(encoded.proem(&["find", "fix alpha_cart_total rounding"]).stdout().starts_with("src/u16le.py:"));
    let Some(mut clone) = repository(&cases.join("43-treeless-clone")) else { return };
    clone.repo = clone.repo.join("tree0");
    for args in [&["risk", "HEAD", "--no-model"][..], &["find", "round the total"]] {
        let said = clone.proem(args).stderr().to_owned();
        assert!(said.contains("trees that this partial clone left out") && !said.contains("fsck"), "{said}");
    }
    let Some(dated) = repository(&cases.join("45-commit-without-readable-date")) else { return };
    for args in [&["--since", "30d"][..], &["HEAD~5..HEAD", "--each"], &["HEAD"]] {
        let run = dated.proem(&[&["risk", "--no-model"], args].concat());
        assert!(run.code() == 0 && run.stdout().contains("after3"), "{args:?}: {}", run.stderr());
    }
}

fn prompts(cases: &Path) {
    let shown = |args: &[&str]| {
        let fixture = Fixture::folder();
        fixture
            .configure("config.toml", "[providers.plain]\nbase_url = \"http://127.0.0.1:9/v1\"\nanswers = \"text\"\n");
        fixture.proem(&[&["run", "--dry-run", "--model", "plain/x"], args].concat()).json()["body"]["messages"].clone()
    };
    let hello = cases.join("49-plain-dotprompt-file/hello.prompt");
    let messages = shown(&[hello.to_str().unwrap(), "--set", "name=Bob"]);
    assert_eq!(messages[0]["content"].as_str().map(str::trim), Some("You are polite."));
    assert!(messages[1]["content"].as_str().unwrap().contains("Hello Bob"), "{messages}");
    let folder = cases.join("55-object-for-a-prompt-of-one-text");
    let (prompt, input) = (folder.join("a.prompt"), folder.join("in.json"));
    let messages = shown(&[prompt.to_str().unwrap(), "--input", input.to_str().unwrap()]);
    assert_eq!(messages[0]["content"].as_str().map(str::trim), Some("Title: Saving fails."));
}

fn check_signals(cases: &Path) {
    let moved = signal(&cases.join("56-transition-without-event"));
    assert_eq!((&moved["type"], &moved["ticket"]), (&json!("ticket_updated"), &json!("TES-1")));
    assert_eq!(moved["fields"]["changes"], json!([{ "field": "status", "from": "To Do", "to": "In Progress" }]));
    let comment = signal(&cases.join("59-adf-nodes"))["fields"]["comment"].as_str().unwrap().to_owned();
    for text in
        ["## Plan", "2026-11-30", "BLOCKED", "- [ ] ask the vendor", "ship in December", "macro text", "future node"]
    {
        assert!(comment.contains(text), "{text} in {comment}");
    }
    assert!(!comment.contains("- [ ] ship"), "{comment}");
    assert_eq!(signal(&cases.join("61-graph-draft"))["type"], "unknown:draft");
    let footed = signal(&cases.join("63-base64-with-list-footer"));
    assert!(footed["fields"]["body"].as_str().unwrap().starts_with("The vendor is late, says Jürgen."), "{footed}");
    assert_eq!(signal(&cases.join("65-charset-cp932"))["fields"]["body"], "納品が遅れています");
}
