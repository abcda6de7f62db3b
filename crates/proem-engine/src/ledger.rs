//! The cost of calls: bounds before them, and the remainder of each cap.
//!
//! Pure arithmetic in whole billionths of a dollar and whole tokens. Invariants: a bound is never below the possible
//! cost of its call. An attempt is booked only if every cap has room for its bound beside all settled and open amounts.
//! An unknown price is never zero. The store decides who holds the sums and in which transaction they change.

mod ladder;
mod words;

pub use self::ladder::{LadderPlace, LadderStep, ModelMix, SpendLadder};

use core::num::{NonZeroU64, NonZeroUsize};

use serde::{Deserialize, Serialize};

use crate::call::{NanoDollars, Request};
use crate::providers::{Lifetime, Model, Prices};

/// The tokens that a provider may add to a prompt: its chat template, and the instructions that come
/// with tools and schemas.
///
/// Anthropic adds 159 to 530 tokens for tools, depending on the model
/// (<https://docs.anthropic.com/en/docs/tool-use-pricing-and-tokens>). This is four times the most.
pub const TEMPLATE_TOKENS: u64 = 2_120;

/// The scope of the spending that a cap limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapScope {
    /// Everything that this user's installation spends.
    User,
    /// The spending of one project.
    Project,
    /// The spending of one agent in one project, by the prompt that the question uses.
    Agent,
}

/// The time that a cap is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapPeriod {
    /// One run.
    Run,
    /// One day in the declared zone.
    Day,
    /// One month there.
    Month,
}

/// The unit that a cap counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapUnit {
    /// Billionths of a dollar.
    NanoDollars,
    /// Tokens of prompts and answers.
    Tokens,
}

/// A limit on spending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cap {
    /// The scope of the spending.
    pub scope: CapScope,
    /// In which time.
    pub period: CapPeriod,
    /// Of what.
    pub unit: CapUnit,
    /// The most that may be spent, in the unit of what is counted.
    pub most: u64,
}

/// The most that an attempt can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// In money. `None` where the price is unknown.
    pub nanos: Option<NanoDollars>,
    /// In tokens, prompt and answer together.
    pub tokens: u64,
}

/// The amounts that count against a cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapBalance {
    /// The settled amount, in the cap's unit.
    pub settled: u64,
    /// The amount reserved by open attempts.
    pub open: u64,
}

/// Whether an attempt may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookingDecision {
    /// It may.
    Book,
    /// Not as long as others are open. It may once they are settled for less.
    Wait(CapShortfall),
    /// It may not.
    Refuse(Refusal),
}

/// Why an attempt may not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A cap has no room for it.
    Short(CapShortfall),
    /// Its cost is unknown, and no cap counts tokens.
    NoPrice,
    /// How long its answer may be is not known.
    NoBound,
}

/// A cap that is too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapShortfall {
    /// The limit that this call would exceed.
    pub cap: Cap,
    /// The amounts that count against it.
    pub spent: CapBalance,
    /// The requested amount.
    pub wanted: u64,
}

/// Whether a price holds for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pricing {
    /// The model's list prices do.
    Listed,
    /// It runs on this machine and costs nothing.
    Free,
}

/// The most that one attempt can take, whose body has that many bytes. `None` where its answer has no known end.
///
/// No tokeniser makes more tokens of a text than it has bytes, and a body holds its texts with everything around them.
/// Pictures and files count as much as their provider says at most. [`TEMPLATE_TOKENS`] come on top. Each token of the
/// prompt is priced as the dearest thing that can happen to it, in the dearest band: read, written to the cache for the
/// longest time, or neither. The answer counts up to the cap that is sent: what the assembly keeps free, as far as the
/// model can. A price beyond what 64 bits hold is the most that they hold.
#[must_use]
pub fn bound_of_attempt(body_bytes: usize, request: &Request, model: &Model, priced: Pricing) -> Option<Bound> {
    let input = input_bound(body_bytes, request);
    bound_of_tokens(input, output_cap(request.assembly.output_tokens, model)?, model, priced)
}

/// The most that a call can take whose prompt and answer have at most that many tokens. `None` where they are more than
/// 64 bits hold.
#[must_use]
pub fn bound_of_tokens(input: u64, output: u64, model: &Model, priced: Pricing) -> Option<Bound> {
    let tokens = input.checked_add(output)?;
    let nanos = match priced {
        Pricing::Free => Some(NanoDollars(0)),
        Pricing::Listed => dearest(input, output, model),
    };
    Some(Bound { nanos, tokens })
}

