//! Any claim of failures by another program: it is read or refused with a reason, the printed form reads back the same,
//! and a profile shows no name but registered ones: with all others replaced it is the same.

use jiff::Timestamp;
use proem_agents::adapt;
use proem_engine::profile::{
    Ageing, Baseline, Registry, ResultRecord, Signals, Wishes, adapt_with_grounds, derive, known_risks,
};
use proem_engine::run::Time;
use serde_json::{Value as Json, json};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let read = match adapt::read_failure_history(text, &time) {
        Ok(read) => read.value,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let printed = Json::from(read.iter().map(printed).collect::<Vec<_>>()).to_string();
    let again = adapt::read_failure_history(&printed, &time).expect("what is printed is read");
    assert_eq!((again.value, again.notes), (read.clone(), Vec::new()));

    let now = read.iter().map(|record| record.at).max().unwrap_or(Time(0));
    let signals = derive(&read, Wishes::default(), Ageing::default(), now).signals;
    let agents = Registry::Closed(["planner".to_owned(), "reviews/triage".to_owned()].into());
    let shown = adapt_with_grounds(&signals, &agents, &known_risks(), Baseline::Wanted).profile;
    let neutral = Signals {
        last_failure_subagents: neutral(&signals.last_failure_subagents, &agents),
        risk_tags: neutral(&signals.risk_tags, &known_risks()),
        ..signals
    };
    assert_eq!(shown, adapt_with_grounds(&neutral, &agents, &known_risks(), Baseline::Wanted).profile);
}

/// A time as text, or milliseconds since 1970, so that none is rounded.
fn time(value: &Json) -> Option<Time> {
    match value {
        Json::String(text) => text.trim().parse::<Timestamp>().ok().map(|time| Time(time.as_millisecond())),
        value => value.as_i64().map(Time),
    }
}

fn printed(record: &ResultRecord) -> Json {
    let ResultRecord { at, kind, agent, issue, .. } = record;
    json!({ "timestamp": at.0, "result_key": kind, "subagent": agent, "issue": issue })
}

/// Names with each that is not registered replaced by another one that is not, one for one.
fn neutral(names: &[String], registry: &Registry) -> Vec<String> {
    let place = |name: &String| names.iter().position(|other| other == name).unwrap_or_default();
    let other = |name: &String| format!("? {}", place(name));
    names.iter().map(|name| if registry.admits(name) { name.clone() } else { other(name) }).collect()
}
