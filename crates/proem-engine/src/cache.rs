//! Cache planning: how far a request's bytes are stable, and whether a provider keeps them.
//!
//! Invariants: breakpoints ascend, are at boundaries of the assembly, are no more than the provider takes and never
//! below the shortest prefix that it is known to keep. Whether an entry is still there when the next call comes is the
//! provider's business. This says what can be.

pub mod miss;

use core::num::{NonZeroU32, NonZeroUsize};

use proem_text::json;
use serde::Serialize;

use crate::assembly::Assembly;
use crate::call::Request;
use crate::providers::{CacheControl, Model};
use crate::tokens::{Exactness, TokenCounter};

/// The provider's expected treatment of the stable start of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CachePlan {
    /// The model that was planned for.
    pub model: String,
    /// The places at which the request tells the provider to stop, ascending. None if the provider decides.
    pub breakpoints: Vec<Breakpoint>,
    /// The tokens of the longest stable prefix.
    pub stable_tokens: usize,
    /// The tokens of the whole request.
    pub total_tokens: usize,
    /// How far these counts can be relied on.
    pub exactness: Exactness,
    /// Whether the longest stable prefix is cached.
    pub verdict: CachePrediction,
    /// The number of calls from which on caching costs less than not caching. Absent if nothing is cached or the prices
    /// are unknown.
    pub break_even_calls: Option<u32>,
    /// How long an entry lives after its last use, in seconds. Absent as above.
    pub lifetime_seconds: Option<u32>,
    /// The share of a call's input price that a hit saves, in per cent, rounded down. Absent as above.
    pub saving_percent: Option<u32>,
}

/// A place in a request up to which a provider is asked to cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Breakpoint {
    /// The index of the assembly's section that it stands after.
    pub after: usize,
    /// That section's name.
    pub section: String,
    /// The tokens up to here.
    pub prefix_tokens: usize,
}

/// Whether the longest stable prefix is cached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum CachePrediction {
    /// It is long enough.
    Caches,
    /// It is estimated to be long enough, but not by twice the minimum.
    ProbablyCaches {
        /// The shortest prefix that is cached, in tokens.
        minimum: usize,
    },
    /// It is too short. Providers skip the cache silently.
    TooShort {
        /// How long it is.
        tokens: usize,
        /// The shortest prefix that is cached, in tokens.
        minimum: usize,
    },
    /// The request changes from its first byte on.
    NothingStable,
    /// The model's provider caches nothing for it.
    NeverCaches,
    /// The shortest prefix that the model's provider caches isn't known. Breakpoints are planned all
    /// the same: one that comes too early is ignored and costs nothing.
    Unknown,
}

/// Plans the caching of a request to `model`. `exactness` is that of the assembly's counter.
#[must_use]
pub fn plan(assembly: &Assembly, model: &Model, exactness: Exactness) -> CachePlan {
    plan_behind(assembly, 0, model, exactness)
}

/// [`plan`] for a request whose tools, or the schema of whose answer, are before all sections: they are part of every
/// prefix with both providers.
#[must_use]
pub fn plan_request(request: &Request, model: &Model, counter: &dyn TokenCounter) -> CachePlan {
    let tokens = request.answer.tools().iter().fold(0_usize, |sum, tool| {
        let text = format!("{} {} {}", tool.name, tool.description, json::compact_in_order(&tool.schema));
        sum.saturating_add(counter.count(&text))
    });
    plan_behind(&request.assembly, tokens, model, counter.exactness())
}

fn plan_behind(assembly: &Assembly, before: usize, model: &Model, exactness: Exactness) -> CachePlan {
    let prefixes = stable_prefixes(assembly, before);
    let stable_tokens = prefixes.last().map_or(0, |prefix| prefix.prefix_tokens);
    let minimum = model.min_prefix_tokens.map(NonZeroUsize::get);
    let verdict = match model.caching.mode {
        CacheControl::Never => CachePrediction::NeverCaches,
        CacheControl::Explicit | CacheControl::Implicit => predict_cache(stable_tokens, minimum, exactness),
    };
    let mut plan = CachePlan {
        model: model.name.clone(),
        breakpoints: breakpoints(prefixes, model),
        stable_tokens,
        total_tokens: assembly.tokens().saturating_add(before),
        exactness,
        verdict,
        break_even_calls: None,
        lifetime_seconds: None,
        saving_percent: None,
    };
    // The saving is printed only if something is cached: a number beside "too short" would read as a promise.
    if matches!(plan.verdict, CachePrediction::Caches | CachePrediction::ProbablyCaches { .. }) {
        let lifetime = model.caching.lifetimes.first();
        plan.lifetime_seconds = lifetime.and_then(|lifetime| lifetime.seconds).map(NonZeroU32::get);
        let costs = CachePrices::of(model, plan.total_tokens);
        plan.break_even_calls = costs.as_ref().and_then(CachePrices::break_even_calls);
        plan.saving_percent = costs.and_then(|costs| costs.saving_percent(plan.stable_tokens, plan.total_tokens));
    }
    plan
}

