//! Runs with their calls in pages, the oldest first, for whoever reads all of them without holding all of them.

use super::detail::read_calls_of;
use super::runs::{self, Alive, ListingOrder, RunPosition, RunRow, run_listing};
use super::values::{ReadFault, all_rows, column_value};
use super::{CallRow, RunsWanted};
use crate::Store;
use crate::epoch;
use crate::error::Error;
use crate::sql::Tables;

/// Some runs, each with its calls in order.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCallsBatch {
    /// The runs, the oldest first.
    pub runs: Vec<(RunRow, Vec<CallRow>)>,
    /// The place behind the last of them. `None` if there are no more.
    pub next: Option<RunPosition>,
}

impl Store {
    /// Runs behind a place with their calls, as they were at one moment. `limit` says how many runs at most.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn run_calls(&self, wanted: &RunsWanted, behind: RunPosition) -> Result<RunCallsBatch, Error> {
        let wanted = wanted.clone();
        let read =
            move |reader: &Tables| read_calls_page(reader, &wanted, behind, &|epoch| epoch::is_alive(reader, epoch));
        self.read(move |reader, _site| read(reader)).await
    }
}

fn read_calls_page(
    reader: &Tables,
    wanted: &RunsWanted,
    behind: RunPosition,
    alive: Alive<'_>,
) -> Result<RunCallsBatch, ReadFault> {
    let page = read_run_page(reader, wanted, behind, alive)?;
    let mut calls = read_calls_of(reader, &page.rows.iter().collect::<Vec<_>>())?;
    let mut with_calls = |row: RunRow| {
        let calls = calls.remove(&row.id).unwrap_or_default();
        (row, calls)
    };
    let runs = page.rows.into_iter().map(&mut with_calls).collect();
    Ok(RunCallsBatch { runs, next: page.next })
}

/// The lines of some runs behind a place.
pub(super) struct RunPage {
    /// The runs, the oldest first.
    pub(super) rows: Vec<RunRow>,
    /// The place behind the last of them, or where the page began.
    pub(super) last: RunPosition,
    /// The same, if there may be more.
    pub(super) next: Option<RunPosition>,
}

pub(super) fn read_run_page(
    reader: &Tables,
    wanted: &RunsWanted,
    behind: RunPosition,
    alive: Alive<'_>,
) -> Result<RunPage, ReadFault> {
    let query = run_listing(wanted, ListingOrder::OldestBehind(behind));
    let rows = all_rows(reader, &query.sql, query.values, |line| {
        Ok((RunPosition(column_value(line, "seq")?), runs::read_run_row(line, alive)?))
    })?;
    let is_full = wanted.limit.is_some_and(|limit| u32::try_from(rows.len()).is_ok_and(|found| found >= limit));
    let last = rows.last().map_or(behind, |(position, _)| *position);
    Ok(RunPage { rows: rows.into_iter().map(|(_, row)| row).collect(), last, next: is_full.then_some(last) })
}
