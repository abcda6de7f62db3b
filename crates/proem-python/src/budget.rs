//! A budget for the calls of a process: booked before each call at the most that it can take, settled afterwards.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proem::proem_engine::call::{CacheWriteUsage, NanoDollars, Usage, call_cost};
use proem::proem_engine::ledger::{
    BookingDecision, Bound as CallBound, Cap, CapBalance, CapPeriod, CapScope, CapShortfall, CapUnit, Pricing, Refusal,
    TEMPLATE_TOKENS, bound_of_tokens, judge_booking,
};
use proem::proem_engine::providers::{Model, Provider, Providers};
use pyo3::prelude::*;

use crate::error::{exceeded, invalid_error};

/// A billionth of a dollar is the smallest amount that is counted.
const NANOS: f64 = 1e9;

/// Caps on the tokens and the dollars of a process's calls.
#[pyclass(frozen, module = "proem_engine._native", name = "Budget")]
pub(crate) struct NativeBudget {
    account: Arc<Account>,
    providers: Providers,
}

/// The amounts that count against each cap.
#[derive(Default)]
struct Account {
    sums: Mutex<Sums>,
}

#[derive(Default)]
struct Sums {
    caps: Vec<(Cap, CapBalance)>,
    /// The settled calls of unknown price.
    unpriced: u64,
}

/// What one call has booked.
#[pyclass(frozen, module = "proem_engine._native", name = "Booking")]
pub(crate) struct NativeBooking {
    account: Arc<Account>,
    model: Model,
    /// `None` once it is settled.
    open: Mutex<Option<CallBound>>,
}

/// The tokens of a call that its provider reported.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReportedUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
}

#[pymethods]
impl NativeBudget {
    /// Caps `tokens` of prompts and answers, `dollars` by list prices, or both.
    #[new]
    fn new(tokens: Option<u64>, dollars: Option<f64>) -> PyResult<Self> {
        let mut caps = Vec::new();
        if let Some(most) = tokens {
            caps.push(run_cap(CapUnit::Tokens, most));
        }
        if let Some(dollars) = dollars {
            caps.push(run_cap(CapUnit::NanoDollars, nanos_of(dollars)?));
        }
        if caps.is_empty() {
            return Err(invalid_error("a budget without a cap permits everything; give `tokens`, `dollars` or both"));
        }
        let providers = Providers::load().map_err(|error| invalid_error(error.to_string()))?;
        let account = Account { sums: Mutex::new(Sums { caps, unpriced: 0 }) };
        Ok(Self { account: Arc::new(account), providers })
    }

    /// Books the most that a call can take whose prompt has at most that many tokens.
    fn book(&self, model: &str, input_tokens: u64, output_tokens: u64) -> PyResult<NativeBooking> {
        let model = self.providers.model(model).cloned();
        let model = model.unwrap_or_else(|_| self.providers.unlisted("unlisted", Provider::OpenAi));
        let input = input_tokens.saturating_add(TEMPLATE_TOKENS);
        let Some(bound) = bound_of_tokens(input, output_tokens, &model, Pricing::Listed) else {
            return Err(exceeded("the call could take more tokens than can be counted; shorten it"));
        };
        let mut sums = self.account.lock();
        match judge_booking(&bound, &sums.caps) {
            BookingDecision::Book => {}
            BookingDecision::Wait(short) | BookingDecision::Refuse(Refusal::Short(short)) => {
                return Err(exceeded(shortfall_sentence(&short)));
            }
            BookingDecision::Refuse(Refusal::NoPrice | Refusal::NoBound) => {
                return Err(exceeded("the price of this model is unknown; give the budget `tokens` too"));
            }
        }
        for (cap, balance) in &mut sums.caps {
            balance.open = balance.open.saturating_add(amount(cap.unit, &bound));
        }
        Ok(NativeBooking { account: Arc::clone(&self.account), model, open: Mutex::new(Some(bound)) })
    }

    /// The settled tokens and dollars, `None` for what is not capped, and the number of settled calls without a price.
    #[getter(spent)]
    fn settled_amounts(&self) -> (Option<u64>, Option<f64>, u64) {
        let sums = self.account.lock();
        let settled = |unit| sums.caps.iter().find(|(cap, _)| cap.unit == unit).map(|(_, balance)| balance.settled);
        #[expect(clippy::cast_precision_loss, reason = "billionths of a dollar beyond 2^53 are nine million dollars")]
        let dollars = settled(CapUnit::NanoDollars).map(|nanos| nanos as f64 / NANOS);
        (settled(CapUnit::Tokens), dollars, sums.unpriced)
    }
}

#[pymethods]
impl NativeBooking {
    /// Settles the call by its reported usage. Without one, or where nothing was counted, it takes what was booked.
    fn settle(&self, usage: Option<ReportedUsage>) -> PyResult<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bound) = *open else {
            return Err(invalid_error("this booking is closed; book each call once"));
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
    fn release(&self) {
        if let Some(bound) = self.open.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.account.close(&bound, None);
        }
    }

    /// Whether the call is neither settled nor given back.
    #[getter]
    fn is_open(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl ReportedUsage {
    /// The tokens and the price. A price that can't be computed is what was booked.
    fn call_bound(self, model: &Model, booked: &CallBound) -> PyResult<CallBound> {
        let cached = self.cache_read_tokens.checked_add(self.cache_write_tokens);
        if cached.is_none_or(|cached| cached > self.input_tokens) {
            return Err(invalid_error(
                "more tokens are cached than read; `input_tokens` counts all tokens of the prompt",
            ));
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
        Ok(CallBound { nanos: call_cost(&usage, model).or(booked.nanos), tokens })
    }
}

impl Account {
    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what a call booked by what it used, `None` if it was not made.
    fn close(&self, booked: &CallBound, used: Option<&CallBound>) {
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

/// The amount of a cap that a call takes. One without a known price is let pass only by caps that count tokens.
fn amount(unit: CapUnit, bound: &CallBound) -> u64 {
    match unit {
        CapUnit::Tokens => bound.tokens,
        CapUnit::NanoDollars => bound.nanos.map_or(0, |nanos| nanos.0),
    }
}

fn run_cap(unit: CapUnit, most: u64) -> (Cap, CapBalance) {
    (Cap { scope: CapScope::User, period: CapPeriod::Run, unit, most }, CapBalance::default())
}

fn nanos_of(dollars: f64) -> PyResult<u64> {
    let nanos = (dollars * NANOS).round();
    if !(0.0..9e18).contains(&nanos) {
        return Err(invalid_error(format!("`dollars` is {dollars}; give an amount of at least 0")));
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
