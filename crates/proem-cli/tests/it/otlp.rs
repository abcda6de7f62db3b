//! Runs as spans: exported on demand and as they end, decoded with OpenTelemetry's own definitions.

mod collector;

use std::fs;

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use proem_llm::scripted::{Reply, ScriptedServer, ScriptedUsage};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use self::collector::{Answer, Collector, value};
use crate::fixture::Fixture;
use crate::lisp_children;
use crate::records::sql;
use crate::run::{fixture, low, start};

const RUN: [&str; 4] = ["run", "reviews/strict", "--set", "title=It crashes at AKIAQYLPMN5HHHFPZAM2"];

/// A user with this at the end of the configuration.
fn configured(server: &ScriptedServer, more: &str) -> Fixture {
    let fixture = fixture(server, "");
    let path = fixture.base.join("config/proem/config.toml");
    let text = fs::read_to_string(path).unwrap();
    fixture.configure("config.toml", &format!("{text}\n{more}"));
    fixture
}

fn live(collector: &Collector) -> String {
    format!("[telemetry]\notlp = \"{}\"\n", collector.url())
}

fn spans_named<'s>(spans: &'s [Span], start: &str) -> Vec<&'s Span> {
    spans.iter().filter(|span| span.name.starts_with(start)).collect()
}

#[test]
fn a_run_is_one_trace_with_a_span_for_each_call_whenever_it_is_exported() {
    let cached =
        ScriptedUsage { input: 1000, cache_read: 600, cache_write: 300, output: 20, ..ScriptedUsage::default() };
    let server = start(vec![Reply::value(json!({ "severity": "awful" })), low().using(Some(cached))]);
    let fixture = fixture(&server, "");
    let run = fixture.proem(&[&RUN[..], &["--json"]].concat());
    let collector = Collector::start(&[]);
    let url = collector.url();
    let export = ["runs", "export", "--otlp", &url];
    let sent = fixture.proem(&export);
    assert_eq!((sent.code(), sent.stderr()), (0, ""), "{}{}", run.transcript(), sent.transcript());
    assert_eq!(sent.stdout(), format!("exported 1 run as 3 spans to `{}`\n", url.trim_start_matches("http://")));
    let requests = collector.take();
    assert!(requests[0].head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{}", requests[0].head);
    assert!(requests[0].head.contains("content-type: application/x-protobuf"), "{}", requests[0].head);
    let spans = requests[0].spans();
    let root = spans_named(&spans, "invoke_workflow reviews/strict")[0];
    let shown = fixture.proem(&["runs", "show", "last", "--json"]).json();
    assert_eq!(shown["run"]["id"], json!(proem_text::hex::encode_hex(&root.span_id)), "{shown}");
    assert!(root.parent_span_id.is_empty() && root.status.is_none());
    assert!(value(root, "gen_ai.usage.input_tokens").is_none(), "tokens count once");
    let calls = spans_named(&spans, "chat ");
    assert_eq!(calls.len(), 2);
    for call in &calls {
        assert_eq!(
            (call.kind(), &call.parent_span_id, &call.trace_id),
            (SpanKind::Client, &root.span_id, &root.trace_id)
        );
        assert!(call.start_time_unix_nano >= root.start_time_unix_nano, "{call:?}");
        assert!(call.end_time_unix_nano <= root.end_time_unix_nano, "{call:?} {root:?}");
        assert_eq!(value(call, "gen_ai.provider.name").as_deref(), Some("anthropic"));
        assert_eq!(value(call, "gen_ai.prompt.name").as_deref(), Some("reviews/strict"));
    }
    let names = ["input_tokens", "cache_read.input_tokens", "cache_creation.input_tokens", "output_tokens"];
    let tokens = names.map(|name| value(calls[1], &format!("gen_ai.usage.{name}")));
    assert_eq!(tokens, ["1000", "600", "300", "20"].map(|count| Some(count.to_owned())), "{:?}", calls[1]);
    assert_eq!(value(calls[0], "proem.contract").as_deref(), Some("broken"));
    let text = format!("{spans:?}");
    assert!(!text.contains("crashes") && !text.contains("AKIA") && !text.contains("sk-ant"), "{text}");
    assert_eq!(fixture.proem(&export).code(), 0);
    assert_eq!(collector.take_spans(), spans, "the same run is the same trace");
    let none = fixture.proem(&[&export[..], &["--prompt", "risk"]].concat());
    assert_eq!((none.code(), none.stdout(), collector.take().len()), (0, "", 0), "{}", none.transcript());
}

#[test]
fn texts_leave_only_if_asked_for_and_without_credentials() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    fixture.proem(&RUN);
    let collector = Collector::start(&[]);
    let sent = fixture.proem(&["runs", "export", "--otlp", &collector.url(), "--content"]);
    assert_eq!(sent.code(), 0, "{}", sent.transcript());
    assert!(sent.stderr().contains("receives the texts of prompts"), "{}", sent.stderr());
    let spans = collector.take_spans();
    let call = spans_named(&spans, "chat ")[0];
    let input: serde_json::Value = serde_json::from_str(&value(call, "gen_ai.input.messages").unwrap()).unwrap();
    let system = value(call, "gen_ai.system_instructions").unwrap();
    let output = value(call, "gen_ai.output.messages").unwrap();
    assert_eq!(input[0]["role"], json!("user"));
    assert!(input.to_string().contains("It crashes at [redacted:aws-key]"), "{input}");
    assert!(system.contains("Judge the severity"), "{system}");
    assert!(output.contains("It only looks bad."), "{output}");
    assert!(!format!("{spans:?}").contains("AKIA"), "{spans:?}");
}

