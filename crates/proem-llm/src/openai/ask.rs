//! What stands in a request beside its text:
//! <https://developers.openai.com/api/docs/guides/function-calling>,
//! <https://developers.openai.com/api/docs/guides/structured-outputs>.
//!
//! Compatible servers get nothing that only OpenAI knows: `strict` is sent to models that write by a
//! schema, and what is about calls only where there are tools.

use proem_engine::call::{Answering, Arrival, Choice, Request, Tool};
use proem_engine::providers::{Answers, Model, Quirk};
use serde_json::{Map, Value, json};

use crate::codec::body::{Body, Place, sorted};
use crate::projection::Target;

/// The highest temperature, in hundredths.
const MAX_TEMPERATURE: u16 = 200;

/// Adds to a body how it should be answered.
pub(crate) fn answer(body: &mut Body, request: &Request, model: &Model) -> Place {
    body.set_temperature(request, model, MAX_TEMPERATURE);
    if request.arrival == Arrival::Streamed {
        body.set("stream_options", json!({ "include_usage": true }));
    }
    match &request.answer {
        Answering::Text => {}
        Answering::Value { tool } => value(body, tool, model),
        Answering::Tools { tools, choice } if !tools.is_empty() => {
            set_tools(body, tools, model);
            match choice {
                Choice::Auto => body.set("tool_choice", json!("auto")),
                Choice::Any => force(body, model, json!("required")),
                Choice::One(name) => force_one(body, model, name),
            }
        }
        Answering::Tools { .. } => {}
    }
    ("/chat/completions", Vec::new())
}

fn value(body: &mut Body, tool: &Tool, model: &Model) {
    match model.answers {
        Answers::Schema => {
            let (schema, target) = body.schema(tool, Target::OpenAiStrict, "");
            let mut definition = described(tool);
            definition.insert(String::from("schema"), schema);
            definition.insert(String::from("strict"), json!(target == Target::OpenAiStrict));
            body.set("response_format", json!({ "type": "json_schema", "json_schema": definition }));
        }
        Answers::Object => body.set("response_format", json!({ "type": "json_object" })),
        Answers::Tool => {
            set_tools(body, core::slice::from_ref(tool), model);
            force_one(body, model, &tool.name);
        }
        Answers::Text => {}
    }
}

fn set_tools(body: &mut Body, tools: &[Tool], model: &Model) {
    let mut definitions = Vec::new();
    for tool in sorted(tools) {
        let prefix = format!("/tools/{}", tool.name);
        let mut function = described(tool);
        let wanted = if model.answers == Answers::Schema { Target::OpenAiStrict } else { Target::OpenAiPlain };
        let (parameters, target) = body.schema(tool, wanted, &prefix);
        function.insert(String::from("parameters"), parameters);
        if target == Target::OpenAiStrict {
            function.insert(String::from("strict"), json!(true));
        }
        definitions.push(json!({ "type": "function", "function": function }));
    }
    body.set("tools", Value::Array(definitions));
    if model.quirks.contains(&Quirk::ToolsWithoutReasoning) {
        body.set("reasoning_effort", json!("none"));
        body.drop("/reasoning_effort", format!("model `{}` supports tools only with reasoning turned off", model.name));
    }
}

/// Name and description, which OpenAI calls the same everywhere.
fn described(tool: &Tool) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert(String::from("name"), json!(tool.name));
    if !tool.description.is_empty() {
        fields.insert(String::from("description"), json!(tool.description));
    }
    fields
}

fn force_one(body: &mut Body, model: &Model, name: &str) {
    force(body, model, json!({ "type": "function", "function": { "name": name } }));
    body.set("parallel_tool_calls", json!(false));
}

/// Demands a call, where the model can be made to.
fn force(body: &mut Body, model: &Model, choice: Value) {
    if model.quirks.contains(&Quirk::NoForcedTools) {
        body.drop("/tool_choice", format!("model `{}` can't be forced to call a tool; the model decides", model.name));
        return body.set("tool_choice", json!("auto"));
    }
    body.set("tool_choice", choice);
}
