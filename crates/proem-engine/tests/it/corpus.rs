//! The fuzzer's inputs, as ordinary tests.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may stop at what it didn't expect, and reads the corpus"
)]

use std::collections::BTreeMap;
use std::path::Path;

use proem_engine::ErrorKind;
use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::contract::Contract;
use proem_engine::decode::{MAX_REPAIRS, decode_value};
use proem_engine::input::Inputs;
use proem_engine::policy::{Policy, ProposedAction};
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compat::{Dotprompt, RenderData};
use proem_engine::prompt::file::{PartialText, PromptFile};
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{InstallationKey, LabelTree, Untrusted};
use proem_text::{Label, Source};

/// The inputs of one target by name. The fuzzer's may be no text.
fn corpus(target: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inputs: BTreeMap<String, String> = entries
        .filter_map(|path| Some((path.display().to_string(), String::from_utf8(std::fs::read(path).ok()?).ok()?)))
        .collect();
    assert!(inputs.len() >= 12, "{target}: {} inputs", inputs.len());
    inputs
}

#[test]
fn front_matter_is_read_or_refused() {
    for (name, text) in corpus("front_matter") {
        let file = format!("---\n{text}\n---\n{{{{role \"system\"}}}}{{{{section \"role\"}}}}\nYou judge {{{{a}}}}.\n");
        if let Err(error) = PromptFile::parse("a.prompt", &file, &BTreeMap::new()) {
            assert!((1..=101).contains(&error.problems().len()), "{name}");
        }
        _ = Dotprompt::parse("a.prompt", &file, &BTreeMap::new(), &BTreeMap::new());
    }
}

#[test]
fn prompt_files_are_read_or_refused_and_accepted_ones_render() {
    for (name, text) in corpus("prompt_file") {
        let mut parts = text.split('\0');
        let file = parts.next().unwrap_or_default();
        let partials: BTreeMap<String, String> =
            ["p", "q", "r"].iter().zip(parts).map(|(name, text)| ((*name).to_owned(), text.to_owned())).collect();
        let plain = Dotprompt::parse("a.prompt", file, &partials, &BTreeMap::new());
        _ = plain.map(|prompt| prompt.render(&RenderData::default(), None));

        let mut files = BTreeMap::from([("a/b/1.0.0.prompt".to_owned(), PartialText::Template(file.to_owned()))]);
        files.extend(
            partials.into_iter().map(|(name, text)| (format!("a/b/_{name}.prompt"), PartialText::Template(text))),
        );
        let Ok(prompt) = Book::new(vec![BookLayer { origin: Origin::User, files }]).unwrap().prompt("a/b", None) else {
            continue;
        };
        let inputs: Inputs = ["a", "j"].into_iter().map(|input| (input.to_owned(), LabelTree::from("x"))).collect();
        let key = InstallationKey::new([7; 32]);
        let options = AssemblyOptions::new(&key);
        if let Err(error) = assemble_request(&prompt, &inputs, &mut CachingCounter::new(&OpenAi::O200k), &options) {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        }
    }
}

#[test]
fn any_answer_is_read_or_refused_and_what_was_read_settles() {
    let schema = serde_json::from_str(include_str!("../../../../fuzz/src/decode.json")).unwrap();
    let (contract, _) = Contract::bounded("answer", "", schema).unwrap();
    let mut accepted = 0;
    for (name, text) in corpus("decode") {
        let Ok(decoded) = decode_value(&text, &contract) else { continue };
        accepted += usize::from(contract.accepts(&decoded.value));
        assert!(decoded.repairs.len() <= MAX_REPAIRS + 1, "{name}");
        assert!(decoded.repairs.iter().all(|repair| text.get(repair.span.start..repair.span.end).is_some()), "{name}");
        assert_eq!(decode_value(&decoded.value.to_string(), &contract).unwrap().value, decoded.value, "{name}");
    }
    assert!(accepted > 5, "{accepted}");
}

#[test]
fn policies_are_read_or_refused_and_a_projects_only_narrows() {
    let shipped = Policy::shipped().unwrap();
    let mut read = 0;
    for (name, text) in corpus("policy") {
        let policy = match Policy::parse(&text, "policy.toml") {
            Ok(policy) => policy,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidFile, "{name}");
                continue;
            }
        };
        read += 1;
        let narrowed = shipped.narrowed_by(&policy);
        assert!(narrowed.level() <= shipped.level(), "{name}");
        for (action, terms) in narrowed.actions() {
            assert!(terms.list >= shipped.action(action).unwrap().list, "{name}: {action}");
        }
        assert_eq!(narrowed.recipients().count() + narrowed.domains().count(), 0, "{name}");
    }
    assert!(read >= 5, "{read} policies were read");
}

#[test]
fn actions_are_read_or_refused_and_read_back() {
    let policy = Policy::shipped().unwrap();
    let mut read = 0;
    for (name, text) in corpus("action") {
        let json = Untrusted::new(serde_json::from_str(&text).unwrap(), Label::from_source(Source::named("action")));
        let Ok(action) = ProposedAction::read(&json, &policy) else { continue };
        read += 1;
        let again = ProposedAction::stored(&action.write().unwrap(), &policy).unwrap();
        assert_eq!(again, action, "{name}");
        assert_eq!(again.key("p", &policy), action.key("p", &policy), "{name}");
    }
    assert!(read >= 8, "{read} actions were read");
}
