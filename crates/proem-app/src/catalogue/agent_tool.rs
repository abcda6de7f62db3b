//! A tool of a server as a table for an agent's file, for a person to review and keep there.

use proem_guard::show;
use proem_lisp::{Limits, Meter, Signature, read_json};
use proem_select::catalogue::Capability;
use proem_text::json;
use serde_json::json as document;

use super::exact_text;
use crate::error::Error;

/// The most characters of a description. A model reads it with every turn.
const MOST_DESCRIPTION: usize = 200;

/// The table `[tools.NAME]` that calls an approved tool of a server. Its parameters are those of the server's schema. Of
/// the result a server says nothing here, and nothing of a call's effects counts, so both are left to the person.
///
/// # Errors
///
/// If the entry is no tool of a server, nobody approved it, or its parameters can't be a signature.
pub fn agent_tool_table(entry: &Capability) -> Result<String, Error> {
    let name = entry.name().as_str();
    let Some(server) = entry.server() else {
        return Err(Error::negative(format!("`{name}` is no tool of a server, so no agent can call it by that")));
    };
    let Some(definition) = entry.approved() else {
        let problem = format!("nobody approved the definition of `{name}`; run `proem catalogue approve {name}` first");
        return Err(Error::negative(problem));
    };
    let schema = definition.parameters.unwrap_or_else(|| document!({ "type": "object" }));
    let unusable = |why: String| {
        Error::negative(format!("the parameters of `{name}` can't be a signature, so write one by hand: {why}"))
    };
    let schema = read_json(&json::compact(&schema), &mut Meter::new(Limits::default()))
        .map_err(|problem| unusable(problem.diagnostic.message))?;
    let made = Signature::of_schema("", &schema, None).map_err(|problems| unusable(problems.join("; ")))?;
    let tool = exact_text(entry.own_name());
    let short = tool.replace('_', "-");
    let description = definition.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let description: String = description.chars().take(MOST_DESCRIPTION).collect();
    let text = |text: &str| toml::Value::from(show::terminal_str(text).into_string()).to_string();
    let mut table = format!(
        "[tools.{short}]\nsignature = {}\ndescription = {}\nmcp = {{ server = {}, tool = {} }}\n\
         # effect = false    # if a call changes nothing\n\
         # `mcp` takes `output = \"text\"` for answers that are text; the signature then ends in `-> :string`\n",
        text(&made.signature.to_string()),
        text(&description),
        text(server.as_str()),
        text(&tool),
    );
    if !made.dropped.is_empty() {
        table.push_str(&format!("# not in the signature: {}\n", show::terminal_str(&made.dropped.join(", "))));
    }
    Ok(table)
}
