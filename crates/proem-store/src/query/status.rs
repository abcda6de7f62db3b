//! The totals of the store, and its events.

use std::collections::BTreeMap;

use proem_engine::run::Time;
use serde_json::Value as Json;

use super::values::{ReadFault, all_rows, column_count, column_json, column_value, first_row, parse_stored_number};
use crate::Store;
use crate::error::Error;
use crate::record::RunId;
use crate::sql::{DatabaseKind, Row, Tables};

/// One change of the store's own state.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Its place.
    pub seq: i64,
    /// When it happened.
    pub at: Time,
    /// The actor, as stored.
    pub actor: String,
    /// The run that it is about.
    pub run: Option<RunId>,
    /// The event.
    pub what: String,
    /// More about it.
    pub details: Json,
}

/// Reads the totals of the store.
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
        let run = run.cloned();
        self.read(move |reader, _site| read_events(reader, run.as_ref())).await
    }

    /// Reads the totals of the store.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn status(&self) -> Result<StatusRow, Error> {
        self.read(|reader, _site| read_status(reader)).await
    }
}

fn read_events(reader: &Tables, run: Option<&RunId>) -> Result<Vec<EventRow>, ReadFault> {
    let read = |row: &Row<'_>| {
        Ok(EventRow {
            seq: column_value(row, "seq")?,
            at: Time(column_value(row, "at")?),
            actor: column_value(row, "actor")?,
            run: column_value::<Option<String>>(row, "run")?.map(RunId),
            what: column_value(row, "what")?,
            details: column_json(row, "details")?,
        })
    };
    let columns = "SELECT seq, at, actor, run, what, details FROM events";
    match run {
        Some(run) => all_rows(reader, &format!("{columns} WHERE run = ? ORDER BY seq"), [&run.0], read),
        None => all_rows(reader, &format!("{columns} ORDER BY seq"), [], read),
    }
}

/// Counts of the whole store.
struct Counts {
    open: u64,
    bytes: u64,
    form: i64,
}

const COUNTS_OF_FILE: &str = "SELECT (SELECT count(*) FROM attempts WHERE state = 'open') AS open, \
    (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS bytes, \
    (SELECT user_version FROM pragma_user_version) AS form";

const COUNTS_ON_SERVER: &str = "SELECT (SELECT count(*) FROM attempts WHERE state = 'open') AS open, \
    pg_database_size(current_database()) AS bytes, (SELECT form FROM store_form) AS form";

fn read_status(reader: &Tables) -> Result<StatusRow, ReadFault> {
    let meta = all_rows(reader, "SELECT key, value FROM meta", [], |row| {
        Ok((column_value(row, "key")?, column_value(row, "value")?))
    })?;
    let meta: BTreeMap<String, String> = meta.into_iter().collect();
    let runs = "SELECT project, count(*) AS runs FROM runs GROUP BY project";
    let runs = all_rows(reader, runs, [], |row| Ok((column_value(row, "project")?, column_count(row, "runs")?)))?;
    let counts = first_row(
        reader,
        match reader.kind() {
            DatabaseKind::File => COUNTS_OF_FILE,
            DatabaseKind::Server => COUNTS_ON_SERVER,
        },
        [],
        |row| {
            Ok(Counts {
                open: column_count(row, "open")?,
                bytes: column_count(row, "bytes")?,
                form: column_value(row, "form")?,
            })
        },
    )?;
    let Counts { open, bytes, form } = counts.ok_or_else(|| ReadFault::Odd("nothing is counted".to_owned()))?;
    let of = |key: &str| meta.get(key).ok_or_else(|| ReadFault::Odd(format!("`meta` has no `{key}`")));
    let number = |key: &str| parse_stored_number::<i64>(key, of(key)?);
    Ok(StatusRow {
        id: of("store_id")?.clone(),
        created: Time(number("created")?),
        form,
        runs: runs.into_iter().collect(),
        bytes,
        last_seen: Time(number("last_seen")?),
        open,
    })
}
