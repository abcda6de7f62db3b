//! The usage of a call, in one convention for all providers.
//!
//! Providers count differently: Anthropic's `input_tokens` leaves out the tokens that the cache read and wrote,
//! OpenAI's `prompt_tokens` includes them. Here `input` is always the whole prompt. A figure that a provider did not
//! report is `None`.

use core::fmt;
use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::diagnosis::CacheDiagnosis;
use super::plausible::UsageDoubt;
use crate::providers::{Model, Prices};

/// The tokens of one call, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The tokens of the prompt, cached ones included.
    pub input: Option<u64>,
    /// Those of `input` that were read from the cache.
    pub cache_read: Option<u64>,
    /// Those of `input` that were written to the cache, by lifetime. Empty if none was reported.
    pub cache_writes: Vec<CacheWriteUsage>,
    /// The tokens of the answer, thinking included.
    pub output: Option<u64>,
    /// The provider's account of its cache, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<CacheDiagnosis>,
    /// Why the figures that the provider reported are missing here: they can't be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<UsageDoubt>,
    /// The most that a complete answer can have used, where its provider reports nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<UsageEstimate>,
}

/// The most tokens of a call whose provider reports none, by the bytes that were sent and that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UsageEstimate {
    /// The tokens of the prompt, at most.
    pub input: u64,
    /// The tokens of the answer, at most, with the thinking that the provider sends along.
    pub output: u64,
}

impl UsageEstimate {
    /// Both together.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Tokens that were written to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "CacheWritten")]
pub struct CacheWriteUsage {
    /// The lifetime that was bought, in seconds. `None` is the provider's default.
    pub seconds: Option<NonZeroU32>,
    /// How many.
    pub tokens: u64,
}

impl Usage {
    /// The tokens that were written to the cache.
    #[must_use]
    pub fn cache_written(&self) -> u64 {
        self.cache_writes.iter().fold(0, |sum, write| sum.saturating_add(write.tokens))
    }

    /// The tokens of the prompt that were neither read from the cache nor written to it.
    #[must_use]
    pub fn uncached(&self) -> Option<u64> {
        let cached = self.cache_read.unwrap_or(0).saturating_add(self.cache_written());
        self.input?.checked_sub(cached)
    }

    /// Why what was used is not known, in words. `None` if it is.
    #[must_use]
    pub fn gap_in_words(&self) -> Option<String> {
        let unreported = "the provider does not report how many tokens were used";
        let is_known = self.input.is_some() && self.output.is_some();
        self.doubt.map(UsageDoubt::in_words).or_else(|| (!is_known).then(|| unreported.to_owned()))
    }

    /// Both together, writes by lifetime; what one of them doesn't know, the sum doesn't know.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        let mut cache_writes: Vec<CacheWriteUsage> = Vec::new();
        for write in self.cache_writes.iter().chain(&other.cache_writes) {
            match cache_writes.iter_mut().find(|known| known.seconds == write.seconds) {
                Some(known) => known.tokens = known.tokens.saturating_add(write.tokens),
                None => cache_writes.push(*write),
            }
        }
        cache_writes.sort_unstable_by_key(|write| write.seconds);
        Self {
            input: sum(self.input, other.input),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_writes,
            output: sum(self.output, other.output),
            // All are about one request each.
            diagnosis: None,
            doubt: None,
            estimate: None,
        }
    }
}

/// An amount of money: billionths of a US dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct NanoDollars(pub u64);

impl NanoDollars {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// As dollars, to six places or as many as it takes: `$0.001234`.
impl fmt::Display for NanoDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, nanos) = (self.0.div_euclid(1_000_000_000), self.0.rem_euclid(1_000_000_000));
        let digits = format!("{nanos:09}");
        let (six, rest) = digits.split_at_checked(6).unwrap_or((&digits, ""));
        let rest = rest.trim_end_matches('0');
        f.pad(&format!("${dollars}.{six}{rest}"))
    }
}

