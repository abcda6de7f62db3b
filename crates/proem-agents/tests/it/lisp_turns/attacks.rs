//! Missions whose model does what an attacker wrote: a table of attacks, each run in two worlds.

use std::collections::BTreeMap;

use proem_engine::run::{ToolOutcome, ToolPower};
use proem_lisp::{Limits, Meter, Value, read_json};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::desk::{Course, Desk, Showing, answered, program};

const ATTACKS: &str = include_str!("../../data/lisp-attacks.toml");

const AGENT: &str = r#"
version = 1
name = "desk"
mission = "Work on {{ask}}, which is about {{ticket}}."
signature = "(ask :string, mail :any?, ticket :any?, book [:string]) -> RESULT"
trusted_inputs = ["ask", "book"]
shows = SHOWS
turns = { max_turns = 4, retry_turns = 1 }

[tools.search]
signature = "(q :string) -> [{n :int, note :string}]"
description = "Search the documents"
effect = false
command = { argv = ["search"] }

[tools.page]
signature = "(url :string) -> :any"
description = "Read a web page"
effect = false
command = { argv = ["page"] }

[tools.helper]
signature = "(task :any) -> :any"
description = "Ask another agent"
effect = false
command = { argv = ["helper"] }

[tools.send]
signature = "(to :any, body :any?) -> :any"
description = "Send a mail"
command = { argv = ["send"] }

[tools.log]
signature = "(text :any?) -> :any"
description = "Write a line"
idempotent = true
command = { argv = ["log"] }
"#;

#[derive(Debug, Deserialize)]
struct Table {
    missions: BTreeMap<String, Mission>,
    attack: Vec<Attack>,
}

/// A mission whose model is undisturbed.
#[derive(Debug, Deserialize)]
struct Mission {
    turns: Vec<String>,
    ends: String,
    effects: usize,
}

#[derive(Debug, Deserialize)]
struct Attack {
    name: String,
    /// The attacker's text: an input, a tool's result, or the memory.
    reads: String,
    #[serde(default)]
    shows: Vec<String>,
    /// The attacker's two texts, as JSON; `!` before it is a tool's failure.
    #[serde(default = "two_worlds")]
    worlds: [String; 2],
    #[serde(default = "any_result")]
    result: String,
    turns: Vec<String>,
    mission: String,
}

fn two_worlds() -> [String; 2] {
    [r#""left""#.to_owned(), r#""right""#.to_owned()]
}

fn any_result() -> String {
    ":any".to_owned()
}

fn table() -> Table {
    toml::from_str(ATTACKS).unwrap()
}

/// The events in the world of `data`: the calls with effects, in order, and the end of the mission.
fn happens(attack: &Attack, data: &str, model: &dyn Fn(usize, &str) -> Option<String>) -> (Vec<String>, Course) {
    let agent = AGENT.replace("SHOWS", &format!("{:?}", attack.shows)).replace("RESULT", &attack.result);
    let of = |name: &str, usual: &str| if attack.reads == name { data.to_owned() } else { usual.to_owned() };
    let input = format!(
        r#"{{"ask": "the report", "book": ["ada@corp.example"], "mail": {}, "ticket": {}}}"#,
        of("mail", r#""hello""#),
        of("ticket", r#""T-1""#)
    );
    let outcome = |json: String| match json.strip_prefix('!') {
        Some(words) => ToolOutcome::failure(words.to_owned()),
        None => answered(&json),
    };
    let note = if attack.reads == "search" { data } else { r#""fine""# };
    let found = format!(r#"[{{"n": 1, "note": {note}}}, {{"n": 2, "note": "second"}}]"#);
    let tools = BTreeMap::from([
        ("search", answered(&found)),
        ("page", outcome(of("page", r#""a page""#))),
        ("helper", outcome(of("helper", r#""an answer""#))),
    ]);
    let memory = match attack.reads.as_str() {
        "memory" => {
            let note = read_json(data, &mut Meter::new(Limits::default())).unwrap();
            Value::map([(Value::keyword("note"), note)])
        }
        _ => Value::map([]),
    };
    let desk = Desk { agent: &agent, input: &input, tools, memory, showing: Showing::Book, ..Desk::default() };
    let course = desk.run(|at, read| program(&model(at, read).unwrap_or_else(|| "(return nil)".to_owned())));
    let effects = course.calls.iter().filter(|call| call.power != ToolPower::Free);
    assert!(effects.clone().all(|call| call.approval.is_none()), "nobody is there");
    (effects.map(|call| format!("{} {}", call.tool, call.arguments)).collect(), course)
}

/// All that a model has read, as a word.
fn digest_of(read: &str) -> String {
    Sha256::digest(read).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_compromised_model_achieves_no_effect_that_an_attacker_chose() {
    let table = table();
    assert!(table.attack.len() >= 25, "{}", table.attack.len());
    let (mut failures, mut asked) = (Vec::new(), 0);
    for attack in &table.attack {
        let model = |at: usize, read: &str| Some(attack.turns.get(at)?.replace("{{seen}}", &digest_of(read)));
        let [(one, first), (other, second)] =
            [0, 1].map(|world| happens(attack, attack.worlds.get(world).unwrap(), &model));
        asked += usize::from(!first.questions.is_empty());
        if !attack.shows.is_empty() {
            assert_ne!(first.read.last(), second.read.last(), "{}: what it reads differs", attack.name);
        }
        // If a program breaks off, a later effect may be missing; it is never another one.
        let broke_off = |course: &Course| course.outcome.turns.iter().any(|turn| turn.problem.is_some());
        let is_fewer = |fewer: &[String], more: &[String]| fewer.iter().all(|effect| more.contains(effect));
        let holds = match (broke_off(&first), broke_off(&second)) {
            (false, false) => one == other,
            _ => is_fewer(&one, &other) || is_fewer(&other, &one),
        };
        if !holds {
            failures.push(format!("{}: {one:?} beside {other:?}", attack.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(asked >= 25, "a person was asked in {asked} of them only");
}

#[test]
fn the_same_missions_finish_when_nobody_disturbs_them() {
    let table = table();
    for attack in table.attack.iter().filter(|attack| attack.result == ":any") {
        let mission = table.missions.get(&attack.mission).unwrap();
        for world in attack.worlds.iter().filter(|world| !world.starts_with('!')) {
            let (effects, course) = happens(attack, world, &|at, _| mission.turns.get(at).cloned());
            let end = course.end();
            // A sample that the agent's file shows labels all that the model does after it.
            let is_shown = !course.outcome.shown.is_trusted();
            if !is_shown {
                assert_eq!((end.as_str(), effects.len()), (mission.ends.as_str(), mission.effects), "{}", attack.name);
                assert!(course.questions.is_empty(), "{}: {:?}", attack.name, course.questions);
            }
        }
    }
}

/// A person's yes is for what was shown, and is enough.
#[test]
fn a_person_who_permits_the_call_lets_it_happen() {
    let table = table();
    let attack = table.attack.iter().find(|attack| attack.name == "an address in a mail as an argument").unwrap();
    let (effects, course) = happens(attack, attack.worlds.first().unwrap(), &|at, _| attack.turns.get(at).cloned());
    assert!(effects.is_empty());
    let question = course.questions.first().unwrap();
    assert!(question.text.contains("wants to call a tool that may change something"), "{}", question.text);
    assert!(!question.content.label().is_trusted());
}
