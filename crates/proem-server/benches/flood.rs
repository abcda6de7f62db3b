//! A flood of deliveries on loopback: how many are acknowledged, whether each of those is stored, how long that takes,
//! and the most memory of the process that takes them. Beside it a bare `INSERT … RETURNING` of the same bodies, one in
//! each transaction, on the same disk.
//!
//! `cargo bench -p proem-server --bench flood [DELIVERIES [SECONDS [PER_SECOND]]]`; 10,000 in 10 seconds at the usual
//! limit if nothing else is said. With 0 seconds, as fast as they are answered.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench reads the clock and prints"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use proem_app::places::{Channel, Places};
use proem_app::project::OpenProject;
use proem_app::triage::charter::CHARTER;
use proem_app::trust::TrustStore;
use proem_app::webhooks::load_webhooks;
use proem_app::{records, when};
use proem_server::{ReceiverOptions, ServeAddresses, ServeEvent, ServeListener, serve_webhooks};
use rusqlite::Connection;
use serde_json::json;
use sha2::Sha256;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const SECRET: &str = "It's a Secret to Everybody";
const PROJECT: &str = "id = \"0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f\"\nname = \"Tea\"\nkey = \"TES\"\n\
                       level = \"monitoring\"\nowner = \"Olivia Reyes\"\ntime_zone = \"UTC\"\ndomains = [\"corp.example\"]\n";
/// How many connections deliver.
const CONNECTIONS: u32 = 64;
/// How many rows are inserted beside.
const ROWS: u32 = 2_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.first().is_some_and(|word| word == "--take") {
        return take_deliveries(Path::new(&arguments[1]));
    }
    let number = |place: usize, usual: u32| arguments.get(place).map_or(usual, |word| word.parse().unwrap());
    let (count, seconds, rate) = (number(0, 10_000), number(1, 10), number(2, 200));
    let folder = TempDir::new_in(".").unwrap();
    let base = folder.path().canonicalize().unwrap();
    write_scene(&base, rate);
    let mut taking = Command::new(std::env::current_exe().unwrap());
    let mut taking = taking.arg("--take").arg(&base).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(taking.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address: SocketAddr = line.trim().parse().unwrap();
    let before = peak_memory(taking.id());
    let begun = Instant::now();
    let (statuses, mut times) = flood(address, count, seconds);
    let took = begun.elapsed();
    let memory = peak_memory(taking.id());
    // An acknowledged delivery has to outlast a kill.
    taking.kill().unwrap();
    taking.wait().unwrap();
    let records = places(&base).records();
    let stored: u32 =
        Connection::open(&records).unwrap().query_row("SELECT count(*) FROM signals", [], |row| row.get(0)).unwrap();
    times.sort_unstable();
    let percentile = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default().as_millis();
    println!(
        "{count} deliveries of {} bytes in {:.1} s over {CONNECTIONS} connections: {statuses:?}",
        body(1).len(),
        took.as_secs_f64()
    );
    println!(
        "stored after kill -9: {stored}; acknowledged per second: {:.0}",
        f64::from(*statuses.get(&200).unwrap_or(&0)) / took.as_secs_f64()
    );
    println!("acknowledged after: median {} ms, p99 {} ms", percentile(50), percentile(99));
    println!("most memory: {memory} kB, {before} kB of them before the first delivery");
    println!("bare INSERT … RETURNING, one in each transaction: {:.0} a second", insert_rate(&base));
}

fn places(base: &Path) -> Places {
    Places {
        config: base.join("config"),
        state: base.join("state"),
        cache: base.join("cache"),
        home: base.to_path_buf(),
        programs: base.to_path_buf(),
        channel: Channel::Pipe,
    }
}

fn write_scene(base: &Path, rate: u32) {
    let (places, project) = (places(base), base.join("tea"));
    for folder in [&places.config, &places.state, &places.cache, &project.join(".proem/triage")] {
        fs::create_dir_all(folder).unwrap();
    }
    assert!(Command::new("git").arg("init").arg("-q").arg(&project).status().unwrap().success());
    fs::write(project.join(CHARTER), PROJECT).unwrap();
    let key = OpenProject::without_book(&project, &places).unwrap().key;
    let trusted = [(CHARTER.to_owned(), PROJECT.as_bytes().to_vec())];
    TrustStore::new(places.state.clone()).trust(&key, &trusted).unwrap();
    let secret = places.config.join("secret");
    fs::write(&secret, SECRET).unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let text = format!(
        "[webhooks.jira]\nsource = \"jira\"\nproject = \"{}\"\nper_second = {rate}\nsecret = {{ file = \"secret\" }}\n",
        project.display()
    );
    fs::write(places.config_file(), text).unwrap();
}

