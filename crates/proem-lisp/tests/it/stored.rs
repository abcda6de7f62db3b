//! Programs that are stored as bytes and go on from them.

use crate::support::{machine, outcome_text};
use proem_lisp::{
    Inputs, Limits, Machine, Meter, Outcome, StateError, StateKey, ToolAnswer, Value, print_source, read_json,
};
use proptest::prelude::*;

/// Programs whose states hold every kind of object and frame.
const PROGRAMS: &[&str] = &[
    "(reduce (fn [m x] (assoc m x (call \"t\" {:x x :m m}))) {} (range 40))",
    "(pmap (fn [x] (pmap (fn [y] (+ x y (call \"t\" {:x x}))) (range 3))) (range 4))",
    "(loop [i 0 v [] old nil] (if (< i 70) (recur (inc i) (conj v {:i i :s (str i)}) (if (= i 40) v old)) [(call \"t\" {}) (count v) (count old)]))",
    "(map (fn [x] (let [k (* x 100000000000000000000)] [(call \"t\" {:k k}) k #\"a+\" 'sym 1.5 nil true])) [1 2])",
    "(defn f [x] (if (pos? x) (+ 1 (f (dec x))) (call \"t\" {}))) [(f 30) (f 2)]",
    "(let [a (apply hash-map (range 60)) b (assoc a :n 1) c (dissoc b 4 6)] [(call \"t\" {:a a}) (get b 2) (get c 4) (count c) (assoc c :q 1)])",
    "(let [p (partial + 1) c (comp p inc) s (iterate p 0)] [(call \"t\" {}) (take 3 s) (c 1) (take 2 (cycle [1 2])) (take 2 (repeat 1)) (range 3)])",
    "(println \"before\") (memory/put :f (fn [x] (call \"t\" {:x x}))) (def g inc) [((memory/get :f) 1) (g 1)]",
    "(sort-by (fn [x] (call \"t\" {:x x})) [3 1 2])",
    "(some (fn [x] (if (> x 1) (call \"t\" {:x x}))) (list* 0 1 '(2 3)))",
    "(reduce-kv (fn [s k v] (+ s v (count (str k (call \"t\" {:k k}))))) 0 {:a 1 :b 2})",
    "(walk/postwalk (fn [x] (if (number? x) (do (call \"t\" {:x x}) (inc x)) x)) {:a [1 {:b 2}]})",
    "(reduce (fn [s x] (if (> x 3) (reduced (call \"t\" {:s s})) (conj s x))) #{} (range 9))",
    "(loop [i 0 all []] (if (< i 8) (recur (inc i) (conj all (assoc (zipmap (range 20) (range 20)) i (call \"t\" {})))) (map count all)))",
];

const KEY: [u8; 32] = [7; 32];

fn key() -> StateKey {
    StateKey::new(KEY)
}

/// So few bytes that what is alive is counted often.
fn few() -> Limits {
    Limits { bytes: 120_000, fuel: 300_000, ..Limits::default() }
}

fn state_of(machine: &Machine) -> Vec<u8> {
    machine.to_state(&key(), Machine::MOST_STATE_BYTES).unwrap()
}

/// The machine from its own bytes, which are those of the machine that was made of them.
fn through_bytes(machine: Machine) -> Machine {
    let state = state_of(&machine);
    drop(machine);
    let machine = Machine::from_state(&state, &few(), &key()).unwrap();
    assert!(state_of(&machine) == state, "another state is written than was read");
    machine
}

/// The end, fuel, bytes, output, memory, and the state at each suspension.
type Whole = (String, u64, usize, String, String, Vec<Vec<u8>>);

fn run_whole(source: &str, mut step: impl FnMut(Machine) -> Machine, piece: u64) -> Whole {
    let context =
        read_json("{\"rows\": [{\"id\": 1, \"tags\": [\"a\", \"b\"]}, {\"id\": 2}]}", &mut Meter::unlimited()).unwrap();
    let inputs = Inputs { context, ..Inputs::default() };
    let mut machine = machine(source, inputs, few()).unwrap();
    let (mut states, mut output, mut kept) = (Vec::new(), String::new(), Vec::new());
    loop {
        let outcome = machine.run(piece);
        match outcome {
            Outcome::OutOfFuel => machine = step(machine),
            Outcome::CallTools(calls) => {
                output.push_str(&machine.take_output());
                states.push(state_of(&machine));
                machine = step(machine);
                for call in calls {
                    let answer = Value::Int(i64::try_from(call.id.0).unwrap());
                    // A host that keeps anything of a call changes nothing.
                    kept.push(call.args.clone());
                    machine.answer(call.id, ToolAnswer::Value(answer));
                }
                // An answer that is not yet taken is part of the state.
                machine = step(machine);
            }
            end => {
                output.push_str(&machine.take_output());
                let memory = print_source(machine.memory(), &mut Meter::unlimited()).unwrap_or_default();
                return (outcome_text(&end), machine.fuel_used(), machine.bytes_used(), output, memory, states);
            }
        }
    }
}