#[test]
fn an_attempt_that_was_repeated_is_an_event_and_a_failed_call_an_error() {
    let server = start(vec![Reply::raw(529, "busy"), low(), Reply::raw(400, "no")]);
    let fixture = fixture(&server, "");
    fixture.proem(&RUN);
    fixture.proem(&RUN);
    let collector = Collector::start(&[]);
    assert_eq!(fixture.proem(&["runs", "export", "--otlp", &collector.url()]).code(), 0);
    let spans = collector.take_spans();
    let calls = spans_named(&spans, "chat ");
    assert_eq!((calls[0].events.len(), &calls[0].status), (1, &None), "{:?}", calls[0]);
    assert_eq!(calls[0].events[0].name, "proem.attempt.failed");
    assert_eq!(value(calls[0], "proem.attempts").as_deref(), Some("2"));
    assert_eq!(calls[1].status.as_ref().unwrap().code, 2, "{:?}", calls[1]);
    assert_eq!(value(calls[1], "error.type").as_deref(), Some("refused"));
    let failed = spans_named(&spans, "invoke_workflow").into_iter().find(|span| span.status.is_some()).unwrap();
    assert_eq!(value(failed, "proem.run.state").as_deref(), Some("failed"));
}

#[test]
fn an_endpoint_that_takes_no_spans_is_an_error_that_says_how_many_it_took() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    fixture.proem(&RUN);
    let check = |script: &[Answer], code: i32, said: &str, requests: usize| {
        let collector = Collector::start(script);
        let sent = fixture.proem(&["runs", "export", "--otlp", &collector.url()]);
        let said = said.replace("HOST", collector.url().trim_start_matches("http://"));
        assert_eq!(sent.code(), code, "{}", sent.transcript());
        assert!(sent.stderr().contains(&said), "{said}\n{}", sent.stderr());
        assert_eq!(collector.take().len(), requests, "{script:?}");
    };
    check(&[Answer::Status(307, "location: http://127.0.0.1:9/x")], 3, "`HOST` redirects (status 307)", 1);
    check(&[Answer::Status(401, "")], 3, "`HOST` refuses the credential (status 401)", 1);
    check(&[Answer::Status(404, "")], 3, "(status 404); check the address; 0 spans delivered", 1);
    check(&[Answer::Status(400, "")], 3, "`HOST` refuses the spans (status 400)", 1);
    check(&[Answer::Status(429, "retry-after: 0.01"), Answer::Status(503, "retry-after: 0.01")], 0, "", 3);
    check(&[Answer::Status(503, "retry-after: 3600")], 3, "`HOST` takes no spans at the moment (status 503)", 1);
    check(&[Answer::Rejected(1)], 3, "`HOST` rejected 1 span: too old", 1);
    check(&[Answer::Rejected(0)], 0, "`HOST` says: too old", 1);
    let closed = fixture.proem(&["runs", "export", "--otlp", "http://127.0.0.1:9"]);
    assert_eq!(closed.code(), 3, "{}", closed.transcript());
    assert!(
        closed.stderr().contains("`127.0.0.1:9` can't be reached") && closed.stderr().contains("0 spans delivered")
    );
    let secret = fixture.proem(&["runs", "export", "--otlp", "http://me:hunter2hunter2@127.0.0.1:9"]);
    assert_eq!(secret.code(), 2, "{}", secret.transcript());
    assert!(!secret.transcript().replace("me:hunter2hunter2@", "").contains("hunter2"), "{}", secret.stderr());
    let nowhere = fixture.proem(&["runs", "export", "--otlp"]);
    assert_eq!(nowhere.code(), 2, "{}", nowhere.transcript());
    assert!(nowhere.stderr().contains("no endpoint is configured"), "{}", nowhere.stderr());
}

