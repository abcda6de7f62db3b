//! Why the second of two requests missed the provider's cache, and what that cost.
//!
//! Pure: two requests as they were recorded, and when. The reason is read off the bytes, the plan and
//! the usage that the provider reported; what can't be told is said to be unknown. The rules are the
//! provider's, from `providers.toml`: the shortest prefix, and how long an entry lives after its last
//! use.

mod words;

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::call::{CacheWriteUsage, NanoDollars, Usage};
use crate::providers::{CacheControl, Lifetime, Model, Tokeniser};
use crate::run::Time;

/// A count may be too low by one part in so many. Counts are upper estimates of what providers report on
/// average, so a single one is seldom too low, and by little.
const SLACK: u64 = 4;

/// A request, as far as a cache sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRequest<'s> {
    /// When it was sent, or intended.
    pub at: Time,
    /// The prompt that it was made from, as `agent/name`.
    pub prompt: &'s str,
    /// The model that was asked, and where.
    pub model: &'s str,
    /// The endpoint that was asked.
    pub endpoint: &'s str,
    /// The part before all sections: the tools or the schema of the answer, in any form that is equal for equal ones.
    /// `None` if that is unknown.
    pub tools: Option<&'s str>,
    /// Its sections, in request order.
    pub sections: &'s [CacheSection<'s>],
    /// The tokens of its longest stable prefix, by our count.
    pub stable_tokens: u64,
    /// Whether it was sent, and told the provider where to stop, where it has to.
    pub marked: CacheMarking,
    /// The usage that the provider reports. `None` if it didn't.
    pub usage: Option<&'s Usage>,
}

/// Whether a request can be cached by how it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMarking {
    /// It has breakpoints, or needs none.
    Yes,
    /// It has none.
    No,
    /// It was not sent.
    Unsent,
}

/// A section as a cache sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSection<'s> {
    /// As the prompt file names it.
    pub name: &'s str,
    /// The hash of its text.
    pub hash: &'s str,
    /// Its tokens, by our count.
    pub tokens: u64,
    /// Whether it belongs to the stable prefix.
    pub stable: bool,
}

/// The cache's behaviour in the second of two requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CacheComparison {
    /// The first thing that differs.
    pub first_change: Option<RequestDifference>,
    /// The tokens of the prefix that both share, by our count.
    pub shared_tokens: u64,
    /// The verdict on the cache.
    pub verdict: CacheOutcome,
    /// The tokens that the provider says it read from the cache.
    pub read_tokens: Option<u64>,
    /// The tokens that could have been read from it and were not.
    pub missed_tokens: Option<u64>,
    /// The cost of the miss. Absent if a price or a count is unknown.
    pub cost: Option<NanoDollars>,
}

/// The first thing that differs between two requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum RequestDifference {
    /// Another model.
    Model,
    /// Another endpoint.
    Endpoint,
    /// The tools, or the schema of the answer.
    Tools,
    /// The text of a section.
    Section {
        /// The section, as the prompt file names it.
        name: String,
        /// Its place, from 0.
        index: usize,
        /// Whether it is in the stable prefix.
        stable: bool,
    },
    /// A section that is elsewhere in the first.
    Moved {
        /// The section, as the prompt file names it.
        name: String,
        /// Its place, from 0.
        index: usize,
        /// Whether it is in the stable prefix.
        stable: bool,
    },
    /// A section that only the second has.
    Added {
        /// The section, as the prompt file names it.
        name: String,
        /// Its place, from 0.
        index: usize,
        /// Whether it is in the stable prefix.
        stable: bool,
    },
    /// A section that only the first has.
    Removed {
        /// The section, as the prompt file names it.
        name: String,
        /// Its place in the first, from 0.
        index: usize,
        /// Whether it was in the stable prefix.
        stable: bool,
    },
}

/// The cache's behaviour in the second request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum CacheOutcome {
    /// It was read from.
    Hit {
        /// How many tokens.
        tokens: u64,
    },
    /// Something in the stable prefix changed.
    Changed,
    /// The prefix is below what the provider caches.
    TooShort {
        /// How long it is, by our count.
        tokens: u64,
        /// The shortest that is cached.
        minimum: u64,
    },
    /// More time passed than an entry lives.
    Expired {
        /// How much.
        seconds: u64,
        /// How long an entry lives.
        lifetime: NonZeroU32,
    },
    /// The first request wrote nothing to the cache that the second could read.
    NeverWritten {
        /// The reason that the first request was not cached.
        why: CacheSkipReason,
    },
    /// The second request doesn't tell the provider where its prefixes end.
    Unmarked,
    /// The provider didn't say what it read.
    Unreported,
    /// None of these. But the prefix is only estimated to be long enough.
    PerhapsTooShort {
        /// How long it is, by our estimate.
        tokens: u64,
        /// The shortest that is cached.
        minimum: u64,
    },
    /// None of these.
    Unexplained,
}

