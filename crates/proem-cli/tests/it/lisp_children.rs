//! Agents that an agent's tools call: runs of their own, with shared turns and money, labels that go along, and kills.

use proem_llm::scripted::{Reply, ScriptedServer};
use serde_json::json;

use crate::fixture::Fixture;
use crate::records::{late_reply, spawn, sql};
use crate::run::{set_up, start};

/// An agent that adds, and one that calls it and may send.
const ADDER: &str = "version = 1\nname = \"adder\"\nmission = \"Add {{a}} and {{b}}\"\n\
                     signature = \"(a :int, b :int) -> :int\"\n";
const CALLER: &str = "version = 1
name = \"caller\"
TURNS
[tools.adder]
signature = \"(a :int, b :int) -> :int\"
description = \"Add two numbers\"
agent = { file = \"adder.agent.toml\" }
[tools.sender]
signature = \"(book [:string], to :string) -> :any\"
description = \"Send a greeting\"
agent = { file = \"sender.agent.toml\" }
[tools.search]
signature = \"() -> [:string]\"
description = \"Addresses that somebody wrote\"
effect = false
recorded = { file = \"found.json\" }
[tools.note]
signature = \"(text :string) -> :any\"
description = \"Write a note\"
command = { argv = [\"tee\", \"noted\"], environment = [\"PATH\"] }
";
/// An agent that sends to addresses of a book that counts as the user's.
const SENDER: &str = "version = 1
name = \"sender\"
mission = \"Send a greeting\"
signature = \"(book [:string], to :string) -> :any\"
trusted_inputs = [\"book\", \"to\"]
[tools.send]
signature = \"(to :string) -> :any\"
description = \"Send it\"
command = { argv = [\"tee\", \"sent\"], environment = [\"PATH\"] }
parameters.to = { one_of = \"ctx/book\" }
";

fn program(source: &str) -> Reply {
    Reply::text(format!("```clojure\n{source}\n```"))
}

pub(crate) fn fixture(replies: Vec<Reply>, turns: &str) -> (ScriptedServer, Fixture) {
    let server = start(replies);
    let mut fixture = Fixture::folder();
    set_up(&mut fixture, &server, "");
    let caller = CALLER.replace("TURNS", turns);
    for (name, text) in [
        ("caller.agent.toml", caller.as_str()),
        ("adder.agent.toml", ADDER),
        ("sender.agent.toml", SENDER),
        ("found.json", "[{ \"arguments\": {}, \"result\": [\"eve@evil.example\"] }]"),
    ] {
        std::fs::write(fixture.base.join(name), text).unwrap();
    }
    (server, fixture)
}

pub(crate) fn run(program: &str) -> Vec<&str> {
    vec!["lisp", "run", "-e", program, "--agent", "../caller.agent.toml"]
}

/// The same with the end as JSON, which names the reason.
fn run_json(program: &str) -> Vec<&str> {
    [run(program), vec!["--json"]].concat()
}

#[test]
fn an_agent_that_is_called_is_a_run_of_its_own_under_its_caller() {
    let (server, fixture) = fixture(vec![program("(return (+ ctx/a ctx/b))")], "");
    let ran = fixture.proem(&run("(inc (tool/adder {:a 1 :b 2}))"));
    assert_eq!(ran.answer(), "4\n", "{}", ran.stderr());
    let caller = fixture.proem(&["runs", "show", "last", "--json"]).json();
    let child = caller["tools"][0]["child"].as_str().unwrap_or_else(|| panic!("no child: {caller}")).to_owned();
    let shown = fixture.proem(&["runs", "show", &child]);
    assert_eq!(shown.code(), 0, "{}", shown.stderr());
    let told = fixture.proem(&["runs", "show", "last"]);
    assert!(
        told.answer().contains("adder  answered") && told.answer().contains(child.get(..8).unwrap()),
        "{}",
        told.answer()
    );
    let sums = "SELECT format('%d %d %s', input_tokens, nanos, coalesce(parent, 'none')) FROM runs ORDER BY seq";
    let sums = sql(&fixture, sums);
    assert_eq!(sums.len(), 2);
    assert_eq!(sums[0], sums[1], "what the child used is booked to both");
    let replayed = fixture.proem(&["runs", "replay", "last"]);
    assert!(replayed.answer().contains("all as recorded"), "{}", replayed.transcript());
    let replayed = fixture.proem(&["runs", "replay", &child]);
    assert!(replayed.answer().contains("all as recorded"), "{}", replayed.transcript());
    assert_eq!(server.requests().len(), 1, "a replay asks nothing");
}

#[test]
fn agents_share_their_turns_and_end_with_a_reason_when_none_is_left() {
    let add = || program("(return (+ ctx/a ctx/b))");
    let (server, fixture) = fixture(vec![add(), add(), add()], "turns = { turn_budget = 2 }");
    let ran = fixture.proem(&run_json("(pmap (fn [n] (tool/adder {:a n :b n})) [1 2 3])"));
    assert_eq!(ran.code(), 1);
    assert!(ran.transcript().contains("turn_budget_exhausted"), "{}", ran.stderr());
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn an_agent_below_its_own_depth_ends_with_max_depth_exceeded() {
    let (server, fixture) = fixture(Vec::new(), "");
    let shallow = format!("{ADDER}turns = {{ max_depth = 1 }}\n");
    std::fs::write(fixture.base.join("adder.agent.toml"), shallow).unwrap();
    let ran = fixture.proem(&run_json("(tool/adder {:a 1 :b 2})"));
    assert!(ran.transcript().contains("max_depth_exceeded"), "{}", ran.stderr());
    assert!(server.requests().is_empty());
}

#[test]
fn what_an_agent_answers_decides_on_no_effect_without_a_person() {
    let (_server, fixture) = fixture(vec![program("(return 3)"), program("(return 3)")], "");
    for source in [
        "(tool/note {:text (str (tool/adder {:a 1 :b 2}))})",
        "(when (= 3 (tool/adder {:a 1 :b 2})) (tool/note {:text \"yes\"}))",
    ] {
        let ran = fixture.proem(&run_json(source));
        assert!(ran.transcript().contains("flow_denied") && !fixture.repo.join("noted").exists(), "{}", ran.stderr());
    }
}

#[test]
fn a_list_that_a_caller_passes_vouches_for_nothing() {
    let send = || program("(return (tool/send {:to ctx/to}))");
    let (_server, fixture) = fixture(vec![send(), send()], "");
    // Both come from a tool's result: the file of the called agent trusts them, and its caller didn't get them from the user.
    let ran = fixture.proem(&run("(let [found (tool/search {})] (tool/sender {:book found :to (first found)}))"));
    assert_eq!(ran.code(), 1, "{}", ran.stdout());
    assert!(!fixture.repo.join("sent").exists(), "{}", ran.stderr());
    // Words of the user's own program are the user's.
    let ran = fixture.proem(&run("(tool/sender {:book [\"ada@corp.example\"] :to \"ada@corp.example\"})"));
    assert!(fixture.repo.join("sent").exists(), "{}", ran.stderr());
}

#[test]
fn a_kill_while_a_called_agent_works_goes_on_with_the_same_run() {
    let answers = vec![late_reply(program("(return 0)"), 600_000), program("(return (+ ctx/a ctx/b))")];
    let (server, fixture) = fixture(answers, "");
    let mut killed = spawn(&fixture, &run("(inc (tool/adder {:a 1 :b 2}))"));
    server.await_requests(1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let children = "SELECT run FROM callers";
    let before = sql(&fixture, children);
    // By the id of the called run, which goes on within its caller.
    let resumed = fixture.proem(&["runs", "resume", &before[0]]);
    assert_eq!(resumed.answer(), "4\n", "{}", resumed.stderr());
    assert!(resumed.stderr().contains("which goes on with it"), "{}", resumed.stderr());
    assert_eq!(sql(&fixture, children), before, "no second run was started");
    assert_eq!(sql(&fixture, "SELECT outcome FROM runs"), ["answered", "answered"]);
}

#[test]
fn the_most_that_a_run_may_cost_holds_for_the_agents_that_it_calls() {
    let add = || program("(return (+ ctx/a ctx/b))");
    let (server, fixture) = fixture(vec![add()], "");
    let mut args = run_json("(tool/adder {:a 1 :b 2})");
    args.extend(["--max-cost", "0.000001"]);
    let ran = fixture.proem(&args);
    assert!(ran.transcript().contains("llm_error") && server.requests().is_empty(), "{}", ran.stderr());
    args.pop();
    args.push("1");
    assert!(fixture.proem(&args).stdout().contains("\"value\":3"));
}

#[test]
fn without_a_key_a_program_that_calls_an_agent_ends_with_llm_required() {
    let (server, mut fixture) = fixture(Vec::new(), "");
    fixture.set("ANTHROPIC_API_KEY", "");
    let ran = fixture.proem(&run_json("(tool/adder {:a 1 :b 2})"));
    assert!(ran.transcript().contains("llm_required"), "{}", ran.stderr());
    assert!(server.requests().is_empty());
    assert_eq!(json!(sql(&fixture, "SELECT outcome FROM runs")), json!(["failed", "failed"]));
}