#[test]
fn headers_hold_credentials_by_name() {
    let server = start(vec![low()]);
    let mut fixture = configured(
        &server,
        "[effects.credentials]\ncollector = { variable = \"COLLECTOR_TOKEN\" }\nteam = { variable = \"TEAM_KEY\" }\n",
    );
    fixture.set("COLLECTOR_TOKEN", "t0ken-of-the-collector");
    fixture.set("TEAM_KEY", "key-of-the-team-0001");
    fixture.proem(&RUN);
    let collector = Collector::start(&[]);
    let url = collector.url();
    let headers = ["--header", "Authorization=collector", "--header", "x-team=team"];
    let sent = fixture.proem(&[&["runs", "export", "--otlp", &url][..], &headers].concat());
    assert_eq!(sent.code(), 0, "{}", sent.transcript());
    let head = collector.take()[0].head.clone();
    assert!(head.contains("authorization: Bearer t0ken-of-the-collector\r\nx-team: key-of-the-team-0001"), "{head}");
    for (headers, said) in [
        (["--header", "x-team=other"], "no credential `other`"),
        (["--header", "key-of-the-team-0001"], "is written as HEADER=CREDENTIAL"),
        (["--header", "Host=team"], "`host` is no header for a credential"),
    ] {
        let refused = fixture.proem(&[&["runs", "export", "--otlp", &url][..], &headers].concat());
        assert_eq!(refused.code(), 2, "{}", refused.transcript());
        assert!(refused.stderr().contains(said), "{}", refused.stderr());
        assert!(!refused.stderr().contains("key-of-the-team"), "{}", refused.stderr());
    }
    let open = fixture.proem(&["runs", "export", "--otlp", "http://traces.example", "--header", "x-team=team"]);
    assert!(open.stderr().contains("unencrypted; write `https:`"), "{}", open.transcript());
    assert_eq!(open.code(), 3, "{}", open.transcript());
}

