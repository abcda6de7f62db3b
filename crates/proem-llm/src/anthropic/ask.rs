//! The parts of a request beside its text:
//! <https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use>,
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>.
//!
//! Tools come before the system text in a cached prefix, so a breakpoint there covers them.

use proem_engine::call::{AnswerForm, Request, Tool, ToolChoice};
use proem_engine::providers::{Model, Quirk, SchemaEnforcement};
use serde_json::{Value, json};

use super::output_schema::enforced_schema;
use crate::codec::body::{BodyBuilder, EndpointPath, SamplingNames, tools_by_name};
use crate::projection::SchemaDialect;

/// The version of the protocol: <https://platform.claude.com/docs/en/api/versioning>.
pub(crate) const VERSION: &str = "2023-06-01";

/// The header that lets a request ask how it differs from an earlier one:
/// <https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics>. Endpoints that need it no longer ignore
/// it.
const CACHE_DIAGNOSIS: &str = "cache-diagnosis-2026-04-07";

/// <https://platform.claude.com/docs/en/api/messages>.
const SAMPLING: SamplingNames = SamplingNames { most_temperature: 100, top_k: Some("top_k"), stop: "stop_sequences" };

/// Whether the model may call several tools at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolParallelism {
    Several,
    One,
}

/// Adds to a body how it should be answered.
pub(crate) fn set_anthropic_answer(body: &mut BodyBuilder, request: &Request, model: &Model) -> EndpointPath {
    body.set_sampling(request, model, &SAMPLING);
    match &request.answer {
        AnswerForm::Text => {}
        AnswerForm::Value { tool } => ask_anthropic_for_value(body, tool, model),
        AnswerForm::Tools { tools, choice } => {
            set_anthropic_tools(body, tools);
            match choice {
                ToolChoice::Auto if tools.is_empty() => {}
                ToolChoice::Auto => body.set("tool_choice", json!({ "type": "auto" })),
                ToolChoice::None => body.set("tool_choice", json!({ "type": "none" })),
                ToolChoice::Any => {
                    force_anthropic_call(body, model, json!({ "type": "any" }), ToolParallelism::Several);
                }
                ToolChoice::One(name) => {
                    force_anthropic_call(body, model, json!({ "type": "tool", "name": name }), ToolParallelism::One);
                }
            }
        }
    }
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    if let Some(inquiry) = &request.inquiry {
        body.set("diagnostics", json!({ "previous_message_id": inquiry.previous }));
        headers.insert(0, ("anthropic-beta", CACHE_DIAGNOSIS.to_owned()));
    }
    ("/v1/messages", headers)
}

fn ask_anthropic_for_value(body: &mut BodyBuilder, tool: &Tool, model: &Model) {
    match model.answers {
        SchemaEnforcement::Tool => force_value(body, tool, model),
        SchemaEnforcement::Schema => {
            let (schema, target) = body.schema(tool, SchemaDialect::OpenAiStrict, "");
            let Some((schema, dropped)) = enforced_schema(schema).filter(|_| target == SchemaDialect::OpenAiStrict)
            else {
                body.drop("/output_config", "this schema can't be enforced; the value is requested as a tool call");
                return force_value(body, tool, model);
            };
            body.drop_all(dropped, "");
            body.set("output_config", json!({ "format": { "type": "json_schema", "schema": schema } }));
        }
        SchemaEnforcement::Object | SchemaEnforcement::Text => {}
    }
}

fn force_value(body: &mut BodyBuilder, tool: &Tool, model: &Model) {
    set_anthropic_tools(body, core::slice::from_ref(tool));
    force_anthropic_call(body, model, json!({ "type": "tool", "name": tool.name }), ToolParallelism::One);
}

fn set_anthropic_tools(body: &mut BodyBuilder, tools: &[Tool]) {
    let mut definitions = Vec::new();
    for tool in tools_by_name(tools) {
        let (schema, _) = body.schema(tool, SchemaDialect::AnthropicTool, &format!("/tools/{}", tool.name));
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
fn force_anthropic_call(body: &mut BodyBuilder, model: &Model, choice: Value, calls: ToolParallelism) {
    let mut choice = choice;
    if model.quirks.contains(&Quirk::NoForcedTools) {
        body.drop("/tool_choice", format!("model `{}` can't be forced to call a tool; the model decides", model.name));
        choice = json!({ "type": "auto" });
    }
    if let Some(fields) = choice.as_object_mut().filter(|_| calls == ToolParallelism::One) {
        fields.insert(String::from("disable_parallel_tool_use"), json!(true));
    }
    body.set("tool_choice", choice);
}
