//! Caps on the calls of a process, whichever client makes them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proem_engine::call::{CacheWriteUsage, NanoDollars, Usage, call_cost};
use proem_engine::ledger::{
    BookingDecision, Bound, Cap, CapBalance, CapPeriod, CapScope, CapShortfall, CapUnit, Pricing, Refusal,
    TEMPLATE_TOKENS, bound_of_tokens, judge_booking,
};
use proem_engine::providers::Model;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tokens::model_named;
use crate::{Error, ErrorKind};

/// A billionth of a dollar is the smallest amount that is counted.
const NANOS: f64 = 1e9;

/// Words in the types of parts whose tokens are not in their bytes.
const MEDIA: [&str; 6] = ["image", "audio", "video", "file", "document", "media"];
/// The keys of addresses, as Gemini and Bedrock name them, of which the provider reads what is behind.
const ADDRESSES: [&str; 3] = ["fileUri", "file_uri", "s3Location"];

/// Caps on the tokens and the dollars of a process's calls: each is booked before it is made, at the most that it can
/// take, and settled afterwards. Threads may share one.
///
/// ```
/// use proem::{CallBudget, ReportedUsage};
///
/// let budget = CallBudget::new(Some(3_000), None)?;
/// let booking = budget.book("gpt-4o", 40, 100)?;
/// booking.settle(Some(&ReportedUsage { input_tokens: 12, output_tokens: 40, ..ReportedUsage::default() }))?;
/// assert_eq!(budget.spending().tokens, Some(52));
/// assert!(budget.book("gpt-4o", 4_000, 100).is_err());
/// # Ok::<(), proem::Error>(())
/// ```
#[derive(Debug)]
pub struct CallBudget {
    account: Arc<Account>,
}

/// One call's reserved amounts. A booking that is dropped before it is settled stays reserved.
#[derive(Debug)]
pub struct CallBooking {
    account: Arc<Account>,
    model: Model,
    /// `None` once it is settled.
    open: Mutex<Option<Bound>>,
}

/// The tokens of a call that its provider reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedUsage {
    /// All tokens of the prompt, cached ones included.
    pub input_tokens: u64,
    /// The tokens of the answer.
    pub output_tokens: u64,
    /// The tokens of the prompt that were read from the provider's cache.
    pub cache_read_tokens: u64,
    /// The tokens of the prompt that were written to it.
    pub cache_write_tokens: u64,
}

/// The settled calls of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpentAmounts {
    /// Their tokens. `None` without a cap on tokens.
    pub tokens: Option<u64>,
    /// The dollars of those with a known price. `None` without a cap on dollars.
    pub dollars: Option<f64>,
    /// The number of those without one.
    pub unpriced_calls: u64,
}

#[derive(Debug, Default)]
struct Account {
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    caps: Vec<(Cap, CapBalance)>,
    /// The settled calls of unknown price.
    unpriced: u64,
}

impl CallBudget {
    /// Caps `tokens` of prompts and answers, `dollars` by list prices, or both.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] without a cap, or for dollars that are no amount.
    pub fn new(tokens: Option<u64>, dollars: Option<f64>) -> Result<Self, Error> {
        let mut caps = Vec::new();
        if let Some(most) = tokens {
            caps.push(run_cap(CapUnit::Tokens, most));
        }
        if let Some(dollars) = dollars {
            caps.push(run_cap(CapUnit::NanoDollars, nanos_of(dollars)?));
        }
        if caps.is_empty() {
            let problem = "a budget without a cap permits everything; give `tokens`, `dollars` or both";
            return Err(Error::new(ErrorKind::Invalid, problem));
        }
        Ok(Self { account: Arc::new(Account { sums: Mutex::new(Sums { caps, unpriced: 0 }) }) })
    }

