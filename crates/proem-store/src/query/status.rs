//! What there is in all, and what happened.

use std::collections::BTreeMap;

use proem_engine::run::Time;
use serde_json::Value as Json;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::values::{Fault, count, get, json, written};
use crate::Store;
use crate::error::Error;
use crate::record::RunId;

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Its place.
    pub seq: i64,
    /// When.
    pub at: Time,
    /// Who, as stored.
    pub actor: String,
    /// Which run it is about.
    pub run: Option<RunId>,
    /// What happened.
    pub what: String,
    /// More about it.
    pub details: Json,
}

/// What there is in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRow {
    /// The store's own id.
    pub id: String,
    /// When it was created.
    pub created: Time,
    /// The form of its tables.
    pub form: i64,
    /// How many runs, by project.
    pub runs: BTreeMap<String, u64>,
    /// The bytes of the file with its log.
    pub bytes: u64,
    /// The last time that was seen.
    pub last_seen: Time,
    /// Attempts that are open.
    pub open: u64,
}

impl Store {
    /// Events of a run, or all, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn events(&self, run: Option<&RunId>) -> Result<Vec<EventRow>, Error> {
        let mut reader = self.sqlite.reader().await?;
        events(&mut reader, run).await.map_err(|fault| self.failed(fault))
    }

    /// What there is in all.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn status(&self) -> Result<StatusRow, Error> {
        let mut reader = self.sqlite.reader().await?;
        status(&mut reader).await.map_err(|fault| self.failed(fault))
    }
}

async fn events(reader: &mut SqliteConnection, run: Option<&RunId>) -> Result<Vec<EventRow>, Fault> {
    let rows = match run {
        Some(run) => sqlx::query("SELECT seq, at, actor, run, what, details FROM events WHERE run = ? ORDER BY seq")
            .bind(&run.0)
            .fetch_all(reader),
        None => sqlx::query("SELECT seq, at, actor, run, what, details FROM events ORDER BY seq").fetch_all(reader),
    };
    let read = |row: &SqliteRow| {
        Ok(EventRow {
            seq: get(row, "seq")?,
            at: Time(get(row, "at")?),
            actor: get(row, "actor")?,
            run: get::<Option<String>>(row, "run")?.map(RunId),
            what: get(row, "what")?,
            details: json(row, "details")?,
        })
    };
    rows.await?.iter().map(read).collect()
}

async fn status(reader: &mut SqliteConnection) -> Result<StatusRow, Fault> {
    sqlx::query("BEGIN").execute(&mut *reader).await?;
    let rows = sqlx::query("SELECT key, value FROM meta").fetch_all(&mut *reader).await?;
    let meta: BTreeMap<String, String> =
        rows.iter().map(|row| Ok((get(row, "key")?, get(row, "value")?))).collect::<Result<_, Fault>>()?;
    let rows = sqlx::query("SELECT project, count(*) AS runs FROM runs GROUP BY project ORDER BY project")
        .fetch_all(&mut *reader)
        .await?;
    let runs = rows.iter().map(|row| Ok((get(row, "project")?, count(row, "runs")?))).collect::<Result<_, Fault>>()?;
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM attempts WHERE state = 'open') AS open, \
         (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS bytes, \
         (SELECT user_version FROM pragma_user_version) AS form",
    )
    .fetch_one(&mut *reader)
    .await?;
    let of = |key: &str| meta.get(key).ok_or_else(|| Fault::Odd(format!("`meta` has no `{key}`")));
    let number = |key: &str| written::<i64>(key, of(key)?);
    Ok(StatusRow {
        id: of("store_id")?.clone(),
        created: Time(number("created")?),
        form: get(&row, "form")?,
        runs,
        bytes: count(&row, "bytes")?,
        last_seen: Time(number("last_seen")?),
        open: count(&row, "open")?,
    })
}
