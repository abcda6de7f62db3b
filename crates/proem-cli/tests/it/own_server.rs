//! One configuration for every command: somebody who runs a server of their own, such as Ollama or vLLM.

use std::fs;
use std::path::Path;

use proem_llm::scripted::{Reply, ScriptedServer};
use serde_json::{Value as Json, json};

use crate::book::{CASES, SCHEMA, SORTING};
use crate::fixture::{Fixture, Run};
use crate::guide;
use crate::risk::scene::shop;
use crate::run::{settled, start};
use crate::skipped::skip;

/// Commands that count, plan, encode for or ask a model.
const COMMANDS: [&[&str]; 5] = [
    &["tokens", "docs/notes.md", "--json"],
    &["assemble", "add retries", "--format", "openai"],
    &["run", "reviews/sorting", "--set", "title=It crashes", "--dry-run"],
    &["risk", "HEAD", "--no-record"],
    &["book", "test", "reviews/sorting", "--live", "--times", "1", "--no-record"],
];

/// A user without any key, whose server is `local`. `top` and `more` are before and behind it.
fn user(server: &ScriptedServer, top: &str, more: &str) -> Fixture {
    let fixture = shop().repository();
    let address = server.address();
    let local = format!("[providers.local]\nbase_url = \"http://{address}/v1\"\nattempts = 1\n");
    fixture.configure("config.toml", &format!("{top}\n{local}{more}\n"));
    for (file, text) in [("1.0.0.prompt", SORTING), ("sorting.schema.json", SCHEMA), ("sorting.cases.yaml", CASES)] {
        fixture.configure(&format!("book/reviews/sorting/{file}"), text);
    }
    fixture
}

fn high_server() -> ScriptedServer {
    start(vec![Reply::value(json!({ "severity": "high" }))])
}

/// The model that a command spoke of or asked, or its error.
fn spoke_of(command: &[&str], run: &Run, sent: Option<Json>) -> Result<String, String> {
    if run.code() == 2 {
        let (_, error) = run.stderr().split_once("error: ").unwrap_or(("", run.stderr()));
        return Err(error.to_owned());
    }
    let json = || serde_json::from_str::<Json>(run.stdout()).unwrap();
    let name = match command[0] {
        "tokens" => {
            let json = json();
            let mut names = json["counters"].as_object().unwrap().keys();
            json!(names.find(|name| !["o200k", "cl100k"].contains(&name.as_str())))
        }
        "assemble" => json()["model"].clone(),
        "run" => json()["body"]["model"].clone(),
        _ => sent.ok_or_else(|| format!("nothing was sent: {}", run.transcript()))?["model"].clone(),
    };
    Ok(name.as_str().unwrap().to_owned())
}

/// Every command must speak of the same model, or refuse in the same words, which begin like that.
#[track_caller]
fn check(configured: (&str, &str), flags: &[&str], expected: Result<&str, &str>) {
    check_commands(&COMMANDS, configured, flags, expected);
}

#[track_caller]
fn check_commands(commands: &[&[&str]], (top, more): (&str, &str), flags: &[&str], expected: Result<&str, &str>) {
    let server = high_server();
    let fixture = user(&server, top, more);
    for command in commands {
        let before = server.requests().len();
        let run = fixture.proem(&[command, flags].concat());
        let sent = server.requests().get(before).and_then(|request| request.json());
        let found = spoke_of(command, &run, sent);
        let context = format!("{top} {more} {command:?} {flags:?}: {found:?}");
        match expected {
            Ok(model) => assert_eq!(found.as_deref(), Ok(model), "{context}"),
            Err(words) => assert!(found.as_ref().is_err_and(|error| error.starts_with(words)), "{context}"),
        }
    }
}

/// Each way of naming a model is tested with the use case that finds it.
#[test]
fn roles_models_and_providers_mean_the_same_everywhere() {
    let role = ("", "[roles]\nsmall = \"local/my-model\"");
    check(role, &["--provider", "local"], Ok("my-model"));
    // The command line comes before configuration, and that before the prompt.
    check(("model = \"gpt-4o\"", role.1), &["--model", "local/other"], Ok("other"));
}

#[test]
fn what_is_wrong_is_said_in_the_same_words_everywhere() {
    check(("", ""), &["--model", "my-model"], Err("no model or role `my-model`\n  roles: large (claude-sonnet-4-6), "));
    // The others are the same error, which one function words.
    let check = |configured, flags: &[&str], expected| check_commands(&COMMANDS[2..3], configured, flags, expected);
    check(
        ("", ""),
        &["--provider", "nowhere", "--model", "my-model"],
        Err("no provider `nowhere`; known are `anthropic`, `local`, `openai`, and `[providers.nowhere]` in your \
             configuration adds one\n"),
    );
    check(
        ("", ""),
        &["--provider", "local"],
        Err("role `small` means claude-haiku-4-5, which `local` does not have; name one of its models with \
             --model, or set `small = \"local/MODEL\"` under `[roles]`\n"),
    );
    check(
        ("", "[providers.bare]"),
        &["--model", "bare/my-model"],
        Err("provider `bare` has no address; set `base_url`"),
    );
}

