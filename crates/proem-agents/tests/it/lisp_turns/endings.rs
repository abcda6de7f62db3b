//! Each reason of the specification, the words that a model reads, and inputs that are wrong.

use std::collections::BTreeMap;

use proem_agents::lisp::turns::SharedTurns;
use proem_agents::lisp::turns::record::{MissionEnd, TurnKind};
use proem_engine::call::FailureKind;
use proem_engine::run::{CancelReason, ToolOutcome};
use proem_lisp::{Limits, Value};

use super::desk::{Desk, Reply, answered, program};

const AGENT: &str = r#"
version = 1
name = "orders"
mission = "Sum up."
signature = "(n :int) -> {total :int}"
trusted_inputs = ["n"]
turns = { max_turns = 3, retry_turns = 1 }

[tools.search]
signature = "(q :string) -> [:int]"
description = "search"
effect = false
trusted = true
recorded = { file = "search.json" }

[tools.send]
signature = "(to :string) -> :bool"
description = "send"
command = { argv = ["send"] }
"#;

const ONE_TURN: &str = r#"
version = 1
name = "one"
signature = "(n :int) -> {total :int}"
trusted_inputs = ["n"]
turns = { max_turns = 1, retry_turns = 0 }

[tools.search]
signature = "(q :string) -> [:int]"
description = "search"
effect = false
recorded = { file = "search.json" }

[tools.send]
signature = "(to :string, body :any?) -> :bool"
description = "send"
command = { argv = ["send"] }
"#;

const SINGLE: &str = r#"
version = 1
name = "single"
signature = "(n :int) -> :int"
trusted_inputs = ["n"]
turns = { max_turns = 1 }
"#;

fn orders() -> Desk<'static> {
    let tools = BTreeMap::from([("search", answered("[1, 2, 3]"))]);
    Desk { agent: AGENT, input: r#"{"n": 4}"#, tools, ..Desk::default() }
}

fn one_turn() -> Desk<'static> {
    Desk { agent: ONE_TURN, ..orders() }
}

