//! Answers of another status than 200. Sources: <https://platform.claude.com/docs/en/api/errors>,
//! <https://developers.openai.com/api/docs/guides/error-codes>.

use proem_engine::providers::Provider;
use proem_guard::show;
use proem_llm::codec::{EndpointNames, refusal_failure};
use proem_llm::wire::ResponseHead;
use serde_json::json;

/// The address of requests.
const URL: &str = "https://api.example.com/v1/chat/completions";

/// Checks the kind, the message and what the provider said.
#[track_caller]
fn check(status: u16, body: &str, expected: &str) {
    let headers = vec![("location".to_owned(), "https://login.exämple.com:8443/v2?next=1".to_owned())];
    let names =
        EndpointNames { endpoint: "mine", variable: Some("MINE_API_KEY"), model: "m-1", url: URL, body_bytes: 9 };
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        let failure =
            refusal_failure(provider, &ResponseHead { status, headers: headers.clone() }, body.as_bytes(), &names);
        assert_eq!(failure.status, Some(status));
        let said = failure.said.map(|said| format!(" | {}", show::exact_json(&said).as_str().unwrap()));
        let found = format!("{}: {}{}", failure.kind.as_str(), failure.message, said.unwrap_or_default());
        assert_eq!(found, expected, "{status} {body}");
    }
}

fn anthropic(kind: &str, message: &str) -> String {
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" }).to_string()
}

fn openai(kind: &str, code: &str, message: &str) -> String {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } }).to_string()
}

const KEY: &str = "key-refused: provider `mine` refused the key in `MINE_API_KEY`; set it to a valid key";
const MODEL: &str = "unknown-model: provider `mine` has no model `m-1`, or this key is not allowed to use it; check \
                     the model's name and `base_url`";
const LONG: &str =
    "too-long: the request exceeds the context window of model `m-1` at provider `mine`; shorten the input";
const LONG_4K: &str = "too-long: the request exceeds the context window of 4096 tokens of model `m-1` at provider `mine`; shorten the input";
const LONG_200K: &str = "too-long: the request exceeds the context window of 200000 tokens of model `m-1` at provider \
                         `mine`; shorten the input";
const BYTES: &str = "too-long: provider `mine`, or a proxy before it, refused a request of 9 bytes for its size (status \
                     413); shorten the input, or raise the limit there (nginx: `client_max_body_size`)";
const CREDIT: &str = "no-credit: the account at provider `mine` has no credit left; add some or raise its limit";
const RATE: &str =
    "rate-limited: the rate limit of provider `mine` for model `m-1` is reached; wait, or send fewer requests at once";
const SERVER: &str = "server: provider `mine` failed with status 529; try again";
const BAD: &str = "refused: provider `mine` refused the request with status 400; correct what its message names";

