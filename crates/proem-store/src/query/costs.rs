//! Spending, from the sums that every booking updates.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use proem_engine::call::NanoDollars;
use proem_engine::ledger::{Cap, CapBalance, CapPeriod, CapScope, CapUnit};
use proem_engine::run::Time;

use super::values::{ReadFault, all_rows, column_count, column_value, first_row};
use crate::Store;
use crate::error::Error;
use crate::record::Project;
use crate::sql::{Row, Tables};

/// The spending to sum up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostsWanted {
    /// Of which project. `None` is all.
    pub project: Option<Project>,
    /// From this day on, as 2026-11-22.
    pub since: Option<String>,
}

/// One line of the sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendLine {
    /// `YYYY-MM-DD` in the zone of the budget.
    pub day: String,
    /// The ledger that it was booked to.
    pub project: Project,
    /// As the configuration names it.
    pub model: String,
    /// The endpoint that has it. `None` for what was booked before that was kept.
    pub endpoint: Option<String>,
    /// `agent/prompt`.
    pub prompt: String,
    /// How many attempts.
    pub attempts: u64,
    /// The booked amount, corrections included.
    pub cost: NanoDollars,
    /// Tokens of prompts and answers.
    pub tokens: u64,
    /// Attempts that are booked in full because nobody said what they used.
    pub unknown: u64,
    /// Attempts without a price.
    pub unpriced: u64,
}

/// Reads a report on spending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostReport {
    /// By day, project, model, endpoint and prompt. The days ascend.
    pub lines: Vec<SpendLine>,
    /// Attempts that are open.
    pub open: u64,
    /// The amount that they reserve.
    pub reserved: NanoDollars,
}

/// A cap with what counts against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapNow {
    /// The cap as it was set.
    pub cap: Cap,
    /// The amounts that count.
    pub spent: CapBalance,
}

/// The owner of the caps in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spender {
    /// The ledger that is asked about.
    pub project: Project,
    /// The agent, by its folder in the book. If unset, caps of agents don't apply.
    pub agent: Option<String>,
}

/// How far our counts are from what a provider reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// As the configuration names it.
    pub model: String,
    /// The token counter, such as `o200k × 1.30`.
    pub counter: String,
    /// How many calls.
    pub calls: u64,
    /// The tokens that we counted.
    pub counted: u64,
    /// The tokens that were reported.
    pub reported: u64,
}

impl Store {
    /// Reads a report on spending.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn costs(&self, wanted: &CostsWanted) -> Result<CostReport, Error> {
        let wanted = wanted.clone();
        self.read(move |reader, _site| read_costs(reader, &wanted)).await
    }

    /// The amounts that count against caps at `now`, or at the latest time seen if that is later. Caps of a run are
    /// left out.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn caps(&self, spender: &Spender, caps: &[Cap], now: Time) -> Result<Vec<CapNow>, Error> {
        let (spender, caps) = (spender.clone(), caps.to_vec());
        self.read(move |reader, site| against(reader, &spender, &caps, &Clock { now, zone: &site.zone })).await
    }

    /// Counts beside reports, by model and counter, of first attempts that were answered.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn estimates(&self) -> Result<Vec<Estimate>, Error> {
        self.read(|reader, _site| estimates(reader)).await
    }
}

pub(crate) fn read_costs(reader: &Tables, wanted: &CostsWanted) -> Result<CostReport, ReadFault> {
    let project = wanted.project.as_ref().map(|project| project.0.as_str());
    let lines = all_rows(
        reader,
        "SELECT day, project, model, endpoint, agent, prompt, attempts, nanos, tokens, unknown, unpriced FROM spend \
         WHERE day >= ?1 AND (?2 IS NULL OR project = ?2) ORDER BY day, project, model, endpoint, agent, prompt",
        (wanted.since.as_deref().unwrap_or(""), project),
        read_spend_line,
    )?;
    let open = first_row(
        reader,
        "SELECT count(*) AS open, COALESCE(sum(most_nanos), 0) AS reserved FROM attempts \
         WHERE state = 'open' AND (?1 IS NULL OR project = ?1)",
        [project],
        |row| Ok((column_count(row, "open")?, NanoDollars(column_count(row, "reserved")?))),
    )?;
    let (open, reserved) = open.ok_or_else(|| ReadFault::Odd("nothing is counted".to_owned()))?;
    Ok(CostReport { lines, open, reserved })
}

fn read_spend_line(row: &Row<'_>) -> Result<SpendLine, ReadFault> {
    let (agent, prompt): (String, String) = (column_value(row, "agent")?, column_value(row, "prompt")?);
    let endpoint: String = column_value(row, "endpoint")?;
    Ok(SpendLine {
        day: column_value(row, "day")?,
        project: Project(column_value(row, "project")?),
        model: column_value(row, "model")?,
        endpoint: (!endpoint.is_empty()).then_some(endpoint),
        prompt: format!("{agent}/{prompt}"),
        attempts: column_count(row, "attempts")?,
        cost: NanoDollars(column_count(row, "nanos")?),
        tokens: column_count(row, "tokens")?,
        unknown: column_count(row, "unknown")?,
        unpriced: column_count(row, "unpriced")?,
    })
}

