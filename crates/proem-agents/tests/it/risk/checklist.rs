//! The required content of the prompts, as the checklists beside them list it.

use std::collections::BTreeMap;

use proem_agents::book::embedded_book;
use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::assembly::Assembly;
use proem_engine::input::Inputs;
use proem_engine::prompt::book::Book;
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{InstallationKey, LabelTree, Untrusted};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::risk::scene::section;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checklist {
    must: Vec<Must>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Must {
    what: String,
    section: String,
    words: Vec<String>,
}

/// A prompt with one line in each of its inputs.
fn assembled(prompt: &str) -> Assembly {
    let prompt = Book::new(vec![embedded_book()]).unwrap().prompt(prompt, None).unwrap();
    let schema = prompt.file.input_schema();
    let fields = schema["properties"].as_object().unwrap();
    let is_of = |field: &Json, kind: &str| {
        field["type"] == kind || field["type"].as_array().is_some_and(|kinds| kinds.contains(&json!(kind)))
    };
    let given = |field: &Json| match field {
        field if is_of(field, "integer") => json!(1),
        field if is_of(field, "array") => json!(["a line"]),
        _ => json!("a text"),
    };
    let trusted: Vec<&str> = prompt.file.strict.inputs.iter().map(|(name, _)| name.as_str()).collect();
    let outside = proem_text::Label::from_source(proem_text::Source::named("input"));
    let inputs: Inputs = fields
        .iter()
        .map(|(name, field)| {
            let tree = if trusted.contains(&name.as_str()) {
                LabelTree::from_trusted(&given(field))
            } else {
                LabelTree::from_outside(&Untrusted::new(given(field), outside.clone()))
            };
            (name.clone(), tree.unwrap())
        })
        .collect();
    let key = InstallationKey::new([7; 32]);
    let layers = BTreeMap::new();
    let options = AssemblyOptions { layers: &layers, ..AssemblyOptions::new(&key) };
    assemble_request(&prompt, &inputs, &mut CachingCounter::new(&OpenAi::O200k), &options).unwrap().0
}

fn missing(prompt: &str, checklist: &str) -> Vec<String> {
    let checklist: Checklist = toml::from_str(checklist).unwrap();
    let assembly = assembled(prompt);
    let lacks = |must: &Must| {
        let text = section(&assembly, &must.section);
        let absent = must.words.iter().filter(|words| !text.contains(words.as_str()));
        absent.map(|words| format!("{}: `{words}`", must.what)).collect::<Vec<_>>()
    };
    checklist.must.iter().flat_map(lacks).collect()
}

#[test]
fn the_prompts_say_everything_on_their_checklists() {
    let decision = include_str!("../../../book/risk/decision/1.0.0.checklist.toml");
    let synthesis = include_str!("../../../book/risk/synthesis/1.0.0.checklist.toml");
    let feedback = include_str!("../../../book/risk/feedback/1.0.0.checklist.toml");
    let variant = include_str!("../../../book/improve/variant/1.0.0.checklist.toml");
    for (prompt, checklist) in [
        ("risk/decision", decision),
        ("risk/synthesis", synthesis),
        ("risk/feedback", feedback),
        ("improve/variant", variant),
    ] {
        assert_eq!(missing(prompt, checklist), Vec::<String>::new(), "{prompt}");
    }
}

#[test]
fn what_a_prompt_does_not_say_is_found() {
    let text = "[[must]]\nwhat = 'sing'\nsection = 'rules'\nwords = ['Sing']\n";
    assert_eq!(missing("risk/decision", text), ["sing: `Sing`"]);
}
