//! Taking the ledger's time back, after a clock that had run ahead.

use proem_engine::run::Time;
use serde_json::json;

use super::event::StoreEvent;
use crate::error::Error;
use crate::record::Actor;
use crate::sql::{Company, Transaction, Write};
use crate::store::Store;

/// That the last time that was seen is another one.
#[derive(Debug)]
struct ClockReset {
    actor: Actor,
    at: Time,
}

impl Store {
    /// Sets the last time that was seen back to `at`, after a clock that had run ahead. Only a person
    /// at a terminal may.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn reset_clock(&self, actor: Actor, at: Time) -> Result<(), Error> {
        self.write(ClockReset { actor, at }).await
    }
}

impl Write for ClockReset {
    type Answer = ();
    const NAME: &'static str = "reset-clock";
    // Lines written together with it would count as seen later than lines written after it.
    const COMPANY: Company = Company::None;

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let details = json!({ "from": to.seen().0, "to": self.at.0 });
        to.reset(self.at);
        let (project, actor) = (&to.opening.project, &self.actor);
        StoreEvent { project, actor, at: self.at, what: "clock-reset", details }.write(to.tables)
    }
}