#[test]
fn a_command_exports_its_runs_at_its_end_and_leaves_a_failed_endpoint_alone() {
    let server = start(vec![low(), low(), low(), low()]);
    let collector = Collector::start(&[]);
    let fixture = configured(&server, &live(&collector));
    let history = collector.take();
    let first = fixture.proem(&RUN);
    assert_eq!(first.code(), 0, "{}", first.transcript());
    assert_eq!(spans_named(&collector.take_spans(), "chat ").len(), 1, "{}{history:?}", first.transcript());
    let quiet = fixture.proem(&["assemble", "an assembly is no run that anybody watches"]);
    assert_eq!((quiet.code(), collector.take().len()), (0, 0), "{}", quiet.transcript());
    collector.follow(&[Answer::Status(503, "")]);
    let failed = fixture.proem(&RUN);
    assert_eq!(failed.code(), 0, "{}", failed.transcript());
    assert_eq!(failed.stdout(), first.stdout());
    assert!(failed.stderr().contains("1 run is not exported yet"), "{}", failed.stderr());
    assert!(failed.stderr().contains("`proem runs export --otlp` sends the rest"), "{}", failed.stderr());
    assert_eq!(collector.take().len(), 1);
    let paused = fixture.proem(&RUN);
    assert!(paused.stderr().contains("2 runs are not exported yet"), "{}", paused.stderr());
    assert_eq!(collector.take().len(), 0, "it is left alone");
    let told = fixture.proem(&["doctor"]);
    assert!(told.stdout().contains("2 runs wait"), "{}", told.transcript());
    let rest = fixture.proem(&["runs", "export", "--otlp"]);
    assert_eq!(rest.code(), 0, "{}", rest.transcript());
    assert_eq!(spans_named(&collector.take_spans(), "chat ").len(), 2);
    let again = fixture.proem(&["runs", "export", "--otlp"]);
    assert_eq!((again.code(), again.stdout(), collector.take().len()), (0, "", 0), "{}", again.transcript());
    let told = fixture.proem(&["doctor"]);
    assert!(told.stdout().contains("runs are exported to"), "{}", told.transcript());
    let filtered = fixture.proem(&["runs", "export", "--otlp", "--since", "1d"]);
    assert!(filtered.stdout().contains("exported 3 runs"), "{}", filtered.transcript());
}

#[test]
fn runs_that_wait_too_long_are_dropped_and_counted() {
    let server = start(vec![low(), low()]);
    let collector = Collector::start(&[Answer::Status(503, "")]);
    let fixture = configured(&server, &live(&collector));
    fixture.proem(&RUN);
    sql(&fixture, "UPDATE runs SET started = started - 691200000 RETURNING id");
    let rest = fixture.proem(&["runs", "export", "--otlp"]);
    assert_eq!((rest.code(), rest.stdout()), (0, ""), "{}", rest.transcript());
    let told = fixture.proem(&["doctor"]);
    assert!(told.stdout().contains("1 run was dropped"), "{}", told.transcript());
}

#[test]
fn an_endpoint_that_says_nothing_keeps_nobody_waiting() {
    let server = start(vec![low()]);
    let collector = Collector::start(&[Answer::Silence]);
    let fixture = configured(&server, &live(&collector));
    let run = fixture.proem(&RUN);
    assert_eq!(run.code(), 0, "{}", run.transcript());
    assert!(run.stderr().contains("1 run is not exported yet"), "{}", run.stderr());
    assert!(run.stderr().contains("within 2 s") || run.stderr().contains("within 1"), "{}", run.stderr());
}

#[test]
fn a_project_turns_no_export_on_whether_it_is_trusted_or_not() {
    let server = start(vec![low(), low()]);
    let collector = Collector::start(&[]);
    let fixture = fixture(&server, "");
    let theirs = live(&collector);
    fixture.write("proem.toml", &theirs);
    let run = fixture.proem(&RUN);
    assert_eq!(run.code(), 0, "{}", run.transcript());
    let hash = proem_text::hex::encode_hex(Sha256::digest(theirs.as_bytes()));
    let trusted = fixture.proem(&["trust", "--sha256", &hash, "proem.toml"]);
    assert_eq!(trusted.code(), 0, "{}", trusted.transcript());
    let run = fixture.proem(&RUN);
    assert_eq!(run.code(), 0, "{}", run.transcript());
    assert!(run.stderr().contains("`telemetry` is ignored; only your own configuration"), "{}", run.stderr());
    assert_eq!(collector.take().len(), 0, "{}", run.transcript());
}