/// The most tokens that a prompt can have whose body has that many bytes: one for each byte, but for pictures and
/// files, which count by their own rules.
pub(crate) fn input_bound(body_bytes: usize, request: &Request) -> u64 {
    let (bytes, tokens) = request.assembly.media_size();
    let most = body_bytes.saturating_sub(bytes).saturating_add(tokens);
    u64::try_from(most).unwrap_or(u64::MAX).saturating_add(TEMPLATE_TOKENS)
}

/// The cap that is sent with a request.
pub(crate) fn output_cap(kept_free: usize, model: &Model) -> Option<u64> {
    let most = model.output_tokens.map(NonZeroUsize::get);
    let cap = match (kept_free, most) {
        (0, most) => most?,
        (kept_free, most) => most.map_or(kept_free, |most| most.min(kept_free)),
    };
    u64::try_from(cap).ok()
}

/// The highest cost of this many tokens. `None` if no price is known for a prompt of that length.
fn dearest(input: u64, output: u64, model: &Model) -> Option<NanoDollars> {
    model.prices_for(usize::try_from(input).ok()?)?;
    let of_inputs = model.prices.iter().map(|prices| dearest_input(prices, &model.caching.lifetimes));
    let of_input = of_inputs.max()?;
    let of_output = model.prices.iter().map(|prices| u128::from(prices.output.get()).saturating_mul(100)).max()?;
    let total = u128::from(input)
        .saturating_mul(of_input)
        .saturating_add(u128::from(output).saturating_mul(of_output))
        .div_ceil(100);
    Some(NanoDollars(u64::try_from(total).unwrap_or(u64::MAX)))
}

/// The most that a token of a prompt can cost, in hundredths of a nano-dollar.
fn dearest_input(prices: &Prices, lifetimes: &[Lifetime]) -> u128 {
    let hundredths = |price: NonZeroU64| u128::from(price.get()).saturating_mul(100);
    let by_rule = lifetimes
        .iter()
        .map(|lifetime| u128::from(prices.input.get()).saturating_mul(u128::from(lifetime.write_percent.get())));
    let listed = prices.cache_writes.iter().map(|write| hundredths(write.price));
    let others = prices.cache_read.map(hundredths).into_iter().chain(listed).chain(by_rule);
    others.fold(hundredths(prices.input), u128::max)
}

/// Whether an attempt may be made, given what counts against each cap.
///
/// A call that would not fit even if everything open settled for nothing is refused. A call that only open attempts
/// block waits. An attempt that takes nothing of a cap's unit fits that cap. An attempt without a price is limited by
/// the caps that count tokens; without such a cap, no cap in dollars lets it pass.
#[must_use]
pub fn judge_booking(bound: &Bound, caps: &[(Cap, CapBalance)]) -> BookingDecision {
    let counts_tokens = caps.iter().any(|(cap, _)| cap.unit == CapUnit::Tokens);
    let mut wait = None;
    for (cap, spent) in caps {
        let wanted = match cap.unit {
            CapUnit::Tokens => bound.tokens,
            CapUnit::NanoDollars => match bound.nanos {
                Some(nanos) => nanos.0,
                None if counts_tokens => continue,
                None => return BookingDecision::Refuse(Refusal::NoPrice),
            },
        };
        let short = CapShortfall { cap: *cap, spent: *spent, wanted };
        match short.room() {
            Headroom::Enough => {}
            Headroom::Later => wait = wait.or(Some(short)),
            Headroom::None => return BookingDecision::Refuse(Refusal::Short(short)),
        }
    }
    wait.map_or(BookingDecision::Book, BookingDecision::Wait)
}

/// Whether a cap has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Headroom {
    /// It has.
    Enough,
    /// It may have once open attempts are settled.
    Later,
    /// It has not.
    None,
}

impl CapShortfall {
    fn room(&self) -> Headroom {
        let fits = |taken: Option<u64>| {
            self.wanted == 0
                || taken.and_then(|taken| taken.checked_add(self.wanted)).is_some_and(|sum| sum <= self.cap.most)
        };
        if fits(self.spent.settled.checked_add(self.spent.open)) {
            Headroom::Enough
        } else if fits(Some(self.spent.settled)) {
            Headroom::Later
        } else {
            Headroom::None
        }
    }
}

#[cfg(test)]
mod tests;
