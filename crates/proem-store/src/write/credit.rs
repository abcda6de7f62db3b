//! Credit for shorter holds: approvals of one kind of action to one recipient since the last no.
//!
//! Invariants: a day in the declared zone gives one at most, several at once give none, and a no takes all.

use proem_engine::run::Time;

use super::caps::Moment;
use crate::error::Error;
use crate::record::{Actor, CreditScope, Project, digest_text};
use crate::sql::Transaction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CreditChange {
    /// A person said yes to this one.
    Approval,
    /// A person refused it, or regretted it.
    Loss,
}

/// The owner of the credit, and the actor that changes it.
#[derive(Debug)]
pub(super) struct ProjectScope<'s> {
    pub(super) project: &'s Project,
    pub(super) actor: &'s Actor,
    pub(super) scope: &'s CreditScope,
}

/// Writes what becomes of it at a time of the ledger.
pub(super) fn change_credit(
    to: &Transaction<'_>,
    of: &ProjectScope<'_>,
    change: CreditChange,
    at: Time,
) -> Result<(), Error> {
    let recipient = of.scope.recipient.as_ref().map(digest_text).unwrap_or_default();
    let key = (&of.project.0, &of.scope.name, recipient, &of.scope.kind);
    let (project, name, recipient, kind) = key;
    let (actor, day) = (of.actor.to_string(), Moment::new(at, &to.opening.zone).day);
    let values = (project, name, recipient, kind, actor, at.0, day);
    let changed = match change {
        // The day never goes back, as the ledger's time doesn't. A zone that was changed may take it back by one.
        CreditChange::Approval => to.tables.execute(
            "INSERT INTO credits (project, name, recipient, kind, actor, at, approvals, day) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7) ON CONFLICT (project, name, recipient, kind) DO UPDATE SET \
             actor = excluded.actor, at = excluded.at, approvals = credits.approvals + 1, day = excluded.day \
             WHERE excluded.day > credits.day",
            values,
        ),
        // The day stays used up: a refusal in between gives no second one.
        CreditChange::Loss => to.tables.execute(
            "INSERT INTO credits (project, name, recipient, kind, actor, at, approvals, day) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7) ON CONFLICT (project, name, recipient, kind) DO UPDATE SET \
             actor = excluded.actor, at = excluded.at, approvals = 0, day = max(credits.day, excluded.day)",
            values,
        ),
    };
    changed.map(drop)
}
