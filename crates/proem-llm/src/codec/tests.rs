//! The bodies that are sent, byte by byte.

use super::*;
use crate::projection::{SchemaDialect, project_schema};
use crate::sample;
use proem_engine::call::{CacheInquiry, Sampling, Tool};
use proem_engine::providers::SchemaEnforcement;
use proem_text::json;

fn tool(name: &str) -> Tool {
    let schema = json!({
        "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false,
    });
    Tool { name: name.to_owned(), description: format!("Calls {name}."), schema }
}

fn tools(choice: ToolChoice) -> AnswerForm {
    AnswerForm::Tools { tools: vec![tool("time"), tool("place")], choice }
}

fn value() -> AnswerForm {
    AnswerForm::Value { tool: tool("answer") }
}

fn request(answer: AnswerForm) -> Request {
    let (assembly, _) = sample::parse_sample("system:role user:task");
    Request {
        model: String::from("m"),
        assembly,
        answer,
        sampling: Default::default(),
        arrival: Arrival::Whole,
        way: None,
        inquiry: None,
    }
}

/// The parts sent beside the text of the prompt, and the dropped ones.
fn encode_request_text(request: &Request, model: &Model) -> (EncodedRequest, String) {
    let (_, plan) = sample::parse_sample("system:role user:task");
    let encoded = encode_request(request, model, &plan).unwrap();
    let mut body = encoded.wire.body.clone();
    let plain = crate::request_body(&request.assembly, model, &plan).unwrap();
    let fields = body.as_object_mut().unwrap();
    for (key, value) in plain.as_object().unwrap() {
        assert_eq!(fields.remove(key).as_ref(), Some(value), "{key}");
    }
    let dropped = encoded.dropped.iter().map(|dropped| format!("\n- {}: {}", dropped.path, dropped.why));
    let told = json::compact(&body) + &dropped.collect::<String>();
    (encoded, told)
}

#[track_caller]
fn check(model: &Model, answer: AnswerForm, expected: &str) {
    let request = request(answer);
    let (first, told) = encode_request_text(&request, model);
    assert_eq!(told, expected, "{} {:?}", model.name, request.answer);
    assert_eq!(json::compact(&first.wire.body), json::compact(&encode_request_text(&request, model).0.wire.body));
}

fn model(name: &str, answers: SchemaEnforcement) -> Model {
    Model { answers, ..sample::built_in_model(name) }
}

const SCHEMA: &str =
    r#"{"additionalProperties":false,"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}"#;

/// Both tools, by name, around `schema`.
fn both(before: &str, after: &str) -> String {
    let one = |name: &str| format!("{}{SCHEMA}{}", before.replace("NAME", name), after.replace("NAME", name));
    format!("[{},{}]", one("place"), one("time"))
}

#[test]
fn whole_bodies_and_where_they_go() {
    let mut request = request(AnswerForm::Text);
    request.sampling.temperature_percent = Some(70);
    request.arrival = Arrival::Streamed;
    for (name, path, headers, expected) in [
        (
            "claude-haiku-4-5",
            "/v1/messages",
            vec![("anthropic-version", "2023-06-01"), ("content-type", "application/json")],
            r#"{"max_tokens":200,"messages":[{"content":[{"text":"task","type":"text"}],"role":"user"}],"model":"claude-haiku-4-5","stream":true,"system":[{"text":"role","type":"text"}],"temperature":0.7}"#,
        ),
        (
            "gpt-4o",
            "/chat/completions",
            vec![("content-type", "application/json")],
            r#"{"max_completion_tokens":200,"messages":[{"content":"role","role":"system"},{"content":"task","role":"user"}],"model":"gpt-4o","stream":true,"stream_options":{"include_usage":true},"temperature":0.7}"#,
        ),
    ] {
        let (encoded, _) = encode_request_text(&request, &sample::built_in_model(name));
        assert_eq!((encoded.wire.path, json::compact(&encoded.wire.body).as_str()), (path, expected));
        let headers: Vec<_> = headers.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        assert_eq!(encoded.wire.headers, headers);
        assert!(encoded.wire.headers.is_sorted());
    }
}