impl CachePlan {
    /// The plan as one sentence, without a full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (stable, total, model) = (comma_grouped(self.stable_tokens), comma_grouped(self.total_tokens), &self.model);
        match self.verdict {
            CachePrediction::Caches => format!("{model} caches the first {stable} of {total} tokens{}", self.worth()),
            CachePrediction::ProbablyCaches { minimum } => format!(
                "{model} probably caches the first {stable} of {total} tokens (an estimate; it caches no prefix \
                 shorter than {}){}",
                comma_grouped(minimum),
                self.worth()
            ),
            CachePrediction::TooShort { tokens, minimum } => {
                let near = self.exactness == Exactness::Estimate && tokens.saturating_mul(2) > minimum;
                let probably = if near { "probably " } else { "" };
                let minimum = comma_grouped(minimum);
                format!(
                    "the first {stable} of {total} tokens are stable, but {model} caches no prefix shorter than \
                     {minimum}, so every call {probably}pays for all of them"
                )
            }
            CachePrediction::NothingStable => {
                format!("none of the {total} tokens are stable, so every call pays for all of them")
            }
            CachePrediction::NeverCaches => {
                format!("{model} caches nothing, so every call pays for all {total} tokens")
            }
            CachePrediction::Unknown => format!(
                "the first {stable} of {total} tokens are stable, but how many {model} needs to cache them is not known"
            ),
        }
    }

    /// The worth of caching, as the end of a sentence.
    fn worth(&self) -> String {
        let (Some(calls), Some(percent)) = (self.break_even_calls, self.saving_percent) else {
            return String::from("; what that saves is not known");
        };
        let apart = match self.lifetime_seconds {
            Some(seconds) => format!(" if calls are at most {} minutes apart", seconds.div_euclid(60)),
            None => String::new(),
        };
        format!(
            ", which is cheaper from call {calls} on{apart} and saves {percent}% of the input price of each later call"
        )
    }
}

/// The stable prefixes, ascending. A group of no tokens makes none.
fn stable_prefixes(assembly: &Assembly, before: usize) -> Vec<Breakpoint> {
    let mut prefixes: Vec<Breakpoint> = Vec::new();
    let mut prefix_tokens = before;
    for (after, section) in assembly.sections.iter().enumerate() {
        prefix_tokens = prefix_tokens.saturating_add(section.tokens);
        let last = prefixes.last().map_or(0, |prefix| prefix.prefix_tokens);
        // Without a token between two boundaries a provider would be asked to write the same prefix twice.
        if assembly.boundaries.contains(&after) && prefix_tokens > last {
            prefixes.push(Breakpoint { after, section: section.name.clone(), prefix_tokens });
        }
    }
    prefixes
}

/// Those prefixes that a request asks for; if there are too many, the longest save the most.
fn breakpoints(mut prefixes: Vec<Breakpoint>, model: &Model) -> Vec<Breakpoint> {
    let most = match model.caching.mode {
        CacheControl::Implicit | CacheControl::Never => 0,
        CacheControl::Explicit => model.caching.max_breakpoints.map_or(0, NonZeroUsize::get),
    };
    // One that is too short is ignored, but takes one of the few places; where the minimum is unknown none is left out.
    let minimum = model.min_prefix_tokens.map_or(0, NonZeroUsize::get);
    prefixes.retain(|prefix| prefix.prefix_tokens >= minimum);
    let surplus = prefixes.len().saturating_sub(most);
    prefixes.drain(..surplus);
    prefixes
}

/// An estimate is at most twice the count of its base (`percent` in `providers.toml`), so twice the
/// minimum is long enough even if the model's tokeniser is as good as the base.
fn predict_cache(tokens: usize, minimum: Option<usize>, exactness: Exactness) -> CachePrediction {
    match minimum {
        _ if tokens == 0 => CachePrediction::NothingStable,
        None => CachePrediction::Unknown,
        Some(minimum) if tokens < minimum => CachePrediction::TooShort { tokens, minimum },
        Some(minimum) if exactness == Exactness::Estimate && tokens < minimum.saturating_mul(2) => {
            CachePrediction::ProbablyCaches { minimum }
        }
        Some(_) => CachePrediction::Caches,
    }
}

/// The price of a token without a cache, written to it and read from it, in one unit.
struct CachePrices {
    input: u64,
    write: u64,
    read: u64,
}

