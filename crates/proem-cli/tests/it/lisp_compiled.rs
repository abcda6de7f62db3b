//! The two uses of a mission's end: its program kept and run without a model, and its result given to another agent.

use proem_llm::scripted::{Reply, ScriptedServer};
use serde_json::Value as Json;

use crate::fixture::Fixture;
use crate::run::{set_up, start};

const ORDERS: &str = "version = 1
name = \"orders\"
mission = \"Sum the orders of {{day}} up\"
signature = \"(day :string) -> {total :int, note :string}\"
trusted_inputs = [\"day\"]
SHOWS
[tools.orders]
signature = \"(day :string) -> [{total :int, note :string}]\"
description = \"List the orders of a day\"
effect = false
recorded = { file = \"orders.json\" }
";
const TELLER: &str = "version = 1
name = \"teller\"
mission = \"Tell the total\"
signature = \"(total :int, note :string) -> :string\"
trusted_inputs = [\"note\"]
[tools.tell]
signature = \"(text :string) -> :any\"
description = \"Tell the desk\"
command = { argv = [\"tee\", \"told\"], environment = [\"PATH\"] }
parameters.text = { accepts = [\"ctx/total\"] }
triggered_by = [\"ctx/total\"]
";
const RESULTS: &str = "[{\"arguments\": {\"day\": \"monday\"}, \"result\": [{\"total\": 40, \"note\": \"tell eve\"}, {\"total\": 2, \"note\": \"\"}]}]";
const SUM: &str =
    "(let [found (tool/orders {:day ctx/day})]\n  (return {:total (sum-by :total found) :note (:note (first found))}))";

fn program(source: &str) -> Reply {
    Reply::text(format!("```clojure\n{source}\n```"))
}

fn fixture(replies: Vec<Reply>, shows: &str) -> (ScriptedServer, Fixture) {
    let server = start(replies);
    let mut fixture = Fixture::folder();
    set_up(&mut fixture, &server, "");
    std::fs::write(fixture.base.join("orders.agent.toml"), ORDERS.replace("SHOWS", shows)).unwrap();
    std::fs::write(fixture.base.join("teller.agent.toml"), TELLER).unwrap();
    std::fs::write(fixture.base.join("orders.json"), RESULTS).unwrap();
    fixture.write("day.json", "{\"day\": \"monday\"}");
    (server, fixture)
}

const MISSION: [&str; 5] = ["lisp", "agent", "../orders.agent.toml", "--set", "day=monday"];
const VALUE: &str = "{:total 42 :note \"tell eve\"}\n";

#[test]
fn a_program_that_was_compiled_runs_again_without_a_model_and_only_with_the_same_tools() {
    let (server, fixture) = fixture(vec![program(SUM)], "");
    let made = fixture.proem(&[&MISSION[..], &["--compile", "sum.clj"]].concat());
    assert_eq!(made.answer(), VALUE, "{}", made.stderr());
    assert!(made.stderr().contains("compiled into sum.clj"), "{}", made.stderr());
    let rerun = || fixture.proem(&["lisp", "run", "sum.clj", "--input", "day.json"]);
    assert_eq!(rerun().answer(), VALUE, "{}", rerun().stderr());
    assert_eq!(server.requests().len(), 1, "no model is asked again");
    let again = fixture.proem(&[&MISSION[..], &["--compile", "sum.clj"]].concat());
    assert_ne!(again.code(), 0, "a file that is there is not replaced");

    let agent = fixture.base.join("orders.agent.toml");
    let text = std::fs::read_to_string(&agent).unwrap();
    for (from, to, expected) in [
        ("effect = false", "effect = true", "the tool `orders` has changed"),
        ("[tools.orders]", "[tools.others]", "the tool `orders` is gone; the tool `others` is new"),
        ("-> {total :int,", "-> {total :number,", "its signature was (day :string) -> {total :int, note :string}"),
        ("Sum the orders", "Sum all orders", "its file, or a file that its tools run, has changed"),
    ] {
        std::fs::write(&agent, text.replace(from, to)).unwrap();
        let refused = rerun();
        assert!(refused.code() == 2 && refused.stderr().contains(expected), "{expected}: {}", refused.stderr());
    }
    std::fs::write(&agent, &text).unwrap();
    std::fs::write(fixture.base.join("orders.json"), RESULTS.replace("40", "41")).unwrap();
    assert!(rerun().stderr().contains("the tool `orders` has changed"), "{}", rerun().stderr());
}

#[test]
fn a_program_of_a_model_that_saw_data_is_not_compiled_without_a_person() {
    let look = program("(println (:note (first (tool/orders {:day ctx/day}))))");
    let copied = program("(return {:total 42 :note \"tell eve\"})");
    let (_server, fixture) = fixture(vec![look, copied], "shows = [\"tool/orders\"]");
    let made = fixture.proem(&[&MISSION[..], &["--compile", "sum.clj"]].concat());
    assert_eq!(made.code(), 1, "{}", made.stderr());
    assert!(
        made.stderr().contains("may have copied some of it") && made.stderr().contains("\"tell eve\""),
        "{}",
        made.stderr()
    );
    assert!(!fixture.repo.join("sum.clj").exists());
}

#[test]
fn a_program_that_needs_an_earlier_turn_is_not_compiled() {
    let keep = program("(def found (tool/orders {:day ctx/day}))");
    let end = program("(return {:total (sum-by :total memory/found) :note \"\"})");
    let (_server, fixture) = fixture(vec![keep, end], "");
    let made = fixture.proem(&[&MISSION[..], &["--compile", "sum.clj"]].concat());
    assert!(made.stderr().contains("uses what earlier turns kept"), "{}", made.stderr());
}

#[test]
fn a_result_is_the_input_of_the_next_agent_under_its_labels() {
    let (server, fixture) = fixture(vec![program(SUM), program("(return (str ctx/total \"!\"))")], "");
    let ran = fixture.proem(&[&MISSION[..], &["--then", "../teller.agent.toml", "--json"]].concat());
    let step: Json = serde_json::from_str(ran.stdout()).unwrap_or_else(|_| panic!("{}", ran.transcript()));
    assert_eq!(step["return"], "42!", "{step}");
    let first = fixture.proem(&["runs", "show", "last~1", "--json"]).json();
    assert_eq!(step["parent_trace_id"].as_str(), first["run"]["id"].as_str(), "{step}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_an_agent_passes_on_is_not_the_users_whatever_the_next_file_says() {
    // The note is a tool's text, and the next agent's file counts its own `note` as the user's.
    let tell = || program("(return (str (tool/tell {:text ctx/note})))");
    let (_server, fixture) = fixture(vec![program(SUM), tell(), tell()], "");
    let ran = fixture.proem(&[&MISSION[..], &["--then", "../teller.agent.toml"]].concat());
    assert!(!fixture.repo.join("told").exists(), "{}", ran.transcript());
    // Words that the user gives the same agent are the user's.
    let own = ["lisp", "agent", "../teller.agent.toml", "--set", "total=1", "--set", "note=tell ada"];
    let ran = fixture.proem(&own);
    assert!(fixture.repo.join("told").exists(), "{}", ran.transcript());
}

#[test]
fn after_a_failure_the_next_agent_asks_nothing() {
    let (server, fixture) = fixture(vec![program("(fail {:reason :closed :message \"no orders\"})")], "");
    let ran = fixture.proem(&[&MISSION[..], &["--then", "../teller.agent.toml"]].concat());
    assert_eq!(ran.code(), 3, "{}", ran.transcript());
    assert!(ran.stderr().contains("chained_failure") && ran.stderr().contains("closed: no orders"), "{}", ran.stderr());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn agents_that_do_not_fit_are_refused_before_anything_is_asked() {
    let (server, fixture) = fixture(Vec::new(), "");
    let other = TELLER.replace("(total :int,", "(total :string, day :string,");
    std::fs::write(fixture.base.join("teller.agent.toml"), other).unwrap();
    let ran = fixture.proem(&[&MISSION[..], &["--then", "../teller.agent.toml"]].concat());
    assert_eq!(ran.code(), 2, "{}", ran.transcript());
    for part in ["`total` is :int there and :string here", "it has no `day`"] {
        assert!(ran.stderr().contains(part), "{}", ran.stderr());
    }
    assert!(server.requests().is_empty());
}
