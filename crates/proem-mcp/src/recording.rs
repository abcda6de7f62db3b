//! Records calls around their making: what can't be recorded does not pass.

use std::sync::Arc;

use proem_app::records::served_calls::{CallRecorder, RecordDepth, ServedCall};
use proem_app::{Error, records};
use proem_text::json;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde::Serialize;

use crate::answer::{redact_credentials, text_without_credentials};

/// The most characters of a client's name that are kept.
const MAX_CLIENT_NAME: usize = 80;

/// A call on its way into the records.
#[derive(Debug)]
pub(crate) struct PassingCall {
    records: Option<Arc<CallRecorder>>,
    tool: String,
    client: String,
    depth: RecordDepth,
    error_words: fn(&Error) -> String,
}

impl PassingCall {
    /// A call of a tool, of whose answer so much is recorded. Without records it is only made.
    pub(crate) fn new(
        records: Option<Arc<CallRecorder>>,
        (tool, depth): (&str, RecordDepth),
        context: &RequestContext<RoleServer>,
        error_words: fn(&Error) -> String,
    ) -> Self {
        let client = context.client_info().map(|client| client.name).unwrap_or_default();
        let client = text_without_credentials(&client).chars().take(MAX_CLIENT_NAME).collect();
        Self { records, tool: tool.to_owned(), client, depth, error_words }
    }

    /// Makes the call, between its record and that of its answer. This blocks.
    ///
    /// # Errors
    ///
    /// Those of the call, and what keeps it or its answer from being recorded.
    pub(crate) fn make<T: Serialize>(
        self,
        arguments: &impl Serialize,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(calls) = &self.records else { return make() };
        let arguments = clean_text(arguments)?;
        let call = ServedCall { tool: &self.tool, arguments: &arguments, client: &self.client };
        let unmade = |error| Error::outside(format!("the call is not made, because it can't be recorded: {error}"));
        let open = records::blocking(calls.begin(call)).map_err(unmade)?;
        let made = make().and_then(|answer| Ok((clean_text(&answer)?, answer)));
        let answer = match &made {
            Ok((text, _)) => Ok(&**text),
            Err(error) => Err(text_without_credentials(&(self.error_words)(error))),
        };
        let withheld = |error| Error::outside(format!("the answer is withheld, because it can't be recorded: {error}"));
        records::blocking(open.answer(answer.as_ref().copied().map_err(String::as_str), self.depth))
            .map_err(withheld)?;
        made.map(|(_, answer)| answer)
    }
}

/// A value as JSON, without credentials.
fn clean_text(value: &impl Serialize) -> Result<String, Error> {
    let value = serde_json::to_value(value).map_err(|error| Error::bug("a call can't be recorded", error))?;
    Ok(json::compact(&redact_credentials(value)?))
}
