//! The behaviour of `proem-triage`, seen from outside: the reading of each source, and the laws for all signals.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test reads files, says what it skips, and may stop at what it didn't expect"
)]

mod answer;
mod artefact;
mod asana;
mod audience;
mod bad_input;
mod classify;
mod contract;
mod corpus;
mod endings;
mod floors;
mod graph;
mod jira;
mod laws;
mod life;
mod pipeline;
mod plan;
mod questions;
mod sanitise;
#[path = "../../../xtask/skipped.rs"]
mod skipped;
mod sprints;
mod suspected;
mod threats;
mod written;

use std::{
    fs,
    path::{Path, PathBuf},
};

use proem_engine::run::Time;
use proem_guard::{LabelTree, TreePlace, Untrusted, show};
use proem_text::Sources;
use proem_triage::{NormalisedSignals, ProjectSignal, SourceContext, normalise_signals};
use serde_json::Value as Json;

/// 2026-11-23, the clock of all tests.
const NOW: Time = Time(1_795_392_000_000);

fn read(text: &str) -> NormalisedSignals {
    read_as(text, &[])
}

fn read_as(text: &str, mail_servers: &[String]) -> NormalisedSignals {
    normalise_signals(text, &SourceContext { now: NOW, mail_servers, audiences: &[] })
}

fn folder(source: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(source)
}

fn fixture(source: &str, name: &str) -> String {
    fs::read_to_string(folder(source).join(name)).unwrap()
}

/// Compares what all fixtures of a source are with what is expected: file, then kind, time and summary.
#[track_caller]
fn check_fixtures(source: &str, expected: &[(&str, &str)]) {
    let names = fs::read_dir(folder(source)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort_unstable();
    assert!(names.len() >= 10, "{names:?}");
    let mut found = Vec::new();
    for name in &names {
        let read = read(&fixture(source, name));
        for signal in &read.signals {
            let json = signal.to_json();
            let part = |name: &str| json[name].as_str().unwrap_or("–").to_owned();
            found.push((name.clone(), format!("{} {} {}", part("type"), part("time"), part("summary"))));
            assert_eq!(ProjectSignal::read(&signal.write().unwrap()).as_ref(), Ok(signal), "{name}");
        }
        for malformed in &read.malformed {
            found.push((name.clone(), format!("malformed: {}: {}", malformed.place, malformed.reason)));
        }
    }
    let found: Vec<(&str, &str)> = found.iter().map(|(name, told)| (name.as_str(), told.as_str())).collect();
    assert_eq!(found, expected);
}

/// The signal that a value is.
#[track_caller]
fn one(value: &Json) -> ProjectSignal {
    let mut found = read(&value.to_string());
    let reasons: Vec<&str> = found.malformed.iter().map(|malformed| malformed.reason.as_str()).collect();
    assert!(reasons.is_empty() && found.signals.len() == 1, "{} signals, {reasons:?}", found.signals.len());
    found.signals.remove(0)
}

/// Why a text is no signal.
#[track_caller]
fn refusal(text: &str) -> String {
    let found = read(text);
    assert!(found.signals.is_empty(), "{text}");
    let reasons: Vec<String> =
        found.malformed.iter().map(|malformed| format!("{}: {}", malformed.place, malformed.reason)).collect();
    reasons.join("\n")
}

fn text(of: Option<&Untrusted<String>>) -> Option<String> {
    of.map(|text| show::exact_json(text).as_str().unwrap().to_owned())
}

/// A value of the fields, without its label.
fn field(signal: &ProjectSignal, pointer: &str) -> Json {
    let place = TreePlace::pointer(pointer).unwrap();
    signal.fields.get(&place).map(show::tree_json).unwrap_or_default()
}

/// The sources of a value of the fields.
fn sources(signal: &ProjectSignal, pointer: &str) -> Vec<String> {
    let tree = signal.fields.get(&TreePlace::pointer(pointer).unwrap());
    sources_of(tree.unwrap())
}

fn sources_of(tree: &LabelTree) -> Vec<String> {
    match tree.label().sources() {
        Sources::Named(named) => named.iter().map(|source| source.as_str().to_owned()).collect(),
        Sources::Many => vec!["many".to_owned()],
    }
}
