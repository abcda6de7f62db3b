//! An office whose agent proposes mails, a person at a terminal who decides about them, and what was received.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroU16;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use proem_app::effects::ActionDesk;
use proem_app::effects::sweep::CredentialReading;
use proem_app::places::Channel;
use proem_app::records::{actor, records_owner};
use proem_app::when;
use proem_engine::effect::{ActionEvent, ActionState, Authority, StandingApproval, TransitionRequest};
use proem_engine::run::Time;
use proem_runtime::Environment;
use proem_runtime::effects::scripted_smtp::{AUTHORITY, ScriptedSmtp, SmtpLog};
use proem_store::TransitionAnswer;
use proem_store::query::{ActionRow, LineDepth, QueueLine};
use proem_store::record::{ApprovalBreadth, NewTransition, TransitionLoad};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use crate::fixture::{BEAT, Fixture, Run};
use crate::terminal::screen::{Left, Terminal, has_terminal, start, start_sized};

/// The agent's permissions here: `note` needs a yes, and `reminder` goes by itself after half an hour.
pub(crate) const POLICY: &str = r#"version = 1
level = "tactical"
domains = ["corp.example"]
recipients = [
    { address = "ada@corp.example", name = "Ada", role = "sponsor" },
    { address = "bob@corp.example", name = "Bob", role = "lead" },
]

[lists]
approval = ["note"]
hold = { reminder = 30 }

[actions.note]
level = "monitoring"
perform = "mail"
target = { role = "recipient" }
fields.cc = { role = "recipient", list = true }
fields.subject = { role = "text", audience = "internal", required = true, max_bytes = 200 }
fields.body = { role = "text", audience = "internal", required = true }

[actions.reminder]
level = "monitoring"
perform = "mail"
target = { role = "recipient" }
fields.subject = { role = "text", audience = "internal", required = true, max_bytes = 200 }
fields.body = { role = "text", audience = "internal", required = true }
"#;

/// The sender of mails. The beginning of every configuration here.
const SENDER: &str = "[effects.mail]\nfrom = \"projects@corp.example\"\n";

/// The milliseconds of a day.
pub(crate) const DAY: i64 = 24 * 60 * 60 * 1000;

/// A user with a policy, whose effects are on.
pub(crate) struct Office {
    pub(crate) fixture: Fixture,
    proposed: Cell<u32>,
}

/// How the mail server of a configuration is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MailServer<'a> {
    pub(crate) port: u16,
    /// `tls`, `starttls` or `loopback-plain`.
    pub(crate) security: &'a str,
    /// Whether the server's authority counts, and who logs in.
    pub(crate) lines: &'a str,
}

/// The server's authority counts.
pub(crate) const KNOWN: &str = "authorities = \"authority.pem\"\n";
/// It counts, and somebody logs in.
pub(crate) const LOGIN: &str = "authorities = \"authority.pem\"\nuser = \"ann\"\ncredential = \"mail\"\n";

impl Office {
    /// One whose mails go to its outbox. `None`, said out loud, where the system has no pseudo-terminal.
    pub(crate) fn open() -> Option<Self> {
        Self::closed().switched_on()
    }

    /// The same one with its effects on. `None` where the system has no pseudo-terminal.
    pub(crate) fn switched_on(self) -> Option<Self> {
        if !has_terminal() {
            return None;
        }
        if !self.fixture.is_in_this_process() {
            let left = self.decide(&["effects", "on"], "y\n")?;
            assert_eq!(left.code, Some(0), "{}", left.shown);
            return Some(self);
        }
        self.fixture.switch_effects_on();
        Some(self)
    }

    /// One whose effects nobody has switched on.
    pub(crate) fn closed() -> Self {
        let mut fixture = Fixture::folder();
        fixture.set("TERM", "xterm-256color");
        fixture.set("NO_COLOR", "1");
        fixture.set("MAIL_PASSWORD", "correct horse battery");
        fixture.configure("policy.toml", POLICY);
        fixture.configure("authority.pem", AUTHORITY);
        let office = Self { fixture, proposed: Cell::new(0) };
        office.to_outbox();
        office
    }

    /// Has mails go to the outbox from here on.
    pub(crate) fn to_outbox(&self) {
        self.configure("");
    }

