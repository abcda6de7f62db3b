//! Labels where values come in and go out: tools, states, and hosts that forget them.

use crate::support::{machine, outcome_text};
use proem_lisp::{
    Inputs, Limits, Machine, Meter, Outcome, Reason, Signature, StateError, StateKey, ToolAnswer, ToolCall, Value,
    label_secret_fields, open_secret_fields, print_readable, print_source, write_json,
};
use proem_text::{Label, Source, Sources};

fn secret() -> Label {
    Label::trusted().made_secret()
}

fn from(source: &str) -> Label {
    Label::from_source(Source::parse(source).unwrap())
}

/// A machine with these inputs.
fn begin(source: &str, context: Vec<(&str, Value)>) -> Machine {
    let context = Value::map(context.into_iter().map(|(name, value)| (Value::keyword(name), value)));
    machine(source, Inputs { context, ..Inputs::default() }, Limits::default()).unwrap()
}

/// The one call that a program asks for.
fn call_of(source: &str, context: Vec<(&str, Value)>) -> ToolCall {
    let Outcome::CallTools(calls) = begin(source, context).run(u64::MAX) else { panic!("{source}") };
    calls.into_iter().next().unwrap()
}

fn signature(text: &str) -> Signature {
    Signature::parse(text, &Limits::default()).unwrap()
}

#[test]
fn a_secret_goes_only_to_a_parameter_that_is_declared_for_secrets() {
    let pin = || vec![("pin", Value::Int(4711).labelled(&secret()))];
    let (open, declared) = (signature("t(x :any?) -> :int"), signature("t(x :any?, _pin :int?) -> :int"));
    // In an argument, inside of one, as a key of one, and as the name of one.
    let refused = [
        "(tool/t {:x ctx/pin})",
        "(tool/t {:x [1 {:a ctx/pin}]})",
        "(tool/t {:x {ctx/pin 1}})",
        "(tool/t {(str \"x\" ctx/pin) 1})",
        "(tool/t {:-pin ctx/pin})",
        "(tool/t {:__pin ctx/pin})",
    ];
    for source in refused {
        let call = call_of(source, pin());
        for signature in [None, Some(&open), Some(&declared)] {
            let fault = call.open_arguments(signature).unwrap_err();
            assert_eq!(fault.reason(), Reason::FlowDenied, "{source}");
            assert!(!fault.message().contains("4711"), "{source}: {}", fault.message());
        }
    }
    let fault = call_of("(call (str \"t\" ctx/pin) {:x 1})", pin()).open_arguments(None).unwrap_err();
    assert!(!fault.message().contains("4711"), "{}", fault.message());
    let call = call_of("(tool/t {:x 1 :_pin ctx/pin})", pin());
    assert_eq!(print_readable(&call.args, &mut Meter::unlimited()).unwrap(), "{:x 1 :_pin [Hidden]}");
    assert!(call.open_arguments(Some(&open)).is_err() && call.open_arguments(None).is_err());
    let opened = call.open_arguments(Some(&declared)).unwrap();
    assert_eq!(print_readable(&opened, &mut Meter::unlimited()).unwrap(), "{:x 1 :_pin 4711}");
}

#[test]
fn a_branch_on_a_secret_calls_only_tools_that_declare_secrets() {
    let pin = || vec![("pin", Value::Int(4711).labelled(&secret()))];
    for source in [
        "(if (= ctx/pin 1) nil (tool/t {:x 1}))",
        "(do (if (= ctx/pin 1) (def a 1) nil) (tool/t {:x 1}))",
        "(doseq [x (range ctx/pin)] (tool/t {:x 1}))",
        "(call (if (= ctx/pin 1) \"s\" \"t\") {:x 1})",
        "((if (= ctx/pin 1) (fn [] 1) (fn [] (tool/t {:x 1}))))",
        "(map (fn [x] (tool/t {:x 1})) (filter (fn [x] (< x ctx/pin)) [1]))",
    ] {
        let call = call_of(source, pin());
        assert!(call.open_arguments(Some(&signature("t(x :int) -> :int"))).is_err(), "{source}");
        assert!(call.open_arguments(Some(&signature("t(x :int, _p :int?) -> :int"))).is_ok(), "{source}");
        assert!(call.sink_label("x").is_secret() && call.sink_label("other").is_secret(), "{source}");
    }
}

#[test]
fn a_host_that_forgets_labels_shows_and_keeps_nothing_secret() {
    let value = Value::map([(Value::keyword("a"), Value::text("t0k3n").labelled(&secret()))]);
    let meter = &mut Meter::unlimited();
    assert_eq!(print_readable(&value, meter).unwrap(), "{:a [Hidden]}");
    assert_eq!(write_json(&value, meter).unwrap(), "{\"a\":\"[Hidden]\"}");
    assert_eq!(format!("{value:?}"), "{:a [Hidden]}");
    assert!(print_source(&value, meter).is_err());
    assert_eq!(value.field("a").and_then(Value::as_str), None);
    assert_ne!(value.field("a"), Some(&Value::text("t0k3n")));
    // A label on a key is the map's.
    let map = Value::map([(Value::text("t0k3n").labelled(&secret()), Value::Int(1))]);
    assert!(map.own_label().is_secret() && map.entries().next().is_none());
}

