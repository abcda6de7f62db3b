//! What was spent, from the sums that are kept with every booking.

use jiff::tz::TimeZone;
use proem_engine::call::NanoDollars;
use proem_engine::ledger::{Cap, Period, Scope, Spent, Unit};
use proem_engine::run::Time;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::values::{Fault, count, get};
use crate::Store;
use crate::error::Error;
use crate::record::Project;

/// Which spending is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostsWanted {
    /// Of which project; `None` is all.
    pub project: Option<Project>,
    /// From this day on, as 2026-11-22.
    pub since: Option<String>,
}

/// One line of the sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendLine {
    /// The day.
    pub day: String,
    /// The project.
    pub project: Project,
    /// The model.
    pub model: String,
    /// The endpoint that has it; `None` for what was booked before that was kept.
    pub endpoint: Option<String>,
    /// `agent/prompt`.
    pub prompt: String,
    /// How many attempts.
    pub attempts: u64,
    /// What is booked, corrections included.
    pub cost: NanoDollars,
    /// Tokens of prompts and answers.
    pub tokens: u64,
    /// Attempts that are booked in full because nobody said what they used.
    pub unknown: u64,
    /// Attempts without a price.
    pub unpriced: u64,
}

/// What was spent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Costs {
    /// By day, project, model, endpoint and prompt; the days ascend.
    pub lines: Vec<SpendLine>,
    /// Attempts that are open.
    pub open: u64,
    /// What they reserve.
    pub reserved: NanoDollars,
}

/// A cap with what counts against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapNow {
    /// Which.
    pub cap: Cap,
    /// What counts.
    pub spent: Spent,
}

/// How far our counts are from what a provider reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// The model.
    pub model: String,
    /// What counted, such as `o200k × 1.30`.
    pub counter: String,
    /// How many calls.
    pub calls: u64,
    /// The tokens that we counted.
    pub counted: u64,
    /// The tokens that were reported.
    pub reported: u64,
}

impl Store {
    /// What was spent.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn costs(&self, wanted: &CostsWanted) -> Result<Costs, Error> {
        let mut reader = self.sqlite.reader().await?;
        costs(&mut reader, wanted).await.map_err(|fault| self.failed(fault))
    }

    /// What counts against caps at `now`, or at the last time that was seen if that is later; caps of
    /// a run count nothing here.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn caps(&self, project: &Project, caps: &[Cap], now: Time) -> Result<Vec<CapNow>, Error> {
        let mut reader = self.sqlite.reader().await?;
        let zone = self.sqlite.zone();
        against(&mut reader, (project, caps), now, zone).await.map_err(|fault| self.failed(fault))
    }

    /// Counts beside reports, by model and counter, of first attempts that were answered.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn estimates(&self) -> Result<Vec<Estimate>, Error> {
        let mut reader = self.sqlite.reader().await?;
        estimates(&mut reader).await.map_err(|fault| self.failed(fault))
    }
}

pub(crate) async fn costs(reader: &mut SqliteConnection, wanted: &CostsWanted) -> Result<Costs, Fault> {
    sqlx::query("BEGIN").execute(&mut *reader).await?;
    let project = wanted.project.as_ref().map(|project| project.0.as_str());
    let rows = sqlx::query(
        "SELECT day, project, model, endpoint, agent, prompt, attempts, nanos, tokens, unknown, unpriced FROM spend \
         WHERE day >= ?1 AND (?2 IS NULL OR project = ?2) ORDER BY day, project, model, endpoint, agent, prompt",
    )
    .bind(wanted.since.as_deref().unwrap_or(""))
    .bind(project)
    .fetch_all(&mut *reader)
    .await?;
    let open = sqlx::query(
        "SELECT count(*) AS open, COALESCE(sum(most_nanos), 0) AS reserved FROM attempts \
         WHERE state = 'open' AND (?1 IS NULL OR project = ?1)",
    )
    .bind(project)
    .fetch_one(&mut *reader)
    .await?;
    Ok(Costs {
        lines: rows.iter().map(line).collect::<Result<_, Fault>>()?,
        open: count(&open, "open")?,
        reserved: NanoDollars(count(&open, "reserved")?),
    })
}

