//! What stands in a request beside its text:
//! <https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use>,
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>.
//!
//! Tools come before the system text in a cached prefix, so a breakpoint there covers them.

use proem_engine::call::{Answering, Choice, Request, Tool};
use proem_engine::providers::{Answers, Model, Quirk};
use serde_json::{Value, json};

use super::enforced::enforced;
use crate::codec::body::{Body, Place, sorted};
use crate::projection::Target;

/// The version of the protocol: <https://platform.claude.com/docs/en/api/versioning>.
const VERSION: &str = "2023-06-01";

/// The highest temperature, in hundredths.
const MAX_TEMPERATURE: u16 = 100;

/// Whether the model may call several tools at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    Several,
    One,
}

/// Adds to a body how it should be answered.
pub(crate) fn answer(body: &mut Body, request: &Request, model: &Model) -> Place {
    body.set_temperature(request, model, MAX_TEMPERATURE);
    match &request.answer {
        Answering::Text => {}
        Answering::Value { tool } => value(body, tool, model),
        Answering::Tools { tools, choice } => {
            set_tools(body, tools);
            match choice {
                Choice::Auto if tools.is_empty() => {}
                Choice::Auto => body.set("tool_choice", json!({ "type": "auto" })),
                Choice::Any => force(body, model, json!({ "type": "any" }), Calls::Several),
                Choice::One(name) => force(body, model, json!({ "type": "tool", "name": name }), Calls::One),
            }
        }
    }
    ("/v1/messages", vec![("anthropic-version", VERSION.to_owned())])
}

fn value(body: &mut Body, tool: &Tool, model: &Model) {
    match model.answers {
        Answers::Tool => force_value(body, tool, model),
        Answers::Schema => {
            let (schema, target) = body.schema(tool, Target::OpenAiStrict, "");
            let Some((schema, dropped)) = enforced(schema).filter(|_| target == Target::OpenAiStrict) else {
                body.drop("/output_config", "this schema can't be enforced; the value is requested as a tool call");
                return force_value(body, tool, model);
            };
            body.drop_all(dropped, "");
            body.set("output_config", json!({ "format": { "type": "json_schema", "schema": schema } }));
        }
        Answers::Object | Answers::Text => {}
    }
}

fn force_value(body: &mut Body, tool: &Tool, model: &Model) {
    set_tools(body, core::slice::from_ref(tool));
    force(body, model, json!({ "type": "tool", "name": tool.name }), Calls::One);
}

fn set_tools(body: &mut Body, tools: &[Tool]) {
    let mut definitions = Vec::new();
    for tool in sorted(tools) {
        let (schema, _) = body.schema(tool, Target::AnthropicTool, &format!("/tools/{}", tool.name));
        let mut definition = json!({ "name": tool.name, "input_schema": schema });
        if let Some(fields) = definition.as_object_mut().filter(|_| !tool.description.is_empty()) {
            fields.insert(String::from("description"), json!(tool.description));
        }
        definitions.push(definition);
    }
    if !definitions.is_empty() {
        body.set("tools", Value::Array(definitions));
    }
}

/// Demands a call, where the model can be made to.
fn force(body: &mut Body, model: &Model, choice: Value, calls: Calls) {
    let mut choice = choice;
    if model.quirks.contains(&Quirk::NoForcedTools) {
        body.drop("/tool_choice", format!("model `{}` can't be forced to call a tool; the model decides", model.name));
        choice = json!({ "type": "auto" });
    }
    if let Some(fields) = choice.as_object_mut().filter(|_| calls == Calls::One) {
        fields.insert(String::from("disable_parallel_tool_use"), json!(true));
    }
    body.set("tool_choice", choice);
}
