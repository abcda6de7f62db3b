//! Rejects impossible figures of a provider.
//!
//! A server may report any usage, and a ledger that believed one token for a prompt of ten kilobytes would never
//! reach its cap. So figures are believed only between bounds that follow from what was exchanged and from nothing that
//! the server says. Figures outside are unknown, and what is unknown is settled in full.
//!
//! The bounds have to hold for every tokeniser, so they are wide: a server that counts a fifth of what it should
//! is not found out.
//!
//! - **At least**: a token covers at most [`TOKEN_WORDS`] words of at most [`WORD_BYTES`] bytes each. Space counts as
//!   nothing, because tokenisers have tokens for runs of it and templates may take it out.
//! - **At most, for a prompt**: no token is shorter than a byte of the request's body, and the provider adds what
//!   [`crate::ledger::TEMPLATE_TOKENS`] allows.
//! - **At most, for an answer**: the cap that was sent, thinking included, or the bytes of the visible answer where a
//!   server exceeds its cap. Without a cap, [`UNCAPPED_TOKENS`].
//!
//! Some servers count cached tokens as part of the prompt. For those that count them beside it, the codec has already
//! added them up.

use core::ops::RangeInclusive;

use proem_guard::Untrusted;
use serde::{Deserialize, Serialize};

use super::{AnswerForm, FinishReason, Request, Response, ResponsePart, Usage, UsageEstimate};
use crate::assembly::{PlacedSection, SectionPart};
use crate::ledger::{TEMPLATE_TOKENS, input_bound, output_cap};
use crate::providers::Model;

/// The most words that a token covers. The shipped vocabularies, as those of other published models, end a token with
/// the word. SuperBPE goes on for four words at most (<https://arxiv.org/abs/2503.13423>, section 2).
pub const TOKEN_WORDS: u64 = 4;

/// The bytes that count as a word where nothing separates it: the longest tokens of the shipped vocabularies have 128,
/// such as a line of dashes, which makes four.
pub const WORD_BYTES: u64 = 32;

/// The most tokens of an answer whose length was left open: more than any listed model writes.
pub const UNCAPPED_TOKENS: u64 = 1 << 20;

/// The tokens beyond its cap that an answer may have: some servers count what ends it.
const END_TOKENS: u64 = 16;

/// Why figures that a provider reported are not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum UsageDoubt {
    /// The prompt has at least so many tokens.
    #[serde(rename_all = "camelCase")]
    InputTooLow {
        /// The tokens that were reported.
        reported: u64,
        /// The fewest that it can have.
        least: u64,
    },
    /// The prompt has at most so many tokens.
    #[serde(rename_all = "camelCase")]
    InputTooHigh {
        /// The tokens that were reported.
        reported: u64,
        /// The most that it can have.
        most: u64,
    },
    /// The answer has at least so many tokens.
    #[serde(rename_all = "camelCase")]
    OutputTooLow {
        /// The tokens that were reported.
        reported: u64,
        /// The fewest that it can have.
        least: u64,
    },
    /// The answer has at most so many tokens.
    #[serde(rename_all = "camelCase")]
    OutputTooHigh {
        /// The tokens that were reported.
        reported: u64,
        /// The most that it can have.
        most: u64,
    },
    /// The figures contradict each other, or one is no whole number from zero on.
    Contradictory,
}

impl UsageDoubt {
    /// It in words, without a full stop.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::InputTooLow { reported, least } => format!(
                "the provider reports {reported} tokens for a prompt of at least {least}; it doesn't count, or it cut the \
                 prompt"
            ),
            Self::InputTooHigh { reported, most } => {
                format!("the provider reports {reported} tokens for a prompt of at most {most}")
            }
            Self::OutputTooLow { reported, least } => {
                format!("the provider reports {reported} tokens for an answer of at least {least}")
            }
            Self::OutputTooHigh { reported, most } => {
                format!("the provider reports {reported} tokens for an answer of at most {most}")
            }
            Self::Contradictory => "the figures that the provider reports contradict each other".to_owned(),
        }
    }
}

/// The figures that can be right for one request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlausibleUsage {
    /// The tokens of the prompt, cached ones included.
    pub input: RangeInclusive<u64>,
    /// The tokens of the answer, thinking included.
    pub output: RangeInclusive<u64>,
}

