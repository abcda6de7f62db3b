//! The scripted server, looked at byte by byte.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at what it didn't expect")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;

use proem_llm::scripted::{
    AnswerBlock, DeliveryEnd, ModelAnswer, Reply, ReplyContent, ScriptCondition, ScriptEnd, ScriptRule, ScriptedFinish,
    ScriptedServer, ScriptedUsage, ServerScript, VectorFault, Vectors,
};
use serde_json::{Value as Json, json};

mod refusals;

/// The result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The chunks of a body in chunks, else all of it.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: End,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    Closed,
    Reset,
}

impl Got {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.chunks.concat()).unwrap()
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// The data of each event.
    fn events(&self) -> Vec<Json> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// A client of one connection.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) fn to(server: &ScriptedServer) -> Self {
        Self { stream: TcpStream::connect(server.address()).unwrap(), buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("POST /v1{path} HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    }

    /// Asks as a good client does.
    pub(crate) fn ask(&mut self, path: &str, body: &Json) -> Got {
        let headers = [("Content-Type", "application/json"), ("anthropic-version", "2023-06-01")];
        self.send(path, &headers, body.to_string().as_bytes());
        self.read()
    }

    /// Reads more. An end if there is none.
    fn more(&mut self) -> Option<End> {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => Some(End::Closed),
            Ok(length) => {
                self.buffer.extend(&bytes[..length]);
                None
            }
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
                Some(End::Reset)
            }
        }
    }

    /// Everything up to and with `end`.
    fn until(&mut self, end: &[u8]) -> Result<Vec<u8>, End> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end) {
                let rest = self.buffer.split_off(at + end.len());
                return Ok(std::mem::replace(&mut self.buffer, rest));
            }
            if let Some(end) = self.more() {
                return Err(end);
            }
        }
    }

    /// The next bytes, and how it ended if there are fewer.
    fn exactly(&mut self, length: usize) -> (Vec<u8>, Option<End>) {
        while self.buffer.len() < length {
            if let Some(end) = self.more() {
                return (std::mem::take(&mut self.buffer), Some(end));
            }
        }
        let rest = self.buffer.split_off(length);
        (std::mem::replace(&mut self.buffer, rest), None)
    }

    pub(crate) fn read(&mut self) -> Got {
        let head = match self.until(b"\r\n\r\n") {
            Ok(head) => String::from_utf8(head).unwrap(),
            Err(end) => return Got { status: 0, head: String::new(), chunks: Vec::new(), end },
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let header = |name: &str| {
            let line = head.lines().find(|line| line.starts_with(&format!("{name}: ")));
            line.map(|line| line.split_once(": ").unwrap().1.to_owned())
        };
        let mut chunks = Vec::new();
        let mut end = End::Whole;
        if let Some(length) = header("content-length") {
            let (body, ended) = self.exactly(length.parse().unwrap());
            chunks.push(body);
            end = ended.unwrap_or(end);
        } else {
            assert_eq!(header("transfer-encoding").as_deref(), Some("chunked"));
            end = self.chunks(&mut chunks).err().unwrap_or(end);
        }
        Got { status, head, chunks, end }
    }

    fn chunks(&mut self, chunks: &mut Vec<Vec<u8>>) -> Result<(), End> {
        loop {
            let line = String::from_utf8(self.until(b"\r\n")?).unwrap();
            let length = usize::from_str_radix(line.trim(), 16).unwrap();
            let (mut chunk, ended) = self.exactly(length + 2);
            if let Some(end) = ended {
                return Err(end);
            }
            chunk.truncate(length);
            if chunk.is_empty() {
                return Ok(());
            }
            chunks.push(chunk);
        }
    }
}

const ANTHROPIC: &str = "/messages";
const OPENAI: &str = "/chat/completions";

/// A good request that either protocol takes.
pub(crate) fn good() -> Json {
    json!({ "model": "m", "max_tokens": 100, "messages": [{ "role": "user", "content": "hello" }] })
}

fn streamed() -> Json {
    let mut body = good();
    body["stream"] = json!(true);
    body
}

fn ask(reply: Reply, path: &str, body: &Json) -> Got {
    let server = ScriptedServer::start(ServerScript::of(vec![reply])).unwrap();
    Client::to(&server).ask(path, body)
}

