//! Definitions of tools as Anthropic, OpenAI and MCP write them, in a file that `proem.tools` names.

use serde_json::Value as Json;

/// A definition without the form that its provider gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolDefinition {
    /// The tool's name.
    pub(super) name: String,
    /// Its description. Empty if the definition has none.
    pub(super) description: String,
    /// The JSON Schema of its arguments.
    pub(super) schema: Json,
}

/// Reads a provider's definition. `None` if the file is a schema by itself.
///
/// Sources: <https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview> (`input_schema`),
/// <https://platform.openai.com/docs/guides/function-calling> (`parameters`),
/// <https://modelcontextprotocol.io/specification/2025-06-18/server/tools> (`inputSchema`).
pub(super) fn read_definition(json: &Json) -> Option<ToolDefinition> {
    let function = json.get("function").filter(|function| function.is_object()).unwrap_or(json);
    let name = function.get("name")?.as_str()?.to_owned();
    let schema = ["input_schema", "parameters", "inputSchema"].iter().find_map(|key| function.get(*key))?;
    let description = function.get("description").and_then(Json::as_str).unwrap_or_default().to_owned();
    Some(ToolDefinition { name, description, schema: schema.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn three_forms_of_a_definition_are_one() {
        let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
        let rows = [
            json!({ "name": "weather", "description": "d", "input_schema": schema }),
            json!({ "name": "weather", "description": "d", "inputSchema": schema, "annotations": {} }),
            json!({ "type": "function", "name": "weather", "description": "d", "parameters": schema, "strict": true }),
            json!({ "type": "function", "function": { "name": "weather", "description": "d", "parameters": schema } }),
        ];
        for row in rows {
            let expected = ToolDefinition { name: "weather".into(), description: "d".into(), schema: schema.clone() };
            assert_eq!(read_definition(&row), Some(expected), "{row}");
        }
        assert_eq!(read_definition(&schema), None);
        // A schema may have a field that is called like a key of a definition.
        assert_eq!(read_definition(&json!({ "type": "object", "properties": { "name": {}, "parameters": {} } })), None);
    }
}
