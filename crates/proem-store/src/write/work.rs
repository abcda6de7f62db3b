//! Work that waits for a process: wishes, beginnings and ends.
//!
//! Invariants: the wish is written with what makes it necessary. An attempt counts from its beginning, so that one that
//! ends its process counts too. One process at a time has some work; whoever lost it ends nothing.

use std::time::Duration;

use proem_engine::run::Time;

use super::amount::{stored_count, stored_number};
use crate::epoch;
use crate::error::Error;
use crate::failpoint;
use crate::record::{Actor, Project, WorkClaim, WorkEnd, WorkHold, WorkKey, WorkKind, WorkWish};
use crate::sql::{DatabaseKind, Tables, Transaction, Write, params};
use crate::store::Store;

/// How often some work is begun before a person has to look at it.
pub const MOST_ATTEMPTS: u64 = 3;

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkAnswer {
    /// The process has it from now on.
    Begun(WorkHold),
    /// Nobody wants it.
    Unwanted,
    /// It is not due before this time.
    Early(Time),
    /// Another process has it until this time at least.
    Held {
        /// The name of that process.
        worker: String,
        /// The end of its lease.
        until: Time,
    },
    /// It was begun as often as it may be, and waits for a person.
    Exhausted,
}

/// The answer to an end or a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldAnswer {
    /// It is written. `is_wanted` says whether the work is wanted again.
    Written {
        /// Whether the work is wanted again.
        is_wanted: bool,
    },
    /// Another process has the work by now, or a person has taken it up, and nothing is written.
    Lost,
}

impl Store {
    /// Has some work wanted.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn want_work(&self, wish: WorkWish) -> Result<(), Error> {
        self.write(wish).await
    }

    /// Begins some work, if it is wanted, due, and nobody else's. The work of a process that is gone, or whose lease ran
    /// out, is nobody's.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn begin_work(&self, claim: WorkClaim) -> Result<WorkAnswer, Error> {
        failpoint::beside("before", "work-begun");
        let answer = self.write(claim).await?;
        failpoint::beside("after", "work-begun");
        Ok(answer)
    }

    /// Keeps some work for another lease.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn renew_work(&self, hold: &WorkHold, at: Time, lease: Duration) -> Result<HoldAnswer, Error> {
        self.write(WorkRenewal { hold: hold.clone(), at, lease }).await
    }

    /// Ends some work.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn end_work(&self, hold: &WorkHold, at: Time, end: WorkEnd) -> Result<HoldAnswer, Error> {
        failpoint::beside("before", "work-ended");
        let answer = self.write(EndedWork { hold: hold.clone(), at, end }).await?;
        failpoint::beside("after", "work-ended");
        Ok(answer)
    }

    /// Has the queue of a server wake workers for all work that is wanted, due and nobody's. How much work that is.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn wake_workers(&self, at: Time) -> Result<u64, Error> {
        self.write(WorkSweep { at }).await
    }

    /// Lets work that was tried as often as it may be begin anew. Whether it was such work.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn retry_work(&self, wish: WorkWish) -> Result<bool, Error> {
        self.write(WorkRetry { wish }).await
    }
}

#[derive(Debug)]
struct WorkRenewal {
    hold: WorkHold,
    at: Time,
    lease: Duration,
}

#[derive(Debug)]
struct EndedWork {
    hold: WorkHold,
    at: Time,
    end: WorkEnd,
}

#[derive(Debug)]
struct WorkSweep {
    at: Time,
}

#[derive(Debug)]
struct WorkRetry {
    wish: WorkWish,
}

/// A line of the table, as far as a claim looks at it.
struct WorkLine {
    counts: (i64, i64),
    due: Time,
    attempts: u64,
    version: u64,
    held: Option<(String, String, Time)>,
}

impl Write for WorkWish {
    type Answer = ();
    const NAME: &'static str = "want-work";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        let at = to.at(self.at);
        record_wish(to.tables, &Self { at, ..self.clone() })
    }
}

