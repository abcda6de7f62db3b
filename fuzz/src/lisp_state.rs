//! States that somebody with the key has forged are read or refused; what is read runs to an end and is stored as it was.

use crate::lisp_source::LIMITS;
use proem_lisp::{Inputs, Machine, Meter, Names, Outcome, StateKey, ToolAnswer, Value, read_json, resolve_source};
use std::sync::Arc;

/// Programs whose states hold every kind of object and frame.
const PROGRAMS: &[&str] = &[
    "(reduce (fn [m x] (assoc m x (call \"t\" {:x x :m m}))) {} (range 40))",
    "(pmap (fn [x] (+ x (call \"t\" {:x x}))) (range 4))",
    "(map (fn [x] [(call \"t\" {}) (* x 100000000000000000000) #\"a+\" 'sym 1.5 nil true ctx/rows]) [1 2])",
    "(defn f [x] (if (pos? x) (+ 1 (f (dec x))) (call \"t\" {}))) [(f 5)]",
    "(let [p (partial + 1) s (iterate p 0)] [(call \"t\" {}) (take 3 s) (take 2 (cycle [1 2])) (take 2 (repeat 1))])",
    "(let [a (zipmap (range 40) (range 40)) b (dissoc a 3)] [(call \"t\" {:a a}) b (conj (vec (range 70)) 1)])",
    "(sort-by (fn [x] (call \"t\" {:x x})) [3 1 2])",
    "(reduce (fn [s x] (if (> x 3) (reduced (call \"t\" {:s s})) (conj s x))) #{} (range 9))",
];

/// The bytes of the seal at the end of a state.
const SEAL: usize = 32;

/// Holds one input to the laws: its first byte chooses a program, and each three after it a place and a byte to put there.
pub fn feed(bytes: &[u8]) {
    let key = StateKey::new([1; 32]);
    let (choice, edits) = bytes.split_first().unwrap_or((&0, &[]));
    let Some(source) = PROGRAMS.get(usize::from(*choice) % PROGRAMS.len()) else { return };
    let Some(mut state) = first_state(source, &key) else { panic!("{source} calls no tool") };
    state.truncate(state.len().saturating_sub(SEAL));
    for edit in edits.as_chunks::<3>().0 {
        let [high, low, byte] = *edit;
        // The first bytes only say what it is.
        let place = 8 + usize::from(u16::from_be_bytes([high, low])) % state.len().saturating_sub(8).max(1);
        if let Some(old) = state.get_mut(place) {
            *old = byte;
        }
    }
    // Bytes as they are hardly ever are a state, and are refused all the same.
    assert!(Machine::from_state(bytes, &LIMITS, &key).is_err());
    if let Ok(machine) = Machine::from_state(&key.seal(state), &LIMITS, &key) {
        run_on(machine, &key);
    }
}

fn first_state(source: &str, key: &StateKey) -> Option<Vec<u8>> {
    let context = read_json("{\"rows\": [{\"id\": 1}, {\"id\": 2}]}", &mut Meter::unlimited()).ok()?;
    let program = resolve_source(source, &Names::default(), &LIMITS).ok()?;
    let mut machine = Machine::new(Arc::new(program), Inputs { context, ..Inputs::default() }, LIMITS);
    match machine.run(u64::MAX) {
        Outcome::CallTools(_) => machine.to_state(key, usize::MAX).ok(),
        _ => None,
    }
}

fn run_on(mut machine: Machine, key: &StateKey) {
    let state = machine.to_state(key, usize::MAX).ok();
    let read = state.as_deref().and_then(|state| Machine::from_state(state, &LIMITS, key).ok());
    let again = read.and_then(|machine| machine.to_state(key, usize::MAX).ok());
    assert!(state.is_some() && state == again, "what was read isn't stored as it was");
    for _ in 0..1_000 {
        match machine.run(10_000) {
            Outcome::OutOfFuel => {}
            Outcome::CallTools(calls) => {
                assert!(!calls.is_empty(), "a host would wait for ever");
                for call in calls {
                    machine.answer(call.id, ToolAnswer::Value(Value::Int(1)));
                }
            }
            _ => return,
        }
    }
    panic!("it goes on for ever");
}
