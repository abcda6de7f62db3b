//! Answers of providers, as they document them and as they really come.
#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may stop at what it did not expect, and takes what `json!` makes as it is"
)]

mod anthropic;
mod corpus;
mod hostile;
mod openai;
mod refused;
mod usage;

use proem_engine::assembly::{Assembly, PlacedSection, PromptId};
use proem_engine::call::{AnswerForm, Arrival, CallFailure, Request, Response, ResponsePart, Tool, ToolChoice};
use proem_engine::message::Role;
use proem_engine::providers::Provider;
use proem_engine::section::{CacheClass, Layer, SectionGroup, Trust};
use proem_guard::{Untrusted, show};
use proem_llm::codec::AnswerReader;
use proem_llm::wire::Flow;
use proem_text::{Label, Source, Span};
use serde_json::json;

const MOST_BYTES: usize = 1 << 24;

/// The message about a stream without any content.
const EMPTY: &str = "empty: the server ended the answer before anything of it came; the prompt of about 6 tokens is \
                     probably longer than the model's context window: shorten the input, or enlarge the window at the \
                     server";

/// A request whose prompt holds a text from outside.
fn request(answer: AnswerForm) -> Request {
    let section = PlacedSection {
        part: None,
        name: "task".to_owned(),
        role: Role::User,
        trust: Trust::Untrusted,
        cache: CacheClass::Static,
        layer: Layer::Context,
        rank: SectionGroup::TrustedStatic,
        text: "What is the weather like?".to_owned(),
        label: Label::from_source(Source::named("mail")),
        tokens: 6,
        range: Span::new(0, 0),
    };
    let prompt =
        PromptId { agent: "a".to_owned(), name: "b".to_owned(), version: "1.0.0".to_owned(), closure: "0f".repeat(32) };
    Request {
        model: "m".to_owned(),
        assembly: Assembly { prompt, sections: vec![section], boundaries: Vec::new(), output_tokens: 100 },
        answer,
        sampling: Default::default(),
        arrival: Arrival::Streamed,
        way: None,
        inquiry: None,
    }
}

/// A request for calls of tools of these names.
fn tools(names: &[&str]) -> Request {
    let tools = names.iter().map(|name| tool(name)).collect();
    request(AnswerForm::Tools { tools, choice: ToolChoice::Auto })
}

/// A request for a value.
fn value() -> Request {
    request(AnswerForm::Value { tool: tool("answer") })
}

fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), description: String::new(), schema: json!({ "type": "object" }) }
}

/// The answer, and whether the reader said that it wants no more.
fn read<'b>(
    provider: Provider,
    request: &Request,
    chunks: impl IntoIterator<Item = &'b [u8]>,
) -> (Result<Response, CallFailure>, Flow) {
    let mut reader = AnswerReader::new(provider, request, MOST_BYTES);
    let mut flow = Flow::More;
    for chunk in chunks {
        flow = reader.push(chunk);
        if flow == Flow::Stop {
            break;
        }
    }
    (reader.end(), flow)
}

/// Checks what an answer is read as, however its bytes are cut.
#[track_caller]
fn check(provider: Provider, request: &Request, answer: impl AsRef<[u8]>, expected: &str) {
    let answer = answer.as_ref();
    let whole = read(provider, request, [answer]);
    assert_eq!(response_text(&whole.0), expected, "{}", String::from_utf8_lossy(answer));
    // As many cuts as a test has time for, never in step with the events.
    for at in (0..answer.len()).step_by(1 + answer.len() / 300) {
        let (one, other) = answer.split_at(at);
        assert_eq!(read(provider, request, [one, other]), whole, "cut at {at}");
    }
    for size in [1, 2, 7, 64] {
        assert_eq!(read(provider, request, answer.chunks(size)), whole, "chunks of {size}");
    }
}

/// An answer in one line: its pieces, its end, its usage.
fn response_text(result: &Result<Response, CallFailure>) -> String {
    let response = match result {
        Ok(response) => response,
        Err(failure) => {
            let said = failure.said.as_ref().map(|said| format!(" | said {}", text(said))).unwrap_or_default();
            return format!("{}: {}{said}", failure.kind.as_str(), failure.message);
        }
    };
    let mut parts: Vec<String> = response.content.iter().map(content_line).collect();
    parts.push(serde_json::to_value(response.finish).unwrap().as_str().unwrap().to_owned());
    let count = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
    let usage = &response.usage;
    let writes = usage.cache_writes.iter().map(|write| {
        format!(" +{}@{}", write.tokens, write.seconds.map_or("?".to_owned(), |seconds| seconds.to_string()))
    });
    parts.push(format!(
        "{} in, {} read{}, {} out",
        count(usage.input),
        count(usage.cache_read),
        writes.collect::<String>(),
        count(usage.output)
    ));
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".to_owned());
    parts.push(format!("{} {}", name(&response.id), name(&response.model)));
    parts.join(" | ")
}

fn content_line(content: &ResponsePart) -> String {
    match content {
        ResponsePart::Text { text: said } => format!("text {}", text(said)),
        ResponsePart::Refusal { text: said } => format!("refusal {}", text(said)),
        ResponsePart::Other { word } => format!("other {}", text(word)),
        ResponsePart::Call(call) => format!("call {} {} {}", text(&call.id), text(&call.name), text(&call.arguments)),
    }
}

/// A text from outside as a test may see it. It carries the request's label.
fn text(text: &Untrusted<String>) -> String {
    let [mail, model] = ["mail", "model"].map(|source| Label::from_source(Source::named(source)));
    assert_eq!(text.label(), &mail.join(&model));
    show::exact_json(text).to_string()
}

/// Events of a stream, named by their `type` as Anthropic's are.
fn named(events: &[serde_json::Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

/// Chunks of a stream, as OpenAI writes them.
fn chunks(chunks: &[serde_json::Value]) -> String {
    let chunks: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    chunks + "data: [DONE]\n\n"
}