    /// Has mails go to a server from here on.
    pub(crate) fn to_server(&self, server: MailServer<'_>) {
        let MailServer { port, security, lines } = server;
        let credential = "[effects.credentials]\nmail = { variable = \"MAIL_PASSWORD\" }\n";
        self.configure(&format!(
            "[effects.mail.server]\nhost = \"localhost\"\nport = {port}\nsecurity = \"{security}\"\n{lines}{credential}"
        ));
    }

    /// Writes the configuration, with more behind where mails come from.
    pub(crate) fn configure(&self, more: &str) {
        self.fixture.configure("config.toml", &format!("{SENDER}{more}"));
    }

    pub(crate) fn outbox(&self) -> PathBuf {
        self.fixture.base.join("state/proem/outbox")
    }

    /// The binary, of which nothing is heard.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.fixture.command(&self.fixture.binary);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A note to two people whose cause nobody has named before.
    pub(crate) fn note(&self) -> Json {
        let number = self.proposed.replace(self.proposed.get() + 1);
        json!({
            "action": "note",
            "target": "ada@corp.example",
            "fields": {
                "cc": ["bob@corp.example"],
                "subject": format!("Week {number}"),
                "body": "The first line.\nThe second.\nThe third.\nThe last.\n",
            },
            "causes": [{ "id": format!("signal-{number}"), "revision": "1" }],
        })
    }

    /// A reminder to one person, which goes by itself after half an hour.
    pub(crate) fn reminder(&self) -> Json {
        let mut reminder = self.note();
        reminder["action"] = "reminder".into();
        reminder["fields"].as_object_mut().unwrap().remove("cc");
        reminder
    }

    /// Proposes an action as it is given.
    pub(crate) fn propose(&self, action: &Json) -> Run {
        self.fixture.write("action.json", action.to_string());
        self.fixture.proem(&["effects", "propose", "action.json", "--json"])
    }

    /// Proposes an action that is taken: the parts of the command's answer that tests go on with.
    #[track_caller]
    pub(crate) fn propose_action(&self, action: &Json) -> Json {
        if self.fixture.is_in_this_process() { self.fixture.propose(action) } else { self.propose(action).json() }
    }

    /// Proposes a note. Its id.
    pub(crate) fn propose_note(&self) -> String {
        self.propose_action(&self.note())["id"].as_str().unwrap().to_owned()
    }

    /// A command on a terminal of so many rows and columns.
    pub(crate) fn on_terminal(&self, args: &[&str], rows: u16, columns: u16) -> Option<Terminal> {
        let mut command = self.fixture.command(&self.fixture.binary);
        command.args(args);
        start_sized(NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap(), command)
    }

    /// A command on a terminal, up to its question.
    pub(crate) fn asked(&self, args: &[&str]) -> Option<Terminal> {
        let mut command = self.fixture.command(&self.fixture.binary);
        command.args(args);
        let mut terminal = start(command)?;
        terminal.until_asked();
        Some(terminal)
    }

    /// A person's answer at a terminal to a command's question.
    pub(crate) fn decide(&self, args: &[&str], keys: &str) -> Option<Left> {
        let terminal = self.asked(args)?;
        terminal.press(keys);
        Some(terminal.end())
    }

    /// A person says yes to actions, written down as the queue's command writes it where the binary has no other clock.
    #[track_caller]
    pub(crate) fn approve(&self, ids: &[String]) {
        if !self.fixture.is_in_this_process() {
            let args: Vec<&str> = ["queue", "approve"].into_iter().chain(ids.iter().map(String::as_str)).collect();
            let left = self.decide(&args, "y\n").unwrap();
            assert_eq!(left.code, Some(0), "{}", left.shown);
            return;
        }
        let answers = self.fixture.at_desk(async |desk| {
            let mut answers = Vec::new();
            for id in ids {
                let row = desk.item(&desk.find(id).await?).await?.detail.row;
                answers.push(yes_to(desk, &row, ids.len()));
            }
            Ok(answers)
        });
        self.fixture.at_records(async |store| {
            for answer in answers {
                let made = store.transit(answer).await?;
                assert!(matches!(made, TransitionAnswer::Made(_)), "{made:?}");
            }
            Ok(())
        });
    }

    /// Proposes so many notes, to which a person says yes.
    pub(crate) fn approve_notes(&self, count: usize) -> Vec<String> {
        let ids: Vec<String> = (0..count).map(|_| self.propose_note()).collect();
        self.approve(&ids);
        ids
    }