fn tools(body: &Json, path: &str) -> Json {
    let mut body = body.clone();
    let schema = json!({ "type": "object", "properties": {} });
    if path == ANTHROPIC {
        body["tools"] = json!([{ "name": "sum", "input_schema": schema }]);
        body["tool_choice"] = json!({ "type": "tool", "name": "sum" });
    } else {
        body["tools"] = json!([{ "type": "function", "function": { "name": "sum", "parameters": schema } }]);
        body["tool_choice"] = json!({ "type": "function", "function": { "name": "sum" } });
    }
    body
}

#[test]
fn anthropic_in_one_piece() {
    let counts = ScriptedUsage { input: 100, cache_read: 30, cache_write: 20, cache_write_hour: 10, output: 5 };
    let blocks =
        vec![AnswerBlock::Text("Hi é".into()), AnswerBlock::Call { name: "sum".into(), arguments: json!({ "a": 1 }) }];
    let got = ask(Reply::answer(blocks).using(Some(counts)), ANTHROPIC, &good());
    assert_eq!((got.status, got.end), (200, End::Whole));
    assert!(got.head.contains("content-type: application/json\r\nrequest-id: req_000001\r\n"), "{}", got.head);
    let expected = json!({
        "id": "msg_000001",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            { "type": "text", "text": "Hi é" },
            { "type": "tool_use", "id": "toolu_000001_1", "name": "sum", "input": { "a": 1 } },
        ],
        "stop_reason": "tool_use",
        "stop_sequence": null,
        "usage": {
            "input_tokens": 40,
            "cache_creation_input_tokens": 30,
            "cache_read_input_tokens": 30,
            "cache_creation": { "ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 10 },
            "output_tokens": 5,
        },
    });
    assert_eq!(got.json(), expected);
}

#[test]
fn anthropic_streamed() {
    let got = ask(Reply::text("a text of more than one piece"), ANTHROPIC, &streamed());
    let kinds: Vec<_> = got.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    let expected = [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(got.chunks.len(), expected.len());
    let text: String =
        got.events().iter().filter_map(|event| event["delta"]["text"].as_str().map(str::to_owned)).collect();
    assert_eq!(text, "a text of more than one piece");
    assert!(got.text().starts_with("event: message_start\ndata: {"));
    let events = got.events();
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 100);
    assert_eq!(events[7]["delta"]["stop_reason"], "end_turn");
    assert_eq!(events[7]["usage"]["output_tokens"], 10);
}

#[test]
fn openai_in_one_piece() {
    let counts = ScriptedUsage { input: 100, cache_read: 30, output: 5, ..ScriptedUsage::default() };
    let blocks =
        vec![AnswerBlock::Text("Hi é".into()), AnswerBlock::CallText { name: "sum".into(), arguments: "{a:".into() }];
    let got = ask(Reply::answer(blocks).using(Some(counts)), OPENAI, &good());
    let expected = json!({
        "id": "chatcmpl-000001",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hi é",
                "refusal": null,
                "tool_calls": [
                    { "id": "call_000001_0", "type": "function", "function": { "name": "sum", "arguments": "{a:" } },
                ],
            },
            "logprobs": null,
            "finish_reason": "tool_calls",
        }],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_tokens": 105,
            "prompt_tokens_details": { "cached_tokens": 30, "cache_write_tokens": 0 },
        },
    });
    assert_eq!(got.json(), expected);
}