/// The cost of a call, by the model's list prices. `None` if a price or a count is unknown.
///
/// Each token costs once: as read from the cache, as written to it, or as neither. A write without a list price costs
/// the input price times its provider's factor. Fractions of a nano-dollar are rounded up.
#[must_use]
pub fn call_cost(usage: &Usage, model: &Model) -> Option<NanoDollars> {
    let input = usage.input?;
    let prices = model.prices_for(usize::try_from(input).unwrap_or(usize::MAX))?;
    let read = usage.cache_read.unwrap_or(0);
    let read_price = match prices.cache_read {
        Some(price) => price.get(),
        None if read == 0 => 0,
        None => return None,
    };
    // In hundredths of a nano-dollar, because a provider's rule is in hundredths.
    let price = |tokens: u64, each: u64| u128::from(tokens).checked_mul(u128::from(each));
    let mut total = price(usage.uncached()?, prices.input.get().checked_mul(100)?)?;
    total = total.checked_add(price(read, read_price.checked_mul(100)?)?)?;
    for write in &usage.cache_writes {
        total = total.checked_add(price(write.tokens, write_price(model, prices, *write)?)?)?;
    }
    total = total.checked_add(price(usage.output?, prices.output.get().checked_mul(100)?)?)?;
    u64::try_from(total.div_ceil(100)).ok().map(NanoDollars)
}

