//! The providers' reports of tokens, in the one convention of [`Usage`].
//!
//! Invariants: a token is counted once; what a provider doesn't report stays unknown; what it
//! reports in contradiction to itself is unknown rather than wrong, and so is everything beside what is no count.

use core::num::NonZeroU32;

use proem_engine::call::{CacheWriteUsage, Usage, UsageDoubt};
use serde_json::Value;

/// The report so far, in the provider's own convention.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum UsageReport {
    /// Nothing was reported yet.
    #[default]
    Unknown,
    /// Anthropic's: cached tokens are counted beside the input.
    Apart(AnthropicUsage),
    /// OpenAI's: cached tokens are counted in the input.
    Within(OpenAiUsage),
    /// One of its counts is none: negative, broken or no number.
    NoCount,
}

/// <https://platform.claude.com/docs/en/api/messages>: `usage`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnthropicUsage {
    input: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
    five_minutes: Option<u64>,
    hour: Option<u64>,
    output: Option<u64>,
}

/// <https://developers.openai.com/api/reference/resources/chat>: `usage`. `cache_write_tokens` came
/// with GPT-5.6: <https://github.com/coder/mux/issues/3705>.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OpenAiUsage {
    input: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
    output: Option<u64>,
    total: Option<u64>,
}

/// Whether Anthropic's count of the output is the last word, or an estimate at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputCount {
    Final,
    Provisional,
}

const FIVE_MINUTES: Option<NonZeroU32> = NonZeroU32::new(300);
const HOUR: Option<NonZeroU32> = NonZeroU32::new(3_600);

impl UsageReport {
    /// Takes Anthropic's `usage`. Its counts only grow while an answer is streamed, and servers
    /// differ in which event has which: the largest is the last.
    pub(crate) fn take_apart(&mut self, usage: Option<&Value>, output: OutputCount) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let mut counts = match *self {
            Self::Apart(counts) => counts,
            Self::NoCount => return,
            _ => AnthropicUsage::default(),
        };
        if !are_counts(usage, &AnthropicUsage::POINTERS) {
            *self = Self::NoCount;
            return;
        }
        let grow = |known: &mut Option<u64>, pointer: &str| *known = (*known).max(reported_number(usage, pointer));
        grow(&mut counts.input, "/input_tokens");
        grow(&mut counts.read, "/cache_read_input_tokens");
        grow(&mut counts.written, "/cache_creation_input_tokens");
        grow(&mut counts.five_minutes, "/cache_creation/ephemeral_5m_input_tokens");
        grow(&mut counts.hour, "/cache_creation/ephemeral_1h_input_tokens");
        if output == OutputCount::Final {
            grow(&mut counts.output, "/output_tokens");
        }
        *self = Self::Apart(counts);
    }

    /// Takes OpenAI's `usage`. Of several, the last counts.
    pub(crate) fn take_within(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        if !are_counts(usage, &OpenAiUsage::POINTERS) {
            *self = Self::NoCount;
            return;
        }
        *self = Self::Within(OpenAiUsage {
            input: reported_number(usage, "/prompt_tokens"),
            read: reported_number(usage, "/prompt_tokens_details/cached_tokens"),
            written: reported_number(usage, "/prompt_tokens_details/cache_write_tokens"),
            output: reported_number(usage, "/completion_tokens"),
            total: reported_number(usage, "/total_tokens"),
        });
    }

    /// The same in one convention.
    pub(crate) fn usage(self) -> Usage {
        match self {
            Self::Unknown => Usage::default(),
            Self::Apart(counts) => counts.usage(),
            Self::Within(counts) => counts.usage(),
            Self::NoCount => contradictory(),
        }
    }
}

impl AnthropicUsage {
    const POINTERS: [&str; 6] = [
        "/input_tokens",
        "/cache_read_input_tokens",
        "/cache_creation_input_tokens",
        "/cache_creation/ephemeral_5m_input_tokens",
        "/cache_creation/ephemeral_1h_input_tokens",
        "/output_tokens",
    ];

    fn usage(self) -> Usage {
        let by_lifetime = self.five_minutes.unwrap_or(0).checked_add(self.hour.unwrap_or(0));
        let is_split = self.five_minutes.is_some() || self.hour.is_some();
        let written = if self.written.is_none() && is_split { by_lifetime } else { Some(self.written.unwrap_or(0)) };
        // More by lifetime than in all: nobody knows which is right, so the whole prompt is unknown.
        let unnamed = written.zip(by_lifetime).and_then(|(all, named)| all.checked_sub(named));
        let cached = written.and_then(|written| written.checked_add(self.read.unwrap_or(0)));
        let input = unnamed.and(self.input).zip(cached).and_then(|(input, cached)| input.checked_add(cached));
        if self.input.is_some() && input.is_none() {
            return contradictory();
        }
        let writes = [(FIVE_MINUTES, self.five_minutes), (HOUR, self.hour), (None, unnamed)];
        Usage {
            input,
            cache_read: self.read,
            cache_writes: written_by(writes),
            output: self.output,
            ..Usage::default()
        }
    }
}

impl OpenAiUsage {
    const POINTERS: [&str; 5] = [
        "/prompt_tokens",
        "/prompt_tokens_details/cached_tokens",
        "/prompt_tokens_details/cache_write_tokens",
        "/completion_tokens",
        "/total_tokens",
    ];

    fn usage(self) -> Usage {
        let cached = self.read.unwrap_or(0).checked_add(self.written.unwrap_or(0));
        // More cached than there is: some gateways count apart what should be counted within.
        let is_more_cached = self.input.is_some_and(|input| cached.is_none_or(|cached| cached > input));
        // Thinking is in the total alone at some providers, Gemini and Grok among them, and is charged like the rest.
        let thought = self.total.zip(self.input).map(|(total, input)| total.checked_sub(input));
        let is_more_than_all = matches!((thought, self.output), (Some(None), _))
            || thought.flatten().zip(self.output).is_some_and(|(rest, output)| rest < output);
        if is_more_cached || is_more_than_all {
            return contradictory();
        }
        let (input, output) = (self.input, self.output.map(|output| output.max(thought.flatten().unwrap_or(0))));
        let cache_writes = written_by([(None, self.written)]);
        Usage { input, cache_read: self.read, cache_writes, output, ..Usage::default() }
    }
}

fn written_by<const N: usize>(writes: [(Option<NonZeroU32>, Option<u64>); N]) -> Vec<CacheWriteUsage> {
    let written = writes.into_iter().filter_map(|(seconds, tokens)| Some((seconds, tokens.filter(|all| *all > 0)?)));
    written.map(|(seconds, tokens)| CacheWriteUsage { seconds, tokens }).collect()
}

/// Whether everything at these places is a count, or nothing.
fn are_counts(usage: &Value, pointers: &[&str]) -> bool {
    pointers.iter().all(|pointer| usage.pointer(pointer).is_none_or(|value| value.is_null() || value.is_u64()))
}

/// A usage of which no figure can be believed.
fn contradictory() -> Usage {
    Usage { doubt: Some(UsageDoubt::Contradictory), ..Usage::default() }
}

fn reported_number(usage: &Value, pointer: &str) -> Option<u64> {
    usage.pointer(pointer)?.as_u64()
}
