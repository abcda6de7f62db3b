//! A strict file that is accepted renders with any inputs of its schema. A plain one renders or says why not.
//!
//! A NUL in the input separates the file from its partials `p`, `q` and `r`.

use std::collections::BTreeMap;

use proem_engine::ErrorKind;
use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::input::Inputs;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compat::{Dotprompt, RenderData};
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::{CachingCounter, Exactness, TokenCounter};
use proem_guard::{InstallationKey, LabelTree, Untrusted};
use proem_text::Label;
use serde_json::Value as Json;

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let mut parts = text.split('\0');
    let file = parts.next().unwrap_or_default();
    let partials: BTreeMap<String, String> =
        ["p", "q", "r"].iter().zip(parts).map(|(name, text)| ((*name).to_owned(), text.to_owned())).collect();
    strict(file, &partials);
    if let Ok(prompt) = Dotprompt::parse("a.prompt", file, &partials, &BTreeMap::new()) {
        let input = serde_json::json!({ "a": "x", "b": ["y", { "c": "p" }], "c": { "d": 1 } });
        let input = OrderedJson::from(input).fields().expect("an object").clone();
        let data = RenderData { input: input.clone(), context: input, messages: Vec::new() };
        let text = prompt.text(&data);
        assert_eq!(text, prompt.text(&data), "the same values give the same text");
        if let Err(error) = prompt.render(&data, None) {
            assert_eq!(error.kind(), ErrorKind::Render, "{error}");
        }
    }
}

fn strict(file: &str, partials: &BTreeMap<String, String>) {
    let mut files = BTreeMap::from([("a/b/1.0.0.prompt".to_owned(), PartialText::Template(file.to_owned()))]);
    files.extend(
        partials.iter().map(|(name, text)| (format!("a/b/_{name}.prompt"), PartialText::Template(text.clone()))),
    );
    let book = Book::new(vec![BookLayer { origin: Origin::User, files }]).expect("no book.toml");
    let Ok(prompt) = book.prompt("a/b", None) else { return };
    let strict = &prompt.file.strict;
    let schema = prompt.file.input_schema();
    for full in [true, false] {
        let mut inputs = Inputs::new();
        let properties = schema.get("properties").and_then(Json::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let trusted = strict.inputs.iter().any(|(input, trust)| input == name && format!("{trust:?}") == "Trusted");
            if let Some(value) = value(property, trusted, full) {
                inputs.insert(name.clone(), value);
            }
        }
        let layers = BTreeMap::new();
        let key = InstallationKey::new([7; 32]);
        let options = AssemblyOptions {
            layers: &layers,
            context_and_code: full.then_some(40),
            input_tokens: full.then_some(60),
            ..AssemblyOptions::new(&key)
        };
        match assemble_request(&prompt, &inputs, &mut CachingCounter::new(&Bytes), &options) {
            Ok((assembly, report)) => {
                assert_eq!(report.totals.tokens, assembly.text().len());
                assert!(report.fit.worth <= report.fit.bound);
            }
            Err(error) => {
                let text = error.to_string();
                let is_limit = text.contains("larger than") || text.contains("steps");
                assert!(error.kind() != ErrorKind::Render || is_limit, "{text}");
                assert!(error.kind() != ErrorKind::TrustViolation, "{text}");
            }
        }
    }
}

/// A value of this schema; where `full` is false, as little as it allows.
fn value(schema: &Json, trusted: bool, full: bool) -> Option<LabelTree> {
    let text = |text: &str| match trusted {
        true => LabelTree::Text(text.to_owned()),
        false => LabelTree::Outside(Untrusted::new(text.to_owned(), Label::trusted())),
    };
    if let Some(first) = schema.get("enum").and_then(|values| values.get(0)) {
        return Some(first.as_str().map_or(LabelTree::Null, text));
    }
    let kind = match schema.get("type") {
        Some(Json::Array(_)) if !full => return None,
        Some(Json::Array(kinds)) => kinds.first().and_then(Json::as_str),
        Some(kind) => kind.as_str(),
        None => None,
    };
    Some(match kind {
        Some("number" | "integer") => 3.into(),
        Some("boolean") => LabelTree::Bool(full),
        Some("null") => LabelTree::Null,
        Some("array") => {
            let item = schema.get("items").and_then(|items| value(items, trusted, full)).unwrap_or_else(|| text("x"));
            LabelTree::list(if full { vec![item; 8] } else { Vec::new() })
        }
        Some("object") => {
            let mut map = Vec::new();
            for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
                if let Some(value) = value(property, trusted, full) {
                    map.push((name.as_str(), value));
                }
            }
            if let Some(extra) = schema.get("additionalProperties").filter(|extra| extra.is_object())
                && full
                && let Some(value) = value(extra, trusted, full)
            {
                map.push(("extra key", value));
            }
            LabelTree::map(map)
        }
        _ => text(if full { "some text\nof two lines" } else { "" }),
    })
}

/// CachingCounter bytes, which is fast and adds up.
#[derive(Debug)]
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn exactness(&self) -> Exactness {
        Exactness::Estimate
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }
}
