//! Three machines with a worker each and one that takes webhooks, over one database. All of them are killed at random
//! moments, workers with what they do or without it, while signals come from a scripted Jira in both ways and actions
//! leave by mail and as comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use proem_runtime::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpScript};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use super::host::{HostReply, ScriptedHost};
use super::scene::{Draw, Office, POLICY, intended_actions, received, variable_number};
use crate::serve::{SECRET, Serving, try_post_ticket};
use crate::skipped::skip;
use crate::source_server::SourceServer;
use crate::source_worlds::{Jira, issue};
use crate::test_server::test_server;
use crate::triage_signals::charter_text;

const DATABASE: &str = "killed_team";
/// How many actions of each kind are added at once.
const BATCH: usize = 4;
/// How long the machines may take at the end, behind the last kill.
const PATIENCE: Duration = Duration::from_secs(300);

/// Permissions for a comment beside those for a mail.
fn policy() -> String {
    let both = POLICY.replace("approval = [\"note\"]", "approval = [\"note\", \"comment\"]");
    let allowed = both.replace("[lists]", "[allow]\nid_prefixes = [\"TES-\"]\n\n[lists]");
    format!(
        "{allowed}\n[actions.comment]\nperform = \"request:comment\"\ntarget = {{ role = \"id\" }}\n\
         fields.body = {{ role = \"text\", audience = \"internal\", required = true }}\n"
    )
}

fn configuration(office: &Office, mail: u16, tickets: u16, jira: &str) -> String {
    let (folder, root) = (test_server().unwrap().folder.display(), office.fixture.repo.display());
    format!(
        "[effects.mail.server]\nhost = \"localhost\"\nport = {mail}\nsecurity = \"loopback-plain\"\n\n\
         [effects.servers.tickets]\norigin = \"http://127.0.0.1:{tickets}\"\nprivate = true\ncredential = \"tickets\"\n\n\
         [effects.requests.comment]\nserver = \"tickets\"\nkind = \"comment\"\nmethod = \"POST\"\n\
         path = \"/rest/api/2/issue/{{target}}/comment\"\nbody = {{ body = \"{{body}}\" }}\n\n\
         [effects.credentials]\ntickets = {{ file = \"tickets.txt\" }}\njira-read = {{ file = \"jira-read.txt\" }}\n\n\
         [sources.tickets]\nsystem = \"jira\"\nurl = \"{jira}\"\nprivate = true\nuser = \"bot@corp.example\"\n\
         credential = \"jira-read\"\n\n\
         [webhooks.tea-jira]\nsource = \"jira\"\nproject = \"{root}\"\nsecret = {{ file = \"webhook.txt\" }}\n\n\
         [store]\nurl = \"postgres:///{DATABASE}?host={folder}&user=postgres\"\n\n[store.projects]\n\"{root}\" = \"tea\"\n"
    )
}

/// A project of three machines, and the servers around it.
struct Team {
    office: Office,
    mail: ScriptedSmtp,
    tickets: ScriptedHost,
    jira: SourceServer,
    issues: u32,
    comments: usize,
    serving: Serving,
    /// The webhooks so far, and how many of them were acknowledged.
    delivered: u32,
    acknowledged: u32,
    /// The actions so far.
    actions: Vec<String>,
    machines: [Machine; 3],
}

/// A machine: its own state, and the worker that runs there.
struct Machine {
    state: PathBuf,
    worker: Option<Child>,
}

impl Drop for Team {
    fn drop(&mut self) {
        _ = self.serving.child.kill();
        _ = self.serving.child.wait();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(worker) = &mut self.worker {
            _ = worker.kill();
            _ = worker.wait();
        }
    }
}

