//! The fuzzer's histories, as ordinary tests.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads the corpus, and may stop at what it didn't expect"
)]

use std::path::Path;

use proem_agents::adapt;
use proem_engine::profile::{
    Ageing, Baseline, Registry, ResultRecord, Signals, Wishes, adapt_with_grounds, derive, known_risks,
};
use proem_engine::run::Time;
use serde_json::{Value as Json, json};

#[test]
fn the_laws_hold_for_the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/history");
    let (mut seen, mut read) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if let Ok(text) = String::from_utf8(std::fs::read(&path).unwrap()) {
            seen += 1;
            read += usize::from(laws(&path.display().to_string(), &text));
        }
    }
    assert!(seen >= 15 && read >= 8, "{seen} inputs, {read} histories");
}

/// Checks the laws. Whether it was read.
fn laws(name: &str, text: &str) -> bool {
    let read = match adapt::read_failure_history(text, &time) {
        Ok(read) => read.value,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "{name}");
            return false;
        }
    };
    let printed = Json::from(read.iter().map(printed).collect::<Vec<_>>()).to_string();
    let again = adapt::read_failure_history(&printed, &time).unwrap();
    assert_eq!((again.value, again.notes), (read.clone(), Vec::new()), "{name}");

    let now = read.iter().map(|record| record.at).max().unwrap_or(Time(0));
    let signals = derive(&read, Wishes::default(), Ageing::default(), now).signals;
    let agents = Registry::Closed(["planner".to_owned(), "reviews/triage".to_owned()].into());
    let shown = adapt_with_grounds(&signals, &agents, &known_risks(), Baseline::Wanted).profile;
    let neutral = Signals {
        last_failure_subagents: neutral(&signals.last_failure_subagents, &agents),
        risk_tags: neutral(&signals.risk_tags, &known_risks()),
        ..signals
    };
    assert_eq!(shown, adapt_with_grounds(&neutral, &agents, &known_risks(), Baseline::Wanted).profile, "{name}");
    assert!(!shown.text().contains("Obey"), "{name}: no name is an instruction");
    true
}

/// A time as text, as it is in every history here, or milliseconds since 1970, so that none is rounded.
fn time(value: &Json) -> Option<Time> {
    let Json::String(text) = value else { return value.as_i64().map(Time) };
    text.trim().parse::<jiff::Timestamp>().ok().map(|time| Time(time.as_millisecond()))
}

fn printed(record: &ResultRecord) -> Json {
    let ResultRecord { run: _, at, kind, agent, issue } = record;
    json!({ "timestamp": at.0, "result_key": kind, "subagent": agent, "issue": issue })
}

/// Names with each that is not registered replaced by another one that is not, one for one.
fn neutral(names: &[String], registry: &Registry) -> Vec<String> {
    let place = |name: &String| names.iter().position(|other| other == name).unwrap_or_default();
    let other = |name: &String| format!("? {}", place(name));
    names.iter().map(|name| if registry.admits(name) { name.clone() } else { other(name) }).collect()
}
