//! The outcome of an attempt.

use proem_engine::run::Time;

use super::booking::{self, book_attempt};
use super::content::write_contents;
use crate::error::Error;
use crate::failpoint;
use crate::record::{CallResult, Settlement};
use crate::sql::{Transaction, Write};
use crate::store::Store;

impl Store {
    /// Writes what became of an attempt, and settles it. A second settlement changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it can't be written. The attempt then stays open, and is settled in full when this
    /// process is gone.
    pub async fn settle(&self, settlement: Settlement) -> Result<(), Error> {
        failpoint::pass("before-settlement");
        self.write(settlement).await?;
        failpoint::pass("after-settlement");
        Ok(())
    }
}

/// Passes a settlement's place where one goes along.
pub(super) fn pass_settlement(name: &str, settles: bool) {
    if settles {
        failpoint::pass(name);
    }
}

impl Write for Settlement {
    type Answer = ();
    const NAME: &'static str = "settle";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        settle_attempt(to, self)
    }
}

/// Settles an attempt. One that is settled stays as it is.
pub(super) fn settle_attempt(to: &mut Transaction<'_>, settlement: &Settlement) -> Result<(), Error> {
    // A settlement that goes along with an intent or an end is one as well.
    failpoint::write(Settlement::NAME, to.tables.path())?;
    let at = to.at(settlement.at);
    let reserved = booking::reservation_of_attempt(to.tables, settlement.attempt)?;
    if !reserved.is_open {
        return Ok(());
    }
    book_attempt(to.tables, &reserved, at, Some(settlement))?;
    match &settlement.result {
        Some(result) => write_call_answer(to, &reserved, result, at),
        None => Ok(()),
    }
}

/// Writes the end of an attempt's call.
fn write_call_answer(
    to: &Transaction<'_>,
    reserved: &booking::Reservation,
    result: &CallResult,
    at: Time,
) -> Result<(), Error> {
    write_contents(to.tables, [&result.result])?;
    to.tables.execute(
        "UPDATE calls SET ended = ?, state = ?, result = ?, finish = ? WHERE run = ? AND effect = ?",
        (at.0, result.state.as_str(), &result.result.hash, &result.finish, &reserved.run.0, reserved.effect),
    )?;
    Ok(())
}
