//! The context window that a server names when a request is too long for it.

use core::num::NonZeroUsize;

use serde_json::Value;

/// The words before the window in the messages of vLLM and OpenAI, llama.cpp, llama-cpp-python, Hugging Face's TGI and
/// Anthropic: `32768 + 8192 > 32768`, `212000 tokens > 200000 maximum`.
const BEFORE: [&str; 9] = [
    "context length is ",
    "context length of ",
    "context size (",
    "context size of ",
    "context window of ",
    "context window is ",
    "must be <= ",
    "must be less than or equal to ",
    " > ",
];

/// The windows that a model can have. A smaller figure is about something else, and a larger one limits nothing.
pub(crate) const POSSIBLE_WINDOWS: core::ops::RangeInclusive<usize> = 64..=100_000_000;

/// The window in an error: a field of llama.cpp's, or a figure in the message.
pub(super) fn named_window(error: &Value, message: &str) -> Option<NonZeroUsize> {
    let field = error.get("n_ctx").and_then(Value::as_u64).and_then(|tokens| usize::try_from(tokens).ok());
    let message = message.to_ascii_lowercase();
    let named = BEFORE.iter().find_map(|before| {
        let (_, rest) = message.split_once(before)?;
        leading_number(rest)
    });
    let tokens = field.or(named).filter(|tokens| POSSIBLE_WINDOWS.contains(tokens))?;
    NonZeroUsize::new(tokens)
}

/// The number that a text begins with, which may have commas between its digits.
fn leading_number(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(text.len());
    text.get(..end)?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_name_their_window() {
        let check = |message: &str, expected: usize| {
            assert_eq!(named_window(&Value::Null, message), NonZeroUsize::new(expected), "{message}");
        };
        check("This model's maximum context length is 4096 tokens. However, you requested 8222 tokens", 4_096);
        check("request (831 tokens) exceeds the available context size (512 tokens), try increasing it", 512);
        check("Requested tokens (4314) exceed context window of 2048", 2_048);
        check("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 22", 2_048);
        check("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease it", 200_000);
        check("prompt is too long: 212000 tokens > 200000 maximum", 200_000);
        check("4314 + 8192 > 2048", 2_048);
        check("maximum context length is 1,048,576 tokens", 1_048_576);
        // Zero is an unknown window.
        check("prompt is too long", 0);
        check("your context length is bad", 0);
        check("the context window is 3", 0);
        check("the context window is 99999999999999999999999", 0);
        assert_eq!(named_window(&json!({ "n_ctx": 512 }), "too big"), NonZeroUsize::new(512));
    }
}
