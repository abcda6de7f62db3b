//! A listener to an answer while it arrives.

use std::sync::Mutex;
use std::time::Duration;

use proem_engine::call::FailureKind;
use proem_engine::providers::Provider;
use proem_guard::{Untrusted, show};
use proem_llm::caller::listener::TextListener;
use proem_llm::caller::{CallOutcome, ProviderCall};
use proem_llm::scripted::{DeliveryEnd, Reply, ScriptedServer};
use tokio_util::sync::CancellationToken;

use super::{Asking, server, text};

/// Notes what it hears, as one text: `<` where a request is sent, `!` where it breaks off.
#[derive(Debug, Default)]
struct Notes(Mutex<String>);

impl Notes {
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }

    fn taken(self) -> String {
        self.0.into_inner().unwrap()
    }
}

impl TextListener for Notes {
    fn begins(&self) {
        self.note("<");
    }

    fn hears(&self, more: &Untrusted<String>) {
        self.note(show::exact_json(more).as_str().unwrap());
    }

    fn breaks_off(&self) {
        self.note("!");
    }

    fn waits(&self, asked: Duration) {
        self.note(&format!("[{} s]", asked.as_secs()));
    }
}

async fn heard(asking: &Asking, stop: &CancellationToken) -> (CallOutcome, String) {
    let notes = Notes::default();
    let call = ProviderCall { listener: Some(&notes), ..asking.call() };
    let called = asking.caller().call(&call, stop).await;
    (called, notes.taken())
}

fn asking(server: &ScriptedServer, provider: Provider) -> Asking {
    let base_url = match provider {
        Provider::Anthropic => format!("http://{}", server.address()),
        Provider::OpenAi => server.base_url(),
    };
    Asking::at(provider, &base_url).streamed()
}

#[tokio::test]
async fn what_is_heard_is_the_answer_however_it_is_cut() {
    let said = "Grüße 👍\u{1b}[31m, and \\ much more of it, in several pieces.";
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        for bytes in [1, 3, 64, 100_000] {
            let server = server([Reply::text(said).in_chunks_of(bytes)]);
            let (called, heard) = heard(&asking(&server, provider), &CancellationToken::new()).await;
            assert_eq!((text(&called), heard), (said.to_owned(), format!("<{said}")), "{provider:?} {bytes}");
        }
    }
}

#[tokio::test]
async fn an_attempt_that_breaks_off_is_told() {
    let server = server([Reply::text("Hello").ending(DeliveryEnd::CutAfter(10)), Reply::text("Good day")]);
    let (called, heard) = heard(&asking(&server, Provider::OpenAi).attempts(2), &CancellationToken::new()).await;
    assert_eq!((text(&called), heard), ("Good day".to_owned(), "<!<Good day".to_owned()));
}

#[tokio::test]
async fn what_arrived_of_a_cancelled_call_is_kept() {
    let stop = CancellationToken::new();
    let said = "Hello, a text that takes its time to arrive";
    let server = server([Reply::text(said).in_chunks_of(200).pausing(400)]);
    let asking = asking(&server, Provider::OpenAi);
    let notes = Notes::default();
    let (caller, call) = (asking.caller(), ProviderCall { listener: Some(&notes), ..asking.call() });
    let stopped = async {
        while notes.0.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let (called, ()) = tokio::join!(caller.call(&call, &stop), stopped);
    let failure = called.result.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Cancelled);
    let kept = failure.said.map(|said| show::exact_json(&said)).unwrap();
    let kept = kept.as_str().unwrap();
    assert!(said.starts_with(kept) && notes.taken() == format!("<{kept}!"), "{kept}");
}

#[tokio::test]
async fn a_wait_that_the_server_asks_for_is_told() {
    let limited = || Reply::raw(429, "{}").retry_after("2");
    let server = server([limited(), Reply::text("hello")]);
    let (called, heard) = heard(&asking(&server, Provider::OpenAi), &CancellationToken::new()).await;
    assert_eq!((text(&called).as_str(), heard.as_str()), ("hello", "<![2 s]<hello"));
}