#[test]
fn a_run_that_another_one_called_is_in_its_trace_below_the_call() {
    let adder = Reply::text("```clojure\n(return (+ ctx/a ctx/b))\n```");
    let (_server, fixture) = lisp_children::fixture(vec![adder], "");
    let ran = fixture.proem(&lisp_children::run("(inc (tool/adder {:a 1 :b 2}))"));
    assert_eq!(ran.answer(), "4\n", "{}", ran.stderr());
    let collector = Collector::start(&[]);
    let sent = fixture.proem(&["runs", "export", "--otlp", &collector.url()]);
    assert_eq!(sent.code(), 0, "{}", sent.transcript());
    let spans = collector.take_spans();
    let [tool, call] = ["execute_tool adder", "chat "].map(|name| spans_named(&spans, name)[0]);
    let agents = spans_named(&spans, "invoke_agent");
    let (root, child) = match agents.as_slice() {
        [one, other] if one.parent_span_id.is_empty() => (one, other),
        [one, other] => (other, one),
        _ => panic!("{agents:?}"),
    };
    assert_eq!((&tool.parent_span_id, &child.parent_span_id), (&root.span_id, &tool.span_id));
    assert_eq!(call.parent_span_id, child.span_id);
    assert_eq!((root.name.as_str(), child.name.as_str()), ("invoke_agent caller", "invoke_agent adder"));
    assert!(spans.iter().all(|span| span.trace_id == root.trace_id), "{spans:?}");
    assert!(spans_named(&spans, "execute_tool").iter().all(|span| span.kind() == SpanKind::Internal));
}

#[test]
fn the_guide_runs() {
    let server = start(vec![Reply::text("It is noon.")]);
    let collector = Collector::start(&[]);
    let fixture = Fixture::folder().committed();
    let model = format!("http://{}/v1", server.address());
    let tried = crate::guide::run(
        &fixture,
        "opentelemetry.md",
        &[(&model, "http://127.0.0.1:11434/v1"), (collector.url().trim_start_matches("http://"), "127.0.0.1:6006")],
    );
    assert_eq!(tried, crate::guide::Tried { files: 1, sessions: 4 });
    assert_eq!(
        spans_named(&collector.take_spans(), "chat llama3.1").len(),
        2,
        "once by itself, and once when asked for"
    );
}

#[test]
fn an_action_that_a_run_proposed_is_a_span_below_it() {
    let server = start(vec![low()]);
    let fixture = configured(&server, "[effects.mail]\nfrom = \"projects@corp.example\"\n");
    fixture.configure("policy.toml", crate::effects::scene::POLICY);
    fixture.proem(&RUN);
    let note = json!({
        "action": "note", "target": "ada@corp.example", "fields": { "subject": "Week 1", "body": "The secret line.\n" },
        "causes": [{ "id": "signal-1", "revision": "1" }],
    });
    fixture.write("action.json", note.to_string());
    let proposed = fixture.proem(&["effects", "propose", "action.json", "--json"]);
    let key = proposed.json()["id"].as_str().unwrap_or_default().to_owned();
    sql(&fixture, "UPDATE actions SET run = (SELECT id FROM runs LIMIT 1), step = 0 RETURNING key");
    let collector = Collector::start(&[]);
    let sent = fixture.proem(&["runs", "export", "--otlp", &collector.url(), "--content"]);
    assert_eq!(sent.code(), 0, "{}", sent.transcript());
    let spans = collector.take_spans();
    let (effect, run) = (spans_named(&spans, "effect note")[0], spans_named(&spans, "invoke_workflow")[0]);
    assert_eq!((&effect.parent_span_id, &effect.trace_id), (&run.span_id, &run.trace_id));
    assert_eq!(value(effect, "proem.effect.state").as_deref(), Some("proposed"), "{effect:?}");
    assert_eq!(value(effect, "proem.effect.key"), Some(key));
    assert!(!format!("{effect:?}").contains("ada@") && !format!("{effect:?}").contains("secret line"), "{effect:?}");
}
