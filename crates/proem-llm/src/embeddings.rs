//! Vectors from a server: <https://developers.openai.com/api/reference/resources/embeddings>.
//!
//! Invariants: as many vectors as texts, in the texts' order, all of one length, every number finite. Anything else is
//! a failure that says which vector is wrong. Pure, as all codecs.

use proem_engine::call::{CallFailure, FailureKind};
use proem_text::{Label, Source};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::codec::{CONTENT_TYPE, draft::capped_outside_text};
use crate::wire::WireRequest;

/// The most bytes of a server's message that are kept.
const MAX_SAID_BYTES: usize = 500;

#[derive(Deserialize)]
struct EmbeddingsAnswer {
    data: Option<Vec<EmbeddingEntry>>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct EmbeddingEntry {
    /// Servers that leave it out keep to the order.
    index: Option<usize>,
    embedding: Vec<Option<f64>>,
}

/// The request for one vector for each text. `dimensions` is only for models that can shorten
/// their vectors.
#[must_use]
pub fn encode_embeddings(model: &str, texts: &[&str], dimensions: Option<u32>) -> WireRequest {
    let mut body = json!({ "model": model, "input": texts, "encoding_format": "float" });
    if let (Some(dimensions), Some(fields)) = (dimensions, body.as_object_mut()) {
        fields.insert(String::from("dimensions"), json!(dimensions));
    }
    WireRequest { path: "/embeddings", headers: vec![(CONTENT_TYPE.0, CONTENT_TYPE.1.to_owned())], body }
}

/// The vectors of `count` texts, in the texts' order. Of `dimensions` numbers each, or all of as many as the first.
///
/// # Errors
///
/// [`FailureKind::Malformed`] that says what is wrong. [`FailureKind::Server`] if the server says that something went
/// wrong.
pub fn decode_embeddings(bytes: &[u8], count: usize, dimensions: Option<u32>) -> Result<Vec<Vec<f32>>, CallFailure> {
    let answer: EmbeddingsAnswer = serde_json::from_slice(bytes).map_err(|error| unreadable_vectors(bytes, &error))?;
    let Some(entries) = answer.data else {
        let message = answer.error.as_ref().and_then(|error| error.pointer("/message").unwrap_or(error).as_str());
        let label = Label::from_source(Source::named("provider"));
        let failure = match message {
            Some(_) => CallFailure::new(FailureKind::Server, "the server failed instead of embedding; try again"),
            None => {
                malformed_vectors("the answer has no `data`; check that `base_url` is the address of an embeddings API")
            }
        };
        return Err(CallFailure {
            said: message.and_then(|text| capped_outside_text(text, MAX_SAID_BYTES, &label)),
            ..failure
        });
    };
    if entries.len() != count {
        return Err(malformed_vectors(format!(
            "the server sent {} vectors for {count} texts; check the model",
            entries.len()
        )));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    let mut length = dimensions.and_then(|dimensions| usize::try_from(dimensions).ok());
    for (place, entry) in entries.into_iter().enumerate() {
        let index = entry.index.unwrap_or(place);
        let Some(slot) = vectors.get_mut(index) else {
            return Err(malformed_vectors(format!(
                "a vector has index {index}, but only {count} were requested; check the model"
            )));
        };
        if slot.is_some() {
            return Err(malformed_vectors(format!("two vectors have index {index}; check the server")));
        }
        let expected = *length.get_or_insert(entry.embedding.len());
        if entry.embedding.len() != expected || expected == 0 {
            let found = entry.embedding.len();
            return Err(malformed_vectors(format!(
                "vector {index} has {found} numbers where {expected} are expected; check the model and `dimensions`"
            )));
        }
        *slot = Some(finite(index, &entry.embedding)?);
    }
    // As many as asked for, no number twice and none too large: every place is taken.
    Ok(vectors.into_iter().flatten().collect())
}

fn finite(index: usize, numbers: &[Option<f64>]) -> Result<Vec<f32>, CallFailure> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "vectors are of single precision; what is too large is refused"
    )]
    let number = |number: &Option<f64>| number.map(|number| number as f32).filter(|number| number.is_finite());
    let numbers: Option<Vec<f32>> = numbers.iter().map(number).collect();
    numbers.ok_or_else(|| {
        malformed_vectors(format!("vector {index} contains a value that is not a finite number; check the server"))
    })
}

/// Python's servers write `NaN`, which no JSON has.
fn unreadable_vectors(bytes: &[u8], error: &serde_json::Error) -> CallFailure {
    let (line, column) = (error.line(), error.column());
    let near = bytes.split(|byte| *byte == b'\n').nth(line.saturating_sub(1)).unwrap_or_default();
    let (from, to) = (column.saturating_sub(3).min(near.len()), column.saturating_add(3).min(near.len()));
    let near = near.get(from..to).unwrap_or_default();
    if bytes.trim_ascii_start().starts_with(b"<") {
        malformed_vectors("the answer is a web page, not JSON; check `base_url`")
    } else if near.windows(3).any(|word| matches!(word, b"NaN" | b"Inf")) {
        malformed_vectors("a vector contains a value that is not a finite number; check the server")
    } else if error.is_eof() {
        CallFailure::new(FailureKind::Cut, "the answer is incomplete; try again")
    } else {
        malformed_vectors(format!("the answer holds no vectors at line {line}, column {column}; check `base_url`"))
    }
}

