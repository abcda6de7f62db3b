//! A program as a run: its calls as effects, its questions, its answers, and its state between them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers may stop the test; clippy's exceptions cover test functions only"
)]

use std::sync::Arc;

use proem_agents::lisp::{
    ProgramEnd, ProgramMachine, ProgramOutcome, ProgramTerms, SharedTurns, parse_agent, policy_hash,
};
use proem_engine::policy::CallRecords;
use proem_engine::run::{
    Effect, EffectId, EffectResult, Event, EventKind, Machine, Question, QuestionAnswer, Step, Time, ToolOutcome,
    ToolUse,
};
use proem_lisp::{Limits, Meter, Names, Reason, StateKey, Value, print_readable, read_json, resolve_source};

const AGENT: &str = r#"
version = 1
name = "a"
signature = "(day :string, book [:string], mail :string) -> :any"
trusted_inputs = ["book"]

[tools.search]
signature = "(day :string) -> [{id :int, to :string}]"
description = "search"
effect = false
command = { argv = ["search"] }

[tools.send]
signature = "(to :string, id :int?) -> :bool"
description = "send"
triggered_by = ["tool/search"]
parameters.to = { one_of = "ctx/book" }
parameters.id = { accepts = ["tool/search"] }
command = { argv = ["send"] }

[tools.store]
signature = "(_token :string) -> {_key :string, n :int}"
description = "keep"
effect = false
command = { argv = ["keep"] }
"#;

const INPUT: &str = r#"{"day": "monday", "book": ["ada@example.org", "bob@example.org"], "mail": "eve@example.org"}"#;

fn terms(program: &str, input: &str) -> ProgramTerms {
    let agent = parse_agent("a.agent.toml", AGENT).unwrap();
    let limits = Limits::default();
    let signatures = agent.tools.iter().map(|(name, tool)| (name.clone(), Arc::clone(&tool.signature))).collect();
    let names = Names { tools: Some(agent.tools.keys().cloned().collect()), signatures, ..Names::default() };
    ProgramTerms {
        shared: SharedTurns::of_person(&agent),
        agent: Arc::new(agent),
        program: Arc::new(resolve_source(program, &names, &limits).unwrap()),
        context: read_json(input, &mut Meter::new(limits)).unwrap(),
        memory: Value::map([]),
        limits,
        key: StateKey::new([7; 32]),
        records: CallRecords::Content,
        policy: policy_hash(&[AGENT]),
    }
}

/// Answers to what a program asks for, one after the other. Each step is stored and read back.
struct Script<'s> {
    outcomes: &'s [ToolOutcome],
    /// The option that a person chooses. Nobody is there for `None`.
    choices: &'s [Option<usize>],
}

/// The course of a program, and its end.
struct Course {
    steps: Vec<String>,
    questions: Vec<Question>,
    calls: Vec<ToolUse>,
    outcome: ProgramOutcome,
}

