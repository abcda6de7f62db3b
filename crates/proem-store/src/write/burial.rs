//! The burial of processes that are gone.

use proem_engine::run::Time;

use super::epochs;
use crate::error::Error;
use crate::sql::{Transaction, Write};
use crate::store::Store;

/// That the dead are to be buried.
#[derive(Debug)]
struct Burial {
    at: Time,
}

impl Store {
    /// Settles in full what processes that are gone left open, and marks their runs. Returns how many
    /// attempts that were. [`Store::open`] and waiting bookings do it on their own.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn bury(&self, at: Time) -> Result<u64, Error> {
        self.write(Burial { at }).await
    }
}

impl Write for Burial {
    type Answer = u64;
    const NAME: &'static str = "bury";

    fn write(&self, to: &mut Transaction<'_>) -> Result<u64, Error> {
        let at = to.at(self.at);
        epochs::bury(to, at)
    }
}
