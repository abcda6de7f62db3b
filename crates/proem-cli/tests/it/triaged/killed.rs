//! Triage with models that is killed at random moments, while what its mails are sent by is killed as well.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use proem_llm::scripted::{Reply, ScriptCondition, ScriptEnd, ScriptRule, ScriptedServer, ServerScript};
use proem_runtime::effects::scripted_smtp::{ScriptedSmtp, SmtpEncryption, SmtpScript};
use serde_json::json;

use super::models::{calls_reply, classified, drafted_call, sanitised};
use super::project;
use crate::effects::scene::{Draw, now, received, variable_number};
use crate::fixture::Fixture;
use crate::records::sql;
use crate::triage_signals::comment;

const MINUTE: i64 = 60_000;
/// The text of each comment, behind the summary of its ticket.
const TEXT: &str = "When will the vendor certification be done?";

/// A model that words the same mail about a signal, of which it reads this text, otherwise each time that it is asked.
pub(super) fn model(id: &str, text: &str) -> ScriptedServer {
    let rule = |tool: &str, then: Vec<Reply>| ScriptRule {
        when: ScriptCondition { body: Some(format!(r#""name":"{tool}""#)), ..ScriptCondition::default() },
        then,
        after: ScriptEnd::Repeat,
    };
    let worded = |word: &str| {
        let (tool, mut mail) = drafted_call(id, "sam@corp.example");
        mail["body"] = json!(format!("The certification is {word}. Please name a day for the release."));
        mail["subject"] = json!(format!("Certification is {word}"));
        calls_reply(vec![(tool, mail)])
    };
    let words = ["in review", "with the vendor", "being tested", "not signed", "half done"];
    let rules = vec![
        rule("draft_communication", words.into_iter().map(worded).collect()),
        rule("create_escalation", vec![calls_reply(vec![classified(id, "stakeholder", "draft_communication")])]),
        rule("sanitise_signal", vec![calls_reply(vec![sanitised(id, text)])]),
    ];
    ScriptedServer::start(ServerScript { rules, ..ServerScript::default() }).unwrap()
}

/// A project at the highest level whose effects are on, whose policy knows the sponsor, and whose budget outlasts calls
/// of which nobody knows what they cost.
struct Desk {
    fixture: Fixture,
    mail: ScriptedSmtp,
    clock: i64,
}

impl Desk {
    fn open() -> Self {
        let fixture = project("tactical");
        let shipped = include_str!("../../../../proem-engine/data/policy.toml");
        let known = "domains = [\"corp.example\"]\n\
                     recipients = [{ address = \"sam@corp.example\", name = \"Sam\", role = \"sponsor\" }]\n";
        let policy = shipped.replace("domains = []\n", known);
        fixture.configure("policy.toml", &policy.replace("level = \"monitoring\"\n\n#", "level = \"tactical\"\n\n#"));
        let mail = ScriptedSmtp::start(SmtpScript::new(SmtpEncryption::None)).unwrap();
        let mut desk = Self { fixture, mail, clock: now() };
        desk.fixture.set("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef");
        desk.configure("127.0.0.1:9");
        desk.fixture.switch_effects_on();
        desk.later(0);
        desk
    }

    fn configure(&self, model: impl std::fmt::Display) {
        let port = self.mail.port();
        self.fixture.configure(
            "config.toml",
            &format!(
                "[effects.mail]\nfrom = \"projects@corp.example\"\n[effects.mail.server]\nhost = \"localhost\"\n\
                 port = {port}\nsecurity = \"loopback-plain\"\n[providers.anthropic]\nbase_url = \"http://{model}\"\n\
                 key = \"ANTHROPIC_API_KEY\"\n[triage]\nmodels = true\nretries = 0\n\
                 [budget.agent.triage]\nday = 100000.0\nmonth = 1000000.0\nsteps = []\n"
            ),
        );
    }

    fn later(&mut self, minutes: i64) {
        self.clock += minutes * MINUTE;
        let clock = self.clock.to_string();
        self.fixture.set("PROEM_CLOCK", clock);
    }

    /// A command that is killed after so many milliseconds. Whether it lived until then.
    fn killed(&self, args: &[&str], after: u64) -> bool {
        let mut command = self.fixture.command(env!("CARGO_BIN_EXE_proem"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let until = Instant::now() + Duration::from_millis(after);
        while child.try_wait().unwrap().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap().signal() == Some(9)
    }

    fn actions(&self) -> BTreeMap<String, String> {
        let rows = sql(&self.fixture, "SELECT hex(key) || ' ' || state FROM actions ORDER BY key");
        rows.iter().filter_map(|row| row.split_once(' ')).map(|(id, state)| (id.to_owned(), state.to_owned())).collect()
    }
}

/// Kills `PROEM_KILLS` runs, and sweeps beside them. A hundred have been made by
/// `PROEM_KILLS=100 cargo test -p proem-cli --test it triaged::killed -- --nocapture`, with the seed that is set here:
/// 100 runs and 6 sweeps killed: 59 mails sent, 0 unknown, 59 signals.
#[test]
fn each_signal_has_one_mail_whatever_the_model_says_the_next_time() {
    let mut desk = Desk::open();
    let kills = variable_number("PROEM_KILLS", 12);
    let mut draw = Draw::seeded();
    let (mut killed, mut swept, mut signals) = (0, 0, 0);
    let mut longest = 1_500;
    while killed < kills {
        signals += 1;
        let id = format!("jira:unknown-server:comment:7{signals}");
        let server = model(&id, &format!("Vendor certification\n{TEXT}"));
        desk.configure(server.address());
        desk.fixture.write("one.json", comment(signals, TEXT).to_string());
        // The same signal again and again. The model words its mail otherwise each time that it is asked.
        for _ in 0..=draw.below(4) {
            if killed < kills && desk.killed(&["triage", "run", "one.json"], draw.below(longest)) {
                killed += 1;
                longest += longest / 20;
            } else {
                longest = longest.max(400) * 9 / 10;
            }
        }
        let done = desk.fixture.proem(&["triage", "run", "one.json", "--json"]);
        assert_eq!(done.code(), 0, "{}", done.transcript());
        assert_eq!(desk.actions().len(), usize::try_from(signals).unwrap(), "{}", done.transcript());
        desk.later(40);
        if desk.killed(&["effects", "sweep"], draw.below(1_500)) {
            swept += 1;
        }
    }
    // A run that is killed between proposing and deciding leaves a proposal. The sweep decides about it, and its hold
    // begins only then.
    let sweeps = [1, 40].map(|minutes| {
        desk.later(minutes);
        desk.fixture.proem(&["effects", "sweep"]).transcript()
    });
    let states = desk.actions();
    let received = received(&desk.mail.log());
    let count = |wanted: &str| states.values().filter(|state| *state == wanted).count();
    let (executed, unknown) = (count("executed"), count("unknown"));
    eprintln!("{killed} runs and {swept} sweeps killed: {executed} mails sent, {unknown} unknown, {signals} signals");
    assert_eq!(states.len(), usize::try_from(signals).unwrap(), "one for each signal: {states:?}");
    let open =
        sql(&desk.fixture, "SELECT state || ' until ' || due FROM actions WHERE state NOT IN ('executed', 'unknown')");
    assert_eq!(executed + unknown, states.len(), "none is lost at {}: {open:?} {sweeps:#?}", desk.clock);
    assert!(unknown <= swept && executed > 0, "{unknown} of {swept}");
    assert!(received.values().all(|times| *times == 1), "at most once: {received:?}");
    assert!((executed..=executed + unknown).contains(&received.len()), "{} received", received.len());
    let status = desk.fixture.triage().status();
    assert_eq!(status["signals"], json!({ "handled": signals }), "each signal once");
}