fn line(row: &SqliteRow) -> Result<SpendLine, Fault> {
    let (agent, prompt): (&str, &str) = (get(row, "agent")?, get(row, "prompt")?);
    let endpoint: String = get(row, "endpoint")?;
    Ok(SpendLine {
        day: get(row, "day")?,
        project: Project(get(row, "project")?),
        model: get(row, "model")?,
        endpoint: (!endpoint.is_empty()).then_some(endpoint),
        prompt: format!("{agent}/{prompt}"),
        attempts: count(row, "attempts")?,
        cost: NanoDollars(count(row, "nanos")?),
        tokens: count(row, "tokens")?,
        unknown: count(row, "unknown")?,
        unpriced: count(row, "unpriced")?,
    })
}

pub(crate) async fn against(
    reader: &mut SqliteConnection,
    (project, caps): (&Project, &[Cap]),
    now: Time,
    zone: &TimeZone,
) -> Result<Vec<CapNow>, Fault> {
    sqlx::query("BEGIN").execute(&mut *reader).await?;
    let seen: Option<i64> = sqlx::query_scalar("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_seen'")
        .fetch_optional(&mut *reader)
        .await?;
    let now = seen.map_or(now, |seen| now.max(Time(seen)));
    let mut found = Vec::with_capacity(caps.len());
    for cap in caps {
        let spent = match days(cap.period, now, zone)? {
            Some(days) => spent(reader, project, cap, &days).await?,
            None => Spent::default(),
        };
        found.push(CapNow { cap: *cap, spent });
    }
    Ok(found)
}

/// The first and the last day that a period is made of; a run is no number of days.
fn days(period: Period, now: Time, zone: &TimeZone) -> Result<Option<(String, String)>, Fault> {
    let moment = jiff::Timestamp::from_millisecond(now.0)
        .map_err(|error| Fault::Odd(format!("the time {} can't be: {error}", now.0)))?;
    let today = moment.to_zoned(zone.clone()).date();
    Ok(match period {
        Period::Run => None,
        Period::Day => Some((today.to_string(), today.to_string())),
        Period::Month => Some((today.first_of_month().to_string(), today.last_of_month().to_string())),
    })
}

async fn spent(
    reader: &mut SqliteConnection,
    project: &Project,
    cap: &Cap,
    (first, last): &(String, String),
) -> Result<Spent, Fault> {
    let owner = match cap.scope {
        Scope::User => None,
        Scope::Project => Some(project.0.as_str()),
    };
    let row = sqlx::query(
        "SELECT s.nanos, s.tokens, a.most_nanos, a.most_tokens FROM \
         (SELECT COALESCE(sum(nanos), 0) AS nanos, COALESCE(sum(tokens), 0) AS tokens FROM spend \
          WHERE day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR project = ?3)) s, \
         (SELECT COALESCE(sum(most_nanos), 0) AS most_nanos, COALESCE(sum(most_tokens), 0) AS most_tokens \
          FROM attempts WHERE state = 'open' AND day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR project = ?3)) a",
    )
    .bind(first)
    .bind(last)
    .bind(owner)
    .fetch_one(&mut *reader)
    .await?;
    let (settled, open) = match cap.unit {
        Unit::NanoDollars => ("nanos", "most_nanos"),
        Unit::Tokens => ("tokens", "most_tokens"),
    };
    Ok(Spent { settled: count(&row, settled)?, open: count(&row, open)? })
}

pub(crate) async fn estimates(reader: &mut SqliteConnection) -> Result<Vec<Estimate>, Fault> {
    let rows = sqlx::query(
        "SELECT c.model, s.counter, count(*) AS calls, sum(s.tokens) AS counted, sum(u.input_tokens) AS reported \
         FROM calls c JOIN assemblies s ON s.run = c.run AND s.effect = c.effect \
         JOIN attempts a ON a.run = c.run AND a.effect = c.effect AND a.attempt = 0 \
         JOIN usage u ON u.attempt = a.id \
         WHERE a.state = 'reported' AND u.failed IS NULL AND u.input_tokens IS NOT NULL AND s.tokens > 0 \
         GROUP BY c.model, s.counter ORDER BY c.model, s.counter",
    )
    .fetch_all(reader)
    .await?;
    let read = |row: &SqliteRow| {
        Ok(Estimate {
            model: get(row, "model")?,
            counter: get(row, "counter")?,
            calls: count(row, "calls")?,
            counted: count(row, "counted")?,
            reported: count(row, "reported")?,
        })
    };
    rows.iter().map(read).collect()
}
