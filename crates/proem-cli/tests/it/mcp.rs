//! `proem mcp` as a client starts it: its streams, its end, and what it never does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};

use crate::effects::scene::Office;
use crate::fixture::Fixture;
use crate::guide::{self, Tried};
use crate::skipped::skip;

/// The lines that a client writes which calls these tools, one after the other.
fn session(calls: &[(&str, Json)]) -> String {
    let client = json!({ "name": "test", "version": "1" });
    let begin = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
    ];
    lines.extend(calls.iter().zip(2..).map(|((name, arguments), id)| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
    }));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A client's session that is over.
struct Talk {
    /// The answers by their ids. Every line of standard output is a message of the protocol.
    answers: Vec<Json>,
    code: i32,
    stderr: String,
}

impl Talk {
    /// Starts the server, says something and these calls, hears every answer, and goes.
    #[track_caller]
    fn hold(fixture: &Fixture, before: &str, calls: &[(&str, Json)]) -> Self {
        Self::hold_with(fixture.command(&fixture.binary).arg("mcp"), before, calls)
    }

    /// The same with a server of the test's own making.
    #[track_caller]
    fn hold_with(command: &mut Command, before: &str, calls: &[(&str, Json)]) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(format!("{before}{}", session(calls)).as_bytes()).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let next = |_| serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let mut answers: Vec<Json> = (0..calls.len() + 2).map(next).collect();
        drop(stdin);
        assert!(lines.next().is_none(), "there are more lines than answers");
        assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"));
        answers.sort_by_key(|answer| answer["id"].as_u64());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Self { answers, code: child.wait().unwrap().code().unwrap(), stderr }
    }

    /// The document that the first call gave.
    fn document(&self) -> &Json {
        &self.answers[2]["result"]["structuredContent"]
    }
}

#[test]
fn nothing_but_the_protocol_is_on_standard_output() {
    let fixture = Fixture::folder();
    fixture.write("proem.toml", "[records]\nkeep = \"hashes\"\n");
    let calls = [("tokens_count", json!({ "text": "one two" })), ("run_show", json!({ "run": "last" }))];
    let talk = Talk::hold(&fixture, "no message\n", &calls);
    assert_eq!(talk.code, 0, "{}", talk.stderr);
    assert_eq!(talk.document()["totals"]["o200k"], 2);
    assert_eq!(talk.answers[3]["result"]["isError"], true);
    assert!(talk.stderr.contains("proem.toml"), "what there is to say is on standard error: {}", talk.stderr);
}

/// Starts a server that records.
fn recording_server(fixture: &Fixture) -> Command {
    let mut command = fixture.command(&fixture.binary);
    command.args(["mcp", "--record"]);
    command
}

#[test]
fn each_call_is_recorded_with_its_answer_if_that_is_wanted() {
    let fixture = Fixture::folder();
    // A private key without its end takes the rest of any text along.
    let key = format!("AKIA{}\n-----BEGIN {} KEY-----\nabc", "QWERTYUIOPASDFGH", "PRIVATE");
    let calls =
        [("tokens_count", json!({ "text": format!("one two {key}") })), ("tokens_count", json!({ "words": 1 }))];
    Talk::hold(&fixture, "", &calls);
    let list = || fixture.proem(&["runs", "list", "--any", "--json"]).json();
    assert_eq!(list(), json!([]), "nobody asked for records");
    let talk = Talk::hold_with(&mut recording_server(&fixture), "", &calls);
    assert_eq!((talk.code, talk.answers[3]["result"]["isError"].as_bool()), (0, Some(true)), "{}", talk.stderr);
    let runs = list();
    let shown = |place: usize| fixture.proem(&["runs", "show", runs[place]["id"].as_str().unwrap(), "--json"]).json();
    let mut both = [shown(0), shown(1)];
    both.sort_by_key(|run| run["tools"][0]["state"].to_string());
    let [answered, failed] = both;
    let call = &answered["tools"][0];
    assert_eq!((&call["tool"], &call["state"]), (&json!("tokens_count"), &json!("answered")));
    let texts = answered.to_string();
    assert!(texts.contains("one two") && texts.contains("o200k") && !texts.contains("AKIA"), "{texts}");
    assert!(call["arguments"]["text"].is_string(), "{call}");
    assert_eq!(answered["settings"]["client"], "test", "{texts}");
    assert_eq!(failed["tools"][0]["state"], "failed");
    assert!(failed.to_string().contains("wrong arguments"), "{failed}");
    assert_eq!(fixture.proem(&["runs", "stuck"]).code(), 0, "each run has ended");
}

