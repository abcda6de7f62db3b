//! A request in the order of the specification's seven sections, with its figures beside ours.

use proem_engine::assembly::Assembly;

use super::super::definition::AgentDefinition;

/// One of the seven sections of the specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewPart {
    /// The heading, in the specification's words.
    pub heading: &'static str,
    /// Its text as it is sent.
    pub text: String,
    /// Its tokens by the request's counter.
    pub tokens: usize,
    /// About how many tokens the specification names for it. `None` is left to the mission.
    pub figure: Option<usize>,
}

/// The specification's figures (section "Token Budget Considerations"): tokens of fixed sections, of a field and of a
/// tool.
const ROLE: usize = 50;
const RULES: usize = 80;
const FIELD: usize = 10;
const TOOL: usize = 30;
const REFERENCE: usize = 400;
const FORMAT: usize = 50;

/// The sections of a request in the specification's order. `history` stands for the turns, which it has no place for.
const ORDER: [&str; 11] = [
    "role",
    "rules",
    "inventory",
    "samples",
    "tools",
    "reference",
    "format",
    "history",
    "profile",
    "values",
    "mission",
];

/// The place of a section in the specification's order. A turn is before the mission.
#[must_use]
pub fn specified_place(section: &str) -> usize {
    let section = section.split('/').next().unwrap_or_default();
    ORDER.iter().position(|known| *known == section).unwrap_or(ORDER.len())
}

/// The seven sections of a request in the specification's order, without those that it doesn't have. Turns are no part
/// of them.
#[must_use]
pub fn preview_parts(agent: &AgentDefinition, assembly: &Assembly) -> Vec<PreviewPart> {
    // `return` and `fail` are tools, and `ctx/fail` is a field.
    let tools = agent.tools.len().saturating_add(agent.catalogue.len()).saturating_add(2);
    let fields = agent.signature.parameters().count().saturating_add(1);
    let parts: [(&'static str, &[&str], Option<usize>); 7] = [
        ("Role", &["role"], Some(ROLE)),
        ("Rules", &["rules"], Some(RULES)),
        ("Data Inventory", &["inventory", "samples"], Some(FIELD.saturating_mul(fields))),
        ("Available Tools", &["tools"], Some(TOOL.saturating_mul(tools))),
        ("PTC-Lisp Quick Reference", &["reference"], Some(REFERENCE)),
        ("Output Format", &["format"], Some(FORMAT)),
        ("Mission", &["profile", "values", "mission"], None),
    ];
    let parts = parts.into_iter().map(|(heading, names, figure)| {
        let (mut text, mut tokens) = (String::new(), 0_usize);
        for name in names {
            for section in assembly.sections.iter().filter(|section| section.name == *name) {
                text.push_str(&section.text);
                tokens = tokens.saturating_add(section.tokens);
            }
        }
        PreviewPart { heading, text, tokens, figure }
    });
    parts.filter(|part| !part.text.is_empty()).collect()
}
