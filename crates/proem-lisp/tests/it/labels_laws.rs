//! Laws of labels over programs that are made up.
//!
//! A program is made of a row of bytes, each of which chooses a form. It prints, calls tools, keeps names and gives a
//! value. A second program reads what the first has kept.

use crate::support::outcome_text;
use proem_lisp::{
    Inputs, Limits, Machine, Meter, Names, Outcome, Signature, ToolAnswer, Value, print_readable, resolve_source,
};
use proem_text::{Label, Source};
use proptest::prelude::*;
use std::sync::Arc;

/// Chooses forms by bytes.
struct Maker<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl Maker<'_> {
    fn pick<'t>(&mut self, depth: usize, simple: &[&'t str], forms: &[&'t str]) -> &'t str {
        let byte = usize::from(self.bytes.next().copied().unwrap_or(0));
        let choices = if depth == 0 || byte % 4 == 0 { simple } else { forms };
        choices.get((byte / 4) % choices.len()).copied().unwrap_or_default()
    }

    /// A form in which `I L M B S K` represent forms of these kinds.
    fn form(&mut self, kind: char, depth: usize) -> String {
        let template = match kind {
            'I' => self.pick(depth, INTEGERS, INTEGER_FORMS),
            'L' => self.pick(depth, LISTS, LIST_FORMS),
            'M' => self.pick(depth, MAPS, MAP_FORMS),
            'B' => self.pick(depth, TESTS, TEST_FORMS),
            'S' => self.pick(depth, STATEMENTS, STATEMENT_FORMS),
            _ => self.pick(depth, &[":a", ":b", "I"], &["I"]),
        };
        template
            .split_inclusive("")
            .map(String::from)
            .map(|part| match part.chars().next() {
                Some(kind @ ('I' | 'L' | 'M' | 'B' | 'S' | 'K')) => self.form(kind, depth.saturating_sub(1)),
                _ => part,
            })
            .collect()
    }
}

