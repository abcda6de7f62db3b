//! A request that a real provider would refuse is refused.

use proem_llm::scripted::{Checks, Reply, ScriptedServer, ServerScript};
use serde_json::{Value as Json, json};

use super::{ANTHROPIC, Client, OPENAI, good};

/// Changes one member of a good request and compares the refusal. An empty one is none.
#[track_caller]
fn check(path: &str, change: (&str, Json), expected: &str) {
    let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("hi")])).unwrap();
    let mut body = good();
    match change {
        (member, Json::Null) => _ = body.as_object_mut().unwrap().remove(member),
        ("", other) => body.as_object_mut().unwrap().extend(other.as_object().unwrap().clone()),
        (member, value) => body[member] = value,
    }
    let got = Client::to(&server).ask(path, &body);
    if expected.is_empty() {
        assert_eq!(got.status, 200, "{path} {body} {}", got.text());
        return;
    }
    assert_eq!(got.status, 400, "{path} {body}");
    assert_eq!(got.json()["error"]["message"], expected, "{path} {body}");
}

fn tool(name: &str, schema: &Json) -> Json {
    json!({ "name": name, "input_schema": schema })
}

fn function(name: &str, schema: &Json, strict: bool) -> Json {
    json!({ "type": "function", "function": { "name": name, "parameters": schema, "strict": strict } })
}

#[test]
fn anthropic_requests() {
    let object = json!({ "type": "object" });
    for (change, expected) in [
        (("temperature", json!(1)), ""),
        (("max_tokens", Json::Null), "max_tokens: Field required"),
        (("max_tokens", json!(0)), "max_tokens: must be a whole number of at least 1"),
        (("model", Json::Null), "model: Field required, as a text that is not empty"),
        (("messages", json!([])), "messages: Field required, as a list of at least one"),
        (
            ("messages", json!([{ "role": "assistant", "content": "a" }])),
            "messages: first message must use the \"user\" role",
        ),
        (
            ("messages", json!([{ "role": "system", "content": "a" }])),
            "messages.0.role: must be `user` or `assistant`, not `system`",
        ),
        (
            ("messages", json!([{ "role": "user", "content": [{ "type": "text", "text": " \n" }] }])),
            "messages.0.content: text content blocks must contain non-whitespace text",
        ),
        (("temperature", json!(1.5)), "temperature: must be a number from 0 to 1"),
        (("stream", json!("yes")), "stream: must be true or false"),
        (("max_completion_tokens", json!(1)), "max_completion_tokens: Extra inputs are not permitted"),
        (("system", json!("")), "system: must not be empty"),
        (
            ("tools", json!([tool("a b", &object)])),
            "tools: name `a b`: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
        ),
        (("tools", json!([tool("a", &object), tool("a", &object)])), "tools: Tool names must be unique."),
        (
            ("tools", json!([tool("a", &json!({ "type": "object", "anyOf": [] }))])),
            "tools.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        ),
        (("tool_choice", json!({ "type": "auto" })), "tool_choice may only be specified while providing tools"),
        (
            ("", json!({ "tools": [tool("a", &object)], "tool_choice": { "type": "tool", "name": "b" } })),
            "tool_choice: Tool 'b' not found in provided tools",
        ),
        (("", json!({ "tools": [tool("a", &object)], "tool_choice": { "type": "tool", "name": "a" } })), ""),
        (
            ("output_config", json!({ "format": { "type": "json_schema", "schema": object } })),
            "output_config.format: For 'object' type, 'additionalProperties' must be explicitly set to false",
        ),
        (
            (
                "output_config",
                json!({ "format": { "type": "json_schema", "schema": {
                "type": "object", "additionalProperties": false } } }),
            ),
            "",
        ),
        (
            ("system", json!(vec![json!({ "type": "text", "text": "a", "cache_control": {} }); 5])),
            "A maximum of 4 blocks with cache_control may be provided.",
        ),
    ] {
        check(ANTHROPIC, change, expected);
    }
}

#[test]
fn openai_requests() {
    let object = json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false });
    let format = |schema: &Json, strict: bool| {
        let described = json!({ "name": "n", "schema": schema, "strict": strict });
        json!({ "type": "json_schema", "json_schema": described })
    };
    let missing = "'required' is required to be supplied and to be an array including every key in properties. \
                   Missing 'a'.";
    for (change, expected) in [
        (("temperature", json!(2)), ""),
        (("max_tokens", Json::Null), ""),
        (
            ("max_completion_tokens", json!(1)),
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        ),
        (
            ("stream_options", json!({ "include_usage": true })),
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ),
        (("system", json!("a")), "system: Extra inputs are not permitted"),
        (("messages", json!([{ "role": "model", "content": "a" }])), "messages[0]: Invalid value: 'model' is no role"),
        (("messages", json!([{ "role": "user" }])), "messages[0]: content: must be a text or a list of parts"),
        (("tool_choice", json!("auto")), "'tool_choice' is only allowed when 'tools' are specified."),
        (
            (
                "",
                json!({ "tools": [function("a", &object, false)],
                         "tool_choice": { "type": "function", "function": { "name": "b" } } }),
            ),
            "Tool choice 'b' not found in 'tools' parameter.",
        ),
        (("", json!({ "tools": [function("a", &object, false)], "tool_choice": "required" })), ""),
        (("tools", json!([function("a", &object, true)])), &format!("Invalid schema for function 'a': {missing}")),
        (("response_format", format(&object, false)), ""),
        (("response_format", format(&object, true)), &format!("response_format: {missing}")),
        (
            ("response_format", format(&json!({ "type": "array" }), false)),
            "response_format: schema must be a JSON Schema of 'type: \"object\"'",
        ),
        (("prompt_cache_key", json!("x".repeat(65))), "prompt_cache_key: string too long, at most 64 characters"),
    ] {
        check(OPENAI, change, expected);
    }
}

