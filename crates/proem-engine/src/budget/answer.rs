//! How many tokens of a window are kept free for the answer.

use core::num::NonZeroUsize;

use crate::prompt::compiled_prompt::Prompt;
use crate::providers::Model;

/// The tokens of an answer where neither a person nor the prompt file says.
const DEFAULT_TOKENS: usize = 4096;

/// The part of a window that an answer takes at most, as a divisor: a prompt with its instructions is longer than
/// what it asks for.
const WINDOW_PART: usize = 4;

/// The same where the model's own limit is known: whoever wrote down the limit wants answers of that length.
const WINDOW_PART_OF_LIMITED: usize = 2;

/// How long an answer may be, and how firmly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerLength {
    /// A person chose so many tokens. They are kept free even if the prompt then has no room.
    Chosen(usize),
    /// So many tokens are enough. A small window gives fewer.
    Enough(usize),
}

impl AnswerLength {
    /// The length that a person chose, or that of the prompt file, or 4,096 tokens.
    #[must_use]
    pub fn of(chosen: Option<usize>, prompt: &Prompt) -> Self {
        let of_file = prompt.file.strict.output_budget;
        chosen.map_or_else(|| Self::Enough(of_file.unwrap_or(DEFAULT_TOKENS)), Self::Chosen)
    }

    /// The tokens before any limit of a model.
    #[must_use]
    pub const fn wanted(self) -> usize {
        match self {
            Self::Chosen(tokens) | Self::Enough(tokens) => tokens,
        }
    }

    /// The tokens that are kept free and that the answer may have.
    ///
    /// The model's own limit always holds. Unless a person chose the length, the answer gets at most a quarter of the
    /// model's window, or half of it where the model's limit is known.
    #[must_use]
    pub fn tokens(self, model: &Model) -> usize {
        let most = model.output_tokens.map_or(usize::MAX, NonZeroUsize::get);
        match self {
            Self::Chosen(tokens) => tokens.min(most),
            Self::Enough(tokens) => {
                let part = if model.output_tokens.is_some() { WINDOW_PART_OF_LIMITED } else { WINDOW_PART };
                let window = model.context_tokens.map_or(usize::MAX, NonZeroUsize::get);
                tokens.min(most).min(window.div_ceil(part))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::{Provider, Providers};

    #[test]
    fn an_answer_takes_a_part_of_a_small_window() {
        let check = |length: AnswerLength, window: usize, most: usize, expected: usize| {
            let mut model = Providers::load().unwrap().unlisted("m", Provider::OpenAi);
            model.context_tokens = NonZeroUsize::new(window);
            model.output_tokens = NonZeroUsize::new(most);
            assert_eq!(length.tokens(&model), expected, "{length:?} {window} {most}");
        };
        use AnswerLength::{Chosen, Enough};
        // Zero is an unknown limit.
        check(Enough(8_192), 0, 0, 8_192);
        check(Enough(8_192), 200_000, 64_000, 8_192);
        check(Enough(8_192), 8_192, 0, 2_048);
        check(Enough(8_192), 2_048, 0, 512);
        check(Enough(8_192), 512, 0, 128);
        check(Enough(8_192), 1, 0, 1);
        check(Enough(200), 2_048, 0, 200);
        check(Enough(8_192), 2_048, 300, 300);
        check(Enough(8_192), 2_048, 2_048, 1_024);
        check(Enough(8_192), 0, 300, 300);
        check(Chosen(1_500), 2_048, 0, 1_500);
        check(Chosen(1_500), 2_048, 300, 300);
    }
}
