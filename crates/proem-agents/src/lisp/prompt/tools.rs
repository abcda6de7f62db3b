//! The tools of the prompt, with their signatures, the most relevant to the mission last to shrink.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proem_engine::Error;
use proem_engine::input::Inputs;
use proem_guard::LabelTree;
use proem_lisp::Signature;
use proem_select::catalogue::tools_list::parse_tools_list;
use proem_select::catalogue::{Approvals, Catalogue, CatalogueName, SourceFile, SourceTrust};
use proem_select::select::{CatalogueIndex, Selector, UsageHistory};
use serde_json::json;

use super::super::definition::AgentDefinition;

/// The name of the server that the ranking knows the tools by.
const SERVER: &str = "agent";

/// Ranks tools. Read once.
static SELECTOR: LazyLock<Result<Selector, Error>> = LazyLock::new(Selector::shipped);

/// The inputs for tools that programs may call and those that are shown for planning.
///
/// # Errors
///
/// [`proem_engine::ErrorKind::InvalidFile`] if a shipped file is broken.
pub(super) fn tool_inputs(agent: &AgentDefinition) -> Result<Inputs, Error> {
    let shares = relevance(agent)?;
    let tools = agent.tools.iter().map(|(name, tool)| {
        let share = shares.get(name.as_str()).copied().unwrap_or(100);
        tool_item(name, &tool.signature, &tool.description, share)
    });
    let planning = agent.catalogue.iter().map(|(name, signature)| tool_item(name, signature, "", 0));
    Ok(Inputs::from([
        ("tools".to_owned(), LabelTree::list(tools)),
        ("has_planning".to_owned(), LabelTree::Bool(!agent.catalogue.is_empty())),
        ("planning".to_owned(), LabelTree::list(planning)),
    ]))
}

fn tool_item(name: &str, signature: &Signature, description: &str, share: u64) -> LabelTree {
    let text = signature.to_string();
    let own = if signature.name().is_some() { "" } else { name };
    let outline = format!("```\n{own}{text}\n```");
    let full = format!("{outline}\n{description}");
    LabelTree::from([
        ("name", LabelTree::from(name)),
        ("share", LabelTree::from(share)),
        ("full", LabelTree::from(full.trim_end())),
        ("outline", LabelTree::from(outline)),
    ])
}

/// How relevant each tool is to the mission, in per cent of the most relevant.
fn relevance(agent: &AgentDefinition) -> Result<BTreeMap<&str, u64>, Error> {
    if agent.tools.len() < 2 {
        return Ok(BTreeMap::new());
    }
    let selector = SELECTOR.as_ref().map_err(Error::clone)?;
    let tools = agent.tools.iter().map(|(name, tool)| {
        let properties = tool.signature.parameters().map(|name| (name.to_owned(), json!({})));
        let parameters = properties.collect::<serde_json::Map<_, _>>();
        let schema = json!({ "type": "object", "properties": parameters });
        json!({ "name": name, "description": tool.description, "inputSchema": schema })
    });
    let text = json!({ "tools": tools.collect::<Vec<_>>() }).to_string();
    let file = SourceFile { path: SERVER.to_owned(), standing: SourceTrust::Own, text };
    let catalogue = Catalogue::new(parse_tools_list(&file, SERVER), &Approvals::default());
    let index = CatalogueIndex::new(catalogue.entries(), &UsageHistory::default(), selector);
    let ranking = selector.rank(catalogue.entries(), &index, &selector.query(&agent.mission), None)?;
    let all = u64::try_from(ranking.ranked.len().max(1)).unwrap_or(u64::MAX);
    let names: BTreeMap<CatalogueName, &str> =
        agent.tools.keys().map(|name| (CatalogueName::joined(Some(SERVER), name), name.as_str())).collect();
    let share = |(behind, ranked): (u64, &proem_select::select::RankedEntry)| {
        let name = names.get(catalogue.entries().get(ranked.entry)?.name())?;
        Some((*name, 100_u64.saturating_sub(behind.saturating_mul(90) / all)))
    };
    Ok((0..).zip(&ranking.ranked).filter_map(share).collect())
}
