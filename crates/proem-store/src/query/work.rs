//! Work that waits for a process, and the processes that have some.

use proem_engine::run::Time;

use super::values::{ReadFault, all_rows, column_count, column_value};
use crate::Store;
use crate::epoch;
use crate::error::Error;
use crate::record::{Project, WorkKey, WorkKind};

/// The work of one kind for one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkRow {
    /// The work.
    pub key: WorkKey,
    /// How often it is wanted beyond what was done.
    pub waiting: u64,
    /// The time before which nobody begins it.
    pub due: Time,
    /// How often it was begun since it last succeeded.
    pub attempts: u64,
    /// The process that does it. `None` if nobody does.
    pub holder: Option<WorkHolder>,
    /// Why the last attempt failed, in words of ours.
    pub problem: Option<String>,
}

/// A process that does some work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkHolder {
    /// Its name: its machine and number.
    pub worker: String,
    /// Since when.
    pub since: Time,
    /// Until when others leave the work alone.
    pub lease: Time,
    /// Whether the process lives.
    pub is_alive: bool,
}

impl Store {
    /// All work that was ever wanted, by project and kind; of one project, if one is named.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn work(&self, project: Option<&Project>) -> Result<Vec<WorkRow>, Error> {
        let project = project.map(|project| project.0.clone());
        self.read(move |reader, _site| {
            let sql = "SELECT project, kind, wanted - done AS waiting, due, attempts, holder, worker, since, lease, problem \
                       FROM work WHERE coalesce(?1, project) = project ORDER BY project, kind";
            all_rows(reader, sql, [&project], |row| {
                let word: String = column_value(row, "kind")?;
                let kind = WorkKind::parse(&word).ok_or_else(|| ReadFault::Odd(format!("work of the kind `{word}`")))?;
                let holder: Option<String> = column_value(row, "holder")?;
                let holder = match holder {
                    None => None,
                    Some(epoch) => Some(WorkHolder {
                        worker: column_value(row, "worker")?,
                        since: Time(column_value(row, "since")?),
                        lease: Time(column_value(row, "lease")?),
                        is_alive: epoch::is_alive(reader, &epoch),
                    }),
                };
                Ok(WorkRow {
                    key: WorkKey { project: Project(column_value(row, "project")?), kind },
                    waiting: column_count(row, "waiting")?,
                    due: Time(column_value(row, "due")?),
                    attempts: column_count(row, "attempts")?,
                    holder,
                    problem: column_value(row, "problem")?,
                })
            })
        })
        .await
    }
}
