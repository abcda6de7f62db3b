//! Texts that a stream of events brings in pieces.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::sse::{Events, SseEvent};

/// The texts of a stream, the pieces of each key joined in their order. None if `body` is no stream.
///
/// A model writes a word in as many events as it likes, so that neither the bytes nor any single
/// event hold it. Pieces of different calls under one key are joined too: what is found then is one
/// thing too many, never one too few.
pub(super) fn streamed_texts(body: &[u8]) -> Vec<String> {
    let mut events = Events::starting_at(0);
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    let mut read = |event: &SseEvent| {
        if let Ok(value) = serde_json::from_str::<Value>(&event.data) {
            collect_texts("", &value, &mut joined);
        }
    };
    events.push(body).iter().flatten().for_each(&mut read);
    events.finish().iter().for_each(read);
    joined.into_values().collect()
}

fn collect_texts(key: &str, value: &Value, joined: &mut BTreeMap<String, String>) {
    match value {
        Value::String(text) => match joined.get_mut(key) {
            Some(known) => known.push_str(text),
            None => _ = joined.insert(key.to_owned(), text.clone()),
        },
        Value::Array(items) => items.iter().for_each(|item| collect_texts(key, item, joined)),
        Value::Object(fields) => fields.iter().for_each(|(key, field)| collect_texts(key, field, joined)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_by_key() {
        for (body, expected) in [
            ("data: {\"delta\":{\"text\":\"sk-\"}}\n\ndata: {\"delta\":{\"text\":\"ant\"}}\n\n", vec!["sk-ant"]),
            ("data: {\"a\":\"x\",\"b\":[\"y\",\"z\"]}\n\ndata: {\"a\":\"w\"}", vec!["xw", "yz"]),
            ("data: [DONE]\n\n", vec![]),
            ("{\"text\":\"whole\"}", vec![]),
        ] {
            assert_eq!(streamed_texts(body.as_bytes()), expected, "{body:?}");
        }
    }
}