#[test]
fn embedding_requests() {
    let server = ScriptedServer::start(ServerScript::embeddings(4)).unwrap();
    let mut client = Client::to(&server);
    for (body, status) in [
        (json!({ "model": "m", "input": ["a"] }), 200),
        (json!({ "model": "m", "input": "a" }), 200),
        (json!({ "model": "m", "input": [] }), 400),
        (json!({ "model": "m", "input": [""] }), 400),
        (json!({ "input": "a" }), 400),
        (json!({ "model": "m", "input": "a", "encoding_format": "hex" }), 400),
        (json!({ "model": "m", "input": "a", "dimensions": 0 }), 400),
    ] {
        assert_eq!(client.ask("/embeddings", &body).status, status, "{body}");
    }
}

#[test]
fn keys_models_and_heads() {
    let mut script = ServerScript::of(vec![Reply::text("hi")]).with_key("secret");
    script.models = vec!["m".to_owned()];
    let server = ScriptedServer::start(script.clone()).unwrap();
    let json = ("content-type", "application/json");
    let version = ("anthropic-version", "2023-06-01");
    let (key, bearer) = (("x-api-key", "secret"), ("authorization", "Bearer secret"));
    let body = good().to_string();
    let other = body.replace("\"m\"", "\"n\"");
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, u16, &'a str);
    let cases: [Case<'_>; 12] = [
        (ANTHROPIC, &[json, version, key], &body, 200, ""),
        (ANTHROPIC, &[json, version], &body, 401, "authentication_error"),
        (ANTHROPIC, &[json, version, ("x-api-key", "wrong")], &body, 401, "authentication_error"),
        (ANTHROPIC, &[json, version, bearer], &body, 401, "authentication_error"),
        (ANTHROPIC, &[json, key], &body, 400, "invalid_request_error"),
        (ANTHROPIC, &[version, key], &body, 400, "invalid_request_error"),
        (ANTHROPIC, &[json, version, key], "{", 400, "invalid_request_error"),
        (ANTHROPIC, &[json, version, key], &other, 404, "not_found_error"),
        (OPENAI, &[json, bearer], &body, 200, ""),
        (OPENAI, &[json, key], &body, 401, "invalid_request_error"),
        (OPENAI, &[("content-type", "text/plain"), bearer], &body, 400, "invalid_request_error"),
        (OPENAI, &[json, bearer], &other, 404, "invalid_request_error"),
    ];
    let mut client = Client::to(&server);
    for (path, headers, body, status, kind) in cases {
        client.send(path, headers, body.as_bytes());
        let got = client.read();
        assert_eq!(got.status, status, "{path} {headers:?} {body}");
        if status != 200 {
            assert_eq!(got.json()["error"]["type"], kind, "{path} {headers:?} {body}");
            assert_eq!(got.json().get("type").is_some(), path == ANTHROPIC);
        }
    }
    assert_eq!(server.requests().len(), 12);
    script.checks = Checks::None;
    script.key = None;
    let server = ScriptedServer::start(script).unwrap();
    let mut client = Client::to(&server);
    client.send(ANTHROPIC, &[], br#"{"model":"m"}"#);
    assert_eq!(client.read().status, 200);
}
