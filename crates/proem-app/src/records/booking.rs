//! The booking of runs before they ask a model.
//!
//! Invariant: a model is asked only by a run whose attempts are booked in records, or where no budget is configured,
//! or where nothing leaves this machine.

use proem_engine::call::NanoDollars;
use proem_engine::ledger::Cap;

use super::writing::{OpenRecords, budget_needs_records};
use super::{agent_caps, budget_caps, run_cap};
use crate::config::{BudgetFile, SpendLimits};
use crate::error::Error;
use crate::message::{Hint, Note};

/// The booking of runs' attempts. [`ModelAccess::book`](crate::agents::access::ModelAccess::book) makes one.
#[derive(Debug)]
pub enum Booking {
    /// In records: each attempt is written down and booked before it is sent.
    Recorded(Box<OpenRecords>),
    /// Nowhere: records are declined, and no budget is configured.
    Unrecorded(Unbudgeted),
    /// Nowhere, because nothing is sent: answers come from cassettes. It lets no run ask over a network.
    Unsent,
}

impl Booking {
    /// The records, if there are any.
    #[must_use]
    pub const fn records(&self) -> Option<&OpenRecords> {
        match self {
            Self::Recorded(records) => Some(records),
            Self::Unrecorded(_) | Self::Unsent => None,
        }
    }

    /// Whether all these caps hold for what is booked here.
    pub(crate) fn holds(&self, caps: &[Cap]) -> bool {
        match self {
            Self::Recorded(records) => caps.iter().all(|cap| records.caps().contains(cap)),
            Self::Unrecorded(Unbudgeted { .. }) => caps.is_empty(),
            Self::Unsent => true,
        }
    }

    /// Ends the command's records, with what there is to say about that.
    pub async fn end(self) -> Vec<Note> {
        match self {
            Self::Recorded(records) => records.end().await,
            Self::Unrecorded(_) | Self::Unsent => Vec::new(),
        }
    }

    /// Closes the records of a run within another one's command.
    pub(crate) async fn close(self) {
        if let Self::Recorded(records) = self {
            records.close().await;
        }
    }
}

/// The permission to ask without a record, which exists only where no budget is configured.
///
/// ```compile_fail,E0451
/// use proem_app::records::booking::{Booking, Unbudgeted};
///
/// // Nobody can claim that there is no budget.
/// let booking = Booking::Unrecorded(Unbudgeted { sealed: () });
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Unbudgeted {
    sealed: (),
}

impl Unbudgeted {
    /// For runs with an agent's prompts, of which each may cost at most `most`.
    ///
    /// # Errors
    ///
    /// If the configuration or the caller limits what they may spend.
    pub fn of_agent(budget: &BudgetFile, agent: &str, most: Option<NanoDollars>) -> Result<Self, Error> {
        let mut all = budget_caps(budget);
        all.extend(agent_caps(budget, agent)?);
        all.extend(most.map(run_cap));
        if all.is_empty() {
            return Ok(Self { sealed: () });
        }
        Err(budget_needs_records("they are declined").hinting(Hint::Record))
    }

    /// For requests outside any run, such as those to an embedding model.
    ///
    /// # Errors
    ///
    /// If the configuration limits what the user, the project or any agent may spend.
    pub fn of_everybody(budget: &BudgetFile) -> Result<Self, Error> {
        let is_agent_capped = budget.agent.values().any(|agent| agent.limits() != SpendLimits::default());
        if budget_caps(budget).is_empty() && !is_agent_capped {
            return Ok(Self { sealed: () });
        }
        Err(Error::invalid("a budget is configured, and requests to an embedding model can't be booked"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_budget_leaves_no_permission_to_ask_unrecorded() {
        let check = |text: &str, agent: bool, everybody: bool| {
            let budget = Config::parse("config.toml", text).unwrap().budget;
            assert_eq!(Unbudgeted::of_agent(&budget, "me", None).is_ok(), agent, "{text}");
            assert_eq!(Unbudgeted::of_everybody(&budget).is_ok(), everybody, "{text}");
            assert!(Unbudgeted::of_agent(&budget, "me", Some(NanoDollars(0))).is_err(), "{text}");
            assert!(Unbudgeted::of_agent(&budget, super::super::BUDGETED, None).is_err(), "{text}");
        };
        check("", true, true);
        check("[budget]\nzone = \"Europe/Berlin\"", true, true);
        check("[budget.user]\nday = 0", false, false);
        check("[budget.user]\nmonth_tokens = 5", false, false);
        check("[budget.project]\nrun = 1", false, false);
        check("[budget.agent.me]\nday_tokens = 1", false, false);
        check("[budget.agent.other]\nday = 1", true, false);
    }
}