/// Why a request wrote nothing to the cache that another could read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheSkipReason {
    /// It was not sent.
    NotSent,
    /// It was made from another prompt, and both differ from the start.
    OtherPrompt,
    /// It has no breakpoint, or the provider says that it wrote nothing.
    NothingKept,
    /// Nothing is cached for its model.
    NoCache,
}

/// Compares the second request with the first.
///
/// `model` is the second request's model. A prefix that is too short for any hit explains more than its changes, so it
/// comes first. If more was read than both requests share, another request caused it, and there is no miss. The missed
/// tokens are the stable prefix less the tokens read of it, and never more than the prompt that the provider reported.
/// They cost the difference between input and a cache read, by the model's list prices.
#[must_use]
pub fn compare_requests(first: &CacheRequest<'_>, second: &CacheRequest<'_>, model: Option<&Model>) -> CacheComparison {
    let change = first_change(first, second);
    let shared_tokens = shared_tokens(first, second, change.as_ref());
    let verdict = miss_verdict(first, second, model, change.as_ref(), shared_tokens);
    let missed_tokens = tokens_missed(second, &verdict);
    let cost = missed_tokens.and_then(|missed| cost_of_miss(missed, second, model));
    let read_tokens = second.usage.and_then(|usage| usage.cache_read);
    CacheComparison { first_change: change, shared_tokens, verdict, read_tokens, missed_tokens, cost }
}

impl RequestDifference {
    /// Whether it is where the cache would have been read.
    #[must_use]
    pub const fn is_in_prefix(&self) -> bool {
        match self {
            Self::Model | Self::Endpoint | Self::Tools => true,
            Self::Section { stable, .. }
            | Self::Moved { stable, .. }
            | Self::Added { stable, .. }
            | Self::Removed { stable, .. } => *stable,
        }
    }

    /// Whether it is the request's own and nothing is before it: its tools, or its first section.
    #[must_use]
    pub const fn is_at_the_start(&self) -> bool {
        match self {
            Self::Model | Self::Endpoint => false,
            Self::Tools => true,
            Self::Section { index, .. }
            | Self::Moved { index, .. }
            | Self::Added { index, .. }
            | Self::Removed { index, .. } => *index == 0,
        }
    }
}

fn first_change(first: &CacheRequest<'_>, second: &CacheRequest<'_>) -> Option<RequestDifference> {
    if first.model != second.model {
        return Some(RequestDifference::Model);
    }
    if first.endpoint != second.endpoint {
        return Some(RequestDifference::Endpoint);
    }
    // If one of them is unknown, the tools are not compared: an old record without them must not look like a change.
    if first.tools.zip(second.tools).is_some_and(|(first, second)| first != second) {
        return Some(RequestDifference::Tools);
    }
    let same = |(a, b): &(&CacheSection<'_>, &CacheSection<'_>)| a.name == b.name && a.hash == b.hash;
    let index = first.sections.iter().zip(second.sections).take_while(same).count();
    let has = |seen: &CacheRequest<'_>, name: &str| seen.sections.iter().skip(index).any(|part| part.name == name);
    let name = |part: &CacheSection<'_>| part.name.to_owned();
    Some(match (first.sections.get(index), second.sections.get(index)) {
        (None, None) => return None,
        (Some(a), Some(b)) if a.name == b.name => {
            RequestDifference::Section { name: name(b), index, stable: a.stable || b.stable }
        }
        // Both are there on both sides, so that neither came nor went. One alone that is missing makes it an addition
        // or a removal.
        (Some(a), Some(b)) if has(first, b.name) && has(second, a.name) => {
            RequestDifference::Moved { name: name(b), index, stable: a.stable || b.stable }
        }
        (Some(a), Some(b)) if has(first, b.name) => {
            RequestDifference::Removed { name: name(a), index, stable: a.stable }
        }
        (_, Some(b)) => RequestDifference::Added { name: name(b), index, stable: b.stable },
        (Some(a), None) => RequestDifference::Removed { name: name(a), index, stable: a.stable },
    })
}

/// The tokens before the first change, those of the tools among them.
fn shared_tokens(first: &CacheRequest<'_>, second: &CacheRequest<'_>, change: Option<&RequestDifference>) -> u64 {
    let sum = |parts: &mut dyn Iterator<Item = &CacheSection<'_>>| {
        parts.fold(0_u64, |sum, part| sum.saturating_add(part.tokens))
    };
    let count = match change {
        Some(RequestDifference::Model | RequestDifference::Endpoint | RequestDifference::Tools) => return 0,
        Some(
            RequestDifference::Section { index, .. }
            | RequestDifference::Moved { index, .. }
            | RequestDifference::Added { index, .. }
            | RequestDifference::Removed { index, .. },
        ) => *index,
        None => second.sections.len().min(first.sections.len()),
    };
    // The prefix's extra tokens come before its sections.
    let tools = second.stable_tokens.saturating_sub(sum(&mut second.sections.iter().filter(|part| part.stable)));
    tools.saturating_add(sum(&mut second.sections.iter().take(count)))
}

