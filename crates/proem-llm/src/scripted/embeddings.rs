//! Vectors, in the words of OpenAI's embeddings:
//! <https://platform.openai.com/docs/api-reference/embeddings/create>.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::rendered_answer::{AnswerRequest, RenderedAnswer, header_pair};
use super::reply::{VectorFault, Vectors};

/// The vectors of all texts of the request, with what is to be wrong with them.
pub(super) fn render_vectors(vectors: &Vectors, asked: &AnswerRequest<'_>) -> RenderedAnswer {
    let texts = texts_to_embed(asked.body);
    let wanted = asked.body.get("dimensions").and_then(Json::as_u64).and_then(|wanted| usize::try_from(wanted).ok());
    let dimensions = wanted.unwrap_or(vectors.dimensions);
    let mut all: Vec<(usize, Vec<f32>)> = match &vectors.given {
        Some(given) => given.iter().take(texts.len()).cloned().enumerate().collect(),
        None => texts.iter().map(|text| word_vector(text, dimensions)).enumerate().collect(),
    };
    match vectors.fault {
        VectorFault::None => {}
        VectorFault::Reversed => all.reverse(),
        VectorFault::NotANumber => {
            if let Some(number) = all.last_mut().and_then(|(_, vector)| vector.first_mut()) {
                *number = f32::NAN;
            }
        }
        VectorFault::OtherDimension => {
            if let Some((_, vector)) = all.last_mut() {
                vector.push(0.5);
            }
        }
        VectorFault::TooFew => _ = all.pop(),
        VectorFault::Twice => all.extend(all.first().cloned()),
    }
    let packed = asked.body.get("encoding_format").and_then(Json::as_str) == Some("base64");
    let items: Vec<_> = all.iter().map(|(index, vector)| item(*index, vector, packed)).collect();
    let tokens: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    let (model, usage) = (proem_text::json::quote_json(asked.model()), proem_text::json::compact(&usage));
    // Written by hand, since a number that is none is no JSON, which servers send all the same.
    let body = format!(r#"{{"data":[{}],"model":{model},"object":"list","usage":{usage}}}"#, items.join(","));
    let mut rendered = RenderedAnswer::whole(200, body.into_bytes());
    rendered.headers.push(header_pair("content-type", "application/json"));
    rendered.headers.push(header_pair("x-request-id", &format!("req_{:06}", asked.number)));
    rendered
}

fn texts_to_embed(body: &Json) -> Vec<&str> {
    match body.get("input") {
        Some(Json::String(text)) => vec![text],
        Some(Json::Array(texts)) => texts.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn item(index: usize, vector: &[f32], packed: bool) -> String {
    let numbers = if packed {
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        format!("\"{}\"", STANDARD.encode(bytes))
    } else {
        let numbers: Vec<_> = vector.iter().map(ToString::to_string).collect();
        format!("[{}]", numbers.join(","))
    };
    format!(r#"{{"embedding":{numbers},"index":{index},"object":"embedding"}}"#)
}

/// A vector of length 1 in which each word counts at one place, so that texts with words in common
/// are alike. Bits are the same on every machine: sums of ones and one correctly rounded root.
fn word_vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimensions];
    for word in text.split_whitespace() {
        let hash = word_hash(word);
        let place = usize::try_from(hash >> 1).unwrap_or(0).checked_rem(dimensions);
        if let Some(number) = place.and_then(|place| vector.get_mut(place)) {
            *number += if hash.is_multiple_of(2) { 1.0 } else { -1.0 };
        }
    }
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        for number in &mut vector {
            *number /= length;
        }
    } else if let Some(first) = vector.first_mut() {
        // A text without words, or whose words cancel out, still has a direction.
        *first = 1.0;
    }
    vector
}

/// FNV-1a: <https://www.rfc-editor.org/rfc/rfc9923>, kept to 32 bits.
fn word_hash(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
