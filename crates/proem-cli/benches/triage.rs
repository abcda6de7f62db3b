//! The time of triage with models beside its models: the whole command on comments of Jira, with everything recorded,
//! and a server on loopback that answers at once. The server's time is counted apart.
//!
//! `cargo bench -p proem-cli --bench triage`. Numbers of signals behind `--` are taken instead of the usual ones.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench reads the clock and prints"
)]

#[path = "../tests/it/fixture.rs"]
#[expect(dead_code, reason = "tests need more of it")]
mod fixture;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fixture::Fixture;
use proem_app::places::{Channel, Places};
use proem_app::project::{BookReading, OpenProject};
use proem_app::trust::TrustStore;
use serde_json::{Value as Json, json};

const SIGNALS: [usize; 3] = [100, 1_000, 10_000];
const PROJECT: &str = "0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f";
const CHARTER: &str = ".proem/triage/project.toml";
const TEXT: &str = "Sam asks where the refunds stand and when they are released.";
const SUMMARY: &str = "Vendor certification";
/// How the ids of these signals begin.
const ID: &str = "jira:";

fn main() {
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    for count in if asked.is_empty() { SIGNALS.to_vec() } else { asked } {
        measure(count);
    }
}

fn measure(count: usize) {
    let server = ModelServer::start();
    let mut fixture = Fixture::folder();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    fixture.configure(
        "config.toml",
        &format!(
            "[providers.anthropic]\nbase_url = \"http://127.0.0.1:{}\"\nkey = \"ANTHROPIC_API_KEY\"\n\n[triage]\nmodels = \
             true\nretries = 0\n\n[budget.agent.triage]\nday = 100000\nmonth = 100000\nrun = 100000\nsteps = [{{ from = 0.0, models = \"both\", every_minutes = 15 }}]\n",
            server.port
        ),
    );
    let charter = format!(
        "id = \"{PROJECT}\"\nname = \"Mobile checkout\"\nkey = \"TES\"\nlevel = \"tactical\"\nowner = \"Olivia Reyes\"\n\
         time_zone = \"UTC\"\ndomains = [\"corp.example\"]\n\n[[stakeholders]]\nname = \"Sam Okoro\"\nrole = \
         \"sponsor\"\naddress = \"sam@corp.example\"\n"
    );
    fixture.write(CHARTER, &charter);
    trust_charter(&fixture, &charter);
    let lines: Vec<String> = (0..count).map(|number| comment(number).to_string()).collect();
    fixture.write("signals.jsonl", lines.join("\n"));
    let begun = Instant::now();
    let mut command = fixture.command(&fixture.binary);
    command.args(["triage", "run", "signals.jsonl", "--json"]).stdin(Stdio::null());
    let report = fs::File::create(fixture.base.join("report.json")).unwrap();
    let mut child = command.stdout(report).stderr(Stdio::piped()).spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak: u64 = 0;
    while child.try_wait().unwrap().is_none() {
        // proc(5), `VmHWM`.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0).max(peak);
        thread::sleep(Duration::from_millis(5));
    }
    let took = begun.elapsed();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Json = serde_json::from_slice(&fs::read(fixture.base.join("report.json")).unwrap()).unwrap();
    let handled = report["signals"].as_array().unwrap().len();
    let by_models = report["degraded"] == json!(false);
    let served = Duration::from_micros(server.busy.load(Ordering::Relaxed));
    let own = took.saturating_sub(served);
    let records = fs::metadata(fixture.base.join("state/proem/records.db")).unwrap().len();
    println!(
        "{count:6} signals: {:.0} ms beside the server's {:.0} ms, {:.2} ms a signal; {} requests; {handled} handled, all by models: \
         {by_models}; records of {} kB; at most {} MiB",
        own.as_secs_f64() * 1e3,
        served.as_secs_f64() * 1e3,
        own.as_secs_f64() * 1e3 / f64::from(u32::try_from(count).unwrap()),
        server.requests.load(Ordering::Relaxed),
        records / 1_000,
        peak / 1024
    );
}

/// A person's word for the project's file.
fn trust_charter(fixture: &Fixture, charter: &str) {
    let [config, state, cache] = ["config", "state", "cache"].map(|name| fixture.base.join(name).join("proem"));
    let home = fixture.base.join("home");
    let places = Places { config, state, cache, programs: home.clone(), home, channel: Channel::Pipe };
    let project = OpenProject::open(&fixture.repo, &places, BookReading::Trusted).unwrap();
    let trusted = [(CHARTER.to_owned(), charter.as_bytes().to_vec())];
    TrustStore::new(places.state).trust(&project.key, &trusted).unwrap();
}