/// Has some work wanted at a time of the ledger, within the transaction that makes it necessary.
pub(super) fn record_wish(tables: &Tables, wish: &WorkWish) -> Result<(), Error> {
    // Work that nobody wants has no due time of its own any more.
    tables.execute(
        "INSERT INTO work (project, kind, actor, at, wanted, done, due, attempts, version) \
         VALUES (?, ?, ?, ?, 1, 0, ?, 0, 0) ON CONFLICT (project, kind) DO UPDATE SET actor = excluded.actor, \
         at = excluded.at, wanted = work.wanted + 1, \
         due = CASE WHEN work.wanted > work.done THEN min(work.due, excluded.due) ELSE excluded.due END",
        (&wish.key.project.0, wish.key.kind.as_str(), wish.actor.to_string(), wish.at.0, wish.due.0),
    )?;
    Ok(())
}

/// Has a cycle wanted, at a time of the ledger.
pub(super) fn want_triage(to: &Transaction<'_>, project: &Project, actor: &Actor, at: Time) -> Result<(), Error> {
    let key = WorkKey { project: project.clone(), kind: WorkKind::Triage };
    record_wish(to.tables, &WorkWish { key, actor: actor.clone(), at, due: at })
}

/// A cycle that leaves no signal open has done what was wanted, whoever ran it. A worker that has it says so itself.
pub(super) fn fulfil_triage(tables: &Tables, project: &Project) -> Result<(), Error> {
    tables.execute(
        "UPDATE work SET done = wanted, attempts = 0, problem = NULL WHERE (project, kind) = (?1, 'triage') \
         AND holder IS NULL AND NOT EXISTS (SELECT 1 FROM signals WHERE project = ?1 AND standing = 'open')",
        [&project.0],
    )?;
    Ok(())
}

/// The time that leases are counted in: a server's, so that the clocks of several machines may differ.
fn lease_time(tables: &Tables, at: Time) -> Result<Time, Error> {
    match tables.kind() {
        DatabaseKind::File => Ok(at),
        DatabaseKind::Server => {
            let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
            Ok(Time(tables.row(now, [], |row| row.get(0))?.unwrap_or(at.0)))
        }
    }
}

fn lease_end(now: Time, lease: Duration) -> Time {
    Time(now.0.saturating_add(i64::try_from(lease.as_millis()).unwrap_or(i64::MAX)))
}

fn read_work_line(tables: &Tables, key: &WorkKey) -> Result<Option<WorkLine>, Error> {
    let sql = "SELECT wanted, done, due, attempts, version, holder, worker, lease FROM work \
               WHERE (project, kind) = (?, ?)";
    tables.row(sql, (&key.project.0, key.kind.as_str()), |row| {
        let held: (Option<String>, Option<String>, Option<i64>) = (row.get(5)?, row.get(6)?, row.get(7)?);
        Ok(WorkLine {
            counts: (row.get(0)?, row.get(1)?),
            due: Time(row.get(2)?),
            attempts: stored_count(row.get(3)?),
            version: stored_count(row.get(4)?),
            held: match held {
                (Some(holder), Some(worker), Some(lease)) => Some((holder, worker, Time(lease))),
                _ => None,
            },
        })
    })
}

impl Write for WorkClaim {
    type Answer = WorkAnswer;
    const NAME: &'static str = "begin-work";

    fn write(&self, to: &mut Transaction<'_>) -> Result<WorkAnswer, Error> {
        let now = lease_time(to.tables, self.at)?;
        let Some(line) = read_work_line(to.tables, &self.key)? else { return Ok(WorkAnswer::Unwanted) };
        if let Some((holder, worker, until)) = line.held {
            let is_own = holder == to.epoch_id();
            if until > now && (is_own || epoch::is_alive(to.tables, &holder)) {
                return Ok(WorkAnswer::Held { worker, until });
            }
        }
        let (wanted, done) = line.counts;
        if wanted <= done {
            return Ok(WorkAnswer::Unwanted);
        }
        if line.attempts >= MOST_ATTEMPTS {
            return Ok(WorkAnswer::Exhausted);
        }
        if line.due > now {
            return Ok(WorkAnswer::Early(line.due));
        }
        let hold = WorkHold {
            key: self.key.clone(),
            version: line.version.saturating_add(1),
            attempt: line.attempts.saturating_add(1),
            wanted: stored_count(wanted),
        };
        to.tables.execute(
            "UPDATE work SET version = ?, attempts = ?, holder = ?, worker = ?, since = ?, lease = ? \
             WHERE (project, kind) = (?, ?)",
            params![
                stored_number(hold.version),
                stored_number(hold.attempt),
                to.epoch_id(),
                self.worker,
                now.0,
                lease_end(now, self.lease).0,
                self.key.project.0,
                self.key.kind.as_str(),
            ],
        )?;
        Ok(WorkAnswer::Begun(hold))
    }
}

