//! Reservations for attempts, and bookings once they are over.
//!
//! Invariant: with every line of usage its run's sums and the sums of its day grow by the same, and each attempt has
//! one line at most.

use proem_engine::call::{FailureKind, Usage};
use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::json;

use super::amount::{MOST, stored_number};
use super::event::RunEvent;
use crate::error::Error;
use crate::record::{AttemptId, AttemptUsage, RunId, Settlement};
use crate::sql::{Row, SqlResult, Tables, params};

/// An attempt's reservation, as stored.
#[derive(Debug)]
pub(super) struct Reservation {
    pub(super) id: i64,
    pub(super) run: RunId,
    pub(super) effect: i64,
    pub(super) attempt: i64,
    pub(super) most_nanos: Option<i64>,
    pub(super) most_tokens: i64,
    pub(super) is_open: bool,
}

/// The columns of a [`Reservation`].
const COLUMNS: &str = "SELECT id, run, effect, attempt, most_nanos, most_tokens, state = 'open' FROM attempts";

fn reservation(row: &Row<'_>) -> SqlResult<Reservation> {
    Ok(Reservation {
        id: row.get(0)?,
        run: RunId(row.get(1)?),
        effect: row.get(2)?,
        attempt: row.get(3)?,
        most_nanos: row.get(4)?,
        most_tokens: row.get(5)?,
        is_open: row.get(6)?,
    })
}

/// Reads an attempt's reservation.
pub(super) fn reservation_of_attempt(tables: &Tables, AttemptId(id): AttemptId) -> Result<Reservation, Error> {
    let found = tables.row(&format!("{COLUMNS} WHERE id = ?"), [id], reservation)?;
    found.ok_or_else(|| Error::NotFound(format!("no attempt `{id}`").into()))
}

/// The open reservations of an epoch.
pub(super) fn open_of(tables: &Tables, epoch: &str) -> Result<Vec<Reservation>, Error> {
    tables.rows(&format!("{COLUMNS} WHERE state = 'open' AND epoch = ? ORDER BY id"), [epoch], reservation)
}

/// The booking for an attempt.
#[derive(Debug, Default)]
struct Booking {
    state: &'static str,
    input: Option<i64>,
    cache_read: Option<i64>,
    cache_written: Option<i64>,
    output: Option<i64>,
    reported: Option<String>,
    nanos: Option<i64>,
    tokens: i64,
}

impl Booking {
    fn new(used: &AttemptUsage, reserved: &Reservation) -> Self {
        match used {
            AttemptUsage::Reported(usage, nanos) => Self::reported(usage, nanos.map(|nanos| nanos.0), reserved),
            AttemptUsage::Nothing => Self {
                state: "unsent",
                input: Some(0),
                cache_read: Some(0),
                cache_written: Some(0),
                output: Some(0),
                nanos: Some(0),
                ..Self::default()
            },
            AttemptUsage::Unknown => {
                Self { state: "unknown", nanos: reserved.most_nanos, tokens: reserved.most_tokens, ..Self::default() }
            }
            // The known facts are the reason that nothing is booked.
            AttemptUsage::Doubted(usage) => {
                Self { reported: Some(compact(&json!(usage))), ..Self::new(&AttemptUsage::Unknown, reserved) }
            }
            AttemptUsage::Estimated(usage) => {
                let most = usage.estimate.map_or(reserved.most_tokens, |estimate| stored_number(estimate.total()));
                let tokens = most.min(reserved.most_tokens);
                Self { tokens, ..Self::new(&AttemptUsage::Doubted(usage.clone()), reserved) }
            }
        }
    }

    /// Reported figures are booked as they are. Missing ones are booked in full.
    fn reported(usage: &Usage, nanos: Option<u64>, reserved: &Reservation) -> Self {
        let tokens = usage.input.zip(usage.output).map(|(input, output)| stored_number(input.saturating_add(output)));
        Self {
            state: "reported",
            input: usage.input.map(stored_number),
            cache_read: usage.cache_read.map(stored_number),
            cache_written: Some(stored_number(usage.cache_written())),
            output: usage.output.map(stored_number),
            reported: Some(compact(&json!(usage))),
            nanos: nanos.map(stored_number).or(reserved.most_nanos),
            tokens: tokens.unwrap_or(reserved.most_tokens),
        }
    }

    fn is_unknown(&self) -> bool {
        self.state == "unknown"
    }
}

