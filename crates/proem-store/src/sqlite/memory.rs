//! What the writing thread knows of the file by itself, so that an ordinary call is one trip to SQLite.
//!
//! Invariants: nothing is written by memory alone — a script says what it supposes, in the same transaction,
//! and breaks off if that is not so; then the file is asked. What is remembered was committed here.

use std::collections::BTreeMap;

use proem_engine::ledger::{Cap, Period, Scope, Unit};

use super::begin::{Moment, NANOS_OF_RUN, TOKENS_OF_RUN};
use super::book::Attempt;
use super::script::{MOST, Script};
use crate::record::{Intent, RunId};

/// What a transaction goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// What this process wrote last: no question is asked before the commit.
    Memory,
    /// What the file says, at the price of a trip for each question.
    File,
}

/// What this process knows of the file, as far as it needs that for every call.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The earliest time of the ledger in this transaction.
    first: Option<i64>,
    /// Its own open attempts.
    open: BTreeMap<i64, Attempt>,
    /// What this transaction makes of them.
    changes: Vec<Change>,
    /// The numbers that the file gave those which it opened, in order.
    numbers: Vec<i64>,
}

/// What a transaction makes of an attempt.
#[derive(Debug)]
pub(super) enum Change {
    /// It is opened, under this number or the one that comes with the commit.
    Opened(Option<i64>, Attempt),
    /// It is settled.
    Settled(i64),
}

impl Memory {
    /// A transaction begins.
    pub(super) fn begin(&mut self) {
        self.first = None;
        self.forget();
    }

    /// It is this late in the ledger.
    pub(super) fn saw(&mut self, at: i64) {
        self.first.get_or_insert(at);
    }

    /// The earliest time of the ledger in this transaction.
    pub(super) const fn first(&self) -> Option<i64> {
        self.first
    }

    /// An attempt that this process left open.
    pub(super) fn open(&self, id: i64) -> Option<Attempt> {
        self.open.get(&id).cloned()
    }

    /// Notes a change, for when it is committed.
    pub(super) fn note(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// The file gave an attempt its number.
    pub(super) fn number(&mut self, id: i64) {
        self.numbers.push(id);
    }

    /// The changes are committed; gives the numbers of attempts that came with it.
    pub(super) fn keep(&mut self) -> Vec<i64> {
        let numbers = std::mem::take(&mut self.numbers);
        let mut ids = numbers.iter().copied();
        for change in self.changes.drain(..) {
            match change {
                Change::Opened(id, attempt) => {
                    if let Some(id) = id.or_else(|| ids.next()) {
                        self.open.insert(id, Attempt { id, ..attempt });
                    }
                }
                Change::Settled(id) => {
                    self.open.remove(&id);
                }
            }
        }
        numbers
    }

    /// The changes are undone.
    pub(super) fn forget(&mut self) {
        self.changes.clear();
        self.numbers.clear();
    }
}

/// Adds what a booking supposes: the run is this process's and runs, the attempt is not known, and every
/// cap has room. Where that can't be said in SQL, the script breaks off.
pub(super) fn bookable<'v>(script: &mut Script<'v>, intent: &'v Intent, epoch: &str, now: &Moment) {
    let (run, attempt) = (&intent.run, &intent.attempt);
    script.suppose(
        "FROM runs WHERE id = ? AND state = 'running' AND epoch = ? AND NOT EXISTS \
         (SELECT 1 FROM attempts WHERE run = runs.id AND effect = ? AND attempt = ?)",
    );
    script.with(&run.0).with(epoch.to_owned()).with(attempt.effect.0).with(attempt.attempt);
    let counts_tokens = attempt.caps.iter().any(|cap| cap.unit == Unit::Tokens);
    for cap in &attempt.caps {
        let wanted = match cap.unit {
            Unit::Tokens => Some(attempt.bound.tokens),
            Unit::NanoDollars => attempt.bound.nanos.map(|nanos| nanos.0),
        };
        match wanted.map(i64::try_from) {
            Some(Ok(0)) => {}
            Some(Ok(wanted)) if wanted <= MOST => room(script, (cap, wanted), run, now),
            None if counts_tokens => {}
            Some(_) | None => {
                script.suppose("WHERE FALSE");
            }
        }
    }
}

/// Adds that a cap has room for that much more beside all that is settled and open.
fn room<'v>(script: &mut Script<'v>, (cap, wanted): (&Cap, i64), run: &'v RunId, now: &Moment) {
    let (sum, most, of_run) = match cap.unit {
        Unit::Tokens => ("tokens", "most_tokens", TOKENS_OF_RUN),
        Unit::NanoDollars => ("nanos", "most_nanos", NANOS_OF_RUN),
    };
    let mut which = match cap.period {
        Period::Run => "run = ?".to_owned(),
        Period::Day => "day = ?".to_owned(),
        Period::Month => "day > ? AND day < ?".to_owned(),
    };
    let is_of_project = cap.period != Period::Run && cap.scope == Scope::Project;
    if is_of_project {
        which.push_str(" AND project = (SELECT project FROM runs WHERE id = ?)");
    }
    let settled = match cap.period {
        Period::Run => of_run.to_owned(),
        Period::Day | Period::Month => format!("SELECT sum({sum}) FROM spend WHERE {which}"),
    };
    script.suppose(&format!(
        "WHERE coalesce(({settled}), 0) + \
         coalesce((SELECT sum({most}) FROM attempts WHERE state = 'open' AND {which}), 0) + ? <= ?"
    ));
    for _ in [settled, which] {
        match cap.period {
            Period::Run => script.with(&run.0),
            Period::Day => script.with(now.day.clone()),
            Period::Month => script.with(now.month.clone()).with(now.end()),
        };
        if is_of_project {
            script.with(&run.0);
        }
    }
    script.with(wanted).with(cap.most);
}
