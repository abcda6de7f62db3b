//! A line to write, and the caller that waits for it.

use std::any::Any;

use tokio::sync::oneshot;

use super::tables::Tables;
use super::transaction::Transaction;
use crate::error::Error;
use crate::failpoint;
use crate::opening::StoreCreator;

/// Something that can be written. Each kind has a file of its own in [`crate::write`].
pub(crate) trait Write: Send + 'static {
    /// The answer for the caller.
    type Answer: Send + 'static;

    /// Its name, as a failpoint: `fail:` and this makes it fail.
    const NAME: &'static str;

    /// With whom it shares its transaction.
    const COMPANY: Company = Company::Any;

    /// The stores it can be written to. [`StoreCreator::Foreign`] represents any.
    const ORIGIN: StoreCreator = StoreCreator::Own;

    /// Writes it. This may happen twice: what fails in company is tried again alone.
    fn write(&self, to: &mut Transaction<'_>) -> Result<Self::Answer, Error>;

    /// Writes several of its kind in their order, and gives the answer to each.
    fn write_all(those: &[&Self], to: &mut Transaction<'_>) -> Result<Vec<Self::Answer>, Error> {
        those.iter().map(|one| one.write(to)).collect()
    }

    /// Work after the commit, outside any transaction.
    fn afterwards(answer: &mut Self::Answer, tables: &Tables) {
        _ = (answer, tables);
    }
}

/// With whom something shares its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    /// With whatever waits at the same time.
    Any,
    /// With nobody: it does more than its transaction, or changes what holds for the others.
    None,
}

/// Something to be written with who waits for it.
pub(crate) struct Order<W: Write> {
    what: W,
    answer: Option<W::Answer>,
    waits: oneshot::Sender<Result<W::Answer, Error>>,
}

impl<W: Write> Order<W> {
    /// An order for this, and where its answer comes.
    pub(crate) fn new(what: W) -> (Box<Self>, oneshot::Receiver<Result<W::Answer, Error>>) {
        let (waits, answer) = oneshot::channel();
        (Box::new(Self { what, answer: None, waits }), answer)
    }
}

/// An order for whatever it is, as the thread takes it.
pub(crate) trait AnyOrder: Send + Any {
    /// With whom it shares its transaction.
    fn company(&self) -> Company;

    /// Writes it and those of its kind that directly follow, and keeps the answers until they are committed. How many
    /// followed.
    fn write(&mut self, following: &mut [Box<dyn AnyOrder>], to: &mut Transaction<'_>) -> Result<usize, Error>;

    /// Does what is left to do once it is committed.
    fn committed(&mut self, tables: &Tables);

    /// Tells who waits that it is committed, or why not.
    fn tell(self: Box<Self>, outcome: Result<(), Error>);
}

impl<W: Write> AnyOrder for Order<W> {
    fn company(&self) -> Company {
        W::COMPANY
    }

    fn write(&mut self, following: &mut [Box<dyn AnyOrder>], to: &mut Transaction<'_>) -> Result<usize, Error> {
        let path = to.tables.path();
        if W::ORIGIN == StoreCreator::Own && to.epoch().is_none() {
            return Err(Error::Foreign { path: path.to_owned() });
        }
        let of_kind = following.iter_mut().map_while(|order| (&mut **order as &mut dyn Any).downcast_mut::<Self>());
        let orders: Vec<&mut Self> = std::iter::once(self).chain(of_kind).collect();
        orders.iter().try_for_each(|_| failpoint::write(W::NAME, path))?;
        let answers = W::write_all(&orders.iter().map(|order| &order.what).collect::<Vec<_>>(), to)?;
        let followed = orders.len().saturating_sub(1);
        orders.into_iter().zip(answers).for_each(|(order, answer)| order.answer = Some(answer));
        Ok(followed)
    }

    fn committed(&mut self, tables: &Tables) {
        if let Some(answer) = &mut self.answer {
            W::afterwards(answer, tables);
        }
    }

    fn tell(self: Box<Self>, outcome: Result<(), Error>) {
        let Self { answer, waits, .. } = *self;
        let told = match (outcome, answer) {
            (Ok(()), Some(answer)) => Ok(answer),
            (Err(error), _) => Err(error),
            // A line that was never written is not committed. Its caller learns that the store is closed.
            (Ok(()), None) => return,
        };
        // The caller may be gone. The line stays.
        _ = waits.send(told);
    }
}