impl Team {
    fn start() -> Option<Self> {
        let server = match test_server() {
            Ok(server) => server,
            Err(why) => {
                skip("postgresql", why);
                return None;
            }
        };
        server.run("postgres", &format!("CREATE DATABASE {DATABASE}")).unwrap();
        let mail = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::None)).unwrap();
        let tickets = ScriptedHost::answering(std::iter::repeat(HostReply::Status("201 Created")));
        let jira = SourceServer::start(|_| Jira::default());
        let office = Office::closed();
        office.fixture.configure("policy.toml", &policy());
        let secrets = [("tickets.txt", "correct-horse-battery"), ("jira-read.txt", "another-horse-battery")];
        for (name, secret) in secrets.into_iter().chain([("webhook.txt", SECRET)]) {
            office.fixture.configure(name, secret);
            let path = office.fixture.base.join("config/proem").join(name);
            fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        }
        office.configure(&configuration(&office, mail.port(), tickets.port, &jira.base));
        office.fixture.git(&["init", "-q", "-b", "main"]);
        office.fixture.trust_charter(&charter_text("artefact"));
        // Each machine trusts the files that the person trusted, and shares nothing else.
        let states = ["one", "two", "three"].map(|name| office.fixture.machine(name));
        let office = office.switched_on()?;
        let machines = states.map(|state| Machine { state, worker: None });
        let serving = Serving::start(&office.fixture, &[]);
        let actions = Vec::new();
        Some(Self {
            office,
            mail,
            tickets,
            jira,
            issues: 0,
            comments: 0,
            serving,
            delivered: 0,
            acknowledged: 0,
            actions,
            machines,
        })
    }

    fn start_worker(&mut self, number: usize) {
        let machine = &mut self.machines[number];
        let mut command = self.office.command(&["worker", "--concurrency", "2"]);
        command.env("XDG_STATE_HOME", &machine.state).stderr(Stdio::null());
        machine.worker = Some(command.spawn().unwrap());
    }

    /// Kills a worker, and with a yes its steps, as if the machine had lost its power.
    fn kill_worker(&mut self, number: usize, with_steps: bool) {
        let mut worker = self.machines[number].worker.take().unwrap();
        let steps = if with_steps { children_of(worker.id()) } else { Vec::new() };
        worker.kill().unwrap();
        worker.wait().unwrap();
        for step in steps {
            // It may have ended by itself.
            _ = kill_process(step, Signal::KILL);
        }
    }

    /// Delivers a webhook, and kills the process that takes it after a while, unless that is `None`.
    fn deliver(&mut self, kill_after: Option<Duration>) {
        // Tickets of a Jira of their own numbers, so that each is a signal beside those that are read.
        self.delivered += 1;
        let (number, address) = (self.delivered, self.serving.address);
        let delivering = std::thread::spawn(move || try_post_ticket(address, 1_000 + number));
        if let Some(pause) = kill_after {
            std::thread::sleep(pause);
            self.serving.child.kill().unwrap();
            self.serving.child.wait().unwrap();
        }
        if delivering.join().unwrap().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 ")) {
            self.acknowledged += 1;
        }
        if kill_after.is_some() {
            self.serving = Serving::start(&self.office.fixture, &[]);
        }
    }

    /// A batch of mails and comments that a person approved, and of issues that Jira has.
    fn add_work(&mut self) {
        let mut ids: Vec<String> = (0..BATCH).map(|_| self.office.propose_note()).collect();
        for _ in 0..BATCH {
            self.comments += 1;
            let comment = json!({
                "action": "comment", "target": "TES-7", "fields": { "body": format!("Comment {}", self.comments) },
                "causes": [{ "id": format!("comment-{}", self.comments), "revision": "1" }],
            });
            ids.push(self.office.propose_action(&comment)["id"].as_str().unwrap().to_owned());
        }
        self.issues += 2;
        let issues = (1..=self.issues).map(|number| issue(number, &format!("Refund part {number}"), 1)).collect();
        self.jira.set_world(Jira { issues, ..Jira::default() });
        let read = self.office.fixture.proem(&["triage", "sync", "--json"]);
        assert_eq!(read.code(), 0, "{}", read.transcript());
        // Last, for the actions leave at once.
        self.office.approve(&ids);
        self.actions.extend(ids);
    }

    /// The machine whose worker performs actions now, if one does.
    fn performing_machine(&self) -> Option<usize> {
        let holder = "SELECT worker FROM proem.work WHERE kind = 'effects' AND holder IS NOT NULL";
        let holder = test_server().unwrap().run(DATABASE, holder).unwrap();
        let id = holder.trim().rsplit_once(':')?.1.to_owned();
        self.machines
            .iter()
            .position(|machine| machine.worker.as_ref().is_some_and(|worker| worker.id().to_string() == id))
    }

    /// A person lets work begin anew that was begun three times and killed each time. How often that was.
    fn retry_stuck(&self) -> usize {
        let stuck = self.office.fixture.proem(&["workers", "--stuck", "--json"]);
        let stuck: Json = serde_json::from_str(stuck.stdout()).unwrap();
        let stuck = stuck["work"].as_array().unwrap();
        for work in stuck {
            let kind = work["kind"].as_str().unwrap();
            let retried = self.office.fixture.proem(&["workers", "--retry", kind]);
            assert_eq!(retried.code(), 0, "{}", retried.transcript());
        }
        stuck.len()
    }

    /// How often each action arrived anywhere.
    fn arrived(&self) -> BTreeMap<String, usize> {
        let mut arrived = received(&self.mail.log());
        for (head, _) in self.tickets.requests() {
            let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap();
            *arrived.entry(key.to_owned()).or_default() += 1;
        }
        arrived
    }

    /// The intents of all machines.
    fn witnessed(&self) -> BTreeSet<String> {
        let witnesses = self.machines.iter().flat_map(|machine| witnesses_below(&machine.state));
        witnesses.flat_map(|file| intended_actions(&fs::read_to_string(file).unwrap())).collect()
    }

    fn open_signals(&self) -> String {
        let open = "SELECT count(*) FROM proem.signals WHERE standing = 'open'";
        test_server().unwrap().run(DATABASE, open).unwrap().trim().to_owned()
    }
}

