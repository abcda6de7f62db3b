//! The meaning of an answer of another status than 200, or of an error in the middle of an answer.
//!
//! Sources: <https://platform.claude.com/docs/en/api/errors>,
//! <https://developers.openai.com/api/docs/guides/error-codes>.

use core::num::NonZeroUsize;

use proem_engine::call::{CallFailure, FailureKind};
use proem_text::{Label, Source};
use serde_json::Value;

use super::EndpointNames;
use super::draft::{AnswerDraft, capped_outside_text};
use super::window::named_window;
use crate::wire::ResponseHead;

/// The most bytes of a provider's message that are kept.
const MAX_SAID_BYTES: usize = 500;

/// The longest error that is read as JSON.
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// A provider's words about an error, as far as there are any.
#[derive(Debug, Default)]
struct Complaint {
    /// Its words for the kind of error: `type` and `code`.
    words: Vec<String>,
    /// A status that is in the body, as OpenRouter writes it.
    status: Option<u16>,
    message: String,
    /// The context window that it names.
    window: Option<NonZeroUsize>,
}

/// The places where servers put their message, besides `error`: Anthropic and OpenAI, FastAPI, Cloudflare, Zhipu,
/// MiniMax and gateways that name their own.
const MESSAGE_KEYS: [&str; 9] =
    ["message", "detail", "error", "errors", "msg", "error_message", "error_msg", "status_msg", "base_resp"];

/// How deep a message may be in an error.
const MAX_ERROR_DEPTH: usize = 4;

/// The names in messages of servers that can't hold an answer to a schema in the requested way: the fields of the
/// request (vLLM, LiteLLM, llama-cpp-python), or the ability (Ollama: "does not support tools"; llama.cpp: "tools param
/// requires --jinja flag").
const MODE_PHRASES: [&str; 9] = [
    "response_format",
    "response format",
    "json_schema",
    "structured output",
    "guided decoding",
    "grammar",
    "tool_choice",
    "does not support tools",
    "tools param requires",
];

impl Complaint {
    /// Reads what is under `error`, or is the whole body of servers that know no such key.
    fn read(error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str);
        let code = ["code", "status", "status_code"].into_iter().filter_map(|key| error.get(key)).find_map(|code| {
            code.as_u64().or_else(|| code.as_str()?.parse().ok()).and_then(|code| u16::try_from(code).ok())
        });
        let message = message_in(error, MAX_ERROR_DEPTH).unwrap_or_default();
        Self {
            window: named_window(error, message),
            words: ["type", "code", "status"].into_iter().filter_map(text).map(str::to_owned).collect(),
            status: code.filter(|code| (300..600).contains(code)),
            message: message.to_owned(),
        }
    }

    fn is_one_of(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    fn mentions(&self, phrases: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        phrases.iter().any(|phrase| message.contains(phrase))
    }

    /// The provider's words decide before the status: they are more exact.
    fn kind(&self, status: Option<u16>) -> FailureKind {
        let status = status.or(self.status);
        let is = |statuses: &[u16]| status.is_some_and(|status| statuses.contains(&status));
        if is(&[402])
            || self.is_one_of(&["insufficient_quota", "billing_error", "billing_not_active"])
            || self.mentions(&["credit balance is too low"])
        {
            FailureKind::NoCredit
        } else if is(&[400, 404, 422, 500, 501]) && self.mentions(&MODE_PHRASES) {
            FailureKind::ModeRefused
        } else if is(&[413]) || self.is_too_long(status) {
            FailureKind::TooLong
        } else if is(&[404]) || self.is_one_of(&["model_not_found", "not_found_error"]) {
            FailureKind::UnknownModel
        } else if is(&[401, 403]) || self.is_one_of(&["authentication_error", "permission_error", "invalid_api_key"]) {
            FailureKind::KeyRefused
        } else if is(&[429]) || self.is_one_of(&["rate_limit_error", "rate_limit_exceeded"]) {
            FailureKind::RateLimited
        } else if is(&[408]) || self.is_one_of(&["timeout_error"]) {
            FailureKind::TimedOut
        } else if status.is_some_and(|status| (300..400).contains(&status)) {
            FailureKind::Redirected
        } else if is(&[400, 422]) || (status.is_none() && self.is_one_of(&["invalid_request_error"])) {
            FailureKind::Refused
        } else {
            FailureKind::Server
        }
    }

    /// Whether it says nothing of a model, so that the path may be what is not there.
    fn is_about_path(&self) -> bool {
        !self.is_one_of(&["model_not_found"]) && !self.mentions(&["model"])
    }

    /// Not every server has a word for it: vLLM and Anthropic say it in a sentence, llama.cpp has
    /// one of its own (<https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>).
    fn is_too_long(&self, status: Option<u16>) -> bool {
        let words = ["context_length_exceeded", "exceed_context_size_error"];
        let phrases = [
            "prompt is too long",
            "context length",
            "context window",
            "context limit",
            "available context size",
            "contextwindowexceeded",
            "`max_new_tokens` must be <=",
        ];
        // Some servers and proxies call it a failure of their own.
        self.is_one_of(&words) || (matches!(status, None | Some(400 | 413 | 422 | 500)) && self.mentions(&phrases))
    }
}