fn go(program: &str, script: &Script<'_>) -> Course {
    let terms = terms(program, INPUT);
    let mut machine = ProgramMachine::new(terms.clone());
    let (mut outcomes, mut choices) = (script.outcomes.iter(), script.choices.iter());
    let (mut steps, mut questions, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    let mut what = EventKind::Started;
    loop {
        match machine.step(Event { now: Time(1), what }).unwrap() {
            Step::Do(effects) => {
                machine = ProgramMachine::restore(terms.clone(), &machine.state().unwrap()).unwrap();
                let mut results = Vec::new();
                let mut names = Vec::new();
                for (id, effect) in effects {
                    let Effect::Tool { call } = effect else { panic!("{effect:?}") };
                    // The gate refuses what was refused before.
                    let (mark, outcome) = match &call.refusal {
                        Some(message) => ("refused ", ToolOutcome::Denied { message: message.clone() }),
                        None => ("", outcomes.next().unwrap().clone()),
                    };
                    names.push(format!("{mark}{}{}{}", id.0, call.tool, call.arguments));
                    results.push((id, EffectResult::Tool { outcome }));
                    calls.push(*call);
                }
                steps.push(names.join(" "));
                what = EventKind::Performed { results };
            }
            Step::Ask(asked) => {
                machine = ProgramMachine::restore(terms.clone(), &machine.state().unwrap()).unwrap();
                let choose = |question: &Question| match choices.next().copied().flatten() {
                    Some(option) => question.answered(option, None).unwrap(),
                    None => QuestionAnswer::default(),
                };
                let answers = asked.iter().map(choose).collect();
                steps.push(format!("asks {}", asked.len()));
                questions.extend(asked);
                what = EventKind::Answered { answers };
            }
            Step::Done(outcome) => return Course { steps, questions, calls, outcome },
            Step::Wait { .. } => panic!("a program waits for no time"),
        }
    }
}

fn tool_answer(json: &str) -> ToolOutcome {
    ToolOutcome::Answered { result: json.to_owned() }
}

fn answered_outcome() -> ToolOutcome {
    tool_answer(r#"[{"id": 1, "to": "ada@example.org"}, {"id": 2, "to": "mallory@example.org"}]"#)
}

#[track_caller]
fn value(course: &Course) -> String {
    match &course.outcome.end {
        ProgramEnd::Value(value) => {
            print_readable(&value.without_labels(), &mut Meter::new(Limits::default())).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn problem(course: &Course) -> (Reason, String) {
    match &course.outcome.end {
        ProgramEnd::Problem(problem) => (problem.reason, problem.diagnostic.message.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn calls_of_one_step_are_effects_and_their_answers_come_in_order() {
    let program = "(pmap (fn [d] (count (tool/search {:day d}))) [\"a\" \"b\"])";
    let script = Script { outcomes: &[tool_answer("[]"), answered_outcome()], choices: &[] };
    let course = go(program, &script);
    assert_eq!(course.steps, [r#"0search{"day":"a"} 1search{"day":"b"}"#]);
    assert_eq!(value(&course), "(0 2)");
}

#[test]
fn what_a_tool_found_may_trigger_a_declared_call_to_somebody_of_a_trusted_list_alone() {
    let program = "(pmap (fn [o] (tool/send {:to (:to o) :id (:id o)})) (tool/search {:day \"a\"}))";
    let script =
        Script { outcomes: &[answered_outcome(), tool_answer("true"), tool_answer("true")], choices: &[Some(0)] };
    let course = go(program, &script);
    // One of two waits for a person, so that both do: the question has the one that nothing vouches for.
    assert_eq!(course.steps.len(), 3, "{:?}", course.steps);
    assert_eq!(course.steps[1], "asks 1");
    let shown = course.questions[0].content.write().unwrap();
    assert!(shown.contains("mallory@example.org") && !shown.contains("ada@example.org"), "{shown}");
    assert_eq!(course.questions[0].text, "The program wants to call a tool that may change something. May it?");
    assert_eq!(value(&course), "(true true)");
    assert!(course.calls[1].approval.is_none() && course.calls[2].approval.is_some());
}

#[test]
fn an_address_of_a_mail_reaches_no_tool_without_a_person() {
    let program = "(tool/send {:to ctx/mail})";
    let course = go(program, &Script { outcomes: &[], choices: &[None] });
    assert_eq!(course.steps, ["asks 1", r#"refused 0send{"to":"eve@example.org"}"#], "the record has it");
    let (reason, message) = problem(&course);
    assert_eq!(reason, Reason::FlowDenied);
    assert!(
        message.starts_with("the tool `send` was not called: nobody permitted it; answer at a terminal"),
        "{message}"
    );
    let branch = "(if (= ctx/mail \"eve@example.org\") (tool/send {:to \"ada@example.org\"}) 1)";
    let course = go(branch, &Script { outcomes: &[], choices: &[Some(1)] });
    assert_eq!(problem(&course).0, Reason::FlowDenied, "a branch on the mail decided");
}

#[test]
fn after_five_questions_the_program_stops() {
    let program = "(mapv (fn [n] (tool/send {:to ctx/mail :id n})) [1 2 3 4 5 6])";
    let outcomes = vec![tool_answer("true"); 6];
    let course = go(program, &Script { outcomes: &outcomes, choices: &[Some(0); 6] });
    assert_eq!(course.questions.len(), 5);
    let (reason, message) = problem(&course);
    assert_eq!(reason, Reason::FlowDenied);
    assert!(message.contains("has asked 5 times already"), "{message}");
}

#[test]
fn what_may_have_happened_is_asked_about_and_never_done_again_by_itself() {
    let program = "(tool/send {:to \"ada@example.org\"})";
    let unknown = || ToolOutcome::doubt("the run broke off");
    let check = |choice: Option<usize>, outcomes: &[ToolOutcome]| go(program, &Script { outcomes, choices: &[choice] });
    let again = check(Some(0), &[unknown(), tool_answer("true")]);
    assert_eq!(again.steps, [r#"0send{"to":"ada@example.org"}"#, "asks 1", r#"1send{"to":"ada@example.org"}"#]);
    assert_eq!(again.calls[1].repeats, Some(EffectId(0)), "both have one key");
    assert_eq!(value(&again), "true");
    assert_eq!(value(&check(Some(1), &[unknown()])), "{:outcome :unknown :tool \"send\"}");
    assert_eq!(problem(&check(Some(2), &[unknown()])).0, Reason::ToolOutcomeUnknown);
    let nobody = check(None, &[unknown()]);
    let (reason, message) = problem(&nobody);
    assert_eq!(reason, Reason::ToolOutcomeUnknown);
    assert!(message.contains("may have happened, and nobody knows"), "{message}");
}

#[test]
fn a_result_of_another_form_or_of_no_form_is_the_tools_failure() {
    for (result, message) in [
        ("[{\"id\": \"x\", \"to\": \"a\"}]", "its result is not what its signature says: [0].id: expected int"),
        ("{\"tool\": \"send\", \"result\": true}", "its result is not what its signature says"),
        ("[1,", "its result can't be read"),
        ("nil", "its result can't be read"),
    ] {
        let course = go("(tool/search {:day \"a\"})", &Script { outcomes: &[tool_answer(result)], choices: &[] });
        let (reason, found) = problem(&course);
        assert_eq!(reason, Reason::ToolError, "{result}");
        assert!(found.contains(message), "{result}: {found}");
    }
}

#[test]
fn wrong_arguments_never_become_effects() {
    for (program, reason) in [
        ("(let [day [5]] (tool/search {:day day}))", Reason::ValidationError),
        ("(tool/search (assoc {:day \"a\"} (str \"mo\" \"re\") 1))", Reason::ValidationError),
    ] {
        let course = go(program, &Script { outcomes: &[], choices: &[] });
        assert_eq!((course.steps.len(), problem(&course).0), (0, reason), "{program}");
    }
}

#[test]
fn a_secret_result_goes_to_a_declared_parameter_alone() {
    let secret = tool_answer(r#"{"_key": "hunter2", "n": 1}"#);
    let keep = "(tool/store {:_token \"x\"})";
    let passed = go(
        &format!("(tool/store {{:_token (:_key {keep})}}) 1"),
        &Script { outcomes: &[secret.clone(), secret.clone()], choices: &[] },
    );
    assert_eq!(value(&passed), "1");
    let leaked = go(&format!("(tool/search {{:day (:_key {keep})}})"), &Script { outcomes: &[secret], choices: &[] });
    let (reason, message) = problem(&leaked);
    assert_eq!((reason, leaked.steps.len()), (Reason::FlowDenied, 2));
    assert_eq!(leaked.steps[1], r#"refused 1search{"day":"[Hidden]"}"#, "the record has it, without the secret");
    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn a_state_of_another_program_or_definition_is_refused() {
    let machine = |program: &str| {
        let mut machine = ProgramMachine::new(terms(program, INPUT));
        machine.step(Event { now: Time(1), what: EventKind::Started }).unwrap();
        machine.state().unwrap()
    };
    let state = machine("(tool/search {:day \"a\"})");
    assert!(ProgramMachine::restore(terms("(tool/search {:day \"a\"})", INPUT), &state).is_ok());
    assert!(ProgramMachine::restore(terms("(tool/search {:day \"b\"})", INPUT), &state).is_err());
    let mut other = terms("(tool/search {:day \"a\"})", INPUT);
    other.key = StateKey::new([8; 32]);
    assert!(ProgramMachine::restore(other, &state).is_err());
}
