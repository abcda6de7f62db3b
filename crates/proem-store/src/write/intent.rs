//! Writes before an action: the run, its call, and the booking of the attempt.

use proem_engine::ledger::{BookingDecision, Bound, CapShortfall, Refusal};
use serde_json::json;

use super::amount::stored_number;
use super::call::CallPlace;
use super::caps::{Moment, judge_attempt};
use super::epochs;
use super::event::RunEvent;
use super::run::{RunLines, no_run};
use super::settlement::{pass_settlement, settle_attempt};
use crate::error::Error;
use crate::failpoint;
use crate::record::{AttemptId, Intent, NewAttempt};
use crate::sql::{Transaction, Write, params};
use crate::store::Store;

/// Whether an attempt is booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookingOutcome {
    /// It is, and may be made.
    Yes(AttemptId),
    /// Others have to be settled first. Ask again.
    Wait(CapShortfall),
    /// It must not be made. The run and its call are recorded all the same.
    No(Refusal),
}

impl Store {
    /// Writes what is about to be done, and books it, in one transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it can't be written. Then nothing of it is.
    pub async fn intend(&self, intent: Intent) -> Result<BookingOutcome, Error> {
        let settles = intent.settles.is_some();
        pass_settlement("before-settlement", settles);
        failpoint::pass("before-intent");
        let booked = self.write(intent).await?;
        pass_settlement("after-settlement", settles);
        failpoint::pass("after-intent");
        Ok(booked)
    }
}

impl Write for Intent {
    type Answer = BookingOutcome;
    const NAME: &'static str = "intent";

    fn write(&self, to: &mut Transaction<'_>) -> Result<BookingOutcome, Error> {
        let at = to.at(self.attempt.at);
        if let Some(settlement) = &self.settles {
            settle_attempt(to, settlement)?;
        }
        let (run, begins, snapshot) = (&self.run, self.begins.as_deref(), self.snapshot.as_ref());
        RunLines { run, begins, steps: &self.steps, snapshot }.write(to, at)?;
        if let Some(new) = &self.call {
            CallPlace { run, effect: new.effect, at }.call(to.tables, new)?;
        }
        to.tables.execute(
            "UPDATE runs SET state = 'running' WHERE id = ? AND state = 'asking' AND epoch = ?",
            (&run.0, to.epoch_id()),
        )?;
        match booked_attempt(to, self)? {
            Some(known) => Ok(BookingOutcome::Yes(known)),
            None => book_if_room(to, self, &Moment::new(at, &to.opening.zone)),
        }
    }
}

/// A run with the attempt that is asked for, as far as they are there.
struct Found {
    state: String,
    epoch: String,
    attempt: Option<FoundAttempt>,
}

struct FoundAttempt {
    id: AttemptId,
    state: String,
    epoch: String,
}

/// The attempt that is asked for, if it is booked already. Fails if the run is not this process's to go on with.
fn booked_attempt(to: &Transaction<'_>, intent: &Intent) -> Result<Option<AttemptId>, Error> {
    let (run, NewAttempt { effect, attempt, .. }) = (&intent.run, &intent.attempt);
    let found = to.tables.row(
        "SELECT runs.state, runs.epoch, attempts.id, attempts.state, attempts.epoch FROM runs \
         LEFT JOIN attempts ON attempts.run = runs.id AND attempts.effect = ? AND attempts.attempt = ? \
         WHERE runs.id = ?",
        (effect.0, attempt, &run.0),
        |row| {
            let attempt = match row.get(2)? {
                Some(id) => Some(FoundAttempt { id: AttemptId(id), state: row.get(3)?, epoch: row.get(4)? }),
                None => None,
            };
            Ok(Found { state: row.get(0)?, epoch: row.get(1)?, attempt })
        },
    )?;
    let found = found.ok_or_else(|| no_run(run))?;
    if found.state == "ended" {
        return Err(Error::Conflict(format!("run `{run}` has ended; continue it as a run of its own")));
    }
    if found.epoch != to.epoch_id() {
        return Err(Error::Conflict(format!("run `{run}` belongs to another process; resume it to continue it here")));
    }
    match found.attempt {
        None => Ok(None),
        Some(known) if known.state == "open" && known.epoch == to.epoch_id() => Ok(Some(known.id)),
        Some(_) => Err(Error::Conflict(format!(
            "attempt {attempt} of call {} of run `{run}` has already ended; use the next attempt",
            effect.0
        ))),
    }
}

/// Books an attempt if every cap has room for it.
fn book_if_room(to: &mut Transaction<'_>, intent: &Intent, now: &Moment) -> Result<BookingOutcome, Error> {
    let (run, attempt) = (&intent.run, &intent.attempt);
    let mut verdict = judge_attempt(to.tables, run, attempt, now)?;
    // Settled amounts of the dead are in nobody's way. A waiter buries the dead first, because they will not settle
    // anything themselves.
    if matches!(verdict, BookingDecision::Wait(_)) && epochs::bury(to, now.at)? > 0 {
        verdict = judge_attempt(to.tables, run, attempt, now)?;
    }
    let event = |what, booked: &str| {
        let details = json!({ "effect": attempt.effect.0, "attempt": attempt.attempt, "booked": booked });
        RunEvent { run, at: now.at, what, details }.write(to.tables)
    };
    match verdict {
        BookingDecision::Wait(short) => Ok(BookingOutcome::Wait(short)),
        BookingDecision::Refuse(refusal) => {
            event("refused", "no")?;
            Ok(BookingOutcome::No(refusal))
        }
        BookingDecision::Book => {
            event("intended", "yes")?;
            reserve(to, intent, now).map(BookingOutcome::Yes)
        }
    }
}

/// Writes the line of an attempt, which gives its number.
fn reserve(to: &Transaction<'_>, intent: &Intent, now: &Moment) -> Result<AttemptId, Error> {
    let (run, NewAttempt { effect, attempt, bound, .. }) = (&intent.run, &intent.attempt);
    let Bound { nanos, tokens } = bound;
    let id = to.tables.insert(
        "INSERT INTO attempts (run, effect, attempt, project, actor, epoch, at, day, most_nanos, most_tokens, \
         state) SELECT id, ?, ?, project, actor, ?, ?, ?, ?, ?, 'open' FROM runs WHERE id = ?",
        params![
            effect.0,
            attempt,
            to.epoch_id(),
            now.at.0,
            now.day,
            nanos.map(|nanos| stored_number(nanos.0)),
            stored_number(*tokens),
            run.0,
        ],
    )?;
    id.map(AttemptId).ok_or_else(|| no_run(run))
}
