//! The standing of an action, as the transaction that changes it reads it.

use proem_engine::effect::key::EffectKey;
use proem_engine::effect::{
    ActionHash, ActionStanding, ActionState, ActionVersion, BytesHash, PerformerEpoch, PolicyHash, StandingApproval,
};
use proem_engine::run::Time;

use super::amount::stored_count;
use crate::error::{Error, Unusable};
use crate::record::{CreditScope, Project, digest_of};
use crate::sql::{Row, SqlResult, Tables};

/// An action with what a transition of it needs to know.
#[derive(Debug)]
pub(super) struct FoundAction {
    /// The deciding state.
    pub(super) standing: ActionStanding,
    /// The scope of its credit.
    pub(super) scope: CreditScope,
    /// Its written form, by hash.
    pub(super) form: Option<String>,
}

/// An action as its columns have it.
struct StoredAction {
    state: String,
    version: i64,
    content: String,
    deadline: i64,
    due: Option<i64>,
    performer: Option<i64>,
    bytes: Option<String>,
    name: String,
    kind: String,
    recipient: String,
    form: Option<String>,
}

impl StoredAction {
    fn read(row: &Row<'_>) -> SqlResult<Self> {
        Ok(Self {
            state: row.get("state")?,
            version: row.get("version")?,
            content: row.get("content")?,
            deadline: row.get("deadline")?,
            due: row.get("due")?,
            performer: row.get("performer")?,
            bytes: row.get("bytes")?,
            name: row.get("name")?,
            kind: row.get("kind")?,
            recipient: row.get("recipient")?,
            form: row.get("form")?,
        })
    }
}

/// The action with that key in that project.
pub(super) fn find_action(tables: &Tables, project: &Project, key: &EffectKey) -> Result<FoundAction, Error> {
    let stored = tables.row(
        "SELECT state, version, content, deadline, due, performer, bytes, name, kind, recipient, form \
         FROM actions WHERE key = ? AND project = ?",
        (key.to_string(), &project.0),
        StoredAction::read,
    )?;
    let stored = stored.ok_or_else(|| {
        Error::NotFound(format!("no action has the id `{key}` here; look at the queue for those there are").into())
    })?;
    let approval = standing_approval(tables, key)?;
    assemble_found_action(stored, approval).ok_or_else(|| odd(tables, key))
}

fn assemble_found_action(stored: StoredAction, approval: Option<StandingApproval>) -> Option<FoundAction> {
    let bytes = stored.bytes.as_deref().map(digest_of);
    let recipient = (!stored.recipient.is_empty()).then(|| digest_of(&stored.recipient));
    let standing = ActionStanding {
        state: ActionState::parse(&stored.state)?,
        version: ActionVersion(stored_count(stored.version)),
        content: ActionHash(digest_of(&stored.content)?),
        deadline: Time(stored.deadline),
        due: stored.due.map(Time),
        approval,
        performer: stored.performer.map(|epoch| PerformerEpoch(stored_count(epoch))),
        bytes: match bytes {
            Some(bytes) => Some(BytesHash(bytes?)),
            None => None,
        },
    };
    let recipient = match recipient {
        Some(recipient) => Some(recipient?),
        None => None,
    };
    let scope = CreditScope { name: stored.name, recipient, kind: stored.kind };
    Some(FoundAction { standing, scope, form: stored.form })
}

/// The approval that represents an action.
fn standing_approval(tables: &Tables, key: &EffectKey) -> Result<Option<StandingApproval>, Error> {
    let stored: Option<(String, String, i64)> = tables.row(
        "SELECT content, policy, expires FROM action_approvals WHERE action = ? AND used IS NULL AND void IS NULL",
        [key.to_string()],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let Some((content, policy, expires)) = stored else { return Ok(None) };
    match (digest_of(&content), digest_of(&policy)) {
        (Some(content), Some(policy)) => Ok(Some(StandingApproval {
            content: ActionHash(content),
            policy: PolicyHash(policy),
            expires: Time(expires),
        })),
        _ => Err(odd(tables, key)),
    }
}

/// That an action's line holds what is never written.
fn odd(tables: &Tables, key: &EffectKey) -> Error {
    let why = format!("the action `{key}` has a state or a hash that is none");
    Unusable::Corrupt { path: tables.path().to_owned(), why }.into()
}
