//! The failures, and their messages and consequences.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use proem_engine::call::FailureSpeaker;
use proem_engine::providers::Provider;
use proem_guard::show;
use proem_llm::endpoint::EndpointKey;
use proem_llm::scripted::{DeliveryEnd, Reply, ScriptedServer, ServerScript};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::caller::{Asking, attempts, call_failure, sample, server, text};

const SLOW: u64 = 600_000;
const SHORT: Duration = Duration::from_millis(50);

fn server_host(server: &ScriptedServer) -> String {
    server.address().to_string()
}

#[tokio::test]
async fn a_slow_head() {
    let server = server([Reply::text("hello").delayed(SLOW)]);
    let called = Asking::of(&server).attempts(2).limited(|limits| limits.call = SHORT).ask().await;
    let expected = format!(
        "`{}` has not answered within 0.05 s; raise `providers.test.call_seconds` or ask for less; gave up after 2 \
         attempts",
        server_host(&server)
    );
    assert_eq!(call_failure(&called), ("timed-out", expected));
    assert_eq!(attempts(&called), ["- timed-out", "- timed-out"]);
}

#[tokio::test]
async fn a_stall_in_the_middle() {
    let server = server([Reply::text("hello").in_chunks_of(40).pausing(SLOW)]);
    let called = Asking::of(&server).attempts(1).limited(|limits| limits.idle = SHORT).ask().await;
    let expected = format!(
        "`{}` has not continued its answer within 0.05 s; raise `providers.test.idle_seconds` or ask for less; gave \
         up after 1 attempt",
        server_host(&server)
    );
    assert_eq!(call_failure(&called), ("timed-out", expected));
    assert_eq!(attempts(&called), ["200 timed-out"]);
}

#[tokio::test]
async fn an_answer_that_drips() {
    let server = server([Reply::text("hello").in_chunks_of(1).pausing(10).ending(DeliveryEnd::Endless(usize::MAX))]);
    let called = Asking::of(&server).attempts(1).limited(|limits| limits.call = Duration::from_millis(300)).ask().await;
    assert_eq!(call_failure(&called).0, "timed-out");
    assert!(call_failure(&called).1.contains("`providers.test.call_seconds`"), "{called:?}");
}

#[tokio::test]
async fn answers_without_end() {
    let endless = || Reply::text("hello").ending(DeliveryEnd::Endless(usize::MAX));
    for streamed in [false, true] {
        let server = server([endless()]);
        let asking = Asking::of(&server).limited(|limits| limits.answer_bytes = 100_000);
        let asking = if streamed { asking.streamed() } else { asking };
        let called = asking.ask().await;
        assert_eq!(attempts(&called), ["200 too-large"]);
        // Of a stream the text counts, without its frame.
        let most = if streamed { 100_000 * 512 } else { 500_000 };
        assert!(called.attempts[0].bytes < most, "{}", called.attempts[0].bytes);
    }
    let server = server([Reply::raw(500, "x").ending(DeliveryEnd::Endless(usize::MAX))]);
    let called = Asking::of(&server).attempts(1).ask().await;
    assert_eq!(attempts(&called), ["500 server"]);
    assert!(called.attempts[0].bytes < 500_000);
}