#[test]
fn what_is_not_known_of_an_own_model_is_said() {
    let server = high_server();
    let fixture = user(&server, "", "[roles]\nsmall = \"local/my-model\"");
    let tokens = [
        fixture.proem(&["tokens", "docs/notes.md"]),
        fixture.proem(&["tokens", "docs/notes.md", "--model", "local/my-model"]),
        fixture.proem(&["assemble", "add retries", "--format", "anthropic"]),
    ];
    snapshot!(tokens.iter().map(|run| settled(&server, run)).collect::<Vec<_>>().join("\n"));
    let explained = fixture.proem(&["assemble", "add retries", "--explain"]);
    let account = explained.stderr();
    assert!(account.contains("  for my-model, estimated as o200k × 1.00\n"), "{account}");
    assert!(
        account.contains(" tokens are stable, but how many my-model needs to cache them is not known\n"),
        "{account}"
    );
    let json = fixture.proem(&["assemble", "add retries", "--json"]).json();
    assert_eq!(json["report"]["counter"], json!({ "name": "o200k × 1.00", "exactness": "estimate" }));
    assert_eq!((&json["cache"]["model"], &json["cache"]["exactness"]), (&json!("my-model"), &json!("estimate")));
}

#[test]
fn older_models_are_counted() {
    let fixture = Fixture::folder().committed();
    for model in ["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo"] {
        let json = fixture.proem(&["tokens", "README.md", "--model", model, "--json"]).json();
        assert_eq!(json["counters"][model], json!({ "counter": "cl100k", "exactness": "exact" }));
        assert_eq!(json["totals"][model], json!(8));
    }
    let plan = fixture.proem(&["assemble", "add retries", "--model", "gpt-4-turbo", "--json"]).json();
    let sentence = plan["cache"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("gpt-4-turbo caches nothing, so every call pays for all "), "{sentence}");
}

#[test]
fn without_git_and_without_a_book_tokens_are_counted() {
    let server = high_server();
    let mut fixture = user(&server, "", "[roles]\nsmall = \"local/my-model\"");
    fixture.configure("book/reviews/sorting/1.0.0.prompt", "---\n: broken\n---\n");
    fixture.set("PATH", "");
    let json = fixture.proem(&["tokens", "docs/notes.md", "--json"]).json();
    assert_eq!(json["counters"]["my-model"]["exactness"], "estimate");
}

#[test]
fn a_project_says_who_is_asked_only_when_it_is_trusted() {
    let fixture = Fixture::folder().committed();
    fixture.write("proem.toml", "model = \"gpt-4o\"\n");
    let counted = || fixture.proem(&["tokens", "README.md", "--json"]);
    let untrusted = counted();
    assert!(untrusted.json()["counters"].get("claude-haiku-4-5").is_some(), "{}", untrusted.stdout());
    assert!(untrusted.stderr().contains("note: not trusted: proem.toml; "), "{}", untrusted.stderr());
    crate::assemble::trust(&fixture, "proem.toml");
    assert!(counted().json()["counters"].get("gpt-4o").is_some());
}

/// The bytes of llama.cpp's server: its list of models, a value under a schema, else words.
fn recorded() -> ScriptedServer {
    ScriptedServer::answering(|request| {
        let body = request.json().unwrap_or_default();
        let name = match (body.get("response_format"), body["stream"] == true) {
            _ if request.method == "GET" => "models",
            (Some(_), true) => "schema-stream",
            (Some(_), false) => "schema",
            (None, _) => "stream",
        };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proem-llm/tests/recorded/llama-server");
        Reply::recorded(&fs::read(folder.join(format!("{name}.http"))).unwrap()).unwrap()
    })
    .unwrap()
}

/// The first five minutes with a server: words, a value that is checked, and what was found out about it.
#[track_caller]
fn check_first_answers(base_url: &str) {
    let fixture = Fixture::folder().committed();
    let local = format!("[providers.local]\nbase_url = \"{base_url}\"\n\n[roles]\nsmall = \"local/smol\"\n");
    fixture.configure("config.toml", &local);
    let words = fixture.proem(&["ask", "Say hello in one short sentence."]);
    assert_eq!(words.code(), 0, "{}", words.transcript());
    assert!(words.stdout().split_whitespace().count() > 1, "{}", words.transcript());
    let question = "The program crashes at every start and all data is lost. How bad is it?";
    let value = fixture.proem(&["ask", question, "--schema", "severity high|low", "--json"]);
    assert_eq!(value.code(), 0, "{}", value.transcript());
    let severity = value.json()["value"]["severity"].as_str().unwrap_or_default().to_owned();
    assert!(["high", "low"].contains(&severity.as_str()), "{}", value.transcript());
    let doctor = fixture.proem(&["doctor", "--connect"]);
    assert!(doctor.stdout().contains("4,096") || doctor.stdout().contains("tokens"), "{}", doctor.transcript());
}

#[test]
fn a_recorded_server_gives_words_and_a_checked_value() {
    check_first_answers(&recorded().base_url());
}