/// Runs are looked at through a server that records: its own calls are in nobody's way, and keep no copy of a run.
#[test]
fn recorded_calls_are_no_runs_of_the_project() {
    let fixture = Fixture::folder();
    fixture.proem(&["assemble", "mend the clock"]).answer();
    let calls = [("runs_list", json!({})), ("run_show", json!({ "run": "last" })), ("run_show", json!({ "run": "x" }))];
    for _ in 0..2 {
        let talk = Talk::hold_with(&mut recording_server(&fixture), "", &calls);
        assert_eq!(talk.document()["runs"].as_array().map(Vec::len), Some(1), "{}", talk.document());
        assert_eq!(talk.answers[3]["result"]["structuredContent"]["run"]["kind"], "assemble", "{}", talk.answers[3]);
    }
    assert_eq!(fixture.proem(&["runs", "list", "--json"]).json(), json!([]), "failed calls are none either");
    let all = fixture.proem(&["runs", "list", "--any", "--json"]).json();
    assert_eq!(all.as_array().map(Vec::len), Some(7));
    let shown = |run: &Json| fixture.proem(&["runs", "show", run["id"].as_str().unwrap(), "--json"]).json();
    let looks = all.as_array().unwrap().iter().filter(|run| run["prompt"] == "client:mcp/run_show");
    let calls: Vec<Json> = looks.map(|run| shown(run)["tools"][0].clone()).collect();
    assert_eq!(calls.len(), 4);
    for call in calls {
        assert!(call["arguments"]["run"].is_string(), "{call}");
        assert_eq!(call["outcome"].is_null(), call["state"] == "answered", "no copy of a run is kept: {call}");
    }
    fixture.configure("config.toml", "[records]\nkeep = \"hashes\"\n");
    Talk::hold_with(&mut recording_server(&fixture), "", &[("tokens_count", json!({ "text": "a private word" }))]);
    let newest = fixture.proem(&["runs", "list", "--any", "--limit", "1", "--json"]).json()[0]["id"].clone();
    let kept = fixture.proem(&["runs", "show", newest.as_str().unwrap(), "--json"]).json();
    assert_eq!((&kept["settings"]["client"], &kept["tools"][0]["arguments"]), (&Json::Null, &Json::Null), "{kept}");
}

#[test]
fn a_call_that_can_not_be_recorded_is_refused() {
    let fixture = Fixture::folder();
    let calls = [("tokens_count", json!({ "text": "one two" }))];
    for (point, why) in [("tool-intent", "the call is not made"), ("tool-outcome", "the answer is withheld")] {
        let mut server = recording_server(&fixture);
        let talk = Talk::hold_with(server.env("PROEM_FAILPOINT", format!("fail:{point}")), "", &calls);
        let result = &talk.answers[2]["result"];
        assert_eq!(result["isError"], true, "{result}");
        let words = result["content"][0]["text"].as_str().unwrap();
        assert!(words.starts_with(why) && words.contains("can't be recorded: "), "{words}");
    }
    fixture.configure("config.toml", "[records]\nkeep = \"nothing\"\n");
    let run = fixture.proem(&["mcp", "--record"]);
    assert_eq!((run.code(), run.stdout()), (2, ""));
    assert!(run.stderr().contains("change `records.keep` in your configuration"), "{}", run.stderr());
}

#[test]
fn the_guide_runs() {
    assert_eq!(guide::run(&Fixture::folder(), "mcp.md", &[]), Tried { files: 1, sessions: 1 });
}

#[test]
fn a_client_that_says_nothing_ends_the_server_well() {
    let run = Fixture::folder().proem(&["mcp"]);
    assert_eq!((run.code(), run.stdout(), run.stderr()), (0, "", ""));
}

#[test]
fn a_client_that_begins_otherwise_is_told_on_standard_error() {
    let run = Fixture::folder().proem_with(&["mcp"], b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}\n");
    assert_eq!((run.code(), run.stdout()), (3, ""), "{}", run.stderr());
}

/// A hostile client that calls everything there is about an action: a person's yes is a person's.
#[test]
fn no_call_decides_about_an_action() {
    let Some(office) = Office::open() else { return };
    let id = office.propose_note();
    let listed = Talk::hold(&office.fixture, "", &[("approvals_list", json!({}))]);
    let action = &listed.document()["actions"][0];
    assert_eq!((&action["id"], &action["state"]), (&json!(id), &json!("waiting")));
    let content = action["content"].as_str().unwrap();
    let decision = |content: &str| {
        let wait = json!({ "id": id, "content": content, "seconds": 0 });
        Talk::hold(&office.fixture, "", &[("approval_wait", wait)]).document()["decision"].clone()
    };
    assert_eq!(decision(content), "pending");
    assert_eq!(decision(&content.chars().rev().collect::<String>()), "changed");
    let guesses =
        ["queue_approve", "approve", "approval_approve", "effects_on", "trust", "queue_resolve", "runs_purge"];
    let mut calls = guesses.map(|name| (name, json!({ "id": id, "approve": true }))).to_vec();
    let tools = listed.answers[1]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let yes = json!({ "id": id, "content": content, "approve": true, "decision": "approved", "run": "last" });
    calls.extend(names.iter().map(|name| (*name, yes.clone())));
    let before = office.states();
    let tried = Talk::hold(&office.fixture, "", &calls);
    let (unknown, known) = tried.answers[2..].split_at(guesses.len());
    assert!(unknown.iter().all(|answer| answer["error"]["code"] == -32602), "{unknown:?}");
    assert!(known.iter().all(|answer| answer["result"]["isError"] == true), "{known:?}");
    assert_eq!(known.len(), names.len());
    assert_eq!(office.states(), before);
    office.approve(std::slice::from_ref(&id));
    assert_eq!(decision(content), "approved");
}

