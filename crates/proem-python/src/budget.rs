//! A budget for the calls of a process: booked before each call at the most that it can take, settled afterwards.

use pyo3::prelude::*;

use crate::error::exception_of;
use crate::values::read_plain;

/// Caps on the tokens and the dollars of a process's calls.
#[pyclass(frozen, module = "proem_engine._native", name = "Budget")]
pub(crate) struct NativeBudget {
    budget: proem::CallBudget,
}

/// One call's reserved amounts.
#[pyclass(frozen, module = "proem_engine._native", name = "Booking")]
pub(crate) struct NativeBooking {
    booking: proem::CallBooking,
}

#[pymethods]
impl NativeBudget {
    /// Caps `tokens` of prompts and answers, `dollars` by list prices, or both.
    #[new]
    fn new(tokens: Option<u64>, dollars: Option<f64>) -> PyResult<Self> {
        let budget = proem::CallBudget::new(tokens, dollars).map_err(|error| exception_of(&error))?;
        Ok(Self { budget })
    }

    /// Books the most that a call can take whose prompt has at most that many tokens.
    fn book(&self, model: &str, input_tokens: u64, output_tokens: u64) -> PyResult<NativeBooking> {
        let booked = self.budget.book(model, input_tokens, output_tokens);
        Ok(NativeBooking { booking: booked.map_err(|error| exception_of(&error))? })
    }

    /// The settled tokens and dollars, `None` for what is not capped, and the number of settled calls without a price.
    #[getter(spent)]
    fn settled_amounts(&self) -> (Option<u64>, Option<f64>, u64) {
        let spending = self.budget.spending();
        (spending.tokens, spending.dollars, spending.unpriced_calls)
    }
}

#[pymethods]
impl NativeBooking {
    /// Settles the call by its reported usage. Without one, or where nothing was counted, it takes what was booked.
    fn settle(&self, usage: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let usage: Option<proem::ReportedUsage> = usage.map(|usage| read_plain(usage, "the usage")).transpose()?;
        self.booking.settle(usage.as_ref()).map_err(|error| exception_of(&error))
    }

    /// Gives the booking back, unless it is closed: the call was not made.
    fn release(&self) {
        self.booking.release();
    }

    /// Whether the call is neither settled nor given back.
    #[getter]
    fn is_open(&self) -> bool {
        self.booking.is_open()
    }
}

/// The most tokens that a prompt can have.
#[pyfunction]
#[pyo3(name = "prompt_token_bound")]
pub(crate) fn token_bound(prompt: &Bound<'_, PyAny>) -> PyResult<u64> {
    let prompt: serde_json::Value = read_plain(prompt, "the prompt")?;
    proem::prompt_token_bound(&prompt).map_err(|error| exception_of(&error))
}
