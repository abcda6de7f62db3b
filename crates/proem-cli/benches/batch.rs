//! A batch of 1,000 rows at concurrency 64 beside what its server can do: the whole command, and a
//! plain client that sends the very same bytes over 64 kept connections and reads the answers.
//!
//! Both in turns against two servers on loopback: one takes 50 ms for each answer, one none. Then
//! one run alone. `cargo bench -p proem-cli --bench batch`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench reads the clock and prints"
)]

#[path = "../tests/it/fixture.rs"]
#[expect(dead_code, reason = "tests need more of it")]
mod fixture;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fixture::Fixture;
use proem_llm::scripted::{ReceivedRequest, Reply, ScriptedServer, ServerScript};
use serde_json::json;

const ROWS: usize = 1_000;
const CONCURRENCY: usize = 64;
/// How many rounds. Both clients are timed in each.
const ROUNDS: usize = 5;
/// How many runs of one row.
const SINGLES: usize = 21;

const PROMPT: &str = "---
model: small
input:
  schema: { title: string, body?: string }
proem:
  version: 1.0.0
  purpose: decide how bad a reported problem is
  output_schema: triage.schema.json
  budget: { input: 2000, output: 200 }
  sections:
    - { name: role, trust: constitution }
    - { name: report, trust: untrusted, cache: never, keep: required }
---
{{role \"system\"}}{{section \"role\"}}
Judge the severity of one reported problem.
{{role \"user\"}}{{section \"report\"}}
{{title}}
{{#if body}}
{{body}}
{{/if}}
";

const SCHEMA: &str = r#"{ "type": "object", "properties": { "severity": { "enum": ["high", "low"] },
"reason": { "type": "string", "maxLength": 60 } }, "required": ["severity"], "additionalProperties": false }"#;

fn main() {
    let mut fixture = Fixture::folder();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    fixture.configure("book/reviews/strict/1.0.0.prompt", PROMPT);
    fixture.configure("book/reviews/strict/triage.schema.json", SCHEMA);
    let row = |row| {
        let body = "The page stays white after the third click and the log holds nothing but a time-out.";
        format!("{}\n", json!({ "title": format!("problem number {row}"), "body": body }))
    };
    fixture.write("rows.jsonl", (1..=ROWS).map(row).collect::<String>());
    for delay_ms in [50, 0] {
        side_by_side(&fixture, delay_ms);
    }
    one_run(&fixture);
}

/// The time that one client took for all rows.
struct Took {
    time: Duration,
    most_at_once: usize,
}

fn side_by_side(fixture: &Fixture, delay_ms: u64) {
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let server = start(fixture, delay_ms);
        let began = Instant::now();
        let words = ["run", "reviews/strict", "--batch", "rows.jsonl", "--out", "out.jsonl", "--concurrency", "64"];
        let run = fixture.proem(&words);
        ours.push(Took { time: began.elapsed(), most_at_once: server.most_at_once() });
        assert!(run.stderr().contains("1,000 answered"), "{}", run.stderr());
        let sent = server.requests();
        assert_eq!(sent.len(), ROWS);
        std::fs::remove_file(fixture.repo.join("out.jsonl")).unwrap();
        drop(server);
        let requests: Vec<Vec<u8>> = sent.iter().map(request_bytes).collect();
        let server = start(fixture, delay_ms);
        let began = Instant::now();
        send_all(server.address(), &requests);
        plain.push(Took { time: began.elapsed(), most_at_once: server.most_at_once() });
    }
    println!(
        "{ROWS} calls at concurrency {CONCURRENCY}, each answer takes {delay_ms} ms; median and worst of {ROUNDS}:"
    );
    let (ours, plain) = (show("proem run --batch", ours), show("a plain client", plain));
    println!("  ratio              {:.2}        {:.2}", ours.0 / plain.0, ours.1 / plain.1);
}

/// Prints a client's line. Its median and worst time in seconds.
fn show(name: &str, mut all: Vec<Took>) -> (f64, f64) {
    all.sort_by_key(|took| took.time);
    let (median, worst) = (all[all.len() / 2].time.as_secs_f64(), all[all.len() - 1].time.as_secs_f64());
    let most = all.iter().map(|took| took.most_at_once).max().unwrap();
    let rate = ROWS as f64 / median;
    println!("  {name:<18} {median:.3} s     {worst:.3} s     {rate:.0} calls/s, at most {most} at once");
    (median, worst)
}

fn start(fixture: &Fixture, delay_ms: u64) -> ScriptedServer {
    let reply = Reply::value(json!({ "severity": "low", "reason": "It only looks bad." })).delayed(delay_ms);
    let server = ScriptedServer::start(ServerScript::of(vec![reply])).unwrap();
    let address = server.address();
    let config = format!(
        "[providers.anthropic]\nbase_url = \"http://{address}\"\nkey = \"ANTHROPIC_API_KEY\"\nconcurrency = 64\n"
    );
    fixture.configure("config.toml", &config);
    server
}

/// One run alone, and the part of it that is before the network.
fn one_run(fixture: &Fixture) {
    let server = start(fixture, 0);
    println!("one row, median of {SINGLES}:");
    for more in [&["--dry-run"][..], &[]] {
        let words: Vec<&str> =
            ["run", "reviews/strict", "--set", "title=It crashes"].iter().chain(more).copied().collect();
        let time = |_| {
            let began = Instant::now();
            fixture.proem(&words).answer();
            began.elapsed()
        };
        let mut times: Vec<Duration> = (0..SINGLES).map(time).collect();
        times.sort_unstable();
        println!("  {:<18} {:.1} ms", more.first().unwrap_or(&"run"), times[SINGLES / 2].as_secs_f64() * 1_000.0);
    }
    assert_eq!(server.requests().len(), SINGLES);
}

/// A request as it went over the wire.
fn request_bytes(received: &ReceivedRequest) -> Vec<u8> {
    let mut out = format!("{} {} HTTP/1.1\r\n", received.method, received.path);
    for (name, value) in &received.headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    out.extend(&received.body);
    out
}

/// Sends all requests, as many at once as there are connections.
fn send_all(address: SocketAddr, requests: &[Vec<u8>]) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..CONCURRENCY {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_nodelay(true).unwrap();
                let mut answer = Vec::new();
                while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    stream.write_all(request).unwrap();
                    read(&mut stream, &mut answer);
                }
            });
        }
    });
}

/// Reads one answer of the scripted server, which is in chunks.
fn read(stream: &mut TcpStream, answer: &mut Vec<u8>) {
    answer.clear();
    let mut buffer = [0; 16 * 1024];
    while !answer.ends_with(b"\r\n0\r\n\r\n") {
        let length = stream.read(&mut buffer).unwrap();
        assert_ne!(length, 0, "the server closed the connection");
        answer.extend(&buffer[..length]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.windows(12).any(|part| part == b"message_stop"));
}