impl CachePrices {
    /// The model's own prices where they are known, else its provider's factors.
    fn of(model: &Model, prompt_tokens: usize) -> Option<Self> {
        let lifetime = model.caching.lifetimes.first()?;
        let factor = u64::from(lifetime.write_percent.get());
        let Some((prices, read)) =
            model.prices_for(prompt_tokens).and_then(|prices| Some((prices, prices.cache_read?)))
        else {
            // Only the proportions count, so any unit does.
            return Some(Self { input: 100, write: factor, read: u64::from(model.caching.read_percent?.get()) });
        };
        let input = prices.input.get();
        let bought = prices.cache_writes.iter().find(|write| Some(write.seconds) == lifetime.seconds);
        let write = bought.map_or_else(|| input.saturating_mul(factor).div_euclid(100), |write| write.price.get());
        Some(Self { input, write, read: read.get() })
    }

    /// The smallest n with write + read × (n − 1) < input × n.
    fn break_even_calls(&self) -> Option<u32> {
        let gain = self.input.checked_sub(self.read).filter(|gain| *gain > 0)?;
        let calls = self.write.saturating_sub(self.read).div_euclid(gain).saturating_add(1);
        u32::try_from(calls).ok()
    }

    fn saving_percent(&self, cached: usize, total: usize) -> Option<u32> {
        let gain = u128::from(self.input.checked_sub(self.read)?);
        let saved = gain.saturating_mul(u128::try_from(cached).ok()?).saturating_mul(100);
        let full = u128::from(self.input).saturating_mul(u128::try_from(total).ok()?);
        u32::try_from(saved.checked_div(full)?).ok()
    }
}