#[test]
fn a_stored_program_ends_costs_and_is_stored_as_one_that_was_not() {
    for source in PROGRAMS {
        let straight = run_whole(source, |machine| machine, u64::MAX);
        assert!(!straight.5.is_empty() && !straight.0.contains("error"), "{source}: {}", straight.0);
        for piece in [u64::MAX, 200, 37] {
            let stored = run_whole(source, through_bytes, piece);
            assert!(stored == straight, "{source}: {:?} and {:?}", &stored.0, &straight.0);
        }
    }
}

#[test]
fn a_host_that_keeps_arguments_changes_no_costs() {
    let source = "(let [m {:a 1 :b 2}] (call \"t\" m) (count (assoc m :c 3)))";
    let run = |keeps: bool| {
        let mut machine = machine(source, Inputs::default(), Limits::default()).unwrap();
        let Outcome::CallTools(calls) = machine.run(u64::MAX) else { panic!("no calls") };
        let id = calls[0].id;
        let kept = keeps.then_some(calls);
        machine.answer(id, ToolAnswer::Value(Value::Nil));
        machine.run(u64::MAX);
        drop(kept);
        (machine.fuel_used(), machine.bytes_used())
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_state_forks_into_two_that_know_nothing_of_each_other() {
    let mut first = machine("(let [v [1 2]] (conj v (call \"t\" {})))", Inputs::default(), few()).unwrap();
    let Outcome::CallTools(calls) = first.run(u64::MAX) else { panic!("no calls") };
    let state = state_of(&first);
    let end = |answer: i64| {
        let mut fork = Machine::from_state(&state, &few(), &key()).unwrap();
        assert_eq!(fork.run(u64::MAX), Outcome::CallTools(calls.clone()));
        fork.answer(calls[0].id, ToolAnswer::Value(Value::Int(answer)));
        outcome_text(&fork.run(u64::MAX))
    };
    assert_eq!([end(3), end(4), end(3)], ["[1 2 3]", "[1 2 4]", "[1 2 3]"]);
}

#[test]
fn functions_in_memory_are_stored_as_their_source() {
    let mut first = machine("(defn tax [x] (* 2 x)) (def half (partial * 0.5))", Inputs::default(), few()).unwrap();
    assert!(matches!(first.run(u64::MAX), Outcome::Done(_)));
    let inputs = Inputs { memory: first.memory().clone(), ..Inputs::default() };
    let mut second = machine("[(call \"t\" {}) (tax 4) (half 3)]", inputs, few()).unwrap();
    let Outcome::CallTools(calls) = second.run(u64::MAX) else { panic!("no calls") };
    let state = state_of(&second);
    assert!(String::from_utf8_lossy(&state).contains("(defn tax [x] (* 2 x))"));
    let mut again = through_bytes(second);
    again.answer(calls[0].id, ToolAnswer::Value(Value::Nil));
    assert_eq!(outcome_text(&again.run(u64::MAX)), "[nil 8 1.5]");
}

#[test]
fn shared_parts_are_stored_once() {
    let size = |source: &str| {
        let limits = Limits::default();
        let mut machine = machine(source, Inputs::default(), limits).unwrap();
        assert!(matches!(machine.run(u64::MAX), Outcome::CallTools(_)));
        let state = state_of(&machine);
        let again = Machine::from_state(&state, &limits, &key()).unwrap();
        assert!(state_of(&again) == state);
        state.len()
    };
    let one = size("(let [m (zipmap (range 2000) (range 2000))] (call \"t\" {}) m)");
    let hundred = size(
        "(let [m (zipmap (range 2000) (range 2000)) all (map #(assoc m % :x) (range 100))] (call \"t\" {}) [m all])",
    );
    assert!(hundred < one * 5, "{one} bytes for one version, {hundred} for a hundred");
    let deep = size("(let [a [1 2 3] b (nth (iterate (fn [x] [x x]) a) 60)] (call \"t\" {}) b)");
    assert!(deep < 2_000, "{deep}");
}

#[test]
fn states_are_bounded_while_they_are_written() {
    let mut first =
        machine("(let [v (vec (range 5000))] (call \"t\" {}) v)", Inputs::default(), Limits::default()).unwrap();
    assert!(matches!(first.run(u64::MAX), Outcome::CallTools(_)));
    let whole = state_of(&first).len();
    assert!(first.to_state(&key(), whole).is_ok());
    for most in [0, 10, 40, 1_000, whole - 1] {
        assert_eq!(first.to_state(&key(), most).unwrap_err(), StateError::TooLarge(most));
    }
    let mut ended = machine("1", Inputs::default(), few()).unwrap();
    ended.run(u64::MAX);
    assert_eq!(ended.to_state(&key(), usize::MAX).unwrap_err(), StateError::Ended);
}

/// The state of a program at its first call.
fn first_state(source: &str) -> Vec<u8> {
    let mut machine = machine(source, Inputs::default(), few()).unwrap();
    assert!(matches!(machine.run(u64::MAX), Outcome::CallTools(_)), "{source}");
    state_of(&machine)
}

#[test]
fn a_state_that_is_cut_changed_or_of_another_key_or_version_is_refused() {
    let read = |state: &[u8]| Machine::from_state(state, &few(), &key()).map(|_| ()).unwrap_err();
    for source in PROGRAMS {
        let state = first_state(source);
        for at in 0..state.len() {
            for bit in 0..8 {
                let mut changed = state.clone();
                changed[at] ^= 1 << bit;
                let error = read(&changed);
                let expected = match at {
                    0..7 => StateError::NoState,
                    7 => StateError::OtherVersion,
                    _ => StateError::Seal,
                };
                assert_eq!(error, expected);
            }
            read(&state[..at]);
        }
        let longer = [state.as_slice(), b"x"].concat();
        assert_eq!(read(&longer), StateError::Seal);
        let other = Machine::from_state(&state, &few(), &StateKey::new([8; 32])).map(|_| ()).unwrap_err();
        assert_eq!(other, StateError::Seal);
        let more = Limits { fuel: few().fuel + 1, ..few() };
        assert_eq!(Machine::from_state(&state, &more, &key()).map(|_| ()).unwrap_err(), StateError::OtherLimits);
    }
    assert_eq!(read(b""), StateError::NoState);
    assert_eq!(read(b"ptclisp"), StateError::OtherVersion);
    assert_eq!(read(b"ptclisp\x01"), StateError::OtherVersion);
    assert_eq!(read(b"ptclisp\x02"), StateError::Seal);
}

/// Runs what was read of a forged state to an end, as a host does.
fn run_forged(mut machine: Machine) {
    let state = state_of(&machine);
    let again = Machine::from_state(&state, &few(), &key()).unwrap();
    assert!(state_of(&again) == state);
    for _ in 0..10_000 {
        match machine.run(5_000) {
            Outcome::OutOfFuel => {}
            Outcome::CallTools(calls) => {
                assert!(!calls.is_empty(), "a host would wait for ever");
                calls.iter().for_each(|call| machine.answer(call.id, ToolAnswer::Value(Value::Int(1))));
            }
            _ => return,
        }
    }
    panic!("it goes on for ever");
}

#[test]
fn a_state_forged_with_the_key_neither_panics_nor_runs_for_ever() {
    let mut read = 0;
    for source in PROGRAMS {
        let state = first_state(source);
        let body = &state[..state.len() - 32];
        for at in 8..body.len() {
            for new in [0, 1, 0x7f, 0xff, body[at].wrapping_add(1), body[at] ^ 0x10] {
                let mut forged = body.to_vec();
                forged[at] = new;
                if let Ok(machine) = Machine::from_state(&key().seal(forged), &few(), &key()) {
                    read += 1;
                    run_forged(machine);
                }
            }
            assert!(Machine::from_state(&key().seal(body[..at].to_vec()), &few(), &key()).is_err());
        }
    }
    assert!(read > 100, "{read}");
}

#[test]
fn sizes_that_a_state_only_claims_are_not_allocated() {
    let state = first_state("(let [v (vec (range 40))] (call \"t\" {}) v)");
    let body = &state[..state.len() - 32];
    // Every place may hold a size. A claim of 2^63 elements fits nowhere.
    for at in 8..body.len() {
        let claim = [0xff_u8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        let forged = [&body[..at], &claim, body.get(at + 1..).unwrap_or_default()].concat();
        if let Ok(machine) = Machine::from_state(&key().seal(forged), &few(), &key()) {
            run_forged(machine);
        }
    }
}

#[test]
fn many_empty_programs_or_collections_are_not_allocated() {
    let state = first_state("(call \"t\" {})");
    let limits = few();
    let body = &state[..state.len() - 32];
    let source = b"(call \"t\" {})";
    let at = body.windows(source.len()).position(|window| window == source).unwrap();
    // One program becomes two million. Its number is before the length of its source.
    let programs = [&body[..at - 2], b"\x80\x89\x7a", &vec![0; 6_000_000][..]].concat();
    assert!(matches!(Machine::from_state(&key().seal(programs), &limits, &key()), Err(StateError::Malformed(_))));
    // Behind the source and its names come the objects: two million empty vectors.
    let empty = [8_u8, 0, 0].repeat(2_000_000);
    let objects = [&body[..at + source.len() + 2], b"\x80\x89\x7a", &empty[..]].concat();
    let error = Machine::from_state(&key().seal(objects), &limits, &key()).map(|_| ()).unwrap_err();
    assert_eq!(error, StateError::Malformed("it holds more than a program may"));
}

#[test]
fn long_ranges_are_stored_as_they_are() {
    let limits = Limits { collection_size: 10, ..few() };
    let source = "(let [r (range 5000000000) e (range)] (call \"t\" {}) [(first (drop 4 r)) (second e)])";
    let mut first = machine(source, Inputs::default(), limits).unwrap();
    let Outcome::CallTools(calls) = first.run(u64::MAX) else { panic!("no calls") };
    let mut again = Machine::from_state(&state_of(&first), &limits, &key()).unwrap();
    again.answer(calls[0].id, ToolAnswer::Value(Value::Nil));
    assert_eq!(outcome_text(&again.run(u64::MAX)), "[4 1]");
}

/// A state in which some bytes are replaced by as many others, sealed again.
fn replaced(state: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut body = state.split_at(state.len() - 32).0.to_vec();
    let at = body.windows(from.len()).position(|window| window == from).unwrap();
    drop(body.splice(at..at + to.len(), to.iter().copied()));
    key().seal(body)
}

#[test]
fn a_forged_source_gives_no_frame_that_it_does_not_have() {
    let state = first_state("(let [v [1 2]] (conj v (call \"t\" {})))");
    let read = |to: &[u8]| {
        Machine::from_state(&replaced(&state, b"(let [v [1 2]] (conj v (call \"t\" {})))", to), &few(), &key())
    };
    assert!(matches!(read(b"12345678901234567890123456789012345678"), Err(StateError::Malformed(_))));
    assert!(matches!(read(b"(((((((((((((((((((((((((((((((((((((("), Err(StateError::Malformed(_))));
    if let Ok(machine) = read(b"(let [v [9 9]] (conj v (call \"u\" {})))") {
        run_forged(machine);
    }
}

#[test]
fn two_entries_of_one_key_are_no_map() {
    let small = first_state("(let [m (zipmap (map #(str \"k\" %) (range 3)) (range 3))] (call \"t\" {}) m)");
    let large = first_state("(let [m (zipmap (map #(str \"key\" %) (range 10 60)) (range 50))] (call \"t\" {}) m)");
    for (state, from, to) in [(small, &b"\x02k1"[..], &b"\x02k2"[..]), (large, b"\x05key25", b"\x05key26")] {
        let error = Machine::from_state(&replaced(&state, from, to), &few(), &key()).map(|_| ()).unwrap_err();
        assert!(matches!(error, StateError::Malformed(what) if what.contains("map")), "{error:?}");
    }
}

#[test]
fn an_answer_that_is_a_problem_is_stored_with_its_remedy() {
    let mut first = machine("(pmap (fn [x] (call \"t\" {:x x})) [1 2])", Inputs::default(), few()).unwrap();
    let Outcome::CallTools(calls) = first.run(u64::MAX) else { panic!("no calls") };
    first.answer(calls[0].id, ToolAnswer::unknown_tool("t", "did you mean `u`?"));
    let mut again = through_bytes(first);
    let Outcome::CallTools(open) = again.run(u64::MAX) else { panic!("no calls") };
    assert_eq!(open.len(), 1);
    again.answer(open[0].id, ToolAnswer::Value(Value::Nil));
    assert_eq!(
        outcome_text(&through_bytes(again).run(u64::MAX)),
        "unknown_tool: there is no tool `t` (did you mean `u`?)"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn values_are_stored_as_they_are(value in crate::laws::any_value(), more in crate::laws::any_value()) {
        let context = Value::map([(Value::keyword("a"), value.clone()), (Value::keyword("b"), more)]);
        let inputs = Inputs { context, ..Inputs::default() };
        let mut first = machine("[(call \"t\" {:all [ctx/a ctx/b ctx/a]}) ctx/a]", inputs, few()).unwrap();
        let Outcome::CallTools(calls) = first.run(u64::MAX) else { panic!("no calls") };
        let mut again = through_bytes(first);
        prop_assert_eq!(again.run(u64::MAX), Outcome::CallTools(calls.clone()));
        again.answer(calls[0].id, ToolAnswer::Value(Value::Nil));
        prop_assert_eq!(again.run(u64::MAX), Outcome::Done(Value::vector(vec![Value::Nil, value])));
    }

    #[test]
    fn bytes_that_somebody_sealed_are_read_or_refused(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), program in 0..PROGRAMS.len()) {
        let state = first_state(PROGRAMS[program]);
        let mut body = state[..state.len() - 32].to_vec();
        for (place, byte) in places {
            let at = 8 + place.index(body.len() - 8);
            body[at] = byte;
        }
        if let Ok(machine) = Machine::from_state(&key().seal(body), &few(), &key()) {
            run_forged(machine);
        }
    }
}
