//! Making a store this installation's own.

use proem_engine::run::Time;
use serde_json::json;

use super::epochs;
use super::event::StoreEvent;
use crate::error::Error;
use crate::opening::StoreCreator;
use crate::record::Actor;
use crate::sqlite::{Company, Transaction, Write, form, origin};
use crate::store::Store;

/// That a store becomes this installation's own.
#[derive(Debug)]
struct Adoption {
    actor: Actor,
    at: Time,
}

impl Store {
    /// Makes this store this installation's own. Only a person at a terminal may.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn adopt(&self, actor: Actor, at: Time) -> Result<(), Error> {
        self.write(Adoption { actor, at }).await
    }
}

impl Write for Adoption {
    type Answer = ();
    const NAME: &'static str = "adopt";
    // From its commit on others may be written that are refused before.
    const COMPANY: Company = Company::None;
    const ORIGIN: StoreCreator = StoreCreator::Foreign;

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let at = to.at(self.at);
        form::update(to.tables)?;
        let seal = origin::seal(&to.opening.key, &origin::id(to.tables)?);
        to.tables.execute(
            "INSERT INTO meta (key, value) VALUES ('seal', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [seal],
        )?;
        let event =
            StoreEvent { project: &to.opening.project, actor: &self.actor, at, what: "adopted", details: json!({}) };
        event.write(to.tables)?;
        match to.epoch() {
            Some(_) => Ok(()),
            None => epochs::begin(to, at),
        }
    }
}