/// The price of a written token, in hundredths of a nano-dollar.
fn write_price(model: &Model, prices: &Prices, write: CacheWriteUsage) -> Option<u64> {
    let listed = match write.seconds {
        Some(seconds) => prices.cache_writes.iter().find(|price| price.seconds == seconds),
        None => prices.cache_writes.first(),
    };
    if let Some(listed) = listed {
        return listed.price.get().checked_mul(100);
    }
    let mut lifetimes = model.caching.lifetimes.iter();
    let lifetime = match write.seconds {
        Some(_) => lifetimes.find(|lifetime| lifetime.seconds == write.seconds),
        None => lifetimes.next(),
    };
    prices.input.get().checked_mul(u64::from(lifetime?.write_percent.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::Providers;
    use proptest::{collection::vec, prelude::*};

    fn cache_write(seconds: u32, tokens: u64) -> CacheWriteUsage {
        CacheWriteUsage { seconds: NonZeroU32::new(seconds), tokens }
    }

    fn usage(input: u64, read: u64, writes: &[CacheWriteUsage], output: u64) -> Usage {
        Usage {
            input: Some(input),
            cache_read: Some(read),
            cache_writes: writes.to_vec(),
            output: Some(output),
            ..Usage::default()
        }
    }

    /// The cost in nano-dollars.
    #[track_caller]
    fn check(model: &str, usage: &Usage, expected: Option<u64>) {
        let providers = Providers::load().unwrap();
        assert_eq!(call_cost(usage, providers.model(model).unwrap()), expected.map(NanoDollars), "{model} {usage:?}");
    }

    #[test]
    fn costs() {
        check("claude-haiku-4-5", &usage(100, 0, &[], 10), Some(150_000));
        check("claude-haiku-4-5", &usage(100, 80, &[], 10), Some(20_000 + 8_000 + 50_000));
        let writes = [cache_write(300, 30), cache_write(3_600, 40)];
        check("claude-haiku-4-5", &usage(100, 20, &writes, 0), Some(10_000 + 2_000 + 37_500 + 80_000));
        // The default lifetime is the first one that is listed.
        check("claude-haiku-4-5", &usage(100, 0, &[cache_write(0, 100)], 0), Some(125_000));
        // OpenAI's models before GPT-5.6 charge nothing for writing.
        check("gpt-4o", &usage(100, 0, &[cache_write(0, 100)], 0), Some(250_000));
        check("gpt-6-sol", &usage(100, 0, &[cache_write(0, 100)], 0), Some(250_000));
        // Dearer prompts from a length on, whose write price is the provider's rule.
        check("gpt-5.6-luna", &usage(272_001, 0, &[cache_write(0, 272_001)], 0), Some(272_001 * 500));
    }

    #[test]
    fn what_is_not_known_has_no_cost() {
        check("claude-haiku-4-5", &Usage::default(), None);
        let known = usage(100, 10, &[], 10);
        check("claude-haiku-4-5", &Usage { input: None, ..known.clone() }, None);
        check("claude-haiku-4-5", &Usage { output: None, ..known.clone() }, None);
        check("claude-haiku-4-5", &Usage { cache_read: None, ..known.clone() }, Some(150_000));
        check("claude-haiku-4-5", &usage(100, 60, &[cache_write(300, 60)], 0), None);
        check("claude-haiku-4-5", &usage(100, 0, &[cache_write(77, 10)], 0), None);
        // No price for reading is listed for long prompts.
        check("gpt-5.6-luna", &usage(300_000, 1, &[], 0), None);
        check("gpt-6-sol", &usage(300_000, 0, &[], 0), None);
        check("claude-haiku-4-5", &usage(u64::MAX, 0, &[], 0), None);
    }

    #[test]
    fn amounts_are_dollars() {
        for (nanos, expected) in [
            (0, "$0.000000"),
            (1, "$0.000000001"),
            (1_234_000, "$0.001234"),
            (1_234_500, "$0.0012345"),
            (12_000_000_000, "$12.000000"),
        ] {
            assert_eq!(NanoDollars(nanos).to_string(), expected);
        }
        assert_eq!(format!("[{:>12}]", NanoDollars(1_000)), "[   $0.000001]");
    }

    #[test]
    fn sums_know_what_both_know() {
        let one = usage(10, 2, &[cache_write(3_600, 1), cache_write(300, 2)], 3);
        let other = Usage { cache_read: None, ..usage(5, 0, &[cache_write(0, 1), cache_write(300, 4)], 1) };
        let sum = Usage {
            input: Some(15),
            cache_read: None,
            cache_writes: vec![cache_write(0, 1), cache_write(300, 6), cache_write(3_600, 1)],
            output: Some(4),
            ..Usage::default()
        };
        assert_eq!((one.and(&other), other.and(&one)), (sum.clone(), sum));
    }

    fn any_usage() -> impl Strategy<Value = Usage> {
        let write =
            (prop::sample::select(vec![0, 300, 3_600]), 0u64..1_000).prop_map(|(s, tokens)| cache_write(s, tokens));
        let count = || prop::option::of(0u64..10_000);
        (count(), count(), vec(write, 0..3), count()).prop_map(|(input, cache_read, cache_writes, output)| Usage {
            input,
            cache_read,
            cache_writes,
            output,
            ..Usage::default()
        })
    }

    proptest! {
        /// Every token is given its own price here, one after the other.
        #[test]
        fn no_token_costs_twice(fresh in 0usize..40, read in 0usize..40, short in 0usize..40, long in 0usize..40, output in 0usize..40) {
            let priced = [(fresh, 1_000), (read, 100), (short, 1_250), (long, 2_000), (output, 5_000u64)];
            let expected: u64 = priced.into_iter().flat_map(|(tokens, price)| core::iter::repeat_n(price, tokens)).sum();
            let [fresh, read, short, long, output] = [fresh, read, short, long, output].map(|count| count as u64);
            let usage = usage(fresh + read + short + long, read, &[cache_write(300, short), cache_write(3_600, long)], output);
            check("claude-haiku-4-5", &usage, Some(expected));
        }

        #[test]
        fn parts_are_never_more_than_the_whole(usage in any_usage()) {
            let cached = usage.cache_read.unwrap_or(0) + usage.cache_written();
            match (usage.input, usage.uncached()) {
                (Some(input), Some(uncached)) => prop_assert_eq!(uncached + cached, input),
                (Some(input), None) => prop_assert!(cached > input),
                (None, uncached) => prop_assert_eq!(uncached, None),
            }
        }

        #[test]
        fn the_order_of_a_sum_makes_no_difference(a in any_usage(), b in any_usage(), c in any_usage()) {
            prop_assert_eq!(a.and(&b), b.and(&a));
            prop_assert_eq!(a.and(&b).and(&c), a.and(&b.and(&c)));
        }
    }
}
