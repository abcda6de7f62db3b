//! A user with a few recorded runs, and what of their outputs differs from time to time.

use std::process::Command;

use proem_llm::scripted::{Reply, ScriptedServer, ScriptedUsage, ServerScript};
use serde_json::json;

use crate::fixture::Fixture;

const PROMPT: &str = "---
model: small
input:
  schema: { title: string }
proem:
  version: 1.0.0
  purpose: decide how bad a reported problem is
  output_schema: triage.schema.json
  budget: { input: 20000, output: 200 }
  fallback: { severity: high }
  sections:
    - { name: role, trust: constitution }
    - { name: rules, trust: trusted, cache: static }
    - { name: report, trust: untrusted, cache: never, keep: required }
---
{{role \"system\"}}{{section \"role\"}}
Judge the severity of one reported problem.
{{section \"rules\"}}
RULES
{{role \"user\"}}{{section \"report\"}}
{{title}}
";

const SCHEMA: &str = r#"{ "type": "object", "properties": { "severity": { "enum": ["high", "low"] } },
"required": ["severity"], "additionalProperties": false }"#;

/// A server that gives these answers, and a user who asks it.
pub(crate) fn scene(replies: Vec<Reply>) -> (ScriptedServer, Fixture) {
    let server = ScriptedServer::start(ServerScript::of(replies)).unwrap();
    let mut fixture = Fixture::folder();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    fixture.set("TERM", "xterm-256color");
    let provider = format!("base_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\nattempts = 1\n", server.address());
    let budget = "[budget.project]\nday = 0.25\n";
    fixture.configure("config.toml", &format!("[providers.anthropic]\n{provider}{budget}"));
    rules(&fixture, "Look twice before a report is judged.");
    fixture.configure("book/reviews/triage/triage.schema.json", SCHEMA);
    (server, fixture)
}

/// Writes the prompt with these rules, long enough for a cache.
fn rules(fixture: &Fixture, first: &str) {
    let all: String = (0..500).map(|n| format!("{n}. Whoever reports something is thanked.\n")).collect();
    fixture.configure("book/reviews/triage/1.0.0.prompt", &PROMPT.replace("RULES", &format!("{first}\n{all}")));
}

pub(crate) fn answer(severity: &str, write: u64, read: u64) -> Reply {
    let counts =
        ScriptedUsage { input: 7_000, cache_read: read, cache_write: write, output: 20, ..ScriptedUsage::default() };
    Reply::value(json!({ "severity": severity })).using(Some(counts))
}

/// Asks once. The exit code.
pub(crate) fn ask(fixture: &Fixture, title: &str) -> i32 {
    fixture.proem(&["run", "reviews/triage", "--set", &format!("title={title}")]).code()
}

/// Three runs: answered, answered at the second try from the cache, and fallen back after a change of the rules.
pub(crate) fn recorded() -> (ScriptedServer, Fixture) {
    let wrong = || answer("worst", 0, 6_500);
    let (server, fixture) =
        scene(vec![answer("low", 6_500, 0), wrong(), answer("high", 0, 6_500), answer("worst", 6_500, 0), wrong()]);
    assert_eq!((ask(&fixture, "It crashes"), ask(&fixture, "It hangs")), (0, 0));
    rules(&fixture, "Look three times before a report is judged.");
    assert_eq!(ask(&fixture, "It burns"), 3);
    (server, fixture)
}

/// The binary in a fixture.
pub(crate) fn proem(fixture: &Fixture, args: &[&str]) -> Command {
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    command.args(args);
    command
}

/// A text without what differs from time to time: ids, times, durations, and the fixture's folder.
pub(crate) fn settled(fixture: &Fixture, text: &str) -> String {
    let text = text.replace(fixture.base.to_str().unwrap(), "[base]");
    let text = blanked(
        &text,
        |c| c.is_ascii_digit() || ('a'..='f').contains(&c),
        |run| matches!(run.len(), 8 | 12 | 16 | 64).then(|| "x".repeat(run.len().min(16))),
    );
    let text = blanked(
        &text,
        |c| c.is_ascii_digit() || matches!(c, '-' | ':'),
        |run| {
            let is_time = run.len() >= 5 && run.contains(['-', ':']) && run.contains(|c: char| c.is_ascii_digit());
            is_time.then(|| run.replace(|c: char| c.is_ascii_digit(), "#"))
        },
    );
    let line = |line: &str| {
        let line = without_durations(line);
        // How long a bar of durations is follows from the machine, as they do.
        line.replace("N ms «cyan»▒«»", "N ms «cyan»«»")
            .replace("N ms «dim»▒«»", "N ms «dim»«»")
            .replace("N ms ▒", "N ms")
            .trim_end()
            .to_owned()
    };
    text.lines().map(|text| format!("{}\n", line(text))).collect()
}

/// Replaces each longest run of characters of a kind, where `by` gives something.
fn blanked(text: &str, kind: impl Fn(char) -> bool, by: impl Fn(&str) -> Option<String>) -> String {
    let (mut out, mut run) = (String::new(), String::new());
    for c in text.chars().map(Some).chain([None]) {
        match c {
            Some(c) if kind(c) => run.push(c),
            other => {
                out.push_str(&by(&run).unwrap_or_else(|| run.clone()));
                run.clear();
                out.extend(other);
            }
        }
    }
    out
}

/// Blanks how long something took, with what is drawn of it.
fn without_durations(line: &str) -> String {
    if !line.contains(" ms") {
        return line.to_owned();
    }
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    let word = |(index, word): (usize, &&str)| {
        let is_time = words.get(index + 1).is_some_and(|next| next.starts_with("ms"));
        let is_drawn = |c: &char| ('\u{2580}'..='\u{259f}').contains(c);
        if is_time {
            "N".to_owned()
        } else {
            blanked(word, |c| is_drawn(&c), |run| (!run.is_empty()).then(|| "▒".to_owned()))
        }
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}