/// The first message in an error, which may be in a list or in an error of its own.
fn message_in(error: &Value, depth: usize) -> Option<&str> {
    let depth = depth.checked_sub(1)?;
    match error {
        Value::String(message) => Some(message.as_str()).filter(|message| !message.trim().is_empty()),
        Value::Array(errors) => errors.first().and_then(|error| message_in(error, depth)),
        Value::Object(_) => {
            MESSAGE_KEYS.iter().filter_map(|key| error.get(key)).find_map(|inner| message_in(inner, depth))
        }
        _ => None,
    }
}

/// The error that is in the place of an answer, which would have the key `owed`.
///
/// Servers give errors with status 200, too: as `error` of the answer or of its first choice (OpenRouter), as an object
/// that calls itself an error (vLLM), or as nothing but a message.
pub(crate) fn error_in<'v>(answer: &'v Value, owed: &str) -> Option<&'v Value> {
    let says_something = |error: &&Value| !matches!(error, Value::Null | Value::Bool(false)) && **error != "";
    let inside = [answer.get("error"), answer.pointer("/choices/0/error")];
    if let Some(error) = inside.into_iter().flatten().find(says_something) {
        // A mark without words: they are beside it.
        return Some(if error.is_boolean() || error.is_number() { answer } else { error });
    }
    let calls_itself = ["object", "type"].iter().any(|key| answer.get(key).is_some_and(|kind| kind == "error"));
    let is_answer = answer.get(owed).is_some_and(|owed| !owed.is_null());
    (calls_itself || (!is_answer && message_in(answer, MAX_ERROR_DEPTH).is_some())).then_some(answer)
}

/// The failure in an answer of another status than 200.
pub(super) fn read_refusal(head: &ResponseHead, body: &[u8], names: &EndpointNames<'_>) -> CallFailure {
    let parsed = body.get(..body.len().min(MAX_BODY_BYTES)).and_then(|body| serde_json::from_slice::<Value>(body).ok());
    let complaint = parsed.as_ref().map_or_else(Complaint::default, |body| {
        let body = body.as_array().and_then(|errors| errors.first()).unwrap_or(body);
        Complaint::read(body.get("error").filter(|error| !error.is_null()).unwrap_or(body))
    });
    let kind = complaint.kind(Some(head.status));
    let is_too_long = complaint.is_too_long(Some(head.status));
    // The speaker may not be the provider: a proxy may be in between.
    let label = Label::from_source(Source::named("provider"));
    let told = if complaint.message.is_empty() {
        let start = body.get(..body.len().min(MAX_SAID_BYTES.saturating_add(4))).unwrap_or_default();
        capped_outside_text(String::from_utf8_lossy(start).trim(), MAX_SAID_BYTES, &label)
    } else {
        capped_outside_text(&complaint.message, MAX_SAID_BYTES, &label)
    };
    let message = match kind {
        FailureKind::TooLong if !is_too_long => too_many_bytes(names),
        FailureKind::TooLong => too_long(names, complaint.window),
        FailureKind::UnknownModel if complaint.is_about_path() => no_path(head, names),
        _ => refusal_message(kind, head, names),
    };
    let window = complaint.window.filter(|_| is_too_long);
    CallFailure { said: told, status: Some(head.status), window, ..CallFailure::new(kind, message) }
}

/// A body that no model has seen: Anthropic's own limit is 32 MB, that of many proxies 1 MB.
fn too_many_bytes(names: &EndpointNames<'_>) -> String {
    let EndpointNames { endpoint, body_bytes, .. } = names;
    format!(
        "provider `{endpoint}`, or a proxy before it, refused a request of {body_bytes} bytes for its size (status 413); \
         shorten the input, or raise the limit there (nginx: `client_max_body_size`)"
    )
}

/// A base URL with too much or too little of a path is as often the reason as a model's name.
fn no_path(head: &ResponseHead, names: &EndpointNames<'_>) -> String {
    let EndpointNames { endpoint, model, url, .. } = names;
    let status = head.status;
    format!(
        "provider `{endpoint}` has nothing at {url} (status {status}), or no model `{model}`; check `base_url` and the \
         model's name"
    )
}

fn too_long(names: &EndpointNames<'_>, window: Option<NonZeroUsize>) -> String {
    let EndpointNames { endpoint, model, .. } = names;
    let tokens = window.map_or_else(String::new, |window| format!(" of {window} tokens"));
    format!(
        "the request exceeds the context window{tokens} of model `{model}` at provider `{endpoint}`; shorten the input"
    )
}