/// The current time, where a zone decides about days.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock<'z> {
    pub(crate) now: Time,
    pub(crate) zone: &'z TimeZone,
}

pub(crate) fn against(
    reader: &Tables,
    spender: &Spender,
    caps: &[Cap],
    clock: &Clock<'_>,
) -> Result<Vec<CapNow>, ReadFault> {
    let seen = "SELECT CAST(value AS INTEGER) AS seen FROM meta WHERE key = 'last_seen'";
    let seen = first_row(reader, seen, [], |row| column_value(row, "seen"))?.map(Time);
    let now = seen.map_or(clock.now, |seen| clock.now.max(seen));
    let today = today(now, clock.zone)?;
    let spent = |cap: &Cap| match period_days(cap.period, today) {
        Some(days) => read_cap_balance(reader, spender, cap, &days),
        None => Ok(CapBalance::default()),
    };
    caps.iter().map(|cap| Ok(CapNow { cap: *cap, spent: spent(cap)? })).collect()
}

fn today(now: Time, zone: &TimeZone) -> Result<Date, ReadFault> {
    let moment = jiff::Timestamp::from_millisecond(now.0)
        .map_err(|error| ReadFault::Odd(format!("the time {} is out of range: {error}", now.0)))?;
    Ok(moment.to_zoned(zone.clone()).date())
}

/// Days from the first to the last.
#[derive(Debug)]
struct Days {
    first: String,
    last: String,
}

/// The days that a period is made of. A run is no number of days.
fn period_days(period: CapPeriod, today: Date) -> Option<Days> {
    let days = |first: Date, last: Date| Some(Days { first: first.to_string(), last: last.to_string() });
    match period {
        CapPeriod::Run => None,
        CapPeriod::Day => days(today, today),
        CapPeriod::Month => days(today.first_of_month(), today.last_of_month()),
    }
}

fn read_cap_balance(reader: &Tables, spender: &Spender, cap: &Cap, days: &Days) -> Result<CapBalance, ReadFault> {
    let project = Some(spender.project.0.as_str());
    let (owner, agent) = match (cap.scope, &spender.agent) {
        (CapScope::User, _) => (None, None),
        (CapScope::Project, _) => (project, None),
        (CapScope::Agent, Some(agent)) => (project, Some(agent.as_str())),
        (CapScope::Agent, None) => return Ok(CapBalance::default()),
    };
    let (settled, open) = match cap.unit {
        CapUnit::NanoDollars => ("nanos", "most_nanos"),
        CapUnit::Tokens => ("tokens", "most_tokens"),
    };
    let spent = first_row(
        reader,
        "SELECT s.nanos, s.tokens, a.most_nanos, a.most_tokens FROM \
         (SELECT COALESCE(sum(nanos), 0) AS nanos, COALESCE(sum(tokens), 0) AS tokens FROM spend \
          WHERE day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR project = ?3) AND (?4 IS NULL OR agent = ?4)) s, \
         (SELECT COALESCE(sum(most_nanos), 0) AS most_nanos, COALESCE(sum(most_tokens), 0) AS most_tokens \
          FROM attempts WHERE state = 'open' AND day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR project = ?3) \
          AND (?4 IS NULL OR coalesce((SELECT agent FROM calls WHERE calls.run = attempts.run \
          AND calls.effect = attempts.effect), (SELECT agent FROM runs WHERE runs.id = attempts.run)) = ?4)) a",
        (&days.first, &days.last, owner, agent),
        |row| Ok(CapBalance { settled: column_count(row, settled)?, open: column_count(row, open)? }),
    )?;
    spent.ok_or_else(|| ReadFault::Odd("nothing adds up".to_owned()))
}

pub(crate) fn estimates(reader: &Tables) -> Result<Vec<Estimate>, ReadFault> {
    all_rows(
        reader,
        "SELECT c.model, s.counter, count(*) AS calls, sum(s.tokens) AS counted, sum(u.input_tokens) AS reported \
         FROM calls c JOIN assemblies s ON s.run = c.run AND s.effect = c.effect \
         JOIN attempts a ON a.run = c.run AND a.effect = c.effect AND a.attempt = 0 \
         JOIN usage u ON u.attempt = a.id \
         WHERE a.state = 'reported' AND u.failed IS NULL AND u.input_tokens IS NOT NULL AND s.tokens > 0 \
         GROUP BY c.model, s.counter ORDER BY c.model, s.counter",
        [],
        |row| {
            Ok(Estimate {
                model: column_value(row, "model")?,
                counter: column_value(row, "counter")?,
                calls: column_count(row, "calls")?,
                counted: column_count(row, "counted")?,
                reported: column_count(row, "reported")?,
            })
        },
    )
}
