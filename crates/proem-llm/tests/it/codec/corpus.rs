//! The fuzzer's inputs, as ordinary tests. The laws are those of `fuzz/src/sse.rs`.

use std::path::Path;

use proem_engine::call::AnswerForm;
use proem_engine::providers::Provider::{Anthropic, OpenAi};
use proem_llm::codec::{EndpointNames, refusal_failure};
use proem_llm::embeddings::decode_embeddings;
use proem_llm::wire::ResponseHead;

use crate::codec::{read, request, tools, value};

#[test]
fn answers_are_read_or_refused_however_they_are_cut() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sse");
    let (mut inputs, mut answers) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        inputs += 1;
        for provider in [Anthropic, OpenAi] {
            for request in [request(AnswerForm::Text), value(), tools(&["f"])] {
                let (whole, _) = read(provider, &request, [bytes.as_slice()]);
                for size in [1, 3, 17] {
                    assert_eq!(read(provider, &request, bytes.chunks(size)).0, whole, "{}", path.display());
                }
                answers += usize::from(whole.is_ok());
            }
            let names = EndpointNames {
                endpoint: "e",
                variable: None,
                model: "m",
                url: "https://e/v1/chat/completions",
                body_bytes: 9,
            };
            let failure = refusal_failure(provider, &ResponseHead { status: 400, headers: Vec::new() }, &bytes, &names);
            assert!(failure.said.is_none_or(|said| said.len() <= 500), "{}", path.display());
        }
        _ = decode_embeddings(&bytes, 1, None);
    }
    assert!(inputs >= 12 && answers >= 12, "{inputs} inputs, {answers} answers");
}