    pub(crate) fn sweep(&self) -> Run {
        self.fixture.proem(&["effects", "sweep", "--json"])
    }

    /// Performs what is due, where only that matters and not what a command says of it.
    #[track_caller]
    pub(crate) fn perform_due(&self) {
        if self.fixture.is_in_this_process() {
            self.fixture.at_desk(async |desk| desk.sweep(CredentialReading::OwnEnvironment, &mut |_| {}).await);
        } else {
            self.sweep();
        }
    }

    /// A sweep that nobody waits for, with variables of its own.
    pub(crate) fn sweeping(&self, variables: &[(&str, &str)]) -> Child {
        self.command(&["effects", "sweep"]).envs(variables.iter().copied()).spawn().unwrap()
    }

    /// A sweep that has come to a place and waits there.
    #[track_caller]
    pub(crate) fn waiting_at(&self, place: &str) -> Waiting {
        let file = self.fixture.base.join(format!("waits-{place}"));
        let mut command = self.fixture.command(&self.fixture.binary);
        command.args(["effects", "sweep"]).env("PROEM_FAILPOINT", format!("wait:{place}"));
        command.env("PROEM_FAILPOINT_FILE", &file).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        while !file.exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before {place}");
            std::thread::sleep(BEAT);
        }
        Waiting { child, file }
    }

    /// The locks of performers, which are one.
    pub(crate) fn lock(&self) -> PathBuf {
        let files = fs::read_dir(self.fixture.base.join("state/proem")).unwrap().map(|file| file.unwrap().path());
        let mut locks = files.filter(|path| path.extension().is_some_and(|end| end == "lock"));
        let lock = locks.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("performer-"));
        lock.unwrap()
    }

    /// The state of every action, by its id.
    pub(crate) fn states(&self) -> BTreeMap<String, String> {
        self.queue(&ActionState::ALL).into_iter().collect()
    }

    /// The ids of the actions that have not ended.
    pub(crate) fn open_actions(&self) -> Vec<String> {
        self.queue(&[]).into_iter().map(|(id, _)| id).collect()
    }

    /// Actions in these states, or those that have not ended: each with its state.
    fn queue(&self, wanted: &[ActionState]) -> Vec<(String, String)> {
        let rows = self.fixture.look_at_desk(async |desk| desk.queue(wanted, None, LineDepth::Standing).await);
        let state = |row: &QueueLine| row.state.as_str().to_owned();
        rows.iter().map(|row| (row.key.to_string(), state(row))).collect()
    }

    /// The events of an action, the first one first.
    pub(crate) fn events(&self, id: &str) -> Vec<String> {
        let rows = self.fixture.look_at_desk(async |desk| desk.log(100_000).await);
        let of_action = rows.iter().rev().filter(|row| row.action.to_string() == id);
        of_action.map(|row| row.event.as_str().to_owned()).collect()
    }

    /// How often each action is in the outbox, which is once or never, with all of its bytes.
    pub(crate) fn in_outbox(&self) -> BTreeMap<String, usize> {
        let Ok(files) = fs::read_dir(self.outbox()) else { return BTreeMap::new() };
        let mut found = BTreeMap::new();
        for file in files.map(Result::unwrap) {
            let name = file.file_name().into_string().unwrap();
            // A file that a killed process had begun has no name of an action and is nobody's mail.
            let Some(id) = name.strip_suffix(".eml") else {
                assert!(name.starts_with(".proem-"), "{name}");
                continue;
            };
            let mail = fs::read(file.path()).unwrap();
            assert_eq!(id_of(&mail), id);
            assert!(mail.ends_with(b"The last.\r\n"), "{id} is whole");
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            *found.entry(id.to_owned()).or_default() += 1;
        }
        found
    }

    /// The witness of effects.
    pub(crate) fn witness(&self) -> PathBuf {
        self.fixture.base.join("state/proem/effects.witness")
    }

    /// The actions that the witness has an intent of.
    pub(crate) fn witnessed(&self) -> BTreeSet<String> {
        intended_actions(&fs::read_to_string(self.witness()).unwrap_or_default())
    }

    /// Holds the record against what was received: the witness has an intent of whatever came. Nothing came twice; what
    /// came is executed, unknown or, while nobody has looked, executing; what is executed came; and every unknown one
    /// is listed.
    #[track_caller]
    pub(crate) fn agree(&self, received: &BTreeMap<String, usize>) -> BTreeMap<String, String> {
        self.agree_with(received, &self.witnessed())
    }

    /// The same for what other witnesses have.
    #[track_caller]
    pub(crate) fn agree_with(
        &self,
        received: &BTreeMap<String, usize>,
        witnessed: &BTreeSet<String>,
    ) -> BTreeMap<String, String> {
        let states = self.states();
        assert!(received.keys().all(|id| witnessed.contains(id)), "{received:?} and not in {witnessed:?}");
        assert!(received.values().all(|times| *times == 1), "something came twice: {received:?}");
        for (id, state) in &states {
            let came = received.contains_key(id);
            let may_have_come = ["executed", "unknown", "executing"].contains(&state.as_str());
            assert!(!came || may_have_come, "{id} came and is {state}");
            assert!(came || state != "executed", "{id} is executed and did not come");
        }
        assert!(received.keys().all(|id| states.contains_key(id)), "{received:?} {states:?}");
        let unknown: Vec<&String> = states.iter().filter(|(_, state)| *state == "unknown").map(|(id, _)| id).collect();
        if !unknown.is_empty() {
            let listed = self.open_actions();
            assert!(unknown.iter().all(|id| listed.contains(id)), "{unknown:?} {listed:?}");
        }
        states
    }
}

