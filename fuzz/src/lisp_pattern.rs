//! Searches find what the crate `regex` finds, for expressions of the syntax that both have. Any text is a regular
//! expression or refused, and a search ends within its steps.

use crate::lisp_source::LIMITS;
use proem_lisp::{Inputs, Limits, Machine, Meter, Names, Outcome, Value, print_readable, resolve_source};
use std::sync::Arc;

const ATOMS: &[&str] =
    &["a", "b", "é", "-", "[ab]", "[^a]", "[a-c\\-]", "(?-u:\\b)", "\\A", "\\z", "\\.", "(?-u:\\d)", "(?-u:\\w)", ""];
const COUNTS: &[&str] = &["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}?"];
const LETTERS: &[&str] = &["a", "b", "c", "é", "-", ".", " ", "1", "\n", "ab"];

/// More than the laws of other targets need, so that an expression of the same syntax is found wherever it matches.
const WIDE: Limits = Limits { fuel: 5_000_000, bytes: 16 << 20, regex_steps: 5_000_000, ..LIMITS };

/// Holds one input to the laws: as an expression that its bytes make up, and as its text.
pub fn feed(bytes: &[u8]) {
    let half = bytes.len().min(64) / 2;
    let (shape, letters) = bytes.split_at(half);
    let text: String = letters.iter().take(32).filter_map(|byte| choice(LETTERS, *byte)).collect();
    let pattern = pattern_of(shape);
    // Beyond a size that both refuse.
    if let Ok(theirs) = regex::RegexBuilder::new(&pattern).size_limit(1 << 18).build() {
        hold_same_matches(&theirs, &pattern, &text);
    }
    let raw = String::from_utf8_lossy(bytes.get(..bytes.len().min(200)).unwrap_or_default());
    match value_of(&format!("(re-seq (re-pattern {}) {})", quote(&raw), quote(&text)), LIMITS) {
        Outcome::Done(_) | Outcome::Error(_) => {}
        other => panic!("{other:?} of {raw:?}"),
    }
}

fn choice<'a>(of: &[&'a str], byte: u8) -> Option<&'a str> {
    of.get(usize::from(byte) % of.len()).copied()
}

/// Each byte adds an atom or wraps what is there.
fn pattern_of(bytes: &[u8]) -> String {
    let mut open: Vec<String> = Vec::new();
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        let place = bytes.next().unwrap_or_default();
        let last = open.pop().unwrap_or_default();
        match byte % 6 {
            0 | 1 => open.extend([last, choice(ATOMS, place).unwrap_or_default().to_owned()]),
            2 => open.push(format!("(?:{last}){}", choice(COUNTS, place).unwrap_or_default())),
            3 => open.push(format!("({last})")),
            4 => {
                let before = open.pop().unwrap_or_default();
                open.push(format!("({before}|{last})"));
            }
            _ => {
                let before = open.pop().unwrap_or_default();
                open.push(format!("{before}{last}"));
            }
        }
    }
    open.concat()
}

fn hold_same_matches(theirs: &regex::Regex, pattern: &str, text: &str) {
    let ours = pattern.replace("(?-u:\\b)", "\\b").replace("(?-u:\\d)", "\\d").replace("(?-u:\\w)", "\\w");
    let source =
        format!("(map (fn [m] (if (vector? m) m [m])) (re-seq (re-pattern {}) {}))", quote(&ours), quote(text));
    let found = match value_of(&source, WIDE) {
        Outcome::Done(found) => found,
        Outcome::Error(problem) => {
            let message = problem.diagnostic.message;
            assert!(is_limit(problem.reason), "{ours:?}: {message}");
            return;
        }
        other => panic!("{other:?} of {ours:?}"),
    };
    // Behind a match, Java finds an empty one at its end, which `regex` leaves out.
    let whole = |groups: &[Value]| groups.first().and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let found: Vec<Vec<Value>> = found
        .elements()
        .map(|groups| groups.elements().cloned().collect())
        .filter(|groups: &Vec<Value>| whole(groups))
        .collect();
    let group = |text: Option<regex::Match<'_>>| text.map_or(Value::Nil, |text| Value::text(text.as_str()));
    let expected: Vec<Vec<Value>> = theirs
        .captures_iter(text)
        .map(|captures| captures.iter().map(group).collect())
        .filter(|groups: &Vec<Value>| whole(groups))
        .collect();
    assert_eq!(found, expected, "{ours:?} in {text:?}");
}

fn is_limit(reason: proem_lisp::Reason) -> bool {
    matches!(reason, proem_lisp::Reason::FuelExhausted | proem_lisp::Reason::MemoryExceeded)
}

fn value_of(source: &str, limits: Limits) -> Outcome {
    match resolve_source(source, &Names::default(), &limits) {
        Ok(program) => Machine::new(Arc::new(program), Inputs::default(), limits).run(u64::MAX),
        Err(problems) => panic!("{source}: {problems:?}"),
    }
}

fn quote(text: &str) -> String {
    print_readable(&text.into(), &mut Meter::unlimited()).unwrap_or_default()
}
