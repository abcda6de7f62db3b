//! A transaction that writes, with what the thread knows that makes it.
//!
//! Invariant: what is true beside the file — which epoch is this process's, which locks are buried, what time it is
//! in the ledger — is so from the commit on, and is as it was if there is none.

use proem_engine::run::Time;

use super::tables::Tables;
use crate::epoch::{Epoch, EpochLock};
use crate::error::Error;
use crate::opening::StoreOptions;

/// The writer's view: everything the thread has.
#[derive(Debug)]
pub(crate) struct Scribe {
    /// The connection that writes.
    pub(crate) tables: Tables,
    /// The options that the store was opened with.
    pub(crate) opening: StoreOptions,
    /// The process's own epoch. `None` as long as the store is another installation's, which is only read.
    pub(crate) epoch: Option<Epoch>,
}

/// A transaction, within which everything is written.
#[derive(Debug)]
pub(crate) struct Transaction<'t> {
    pub(crate) tables: &'t Tables,
    /// The options that the store was opened with.
    pub(crate) opening: &'t StoreOptions,
    /// The epoch that was there before.
    epoch: Option<&'t Epoch>,
    /// One that begins with this transaction.
    begun: Option<Epoch>,
    /// Locks of epochs that are buried with it.
    buried: Vec<EpochLock>,
    /// The time of the ledger: the last that was seen.
    seen: Time,
}

impl Scribe {
    /// Does something in one transaction, or none of it.
    pub(crate) fn transact<T>(
        &mut self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Self { tables, opening, epoch } = self;
        let mut transaction =
            Transaction { tables, opening, epoch: epoch.as_ref(), begun: None, buried: Vec::new(), seen: Time(0) };
        let last_seen = "SELECT (SELECT value FROM meta WHERE key = 'last_seen')";
        let done = tables.atomically_between(last_seen, |seen| {
            let before = Time(seen.and_then(|seen| seen.parse().ok()).unwrap_or(0));
            transaction.seen = before;
            let done = work(&mut transaction)?;
            let seen = transaction.seen;
            let is_later = seen != before;
            let noted = is_later.then(|| format!("UPDATE meta SET value = '{}' WHERE key = 'last_seen';", seen.0));
            Ok((done, noted.unwrap_or_default()))
        });
        let Transaction { begun, buried, .. } = transaction;
        if done.is_ok() {
            // Not before: a lock that is gone without its epoch's end would leave attempts that nobody settles.
            buried.into_iter().for_each(EpochLock::remove);
            if begun.is_some() {
                *epoch = begun;
            }
        } else if let Some(epoch) = begun {
            epoch.end();
        }
        done
    }
}

impl Transaction<'_> {
    /// The ledger's time at `now`: it never goes back, whatever the clock does.
    pub(crate) fn at(&mut self, now: Time) -> Time {
        self.seen = self.seen.max(now);
        self.seen
    }

    /// The last time that was seen.
    pub(crate) const fn seen(&self) -> Time {
        self.seen
    }

    /// Takes the ledger's time back, as nothing else does.
    pub(crate) const fn reset(&mut self, at: Time) {
        self.seen = at;
    }

    /// This process's epoch, if it has one.
    pub(crate) fn epoch(&self) -> Option<&Epoch> {
        self.begun.as_ref().or(self.epoch)
    }

    /// The id of this process's epoch. Empty if it has none, and then it matches no line.
    pub(crate) fn epoch_id(&self) -> &str {
        self.epoch().map_or("", |epoch| &epoch.id)
    }

    /// Has an epoch of this process begin with the commit.
    pub(crate) fn begin(&mut self, epoch: Epoch) {
        self.begun = Some(epoch);
    }

    /// Has a dead epoch's lock go with the commit.
    pub(crate) fn bury(&mut self, lock: EpochLock) {
        self.buried.push(lock);
    }
}
