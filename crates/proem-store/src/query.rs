//! What is read: runs, their parts, spending, statistics, failures. Nothing here writes, and no lock
//! is taken that would keep a writer waiting.

mod costs;
mod detail;
mod judged;
mod learned;
mod runs;
mod statistics;
mod status;
mod values;

#[cfg(test)]
mod tests;

pub use self::costs::{CapNow, Costs, CostsWanted, Estimate, SpendLine};
pub use self::detail::{ApprovalRow, AttemptRow, CallRow, FeedbackRow, RunDetail};
pub use self::judged::JudgedRow;
pub use self::learned::{FailureRow, Found};
pub use self::runs::{Listed, RunRow, RunState, RunsWanted};
pub use self::statistics::{Group, Statistics, StatisticsWanted, Summary};
pub use self::status::{EventRow, StatusRow};

use self::values::Fault;
use crate::Store;
use crate::error::{Error, Unusable};

impl Store {
    /// Whether the process of an epoch is alive, as far as that can be told without touching anything.
    fn lives(&self, epoch: &str) -> bool {
        self.sqlite.is_alive(epoch)
    }

    /// What a fault means to whoever asked.
    fn failed(&self, fault: Fault) -> Error {
        let path = self.sqlite.path().to_owned();
        match fault {
            Fault::Missing(what) => Error::NotFound(what),
            Fault::Odd(why) => Unusable::Corrupt { path, why }.into(),
            Fault::Sql(error) => self.sqlite.unusable(&error),
        }
    }
}
