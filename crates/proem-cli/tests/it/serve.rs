//! `proem serve` as a process: from its first line to its end, and to its kill.

use std::fs::{self, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStderr, Stdio};

use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use sha2::Sha256;

use crate::fixture::Fixture;
use crate::guide;
use crate::triage_signals::{charter_text, moved};

pub(crate) const SECRET: &str = "It's a Secret to Everybody";
const ASANA_SECRET: &str = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81";

/// A user with a project and the webhooks of the guide.
fn user() -> Fixture {
    let mut fixture = Fixture::folder().unborn();
    fixture.trust_charter(&charter_text("monitoring"));
    let guide = include_str!("../../../../docs/guide/webhooks.md");
    let (_, config) = guide.split_once("```text title=~/.config/proem/config.toml\n").unwrap();
    let (config, _) = config.split_once("\n```").unwrap();
    fixture.configure("config.toml", &config.replace("/srv/tea", fixture.repo.to_str().unwrap()));
    fixture.configure("tea-mail.secret", "0f1e2d3c-subscription-state\n");
    let file = fixture.base.join("config/proem/tea-mail.secret");
    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    fixture.set("TEA_JIRA_SECRET", SECRET);
    fixture.set("LANG", "C.UTF-8");
    fixture
}

/// A process that takes webhooks.
pub(crate) struct Serving {
    pub(crate) child: Child,
    notes: BufReader<ChildStderr>,
    pub(crate) address: SocketAddr,
}