const INTEGERS: &[&str] = &["1", "3", "x", "y", "ctx/p", "ctx/n", "ctx/n", "ctx/n"];
const INTEGER_FORMS: &[&str] = &[
    "(+ I I)",
    "(if B I I)",
    "(count L)",
    "(reduce + 0 L)",
    "(let [x I y I] I)",
    "(get M K 0)",
    "(or (first L) 0)",
    "(loop [x 0 y I] (if (< x (min 4 I)) (recur (inc x) (+ y I)) y))",
    "((fn [x] I) I)",
    "(do S I)",
    "(case I 0 I 1 I I)",
    "(memory/get :m 0)",
    "(reduce (fn [x y] (if B (reduced x) (+ x y))) 0 L)",
    "(tool/t {:x I})",
    "(tool/v {:_x I :y I})",
    "((if B inc dec) I)",
    "(when-let [x (first L)] 1)",
    "(if-let [x (seq L)] I I)",
    "(loop [x 0] (cond (> x 3) I B (recur (+ x 2)) :else (recur (inc x))))",
    "(let [[x y] L] (or x y 0))",
    "(let [{:keys [a b] :or {a I}} M] (or a b 0))",
    "(apply + L)",
    "(max I I)",
    "(get-in {:k [M]} [:k 0 K] 0)",
    "(:a M 0)",
    "(some-> (first L) inc (+ I))",
    "(letfn [(f [x] (if (< x 3) (f (inc x)) I))] (f I))",
    "(first (pmap (fn [x] I) [1 I]))",
    "(:a (update M :a (fnil + 0) I) 0)",
    "(or (memory/get (str \"k\" I)) 0)",
];
const LISTS: &[&str] = &["[I I]", "ctx/spine", "ctx/elements", "[]"];
const LIST_FORMS: &[&str] = &[
    "(map (fn [x] I) L)",
    "(filter (fn [x] B) L)",
    "(for [x L :when B] I)",
    "(for [x L :while B y L] (+ x y))",
    "(sort L)",
    "(sort-by (fn [x] I) L)",
    "(take I L)",
    "(concat L L)",
    "(rest L)",
    "(vals M)",
    "(distinct L)",
    "(if B L L)",
    "(conj (vec L) I)",
    "(mapcat (fn [x] L) L)",
    "(map + L L)",
    "(keep (fn [x] (if B I nil)) L)",
    "(do S L)",
    "(take-while (fn [x] B) L)",
    "(reverse L)",
    "(map first (group-by (fn [x] (mod I 2)) L))",
    "(mapv second M)",
    "(for [x L :let [y (if B I 2)] :when B] (do S y))",
    "(map-indexed (fn [x y] I) L)",
    "(take 3 (iterate (fn [x] I) I))",
    "(reduce (fn [x y] (if B (conj x y) x)) [] L)",
    "(vec (set L))",
    "(remove (fn [x] B) L)",
];
const MAPS: &[&str] = &["{:a I :b I}", "{:a I}", "{}", "ctx/map"];
const MAP_FORMS: &[&str] = &[
    "(assoc M K I)",
    "(zipmap [:a :b] L)",
    "(if B M M)",
    "(frequencies L)",
    "(into {} (map (fn [x] [x I]) L))",
    "(select-keys M [K])",
    "(merge M M)",
    "(dissoc M K)",
    "{K I}",
    "(reduce-kv (fn [x k v] (assoc x k I)) {} M)",
    "(index-by (fn [x] I) L)",
    "(update-vals M (fn [x] I))",
    "(do S M)",
];
const TESTS: &[&str] = &["(< I I)", "(= I I)", "true"];
const TEST_FORMS: &[&str] = &[
    "(empty? L)",
    "(some odd? L)",
    "(contains? #{I I} I)",
    "(and B B)",
    "(or B B)",
    "(not B)",
    "(every? (fn [x] B) L)",
    "(contains? M K)",
    "(= L L)",
    "(do S B)",
    "(if B B B)",
];
const STATEMENTS: &[&str] = &["(println I)", "(def m I)", "(memory/put :m I)", "nil"];
const STATEMENT_FORMS: &[&str] = &[
    "(println L M)",
    "(def m I)",
    "(memory/put K I)",
    "(tool/t {:x I :y L})",
    "(when B S)",
    "(doseq [x L] S)",
    "(run! (fn [x] S) L)",
    "(if B S S)",
    "(if B (return I) nil)",
    "(do S S)",
    "(cond B S B S :else S)",
    "(dotimes [x (min 3 I)] S)",
    "(tool/v (if B {:x I} {:_x I}))",
    "(let [f (if B (fn [] S) (fn [] nil))] (f))",
    "(if B (fail {:reason :no}) nil)",
    "(when-not B (def n I))",
    "(memory/put (str \"k\" I) I)",
    "(println (budget/remaining))",
];

fn program_of(bytes: &[u8]) -> String {
    let mut maker = Maker { bytes: bytes.iter() };
    let [first, second, third, number, list] = ['S', 'S', 'S', 'I', 'L'].map(|kind| maker.form(kind, 4));
    format!("(let [x 1 y 2] {first} {second} {third} [{number} {list}])")
}

/// The inputs that a label is on: a number, the spine of one list, the elements of another, and a map's spine.
fn context(numbers: &[i64], label: &Label) -> Value {
    let keyword = Value::keyword;
    let number = |at: usize| Value::Int(numbers.get(at).copied().unwrap_or_default());
    let spine = numbers.iter().skip(1).map(|number| Value::Int(*number)).collect();
    let elements = vec![number(1).labelled(label), Value::Int(2), number(2).labelled(label)];
    let key = if numbers.first().is_some_and(|first| first % 2 == 0) { "a" } else { "c" };
    Value::map([
        (keyword("p"), Value::Int(2)),
        (keyword("n"), number(0).labelled(label)),
        (keyword("spine"), Value::vector(spine).labelled(label)),
        (keyword("elements"), Value::vector(elements)),
        (keyword("map"), Value::map([(keyword(key), number(1))]).labelled(label)),
    ])
}

/// The visible part of two programs, one after the other on one memory.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    output: Vec<String>,
    calls: Vec<String>,
    /// The calls that nothing untrusted had a part in.
    unasked: Vec<String>,
    ends: Vec<String>,
    memory: String,
    label: Label,
}

fn print(value: &Value) -> String {
    print_readable(value, &mut Meter::unlimited()).unwrap()
}