    /// Books the most that a call to `model` can take whose prompt and answer have at most that many tokens.
    /// [`prompt_token_bound`] gives the first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exceeded`] if a cap has no room for the call, or none counts tokens and the price is unknown.
    pub fn book(&self, model: &str, input_tokens: u64, output_tokens: u64) -> Result<CallBooking, Error> {
        let exceeded = |problem: String| Err(Error::new(ErrorKind::Exceeded, problem));
        let model = model_named(model)?;
        let input = input_tokens.saturating_add(TEMPLATE_TOKENS);
        let Some(bound) = bound_of_tokens(input, output_tokens, &model, Pricing::Listed) else {
            return exceeded("the call could take more tokens than can be counted; shorten it".to_owned());
        };
        let mut sums = self.account.lock();
        match judge_booking(&bound, &sums.caps) {
            BookingDecision::Book => {}
            BookingDecision::Wait(short) | BookingDecision::Refuse(Refusal::Short(short)) => {
                return exceeded(shortfall_sentence(&short));
            }
            BookingDecision::Refuse(Refusal::NoPrice | Refusal::NoBound) => {
                return exceeded("the price of this model is unknown; give the budget `tokens` too".to_owned());
            }
        }
        for (cap, balance) in &mut sums.caps {
            balance.open = balance.open.saturating_add(amount(cap.unit, &bound));
        }
        Ok(CallBooking { account: Arc::clone(&self.account), model, open: Mutex::new(Some(bound)) })
    }

    /// The amounts of all settled calls.
    #[must_use]
    pub fn spending(&self) -> SpentAmounts {
        let sums = self.account.lock();
        let settled = |unit| sums.caps.iter().find(|(cap, _)| cap.unit == unit).map(|(_, balance)| balance.settled);
        #[expect(clippy::cast_precision_loss, reason = "billionths of a dollar beyond 2^53 are nine million dollars")]
        let dollars = settled(CapUnit::NanoDollars).map(|nanos| nanos as f64 / NANOS);
        SpentAmounts { tokens: settled(CapUnit::Tokens), dollars, unpriced_calls: sums.unpriced }
    }
}

impl CallBooking {
    /// Settles the call by its reported usage. Without one, or where nothing was read, it takes what was booked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] if it is closed, or if more tokens are cached than read.
    pub fn settle(&self, usage: Option<&ReportedUsage>) -> Result<(), Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bound) = *open else {
            return Err(Error::new(ErrorKind::Invalid, "this booking is closed; book each call once"));
        };
        let used = match usage {
            Some(usage) if usage.input_tokens > 0 => usage.call_bound(&self.model, &bound)?,
            _ => bound,
        };
        *open = None;
        self.account.close(&bound, Some(&used));
        Ok(())
    }

    /// Gives the booking back, unless it is closed: the call was not made.
    pub fn release(&self) {
        if let Some(bound) = self.open.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.account.close(&bound, None);
        }
    }

    /// Whether the call is neither settled nor given back.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl ReportedUsage {
    /// The tokens and the price. A price that can't be computed is what was booked.
    fn call_bound(self, model: &Model, booked: &Bound) -> Result<Bound, Error> {
        let cached = self.cache_read_tokens.checked_add(self.cache_write_tokens);
        if cached.is_none_or(|cached| cached > self.input_tokens) {
            let problem = "more tokens are cached than read; the input counts all tokens of the prompt";
            return Err(Error::new(ErrorKind::Invalid, problem));
        }
        let written =
            (self.cache_write_tokens > 0).then_some(CacheWriteUsage { seconds: None, tokens: self.cache_write_tokens });
        let usage = Usage {
            input: Some(self.input_tokens),
            output: Some(self.output_tokens),
            cache_read: Some(self.cache_read_tokens),
            cache_writes: written.into_iter().collect(),
            ..Usage::default()
        };
        let tokens = self.input_tokens.saturating_add(self.output_tokens);
        Ok(Bound { nanos: call_cost(&usage, model).or(booked.nanos), tokens })
    }
}

impl Account {
    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what a call booked by what it used, `None` if it was not made.
    fn close(&self, booked: &Bound, used: Option<&Bound>) {
        let mut sums = self.lock();
        for (cap, balance) in &mut sums.caps {
            balance.open = balance.open.saturating_sub(amount(cap.unit, booked));
            let taken = used.map_or(0, |used| amount(cap.unit, used));
            balance.settled = balance.settled.saturating_add(taken);
        }
        if used.is_some_and(|used| used.nanos.is_none()) {
            sums.unpriced = sums.unpriced.saturating_add(1);
        }
    }
}

