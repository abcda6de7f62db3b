//! The tools of the prompt, with their signatures.

use proem_engine::input::Inputs;
use proem_guard::LabelTree;
use proem_lisp::Signature;
use serde_json::json;

use super::super::definition::AgentDefinition;
use super::trusted_tree;

/// The inputs for tools that programs may call and those that are shown for planning.
pub(super) fn tool_inputs(agent: &AgentDefinition) -> Inputs {
    let tools = agent.tools.iter().map(|(name, tool)| tool_row(name, &tool.signature, &tool.description));
    let planning = agent.catalogue.iter().map(|(name, signature)| tool_row(name, signature, ""));
    Inputs::from([
        ("tools".to_owned(), LabelTree::list(tools)),
        ("unlisted".to_owned(), LabelTree::from(0_u64)),
        ("planning".to_owned(), LabelTree::list(planning)),
    ])
}

fn tool_row(name: &str, signature: &Signature, description: &str) -> LabelTree {
    let text = signature.to_string();
    let signature = if signature.name().is_some() { text } else { format!("{name}{text}") };
    trusted_tree(&json!({ "name": name, "signature": signature, "description": description }))
}