#[test]
fn a_mission_ends_with_what_a_program_returns() {
    let course = orders().programs(&[
        "(def found (call \"search\" {:q \"a\"}))\n(println \"found\" (count found))",
        "(return {:total (+ ctx/n (reduce + memory/found))})",
    ]);
    assert_eq!(course.end(), "{:total 10}");
    let told = course.read.get(1).unwrap();
    for words in ["The program ran.", "Printed:\nfound 3", "Stored: memory/found", "Turns left: 2. In the last one"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let usage = course.outcome.usage;
    assert_eq!((usage.turns, usage.tool_calls), (2, 1));
    assert!(usage.fuel.is_some_and(|fuel| fuel > 0) && usage.duration_ms > 0, "{usage:?}");
    let [first, second] = course.outcome.turns.as_slice() else { panic!("{:?}", course.outcome.turns) };
    assert_eq!((first.calls.len(), first.printed.as_str()), (1, "found 3\n"));
    let call = first.calls.first().unwrap();
    assert_eq!((call.arguments.as_str(), call.result.as_str()), (r#"{"q":"a"}"#, "[1, 2, 3]"));
    assert_eq!(second.result.as_deref(), Some("{:total 10}"));
    assert_eq!(course.outcome.memory_delta.field("found").map(|value| value.unlabelled().elements().count()), Some(3));
}

#[test]
fn a_program_may_fail_with_any_reason() {
    let course =
        orders().programs(&[r#"(fail {:reason :not_found :message "no orders" :op "search" :details {:n ctx/n}})"#]);
    let MissionEnd::Fail(failure) = &course.outcome.end else { panic!("{:?}", course.outcome.end) };
    assert_eq!((failure.reason.as_str(), failure.message.as_str()), ("not_found", "no orders"));
    assert_eq!((failure.op.as_deref(), failure.details.as_deref()), (Some("search"), Some("{:n 4}")));
    assert_eq!(orders().programs(&["(fail \"no\")"]).end(), "fail failed: no");
}

#[test]
fn the_value_of_a_single_shot_is_the_answer() {
    let desk = Desk { agent: SINGLE, input: r#"{"n": 4}"#, ..Desk::default() };
    assert_eq!(desk.programs(&["(* 2 ctx/n)"]).end(), "8");
    // A curly quote, and no block at all.
    let course = desk.replies(&[Reply::Text("(count “four”)".to_owned())]);
    assert_eq!(course.end(), "4");
    let course = desk.programs(&["(str ctx/n)", "ctx/n"]);
    assert_eq!(course.end(), "4", "a retry turn corrects the result");
    assert!(course.read.get(1).unwrap().contains("expected int, got string"), "{:?}", course.read);
}

/// Each reason that a program can end a turn with: in a mission of one turn it is the mission's own.
#[test]
fn each_reason_of_a_program_is_reached() {
    let limited =
        Limits { fuel: 20_000, bytes: 100_000, output_bytes: 1_000, memory_bytes: 2_000, ..Limits::default() };
    for (source, reason) in [
        ("(+ 1 2", "parse_error"),
        ("(let [a] a)", "analysis_error"),
        ("(nth [1] 5)", "eval_error"),
        ("(+ 1 \"a\")", "type_error"),
        ("(count)", "arity_error"),
        ("missing", "unbound_var"),
        ("(call \"no-such\" {})", "unknown_tool"),
        ("(call \"search\" {:q 1})", "validation_error"),
        ("(call \"search\" {:q \"bad\"})", "tool_error"),
        ("(loop [] (recur))", "fuel_exhausted"),
        ("(vec (repeat 10000 1))", "memory_exceeded"),
        ("(dotimes [_ 1000] (println \"abc\"))", "output_limit"),
        ("(call \"send\" {:to (first (call \"list\" {}))})", "unknown_tool"),
        ("(return {:total \"a\"})", "validation_error"),
    ] {
        let tools = BTreeMap::from([("search", ToolOutcome::failure("it broke"))]);
        let desk = Desk { tools, limits: limited, ..one_turn() };
        let end = desk.programs(&[source]).end();
        assert!(end.starts_with(&format!("no answer {reason}: ")), "{source}: {end}");
    }
    let many = "(dotimes [_ 200] (call \"search\" {:q \"a\"}))";
    assert!(one_turn().programs(&[many]).end().contains("tool_call_limit"));
    let send = "(call \"send\" {:to \"a\" :body (call \"search\" {:q \"a\"})})";
    let course = one_turn().programs(&[send]);
    assert!(course.end().starts_with("no answer flow_denied: "), "{}", course.end());
    assert_eq!(course.questions.len(), 1);
    let tools = BTreeMap::from([("send", ToolOutcome::doubt("it timed out"))]);
    let course = Desk { tools, ..one_turn() }.programs(&["(call \"send\" {:to \"a\"})"]);
    assert!(course.end().contains("tool_outcome_unknown"), "{}", course.end());
}

#[test]
fn an_answer_without_one_program_gets_a_corrective_message() {
    let (prose, two) = ("I would search.", "```clojure\n(a)\n```\n```clojure\n(b)\n```");
    for (answer, reason) in [(prose, "no_code_found"), (two, "multiple_code_blocks"), (" ", "no_code_found")] {
        let end = one_turn().replies(&[Reply::Text(answer.to_owned())]).end();
        assert!(end.starts_with(&format!("no answer {reason}: ")), "{answer}: {end}");
        let course = orders().replies(&[Reply::Text(answer.to_owned()), program("(return {:total 1})")]);
        assert_eq!((course.end().as_str(), course.problems()), ("{:total 1}", vec![reason]));
        assert!(course.read.get(1).unwrap().contains("exactly one ```clojure block"), "{:?}", course.read.get(1));
    }
}

#[test]
fn turns_run_out_with_the_last_value_that_fits_or_without_one() {
    let course = orders().programs(&["{:total 1}", "{:total \"two\"}", "{:total 3}"]);
    assert_eq!(course.end(), "fallback {:total 3}");
    let course = orders().programs(&["{:total 3}", "(nth [] 1)", "(nth [] 1)"]);
    assert_eq!(course.end(), "fallback {:total 3}", "a failed program takes nothing away");
    let course = orders().programs(&["1", "2", "3"]);
    assert_eq!(course.end(), "no answer max_turns_exceeded: no program called `return` within 3 turns");
    let last = course.read.get(2).unwrap();
    assert!(last.contains("This is the last turn: call `return` or `fail`, and no tool."), "{last}");
}

#[test]
fn the_last_turn_calls_no_tool() {
    let course = orders().programs(&["1", "2", "(return {:total (count (call \"search\" {:q \"a\"}))})"]);
    assert_eq!((course.calls.len(), course.problems()), (0, vec!["tool_call_limit"]));
    assert!(course.end().starts_with("no answer max_turns_exceeded: "), "{}", course.end());
}

#[test]
fn a_result_of_the_wrong_shape_costs_a_retry_turn_with_the_list_of_problems() {
    let course = orders().programs(&["1", "2", "(return {:total \"x\", :more 1})", "(return {:total 7})"]);
    assert_eq!((course.end().as_str(), course.outcome.usage.turns), ("{:total 7}", 4));
    let told = course.read.get(3).unwrap();
    assert!(told.contains("total: expected int, got string \"x\""), "{told}");
    assert!(told.contains("One turn is left, to correct the result"), "{told}");
    // The same every time.
    let wrong = "(return {:total \"x\"})";
    let course = orders().programs(&[wrong; 4]);
    assert_eq!(course.problems(), ["validation_error"; 4]);
    assert!(course.end().starts_with("no answer max_turns_exceeded: "), "{}", course.end());
    assert!(course.read.get(2).unwrap().contains("the same program as in the turn before") || course.read.len() == 4);
}

#[test]
fn a_failed_program_keeps_nothing_and_its_error_is_told() {
    let course = orders().programs(&[
        "(def a 1)",
        "(def b 2)\n(nth [1] 5)",
        "(return {:total (if (and (nil? (memory/get :b)) (= :eval_error (:reason ctx/fail))) memory/a 0)})",
    ]);
    assert_eq!(course.end(), "{:total 1}");
    let told = course.read.get(2).unwrap();
    for words in ["# Previous Turn Error", "- **Error**: eval_error", "in line 2: ", "`ctx/fail` contains the full"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn what_could_not_be_sent_costs_no_turn() {
    let kinds = [FailureKind::RateLimited, FailureKind::TimedOut, FailureKind::Server];
    let mut replies: Vec<Reply> = kinds.map(Reply::Fails).to_vec();
    replies.push(program("(return {:total 1})"));
    let course = orders().replies(&replies);
    assert_eq!((course.end().as_str(), course.waits, course.outcome.usage.turns), ("{:total 1}", 3, 1));
    let course = orders().replies(&vec![Reply::Fails(FailureKind::Server); 4]);
    assert_eq!((course.end().as_str(), course.waits), ("no answer llm_error: the call failed", 3));
    let end = |kind| orders().replies(&[Reply::Fails(kind)]).end();
    assert_eq!(end(FailureKind::NoKey), "no answer llm_required: the call failed");
    assert_eq!(end(FailureKind::KeyRefused), "no answer llm_error: the call failed");
}

#[test]
fn an_answer_that_is_cut_off_and_a_refusal_are_turns_of_their_own_kind() {
    let course = orders().replies(&[Reply::CutOff, Reply::Refusal, program("(return {:total 1})")]);
    assert_eq!(course.end(), "{:total 1}");
    let kinds: Vec<TurnKind> = course.outcome.turns.iter().map(|turn| turn.kind).collect();
    assert_eq!(kinds, [TurnKind::CutOff, TurnKind::Refused, TurnKind::Ran]);
    let end = one_turn().replies(&[Reply::Refusal]).end();
    assert!(end.starts_with("no answer llm_error: you refused"), "{end}");
}

#[test]
fn budgets_and_time_end_a_mission() {
    let course = orders().replies(&[Reply::GivenUp(CancelReason::Deadline)]);
    assert_eq!(course.end(), "no answer mission_timeout: the mission took longer than its 60 s");
    assert_eq!(orders().replies(&[Reply::GivenUp(CancelReason::Asked)]).end(), "no answer cancelled: it was cancelled");
    let desk = Desk { shared: SharedTurns { turns: 1, depth: 1 }, ..orders() };
    assert!(desk.programs(&["1"]).end().starts_with("no answer turn_budget_exhausted: "));
    let desk = Desk { shared: SharedTurns { turns: 20, depth: 4 }, ..orders() };
    assert!(desk.programs(&[]).end().starts_with("no answer max_depth_exceeded: "));
}

#[test]
fn the_same_failing_program_five_times_ends_with_the_turns() {
    let agent = AGENT.replace("max_turns = 3", "max_turns = 5");
    let course = Desk { agent: &agent, ..orders() }.programs(&["(nth [] 1)"; 5]);
    assert_eq!(course.problems(), ["eval_error"; 5]);
    assert!(course.read.get(2).unwrap().contains("the same program as in the turn before"));
    assert!(course.end().starts_with("no answer max_turns_exceeded: no result within 5 turns"), "{}", course.end());
}

#[test]
fn a_person_is_asked_at_most_five_times_in_a_mission() {
    let agent = AGENT.replace("max_turns = 3", "max_turns = 9").replace("trusted = true\n", "");
    let send = "(call \"send\" {:to (str (call \"search\" {:q \"a\"}))})";
    let tools = BTreeMap::from([("search", answered("[1]")), ("send", answered("true"))]);
    let desk = Desk { agent: &agent, tools, choices: vec![Some(0); 9], ..orders() };
    let course = desk.programs(&[send; 6]);
    assert_eq!(course.questions.len(), 5);
    assert!(course.end().starts_with("no answer flow_denied: the program has asked 5 times"), "{}", course.end());
    assert_eq!(course.calls.iter().filter(|call| call.tool == "send").count(), 5);
}

#[test]
fn a_person_who_stops_a_program_stops_the_mission() {
    let tools = BTreeMap::from([("send", ToolOutcome::doubt("it timed out"))]);
    let course = Desk { tools, choices: vec![Some(2)], ..orders() }.programs(&["(call \"send\" {:to \"a\"})"]);
    assert!(course.end().starts_with("no answer tool_outcome_unknown: you stopped the program"), "{}", course.end());
}

#[test]
fn an_answer_of_ten_megabytes_is_one_turn() {
    let long = "so much to say ".repeat(700_000);
    let course = orders().replies(&[Reply::Text(long), program("(return {:total 1})")]);
    assert_eq!((course.end().as_str(), course.problems()), ("{:total 1}", vec!["no_code_found"]));
    assert!(course.read.get(1).unwrap().len() < 100_000, "{}", course.read.get(1).unwrap().len());
    let long = format!("(do {})", "1 ".repeat(5_000_000));
    let course = orders().replies(&[program(&long), program("(return {:total 1})")]);
    assert_eq!((course.end().as_str(), course.problems()), ("{:total 1}", vec!["parse_error"]));
}

#[test]
fn a_context_of_ten_megabytes_costs_no_turn_and_no_prompt() {
    let input = format!(r#"{{"n": 4, "text": "{}"}}"#, "x".repeat(10 << 20));
    let course = Desk { input: &input, ..orders() }.programs(&["(def a ctx/n)", "(return {:total memory/a})"]);
    assert_eq!(course.end(), "{:total 4}");
    assert!(course.read.iter().all(|read| read.len() < 10_000));
}

#[test]
fn memory_of_an_earlier_run_is_there_and_counts_as_untrusted() {
    let memory = Value::map([(Value::keyword("to"), Value::text("ada@example.org"))]);
    let course = Desk { memory, ..one_turn() }.programs(&["(call \"send\" {:to memory/to})"]);
    assert_eq!(course.questions.len(), 1);
    assert!(course.calls.is_empty());
}