fn malformed_vectors(message: impl Into<String>) -> CallFailure {
    CallFailure::new(FailureKind::Malformed, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proem_guard::show;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn requests() {
        let request = encode_embeddings("text-embedding-3-small", &["a", "b\n"], Some(256));
        assert_eq!(
            (request.path, request.headers),
            ("/embeddings", vec![("content-type", "application/json".to_owned())])
        );
        assert_eq!(
            proem_text::json::compact(&request.body),
            r#"{"dimensions":256,"encoding_format":"float","input":["a","b\n"],"model":"text-embedding-3-small"}"#
        );
        assert!(encode_embeddings("m", &["a"], None).body.get("dimensions").is_none());
    }

    /// The vectors, or what is wrong and what the server said.
    #[track_caller]
    fn check(answer: &str, count: usize, dimensions: Option<u32>, expected: &str) {
        let found = match decode_embeddings(answer.as_bytes(), count, dimensions) {
            Ok(vectors) => format!("{vectors:?}"),
            Err(failure) => {
                let said = failure.said.map(|said| format!(": {}", show::terminal_text(&said).into_string()));
                format!("{}: {}{}", failure.kind.as_str(), failure.message, said.unwrap_or_default())
            }
        };
        assert_eq!(found, expected, "{answer}");
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let answer = r#"{"object": "list", "data": [
            {"object": "embedding", "index": 1, "embedding": [0.5, -1]},
            {"object": "embedding", "index": 0, "embedding": [1e-3, 2]}
        ], "model": "m", "usage": {"prompt_tokens": 8, "total_tokens": 8}}"#;
        check(answer, 2, Some(2), "[[0.001, 2.0], [0.5, -1.0]]");
        check(answer, 2, None, "[[0.001, 2.0], [0.5, -1.0]]");
        check(r#"{"data": [{"embedding": [1]}, {"embedding": [2]}]}"#, 2, None, "[[1.0], [2.0]]");
        check(r#"{"data": []}"#, 0, None, "[]");
    }

    #[test]
    fn anything_else_says_what_is_wrong() {
        let no_number = "malformed: a vector contains a value that is not a finite number; check the server";
        let vector_0 = "malformed: vector 0 contains a value that is not a finite number; check the server";
        for (answer, count, expected) in [
            (
                r#"{"data": [{"index": 0, "embedding": [1]}]}"#,
                2,
                "malformed: the server sent 1 vectors for 2 texts; check the model",
            ),
            (
                r#"{"data": [{"index": 3, "embedding": [1]}]}"#,
                1,
                "malformed: a vector has index 3, but only 1 were requested; check the model",
            ),
            (
                r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#,
                2,
                "malformed: two vectors have index 0; check the server",
            ),
            (
                r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}"#,
                2,
                "malformed: vector 1 has 2 numbers where 1 are expected; check the model and `dimensions`",
            ),
            (
                r#"{"data": [{"index": 0, "embedding": []}]}"#,
                1,
                "malformed: vector 0 has 0 numbers where 0 are expected; check the model and `dimensions`",
            ),
            (r#"{"data": [{"index": 0, "embedding": [null]}]}"#, 1, vector_0),
            (r#"{"data": [{"index": 0, "embedding": [1e39]}]}"#, 1, vector_0),
            (r#"{"data": [{"index": 0, "embedding": [NaN]}]}"#, 1, no_number),
            (r#"{"data": [{"index": 0, "embedding": [1, -Infinity]}]}"#, 1, no_number),
            (r#"{"data": [{"index": 0, "embedding": [Infinity]}]}"#, 1, no_number),
            (
                r#"{"data": [{"index": 0, "embedding": "AACAPw=="}]}"#,
                1,
                "malformed: the answer holds no vectors at line 1, column 46; check `base_url`",
            ),
            (r#"{"data": [{"index": 0, "embedding": [1"#, 1, "cut: the answer is incomplete; try again"),
            (
                r#"{"error": {"message": "no slot"}}"#,
                1,
                "server: the server failed instead of embedding; try again: no slot",
            ),
            (
                r#"{"error": "model not loaded"}"#,
                1,
                "server: the server failed instead of embedding; try again: model not loaded",
            ),
            ("{}", 1, "malformed: the answer has no `data`; check that `base_url` is the address of an embeddings API"),
            ("<html>", 1, "malformed: the answer is a web page, not JSON; check `base_url`"),
            ("", 1, "cut: the answer is incomplete; try again"),
        ] {
            check(answer, count, None, expected);
        }
        let wrong_dimension =
            "malformed: vector 0 has 1 numbers where 2 are expected; check the model and `dimensions`";
        check(r#"{"data": [{"index": 0, "embedding": [1]}]}"#, 1, Some(2), wrong_dimension);
        let deep = format!(r#"{{"data": {}"#, "[".repeat(100_000));
        assert_eq!(decode_embeddings(deep.as_bytes(), 1, None).unwrap_err().kind, FailureKind::Malformed);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(answer in r#"[\[\]{}",:a-z0-9 .eE+-]{0,80}"#, count in 0usize..3) {
            if let Ok(vectors) = decode_embeddings(answer.as_bytes(), count, None) {
                prop_assert_eq!(vectors.len(), count);
            }
        }

        #[test]
        fn vectors_survive_any_order(vectors in vec(vec(-1e3f32..1e3, 3), 1..6), turn in 0usize..6) {
            let mut data: Vec<Value> =
                vectors.iter().enumerate().map(|(index, vector)| json!({ "index": index, "embedding": vector })).collect();
            let turn = turn % data.len();
            data.rotate_left(turn);
            let answer = json!({ "data": data }).to_string();
            prop_assert_eq!(decode_embeddings(answer.as_bytes(), vectors.len(), Some(3)), Ok(vectors));
        }
    }
}