#[test]
fn openai_streamed() {
    let mut body = streamed();
    assert!(!ask(Reply::text("hi"), OPENAI, &body).text().contains("usage"));
    body["stream_options"] = json!({ "include_usage": true });
    let got = ask(Reply::call("sum", json!({ "first": 1, "second": 22 })), OPENAI, &body);
    assert!(got.text().ends_with("\n\ndata: [DONE]\n\n"));
    let events = got.events();
    let arguments: String = events
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0/function/arguments")?.as_str())
        .collect();
    assert_eq!(arguments, r#"{"first":1,"second":22}"#);
    let last = events.last().unwrap();
    assert_eq!((&last["choices"], &last["usage"]["prompt_tokens"]), (&json!([]), &json!(100)));
    assert_eq!(events[events.len() - 2]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(events[0]["usage"], Json::Null);
}

#[test]
fn a_value_comes_as_the_request_asks_for_it() {
    let value = json!({ "a": [1, 2] });
    let reply = || Reply::value(value.clone());
    let anthropic = |body: &Json| ask(reply(), ANTHROPIC, body).json()["content"][0].clone();
    let openai = |body: &Json| ask(reply(), OPENAI, body).json()["choices"][0]["message"].clone();
    assert_eq!(anthropic(&good())["text"], r#"{"a":[1,2]}"#);
    assert_eq!(anthropic(&tools(&good(), ANTHROPIC))["input"], value);
    assert_eq!(openai(&good())["content"], r#"{"a":[1,2]}"#);
    let call = openai(&tools(&good(), OPENAI))["tool_calls"][0]["function"].clone();
    assert_eq!(call, json!({ "name": "sum", "arguments": r#"{"a":[1,2]}"# }));
}

#[test]
fn reasons_to_stop() {
    for (reply, anthropic, openai) in [
        (Reply::text("a"), "end_turn", "stop"),
        (Reply::call("sum", json!({})), "tool_use", "tool_calls"),
        (Reply::refusal("no"), "refusal", "stop"),
        (Reply::text("a").finishing(ScriptedFinish::Length), "max_tokens", "length"),
        (Reply::text("a").finishing(ScriptedFinish::Filter), "refusal", "content_filter"),
        (Reply::text("a").finishing(ScriptedFinish::Other("tired".into())), "tired", "tired"),
    ] {
        assert_eq!(ask(reply.clone(), ANTHROPIC, &good()).json()["stop_reason"], anthropic);
        assert_eq!(ask(reply, OPENAI, &good()).json()["choices"][0]["finish_reason"], openai);
    }
    let refused = ask(Reply::refusal("no"), OPENAI, &good()).json();
    assert_eq!(refused["choices"][0]["message"]["refusal"], "no");
    assert_eq!(refused["choices"][0]["message"]["content"], Json::Null);
}

#[test]
fn chunks_do_not_change_the_bytes() {
    let mut body = streamed();
    for path in [ANTHROPIC, OPENAI] {
        let plain = ask(Reply::text("a text, é, of some length"), path, &body);
        let single = ask(Reply::text("a text, é, of some length").in_chunks_of(1), path, &body);
        assert!(single.chunks.iter().all(|chunk| chunk.len() == 1));
        assert_eq!(single.text(), plain.text());
        let paused = ask(Reply::text("a text, é, of some length").in_chunks_of(100).pausing(1), path, &body);
        assert_eq!(paused.text(), plain.text());
    }
    body = good();
    let whole = ask(Reply::text("x").in_chunks_of(1), ANTHROPIC, &body);
    assert_eq!(whole.json()["content"][0]["text"], "x");
}

#[test]
fn bad_ends() {
    for (body, path) in [(good(), ANTHROPIC), (streamed(), ANTHROPIC), (good(), OPENAI), (streamed(), OPENAI)] {
        let got = ask(Reply::text("hello").ending(DeliveryEnd::CutAfter(20)), path, &body);
        assert_eq!((got.status, got.chunks.concat().len(), got.end), (200, 20, End::Closed), "{path} {body}");
        let got = ask(Reply::text("hello").ending(DeliveryEnd::ResetAfter(0)), path, &body);
        assert_eq!((got.status, got.end), (0, End::Reset), "{path} {body}");
        let got = ask(Reply::text("hello").ending(DeliveryEnd::ResetAfter(20)), path, &body);
        assert_eq!(got.end, End::Reset, "{path} {body}");
        let got = ask(Reply::text("hello").ending(DeliveryEnd::Endless(100_000)), path, &body);
        assert_eq!((got.chunks.concat().len(), got.end), (100_000, End::Closed), "{path} {body}");
    }
    let endless = ask(Reply::text("hello").ending(DeliveryEnd::Endless(3000)), ANTHROPIC, &streamed()).text();
    assert!(endless.matches("text_delta").count() > 3);
    assert!(!endless.contains("message_stop"));
}

#[test]
fn a_connection_with_resets_before_it_still_works() {
    let script = ServerScript::of(vec![Reply::text("one"), Reply::text("two").ending(DeliveryEnd::ResetAfter(0))]);
    let server = ScriptedServer::start(script).unwrap();
    let mut client = Client::to(&server);
    assert_eq!(client.ask(ANTHROPIC, &good()).json()["content"][0]["text"], "one");
    assert_eq!(client.ask(ANTHROPIC, &good()).end, End::Reset);
}

#[test]
fn a_client_that_goes_away_ends_an_endless_answer() {
    let server =
        ScriptedServer::start(ServerScript::of(vec![Reply::text("a").ending(DeliveryEnd::Endless(usize::MAX))]))
            .unwrap();
    let mut client = Client::to(&server);
    client.send(
        ANTHROPIC,
        &[("content-type", "application/json"), ("anthropic-version", "1")],
        streamed().to_string().as_bytes(),
    );
    client.until(b"message_start").unwrap();
    drop(client);
    while server.abandoned() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(server.abandoned(), 1);
}

#[test]
fn rules_are_tried_in_order() {
    let rule = |when, then: &[&str], after| ScriptRule {
        when,
        then: then.iter().map(|text| Reply::text(*text)).collect(),
        after,
    };
    let body = |text: &str| ScriptCondition { body: Some(text.to_owned()), ..ScriptCondition::default() };
    let script = ServerScript::default()
        .and(rule(ScriptCondition { nth: Some(2), ..ScriptCondition::default() }, &["second"], ScriptEnd::Repeat))
        .and(rule(body("alpha"), &["a1", "a2"], ScriptEnd::Repeat))
        .and(rule(body("beta"), &["b1"], ScriptEnd::End))
        .and(rule(
            ScriptCondition { path: Some(OPENAI.into()), ..ScriptCondition::default() },
            &["o"],
            ScriptEnd::Repeat,
        ));
    let server = ScriptedServer::start(script).unwrap();
    let mut client = Client::to(&server);
    let mut ask = |path, text: &str| {
        let mut body = good();
        body["messages"][0]["content"] = json!(text);
        let got = client.ask(path, &body);
        let said = ["/content/0/text", "/choices/0/message/content", "/error/message"];
        said.iter().find_map(|pointer| got.json().pointer(pointer)?.as_str().map(str::to_owned)).unwrap()
    };
    let over = "the script has no answer for this request, or its answers are over";
    for (path, text, expected) in [
        (ANTHROPIC, "alpha", "a1"),
        (ANTHROPIC, "alpha", "second"),
        (ANTHROPIC, "alpha", "a2"),
        (ANTHROPIC, "alpha", "a2"),
        (OPENAI, "beta", "b1"),
        (OPENAI, "beta", over),
        (OPENAI, "gamma", "o"),
        (ANTHROPIC, "gamma", over),
    ] {
        assert_eq!(ask(path, text), expected, "{path} {text}");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 8);
    assert_eq!((requests[4].method.as_str(), requests[4].path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(requests[4].header("content-type"), Some("application/json"));
    assert_eq!(requests[4].json().unwrap()["messages"][0]["content"], "beta");
    assert!(requests.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

#[test]
fn raw_answers_and_headers() {
    let reply = Reply::raw(429, r#"{"error":{}}"#).header("set-cookie", "a=b").retry_after("2").closing();
    let server = ScriptedServer::start(ServerScript::of(vec![reply])).unwrap();
    let mut client = Client::to(&server);
    let got = client.ask("/anything", &json!({}));
    let expected = "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nset-cookie: a=b\r\n\
                    retry-after: 2\r\ncontent-length: 12\r\nconnection: close\r\n\r\n";
    assert_eq!(got.head, expected);
    assert_eq!(client.read().end, End::Closed);
}

#[test]
fn many_at_once() {
    let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("hi").delayed(50)])).unwrap();
    let barrier = Barrier::new(64);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let mut client = Client::to(&server);
                barrier.wait();
                for _ in 0..3 {
                    assert_eq!(client.ask(ANTHROPIC, &good()).status, 200);
                }
            });
        }
    });
    assert_eq!(server.requests().len(), 192);
    assert!((2..=64).contains(&server.most_at_once()), "{}", server.most_at_once());
}

#[test]
fn dropping_the_server_ends_what_it_does() {
    let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("hi").delayed(3_600_000)])).unwrap();
    let mut client = Client::to(&server);
    client.send(
        ANTHROPIC,
        &[("content-type", "application/json"), ("anthropic-version", "1")],
        good().to_string().as_bytes(),
    );
    while server.requests().is_empty() {
        std::thread::yield_now();
    }
    let address = server.address();
    drop(server);
    assert_eq!(client.read().status, 0);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn embeddings() {
    let body = json!({ "model": "m", "input": ["a cat sat", "a cat sat", "dogs bark"] });
    let vectors = |fault, body: &Json| ask(Reply::embeddings(Vectors::of(8).with(fault)), "/embeddings", body);
    let numbers = |got: &Json| -> Vec<Vec<f64>> {
        let vector = |item: &Json| item["embedding"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
        got["data"].as_array().unwrap().iter().map(vector).collect()
    };
    let good = vectors(VectorFault::None, &body).json();
    let all = numbers(&good);
    assert_eq!((all.len(), all[0].len()), (3, 8));
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
    assert!((all[0].iter().map(|number| number * number).sum::<f64>() - 1.0).abs() < 1e-6);
    assert_eq!(good["usage"], json!({ "prompt_tokens": 8, "total_tokens": 8 }));
    let reversed = vectors(VectorFault::Reversed, &body).json();
    assert_eq!(reversed["data"][0]["index"], 2);
    assert_eq!(reversed["data"][2]["embedding"], good["data"][0]["embedding"]);
    assert!(vectors(VectorFault::NotANumber, &body).text().contains("[NaN,"));
    assert_eq!(numbers(&vectors(VectorFault::OtherDimension, &body).json())[2].len(), 9);
    assert_eq!(numbers(&vectors(VectorFault::TooFew, &body).json()).len(), 2);
    assert_eq!(vectors(VectorFault::Twice, &body).json()["data"][3]["index"], 0);
    let packed = json!({ "model": "m", "input": "x", "encoding_format": "base64", "dimensions": 3 });
    let packed = vectors(VectorFault::None, &packed).json()["data"][0]["embedding"].as_str().unwrap().to_owned();
    assert_eq!(packed.len(), 16);
}

#[test]
fn scripts_are_read_from_json() {
    let script = ServerScript::from_json(
        r#"{
            "key": "k", "models": ["m"], "rules": [
                { "when": { "path": "/messages", "body": "x", "nth": 2 }, "then": [
                    { "say": { "answer": { "content": [{ "text": "t" }, { "call": { "name": "n", "arguments": {} } }],
                                           "finish": "length", "usage": { "input": 3, "output": 4 } } },
                      "how": { "delay_ms": 5, "chunk_bytes": 1, "ending": { "cut-after": 7 } } }
                ], "after": "end" },
                { "then": [ { "say": { "raw": { "status": 500, "body": { "base64": "AP8=" } } } },
                            { "say": { "embeddings": { "dimensions": 4, "fault": "not-a-number" } } },
                            { "say": { "raw": { "status": 503, "body": { "json": { "b": 1, "a": 2 } } } } } ] }
            ] }"#,
    )
    .unwrap();
    assert_eq!(script.key.as_deref(), Some("k"));
    let usage = Some(ScriptedUsage { input: 3, output: 4, ..ScriptedUsage::default() });
    let content = vec![AnswerBlock::Text("t".into()), AnswerBlock::Call { name: "n".into(), arguments: json!({}) }];
    let first = &script.rules[0].then[0];
    assert_eq!(first.say, ReplyContent::Answer(ModelAnswer { content, finish: ScriptedFinish::Length, usage }));
    assert_eq!((first.how.chunk_bytes.unwrap().get(), first.how.ending), (1, DeliveryEnd::CutAfter(7)));
    let raw = |reply: &Reply| match &reply.say {
        ReplyContent::Raw(raw) => raw.body.clone(),
        other => format!("{other:?}").into_bytes(),
    };
    assert_eq!(raw(&script.rules[1].then[0]), [0, 255]);
    assert_eq!(raw(&script.rules[1].then[2]), br#"{"a":2,"b":1}"#);
    for (text, expected) in [
        ("", "the script is not readable: EOF while parsing a value at line 1 column 0"),
        (
            r#"{"rules":[],"x":1}"#,
            "the script is not readable: unknown field `x`, expected one of `key`, `models`, `checks`, `rules` \
             at line 1 column 15",
        ),
    ] {
        assert_eq!(ServerScript::from_json(text).unwrap_err().to_string(), expected);
    }
}