/// The most tokens that a prompt can have: a text, or messages as they go over the wire. No tokeniser makes more tokens
/// of a text than it has bytes.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] for pictures and files, which a provider turns into more tokens than their addresses have
/// bytes, and for a value that is no JSON.
pub fn prompt_token_bound(prompt: &impl Serialize) -> Result<u64, Error> {
    let invalid = |error| Error::of(ErrorKind::Invalid, error);
    let prompt = serde_json::to_value(prompt).map_err(invalid)?;
    let bytes = match &prompt {
        Value::String(text) => text.len(),
        _ => serde_json::to_string(&prompt).map_err(invalid)?.len(),
    };
    match media_type(&prompt) {
        None => Ok(u64::try_from(bytes).unwrap_or(u64::MAX)),
        Some(kind) => {
            let problem = format!(
                "the tokens of a part of type `{kind}` are not in its bytes; give the most input tokens that the call can have"
            );
            Err(Error::new(ErrorKind::Invalid, problem))
        }
    }
}

/// The type of a part that is a picture, a sound or a file.
fn media_type(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(media_type),
        Value::Object(fields) => {
            let kind = fields.get("type").and_then(Value::as_str);
            kind.filter(|kind| words_of_name(kind).any(|word| MEDIA.contains(&&*word)))
                .or_else(|| ADDRESSES.into_iter().find(|key| fields.get(*key).is_some_and(is_media_address)))
                .or_else(|| fields.values().find_map(media_type))
        }
        _ => None,
    }
}

/// Whether a value is an address, and not the schema of one, as a tool's parameters have it.
fn is_media_address(value: &Value) -> bool {
    value.is_string() || value.get("uri").is_some_and(Value::is_string)
}

/// The words of a name such as `input_image` or `imageUrl`, in lower case.
fn words_of_name(name: &str) -> impl Iterator<Item = String> {
    let apart = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    apart.flat_map(|part| {
        let mut words = vec![String::new()];
        for sign in part.chars() {
            if sign.is_ascii_uppercase() {
                words.push(String::new());
            }
            words.last_mut().into_iter().for_each(|word| word.push(sign.to_ascii_lowercase()));
        }
        words
    })
}

/// The amount of a cap that a call takes. One without a known price is let pass only by caps that count tokens.
fn amount(unit: CapUnit, bound: &Bound) -> u64 {
    match unit {
        CapUnit::Tokens => bound.tokens,
        CapUnit::NanoDollars => bound.nanos.map_or(0, |nanos| nanos.0),
    }
}

fn run_cap(unit: CapUnit, most: u64) -> (Cap, CapBalance) {
    (Cap { scope: CapScope::User, period: CapPeriod::Run, unit, most }, CapBalance::default())
}

fn nanos_of(dollars: f64) -> Result<u64, Error> {
    let nanos = (dollars * NANOS).round();
    if !(0.0..9e18).contains(&nanos) {
        let problem = format!("`dollars` is {dollars}; give an amount of at least 0");
        return Err(Error::new(ErrorKind::Invalid, problem));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within 0 and 9e18")]
    Ok(nanos as u64)
}

/// Why a cap has no room, and the remedy.
fn shortfall_sentence(short: &CapShortfall) -> String {
    let CapShortfall { cap, spent, wanted } = short;
    let amount = |amount: u64| match cap.unit {
        CapUnit::Tokens => format!("{amount} tokens"),
        CapUnit::NanoDollars => NanoDollars(amount).to_string(),
    };
    let (wanted, settled, open, most) = (amount(*wanted), amount(spent.settled), amount(spent.open), amount(cap.most));
    format!(
        "the call could take {wanted}; {settled} of {most} are spent and {open} are reserved by open calls; raise the \
         budget, shorten the prompt or its answer, or settle open calls"
    )
}