impl Serving {
    pub(crate) fn start(fixture: &Fixture, more: &[&str]) -> Self {
        let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--monitor", "127.0.0.1:0"]).args(more);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut notes = BufReader::new(child.stderr.take().unwrap());
        let mut heard = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(notes.read_line(&mut line).unwrap() > 0, "it ended: {heard}");
            heard.push_str(&line);
            if let Some((_, rest)) = line.split_once("taking webhooks at http://") {
                break rest.split_once('/').unwrap().0.parse().unwrap();
            }
        };
        Self { child, notes, address }
    }

    /// Ends it in order; its exit code, and what it said meanwhile.
    fn stop(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut said = String::new();
        self.notes.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

/// A request with a body, and the head of its answer.
fn post(address: SocketAddr, path: &str, header: &str, body: &str) -> String {
    try_post(address, path, header, body).unwrap()
}

/// The same to a process that may end meanwhile.
fn try_post(address: SocketAddr, path: &str, header: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n{header}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn sign(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A ticket of Jira that moved, a moment ago.
fn ticket(number: u32) -> String {
    let mut event = moved(number, "To Do", "In Progress");
    event["timestamp"] = json!(proem_app::when::time_now().0);
    event.to_string()
}

fn post_ticket(address: SocketAddr, number: u32) -> String {
    try_post_ticket(address, number).unwrap()
}

/// Delivers a ticket to a process that may end meanwhile.
pub(crate) fn try_post_ticket(address: SocketAddr, number: u32) -> io::Result<String> {
    let body = ticket(number);
    try_post(address, "/hooks/tea-jira", &format!("X-Hub-Signature: sha256={}", sign(SECRET, &body)), &body)
}

fn stored(fixture: &Fixture) -> Vec<String> {
    fixture.triage().first_column("SELECT source || ' ' || kind FROM signals ORDER BY seq")
}

/// The state of webhooks as `proem doctor` has it.
fn webhook_check(fixture: &Fixture) -> String {
    let run = fixture.proem(&["doctor", "--json"]);
    let output: Json = serde_json::from_str(run.stdout()).unwrap();
    let mut checks = output["checks"].as_array().unwrap().iter();
    checks.find(|check| check["subject"] == "webhook").unwrap()["state"].as_str().unwrap().to_owned()
}

#[test]
fn signals_are_stored_before_the_answer_whatever_ends_the_process() {
    let fixture = user();
    let mut serving = Serving::start(&fixture, &[]);
    assert!(post_ticket(serving.address, 1).starts_with("HTTP/1.1 200 "));
    // The answer is there, so the signal is.
    serving.child.kill().unwrap();
    serving.child.wait().unwrap();
    assert_eq!(stored(&fixture), ["jira ticket_updated"]);

    let serving = Serving::start(&fixture, &[]);
    let body = ticket(2);
    let mut stream = TcpStream::connect(serving.address).unwrap();
    let signature = sign(SECRET, &body);
    let length = body.len();
    let head = format!(
        "POST /hooks/tea-jira HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nX-Hub-Signature: sha256={signature}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // Its beginning is read before the delivery that comes behind it is answered.
    assert!(post_ticket(serving.address, 3).starts_with("HTTP/1.1 200 "));
    let ending = std::thread::spawn(move || serving.stop());
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let (code, said) = ending.join().unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("note: ended; everything that was acknowledged is stored\n"), "{said}");
    assert_eq!(stored(&fixture).len(), 3);
}

#[test]
fn a_team_takes_webhooks_as_the_guide_says() {
    let fixture = user();
    let serving = Serving::start(&fixture, &["--handshake", "tea-asana"]);
    let address = serving.address;
    // Before the handshake the guide's checkup names the webhook that waits for one.
    assert_eq!(webhook_check(&fixture), "missing");
    assert!(post_ticket(address, 1).starts_with("HTTP/1.1 200 "));
    let mails = json!({ "value": [{ "subscriptionId": "s", "clientState": "0f1e2d3c-subscription-state",
        "changeType": "created", "resource": "Users/u/Messages/m", "resourceData": { "id": "m" } }] });
    assert!(post(address, "/hooks/tea-mail", "A: b", &mails.to_string()).starts_with("HTTP/1.1 200 "));
    let tried = guide::run(&fixture, "webhooks.md", &[(fixture.repo.to_str().unwrap(), "/srv/tea")]);
    assert_eq!(tried, guide::Tried { files: 1, sessions: 3 });
    let handshake = post(address, "/hooks/tea-asana", &format!("X-Hook-Secret: {ASANA_SECRET}"), "{}");
    assert!(handshake.starts_with("HTTP/1.1 200 ") && handshake.contains(ASANA_SECRET), "{handshake}");
    let beat = "{\"events\":[]}";
    let signature = format!("X-Hook-Signature: {}", sign(ASANA_SECRET, beat));
    assert!(post(address, "/hooks/tea-asana", &signature, beat).starts_with("HTTP/1.1 200 "));
    assert!(post(address, "/hooks/tea-jira", "A: b", "{}").starts_with("HTTP/1.1 401 "));
    let (code, said) = serving.stop();
    assert_eq!(code, Some(0), "{said}");
    for line in [
        "note: `tea-asana` is open: the secret that Asana chose is kept\n",
        "note: a delivery to `tea-jira` was refused with 401: it is not signed with the webhook's secret\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(!said.contains(ASANA_SECRET) && !said.contains(SECRET));
    assert_eq!(webhook_check(&fixture), "good");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_taken() {
    let mut fixture = user();
    snapshot!("help", fixture.proem(&["serve", "--help"]).stdout());
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap();
    let run = fixture.proem(&["serve", "--listen", &taken.to_string(), "--monitor", "127.0.0.1:0"]);
    assert_eq!(run.code(), 3, "{}", run.stderr());
    let expected = format!("error: can't listen at {taken}: ");
    assert!(run.stderr().lines().any(|line| line.starts_with(&expected)), "{}", run.stderr());
    drop(held);
    let run =
        fixture.proem(&["serve", "--handshake", "tea-jira", "--listen", "127.0.0.1:0", "--monitor", "127.0.0.1:0"]);
    assert_eq!(run.code(), 2, "{}", run.stderr());
    assert!(
        run.stderr().contains("`tea-jira` is no webhook of Asana; only those have a handshake"),
        "{}",
        run.stderr()
    );
    fixture.set("TEA_JIRA_SECRET", "");
    let run = fixture.proem(&["serve"]);
    assert_eq!(run.code(), 2, "{}", run.stderr());
    assert!(
        run.stderr().contains(
            "no credential `webhooks.tea-jira.secret`; set the environment variable TEA_JIRA_SECRET, or name a file in \
             your configuration"
        ),
        "{}",
        run.stderr()
    );
    fixture.configure("config.toml", "");
    let run = fixture.proem(&["serve"]);
    assert_eq!(run.code(), 2);
    assert!(run.stderr().contains("no webhook is configured; add a table `[webhooks.NAME]` to"), "{}", run.stderr());
    // A project's own file opens nothing.
    let own = "[webhooks.a]\nsource = \"asana\"\nproject = \"/srv/tea\"\n";
    fixture.trust(&[("proem.toml", own)]);
    let run = fixture.proem(&["serve"]);
    assert_eq!(run.code(), 2);
    let run = fixture.proem(&["triage", "status"]);
    assert!(
        run.stderr().contains("proem.toml: `webhooks` is ignored; only your own configuration decides it"),
        "{}",
        run.stderr()
    );
}
