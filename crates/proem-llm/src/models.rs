//! The context window of a model in a server's list of models.
//!
//! Pure: the list is given. Servers agree on the list and on nothing in it: vLLM has `max_model_len`, LM Studio
//! `max_context_length` or `loaded_context_length`, OpenRouter and others `context_length` or `context_window`,
//! llama.cpp `meta.n_ctx`. The window of a model's training is none of a server: llama.cpp's `n_ctx_train` is often
//! four times the room that the server has.

use core::num::NonZeroUsize;

use serde_json::Value;

use crate::codec::POSSIBLE_WINDOWS;

/// The names of the window in lists, the surest first.
const POINTERS: [&str; 8] = [
    "/meta/n_ctx",
    "/loaded_context_length",
    "/max_model_len",
    "/max_context_length",
    "/context_length",
    "/context_window",
    "/max_input_tokens",
    "/limits/max_context_window_tokens",
];

/// A list's entry about one of its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedWindow {
    /// Its context window has so many tokens.
    Tokens(NonZeroUsize),
    /// Nothing, but the server is llama.cpp's, which says it under `/props`.
    AskProps,
    /// Nothing.
    Unsaid,
}

/// The window of the model of that name in a list of models, as `GET /models` gives it.
///
/// A list of one model is about that one whatever it is called: a server of one model answers to every name.
#[must_use]
pub fn window_in_list(list: &[u8], model: &str) -> ListedWindow {
    let list: Value = serde_json::from_slice(list).unwrap_or_default();
    let Some(models) = list.get("data").or_else(|| list.get("models")).and_then(Value::as_array) else {
        return ListedWindow::Unsaid;
    };
    let is_named = |entry: &&Value| {
        let is_name = |value: &Value| value.as_str() == Some(model);
        let aliases = entry.get("aliases").and_then(Value::as_array);
        ["id", "name", "model"].iter().filter_map(|key| entry.get(key)).any(is_name)
            || aliases.is_some_and(|aliases| aliases.iter().any(is_name))
    };
    let entry = match models.as_slice() {
        [only] => Some(only),
        several => several.iter().find(is_named),
    };
    let Some(entry) = entry else { return ListedWindow::Unsaid };
    let is_llama = entry.get("owned_by").and_then(Value::as_str) == Some("llamacpp");
    match POINTERS.iter().find_map(|pointer| window(entry.pointer(pointer)?)) {
        Some(tokens) => ListedWindow::Tokens(tokens),
        None if is_llama => ListedWindow::AskProps,
        None => ListedWindow::Unsaid,
    }
}

/// The window in what llama.cpp's server says under `/props`.
#[must_use]
pub fn props_window(props: &[u8]) -> Option<NonZeroUsize> {
    let props: Value = serde_json::from_slice(props).ok()?;
    window(props.pointer("/default_generation_settings/n_ctx").or_else(|| props.get("n_ctx"))?)
}

fn window(value: &Value) -> Option<NonZeroUsize> {
    let tokens = value.as_u64().and_then(|tokens| usize::try_from(tokens).ok())?;
    NonZeroUsize::new(tokens).filter(|_| POSSIBLE_WINDOWS.contains(&tokens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The list of llama.cpp's server with a window of 2,048 tokens, as it came.
    const LLAMA: &str = r#"{"models":[{"name":"smol.gguf","model":"smol.gguf","type":"model","capabilities":["completion"],"details":{"format":"gguf"}}],"object":"list","data":[{"id":"smol.gguf","aliases":["smol.gguf"],"tags":[],"object":"model","created":1795968904,"owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":49152,"n_ctx":2048,"n_ctx_train":8192,"n_embd":576,"n_params":134515008,"size":96576768,"ftype":"Q4_1"}}]}"#;

    fn window_of_tokens(tokens: usize) -> ListedWindow {
        NonZeroUsize::new(tokens).map_or(ListedWindow::Unsaid, ListedWindow::Tokens)
    }

    #[test]
    fn lists_name_windows_in_many_ways() {
        let check = |list: Value, expected: ListedWindow| {
            assert_eq!(window_in_list(list.to_string().as_bytes(), "m"), expected, "{list}");
        };
        assert_eq!(window_in_list(LLAMA.as_bytes(), "any"), window_of_tokens(2_048));
        for key in ["max_model_len", "max_context_length", "context_length", "context_window"] {
            check(json!({ "data": [{ "id": "other", key: 1 }, { "id": "m", key: 4_096 }] }), window_of_tokens(4_096));
        }
        check(
            json!({ "data": [{ "id": "a", "context_length": 512 }, { "id": "b", "context_length": 512 }] }),
            window_of_tokens(0),
        );
        check(
            json!({ "data": [{ "id": "x", "aliases": ["m"], "context_length": 512 }, { "id": "y" }] }),
            window_of_tokens(512),
        );
    }

    #[test]
    fn a_list_that_is_wrong_says_nothing() {
        let check = |list: &str| assert_eq!(window_in_list(list.as_bytes(), "m"), ListedWindow::Unsaid, "{list}");
        check("");
        check("<html>");
        check("[]");
        check(r#"{"data": {}}"#);
        check(r#"{"data": []}"#);
        check(r#"{"data": [{"id": "m", "context_length": -1}]}"#);
        check(r#"{"data": [{"id": "m", "context_length": "4096"}]}"#);
        check(r#"{"data": [{"id": "m", "context_length": 1}]}"#);
        check(r#"{"data": [{"id": "m", "context_length": 18446744073709551615}]}"#);
        check(r#"{"data": [{"id": "m", "meta": {"n_ctx_train": 8192}}]}"#);
    }

    #[test]
    fn older_llama_servers_name_the_window_elsewhere() {
        let list = json!({ "data": [{ "id": "m", "owned_by": "llamacpp", "meta": { "n_ctx_train": 8_192 } }] });
        assert_eq!(window_in_list(list.to_string().as_bytes(), "m"), ListedWindow::AskProps);
        let props = json!({ "default_generation_settings": { "n_ctx": 2_048 } });
        assert_eq!(props_window(props.to_string().as_bytes()), NonZeroUsize::new(2_048));
        assert_eq!(props_window(b"{}"), None);
    }
}