fn comment(number: usize) -> Json {
    let ticket = number % 400;
    json!({
        "timestamp": 1_795_500_000_000_u64 + number as u64 * 1_000, "webhookEvent": "comment_created",
        "comment": {
            "id": format!("7{number}"), "author": { "accountId": "5b11", "displayName": "Cem" }, "body": TEXT,
            "created": "2026-11-23T09:00:00.000+0000", "updated": "2026-11-23T09:00:00.000+0000",
        },
        "issue": { "id": format!("10{ticket}"), "key": format!("TES-{ticket}"), "fields": {
            "project": { "key": "TES" }, "summary": SUMMARY,
        } },
    })
}

/// The stand-in for a model: it finds nothing to cut, and nothing to do except for a tenth of the signals, which are
/// drafted for.
struct ModelServer {
    port: u16,
    requests: Arc<AtomicU64>,
    /// Microseconds from a request's last byte to its answer's.
    busy: Arc<AtomicU64>,
}

impl ModelServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, busy) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let counts = (Arc::clone(&requests), Arc::clone(&busy));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let counts = counts.clone();
                thread::spawn(move || serve_stream(stream.unwrap(), &counts));
            }
        });
        Self { port, requests, busy }
    }
}

fn serve_stream(mut stream: TcpStream, (requests, busy): &(Arc<AtomicU64>, Arc<AtomicU64>)) {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let mut piece = [0; 65_536];
        let Ok(count @ 1..) = stream.read(&mut piece) else { return };
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length: usize =
            head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap().trim().parse().unwrap();
        if bytes.len() < end + 4 + length {
            continue;
        }
        let begun = Instant::now();
        let body: Json = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).unwrap();
        bytes.drain(..end + 4 + length);
        let answer = answer(&body);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream";
        // In one piece: of several the second would wait for word that the first has come.
        let whole = format!("{head}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
        stream.write_all(whole.as_bytes()).unwrap();
        busy.fetch_add(u64::try_from(begun.elapsed().as_micros()).unwrap(), Ordering::Relaxed);
        requests.fetch_add(1, Ordering::Relaxed);
    }
}

/// The events of an answer, as Anthropic streams them.
fn answer(body: &Json) -> String {
    assert_eq!(body["stream"], json!(true), "a stream is all that this server knows");
    let tools: BTreeSet<&str> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let last = body["messages"].as_array().unwrap().last().unwrap().to_string();
    let ids: BTreeSet<&str> = last
        .match_indices(ID)
        .filter_map(|(at, _)| last.get(at..)?.split(|c: char| !(c.is_alphanumeric() || ":-_.".contains(c))).next())
        .filter(|id| id.matches(':').count() >= 3)
        .collect();
    let content = if tools.contains("sanitise_signal") {
        calls(&ids, "sanitise_signal", sanitised)
    } else if tools.contains("draft_communication") {
        calls(&ids, "draft_communication", drafted_answer)
    } else {
        calls(&ids, "classify_signal", classified)
    };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": { "input_tokens": 1_000, "output_tokens": 1 },
    });
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, (name, input)) in content.into_iter().enumerate() {
        let block = json!({ "type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {} });
        let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let end = json!({ "stop_reason": "tool_use", "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 500 } }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

fn calls(ids: &BTreeSet<&str>, name: &'static str, arguments: fn(&str) -> Json) -> Vec<(&'static str, Json)> {
    ids.iter().map(|id| (name, arguments(id))).collect()
}

fn sanitised(id: &str) -> Json {
    json!({
        "signal_id": id, "original_source": "jira", "original_type": "comment_created", "sanitised_content": format!("{SUMMARY}\n{TEXT}"),
        "threat_detected": false, "threats_found": [], "content_preserved_ratio": 1.0, "confidence_score": 0.9,
        "requires_human_review": false,
    })
}

fn classified(id: &str) -> Json {
    let action = if id.ends_with('0') { "draft_communication" } else { "no_action" };
    json!({
        "signal_id": id, "importance": "medium", "category": "stakeholder", "recommended_action": action,
        "action_rationale": "a person asks", "requires_sonnet": false, "time_sensitivity": "this_week", "confidence": 0.8,
    })
}

fn drafted_answer(id: &str) -> Json {
    json!({
        "project_id": PROJECT, "communication_type": "follow_up",
        "recipient": { "email": "sam@corp.example", "name": "Sam Okoro", "is_external": false }, "subject": "Refunds",
        "body": "The refunds are in review. Please name a day for the release.", "tone": "professional",
        "urgency": "normal", "context": "asked", "requires_approval": false, "signals_referenced": [id],
    })
}
