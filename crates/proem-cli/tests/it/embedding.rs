//! A server of embeddings instead of the built-in model: what it gets, and what happens without it.

use std::net::TcpListener;

use proem_llm::scripted::{Delivery, Reply, ReplyContent, ScriptedServer, ServerScript, VectorFault, Vectors};
use serde_json::{Value as Json, json};

use crate::fixture::Fixture;

const TASK: &str = "open an issue in the github repository about the broken login";

/// A project with three tools, and a user who configured the model `fake` at `base_url`.
fn embedding_fixture(base_url: &str, provider: &str, embedding: &str) -> Fixture {
    let fixture = plain();
    fixture.configure("config.toml", &configuration(base_url, provider, embedding));
    fixture
}

fn configuration(base_url: &str, provider: &str, embedding: &str) -> String {
    format!(
        "[providers.vectors]\nbase_url = \"{base_url}\"\nattempts = 1\n{provider}\n\
         [embedding]\nprovider = \"vectors\"\nmodel = \"fake\"\ncalibration = \"weights.json\"\n{embedding}\n"
    )
}

/// The same without that user's configuration.
fn plain() -> Fixture {
    let fixture = Fixture::folder().committed();
    fixture.write(".mcp.json", json!({ "mcpServers": { "github": { "command": "gone" } } }).to_string());
    let tool = |name: &str, description: &str| json!({ "name": name, "description": description });
    let tools = [
        tool("create_issue", "Opens a new issue in a GitHub repository."),
        tool("list_branches", "Lists the branches of a GitHub repository."),
        tool("forecast", "Tells the weather of the next days for a city."),
    ];
    fixture.write(".proem/catalogue/github.json", json!({ "tools": tools }).to_string());
    fixture.write(".proem/private/memory.jsonl", "{\"text\":\"the login is flaky\",\"kind\":\"note\"}\n");
    fixture
}

/// Writes weights for the configured model, whose id is in what is said about a model without.
fn calibrate(fixture: &Fixture) -> String {
    let why = selected(fixture)["degraded"].as_str().unwrap().to_owned();
    let id = why.split('`').nth(1).unwrap().to_owned();
    let weights = |meaning: f32| json!({ "weights": [5, 5, 2, meaning, 0, 0, 1, 0, 0], "slope": [0.2, 0.9], "offset": -0.5, "threshold": 0.1 });
    let file =
        json!({ "version": 1, "lexical": weights(0.0), "models": { &id: weights(9.0) }, "related": { &id: 0.3 } });
    fixture.configure("weights.json", &file.to_string());
    id
}

fn selected(fixture: &Fixture) -> Json {
    fixture.proem(&["select", TASK, "--json"]).json()
}

fn assemble_task(fixture: &Fixture) -> Json {
    fixture.proem(&["assemble", TASK, "--json"]).json()
}

fn vectors_reply(fault: VectorFault) -> Reply {
    Reply::embeddings(Vectors { dimensions: 16, given: None, fault })
}

#[test]
fn a_calibrated_model_decides_and_is_asked_once() {
    let server = ScriptedServer::start(ServerScript::embeddings(16)).unwrap();
    let fixture = embedding_fixture(&server.base_url(), "", "dimensions = 16");
    let id = calibrate(&fixture);
    assert!(id.starts_with(&format!("{}/fake@16#", server.address())), "{id}");
    assert_eq!(server.requests().len(), 0, "nothing is sent to a model without weights");
    let first = assemble_task(&fixture);
    let sent = server.requests().len();
    assert_eq!((&first["degraded"], &first["tools"][0]), (&json!(false), &json!("github__create_issue")), "{first}");
    assert!(sent > 0 && first["metrics"]["embeddingCalls"] == json!(sent), "{sent} {}", first["metrics"]);
    let body = server.requests().iter().map(|request| request.json().unwrap().to_string()).collect::<String>();
    for text in [TASK, "create issue: Opens a new issue", "the login is flaky", "\"dimensions\":16"] {
        assert!(body.contains(text), "{text} in {body}");
    }
    let second = assemble_task(&fixture);
    assert_eq!((second["metrics"]["embeddingCalls"].clone(), server.requests().len()), (json!(0), sent));
    assert_eq!((&second["degraded"], &second["selection"]), (&json!(false), &first["selection"]));
    // The catalogue's vectors are there, the query's are made.
    let answer = selected(&fixture);
    assert_eq!((answer.get("degraded"), &answer["ranked"][0]["name"]), (None, &json!("github__create_issue")));
    assert_eq!(server.requests().len(), sent + 1);
    std::fs::remove_dir_all(fixture.base.join("cache")).unwrap();
    assert_eq!((selected(&fixture), server.requests().len()), (answer.clone(), sent + 3));
    assert_eq!((selected(&fixture), server.requests().len()), (answer, sent + 4), "the catalogue's vectors are kept");
    assert_eq!(fixture.proem(&["catalogue", "refresh", "--json"]).json()["vectors"]["made"], json!(3));
}