/// Writes everything that is booked for an open attempt; without a settlement nobody knows what it used.
pub(super) fn book_attempt(
    tables: &Tables,
    reserved: &Reservation,
    at: Time,
    settlement: Option<&Settlement>,
) -> Result<(), Error> {
    let booking = Booking::new(settlement.map_or(&AttemptUsage::Unknown, |settlement| &settlement.used), reserved);
    tables.execute("UPDATE attempts SET state = ? WHERE id = ?", (booking.state, reserved.id))?;
    write_usage(tables, reserved.id, &booking, at, settlement)?;
    spend(tables, reserved.id, &booking)?;
    // Booked to the run and to those that called it, each of which caused it. A figure that one attempt doesn't know is unknown for the run: null plus a number is null. An attempt that could
    // cost nothing has cost nothing.
    let nanos = booking.nanos.filter(|_| !booking.is_unknown() || reserved.most_nanos == Some(0));
    tables.execute(
        "UPDATE runs SET input_tokens = input_tokens + ?, cache_read_tokens = cache_read_tokens + ?, \
         output_tokens = output_tokens + ?, nanos = nanos + ? WHERE id IN (WITH RECURSIVE callers_of (id) AS \
         (SELECT ? UNION SELECT caller FROM callers JOIN callers_of ON run = id) SELECT id FROM callers_of)",
        (booking.input, booking.cache_read, booking.output, nanos, &reserved.run.0),
    )?;
    let details = json!({
        "effect": reserved.effect, "attempt": reserved.attempt, "state": booking.state,
        "nanos": booking.nanos, "tokens": booking.tokens,
    });
    RunEvent { run: &reserved.run, at, what: "settled", details }.write(tables)
}

/// Writes the line of what an attempt used.
fn write_usage(
    tables: &Tables,
    attempt: i64,
    booking: &Booking,
    at: Time,
    settlement: Option<&Settlement>,
) -> Result<(), Error> {
    tables.execute(
        "INSERT INTO usage (attempt, project, actor, at, status, failed, bytes, took_ms, waited_ms, input_tokens, \
         cache_read_tokens, cache_written_tokens, output_tokens, reported, nanos, tokens) \
         SELECT id, project, actor, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM attempts WHERE id = ?",
        params![
            at.0,
            settlement.and_then(|settlement| settlement.status),
            settlement.and_then(|settlement| settlement.failed).map(FailureKind::as_str),
            settlement.map_or(0, |settlement| stored_number(settlement.bytes)),
            settlement.map_or(0, |settlement| stored_number(settlement.took_ms)),
            settlement.map_or(0, |settlement| stored_number(settlement.waited_ms)),
            booking.input,
            booking.cache_read,
            booking.cache_written,
            booking.output,
            booking.reported,
            booking.nanos,
            booking.tokens,
            attempt,
        ],
    )?;
    Ok(())
}

/// Adds a booking to the sums of its day. Money and tokens stay far below what an integer holds. The least of both
/// and 2^61 keeps it so.
fn spend(tables: &Tables, attempt: i64, booking: &Booking) -> Result<(), Error> {
    tables.execute(
        "INSERT INTO spend (project, day, model, endpoint, agent, prompt, attempts, nanos, tokens, unknown, unpriced) \
         SELECT attempts.project, attempts.day, coalesce(calls.model, runs.model), \
         coalesce(calls.endpoint, runs.endpoint), coalesce(calls.agent, runs.agent), \
         coalesce(calls.prompt, runs.prompt), 1, ?, ?, ?, ? FROM attempts JOIN runs ON runs.id = attempts.run \
         LEFT JOIN calls ON calls.run = attempts.run AND calls.effect = attempts.effect WHERE attempts.id = ? \
         ON CONFLICT (day, project, model, endpoint, agent, prompt) DO UPDATE SET attempts = spend.attempts + 1, \
         nanos = min(spend.nanos + excluded.nanos, 2305843009213693952), tokens = min(spend.tokens + excluded.tokens, 2305843009213693952), \
         unknown = spend.unknown + excluded.unknown, unpriced = spend.unpriced + excluded.unpriced",
        (booking.nanos.unwrap_or(0), booking.tokens, booking.is_unknown(), booking.nanos.is_none(), attempt),
    )?;
    Ok(())
}

const _: () = assert!(MOST < 1 << 61, "one booking more stays an integer");
