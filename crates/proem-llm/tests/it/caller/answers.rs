//! The answers, and the requests for them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};

use proem_engine::providers::Provider;
use proem_llm::scripted::{Reply, ScriptedServer, ServerScript};

use crate::caller::{Asking, attempts, server, text};

#[tokio::test]
async fn whole_answers() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let server = server([Reply::text("hello")]);
        let called = Asking::at(provider, &server.base_url()).ask().await;
        assert_eq!((text(&called).as_str(), attempts(&called)), ("hello", vec!["200 fine".to_owned()]));
        let sent = &called.attempts[0];
        assert!(sent.bytes > 100 && !sent.took.is_zero());
        assert_eq!(called.result.unwrap().usage.input, Some(100));
    }
}

#[tokio::test]
async fn streamed_answers_in_odd_chunks() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let asked = async |chunk| {
            let server = server([Reply::text("hello, wörld 🦀").in_chunks_of(chunk)]);
            Asking::at(provider, &server.base_url()).streamed().ask().await
        };
        let whole = asked(0).await;
        assert_eq!(text(&whole), "hello, wörld 🦀");
        for chunk in [1, 2, 3, 7, 64, 1_000] {
            assert_eq!(asked(chunk).await.result, whole.result, "{chunk}");
        }
    }
}

#[tokio::test]
async fn the_head_of_a_request() {
    for (provider, header, value) in
        [(Provider::OpenAi, "authorization", "Bearer sk-1"), (Provider::Anthropic, "x-api-key", "sk-1")]
    {
        let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("hello")]).with_key("sk-1")).unwrap();
        let called = Asking::at(provider, &server.base_url()).keyed("sk-1").ask().await;
        assert_eq!(text(&called), "hello");
        let request = &server.requests()[0];
        assert_eq!(request.header(header), Some(value));
        assert_eq!(request.header("user-agent"), Some(concat!("proem/", env!("CARGO_PKG_VERSION"))));
        assert_eq!(request.header("content-type"), Some("application/json"));
        let body = String::from_utf8(request.body.clone()).unwrap();
        assert_eq!(body, proem_text::json::compact(&request.json().unwrap()));
        for absent in ["cookie", "referer", "accept-encoding"] {
            assert_eq!(request.header(absent), None, "{absent}");
        }
    }
}

#[tokio::test]
async fn connections_are_kept_and_cookies_are_not() {
    let good = br#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let server = server([Reply::raw(200, good.to_vec()).header("set-cookie", "a=b")]);
    let asking = Asking::of(&server);
    let caller = asking.caller();
    let stop = tokio_util::sync::CancellationToken::new();
    for _ in 0..3 {
        assert_eq!(text(&caller.call(&asking.call(), &stop).await), "hi");
    }
    assert!(server.requests().iter().all(|request| request.header("cookie").is_none()));
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn localhost_is_this_machine() {
    let server = server([Reply::text("hello")]);
    let base_url = format!("http://localhost:{}/v1/", server.address().port());
    let called = Asking::at(Provider::OpenAi, &base_url).keyed("sk-1").ask().await;
    assert_eq!(text(&called), "hello");
    assert_eq!(server.requests()[0].path, "/v1/chat/completions");
}

/// A server that knows one answer, byte by byte, and then closes.
fn server_of_bytes(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"}") {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).unwrap();
            read.extend(buffer.iter().take(count));
        }
        stream.write_all(answer).unwrap();
    });
    format!("http://{address}")
}

#[tokio::test]
async fn an_answer_that_is_all_there_survives_its_connection() {
    let base_url = server_of_bytes(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
          41\r\n{\"choices\":[{\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\r\n",
    );
    let called = Asking::at(Provider::OpenAi, &base_url).attempts(1).ask().await;
    assert_eq!(text(&called), "hi");
}

#[tokio::test]
async fn answers_without_a_length_end_with_the_connection() {
    let base_url = server_of_bytes(
        b"HTTP/1.0 200 OK\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}",
    );
    let called = Asking::at(Provider::OpenAi, &base_url).attempts(1).ask().await;
    assert_eq!(text(&called), "hi");
}

#[tokio::test]
async fn what_is_not_reported_is_estimated_from_bytes_where_the_answer_is_complete() {
    let estimate = async |reply: Reply| {
        let server = server([reply.using(None)]);
        let called = Asking::of(&server).streamed().ask().await;
        let usage = called.result.unwrap().usage;
        let body = server.requests()[0].body.len() as u64;
        assert_eq!((usage.input, usage.output, usage.doubt), (None, None, None));
        (usage.estimate.unwrap(), body)
    };
    let (estimate, body) = estimate(Reply::text("twelve bytes")).await;
    assert_eq!(estimate.output, 12 + 16);
    assert_eq!(estimate.input, body);
    // A reported figure is no estimate.
    let server = server([Reply::text("hello")]);
    let called = Asking::of(&server).streamed().ask().await;
    assert_eq!(called.result.unwrap().usage.estimate, None);
}
