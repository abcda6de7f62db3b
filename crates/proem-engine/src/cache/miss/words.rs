//! Why the cache missed, as a colleague would say it.

use super::{CacheComparison, CacheOutcome, CacheSkipReason, RequestDifference};
use crate::cache::comma_grouped;

/// The place for text that changes.
const BEHIND: &str = "put sections that change from call to call after those that don't, and mark them `cache: never`";

impl CacheComparison {
    /// Everything in one sentence without a full stop: the reason, what it cost, and what helps.
    #[must_use]
    pub fn in_words(&self) -> String {
        let cost = self.cost_in_words();
        match &self.verdict {
            CacheOutcome::Hit { tokens } => {
                format!("the cache was read: {}{}", tokens_in_words(*tokens), self.behind())
            }
            CacheOutcome::Changed => {
                let (what, remedy) =
                    self.first_change.as_ref().map_or_else(unnamed_change, RequestDifference::in_words);
                match self.read_tokens {
                    Some(read) if read > 0 => format!(
                        "the cache was read up to {}, and missed after that because {what}{cost}; {remedy}",
                        tokens_in_words(read)
                    ),
                    _ => format!("the cache missed because {what}{cost}; {remedy}"),
                }
            }
            CacheOutcome::TooShort { tokens, minimum } => format!(
                "nothing was cached: the prefix has {}, and this model's provider caches no prefix below {}; move more \
                 constant text to the front, or use a model with a lower minimum",
                tokens_in_words(*tokens),
                grouped_u64(*minimum)
            ),
            CacheOutcome::Expired { seconds, lifetime } => format!(
                "the cache missed because the entry had expired: {} passed, and an entry is kept for {} after its last \
                 use{cost}; make calls at shorter intervals",
                duration(*seconds),
                duration(u64::from(lifetime.get()))
            ),
            CacheOutcome::NeverWritten { why } => {
                format!("the cache missed because {}", unwritten_sentence(*why, &cost))
            }
            CacheOutcome::Unmarked => format!(
                "the cache was not used: the second request has no cache breakpoint{cost}; see its sections in \
                 the recorded run"
            ),
            CacheOutcome::Unreported => {
                String::from("whether the cache was read is not known: the provider reported nothing about it")
            }
            CacheOutcome::PerhapsTooShort { tokens, minimum } => format!(
                "the cache missed, perhaps because the prefix is too short: {} are an estimate, and none below {} are \
                 cached{cost}; move more constant text to the front",
                tokens_in_words(*tokens),
                grouped_u64(*minimum)
            ),
            CacheOutcome::Unexplained => format!(
                "the cache missed, and the record doesn't say why: the recorded prefix is the same, long enough and \
                 not expired{cost}; providers drop entries early when they are busy"
            ),
        }
    }

    /// The place of the first change, if it did no harm.
    fn behind(&self) -> String {
        match &self.first_change {
            Some(change) if change.is_in_prefix() => {
                String::from("; a third request had written them, because the first has another prefix")
            }
            Some(
                RequestDifference::Section { name, .. }
                | RequestDifference::Moved { name, .. }
                | RequestDifference::Added { name, .. }
                | RequestDifference::Removed { name, .. },
            ) => format!("; the first change, in section `{name}`, comes after the stable prefix"),
            _ => String::new(),
        }
    }

    fn cost_in_words(&self) -> String {
        match (self.missed_tokens, self.cost) {
            (None, _) => String::from("; the number of tokens affected is unknown"),
            (Some(missed), Some(cost)) => {
                format!("; {} were paid in full, {cost} more than from the cache", tokens_in_words(missed))
            }
            (Some(missed), None) => format!("; {} were paid in full, for an unknown price", tokens_in_words(missed)),
        }
    }
}

impl RequestDifference {
    /// The change, and the remedy.
    fn in_words(&self) -> (String, &'static str) {
        match self {
            Self::Model => (
                String::from("another model was asked, and each has a cache of its own"),
                "keep calls that share a prefix with one model",
            ),
            Self::Endpoint => (
                String::from("another endpoint was asked, and each has a cache of its own"),
                "keep calls that share a prefix with one endpoint",
            ),
            Self::Tools => (
                String::from("the tools or the schema of the answer changed, which come before everything else"),
                "keep them the same from call to call, and put what one task needs further down in the prompt",
            ),
            Self::Section { name, .. } => {
                (format!("section `{name}` changed, which is part of the stable prefix"), BEHIND)
            }
            Self::Moved { name, .. } => {
                (format!("section `{name}` moved within the stable prefix"), "keep the order of sections")
            }
            Self::Added { name, .. } => (format!("section `{name}` was added to the stable prefix"), BEHIND),
            Self::Removed { name, .. } => (format!("section `{name}` was removed from the stable prefix"), BEHIND),
        }
    }
}

/// Why a first request wrote nothing; what could not be read did not cost more.
fn unwritten_sentence(why: CacheSkipReason, cost: &str) -> String {
    match why {
        CacheSkipReason::NotSent => String::from("the first request was not sent, so it wrote nothing to the cache"),
        CacheSkipReason::OtherPrompt => String::from(
            "the first request did not cache this prefix: it was made from another prompt, and the two differ from the \
             start",
        ),
        CacheSkipReason::NothingKept => {
            format!("the first request wrote nothing to it{cost}; see its sections in the recorded run")
        }
        CacheSkipReason::NoCache => {
            String::from("nothing is cached for this model; GPT-4o and later models have a cache")
        }
    }
}

/// A change that has no name.
fn unnamed_change() -> (String, &'static str) {
    (String::from("the prefix changed"), BEHIND)
}

fn tokens_in_words(tokens: u64) -> String {
    format!("{} {}", grouped_u64(tokens), if tokens == 1 { "token" } else { "tokens" })
}

fn grouped_u64(number: u64) -> String {
    comma_grouped(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Seconds, or minutes where they are whole, or many.
fn duration(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds.div_euclid(60), "minute"),
        _ => (seconds.div_euclid(3_600), "hour"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