#[test]
fn meaning_chooses_the_mode_with_any_calibrated_model() {
    let server = ScriptedServer::start(ServerScript::embeddings(16)).unwrap();
    let fixture = embedding_fixture(&server.base_url(), "", "");
    calibrate(&fixture);
    // Neither its sentence nor a word of it tells a mode, so that the examples are embedded.
    let assembled = |fixture: &Fixture| fixture.proem(&["assemble", "session token expiry", "--json"]).json();
    let first = assembled(&fixture);
    assert!(
        server.requests().iter().any(|request| request
            .json()
            .unwrap()
            .to_string()
            .contains("How does the retry logic in the upload"))
    );
    let (sent, second) = (server.requests().len(), assembled(&fixture));
    assert_eq!((server.requests().len(), &second["mode"]), (sent, &first["mode"]));
    assert_eq!(second["degraded"], json!(false));
}

#[test]
fn a_model_without_weights_is_not_asked() {
    let server = ScriptedServer::start(ServerScript::embeddings(16)).unwrap();
    let fixture = embedding_fixture(&server.base_url(), "", "");
    let expected = "is not calibrated, so nothing is sent to it; name the file with its weights as `calibration` under \
                    `[embedding]`";
    let run = fixture.proem(&["select", TASK, "--json"]);
    assert!(run.json()["degraded"].as_str().unwrap().contains(expected), "{}", run.stdout());
    assert!(run.stderr().contains("weights.json` are not used: there is no such file"), "{}", run.stderr());
    assert!(degraded_reasons(&assemble_task(&fixture)).contains(expected));
    let refreshed = fixture.proem(&["catalogue", "refresh", "--json"]).json();
    assert!(refreshed["degraded"].as_str().unwrap().contains(expected) && refreshed["vectors"].is_null());
    fixture.configure("weights.json", "{}");
    let run = fixture.proem(&["select", TASK, "--json"]);
    assert!(run.json()["degraded"].is_string() && run.stderr().contains("are not used: "), "{}", run.stderr());
    assert_eq!(server.requests().len(), 0);
}

fn degraded_reasons(assembled: &Json) -> String {
    assert_eq!(assembled["degraded"], json!(true));
    assembled["degradedReasons"].to_string()
}

/// Words decide in every command, which says why and exits as usual.
#[track_caller]
fn check_at(address: &str, fixture: &Fixture, expected: &str) {
    calibrate(fixture);
    let blank = |text: &str| text.replace(address, "HOST");
    let out = assemble_task(fixture);
    let why = blank(&degraded_reasons(&out));
    assert!(
        why.contains(&format!(
            "tools and skills are selected by shared words (embedding with `fake` at provider `vectors`: {expected}"
        )),
        "{why}"
    );
    assert_eq!(out["tools"][0], json!("github__create_issue"));
    let out = selected(fixture);
    let why = blank(out["degraded"].as_str().unwrap());
    assert_eq!(why, format!("ranked by shared words: embedding with `fake` at provider `vectors`: {expected}"));
    assert_eq!(out["ranked"][0]["name"], json!("github__create_issue"));
    let out = fixture.proem(&["catalogue", "refresh", "--json"]).json();
    assert!(blank(out["degraded"].as_str().unwrap()).ends_with(expected), "{out}");
}

/// The same with a server that answers so.
#[track_caller]
fn check(reply: Reply, embedding: &str, expected: &str) {
    let server = ScriptedServer::start(ServerScript::of(vec![reply])).unwrap();
    let fixture = embedding_fixture(&server.base_url(), "", embedding);
    check_at(&server.address().to_string(), &fixture, expected);
    assert!(!server.requests().is_empty());
}

#[test]
fn nobody_listens() {
    // A port that is taken and on which nobody answers would be another failure. This one is free.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let fixture = embedding_fixture(&format!("http://{address}/v1"), "", "");
    let expected = "nothing listens at `HOST`; start the server or check `providers.vectors.base_url`; gave up after 1 \
                    attempt";
    check_at(&address, &fixture, expected);
}

#[test]
fn a_slow_server() {
    let say = ReplyContent::Embeddings(Vectors { dimensions: 16, given: None, fault: VectorFault::None });
    let reply = Reply { say, how: Delivery { delay_ms: 60_000, ..Delivery::default() } };
    let expected =
        "the vectors did not arrive within 1 s; raise `seconds` under `[embedding]`, or choose a faster server";
    check(reply, "seconds = 1", expected);
}

