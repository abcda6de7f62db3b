//! The thread that writes: one for each open store, so that what waits shares a transaction and its sync.
//!
//! It is no task of anybody's runtime, so it goes on writing what it was given when the caller's runtime ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use tokio::sync::oneshot;

use super::apart::unusable_for_other_reason;
use super::order::{AnyOrder, Company, Order, Write};
use super::transaction::{Scribe, Transaction};
use crate::error::Error;

/// The most orders that share one transaction.
const MOST_TOGETHER: usize = 256;

/// The way to the thread.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    letters: Sender<Letter>,
    path: Arc<PathBuf>,
}

/// A message to the thread.
enum Letter {
    /// Something to be written.
    Order(Box<dyn AnyOrder>),
    /// The last thing to be written. Then the file is closed.
    Last(Box<dyn AnyOrder>),
    /// To go, as a process that dies.
    #[cfg(feature = "laws")]
    Abandon(oneshot::Sender<()>),
}

fn spawn(path: &Path, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let thread = thread::Builder::new().name("proem-store".to_owned()).spawn(work);
    thread.map(drop).map_err(|error| unusable_for_other_reason(path, error.to_string()))
}

impl Queue {
    /// Starts the thread, which opens the store. Gives what the opening found, too.
    pub(crate) async fn start<T: Send + 'static>(
        path: &Path,
        open: impl FnOnce() -> Result<(Scribe, T), Error> + Send + 'static,
    ) -> Result<(Self, T), Error> {
        let (letters, arrived) = mpsc::channel();
        let (opened, opening) = oneshot::channel();
        let live = move || match open() {
            Ok((scribe, found)) => {
                if opened.send(Ok(found)).is_ok() {
                    run_writer_thread(scribe, arrived);
                }
            }
            Err(error) => _ = opened.send(Err(error)),
        };
        spawn(path, live)?;
        let found =
            opening.await.map_err(|_gone| unusable_for_other_reason(path, "its thread is gone".to_owned()))??;
        Ok((Self { letters, path: Arc::new(path.to_owned()) }, found))
    }

    /// Has something written.
    pub(crate) async fn write<W: Write>(&self, what: W) -> Result<W::Answer, Error> {
        let (order, answer) = Order::new(what);
        self.answered(Letter::Order(order), answer).await?
    }

    /// Has a last thing written, ends the epoch and the thread.
    pub(crate) async fn close<W: Write>(&self, last: W) -> Result<W::Answer, Error> {
        let (order, answer) = Order::new(last);
        self.answered(Letter::Last(order), answer).await?
    }

    /// Ends the thread, and nothing else.
    #[cfg(feature = "laws")]
    pub(crate) async fn abandon(&self) {
        let (gone, done) = oneshot::channel();
        _ = self.answered(Letter::Abandon(gone), done).await;
    }

    async fn answered<T>(&self, letter: Letter, answer: oneshot::Receiver<T>) -> Result<T, Error> {
        let closed = || unusable_for_other_reason(&self.path, "it is closed".to_owned());
        self.letters.send(letter).map_err(|_gone| closed())?;
        answer.await.map_err(|_gone| closed())
    }
}

/// The whole life of the thread.
fn run_writer_thread(mut scribe: Scribe, arrived: Receiver<Letter>) {
    let mut next = arrived.recv().ok();
    while let Some(letter) = next.take() {
        match letter {
            Letter::Order(first) => {
                let mut together = vec![first];
                next = gather_orders(&arrived, &mut together);
                write_orders(&mut scribe, together);
            }
            Letter::Last(order) => {
                // From here on, senders learn that the store is closed.
                drop(arrived);
                return write_last_and_close(scribe, order);
            }
            #[cfg(feature = "laws")]
            Letter::Abandon(gone) => {
                drop(arrived);
                _ = scribe.tables.close();
                drop(scribe.epoch);
                _ = gone.send(());
                return;
            }
        }
        next = next.or_else(|| arrived.recv().ok());
    }
    // All orders are answered. The next opening puts right what closing leaves behind.
    _ = scribe.tables.close();
}

/// Takes what waits beside the first as far as that shares its transaction. Gives back what does not.
fn gather_orders(arrived: &Receiver<Letter>, together: &mut Vec<Box<dyn AnyOrder>>) -> Option<Letter> {
    while together.len() < MOST_TOGETHER && together.iter().all(|order| order.company() == Company::Any) {
        match arrived.try_recv().ok()? {
            Letter::Order(order) if order.company() == Company::Any => together.push(order),
            other => return Some(other),
        }
    }
    None
}

/// Writes orders in one transaction. If that fails, each has its own, so that none takes others along: that
/// happens rarely, and a savepoint for each would be paid for by all.
fn write_orders(scribe: &mut Scribe, mut orders: Vec<Box<dyn AnyOrder>>) {
    let mut outcome = scribe.transact(|to| write_each(&mut orders, to));
    if outcome.is_err() && orders.len() > 1 {
        return orders.into_iter().for_each(|order| write_orders(scribe, vec![order]));
    }
    for mut order in orders {
        if outcome.is_ok() {
            order.committed(&scribe.tables);
        }
        order.tell(std::mem::replace(&mut outcome, Ok(())));
    }
}

/// Writes orders in their order, those of a kind that follow one another together.
fn write_each(mut orders: &mut [Box<dyn AnyOrder>], to: &mut Transaction<'_>) -> Result<(), Error> {
    while let Some((first, following)) = orders.split_first_mut() {
        let followed = first.write(following, to)?;
        orders = following.get_mut(followed..).unwrap_or_default();
    }
    Ok(())
}

/// Writes the last order, closes the file, and only then answers.
fn write_last_and_close(mut scribe: Scribe, mut last: Box<dyn AnyOrder>) {
    let outcome = match scribe.epoch {
        Some(_) => scribe.transact(|to| last.write(&mut [], to).map(drop)),
        None => Ok(()),
    };
    let Scribe { tables, epoch, .. } = scribe;
    // The writes are committed. The next opening puts right what closing leaves behind.
    _ = tables.close();
    if let (Ok(()), Some(epoch)) = (&outcome, epoch) {
        epoch.end();
    }
    last.tell(outcome);
}