#[tokio::test]
async fn a_limit_and_then_an_answer() {
    let limited = Reply::raw(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after-ms", "20");
    let server = server([limited, Reply::text("hello")]);
    let called = Asking::of(&server).ask().await;
    assert_eq!(text(&called), "hello");
    assert_eq!(attempts(&called), ["429 rate-limited", "200 fine"]);
    assert!(called.attempts[1].waited >= Duration::from_millis(20));
}

#[tokio::test]
async fn failures_that_stay() {
    let server = server([Reply::raw(500, "{}")]);
    let called = Asking::of(&server).attempts(3).ask().await;
    let expected = "provider `test` failed with status 500; try again; gave up after 3 attempts".to_owned();
    assert_eq!(call_failure(&called), ("server", expected));
    assert_eq!(attempts(&called), vec!["500 server"; 3]);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn waits_that_are_too_long() {
    let server = server([Reply::raw(429, "{}").retry_after("3600")]);
    let asking = Asking::of(&server);
    let called = asking.ask().await;
    let (kind, message) = call_failure(&called);
    assert_eq!(kind, "rate-limited");
    let told = "; gave up after 1 attempt, because the provider asks to wait 3600 s and the maximum wait is 120 s";
    assert!(message.ends_with(told), "{message}");
}

#[tokio::test]
async fn waits_beyond_the_end() {
    let server = server([Reply::raw(503, "{}").retry_after("100")]);
    let asking = Asking::of(&server);
    let end = Instant::now() + Duration::from_secs(90);
    let called = asking.caller().call_before(end, &asking.call(), &CancellationToken::new()).await;
    let told = "; gave up after 1 attempt, because the remaining time is shorter than the next wait of 100 s";
    assert!(call_failure(&called).1.ends_with(told), "{called:?}");
}

#[tokio::test]
async fn what_stays_is_asked_once() {
    for (status, kind) in [(400, "refused"), (401, "key-refused"), (404, "unknown-model"), (402, "no-credit")] {
        let server = server([Reply::raw(status, "{}")]);
        let called = Asking::of(&server).keyed("sk-1").ask().await;
        assert_eq!(attempts(&called), [format!("{status} {kind}")]);
        assert!(!call_failure(&called).1.contains("attempt"), "{called:?}");
    }
}

#[tokio::test]
async fn a_wrong_key() {
    let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("hello")]).with_key("right")).unwrap();
    let called = Asking::of(&server).keyed("wrong-hunter2").ask().await;
    let expected = "provider `test` refused the key in `TEST_KEY`; set it to a valid key".to_owned();
    assert_eq!(call_failure(&called), ("key-refused", expected));
    assert!(!format!("{called:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_reset_in_the_middle_and_before_the_head() {
    for streamed in [false, true] {
        let server = server([Reply::text("hello").ending(DeliveryEnd::ResetAfter(60)), Reply::text("hello")]);
        let asking = Asking::of(&server);
        let asking = if streamed { asking.streamed() } else { asking };
        let called = asking.ask().await;
        assert_eq!(text(&called), "hello");
        assert_eq!(attempts(&called).len(), 2, "{called:?}");
        assert!(attempts(&called)[0].ends_with(" cut"), "{called:?}");
    }
    let server = server([Reply::text("hello").ending(DeliveryEnd::ResetAfter(0))]);
    let called = Asking::of(&server).attempts(2).ask().await;
    let expected = format!(
        "`{}` ended the connection without an answer; try again or check `providers.test.base_url`; gave up after 2 \
         attempts",
        server_host(&server)
    );
    assert_eq!(call_failure(&called), ("cut", expected));
}

#[tokio::test]
async fn a_cut_in_the_middle() {
    let server = server([Reply::text("hello").ending(DeliveryEnd::CutAfter(60))]);
    let called = Asking::of(&server).attempts(1).ask().await;
    let expected = format!(
        "the connection to `{}` broke in the middle of the answer; try again; gave up after 1 attempt",
        server_host(&server)
    );
    assert_eq!(call_failure(&called), ("cut", expected));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = server([Reply::text("hello")]);
    for status in [301, 302, 303, 307, 308] {
        let server = server([Reply::raw(status, "").header("location", other.base_url())]);
        let called = Asking::of(&server).keyed("sk-1").ask().await;
        let target = other.base_url();
        let expected =
            format!("provider `test` redirected the request to `{target}`; no redirect is followed; check `base_url`");
        assert_eq!(call_failure(&called), ("redirected", expected));
        assert_eq!(attempts(&called), [format!("{status} redirected")]);
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn nobody_listens() {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let called = Asking::at(Provider::OpenAi, &format!("http://{address}/v1")).attempts(2).ask().await;
    let expected = format!(
        "nothing listens at `{address}`; start the server or check `providers.test.base_url`; gave up after 2 attempts"
    );
    assert_eq!(call_failure(&called), ("unreachable", expected));
}

#[tokio::test]
async fn a_server_without_encryption() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        _ = stream.read(&mut [0; 4096]);
        _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let called = Asking::at(Provider::OpenAi, &format!("https://{address}/v1")).attempts(1).ask().await;
    let expected = format!(
        "`{address}` answers without encryption, and `https:` asks for it; write `http:` in `providers.test.base_url` if \
         that server is meant to be used without encryption"
    );
    assert_eq!(call_failure(&called), ("insecure", expected));
}

#[tokio::test]
async fn a_connection_that_does_not_come_about() {
    // The system accepts for the listener, and nobody answers the greeting of TLS.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let asking = Asking::at(Provider::OpenAi, &format!("https://{address}/v1")).attempts(1);
    let called = asking.limited(|limits| limits.connect = SHORT).ask().await;
    let expected = format!(
        "no connection to `{address}` within 0.05 s; check the network, or raise `providers.test.connect_seconds`; \
         gave up after 1 attempt"
    );
    assert_eq!(call_failure(&called), ("timed-out", expected));
}

#[tokio::test]
async fn what_is_never_sent() {
    let server = server([Reply::text("hello")]);
    let check = async |asking: Asking, expected: (&'static str, &str)| {
        let called = asking.ask().await;
        assert_eq!(call_failure(&called), (expected.0, expected.1.to_owned()));
        assert!(called.attempts.is_empty());
    };
    let mut keyless = Asking::of(&server);
    keyless.endpoint.key = EndpointKey::Missing { variable: "TEST_KEY".into() };
    check(keyless, ("no-key", "no key for provider `test`; set the environment variable TEST_KEY")).await;
    let broken = Asking::of(&server).keyed("hunter2\r\nx-evil: 1");
    let message =
        "the key in `TEST_KEY` contains a space, a line break or another invalid character; set it again without it";
    check(broken, ("key-refused", message)).await;
    let open = Asking::at(Provider::OpenAi, "http://gpu.invalid/v1").keyed("hunter2");
    let message =
        "`providers.test.base_url` would send the key in `TEST_KEY` to `gpu.invalid` unencrypted; write `https:`";
    check(open, ("refused", message)).await;
    let mut wordless = Asking::of(&server);
    (wordless.request.assembly, wordless.plan) = sample::parse_sample("system:be_brief");
    let message = "there is no user section, or it is empty; a provider needs one after the system sections: put text under `{{role \"user\"}}`";
    check(wordless, ("refused", message)).await;
    let asking = Asking::of(&server);
    let call = proem_llm::caller::ProviderCall { endpoint: "other", ..asking.call() };
    let called = asking.caller().call(&call, &CancellationToken::new()).await;
    let message = "no provider `other` is configured; choose `test` or configure it".to_owned();
    assert_eq!(call_failure(&called), ("refused", message));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn malformed_answers() {
    for (body, times) in [("", 3), ("<html>", 1), ("{\"choices\":7}", 1), ("\u{0}\u{0}", 1)] {
        let server = server([Reply::raw(200, body)]);
        let called = Asking::of(&server).attempts(3).ask().await;
        assert_eq!(attempts(&called), vec!["200 malformed"; times], "{body}");
    }
}

#[tokio::test]
async fn an_empty_stream_is_asked_for_once_and_names_the_likely_cause() {
    let server = server([Reply::raw(200, "")]);
    let called = Asking::of(&server).streamed().ask().await;
    assert_eq!(attempts(&called), ["200 empty"]);
    let (_, message) = call_failure(&called);
    assert!(message.contains("is probably longer than the model's context window") && !message.contains("gave up"));
    // In one piece an empty answer says nothing about the prompt.
    let server = server_of_empty_answers();
    let called = Asking::of(&server).ask().await;
    assert_eq!(attempts(&called), vec!["200 malformed"; 4]);
}

fn server_of_empty_answers() -> ScriptedServer {
    server([Reply::raw(200, "")])
}

#[tokio::test]
async fn a_stream_that_breaks_before_its_first_byte_is_asked_for_twice() {
    let server = server([Reply::text("hello").ending(DeliveryEnd::CutAfter(0))]);
    let called = Asking::of(&server).streamed().ask().await;
    assert_eq!(attempts(&called), vec!["200 cut"; 2]);
    let (_, message) = call_failure(&called);
    assert!(message.contains(" broke in the middle of the answer: the server ended the answer before "), "{message}");
}

#[tokio::test]
async fn the_first_cause_is_named_when_a_server_dies_in_mid_answer() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Nobody listens by the time the answer breaks off.
        drop(listener);
        _ = stream.read(&mut [0; 4096]);
        let event = r#"data: {"choices":[{"delta":{"content":"Half an"}}]}"#;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999";
        _ = stream.write_all(format!("{head}\r\n\r\n{event}\n\n").as_bytes());
    });
    let called = Asking::at(Provider::OpenAi, &format!("http://{address}/v1")).streamed().attempts(3).ask().await;
    let expected = format!(
        "the connection to `{address}` broke in the middle of the answer, and since then nothing listens at `{address}`; \
         start the server or check `providers.test.base_url`; gave up after 3 attempts"
    );
    assert_eq!(call_failure(&called), ("cut", expected));
    assert_eq!(attempts(&called), ["200 cut", "- unreachable", "- unreachable"]);
    let failure = called.result.unwrap_err();
    assert_eq!(failure.speaker(), FailureSpeaker::Model);
    assert_eq!(show::exact_json(&failure.said.unwrap()), "Half an");
}

#[tokio::test]
async fn the_window_that_a_server_names_is_a_figure_of_the_failure() {
    // As llama.cpp's server answers.
    let body = r#"{"error":{"code":400,"message":"request (831 tokens) exceeds the available context size (512 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":831,"n_ctx":512}}"#;
    let server = server([Reply::raw(400, body)]);
    let called = Asking::of(&server).streamed().ask().await;
    assert_eq!(attempts(&called), ["400 too-long"]);
    assert_eq!(called.result.unwrap_err().window.map(std::num::NonZero::get), Some(512));
}