/// The processes that a process started.
fn children_of(process: u32) -> Vec<Pid> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let others = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let all = others.fold(children, |all, more| format!("{all} {more}"));
    all.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
}

fn witnesses_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(witnesses_below(&entry.path()));
        } else if entry.file_name() == "effects.witness" {
            found.push(entry.path());
        }
    }
    found
}

/// Kills workers until `PROEM_KILLS` of them were killed, lets the rest be done, and holds the records against the
/// receivers: nothing came twice, everything approved has an end, and every signal was worked on.
#[test]
fn workers_are_killed_and_nothing_is_lost_or_twice() {
    let Some(mut team) = Team::start() else { return };
    let kills = variable_number("PROEM_KILLS", 6);
    let mut draw = Draw::seeded();
    (0..team.machines.len()).for_each(|number| team.start_worker(number));
    let mut retried = 0;
    for _ in 0..kills {
        // Every fourth of those that take webhooks is killed, too.
        let kill_after = (draw.below(4) == 0).then(|| Duration::from_millis(draw.below(30)));
        team.deliver(kill_after);
        if team.office.open_actions().len() < 2 * BATCH {
            team.add_work();
        }
        std::thread::sleep(Duration::from_millis(draw.below(600)));
        let any = usize::try_from(draw.below(3)).unwrap();
        let number = team.performing_machine().unwrap_or(any);
        team.kill_worker(number, draw.below(4) != 0);
        retried += team.retry_stuck();
        team.start_worker(number);
    }
    let until = Instant::now() + PATIENCE;
    let states = loop {
        retried += team.retry_stuck();
        let states = team.office.agree_with(&team.arrived(), &team.witnessed());
        let is_done = states.values().all(|state| ["executed", "unknown"].contains(&state.as_str()));
        if is_done && team.open_signals() == "0" {
            break states;
        }
        assert!(Instant::now() < until, "{states:?}, {} open signals", team.open_signals());
        std::thread::sleep(Duration::from_millis(250));
    };
    let count = |wanted: &str| states.values().filter(|state| *state == wanted).count();
    let (executed, unknown, arrived) = (count("executed"), count("unknown"), team.arrived().len());
    eprintln!(
        "{kills} kills, {retried} retried: {executed} executed, {unknown} unknown of {}; {} issues; {} of {} webhooks \
         acknowledged",
        team.actions.len(),
        team.issues,
        team.acknowledged,
        team.delivered
    );
    assert!(team.actions.iter().all(|id| states.contains_key(id)));
    assert_eq!(states.len(), team.actions.len(), "{states:?}");
    assert!(u64::try_from(unknown).unwrap() <= kills && executed > 0, "{unknown} of {kills}");
    assert!((executed..=executed + unknown).contains(&arrived), "{arrived} arrived");
    // One signal for each issue and each acknowledged webhook, and for those at most whose answer was lost.
    let known = test_server().unwrap().run(DATABASE, "SELECT count(*) FROM proem.signals").unwrap();
    let (least, most) = (team.issues + team.acknowledged, team.issues + team.delivered);
    assert!((least..=most).contains(&known.trim().parse().unwrap()), "{known} of {least} to {most}");
}