#[test]
fn a_live_server_gives_words_and_a_checked_value() {
    match std::env::var("PROEM_TEST_SERVER") {
        Ok(base_url) => check_first_answers(&base_url),
        Err(_) => skip("model-server", "PROEM_TEST_SERVER names no base URL"),
    }
}

#[test]
fn the_guide_runs_against_recorded_bytes() {
    let server = recorded();
    let fixture = shop().repository();
    let address = format!("http://{}/v1", server.address());
    let tried = guide::run(&fixture, "own-server.md", &[(&address, "http://127.0.0.1:11434/v1")]);
    assert_eq!(tried, guide::Tried { files: 5, sessions: 10 });
}

/// A server that takes neither `json_schema` nor tools, and says so in its own ways.
fn objects_only_server() -> ScriptedServer {
    ScriptedServer::answering(|request| {
        let body = request.json().unwrap_or_default();
        let refuse =
            |status: u16, message: &str| Reply::raw(status, json!({ "error": { "message": message } }).to_string());
        if body["response_format"]["type"] == "json_schema" {
            refuse(500, "response_format type json_schema is not implemented")
        } else if body.get("tools").is_some() {
            refuse(400, "registry/my-model:latest does not support tools")
        } else {
            Reply::text(r#"{"severity": "high"}"#)
        }
    })
    .unwrap()
}

#[test]
fn a_way_that_a_server_refuses_is_not_tried_again() {
    let server = objects_only_server();
    let fixture = Fixture::folder().committed();
    let local = format!("[providers.local]\nbase_url = \"http://{}/v1\"\n", server.address());
    fixture.configure("config.toml", &format!("{local}\n[roles]\nsmall = \"local/my-model\"\n"));
    let ask = || fixture.proem(&["ask", "How bad is it?", "--schema", "severity high|low", "--json"]);
    let first = ask();
    assert_eq!((first.code(), &first.json()["value"]), (0, &json!({ "severity": "high" })), "{}", first.stderr());
    let told = "does not hold answers to a schema by `schema`; `object` is used from here on, which is remembered";
    assert!(first.stderr().contains(told), "{}", first.stderr());
    assert_eq!(server.requests().len(), 3, "each way once");
    let told = server.requests().last().unwrap().json().unwrap().to_string();
    assert!(told.contains("It has this form") && told.contains("one of `high`, `low`"), "{told}");
    assert_eq!(ask().code(), 0);
    assert_eq!(server.requests().len(), 4, "the way is remembered");
    let doctor = fixture.proem(&["doctor"]);
    let words = doctor.stdout().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("held to a schema by `object`"), "{words}");
    // The configuration comes first.
    fixture.configure("config.toml", &format!("{local}answers = \"text\"\n\n[roles]\nsmall = \"local/my-model\"\n"));
    assert_eq!(ask().code(), 0);
    assert_eq!(server.requests().last().unwrap().json().unwrap().get("response_format"), None);
}

#[test]
fn a_way_that_is_configured_is_not_changed() {
    let server = objects_only_server();
    let fixture = Fixture::folder().committed();
    let local = format!("[providers.local]\nbase_url = \"http://{}/v1\"\nanswers = \"schema\"\n", server.address());
    fixture.configure("config.toml", &format!("{local}\n[roles]\nsmall = \"local/my-model\"\n"));
    let asked = fixture.proem(&["ask", "How bad is it?", "--schema", "severity high|low"]);
    assert_eq!(asked.code(), 3);
    assert!(asked.stderr().contains("set `answers` under `[providers.local]`"), "{}", asked.stderr());
    assert_eq!(server.requests().len(), 1, "it is not sent four times");
}

#[test]
fn a_schema_in_one_line_names_its_mistakes() {
    let fixture = Fixture::folder().committed();
    let asked = fixture.proem(&["ask", "How bad is it?", "--schema", "severity high|low, age integr", "--dry-run"]);
    assert_eq!(asked.code(), 2);
    assert!(asked.stderr().contains("schema, character 20: unknown type `integr`"), "{}", asked.stderr());
}

#[test]
fn every_repair_is_shown_with_its_place() {
    let server = start(vec![Reply::text("Sure:\n```json\n{\n  severity: \"high\",\n}\n```")]);
    let mut fixture = user(&server, "", "answers = \"text\"\n\n[roles]\nsmall = \"local/my-model\"");
    fixture.set("NO_COLOR", "1");
    let asked = fixture.proem(&["run", "reviews/sorting", "--set", "title=It crashes", "--explain"]);
    assert!(asked.stderr().contains("attempt 1: `/severity`, line 4: a key had no quotes"), "{}", asked.stderr());
    let json = fixture.proem(&["run", "reviews/sorting", "--set", "title=It crashes", "--json"]).json();
    let key = json!({ "kind": "unquoted-key", "path": "/severity", "line": 4 });
    let repairs = json["attempts"][0]["repairs"].as_array().unwrap();
    assert!(repairs.contains(&key), "{json}");
    let shown = fixture.proem(&["runs", "show", "last"]);
    let words = shown.stdout().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("`/severity`, line 4: a key had no quotes"), "{words}");
}