/// Takes deliveries until standard input ends; the address is on standard output.
fn take_deliveries(base: &Path) {
    let places = places(base);
    let options = ReceiverOptions { webhooks: load_webhooks(&places).unwrap(), places, handshakes: BTreeSet::new() };
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let addresses = ServeAddresses { deliveries: local, monitoring: local };
    let tell: ServeListener = Arc::new(|event: &ServeEvent| {
        if let ServeEvent::Began { deliveries, .. } = event {
            println!("{deliveries}");
        }
    });
    let stop = CancellationToken::new();
    let ending = stop.clone();
    std::thread::spawn(move || {
        _ = std::io::stdin().read_to_end(&mut Vec::new());
        ending.cancel();
    });
    records::blocking(serve_webhooks(addresses, options, &stop, tell)).unwrap();
}

/// Delivers from several connections at a steady pace; how often each status came, and how long acknowledgements took.
fn flood(address: SocketAddr, count: u32, seconds: u32) -> (BTreeMap<u16, u32>, Vec<Duration>) {
    let begun = Instant::now();
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|worker| {
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_nodelay(true).unwrap();
                let mut answers = Vec::new();
                for number in (worker..count).step_by(CONNECTIONS as usize) {
                    let due = begun + Duration::from_secs(seconds.into()) * number / count;
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    let sent = Instant::now();
                    answers.push((deliver(&mut stream, number), sent.elapsed()));
                }
                answers
            })
        })
        .collect();
    let (mut statuses, mut times) = (BTreeMap::new(), Vec::new());
    for (status, took) in workers.into_iter().flat_map(|worker| worker.join().unwrap()) {
        *statuses.entry(status).or_default() += 1;
        if status == 200 {
            times.push(took);
        }
    }
    (statuses, times)
}

fn deliver(stream: &mut TcpStream, number: u32) -> u16 {
    let body = body(number);
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let signature: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let length = body.len();
    let head = format!(
        "POST /hooks/jira HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nX-Hub-Signature: sha256={signature}\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 1_024];
    // No answer has a body.
    while !answer.ends_with(b"\r\n\r\n") {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "the connection ended");
        answer.extend_from_slice(&piece[..read]);
    }
    String::from_utf8(answer).unwrap().get(9..12).unwrap().parse().unwrap()
}

/// A webhook of Jira of about 2 kB.
fn body(number: u32) -> String {
    json!({
        "timestamp": when::time_now().0, "webhookEvent": "jira:issue_updated", "issue_event_type_name": "issue_generic",
        "user": { "accountId": "5b10", "displayName": "Ana" },
        "issue": { "id": format!("10{number}"), "key": format!("TES-{number}"), "fields": {
            "project": { "key": "TES" }, "summary": format!("Refunds {number}"), "description": "x ".repeat(700),
            "issuetype": { "name": "Story" }, "status": { "name": "Done", "statusCategory": { "key": "done" } } } },
        "changelog": { "id": number.to_string(), "items": [{ "field": "status", "fromString": "To Do", "toString": "Done" }] },
    })
    .to_string()
}

/// The most memory that a process had, in kB.
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Rows a second of the same bodies in a table of its own, as the records are set up.
fn insert_rate(base: &Path) -> f64 {
    let connection = Connection::open(base.join("bare.db")).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE signals (id INTEGER PRIMARY KEY, text TEXT)")
        .unwrap();
    let bodies: Vec<String> = (0..ROWS).map(body).collect();
    let begun = Instant::now();
    let mut insert = connection.prepare("INSERT INTO signals (text) VALUES (?1) RETURNING id").unwrap();
    for body in &bodies {
        insert.query_row([body], |row| row.get::<_, i64>(0)).unwrap();
    }
    f64::from(ROWS) / begun.elapsed().as_secs_f64()
}
