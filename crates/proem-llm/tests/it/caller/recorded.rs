//! The bytes of llama.cpp's server: `tests/recorded`.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use proem_engine::providers::Provider;
use proem_llm::client::Client;
use proem_llm::models::{ListedWindow, props_window, window_in_list};
use proem_llm::scripted::{Reply, ReplyContent};

use super::{Asking, attempts, call_failure, server, text};

fn recorded(name: &str) -> Reply {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/llama-server/{name}.http"));
    Reply::recorded(&fs::read(path).unwrap()).unwrap()
}

fn body(name: &str) -> Vec<u8> {
    match recorded(name).say {
        ReplyContent::Raw(raw) => raw.body,
        other => format!("{other:?}").into_bytes(),
    }
}

#[tokio::test]
async fn the_recorded_stream_is_one_sentence_with_its_usage() {
    let server = server([recorded("stream")]);
    let called = Asking::of(&server).streamed().ask().await;
    assert!(text(&called).starts_with("I'm glad you're enjoying the chat."), "{}", text(&called));
    let usage = called.result.unwrap().usage;
    assert!(usage.output.is_some_and(|tokens| tokens > 5), "{usage:?}");
}

#[tokio::test]
async fn the_recorded_value_is_the_same_whole_and_streamed() {
    let whole = server([recorded("schema")]);
    let streamed = server([recorded("schema-stream")]);
    let (whole, streamed) = (Asking::of(&whole).ask().await, Asking::of(&streamed).streamed().ask().await);
    assert_eq!(text(&whole), "{\n  \"severity\": \"high\"\n}");
    assert_eq!(text(&streamed), text(&whole));
}

#[tokio::test]
async fn a_recorded_refusal_is_final_and_names_the_schema() {
    let server = server([recorded("schema-refused")]);
    let called = Asking::of(&server).attempts(3).ask().await;
    assert_eq!(attempts(&called).len(), 1, "{:?}", attempts(&called));
    let said = called.result.unwrap_err().said.map(|said| proem_guard::show::exact_json(&said).to_string());
    assert!(said.is_some_and(|said| said.contains("cannot resolve $ref")));
}

#[tokio::test]
async fn a_recorded_prompt_that_is_too_long_names_the_window() {
    let server = server([recorded("too-long")]);
    let called = Asking::of(&server).attempts(3).streamed().ask().await;
    assert_eq!(call_failure(&called).0, "too-long");
    assert_eq!(attempts(&called).len(), 1, "{:?}", attempts(&called));
    assert_eq!(called.result.unwrap_err().window, NonZeroUsize::new(4096));
}

#[tokio::test]
async fn a_recorded_path_that_is_none_is_not_tried_again() {
    let server = server([recorded("not-found")]);
    let called = Asking::of(&server).attempts(3).ask().await;
    assert_eq!(attempts(&called).len(), 1, "{:?}", attempts(&called));
    let (kind, message) = call_failure(&called);
    let url = format!("{}/chat/completions", server.base_url());
    assert_eq!(kind, "unknown-model");
    assert_eq!(
        message,
        format!(
            "provider `test` has nothing at {url} (status 404), or no model `gpt-4o`; check `base_url` and the model's name"
        )
    );
}

#[tokio::test]
async fn the_recorded_list_and_properties_name_the_window_of_any_name() {
    let window = NonZeroUsize::new(4096).unwrap();
    assert_eq!(window_in_list(&body("models"), "whatever"), ListedWindow::Tokens(window));
    assert_eq!(props_window(&body("props")), Some(window));
    let server = server([recorded("models")]);
    let endpoint = Asking::at(Provider::OpenAi, &server.base_url()).endpoint;
    let list = Client::new().models(&endpoint).await.unwrap();
    assert_eq!(Client::new().window(&endpoint, &list, "whatever").await, Some(window));
}

#[test]
fn what_is_no_response_is_no_recording() {
    for response in [
        "",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\na\r\n0\r\n\r\n",
    ] {
        assert_eq!(Reply::recorded(response.as_bytes()), None, "{response}");
    }
    let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab";
    assert_eq!(Reply::recorded(cut), None);
}