#[test]
fn fields_whose_name_begins_with_an_underscore_are_secret_at_any_depth() {
    let field = |name: &str, value: Value| Value::map([(Value::text(name), value)]);
    let data =
        field("a", Value::vector(vec![field("_token", field("b", Value::Int(1))), field("-token", Value::Int(2))]));
    let labelled = label_secret_fields(data.clone());
    assert_eq!(
        print_readable(&labelled, &mut Meter::unlimited()).unwrap(),
        "{\"a\" [{\"_token\" [Hidden]} {\"-token\" 2}]}"
    );
    assert_eq!(open_secret_fields(labelled.clone()), data);
    assert_eq!(labelled.without_labels(), data);
    assert!(labelled.label().is_secret() && labelled.own_label().is_empty());
}

#[test]
fn thirty_three_sources_are_many_and_each_set_of_sources_costs_little() {
    let sources = |count: usize| -> Vec<Value> {
        (0..count).map(|at| Value::Int(1).labelled(&from(&format!("s{at}")))).collect()
    };
    let mut all = begin("(reduce + 0 ctx/xs)", vec![("xs", Value::vector(sources(33)))]);
    assert!(matches!(all.run(u64::MAX), Outcome::Done(_)));
    assert_eq!(all.end_label().sources(), &Sources::Many);
    // Each element has another set of sources: from a number of sets on, they are many.
    let source = "(mapv (fn [i] (reduce (fn [sum at] (if (bit-test i at) (+ sum (nth ctx/xs at)) sum)) 0 (range 12)))
                        (range 2000))";
    let mut sets = begin(source, vec![("xs", Value::vector(sources(12)))]);
    let Outcome::Done(value) = sets.run(u64::MAX) else { panic!("it ends with a value") };
    let many = value.elements().filter(|element| element.own_label().sources() == &Sources::Many).count();
    assert!((900..1_100).contains(&many), "{many}");
}

#[test]
fn an_answer_has_the_label_of_what_was_asked() {
    let mut machine = begin("(tool/t {:x ctx/mail})", vec![("mail", Value::Int(1).labelled(&from("mail")))]);
    let Outcome::CallTools(calls) = machine.run(u64::MAX) else { panic!("it calls") };
    let answer = Value::vector(vec![Value::Int(1).labelled(&from("web"))]);
    machine.answer(calls[0].id, ToolAnswer::Value(answer));
    let Outcome::Done(value) = machine.run(u64::MAX) else { panic!("it ends") };
    assert_eq!(value.own_label(), from("mail"));
    assert_eq!(value.label(), from("mail").join(&from("web")));
    // A program without labels minds those of an answer.
    let mut machine = begin("(if (= 1 (tool/t {})) (println 1) nil)", vec![]);
    let Outcome::CallTools(calls) = machine.run(u64::MAX) else { panic!("it calls") };
    machine.answer(calls[0].id, ToolAnswer::Value(Value::Int(2).labelled(&from("web"))));
    assert!(matches!(machine.run(u64::MAX), Outcome::Done(_)));
    assert_eq!(machine.floor(), from("web"));
}

#[test]
fn a_problem_of_a_tool_that_was_given_a_secret_is_hidden() {
    let mut machine = begin("(inc 1)\n(tool/t {:_x ctx/pin})", vec![("pin", Value::Int(4711).labelled(&secret()))]);
    let Outcome::CallTools(calls) = machine.run(u64::MAX) else { panic!("it calls") };
    machine.answer(calls[0].id, ToolAnswer::tool_error("t", "there is no account 4711"));
    let Outcome::Error(problem) = machine.run(u64::MAX) else { panic!("it fails") };
    assert!(problem.is_hidden && problem.reason == Reason::ToolError);
    assert!(!problem.render("program", machine.source()).contains("4711"));
    assert!(machine.end_label().is_secret());
}

/// A state with labels that is changed at one byte and sealed again is refused, or a machine that ends.
#[test]
fn a_forged_state_with_labels_is_refused_or_a_machine() {
    let key = StateKey::new([7; 32]);
    let source = "(doseq [x ctx/xs] (when (= x ctx/pin) (def m {:a x})) (tool/t {:x x}))";
    let xs = Value::vector(vec![Value::Int(1).labelled(&from("web")), Value::Int(2)]);
    let mut machine = begin(source, vec![("xs", xs), ("pin", Value::Int(1).labelled(&secret()))]);
    assert!(matches!(machine.run(u64::MAX), Outcome::CallTools(_)));
    let state = machine.to_state(&key, Machine::MOST_STATE_BYTES).unwrap();
    let body = &state[..state.len() - 32];
    let mut refused = 0;
    for at in 8..body.len() {
        for change in [1_u8, 2, 4, 0x80] {
            let mut forged = body.to_vec();
            forged[at] ^= change;
            match Machine::from_state(&key.seal(forged), &Limits::default(), &key) {
                Ok(mut machine) => drop(outcome_text(&machine.run(10_000))),
                Err(StateError::Seal) => panic!("it is sealed"),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > body.len(), "{refused} of {}", body.len() * 4);
}
