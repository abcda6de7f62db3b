//! A prompt of 64 sections and about 20,000 tokens with its inputs.

use std::collections::BTreeMap;

use proem_engine::assemble::{AssemblyOptions, assemble_request};
use proem_engine::assembly::Assembly;
use proem_engine::input::Inputs;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::report::Report;
use proem_engine::section::Layer;
use proem_engine::tokens::CachingCounter;
use proem_guard::{InstallationKey, LabelTree, Untrusted};
use proem_text::{Label, Source};

const WORDS: [&str; 16] = [
    "the", "parser", "reads", "a", "date", "from", "each", "line", "and", "returns", "an", "error", "when", "its",
    "month", "is",
];

/// Prose of `words` words, different for each `seed`.
pub(crate) fn prose(seed: usize, words: usize) -> String {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let mut text = String::new();
    for index in 0..words {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(WORDS.get((state >> 33) % WORDS.len()).copied().unwrap_or_default());
        text.push(if index % 14 == 13 { '\n' } else { ' ' });
    }
    text
}

/// Sections of trusted text of our own, of trusted inputs, and of text from outside.
pub(crate) const OURS: usize = 24;
pub(crate) const TRUSTED: usize = 16;
pub(crate) const OUTSIDE: usize = 23;

pub(crate) struct Large {
    prompt: Prompt,
    inputs: Inputs,
    key: InstallationKey,
    layers: BTreeMap<Layer, usize>,
}

impl Large {
    pub(crate) fn new() -> Self {
        let (mut schema, mut trust, mut sections, mut body) =
            (String::new(), String::new(), String::new(), String::new());
        let mut inputs = Inputs::new();
        body.push_str("{{role \"system\"}}");
        for n in 0..OURS {
            sections.push_str(&format!("    - {{ name: ours{n}, trust: rules }}\n"));
            body.push_str(&format!("{{{{section \"ours{n}\"}}}}\n{}\n", prose(n, 300)));
        }
        body.push_str("{{role \"user\"}}");
        for n in 0..TRUSTED {
            schema.push_str(&format!("    t{n}(array): {{ name: string, text: string }}\n"));
            trust.push_str(&format!("    t{n}: {{ trust: trusted }}\n"));
            sections.push_str(&format!("    - {{ name: trusted{n}, trust: trusted }}\n"));
            body.push_str(&format!("{{{{section \"trusted{n}\"}}}}\nFacts:\n{{{{#each t{n}}}}}\n- {{{{name}}}}: {{{{text}}}}\n{{{{/each}}}}\n"));
            let item =
                |at: usize| LabelTree::from([("name", prose(at, 2).into()), ("text", prose(n * 100 + at, 25).into())]);
            inputs.insert(format!("t{n}"), LabelTree::list((0..11).map(item)));
        }
        for n in 0..OUTSIDE {
            schema.push_str(&format!("    u{n}(array): string\n"));
            sections.push_str(&format!(
                "    - {{ name: outside{n}, trust: untrusted, ladder: {{ u{n}: [full, brief, count, omitted] }} }}\n"
            ));
            body.push_str(&format!(
                "{{{{section \"outside{n}\"}}}}\nFound:\n{{{{#each u{n}}}}}\n- {{{{this}}}}\n{{{{/each}}}}\n"
            ));
            let item = |at: usize| -> LabelTree {
                Untrusted::new(prose(n * 1000 + at, 28), Label::from_source(Source::named("bench"))).into()
            };
            inputs.insert(format!("u{n}"), LabelTree::list((0..11).map(item)));
        }
        schema.push_str("    task: string\n");
        trust.push_str("    task: { trust: trusted }\n");
        sections.push_str("    - { name: task, trust: task }\n");
        body.push_str("{{section \"task\"}}\n{{task}}\n");
        let text = format!(
            "---\ninput:\n  schema:\n{schema}proem:\n  version: 1.0.0\n  inputs:\n{trust}  sections:\n{sections}---\n{body}"
        );
        let files = BTreeMap::from([("bench/large/1.0.0.prompt".to_owned(), PartialText::Template(text))]);
        let book = Book::new(vec![BookLayer { origin: Origin::User, files }]).unwrap();
        let prompt = book.prompt("bench/large", None).map_err(|e| e.to_string()).unwrap();
        inputs.insert("task".into(), Self::task(0).into());
        Self { prompt, inputs, key: InstallationKey::new([7; 32]), layers: BTreeMap::new() }
    }

    pub(crate) fn task(task: usize) -> String {
        format!("Task {task}: {}", prose(task, 20))
    }

    /// Another task. Everything else stays the same.
    pub(crate) fn set_task(&mut self, task: usize) {
        self.inputs.insert("task".into(), Self::task(task).into());
    }

    pub(crate) fn assemble(&self, counts: &mut CachingCounter<'_>) -> (Assembly, Report) {
        let options =
            AssemblyOptions { layers: &self.layers, input_tokens: Some(32_000), ..AssemblyOptions::new(&self.key) };
        assemble_request(&self.prompt, &self.inputs, counts, &options).unwrap()
    }
}
