//! Whom and what a project's own file adds to a policy.
//!
//! Invariant: no action moves to another list by it, and no level, hold or time changes.

use std::collections::BTreeSet;

use super::terms::{KnownRecipient, Policy};

/// Whom and what actions of a project may name, as a file says that a person vouched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectAllowances {
    /// The people whom it concerns.
    pub recipients: BTreeSet<KnownRecipient>,
    /// The domains of its organisation, whose addresses are inside.
    pub domains: BTreeSet<String>,
    /// Its own id and those of what was promised.
    pub ids: BTreeSet<String>,
    /// How the ids of its tickets begin, such as `TES-`.
    pub id_prefixes: BTreeSet<String>,
}

impl Policy {
    /// The same policy, which also knows the project's people, domains and tickets.
    #[must_use]
    pub fn knowing(&self, project: &ProjectAllowances) -> Self {
        let mut policy = self.clone();
        if !project.recipients.is_empty() {
            policy.recipients.get_or_insert_default().extend(project.recipients.iter().cloned());
        }
        if !project.domains.is_empty() {
            policy.domains.get_or_insert_default().extend(project.domains.iter().cloned());
        }
        for (key, named) in [("ids", &project.ids), ("id_prefixes", &project.id_prefixes)] {
            if !named.is_empty() {
                policy.allow.entry(key).or_default().extend(named.iter().cloned());
            }
        }
        policy.finish()
    }
}