/// The number with a comma between each three digits.
fn comma_grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::{PlacedSection, PromptId};
    use crate::message::Role;
    use crate::providers::Providers;
    use crate::section::{CacheClass, Layer, SectionGroup, Trust};
    use proem_text::{Label, span::Span};
    use proptest::{collection::vec, prelude::*};

    fn assembly_of_tokens(tokens: &[usize], boundaries: &[usize]) -> Assembly {
        let prompt = PromptId {
            agent: String::from("assemble"),
            name: String::from("task"),
            version: String::from("1.0.0"),
            closure: String::new(),
        };
        let place = |(index, tokens): (usize, &usize)| PlacedSection {
            part: None,
            name: format!("s{index}"),
            role: Role::User,
            trust: Trust::Trusted,
            cache: CacheClass::Static,
            layer: Layer::Context,
            rank: SectionGroup::TrustedStatic,
            text: String::from("text\n"),
            label: Label::trusted(),
            tokens: *tokens,
            range: Span::new(0, 0),
        };
        let sections = tokens.iter().enumerate().map(place).collect();
        Assembly { prompt, sections, boundaries: boundaries.to_vec(), output_tokens: 200 }
    }

    fn model(name: &str) -> Model {
        Providers::load().unwrap().model(name).unwrap().clone()
    }

    #[test]
    fn plans_are_told_in_one_sentence() {
        use Exactness::{Estimate, Exact};
        for (name, exactness, tokens, expected) in [
            (
                "claude-haiku-4-5",
                Estimate,
                [1_240, 362],
                "the first 1,240 of 1,602 tokens are stable, but claude-haiku-4-5 caches no prefix shorter than 4,096, \
                 so every call pays for all of them",
            ),
            (
                "claude-haiku-4-5",
                Estimate,
                [4_000, 500],
                "the first 4,000 of 4,500 tokens are stable, but claude-haiku-4-5 caches no prefix shorter than 4,096, \
                 so every call probably pays for all of them",
            ),
            (
                "claude-haiku-4-5",
                Estimate,
                [5_000, 1_000],
                "claude-haiku-4-5 probably caches the first 5,000 of 6,000 tokens (an estimate; it caches no prefix \
                 shorter than 4,096), which is cheaper from call 2 on if calls are at most 5 minutes apart and saves \
                 75% of the input price of each later call",
            ),
            (
                "claude-haiku-4-5",
                Estimate,
                [9_000, 1_000],
                "claude-haiku-4-5 caches the first 9,000 of 10,000 tokens, which is cheaper from call 2 on if calls \
                 are at most 5 minutes apart and saves 81% of the input price of each later call",
            ),
            (
                "gpt-4o",
                Exact,
                [1_024, 976],
                "gpt-4o caches the first 1,024 of 2,000 tokens, which is cheaper from call 2 on and saves 25% of the \
                 input price of each later call",
            ),
            (
                "gpt-4o",
                Exact,
                [1_023, 7],
                "the first 1,023 of 1,030 tokens are stable, but gpt-4o caches no prefix shorter than 1,024, so every \
                 call pays for all of them",
            ),
            (
                "gpt-6-sol",
                Exact,
                [272_000, 1],
                "gpt-6-sol caches the first 272,000 of 272,001 tokens; what that saves is not known",
            ),
            ("gpt-4-turbo", Exact, [9_000, 1], "gpt-4-turbo caches nothing, so every call pays for all 9,001 tokens"),
            ("gpt-4o", Exact, [0, 1_602], "none of the 1,602 tokens are stable, so every call pays for all of them"),
            (
                "claude-sonnet-5-5",
                Estimate,
                [5_000, 1_000],
                "the first 5,000 of 6,000 tokens are stable, but how many claude-sonnet-5-5 needs to cache them is not \
                 known",
            ),
        ] {
            let plan = plan(&assembly_of_tokens(&tokens, &[0]), &model(name), exactness);
            assert_eq!(plan.sentence(), expected);
        }
    }

    #[test]
    fn breakpoints_stand_where_a_prefix_is_long_enough() {
        let mut haiku = model("claude-haiku-4-5");
        let check = |model: &Model, tokens: &[usize], boundaries: &[usize], expected: &[(usize, usize)]| {
            let plan = plan(&assembly_of_tokens(tokens, boundaries), model, Exactness::Exact);
            let found: Vec<_> = plan.breakpoints.iter().map(|b| (b.after, b.prefix_tokens)).collect();
            assert_eq!(found, expected, "{tokens:?} {boundaries:?}");
            assert!(plan.breakpoints.iter().all(|b| b.section == format!("s{}", b.after)));
        };
        check(&haiku, &[4_096, 10], &[0], &[(0, 4_096)]);
        check(&haiku, &[4_095, 10], &[0], &[]);
        check(&haiku, &[1_000, 4_000, 100], &[0, 1], &[(1, 5_000)]);
        check(&haiku, &[5_000, 0, 100], &[0, 1], &[(0, 5_000)]);
        check(&haiku, &[5_000, 100], &[0, 7], &[(0, 5_000)]);
        haiku.caching.max_breakpoints = NonZeroUsize::new(1);
        check(&haiku, &[5_000, 100, 100], &[0, 1], &[(1, 5_100)]);
        check(&model("gpt-4o"), &[5_000, 100], &[0], &[]);
        check(&model("claude-sonnet-5-5"), &[10, 100], &[0], &[(0, 10)]);
    }

    #[test]
    fn break_even_is_the_first_call_that_is_cheaper() {
        for (input, write, read, expected) in [
            (100, 125, 10, Some(2)),
            (100, 200, 10, Some(3)),
            (100, 100, 50, Some(2)),
            (100, 150, 50, Some(3)),
            (4_000, 5_000, 200, Some(2)),
            (100, 125, 100, None),
            (100, 125, 120, None),
        ] {
            let costs = CachePrices { input, write, read };
            assert_eq!(costs.break_even_calls(), expected, "{input} {write} {read}");
            if let Some(calls) = expected.map(u64::from) {
                assert!(write + read * (calls - 1) < input * calls);
                assert!(calls == 1 || write + read * (calls - 2) >= input * (calls - 1));
            }
        }
    }

    #[test]
    fn without_prices_the_providers_factors_count() {
        let mut haiku = model("claude-haiku-4-5");
        haiku.prices.clear();
        let plan = plan(&assembly_of_tokens(&[9_000, 1_000], &[0]), &haiku, Exactness::Exact);
        assert_eq!((plan.break_even_calls, plan.saving_percent), (Some(2), Some(81)));
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(comma_grouped(number), expected);
        }
    }

    proptest! {
        #[test]
        fn breakpoints_keep_the_providers_rules(
            tokens in vec(prop_oneof![Just(0usize), 0usize..3_000], 0..12),
            boundaries in vec(0usize..14, 0..6),
            most in 1usize..5,
            index in 0usize..15,
        ) {
            let mut models: Vec<Model> = Providers::load().unwrap().models().cloned().collect();
            let mut model = models.swap_remove(index % models.len());
            model.caching.max_breakpoints = NonZeroUsize::new(most);
            let assembly = assembly_of_tokens(&tokens, &boundaries);
            let plan = plan(&assembly, &model, Exactness::Exact);
            prop_assert!(plan.breakpoints.len() <= most);
            prop_assert!(plan.breakpoints.is_sorted_by(|a, b| a.after < b.after && a.prefix_tokens < b.prefix_tokens));
            for breakpoint in &plan.breakpoints {
                prop_assert!(boundaries.contains(&breakpoint.after));
                prop_assert!(breakpoint.prefix_tokens >= model.min_prefix_tokens.map_or(1, NonZeroUsize::get));
                prop_assert_eq!(breakpoint.prefix_tokens, tokens[..=breakpoint.after].iter().sum::<usize>());
            }
            prop_assert!(plan.stable_tokens <= plan.total_tokens);
            prop_assert!(plan.saving_percent.is_none_or(|percent| percent <= 100));
        }
    }
}