#[test]
fn useless_vectors() {
    check(
        vectors_reply(VectorFault::NotANumber),
        "",
        "a vector contains a value that is not a finite number; check the server",
    );
    let given = Vectors { dimensions: 8, given: Some(vec![vec![0.5; 8]; 20]), fault: VectorFault::None };
    let expected = "vector 0 has 8 numbers where 16 are expected; check the model and `dimensions`";
    check(Reply::embeddings(given), "dimensions = 16", expected);
}

#[test]
fn a_wrong_number_of_vectors() {
    let server = ScriptedServer::start(ServerScript::of(vec![vectors_reply(VectorFault::TooFew)])).unwrap();
    let fixture = embedding_fixture(&server.base_url(), "", "");
    calibrate(&fixture);
    let why = degraded_reasons(&assemble_task(&fixture));
    assert!(why.contains("the server sent 2 vectors for 3 texts; check the model"), "{why}");
}

#[test]
fn a_wrong_key_and_none() {
    let server = ScriptedServer::start(ServerScript::embeddings(16).with_key("sk-right")).unwrap();
    let mut fixture = embedding_fixture(&server.base_url(), "key = \"VECTORS_KEY\"", "");
    let address = server.address().to_string();
    check_at(&address, &fixture, "no key for provider `vectors`; set the environment variable VECTORS_KEY");
    assert_eq!(server.requests().len(), 0);
    fixture.configure("weights.json", "");
    fixture.set("VECTORS_KEY", "sk-wrong");
    check_at(&address, &fixture, "provider `vectors` refused the key in `VECTORS_KEY`; set it to a valid key");
    fixture.set("VECTORS_KEY", "sk-right");
    assert_eq!(assemble_task(&fixture)["degraded"], json!(false));
}

#[test]
fn a_server_that_fails_between_two_questions_is_left_alone() {
    let server =
        ScriptedServer::start(ServerScript::of(vec![vectors_reply(VectorFault::None), Reply::raw(500, "")])).unwrap();
    let fixture = embedding_fixture(&server.base_url(), "", "");
    calibrate(&fixture);
    let queries = format!("{}\n", json!({ "query": TASK })).repeat(20);
    let run = fixture.proem_with(&["select", "--queries", "-", "--json"], queries.as_bytes());
    let degraded = run.answer().lines().filter(|line| line.contains("failed with status 500")).count();
    assert_eq!((degraded, server.requests().len()), (20, 2), "{}", run.stderr());
}

#[test]
fn nothing_that_was_not_asked_for_is_sent() {
    let server = ScriptedServer::start(ServerScript::embeddings(16)).unwrap();
    // The repository can't send the task anywhere before it is trusted.
    let fixture = plain();
    fixture.write("proem.toml", configuration(&server.base_url(), "", ""));
    assert_eq!(assemble_task(&fixture)["degraded"], json!(false));
    assert_eq!(selected(&fixture).get("degraded"), None);
    fixture.proem(&["catalogue", "refresh"]).answer();
    assert_eq!(server.requests().len(), 0);
    // Once it is, it can.
    let listed = fixture.proem(&["trust", "list", "--json"]).json();
    let files = listed["files"].as_array().unwrap();
    let hash = files.iter().find(|file| file["path"] == "proem.toml").map(|file| file["sha256"].clone()).unwrap();
    fixture.proem(&["trust", "--sha256", hash.as_str().unwrap(), "proem.toml"]).answer();
    calibrate(&fixture);
    assert_eq!(assemble_task(&fixture)["degraded"], json!(false));
    assert!(!server.requests().is_empty());
    let server = ScriptedServer::start(ServerScript::embeddings(16)).unwrap();
    let fixture = embedding_fixture(&server.base_url(), "", "");
    calibrate(&fixture);
    let out = fixture.proem(&["select", TASK, "--no-embedding", "--json"]).json();
    assert_eq!(
        (out["degraded"].as_str(), server.requests().len()),
        (Some("`--no-embedding`: ranked by shared words"), 0)
    );
}

#[test]
fn half_a_configuration_is_an_error() {
    let check = |text: &str, expected: &str| {
        let fixture = plain();
        fixture.configure("config.toml", text);
        let run = fixture.proem(&["select", TASK]);
        assert_eq!((run.code(), run.stderr()), (2, format!("error: {expected}\n").as_str()));
    };
    check("[embedding]\nprovider = \"openai\"\n", "`[embedding]` names a provider; set `model` beside it");
    check("[embedding]\nmodel = \"m\"\n", "`[embedding]` names a model; set `provider` beside it");
    check(
        "[embedding]\nmodel = \"m\"\nprovider = \"anthropic\"\n",
        "embedding with `m` at provider `anthropic`: its protocol has no embeddings; choose a provider of protocol \
         `openai`",
    );
    check(
        "[embedding]\nmodel = \"m\"\nprovider = \"x\"\n",
        "no provider `x`; known are `anthropic`, `openai`, and `[providers.x]` in your configuration adds one",
    );
}
