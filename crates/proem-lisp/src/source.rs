//! Values as sources that give them, and a memory from its source.
//!
//! A function is written as its own text, with what it captured around it in a `let`. So a memory is
//! a file that people can read, and functions in it survive the process. A name that the memory's functions hide
//! from those that were made before is in the `let` as well.

mod labels;

use self::labels::{LabelTable, MARK_END, label_inputs, unmarked_form};
use crate::{
    builtins,
    code::Closure,
    error::{Fault, Problem, Reason},
    form::{FormId, FormKind, Forms},
    limits::{Limits, Meter, cost},
    machine::{Machine, Outcome},
    print::{Style, print_into},
    reader::read_source,
    resolve::{Names, is_builtin, resolve_source},
    value::{Children, Text, Value, has_children},
};
use alloc::{collections::BTreeSet, format, string::String, sync::Arc, vec, vec::Vec};
use proem_text::Span;

/// A source that gives the value when it is run.
///
/// # Errors
///
/// The value has no end, is too large for the meter's limits, holds a secret, or a function whose text isn't all of it.
pub fn print_source(value: &Value, meter: &mut Meter) -> Result<String, Fault> {
    let mut out = String::new();
    let hidden: BTreeSet<String> =
        Names::of_memory(value).functions.into_iter().filter(|name| is_builtin(name)).collect();
    let mut open = vec![Piece::Value(value.clone())];
    let mut labels = LabelTable::default();
    while let Some(piece) = open.pop() {
        match piece {
            Piece::Text(text) => {
                meter.allocate(text.len())?;
                out.push_str(text);
            }
            Piece::Written(text) => out.push_str(&text),
            Piece::Value(value) => match &value {
                Value::Closure(closure) => push_closure(closure, &hidden, &mut open, meter)?,
                Value::Labelled(labelled) => {
                    let mark = labels.mark(labelled.flow())?;
                    meter.new_text(mark.len())?;
                    let inner = Piece::Value(labelled.value().clone());
                    open.extend([Piece::Text(MARK_END), inner, Piece::Written(mark)]);
                }
                value => push_pieces(value, &mut out, &mut open, meter)?,
            },
        }
    }
    out.push_str(&labels.text());
    Ok(out)
}

