//! The parts of a request beside its text: <https://developers.openai.com/api/docs/guides/function-calling>,
//! <https://developers.openai.com/api/docs/guides/structured-outputs>.
//!
//! Compatible servers get nothing that only OpenAI knows: `strict` is sent to models that write by a
//! schema, and what is about calls only where there are tools.

use proem_engine::call::{AnswerForm, Arrival, Request, Tool, ToolChoice};
use proem_engine::providers::{Model, Quirk, SchemaEnforcement};
use serde_json::{Map, Value, json};

use crate::codec::body::{BodyBuilder, EndpointPath, SamplingNames, tools_by_name};
use crate::projection::SchemaDialect;

/// <https://platform.openai.com/docs/api-reference/chat/create>. It knows no `top_k`.
const SAMPLING: SamplingNames = SamplingNames { most_temperature: 200, top_k: None, stop: "stop" };

/// Adds to a body how it should be answered.
pub(crate) fn set_openai_answer(body: &mut BodyBuilder, request: &Request, model: &Model) -> EndpointPath {
    body.set_sampling(request, model, &SAMPLING);
    if request.arrival == Arrival::Streamed {
        body.set("stream_options", json!({ "include_usage": true }));
    }
    match &request.answer {
        AnswerForm::Text => {}
        AnswerForm::Value { tool } => ask_openai_for_value(body, tool, model),
        AnswerForm::Tools { tools, choice } if !tools.is_empty() => {
            set_openai_tools(body, tools, model);
            match choice {
                ToolChoice::Auto => body.set("tool_choice", json!("auto")),
                ToolChoice::None => body.set("tool_choice", json!("none")),
                ToolChoice::Any => force_openai_call(body, model, json!("required")),
                ToolChoice::One(name) => force_one(body, model, name),
            }
        }
        AnswerForm::Tools { .. } => {}
    }
    ("/chat/completions", Vec::new())
}

fn ask_openai_for_value(body: &mut BodyBuilder, tool: &Tool, model: &Model) {
    match model.answers {
        SchemaEnforcement::Schema => {
            let (schema, target) = body.schema(tool, SchemaDialect::OpenAiStrict, "");
            let mut definition = described_tool(tool);
            definition.insert(String::from("schema"), schema);
            definition.insert(String::from("strict"), json!(target == SchemaDialect::OpenAiStrict));
            body.set("response_format", json!({ "type": "json_schema", "json_schema": definition }));
        }
        SchemaEnforcement::Object => body.set("response_format", json!({ "type": "json_object" })),
        SchemaEnforcement::Tool => {
            set_openai_tools(body, core::slice::from_ref(tool), model);
            force_one(body, model, &tool.name);
        }
        SchemaEnforcement::Text => {}
    }
}

fn set_openai_tools(body: &mut BodyBuilder, tools: &[Tool], model: &Model) {
    let mut definitions = Vec::new();
    for tool in tools_by_name(tools) {
        let prefix = format!("/tools/{}", tool.name);
        let mut function = described_tool(tool);
        let wanted = if model.answers == SchemaEnforcement::Schema {
            SchemaDialect::OpenAiStrict
        } else {
            SchemaDialect::OpenAiPlain
        };
        let (parameters, target) = body.schema(tool, wanted, &prefix);
        function.insert(String::from("parameters"), parameters);
        if target == SchemaDialect::OpenAiStrict {
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
fn described_tool(tool: &Tool) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert(String::from("name"), json!(tool.name));
    if !tool.description.is_empty() {
        fields.insert(String::from("description"), json!(tool.description));
    }
    fields
}

fn force_one(body: &mut BodyBuilder, model: &Model, name: &str) {
    force_openai_call(body, model, json!({ "type": "function", "function": { "name": name } }));
    body.set("parallel_tool_calls", json!(false));
}

/// Demands a call, where the model can be made to.
fn force_openai_call(body: &mut BodyBuilder, model: &Model, choice: Value) {
    if model.quirks.contains(&Quirk::NoForcedTools) {
        body.drop("/tool_choice", format!("model `{}` can't be forced to call a tool; the model decides", model.name));
        return body.set("tool_choice", json!("auto"));
    }
    body.set("tool_choice", choice);
}