impl Write for WorkRenewal {
    type Answer = HoldAnswer;
    const NAME: &'static str = "renew-work";

    fn write(&self, to: &mut Transaction<'_>) -> Result<HoldAnswer, Error> {
        let until = lease_end(lease_time(to.tables, self.at)?, self.lease);
        let (key, version) = (&self.hold.key, stored_number(self.hold.version));
        let changed = to.tables.execute(
            "UPDATE work SET lease = ? WHERE (project, kind) = (?, ?) AND version = ? AND holder = ?",
            (until.0, &key.project.0, key.kind.as_str(), version, to.epoch_id()),
        )?;
        held_answer(to.tables, &self.hold, changed)
    }
}

impl Write for EndedWork {
    type Answer = HoldAnswer;
    const NAME: &'static str = "end-work";

    fn write(&self, to: &mut Transaction<'_>) -> Result<HoldAnswer, Error> {
        let (at, hold) = (to.at(self.at), &self.hold);
        let (done, attempts, again, problem) = match &self.end {
            WorkEnd::Done => (Some(stored_number(hold.wanted)), 0, None, None),
            WorkEnd::Failed { problem, again } => (None, hold.attempt, Some(again.0), Some(problem)),
        };
        let changed = to.tables.execute(
            "UPDATE work SET at = ?, done = coalesce(?, done), attempts = ?, due = coalesce(?, due), problem = ?, \
             version = version + 1, holder = NULL, worker = NULL, since = NULL, lease = NULL \
             WHERE (project, kind) = (?, ?) AND version = ? AND holder = ?",
            params![
                at.0,
                done,
                stored_number(attempts),
                again,
                problem,
                hold.key.project.0,
                hold.key.kind.as_str(),
                stored_number(hold.version),
                to.epoch_id(),
            ],
        )?;
        held_answer(to.tables, hold, changed)
    }
}

/// The answer to a change of work that a process has: `changed` lines were its own.
fn held_answer(tables: &Tables, hold: &WorkHold, changed: usize) -> Result<HoldAnswer, Error> {
    if changed != 1 {
        return Ok(HoldAnswer::Lost);
    }
    let line = read_work_line(tables, &hold.key)?;
    Ok(HoldAnswer::Written { is_wanted: line.is_some_and(|line| line.counts.0 > line.counts.1) })
}

impl Write for WorkSweep {
    type Answer = u64;
    const NAME: &'static str = "wake-workers";

    fn write(&self, to: &mut Transaction<'_>) -> Result<u64, Error> {
        let now = lease_time(to.tables, self.at)?;
        let waiting: Vec<(String, String, Option<String>, Option<i64>)> = to.tables.rows(
            "SELECT project, kind, holder, lease FROM work WHERE wanted > done AND attempts < ? AND due <= ? \
             ORDER BY project, kind",
            (stored_number(MOST_ATTEMPTS), now.0),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        let mut woken = 0_u64;
        for (project, kind, holder, lease) in waiting {
            let is_held = lease.is_some_and(|lease| lease > now.0)
                && holder.is_some_and(|holder| epoch::is_alive(to.tables, &holder));
            if !is_held {
                // Nothing changes but that the server's trigger sees the line again.
                to.tables
                    .execute("UPDATE work SET wanted = wanted WHERE (project, kind) = (?, ?)", (&project, &kind))?;
                woken = woken.saturating_add(1);
            }
        }
        Ok(woken)
    }
}

impl Write for WorkRetry {
    type Answer = bool;
    const NAME: &'static str = "retry-work";

    fn write(&self, to: &mut Transaction<'_>) -> Result<bool, Error> {
        let key = &self.wish.key;
        let changed = to.tables.execute(
            "UPDATE work SET attempts = 0, version = version + 1, holder = NULL, worker = NULL, since = NULL, lease = NULL \
             WHERE (project, kind) = (?, ?) AND attempts >= ?",
            (&key.project.0, key.kind.as_str(), stored_number(MOST_ATTEMPTS)),
        )?;
        if changed == 0 {
            return Ok(false);
        }
        // Wanted once more, so that the queue wakes a worker.
        self.wish.write(to)?;
        Ok(true)
    }
}
