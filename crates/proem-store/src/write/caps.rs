//! The amounts that count against caps at a moment, and the room for an attempt.

use jiff::tz::TimeZone;
use proem_engine::ledger::{BookingDecision, Cap, CapBalance, CapPeriod, CapScope, CapUnit, judge_booking};
use proem_engine::run::Time;

use super::amount::stored_count;
use crate::error::Error;
use crate::record::{NewAttempt, RunId};
use crate::sql::{Row, SqlResult, Tables};

/// A time of the ledger.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) at: Time,
    /// Its day in the declared zone, as 2026-11-22.
    pub(super) day: String,
    /// That day's month, as 2026-11.
    month: String,
}

impl Moment {
    /// A time with its day in a zone, and that day's month.
    pub(super) fn new(at: Time, zone: &TimeZone) -> Self {
        let clamped = at.0.clamp(jiff::Timestamp::MIN.as_millisecond(), jiff::Timestamp::MAX.as_millisecond());
        let timestamp = jiff::Timestamp::from_millisecond(clamped).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let day = timestamp.to_zoned(zone.clone()).date().to_string();
        let month = day.rsplit_once('-').map_or_else(|| day.clone(), |(month, _)| month.to_owned());
        Self { at, day, month }
    }

    /// A name that sorts after every day of the month: days sort between the month's name and this one, whose last sign
    /// comes after `-`.
    fn end(&self) -> String {
        format!("{}~", self.month)
    }
}

/// Settled and open amounts that count alike against caps.
#[derive(Debug, Clone, Copy)]
struct Line {
    open: bool,
    month: bool,
    day: bool,
    project: bool,
    agent: bool,
    run: bool,
    nanos: u64,
    tokens: u64,
}

impl Line {
    fn read(row: &Row<'_>) -> SqlResult<Self> {
        Ok(Self {
            open: row.get(0)?,
            month: row.get(1)?,
            day: row.get(2)?,
            project: row.get(3)?,
            agent: row.get(4)?,
            run: row.get(5)?,
            nanos: stored_count(row.get(6)?),
            tokens: stored_count(row.get(7)?),
        })
    }

    /// Whether it counts against a cap.
    const fn counts(&self, cap: &Cap) -> bool {
        let whose = match cap.scope {
            CapScope::User => true,
            CapScope::Project => self.project,
            CapScope::Agent => self.project && self.agent,
        };
        match cap.period {
            CapPeriod::Run => self.run,
            CapPeriod::Day => self.day && whose,
            CapPeriod::Month => self.month && whose,
        }
    }
}

/// Judges an attempt by what is settled and open at a moment.
pub(super) fn judge_attempt(
    tables: &Tables,
    run: &RunId,
    attempt: &NewAttempt,
    now: &Moment,
) -> Result<BookingDecision, Error> {
    // Without a cap, nothing is read from the file.
    let lines = if attempt.caps.is_empty() { Vec::new() } else { spent_lines(tables, run, attempt.effect.0, now)? };
    let caps: Vec<(Cap, CapBalance)> = attempt.caps.iter().map(|cap| (*cap, cap_balance(&lines, cap))).collect();
    Ok(judge_booking(&attempt.bound, &caps))
}

/// The amounts that count against a cap.
fn cap_balance(lines: &[Line], cap: &Cap) -> CapBalance {
    let mut spent = CapBalance::default();
    for line in lines.iter().filter(|line| line.counts(cap)) {
        let amount = match cap.unit {
            CapUnit::NanoDollars => line.nanos,
            CapUnit::Tokens => line.tokens,
        };
        let sum = if line.open { &mut spent.open } else { &mut spent.settled };
        *sum = sum.saturating_add(amount);
    }
    spent
}

/// The sums of what is settled and open: of the month, of the day in it, of the run.
///
/// A month's days are read from the sums that are kept with every booking, whatever there is of attempts; what is
/// open is read by the index of open attempts, which is as short as the list of calls under way.
fn spent_lines(tables: &Tables, run: &RunId, effect: u32, now: &Moment) -> Result<Vec<Line>, Error> {
    let (Moment { day, month, .. }, last, run) = (now, now.end(), &run.0);
    let tree = run_tree(tables, run)?;
    // The agent is that of the call's own prompt, under which it is booked.
    let agent = tables.row(
        "SELECT coalesce((SELECT agent FROM calls WHERE run = ?1 AND effect = ?2), \
         (SELECT agent FROM runs WHERE id = ?1), '')",
        (run, effect),
        |row| row.get::<_, String>(0),
    )?;
    let agent = agent.unwrap_or_default();
    let mut lines = tables.rows(
        "SELECT 0, 1, day = ?1, project = (SELECT project FROM runs WHERE id = ?2), agent = ?5, 0, sum(nanos), \
         sum(tokens) FROM spend WHERE day > ?3 AND day < ?4 GROUP BY 3, 4, 5",
        [day, run, month, &last, &agent],
        Line::read,
    )?;
    lines.extend(tables.rows(
        "SELECT 1, day > ?3 AND day < ?4, day = ?1, project = (SELECT project FROM runs WHERE id = ?2), \
         coalesce((SELECT agent FROM calls WHERE calls.run = attempts.run AND calls.effect = attempts.effect), \
         (SELECT agent FROM runs WHERE runs.id = attempts.run)) = ?5, run IN (SELECT value FROM json_each(?6)), \
         sum(coalesce(most_nanos, 0)), sum(most_tokens) FROM attempts WHERE state = 'open' GROUP BY 2, 3, 4, 5, 6",
        [day, run, month, &last, &agent, &tree],
        Line::read,
    )?);
    lines.extend(tables.rows(
        "SELECT 0, 0, 0, 0, 0, 1, coalesce(sum(coalesce((SELECT nanos FROM corrections WHERE attempt = attempts.id \
         ORDER BY seq DESC LIMIT 1), usage.nanos, 0)), 0), coalesce(sum(usage.tokens), 0) \
         FROM attempts JOIN usage ON usage.attempt = attempts.id \
         WHERE attempts.run IN (SELECT value FROM json_each(?))",
        [&tree],
        Line::read,
    )?);
    Ok(lines)
}

/// A run with the runs that called it, and all that these started, as a JSON list of ids: what one of them may spend
/// counts for all of them.
fn run_tree(tables: &Tables, run: &str) -> Result<String, Error> {
    let tree = "WITH RECURSIVE callers_of (id) AS (SELECT ?1 UNION SELECT caller FROM callers JOIN callers_of ON run = id), \
                tree (id) AS (SELECT id FROM callers_of UNION SELECT run FROM callers JOIN tree ON caller = id) \
                SELECT json_group_array(id) FROM tree";
    Ok(tables.row(tree, [run], |row| row.get(0))?.unwrap_or_default())
}