/// The failure of a provider that gives an error instead of an answer, or in the middle of one.
pub(crate) fn provider_failed(draft: &AnswerDraft, error: &Value) -> CallFailure {
    let complaint = Complaint::read(error);
    let kind = complaint.kind(None);
    let message = match kind {
        FailureKind::RateLimited => "the provider stopped the answer: the rate limit is reached; wait and try again",
        FailureKind::NoCredit => "the provider stopped the answer: the account has no credit left; add some",
        FailureKind::TooLong => "the provider stopped the answer: the request is too long; shorten the input",
        FailureKind::UnknownModel => "the provider does not know the model; check the model's name and `base_url`",
        FailureKind::KeyRefused => "the provider refused the key; set it to a valid one",
        FailureKind::Refused => "the provider refused the request while answering; correct what its message names",
        _ => "the provider stopped the answer with an error; try again",
    };
    let window = complaint.window.filter(|_| kind == FailureKind::TooLong);
    CallFailure { said: draft.provider_said(&complaint.message), window, ..CallFailure::new(kind, message) }
}

fn refusal_message(kind: FailureKind, head: &ResponseHead, names: &EndpointNames<'_>) -> String {
    let EndpointNames { endpoint, model, variable, .. } = names;
    let status = head.status;
    match (kind, variable) {
        (FailureKind::KeyRefused, Some(variable)) => {
            format!("provider `{endpoint}` refused the key in `{variable}`; set it to a valid key")
        }
        (FailureKind::KeyRefused, None) => {
            format!(
                "provider `{endpoint}` requires a key; set `key` under `[providers.{endpoint}]` to the name of the variable \
                 that holds it"
            )
        }
        (FailureKind::UnknownModel, _) => format!(
            "provider `{endpoint}` has no model `{model}`, or this key is not allowed to use it; check the model's \
             name and `base_url`"
        ),
        (FailureKind::ModeRefused, _) => format!(
            "provider `{endpoint}` does not hold answers of `{model}` to a schema in this way (status {status}); set \
             `answers` under `[providers.{endpoint}]` to `tool`, `object` or `text`"
        ),
        (FailureKind::Refused, _) => {
            format!("provider `{endpoint}` refused the request with status {status}; correct what its message names")
        }
        (FailureKind::NoCredit, _) => {
            format!("the account at provider `{endpoint}` has no credit left; add some or raise its limit")
        }
        (FailureKind::RateLimited, _) => {
            format!(
                "the rate limit of provider `{endpoint}` for model `{model}` is reached; wait, or send fewer requests \
                 at once"
            )
        }
        (FailureKind::TimedOut, _) => {
            format!("provider `{endpoint}` timed out with status {status}; try again")
        }
        (FailureKind::Redirected, _) => match redirect_target(head, names.url) {
            Some(RedirectTarget { address, base_url }) => {
                let remedy = base_url.map_or_else(
                    || "check `base_url`".to_owned(),
                    |base_url| format!("if that address is correct, set `base_url` to `{base_url}`"),
                );
                format!(
                    "provider `{endpoint}` redirected the request to `{address}`; no redirect is followed; {remedy}"
                )
            }
            None => {
                format!("provider `{endpoint}` redirected the request elsewhere with status {status}; check `base_url`")
            }
        },
        _ if status >= 500 => format!("provider `{endpoint}` failed with status {status}; try again"),
        _ => format!("provider `{endpoint}` answered with status {status}; check `base_url`"),
    }
}

/// The target of a redirection.
#[derive(Debug)]
struct RedirectTarget {
    /// The address, without its query.
    address: String,
    /// The `base_url` under which the same request would go there, if any would.
    base_url: Option<String>,
}

/// The longest address of a redirection that a message names, in bytes.
const MAX_ADDRESS_BYTES: usize = 300;

/// The target of a redirection of a request to `url`. The parser leaves ASCII only.
fn redirect_target(head: &ResponseHead, url: &str) -> Option<RedirectTarget> {
    let asked = url::Url::parse(url).ok()?;
    let mut target = asked.join(head.header("location")?).ok()?;
    target.set_query(None);
    target.set_fragment(None);
    // A password in it is nobody's to see.
    _ = target.set_username("").and_then(|()| target.set_password(None));
    let is_server =
        matches!(target.scheme(), "http" | "https") && target.host_str().is_some_and(|host| !host.is_empty());
    let address = target.to_string();
    let base_url = REQUEST_PATHS.iter().find_map(|path| address.trim_end_matches('/').strip_suffix(path));
    let base_url = base_url.map(str::to_owned);
    (is_server && address.len() <= MAX_ADDRESS_BYTES).then_some(RedirectTarget { address, base_url })
}

/// The paths behind a `base_url`.
const REQUEST_PATHS: [&str; 4] = ["/chat/completions", "/v1/messages", "/embeddings", "/models"];