impl PlausibleUsage {
    /// The plausible usage of `request`, sent to `model` as a body of this many bytes and answered with `content`.
    #[must_use]
    pub fn new(body_bytes: usize, request: &Request, model: &Model, content: &[ResponsePart]) -> Self {
        let prompt = request.assembly.sections.iter().filter(|section| !is_media(section));
        let prompt = prompt.map(|section| TextSize::of(&section.text));
        let prompt = prompt.fold(TextSize::default(), TextSize::and);
        let answer = content.iter().filter_map(written_text).map(|text| TextSize {
            words: text.measure(|text| word_tokens(text)),
            bytes: text.measure(|text| byte_length(text)),
        });
        let answer = answer.fold(TextSize::default(), TextSize::and);
        let cap = output_cap(request.assembly.output_tokens, model).unwrap_or(UNCAPPED_TOKENS);
        Self {
            input: prompt.fewest_tokens()..=input_bound(body_bytes, request),
            output: answer.fewest_tokens()..=cap.max(answer.bytes).saturating_add(END_TOKENS),
        }
    }

    /// The usage as far as it can be right. If a figure can't, none is believed, and [`Usage::doubt`] says why.
    #[must_use]
    pub fn judge(&self, usage: Usage) -> Usage {
        match self.doubt(&usage).or(usage.doubt) {
            Some(doubt) => Usage { doubt: Some(doubt), diagnosis: usage.diagnosis, ..Usage::default() },
            None => usage,
        }
    }

    fn doubt(&self, usage: &Usage) -> Option<UsageDoubt> {
        let input = usage.input.and_then(|reported| match (*self.input.start(), *self.input.end()) {
            (least, _) if reported < least => Some(UsageDoubt::InputTooLow { reported, least }),
            (_, most) if reported > most => Some(UsageDoubt::InputTooHigh { reported, most }),
            _ => None,
        });
        let output = usage.output.and_then(|reported| match (*self.output.start(), *self.output.end()) {
            (least, _) if reported < least => Some(UsageDoubt::OutputTooLow { reported, least }),
            (_, most) if reported > most => Some(UsageDoubt::OutputTooHigh { reported, most }),
            _ => None,
        });
        let contradiction = usage.input.filter(|_| usage.uncached().is_none()).map(|_| UsageDoubt::Contradictory);
        input.or(output).or(contradiction)
    }
}

/// The most that a response can have used whose provider doesn't say, where `body_bytes` went out and
/// `content_bytes` of text, arguments and thinking came back.
///
/// No token is shorter than a byte. The framing of each message in the body is longer than the tokens of the chat
/// template that represent it. Tools and schemas bring instructions of the provider's own. Thinking that a provider
/// neither sends nor reports stays invisible. An answer that was stopped before its end has no estimate, because its
/// model may have gone on.
#[must_use]
pub fn most_plausible_usage(
    body_bytes: usize,
    request: &Request,
    response: &Response,
    content_bytes: usize,
) -> Option<UsageEstimate> {
    let usage = &response.usage;
    let is_known = usage.doubt.is_some() || (usage.input.is_some() && usage.output.is_some());
    if is_known || response.finish == FinishReason::Complete {
        return None;
    }
    let wide = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    let instructions = if matches!(request.answer, AnswerForm::Text) { 0 } else { TEMPLATE_TOKENS };
    Some(UsageEstimate {
        input: usage.input.unwrap_or_else(|| {
            let (bytes, tokens) = request.assembly.media_size();
            wide(body_bytes.saturating_sub(bytes).saturating_add(tokens)).saturating_add(instructions)
        }),
        output: usage.output.unwrap_or_else(|| wide(content_bytes).saturating_add(END_TOKENS)),
    })
}

/// Whether a section is a picture or file, whose bytes say nothing about its tokens.
const fn is_media(section: &PlacedSection) -> bool {
    matches!(section.part, Some(SectionPart::Media { .. }))
}

/// The visible part of an answer that its tokens were spent on.
const fn written_text(part: &ResponsePart) -> Option<&Untrusted<String>> {
    match part {
        ResponsePart::Text { text } | ResponsePart::Refusal { text } => Some(text),
        ResponsePart::Call(call) => Some(&call.arguments),
        ResponsePart::Other { .. } => None,
    }
}

/// How long texts are, by what bounds their tokens.
#[derive(Debug, Clone, Copy, Default)]
struct TextSize {
    /// Runs without space, in units of [`WORD_BYTES`].
    words: u64,
    bytes: u64,
}

fn word_tokens(text: &str) -> u64 {
    text.split_whitespace().map(|word| byte_length(word).div_ceil(WORD_BYTES)).fold(0, u64::saturating_add)
}

fn byte_length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

impl TextSize {
    fn of(text: &str) -> Self {
        Self { words: word_tokens(text), bytes: byte_length(text) }
    }

    const fn and(self, other: Self) -> Self {
        Self { words: self.words.saturating_add(other.words), bytes: self.bytes.saturating_add(other.bytes) }
    }

    const fn fewest_tokens(self) -> u64 {
        self.words.div_ceil(TOKEN_WORDS)
    }
}

#[cfg(test)]
mod tests;
