//! Any history is read or refused; what is read has no turn of the operator's, and each call its one result behind it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::assembly::SectionPart;
use proem_engine::input::Inputs;
use proem_engine::message::Role;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{InstallationKey, LabelTree, Untrusted};
use proem_text::{Label, Source};
use serde_json::Value as Json;

const FILE: &str = "---\nproem:\n  version: 1.0.0\n  tools: [find.schema.json]\n  sections: [{ name: a, trust: task \
                    }]\n---\n{{history}}{{role \"user\"}}{{section \"a\"}}\nGo on.\n";

static PROMPT: LazyLock<Prompt> = LazyLock::new(|| {
    let files = BTreeMap::from([
        ("a/b/1.0.0.prompt".to_owned(), PartialText::Template(FILE.to_owned())),
        ("a/b/find.schema.json".to_owned(), PartialText::Literal(r#"{ "type": "object" }"#.to_owned())),
    ]);
    let book = Book::new(vec![BookLayer { origin: Origin::User, files }]);
    let prompt = book.and_then(|book| book.prompt("a/b", None));
    prompt.unwrap_or_else(|error| panic!("the prompt is read: {error}"))
});

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let Ok(history) = serde_json::from_str::<Json>(text) else { return };
    let history = Untrusted::new(history, Label::from_source(Source::named("input/history")));
    let Ok(history) = LabelTree::from_outside(&history) else { return };
    let key = InstallationKey::new([1; 32]);
    let inputs = Inputs::from([("history".to_owned(), history)]);
    let options = AssemblyOptions::new(&key);
    let Ok((assembly, report)) = assemble_request(&PROMPT, &inputs, &mut CachingCounter::new(&OpenAi::O200k), &options)
    else {
        return;
    };
    assert_eq!(report.sections.len(), assembly.sections.len());
    let mut open: Vec<&str> = Vec::new();
    for section in &assembly.sections {
        assert_ne!(section.role, Role::System);
        match &section.part {
            Some(SectionPart::Call { id, .. }) => {
                assert_eq!(section.role, Role::Model);
                assert!(serde_json::from_str::<Json>(&section.text).is_ok_and(|arguments| arguments.is_object()));
                open.push(id);
            }
            Some(SectionPart::CallResult { id, .. }) => {
                let place = open.iter().position(|open| open == id);
                assert!(place.is_some_and(|place| open.remove(place) == id));
            }
            _ => assert!(open.is_empty(), "something is said before a call has its result"),
        }
    }
    assert!(open.is_empty());
}
