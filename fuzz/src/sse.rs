//! Any answer of a provider: it is read or refused, the same however its bytes are cut, and its words about an error
//! are short.

use proem_engine::assembly::{Assembly, PromptId};
use proem_engine::call::{AnswerForm, Arrival, CallFailure, Request, Response, Sampling, Tool, ToolChoice};
use proem_engine::providers::Provider;
use proem_llm::codec::{AnswerReader, EndpointNames, refusal_failure};
use proem_llm::embeddings::decode_embeddings;
use proem_llm::wire::ResponseHead;

/// Holds one input to the laws.
pub fn feed(bytes: &[u8]) {
    let tool = || Tool { name: "f".to_owned(), description: String::new(), schema: serde_json::json!({}) };
    // The last byte cuts the second time.
    let size = bytes.last().map_or(1, |byte| usize::from(*byte) % 64 + 1);
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        for answer in [
            AnswerForm::Text,
            AnswerForm::Value { tool: tool() },
            AnswerForm::Tools { tools: vec![tool()], choice: ToolChoice::Auto },
        ] {
            let request = request(answer);
            let whole = read(provider, &request, [bytes]);
            assert_eq!(read(provider, &request, bytes.chunks(1)), whole);
            assert_eq!(read(provider, &request, bytes.chunks(size)), whole);
        }
        let names = EndpointNames { endpoint: "e", variable: None, model: "m", url: "http://e", body_bytes: 1 };
        let failure = refusal_failure(provider, &ResponseHead { status: 400, headers: Vec::new() }, bytes, &names);
        assert!(failure.said.is_none_or(|said| said.len() <= 500));
    }
    if let Ok(vectors) = decode_embeddings(bytes, 1, None) {
        assert!(vectors.len() == 1 && vectors.iter().flatten().all(|number| number.is_finite()));
    }
}

fn request(answer: AnswerForm) -> Request {
    let prompt =
        PromptId { agent: "a".to_owned(), name: "b".to_owned(), version: "1.0.0".to_owned(), closure: String::new() };
    Request {
        model: "m".to_owned(),
        assembly: Assembly { prompt, sections: Vec::new(), boundaries: Vec::new(), output_tokens: 1 },
        answer,
        sampling: Sampling::default(),
        arrival: Arrival::Streamed,
        way: None,
        inquiry: None,
    }
}

fn read<'b>(
    provider: Provider,
    request: &Request,
    chunks: impl IntoIterator<Item = &'b [u8]>,
) -> Result<Response, CallFailure> {
    let mut reader = AnswerReader::new(provider, request, 4_096);
    for chunk in chunks {
        reader.push(chunk);
    }
    reader.end()
}