#[test]
fn anthropics_tools() {
    let haiku = sample::built_in_model("claude-haiku-4-5");
    let all = both(r#"{"description":"Calls NAME.","input_schema":"#, r#","name":"NAME"}"#);
    let with = |choice: &str| format!(r#"{{"tool_choice":{choice},"tools":{all}}}"#);
    check(&haiku, AnswerForm::Text, "{}");
    check(&haiku, tools(ToolChoice::Auto), &with(r#"{"type":"auto"}"#));
    check(&haiku, tools(ToolChoice::None), &with(r#"{"type":"none"}"#));
    check(&haiku, tools(ToolChoice::Any), &with(r#"{"type":"any"}"#));
    let one = r#"{"disable_parallel_tool_use":true,"name":"time","type":"tool"}"#;
    check(&haiku, tools(ToolChoice::One(String::from("time"))), &with(one));
    check(&haiku, AnswerForm::Tools { tools: Vec::new(), choice: ToolChoice::Auto }, "{}");
    // A model that can't be made to call a tool is asked to, and the request says so.
    let opus = sample::built_in_model("claude-opus-5-5");
    let why = "\n- /tool_choice: model `claude-opus-5-5` can't be forced to call a tool; the model decides";
    check(&opus, tools(ToolChoice::Any), &(with(r#"{"type":"auto"}"#) + why));
    let one = with(r#"{"disable_parallel_tool_use":true,"type":"auto"}"#) + why;
    check(&opus, tools(ToolChoice::One(String::from("time"))), &one);
}

#[test]
fn anthropics_values() {
    let answer = format!(r#"[{{"description":"Calls answer.","input_schema":{SCHEMA},"name":"answer"}}]"#);
    let forced = format!(
        r#"{{"tool_choice":{{"disable_parallel_tool_use":true,"name":"answer","type":"tool"}},"tools":{answer}}}"#
    );
    check(&model("claude-haiku-4-5", SchemaEnforcement::Tool), value(), &forced);
    let schema = format!(r#"{{"output_config":{{"format":{{"schema":{SCHEMA},"type":"json_schema"}}}}}}"#);
    check(&model("claude-haiku-4-5", SchemaEnforcement::Schema), value(), &schema);
    check(&sample::built_in_model("claude-sonnet-5-5"), value(), &schema);
    check(&model("claude-haiku-4-5", SchemaEnforcement::Object), value(), "{}");
    check(&model("claude-haiku-4-5", SchemaEnforcement::Text), value(), "{}");
}

#[test]
fn openais_tools() {
    let gpt = sample::built_in_model("gpt-4o");
    let strict = both(
        r#"{"function":{"description":"Calls NAME.","name":"NAME","parameters":"#,
        r#","strict":true},"type":"function"}"#,
    );
    let plain = strict.replace(r#","strict":true"#, "");
    let with = |all: &str, choice: &str| format!(r#"{{"tool_choice":{choice},"tools":{all}}}"#);
    check(&gpt, tools(ToolChoice::Auto), &with(&strict, r#""auto""#));
    check(&gpt, tools(ToolChoice::None), &with(&strict, r#""none""#));
    check(&gpt, tools(ToolChoice::Any), &with(&strict, r#""required""#));
    let one = r#"{"function":{"name":"time"},"type":"function"}"#;
    let one = |all: &str| format!(r#"{{"parallel_tool_calls":false,"tool_choice":{one},"tools":{all}}}"#);
    check(&gpt, tools(ToolChoice::One(String::from("time"))), &one(&strict));
    for answers in [SchemaEnforcement::Tool, SchemaEnforcement::Object, SchemaEnforcement::Text] {
        check(&model("gpt-4o", answers), tools(ToolChoice::One(String::from("time"))), &one(&plain));
        check(&model("gpt-4o", answers), tools(ToolChoice::Auto), &with(&plain, r#""auto""#));
    }
    check(&gpt, AnswerForm::Tools { tools: Vec::new(), choice: ToolChoice::Auto }, "{}");
    let no_reason = "\n- /reasoning_effort: model `gpt-6-sol` supports tools only with reasoning turned off";
    let sol = format!(r#"{{"reasoning_effort":"none","tool_choice":"auto","tools":{strict}}}{no_reason}"#);
    check(&sample::built_in_model("gpt-6-sol"), tools(ToolChoice::Auto), &sol);
}

#[test]
fn openais_values() {
    let schema = format!(
        r#"{{"response_format":{{"json_schema":{{"description":"Calls answer.","name":"answer","schema":{SCHEMA},"strict":true}},"type":"json_schema"}}}}"#
    );
    check(&model("gpt-4o", SchemaEnforcement::Schema), value(), &schema);
    check(&sample::built_in_model("gpt-6-sol"), value(), &schema);
    check(&model("gpt-4o", SchemaEnforcement::Object), value(), r#"{"response_format":{"type":"json_object"}}"#);
    check(&model("gpt-4o", SchemaEnforcement::Text), value(), "{}");
    let function = format!(r#"{{"description":"Calls answer.","name":"answer","parameters":{SCHEMA}}}"#);
    let forced = r#""parallel_tool_calls":false,"tool_choice":{"function":{"name":"answer"},"type":"function"}"#;
    let forced = format!(r#"{{{forced},"tools":[{{"function":{function},"type":"function"}}]}}"#);
    check(&model("gpt-4o", SchemaEnforcement::Tool), value(), &forced);
}

#[test]
fn compatible_servers_know_the_older_name_of_the_limit() {
    let (_, plan) = sample::parse_sample("user:task");
    let model = Model { output_key: proem_engine::providers::OutputKey::MaxTokens, ..sample::built_in_model("gpt-4o") };
    let body = encode_request(&request(AnswerForm::Text), &model, &plan).unwrap().wire.body;
    assert_eq!((body.get("max_tokens"), body.get("max_completion_tokens")), (Some(&json!(200)), None));
}

#[test]
fn temperatures() {
    for (model, percent, expected) in [
        ("claude-haiku-4-5", 0, r#"{"temperature":0.0}"#),
        ("claude-haiku-4-5", 100, r#"{"temperature":1.0}"#),
        ("claude-haiku-4-5", 101, "{\"temperature\":1.0}\n- /temperature: lowered to 100 hundredths, the maximum"),
        ("gpt-4o", 33, r#"{"temperature":0.33}"#),
        ("gpt-4o", 200, r#"{"temperature":2.0}"#),
        ("gpt-4o", u16::MAX, "{\"temperature\":2.0}\n- /temperature: lowered to 200 hundredths, the maximum"),
        ("gpt-6-luna", 33, "{}\n- /temperature: model `gpt-6-luna` does not support this setting"),
        ("claude-haiku-5-5", 33, "{}\n- /temperature: model `claude-haiku-5-5` does not support this setting"),
    ] {
        let request = Request {
            sampling: Sampling { temperature_percent: Some(percent), ..Sampling::default() },
            ..request(AnswerForm::Text)
        };
        assert_eq!(encode_request_text(&request, &sample::built_in_model(model)).1, expected, "{model} {percent}");
    }
}

#[test]
fn words_are_chosen_as_far_as_a_provider_lets_them_be() {
    let sampling = Sampling {
        temperature_percent: None,
        top_p_thousandths: Some(950),
        top_k: Some(40),
        stop: vec!["END".to_owned()],
    };
    for (model, expected) in [
        ("claude-haiku-4-5", r#"{"stop_sequences":["END"],"top_k":40,"top_p":0.95}"#),
        (
            "claude-haiku-5-5",
            "{\"stop_sequences\":[\"END\"]}\n- /top_p: model `claude-haiku-5-5` does not support this setting\n- \
             /top_k: model `claude-haiku-5-5` does not support this setting",
        ),
        ("gpt-4o", "{\"stop\":[\"END\"],\"top_p\":0.95}\n- /top_k: model `gpt-4o` does not support this setting"),
        (
            "gpt-6-luna",
            "{}\n- /top_p: model `gpt-6-luna` does not support this setting\n- /top_k: model `gpt-6-luna` does not \
             support this setting\n- /stop: model `gpt-6-luna` does not support this setting",
        ),
    ] {
        let request = Request { sampling: sampling.clone(), ..request(AnswerForm::Text) };
        assert_eq!(encode_request_text(&request, &sample::built_in_model(model)).1, expected, "{model}");
    }
}

#[test]
fn a_call_of_no_tool_is_not_demanded() {
    let (_, plan) = sample::parse_sample("user:task");
    for model in ["claude-haiku-4-5", "gpt-4o"] {
        for answer in [
            tools(ToolChoice::One(String::from("weather"))),
            AnswerForm::Tools { tools: Vec::new(), choice: ToolChoice::Any },
        ] {
            assert_eq!(
                encode_request(&request(answer), &sample::built_in_model(model), &plan),
                Err(Error::NoSuchTool),
                "{model}"
            );
        }
    }
}

#[test]
fn breakpoints_stand_behind_the_tools() {
    let (assembly, plan) = sample::parse_sample("system:role| user:task");
    let request = Request { assembly, ..request(tools(ToolChoice::Auto)) };
    let body = encode_request(&request, &sample::built_in_model("claude-haiku-4-5"), &plan).unwrap().wire.body;
    assert!(body["system"][0]["cache_control"].is_object());
    assert!(body["tools"].as_array().unwrap().iter().all(|tool| tool.get("cache_control").is_none()));
}

#[test]
fn a_schema_that_can_not_be_enforced_is_sent_whole() {
    let mut open = tool("answer");
    open.schema["additionalProperties"] = json!({ "type": "string" });
    let request = request(AnswerForm::Value { tool: open.clone() });
    let (encoded, _) = encode_request_text(&request, &sample::built_in_model("gpt-4o"));
    let format = &encoded.wire.body["response_format"]["json_schema"];
    assert_eq!((&format["schema"], &format["strict"]), (&open.schema, &json!(false)));
    assert!(!encoded.dropped.is_empty());
    let (encoded, _) = self::encode_request_text(&request, &sample::built_in_model("claude-sonnet-5-5"));
    let body = &encoded.wire.body;
    assert_eq!((&body["tools"][0]["input_schema"], body.get("output_config")), (&open.schema, None));
    let paths: Vec<&str> = encoded.dropped.iter().map(|dropped| dropped.path.as_str()).collect();
    assert!(paths.contains(&"/output_config") && paths.contains(&"/tool_choice"), "{paths:?}");
}

#[test]
fn limits_that_anthropic_does_not_enforce_are_listed() {
    let mut limited = tool("answer");
    limited.schema["properties"]["city"] = json!({ "type": "array", "items": { "type": "integer" }, "maxItems": 3 });
    let (encoded, told) = encode_request_text(
        &request(AnswerForm::Value { tool: limited }),
        &sample::built_in_model("claude-sonnet-5-5"),
    );
    assert!(!json::compact(&encoded.wire.body).contains("maxItems"), "{told}");
    assert!(told.contains("\n- /properties/city/maxItems: "), "{told}");
}

#[test]
fn what_a_schema_loses_is_listed_by_tool() {
    let mut lossy = tool("time");
    lossy.schema["properties"]["city"]["maxLength"] = json!(10);
    let request = request(AnswerForm::Tools { tools: vec![lossy.clone(), tool("place")], choice: ToolChoice::Auto });
    let (encoded, _) = encode_request_text(&request, &sample::built_in_model("gpt-4o"));
    let alone = project_schema(&lossy.schema, SchemaDialect::OpenAiStrict).dropped;
    let expected: Vec<Omission> =
        alone.into_iter().map(|one| Omission { path: format!("/tools/time{}", one.path), ..one }).collect();
    assert_eq!(encoded.dropped, expected);
}

/// The question to Anthropic's cache is in the body, with its header. Nobody else is asked.
#[test]
fn a_cache_is_asked_for_its_reasons() {
    let mut request = request(AnswerForm::Text);
    let anthropic = model("claude-haiku-4-5", SchemaEnforcement::Tool);
    let openai = model("gpt-4o", SchemaEnforcement::Tool);
    let (plain, _) = encode_request_text(&request, &anthropic);
    assert!(plain.wire.body.get("diagnostics").is_none());
    for (previous, expected) in [(None, json!(null)), (Some("msg_01"), json!("msg_01"))] {
        request.inquiry = Some(CacheInquiry { previous: previous.map(str::to_owned) });
        let (asking, _) = encode_request_text(&request, &anthropic);
        assert_eq!(asking.wire.body["diagnostics"], json!({ "previous_message_id": expected }));
        assert_eq!(asking.wire.headers[0], ("anthropic-beta", "cache-diagnosis-2026-04-07".to_owned()));
        // Nothing else of it is another.
        let mut rest = asking.wire.body.clone();
        rest.as_object_mut().unwrap().remove("diagnostics");
        assert_eq!((rest, &asking.wire.headers[1..]), (plain.wire.body.clone(), &plain.wire.headers[..]));
        let (other, _) = encode_request_text(&request, &openai);
        assert!(other.wire.body.get("diagnostics").is_none());
    }
}