/// `None` if a program ends with a problem, or a call is refused.
fn run_both(source: &str, context: &Value) -> Option<Seen> {
    let signature = |text| Signature::parse(text, &Limits::default()).unwrap();
    let (open, secret) = (signature("t(x :any?, y :any?) -> :int"), signature("v(x :any?, y :any?, _x :any?) -> :int"));
    let mut seen = Seen {
        output: Vec::new(),
        calls: Vec::new(),
        unasked: Vec::new(),
        ends: Vec::new(),
        memory: String::new(),
        label: Label::trusted(),
    };
    let mut memory = Value::map([]);
    for source in [source, "[(memory/get :m 0) (memory/get :n 0) (memory/get :a) (memory/get \"k1\" 5)]"] {
        let limits = Limits { fuel: 300_000, ..Limits::default() };
        let inputs = Inputs { context: context.clone(), memory: memory.clone(), ..Inputs::default() };
        let program = resolve_source(source, &Names::of_memory(&memory), &limits).ok()?;
        let mut machine = Machine::new(Arc::new(program), inputs, limits);
        let outcome = loop {
            match machine.run(u64::MAX) {
                Outcome::CallTools(calls) => {
                    for call in calls {
                        let takes_secrets = call.name.as_str() == "v";
                        let args = call.open_arguments(Some(if takes_secrets { &secret } else { &open })).ok()?;
                        let decided = call.pc.join(&call.floor);
                        let all = call.labels.values().fold(decided, |all, label| all.join(label));
                        if all.is_trusted() && !all.is_secret() {
                            seen.unasked.push(print(&args));
                        }
                        // A tool that takes secrets keeps them.
                        if !takes_secrets {
                            seen.calls.push(print(&args));
                        }
                        machine.answer(call.id, ToolAnswer::Value(Value::Int(7)));
                    }
                }
                end => break end,
            }
        };
        if let Outcome::Error(_) = outcome {
            return None;
        }
        if !matches!(outcome, Outcome::Fail(_)) {
            memory = machine.memory().clone();
        }
        seen.output.push(machine.take_output());
        seen.ends.push(outcome_text(&outcome));
        seen.label = seen.label.join(&machine.end_label());
    }
    seen.memory = print(&memory);
    seen.label = seen.label.join(&memory.label());
    Some(seen)
}

fn numbers() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(-1_i64..5, 3..6)
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..120)
}

fn web() -> Label {
    Label::from_source(Source::named("web"))
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn what_differs_only_in_secrets_is_seen_as_the_same(bytes in bytes(), first in numbers(), second in numbers()) {
        let source = program_of(&bytes);
        let secret = Label::trusted().made_secret();
        let seen = (run_both(&source, &context(&first, &secret)), run_both(&source, &context(&second, &secret)));
        if let (Some(first), Some(second)) = seen {
            prop_assert_eq!(first, second, "{}", source);
        }
    }

    #[test]
    fn what_differs_only_in_untrusted_inputs_acts_the_same_where_nobody_is_asked(
        bytes in bytes(), first in numbers(), second in numbers()
    ) {
        let source = program_of(&bytes);
        let seen = (run_both(&source, &context(&first, &web())), run_both(&source, &context(&second, &web())));
        if let (Some(first), Some(second)) = seen {
            prop_assert_eq!(first.unasked, second.unasked, "{}", source);
        }
    }

    #[test]
    fn labels_only_grow(bytes in bytes(), numbers in numbers()) {
        // Minding labels is work too, so what is left of the budget isn't printed.
        let source = program_of(&bytes).replace("(println (budget/remaining))", "nil");
        let more = web().join(&Label::from_source(Source::named("mail")));
        let labels = [Label::trusted(), web(), more];
        let seen: Vec<Option<Seen>> = labels.iter().map(|label| run_both(&source, &context(&numbers, label))).collect();
        for pair in seen.windows(2) {
            if let [Some(fewer), Some(more)] = pair {
                prop_assert!(more.label.covers(&fewer.label), "{}: {:?} {:?}", source, fewer.label, more.label);
                prop_assert_eq!(&fewer.ends, &more.ends, "{}", source);
                prop_assert_eq!(&fewer.output, &more.output, "{}", source);
            }
        }
    }
}
