//! Assemblies for tests, written in one line.

use proem_engine::assembly::{Assembly, PlacedSection, PromptId, SectionPart};
use proem_engine::cache::{Breakpoint, CachePlan, CachePrediction};
use proem_engine::media::{MediaFacts, MediaKind, MediaSource};
use proem_engine::message::Role;
use proem_engine::providers::{Model, Providers};
use proem_engine::section::{CacheClass, Layer, SectionGroup, Trust};
use proem_engine::tokens::Exactness;
use proem_text::{Label, Span};

/// Sections as `role:text`, with `|` where a breakpoint stands and `_` for a blank line.
pub(crate) fn parse_sample(text: &str) -> (Assembly, CachePlan) {
    let (mut sections, mut breakpoints) = (Vec::new(), Vec::new());
    for (after, word) in text.split_whitespace().enumerate() {
        let (role, text) = word.split_once(':').unwrap();
        if text.ends_with('|') {
            breakpoints.push(after);
        }
        let text = text.trim_end_matches('|').replace('_', "\n");
        sections.push((Role::parse(role).unwrap(), text));
    }
    sample_assembly(sections, &breakpoints)
}

/// Sections of those roles and texts, with a breakpoint after each of those indices.
pub(crate) fn sample_assembly(sections: Vec<(Role, String)>, breakpoints: &[usize]) -> (Assembly, CachePlan) {
    let place = |(index, (role, text)): (usize, (Role, String))| PlacedSection {
        part: None,
        name: format!("s{index}"),
        role,
        trust: Trust::Trusted,
        cache: CacheClass::Static,
        layer: Layer::Context,
        rank: SectionGroup::TrustedStatic,
        text,
        label: Label::trusted(),
        tokens: 1,
        range: Span::new(0, 0),
    };
    let assembly = Assembly {
        prompt: PromptId {
            agent: String::from("assemble"),
            name: String::from("task"),
            version: String::from("1.0.0"),
            closure: "0f".repeat(32),
        },
        sections: sections.into_iter().enumerate().map(place).collect(),
        boundaries: breakpoints.to_vec(),
        output_tokens: 200,
    };
    let breakpoint =
        |after: &usize| Breakpoint { after: *after, section: format!("s{after}"), prefix_tokens: after + 1 };
    let plan = CachePlan {
        model: String::from("m"),
        breakpoints: breakpoints.iter().map(breakpoint).collect(),
        stable_tokens: 0,
        total_tokens: assembly.tokens(),
        exactness: Exactness::Exact,
        verdict: CachePrediction::Caches,
        break_even_calls: None,
        lifetime_seconds: None,
        saving_percent: None,
    };
    (assembly, plan)
}

/// A conversation with a call of a tool and its result, and a picture before the question.
pub(crate) fn conversation(picture: MediaSource) -> (Assembly, CachePlan) {
    let (mut assembly, plan) = parse_sample(
        "system:role user:ask model:look model:{} model:{\"a\":1} user:found user:more user:AAAA user:task",
    );
    let call = |id: &str| Some(SectionPart::Call { id: String::from(id), name: String::from("find") });
    let result = |id: &str| Some(SectionPart::CallResult { id: String::from(id), name: String::from("find") });
    let media = Some(SectionPart::Media { source: picture, most_tokens: 9 });
    let parts = [None, None, None, call("c1"), call("c2"), result("c1"), result("c2"), media, None];
    assembly.sections.iter_mut().zip(parts).for_each(|(section, part)| section.part = part);
    (assembly, plan)
}

/// A picture, or a document, in a request.
pub(crate) fn inline(kind: MediaKind) -> MediaSource {
    MediaSource::Inline(MediaFacts { kind, bytes: 3, width: None, height: None, pages: None, hash: String::new() })
}

pub(crate) fn built_in_model(name: &str) -> Model {
    Providers::load().unwrap().model(name).unwrap().clone()
}
