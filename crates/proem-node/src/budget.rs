//! A budget for the calls of a process: booked before each call at the most that it can take, settled afterwards.

use napi_derive::napi;
use serde::Deserialize;

use crate::job::{error_of_failure, read_argument, to_json};

/// Caps on the tokens and the dollars of a process's calls.
#[napi(js_name = "Budget")]
pub(crate) struct NodeBudget {
    budget: proem::CallBudget,
}

/// One call's reserved amounts.
#[napi(js_name = "Booking")]
pub(crate) struct NodeBooking {
    booking: proem::CallBooking,
}

#[derive(Deserialize)]
struct Caps {
    tokens: Option<u64>,
    dollars: Option<f64>,
}

/// A call before it is made.
#[derive(Deserialize)]
struct PlannedCall {
    model: String,
    input_tokens: u64,
    output_tokens: u64,
}

#[napi]
impl NodeBudget {
    /// Caps `tokens` of prompts and answers, `dollars` by list prices, or both.
    #[napi(constructor)]
    pub fn new(caps: String) -> napi::Result<Self> {
        let Caps { tokens, dollars } = read_argument(&caps, "the caps")?;
        let budget = proem::CallBudget::new(tokens, dollars).map_err(|error| error_of_failure(&error))?;
        Ok(Self { budget })
    }

    /// Books the most that a call can take.
    #[napi]
    pub fn book(&self, call: String) -> napi::Result<NodeBooking> {
        let PlannedCall { model, input_tokens, output_tokens } = read_argument(&call, "the call")?;
        let booked = self.budget.book(&model, input_tokens, output_tokens);
        Ok(NodeBooking { booking: booked.map_err(|error| error_of_failure(&error))? })
    }

    /// The amounts of all settled calls.
    #[napi(getter)]
    pub fn spending(&self) -> napi::Result<String> {
        to_json(&self.budget.spending())
    }
}

#[napi]
impl NodeBooking {
    /// Settles the call by its reported usage. For `null`, it takes what was booked.
    #[napi]
    pub fn settle(&self, usage: String) -> napi::Result<()> {
        let usage: Option<proem::ReportedUsage> = read_argument(&usage, "the usage")?;
        self.booking.settle(usage.as_ref()).map_err(|error| error_of_failure(&error))
    }

    /// Gives the booking back, unless it is closed: the call was not made.
    #[napi]
    pub fn release(&self) {
        self.booking.release();
    }

    /// Whether the call is neither settled nor given back.
    #[napi(getter)]
    pub fn is_open(&self) -> bool {
        self.booking.is_open()
    }
}