/// The pieces still to be written, the last first.
enum Piece {
    Text(&'static str),
    /// Text that is paid for.
    Written(String),
    Value(Value),
}

fn push_pieces(value: &Value, out: &mut String, open: &mut Vec<Piece>, meter: &mut Meter) -> Result<(), Fault> {
    match value {
        // So that the name means this function whatever the memory hides.
        Value::Builtin(id) => {
            let name = builtins::row(id.get()).map_or("", |row| row.name);
            open.push(Piece::Written(if is_builtin(name) { format!("clojure.core/{name}") } else { name.into() }));
            Ok(())
        }
        Value::Symbol(_) => {
            out.push('\'');
            print_into(out, value, Style::Readable, meter)
        }
        value if has_children(value) => {
            let length = value.stored_len()?;
            meter.allocate(length.saturating_add(1).saturating_mul(cost::SLOT.saturating_mul(4)))?;
            let (opening, closing) = match value {
                Value::Vector(_) => ("[", "]"),
                Value::Map(_) => ("{", "}"),
                Value::Set(_) => ("#{", "}"),
                _ => ("(list", ")"),
            };
            let is_list = opening == "(list";
            let mut pieces = vec![Piece::Text(opening)];
            for (index, child) in Children::of(value).enumerate() {
                if index > 0 || is_list {
                    pieces.push(Piece::Text(" "));
                }
                pieces.push(Piece::Value(child.into_owned()));
            }
            pieces.push(Piece::Text(closing));
            open.extend(pieces.into_iter().rev());
            Ok(())
        }
        value => print_into(out, value, Style::Readable, meter),
    }
}

fn push_closure(
    closure: &Closure,
    hidden: &BTreeSet<String>,
    open: &mut Vec<Piece>,
    meter: &mut Meter,
) -> Result<(), Fault> {
    let Some(function) = closure.function() else { return Err(no_text()) };
    let Some(text) = closure.program.source().get(function.span.start..function.span.end) else {
        return Err(no_text());
    };
    meter.allocate(text.len().saturating_add(cost::OBJECT))?;
    let name = function.name.as_ref().map(|name| format!("{name} ")).unwrap_or_default();
    let text = if text.starts_with("#(") { String::from(text) } else { format!("(fn {name}{text})") };
    let mut meant: Vec<&String> = Vec::new();
    for name in hidden.iter().filter(|name| !closure.program.hidden.contains(name.as_str())) {
        meter.text(text.len())?;
        if text.contains(name.as_str()) {
            meant.push(name);
        }
    }
    if function.captures.is_empty() && meant.is_empty() {
        open.push(Piece::Written(text));
        return Ok(());
    }
    let mut pieces = vec![Piece::Text("(let [")];
    for name in meant {
        meter.new_text(name.len().saturating_mul(2))?;
        pieces.push(Piece::Written(format!("{name} clojure.core/{name} ")));
    }
    for (name, value) in function.capture_names.iter().zip(closure.captures.as_slice()) {
        if name.as_str().contains('\0') {
            return Err(no_text());
        }
        meter.new_text(name.len())?;
        pieces.extend([Piece::Written(format!("{name} ")), Piece::Value(value.clone()), Piece::Text(" ")]);
    }
    pieces.extend([Piece::Text("] "), Piece::Written(text), Piece::Text(")")]);
    open.extend(pieces.into_iter().rev());
    Ok(())
}

fn no_text() -> Fault {
    Fault::eval("a function can't be kept as its source")
        .help("define it with `defn`, outside of `->` and its relatives")
}

/// The memory that [`print_source`] wrote: a map, made by running its source without tools and inputs.
///
/// # Errors
///
/// The problems of the text, which isn't the source of one map.
pub fn read_memory(text: &str, limits: &Limits) -> Result<Value, Vec<Problem>> {
    let reading = read_source(text, limits);
    if !reading.problems.is_empty() {
        return Err(reading.problems);
    }
    let problem = |message| vec![Problem::new(Reason::EvalError, Span::new(0, text.len()), message)];
    let (map, table) = match reading.top.as_slice() {
        [map] => (map, None),
        [map, table] if matches!(reading.forms.kind(*table), FormKind::Vector(_)) => (map, Some(*table)),
        _ => return Err(problem("a memory is a map")),
    };
    let inputs = label_inputs(text, &reading.forms, table)?;
    let mut names = Names { tools: Some(BTreeSet::new()), ..Names::default() };
    for [key, value] in reading.forms.children(unmarked_form(&reading.forms, *map)).as_chunks::<2>().0 {
        if let FormKind::Keyword(name) | FormKind::Text(name) = reading.forms.kind(*key) {
            names.memory.insert(String::from(name.as_str()));
            if is_function_form(&reading.forms, unmarked_form(&reading.forms, *value)) {
                names.functions.insert(String::from(name.as_str()));
            }
        }
    }
    // In a vector, so that nothing in the map is taken for the result of a program.
    let source = format!("[{text}\n]");
    let program = resolve_source(&source, &names, limits).map_err(outside_vector)?;
    match Machine::new(Arc::new(program), inputs, *limits).run(u64::MAX) {
        Outcome::Done(value) => match value.unlabelled().elements().next() {
            Some(map) if matches!(map.unlabelled(), Value::Map(_)) => Ok(map.clone()),
            _ => Err(problem("a memory is a map")),
        },
        Outcome::Error(problem) => Err(outside_vector(vec![problem])),
        _ => Err(problem("a memory neither returns, fails nor calls tools")),
    }
}

/// Whether a form is one of those that functions are written as.
fn is_function_form(forms: &Forms, id: FormId) -> bool {
    let is_head = |name: &Text| ["fn", "let"].contains(&name.as_str());
    match forms.kind(id) {
        FormKind::ShortFunction { .. } | FormKind::Symbol(_) => true,
        FormKind::List(elements) => elements.first().and_then(|head| forms.symbol(*head)).is_some_and(is_head),
        _ => false,
    }
}

/// Problems with their places in a text whose bracket before it is left out.
fn outside_vector(mut problems: Vec<Problem>) -> Vec<Problem> {
    for problem in &mut problems {
        let shift = |span: Span| Span::new(span.start.saturating_sub(1), span.end.saturating_sub(1));
        problem.diagnostic.span = problem.diagnostic.span.map(shift);
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Inputs;
    use proem_text::{Audience, Label, Source};

    fn memory_of(source: &str, memory: Value) -> Machine {
        let limits = Limits::default();
        let program = resolve_source(source, &Names::of_memory(&memory), &limits).unwrap();
        let mut machine = Machine::new(Arc::new(program), Inputs { memory, ..Inputs::default() }, limits);
        let end = machine.run(u64::MAX);
        assert!(!matches!(end, Outcome::Error(_)), "{end:?}");
        machine
    }

    #[track_caller]
    fn check(source: &str, written: &str) {
        let machine = memory_of(source, Value::from(crate::value::Map::default()));
        let text = print_source(machine.memory(), &mut Meter::unlimited()).unwrap();
        assert_eq!(text, written, "{source}");
        let read = read_memory(&text, &Limits::default()).unwrap();
        assert_eq!(print_source(&read, &mut Meter::unlimited()).unwrap(), written, "{source}");
    }

    #[test]
    fn a_memory_reads_back_with_its_functions() {
        check(
            "{:a 1 :b [1 nil \"x\"] :c '(1 (2)) :d #{:k} :return 1}",
            "{:a 1 :b [1 nil \"x\"] :c (list 1 (list 2)) :d #{:k}}",
        );
        check("(def k 2) (defn f \"doc\" [x] (* k x))", "{:k 2 :f (fn f [x] (* k x))}");
        check("(let [n 3] (def g (fn [x] (+ x n))))", "{:g (let [n 3 ] (fn [x] (+ x n)))}");
        check("(def h #(+ % 1))", "{:h #(+ % 1)}");
        check("(def s 'sym) (memory/put :return 1)", "{:s 'sym :return 1}");
    }

    #[test]
    fn functions_read_back_still_work() {
        let first = memory_of(
            "(defn f [x] (if (pos? x) (g (dec x)) :f)) (defn g [x] (f x)) (def p (partial + 1))",
            Value::from(crate::value::Map::default()),
        );
        let text = print_source(first.memory(), &mut Meter::unlimited()).unwrap();
        let memory = read_memory(&text, &Limits::default()).unwrap();
        let second = memory_of("(memory/put :out [(f 3) (p 2)])", memory);
        assert_eq!(second.memory().field("out"), Some(&Value::vector(vec![Value::keyword("f"), Value::Int(3)])));
    }

    /// The value of a source after the memory was written and read.
    fn value_after(memory: &Value, source: &str) -> Value {
        let text = print_source(memory, &mut Meter::unlimited()).unwrap();
        let read = read_memory(&text, &Limits::default()).unwrap();
        assert_eq!(print_source(&read, &mut Meter::unlimited()).unwrap(), text);
        memory_of(&format!("(memory/put :out {source})"), read).memory().field("out").cloned().unwrap_or_default()
    }

    #[test]
    fn functions_mean_the_same_after_a_later_program_hides_what_they_call() {
        let empty = Value::from(crate::value::Map::default());
        let first = memory_of("(defn next-id [x] (inc x)) (def all (partial map inc)) {:step inc}", empty);
        let second = memory_of("(defn inc [x] (+ x 100)) (defn far [x] (inc x))", first.memory().clone());
        let calls = "[(next-id 1) (all [1]) ((:step memory) 1) (inc 1) (far 1)]";
        let calls = calls.replace("(:step memory)", "memory/step");
        let expected = "[2 (2) 2 101 101]";
        let live = memory_of(&format!("(memory/put :out {calls})"), second.memory().clone());
        assert_eq!(format!("{:?}", live.memory().field("out").unwrap()), expected);
        assert_eq!(format!("{:?}", value_after(second.memory(), &calls)), expected);
    }

    #[test]
    fn looking_for_hidden_names_in_large_functions_is_paid_for() {
        let empty = Value::from(crate::value::Map::default());
        let long = "x".repeat(100_000);
        let first = memory_of(&format!("(def fs (mapv (fn [i] (fn [] [i \"{long}\"])) (range 300)))"), empty);
        let names = builtins::rows().map(|(_, row)| row.name).filter(|name| is_builtin(name) && !name.contains('\''));
        let hiding: String = names.map(|name| format!("(defn {name} [] 1) ")).collect();
        let second = memory_of(&format!("{hiding} nil"), first.memory().clone());
        assert!(Names::of_memory(second.memory()).functions.len() > 250);
        let limits = Limits { fuel: 2_000_000, ..Limits::default() };
        let fault = print_source(second.memory(), &mut Meter::new(limits)).unwrap_err();
        assert_eq!(fault.reason(), Reason::FuelExhausted);
    }

    #[test]
    fn a_memory_keeps_the_labels_of_its_values_and_no_secret() {
        let external = |name| Label::from_source(Source::parse(name).unwrap()).narrowed_to(Audience::External);
        let mail = Value::vector(vec![Value::Int(1), Value::text("x").labelled(&external("ctx/mail"))]);
        let context = Value::map([
            (Value::text("mail"), mail.labelled(&Label::from_many())),
            (Value::text("pin"), Value::Int(3).labelled(&external("ctx/pin"))),
        ]);
        let kept = |source: &str, context: &Value| {
            let limits = Limits::default();
            let program = resolve_source(source, &Names::default(), &limits).unwrap();
            let inputs = Inputs { context: context.clone(), ..Inputs::default() };
            let mut machine = Machine::new(Arc::new(program), inputs, limits);
            machine.run(u64::MAX);
            machine.memory().clone()
        };
        let memory =
            kept("(def n 1) (def m ctx/mail) (let [p ctx/pin] (defn f [x] (+ x p))) (def g {:list f})", &context);
        let text = print_source(&memory, &mut Meter::unlimited()).unwrap();
        let table = "\n[{:sources :many :audience :public}\n {:sources [\"ctx/mail\"] :audience :external}\n {:sources \
                     [\"ctx/pin\"] :audience :external}]";
        assert!(text.ends_with(table), "{text}");
        assert!(
            text.starts_with("{:n 1 :m (if ctx/kept-label-1 [1 (if ctx/kept-label-2 \"x\" nil)] nil) :f "),
            "{text}"
        );
        let read = read_memory(&text, &Limits::default()).unwrap();
        assert_eq!(print_source(&read, &mut Meter::unlimited()).unwrap(), text);
        let second = memory_of("(memory/put :out [n (f 1) ((:list g) 2)])", read);
        let out = second.memory().field("out").unwrap();
        assert_eq!(format!("{out:?} {}", out.label() == external("ctx/pin")), "[1 4 5] true");
        // A table that is cut or missing takes no label off.
        for (broken, why) in [
            (text.replace("\n {:sources [\"ctx/pin\"] :audience :external}", ""), "`ctx/kept-label-3` has no label"),
            (text.split_once("\n[").unwrap().0.to_owned(), "has no label"),
            (text.replace("ctx/kept-label-2", "ctx/kept-label-0"), "`ctx/kept-label-0` has no label"),
            (text.replace(":many", ":none"), "the table of its labels"),
            (text.replace("ctx/pin\"]", "CTX PIN\"]"), "the table of its labels"),
            (text.replace("\n[", "\n(call \"x\") ["), "a memory is a map"),
        ] {
            let problems = read_memory(&broken, &Limits::default()).unwrap_err();
            assert!(problems.iter().any(|problem| problem.diagnostic.message.contains(why)), "{why}: {problems:?}");
        }
        let secret = Value::map([(Value::text("mail"), Value::Int(1).labelled(&Label::trusted().made_secret()))]);
        let fault = print_source(&kept("(def m [ctx/mail])", &secret), &mut Meter::unlimited()).unwrap_err();
        assert_eq!(fault.message(), "it holds a secret, and a memory is text that others may read");
    }

    #[test]
    fn a_memory_has_no_tools_and_is_a_map() {
        let message = |text: &str| {
            let problems = read_memory(text, &Limits::default()).unwrap_err();
            problems.first().map(|problem| problem.diagnostic.message.clone()).unwrap_or_default()
        };
        assert_eq!(message("{:a (call \"x\")}"), "there is no tool `x`");
        assert_eq!(message("[1]"), "a memory is a map");
        assert_eq!(message("{:a 1} {:b 2}"), "a memory is a map");
        assert_eq!(message("; nothing"), "a memory is a map");
        assert_eq!(message("{:a 1}] [{}"), "`]` closes nothing");
        assert_eq!(message("{:a"), "this bracket is never closed");
        assert_eq!(message("{:a (return 1)}"), "a memory neither returns, fails nor calls tools");
    }
}