/// A server over HTTP, which ends with the test.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) host: String,
}

impl HttpServer {
    pub(crate) fn start(fixture: &Fixture, args: &[&str]) -> Self {
        let mut command = fixture.command(&fixture.binary);
        let mut child =
            command.args(["mcp", "--http", "127.0.0.1:0"]).args(args).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let host = line.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp")).unwrap().0.to_owned();
        Self { child, host }
    }

    /// The status of the answer to the beginning of a session with these headers, and its text.
    fn post(&self, host: &str, headers: &str) -> (u16, String) {
        self.send("POST", &format!("Host: {host}\r\n{headers}"), session(&[]).lines().next().unwrap())
    }

    /// The status of the answer to a request with these headers, and its text.
    fn send(&self, method: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n{headers}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer.get(9..12).unwrap().parse().unwrap(), answer)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn over_http_only_this_machine_and_permitted_pages_are_heard() {
    let fixture = Fixture::folder();
    let server = HttpServer::start(&fixture, &["--allow-origin", "http://localhost:6274"]);
    let (status, answer) = server.post(&server.host, "");
    assert!(status == 200 && answer.contains("\"serverInfo\""), "{answer}");
    assert_eq!(server.post(&server.host, "Origin: http://localhost:6274\r\n").0, 200);
    assert_eq!(server.post(&server.host, &format!("Origin: http://{}\r\n", server.host)).0, 200, "its own address");
    assert_eq!(server.post(&server.host, "Origin: http://127.0.0.1:1\r\n").0, 403, "another server of this machine");
    assert_eq!(server.post(&server.host, "Origin: https://evil.example\r\n").0, 403);
    assert_eq!(server.post(&server.host, "Origin: null\r\n").0, 403);
    assert_eq!(server.post("evil.example", "").0, 403);
}

/// The official Python client warns of a session that ends with any other status than 200 and 204.
#[test]
fn over_http_a_session_ends_with_a_status_that_clients_know() {
    let fixture = Fixture::folder();
    let server = HttpServer::start(&fixture, &[]);
    let (_, begun) = server.post(&server.host, "");
    let named = |line: &str| line.to_ascii_lowercase().starts_with("mcp-session-id:");
    let session = begun.lines().find(|line| named(line)).unwrap();
    assert_eq!(server.send("DELETE", &format!("Host: {}\r\n{session}\r\n", server.host), "").0, 204);
}

/// Needs Python with the package `mcp`; `crates/proem-mcp/tests/clients/README.md` says more.
#[test]
fn the_official_python_client_finds_nothing_wrong() {
    let fixture = Fixture::folder();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../proem-mcp/tests/clients/official_client.py");
    let is_installed = Command::new("python3").args(["-c", "import mcp.client.client"]).output();
    if !is_installed.is_ok_and(|tried| tried.status.success()) {
        return skip("mcp-python-client", "python3 has no package `mcp` with the client of revision 2026-07-28");
    }
    let tried = Command::new("python3").arg(script).arg(&fixture.binary).output().unwrap();
    let told = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success(), "{told}\n{}", String::from_utf8_lossy(&tried.stderr));
}

#[test]
fn over_http_a_token_is_wanted_if_it_is_named() {
    let mut fixture = Fixture::folder();
    fixture.configure("config.toml", "[effects.credentials]\nmcp = { variable = \"MCP_TOKEN\" }\n");
    fixture.set("MCP_TOKEN", "correct-horse-battery-staple");
    let server = HttpServer::start(&fixture, &["--token", "mcp"]);
    assert_eq!(server.post(&server.host, "").0, 401);
    assert_eq!(server.post(&server.host, "Authorization: Bearer correct-horse\r\n").0, 401);
    assert_eq!(server.post(&server.host, "Authorization: Bearer correct-horse-battery-staple\r\n").0, 200);
}

#[test]
fn addresses_and_tokens_that_do_not_work_are_refused_at_once() {
    let fixture = Fixture::folder();
    let open = fixture.proem(&["mcp", "--http", "0.0.0.0:0"]);
    assert_eq!(open.code(), 2);
    assert!(open.stderr().contains("can be reached from other machines; listen on 127.0.0.1"), "{}", open.stderr());
    let nameless = fixture.proem(&["mcp", "--http", "127.0.0.1:0", "--token", "mcp"]);
    assert_eq!(nameless.code(), 2);
    assert!(nameless.stderr().contains("no credential `mcp`"), "{}", nameless.stderr());
}