/// A person's yes to an action as it is, one of so many at once.
fn yes_to(desk: &ActionDesk<'_>, row: &ActionRow, count: usize) -> NewTransition {
    let at = when::time_now();
    let expires = Time(at.max(desk.status.last_seen).0 + desk.policy.approval_time());
    let approval = StandingApproval { content: row.content, policy: desk.policy.hash(), expires };
    let breadth = if count == 1 { ApprovalBreadth::Single } else { ApprovalBreadth::Bulk };
    NewTransition {
        key: row.key,
        project: records_owner(desk.project),
        actor: actor(&Environment::inherited(), Channel::Terminal),
        at,
        request: TransitionRequest {
            event: ActionEvent::Approve(approval),
            by: Authority::Operator,
            version: row.version,
            epoch: None,
        },
        policy: desk.policy.hash(),
        window: desk.policy.release_window(),
        load: TransitionLoad::Approval(breadth),
        details: json!({ "level": desk.level().as_str() }),
    }
}

/// A process that waits at a place.
pub(crate) struct Waiting {
    child: Child,
    file: PathBuf,
}

impl Waiting {
    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets it go on, if it is not stopped.
    pub(crate) fn let_go(&self) {
        fs::remove_file(&self.file).unwrap();
    }

    /// Its output, when it has ended.
    pub(crate) fn end(self) -> Output {
        self.child.wait_with_output().unwrap()
    }
}

/// The actions that a witness's lines have an intent of.
pub(crate) fn intended_actions(text: &str) -> BTreeSet<String> {
    // The last line may have broken off where its process was killed.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = whole.map(|line| serde_json::from_str::<Json>(line).unwrap());
    lines.filter(|line| line["what"] == "intent").map(|line| line["action"].as_str().unwrap().to_owned()).collect()
}

/// The id of the action that a mail is of.
pub(crate) fn id_of(mail: &[u8]) -> String {
    let mail = String::from_utf8_lossy(mail);
    let line = mail.lines().find_map(|line| line.strip_prefix("Message-ID: <")).unwrap();
    line.split_once('@').unwrap().0.to_owned()
}

/// How often each action was received: read to its end, and said to be had.
pub(crate) fn received(log: &SmtpLog) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for mail in &log.mails {
        *found.entry(id_of(mail)).or_default() += 1;
    }
    found
}

/// A server that plays a script, and the office whose mails go there.
pub(crate) fn plain(server: &ScriptedSmtp) -> MailServer<'static> {
    MailServer { port: server.port(), security: "loopback-plain", lines: "" }
}

/// Draws numbers, the same ones for the same seed: xorshift64 (Marsaglia, 2003).
pub(crate) struct Draw(u64);

impl Draw {
    /// The seed is `PROEM_SEED`, or a fixed one, and is said.
    pub(crate) fn seeded() -> Self {
        let seed = variable_number("PROEM_SEED", 0x5eed_0014);
        eprintln!("PROEM_SEED={seed}");
        Self(seed | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

/// The number that a variable of the environment asks for.
pub(crate) fn variable_number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The system's clock, in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