fn miss_verdict(
    first: &CacheRequest<'_>,
    second: &CacheRequest<'_>,
    model: Option<&Model>,
    change: Option<&RequestDifference>,
    shared_tokens: u64,
) -> CacheOutcome {
    let Some(read) = second.usage.and_then(|usage| usage.cache_read) else { return CacheOutcome::Unreported };
    let changed = change.is_some_and(RequestDifference::is_in_prefix);
    if read > 0 {
        // More than both requests share can't have been kept for the first: somebody else's request was read.
        let most = shared_tokens.saturating_add(shared_tokens.div_euclid(SLACK));
        let is_of_the_first = first.marked != CacheMarking::Unsent && read <= most;
        return if changed && is_of_the_first { CacheOutcome::Changed } else { CacheOutcome::Hit { tokens: read } };
    }
    let mode = model.map(|model| model.caching.mode);
    if mode == Some(CacheControl::Never) {
        return CacheOutcome::NeverWritten { why: CacheSkipReason::NoCache };
    }
    // A provider that decides on its own keeps what comes behind the stable prefix too.
    let tokens = match mode {
        Some(CacheControl::Implicit) => second.stable_tokens.max(shared_tokens),
        _ => second.stable_tokens,
    };
    let minimum = model.and_then(|model| u64::try_from(model.min_prefix_tokens?.get()).ok());
    if let Some(minimum) = minimum.filter(|minimum| tokens < *minimum) {
        return CacheOutcome::TooShort { tokens, minimum };
    }
    if first.marked == CacheMarking::Unsent {
        return CacheOutcome::NeverWritten { why: CacheSkipReason::NotSent };
    }
    if changed && first.prompt != second.prompt && change.is_some_and(RequestDifference::is_at_the_start) {
        return CacheOutcome::NeverWritten { why: CacheSkipReason::OtherPrompt };
    }
    if changed {
        return CacheOutcome::Changed;
    }
    if mode == Some(CacheControl::Explicit) && (first.marked == CacheMarking::No || wrote_nothing(first)) {
        return CacheOutcome::NeverWritten { why: CacheSkipReason::NothingKept };
    }
    if mode == Some(CacheControl::Explicit) && second.marked == CacheMarking::No {
        return CacheOutcome::Unmarked;
    }
    let passed = second.at.0.saturating_sub(first.at.0).max(0).cast_unsigned().div_euclid(1_000);
    if let Some(lifetime) = lifetime(first, model).filter(|lifetime| passed > u64::from(lifetime.get())) {
        return CacheOutcome::Expired { seconds: passed, lifetime };
    }
    match (model.map(|model| &model.tokeniser), minimum) {
        (Some(Tokeniser::Estimate { percent, .. }), Some(minimum))
            if least(tokens, *percent).is_some_and(|least| least < minimum) =>
        {
            CacheOutcome::PerhapsTooShort { tokens, minimum }
        }
        _ => CacheOutcome::Unexplained,
    }
}

/// Whether the provider reported that a request neither wrote to its cache nor read from it.
fn wrote_nothing(seen: &CacheRequest<'_>) -> bool {
    seen.usage.is_some_and(|usage| usage.cache_read == Some(0) && usage.cache_written() == 0)
}

/// How long what a request wrote lives: what was bought, else the provider's default.
fn lifetime(seen: &CacheRequest<'_>, model: Option<&Model>) -> Option<NonZeroU32> {
    let bought = |usage: &Usage| usage.cache_writes.iter().filter_map(|write: &CacheWriteUsage| write.seconds).max();
    let default = |lifetime: &Lifetime| lifetime.seconds;
    seen.usage.and_then(bought).or_else(|| model?.caching.lifetimes.first().and_then(default))
}

/// The tokens that an estimate of this many hundredths is at least.
fn least(tokens: u64, percent: usize) -> Option<u64> {
    tokens.checked_mul(100)?.checked_div(u64::try_from(percent).ok()?)
}

fn tokens_missed(second: &CacheRequest<'_>, verdict: &CacheOutcome) -> Option<u64> {
    let usage = second.usage?;
    match verdict {
        CacheOutcome::Unreported => None,
        // Nothing was there to be read, or all of it was.
        CacheOutcome::Hit { .. }
        | CacheOutcome::TooShort { .. }
        | CacheOutcome::NeverWritten {
            why: CacheSkipReason::NotSent | CacheSkipReason::OtherPrompt | CacheSkipReason::NoCache,
        } => Some(0),
        _ => {
            let read = usage.cache_read?;
            let unread = usage.input?.saturating_sub(read);
            Some(second.stable_tokens.saturating_sub(read).min(unread))
        }
    }
}

/// The extra cost of this many tokens as input rather than from the cache.
fn cost_of_miss(missed: u64, second: &CacheRequest<'_>, model: Option<&Model>) -> Option<NanoDollars> {
    let input = usize::try_from(second.usage?.input?).ok()?;
    let prices = model?.prices_for(input)?;
    let more = prices.input.get().checked_sub(prices.cache_read?.get())?;
    missed.checked_mul(more).map(NanoDollars)
}

#[cfg(test)]
mod tests;