#[test]
fn anthropics_errors() {
    for (status, kind, message, expected) in [
        (400, "invalid_request_error", "messages: at least one message is required", BAD),
        (400, "invalid_request_error", "prompt is too long: 212000 tokens > 200000 maximum", LONG_200K),
        (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", CREDIT),
        (401, "authentication_error", "invalid x-api-key", KEY),
        (402, "billing_error", "Payment failed", CREDIT),
        (403, "permission_error", "Your API key does not have permission", KEY),
        (404, "not_found_error", "model: m-1", MODEL),
        (413, "request_too_large", "Request exceeds the maximum size", BYTES),
        (429, "rate_limit_error", "This request would exceed your rate limit", RATE),
        (529, "overloaded_error", "Overloaded", SERVER),
    ] {
        check(status, &anthropic(kind, message), &format!("{expected} | {message}"));
    }
}

#[test]
fn openais_errors() {
    for (status, kind, code, message, expected) in [
        (400, "invalid_request_error", "unsupported_value", "Unsupported value: 'temperature'", BAD),
        (400, "invalid_request_error", "context_length_exceeded", "Too many tokens", LONG),
        (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-…", KEY),
        (403, "invalid_request_error", "model_not_found", "Project has no access to model m-1", MODEL),
        (404, "invalid_request_error", "model_not_found", "The model m-1 does not exist", MODEL),
        (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota", CREDIT),
        (429, "tokens", "rate_limit_exceeded", "Rate limit reached for m-1", RATE),
    ] {
        check(status, &openai(kind, code, message), &format!("{expected} | {message}"));
    }
}

#[test]
fn other_servers_errors() {
    // vLLM, llama.cpp, Ollama, FastAPI, OpenRouter.
    let long = "This model's maximum context length is 4096 tokens.";
    check(
        400,
        &json!({ "object": "error", "message": long, "type": "BadRequestError", "code": 400 }).to_string(),
        &format!("{LONG_4K} | {long}"),
    );
    let llama = json!({ "error": { "code": 400, "message": "too big", "type": "exceed_context_size_error" } });
    check(400, &llama.to_string(), &format!("{LONG} | too big"));
    check(404, r#"{"error": "model 'm-1' not found"}"#, &format!("{MODEL} | model 'm-1' not found"));
    check(400, r#"{"detail": "no"}"#, &format!("{BAD} | no"));
    check(
        402,
        r#"{"error": {"code": 402, "message": "Insufficient credits"}}"#,
        &format!("{CREDIT} | Insufficient credits"),
    );
}

#[test]
fn statuses_without_words() {
    check(401, "", KEY);
    let nothing = format!(
        "unknown-model: provider `mine` has nothing at {URL} (status 404), or no model `m-1`; check `base_url` and the \
         model's name"
    );
    check(404, "<html>Not found</html>", &format!("{nothing} | <html>Not found</html>"));
    check(408, "{}", "timed-out: provider `mine` timed out with status 408; try again | {}");
    check(
        422,
        "[]",
        "refused: provider `mine` refused the request with status 422; correct what its message names | []",
    );
    check(
        301,
        "",
        "redirected: provider `mine` redirected the request to `https://login.xn--exmple-cua.com:8443/v2`; no redirect \
         is followed; check `base_url`",
    );
    check(418, "", "server: provider `mine` answered with status 418; check `base_url`");
    check(204, "", "server: provider `mine` answered with status 204; check `base_url`");
    check(503, "busy", "server: provider `mine` failed with status 503; try again | busy");
}

#[test]
fn a_provider_says_little_and_is_not_trusted() {
    let names = EndpointNames { endpoint: "mine", variable: None, model: "m-1", url: URL, body_bytes: 9 };
    let head = ResponseHead { status: 403, headers: Vec::new() };
    for body in ["é".repeat(400).into_bytes(), openai("", "", &"é".repeat(400)).into_bytes(), vec![0xFF; 9_000]] {
        let failure = refusal_failure(Provider::OpenAi, &head, &body, &names);
        let said = failure.said.unwrap();
        assert!((1..=500).contains(&said.len()) && !said.label().is_trusted(), "{}", said.len());
        assert_eq!(
            failure.message,
            "provider `mine` requires a key; set `key` under `[providers.mine]` to the name of the variable that holds \
             it"
        );
    }
    let head = ResponseHead { status: 302, headers: vec![("location".to_owned(), "/login".to_owned())] };
    let failure = refusal_failure(Provider::OpenAi, &head, b"", &names);
    assert_eq!(
        failure.message,
        "provider `mine` redirected the request to `https://api.example.com/login`; no redirect is followed; check \
         `base_url`"
    );
}

#[test]
fn a_redirection_names_the_address_and_the_base_url_that_leads_there() {
    let check = |location: &str, expected: &str| {
        let names = EndpointNames { endpoint: "mine", variable: None, model: "m-1", url: URL, body_bytes: 9 };
        let head = ResponseHead { status: 308, headers: vec![("location".to_owned(), location.to_owned())] };
        let message = refusal_failure(Provider::OpenAi, &head, b"", &names).message;
        assert!(message.ends_with(expected), "{message}");
    };
    let base_url = |url: &str| format!("set `base_url` to `{url}`");
    check("/openai/v1/chat/completions", &base_url("https://api.example.com/openai/v1"));
    check("//eu.example.com/v1/chat/completions?a=b#c", &base_url("https://eu.example.com/v1"));
    check("https://user:secret@eu.example.com/v1/chat/completions/", &base_url("https://eu.example.com/v1"));
    check("http://127.0.0.1:8080/v1/chat/completions", &base_url("http://127.0.0.1:8080/v1"));
    // No `base_url` leads to another path, and none of its characters is an instruction for a terminal.
    check("https://x/a\u{1b}[31m`b", "to `https://x/a%1B[31m%60b`; no redirect is followed; check `base_url`");
    // A text that is no address of a server is not named.
    for location in ["javascript:alert(1)", "file:///etc/passwd", "https://", &format!("/{}", "x".repeat(400))] {
        check(location, "redirected the request elsewhere with status 308; check `base_url`");
    }
}

#[test]
fn a_proxy_that_refuses_a_size_is_not_taken_for_a_model() {
    check(
        413,
        "<html><h1>413 Request Entity Too Large</h1><hr>nginx</html>",
        &format!("{BYTES} | <html><h1>413 Request Entity Too Large</h1><hr>nginx</html>"),
    );
    // Some servers answer so to a prompt that is too long.
    let long = "This model's maximum context length is 4096 tokens.";
    check(413, &openai("invalid_request_error", "", long), &format!("{LONG_4K} | {long}"));
    // A proxy may call it a failure of its own.
    let litellm = "litellm.ContextWindowExceededError: maximum context length is 4096 tokens.";
    check(500, &openai("None", "500", litellm), &format!("{LONG_4K} | {litellm}"));
}
