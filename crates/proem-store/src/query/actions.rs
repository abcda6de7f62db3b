//! Actions: the queue, what a sweep looks at, and one with all that happened to it.

use std::sync::Arc;

use proem_engine::effect::key::EffectKey;
use proem_engine::effect::{
    ActionEventKind, ActionHash, ActionState, ActionVersion, BytesHash, PerformerEpoch, PolicyHash,
};
use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::{Value as Json, json};

use super::values::{
    ReadFault, all_rows, column_count, column_digest, column_json as parsed, column_value, count_or_null,
    digest_or_null, first_row,
};
use crate::Store;
use crate::error::Error;
use crate::record::{ActionSource, CreditScope, Project, RunId};
use crate::sql::{Row, Tables};

/// One action as the store knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRow {
    /// The key by which it happens at most once.
    pub key: EffectKey,
    /// Of which project it is.
    pub project: Project,
    /// The actor that proposed it, as stored.
    pub actor: String,
    /// Its name, its recipient and its type.
    pub scope: CreditScope,
    /// The digest of what it is aimed at. `None` once its texts are gone.
    pub target: Option<[u8; 32]>,
    /// The hash of its canonical form.
    pub content: ActionHash,
    /// Its written form. `None` once its texts are gone.
    pub form: Option<String>,
    /// The action's state.
    pub state: ActionState,
    /// In which version.
    pub version: ActionVersion,
    /// Until when somebody has to have decided.
    pub deadline: Time,
    /// When its hold is over, while it is held.
    pub due: Option<Time>,
    /// The performer that took it up, while it is being executed.
    pub performer: Option<PerformerEpoch>,
    /// The hash of the exact bytes, while they are kept.
    pub bytes: Option<BytesHash>,
    /// The policy's last decision.
    pub decision: Json,
    /// The run and step that proposed it. `None` if a person did.
    pub origin: Option<ActionSource>,
    /// When it was proposed.
    pub created: Time,
    /// When it ended.
    pub ended: Option<Time>,
    /// When a person said that it should not have happened like this.
    pub corrected: Option<Time>,
    /// When its texts went.
    pub purged: Option<Time>,
}

/// The conditions that an action has to meet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActionsWanted {
    /// Of which project. `None` is all.
    pub project: Option<Project>,
    /// In which states. Empty is all that have not ended.
    pub states: Vec<ActionState>,
    /// At most so many. `None` is all.
    pub most: Option<u64>,
}

/// Something that happened to an action.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionRow {
    /// Its place among all.
    pub seq: i64,
    /// To which action.
    pub action: EffectKey,
    /// The version that it made.
    pub version: ActionVersion,
    /// When the action went over.
    pub at: Time,
    /// The actor that caused it, as stored.
    pub actor: String,
    /// The event that moved the action.
    pub event: ActionEventKind,
    /// The state before the event.
    pub from: ActionState,
    /// The state after the event.
    pub to: ActionState,
    /// The epoch of who caused it, if it was a performer.
    pub epoch: Option<PerformerEpoch>,
    /// The policy in force.
    pub policy: PolicyHash,
    /// The written form that an edit replaced.
    pub replaced: Option<String>,
    /// The hash of the bytes that were taken up.
    pub bytes: Option<BytesHash>,
    /// Details recorded with the event.
    pub details: Json,
}

/// A person's approval of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionApprovalRow {
    /// The actor that gave it, as stored.
    pub actor: String,
    /// When the person decided.
    pub at: Time,
    /// By which event: an approval, a release, or that the same bytes go once more.
    pub kind: ActionEventKind,
    /// `single`, or `bulk` for one of several at once.
    pub breadth: String,
    /// The hash of the content that was shown.
    pub content: ActionHash,
    /// Under which policy.
    pub policy: PolicyHash,
    /// From when on it is good for nothing.
    pub expires: Time,
    /// When it was used up.
    pub used: Option<Time>,
    /// When it became good for nothing.
    pub void: Option<Time>,
}

/// An action with all that happened to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionDetail {
    /// The action.
    pub row: ActionRow,
    /// The exact bytes, while they are kept.
    pub bytes: Option<Arc<[u8]>>,
    /// Texts that it needs, by their hashes, as far as they are kept.
    pub texts: Vec<(String, Vec<u8>)>,
    /// Its transitions, oldest first.
    pub transitions: Vec<TransitionRow>,
    /// Approvals, oldest first.
    pub approvals: Vec<ActionApprovalRow>,
    /// Why it was corrected, in the person's own words.
    pub correction: Option<String>,
}

/// The columns of an action.
pub(super) const COLUMNS: &str = "a.key, a.project, a.actor, a.name, a.kind, a.target, a.recipient, a.content, \
    CAST(c.bytes AS TEXT) AS form, a.state, a.version, a.deadline, a.due, a.performer, a.bytes, a.decision, a.run, \
    a.step, a.created, a.ended, a.corrected, a.purged, a.correction \
    FROM actions a LEFT JOIN contents c ON c.hash = a.form";

impl Store {
    /// The queue: actions by the time at which something is due, at the end of a hold or at the deadline.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn actions(&self, wanted: &ActionsWanted) -> Result<Vec<ActionRow>, Error> {
        let wanted = wanted.clone();
        self.read(move |reader, _site| list_actions(reader, &wanted, COLUMNS, read_action_row)).await
    }

    /// An action with all that happened to it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an action, [`Error::Unusable`].
    pub async fn action(&self, project: &Project, key: &EffectKey) -> Result<ActionDetail, Error> {
        let (project, key) = (project.clone(), *key);
        self.read(move |reader, _site| read_action_detail(reader, &project, &key)).await
    }

    /// The actions that a sweep by the performer of this epoch considers: proposed, waiting past their deadline,
    /// approved or to be sent once more, held until a past time, and taken up by another epoch.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn due_actions(
        &self,
        project: &Project,
        epoch: PerformerEpoch,
        now: Time,
    ) -> Result<Vec<ActionRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| due(reader, &project, epoch, now)).await
    }

    /// The transitions of a project's actions, newest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn transitions(&self, project: &Project, most: u64) -> Result<Vec<TransitionRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let log = format!("{TRANSITIONS} WHERE t.project = ? ORDER BY t.seq DESC LIMIT ?");
            all_rows(reader, &log, (&project.0, limit(Some(most))), read_transition)
        })
        .await
    }
}

/// A limit as SQL has it; -1 is none.
pub(super) fn limit(most: Option<u64>) -> i64 {
    most.map_or(i64::MAX, |most| i64::try_from(most).unwrap_or(i64::MAX))
}

/// The actions wanted, by the time at which something is due. Of each, `a`, these columns are read.
pub(super) fn list_actions<T>(
    reader: &Tables,
    wanted: &ActionsWanted,
    columns: &str,
    read: fn(&Row<'_>) -> Result<T, ReadFault>,
) -> Result<Vec<T>, ReadFault> {
    let project = wanted.project.as_ref().map(|project| &project.0);
    let states: Vec<&str> = wanted.states.iter().map(|state| state.as_str()).collect();
    let order = "ORDER BY coalesce(a.due, a.deadline), a.key LIMIT ?";
    let states_wanted = compact(&json!(states));
    match (project, states.is_empty()) {
        // The index of what is open gives the order for one project.
        (Some(project), true) => {
            let sql = format!("SELECT {columns} WHERE a.project = ? AND a.ended IS NULL {order}");
            all_rows(reader, &sql, (project, limit(wanted.most)), read)
        }
        (None, true) => {
            let sql = format!("SELECT {columns} WHERE a.ended IS NULL {order}");
            all_rows(reader, &sql, [limit(wanted.most)], read)
        }
        (project, false) => {
            let sql = format!(
                "SELECT {columns} WHERE a.project = coalesce(?, a.project) \
                 AND a.state IN (SELECT value FROM json_each(?)) {order}"
            );
            all_rows(reader, &sql, (project, states_wanted, limit(wanted.most)), read)
        }
    }
}

fn due(reader: &Tables, project: &Project, epoch: PerformerEpoch, now: Time) -> Result<Vec<ActionRow>, ReadFault> {
    let sql = format!(
        "SELECT {COLUMNS} WHERE a.project = ?1 AND a.ended IS NULL AND (a.state IN ('proposed', 'approved', 'resend') \
         OR (a.state = 'held' AND a.due <= ?2) OR (a.state = 'waiting' AND a.deadline <= ?2) \
         OR (a.state IN ('executing', 'resending') AND a.performer IS DISTINCT FROM ?3)) \
         ORDER BY coalesce(a.due, a.deadline), a.key"
    );
    all_rows(reader, &sql, (&project.0, now.0, i64::try_from(epoch.0).unwrap_or(i64::MAX)), read_action_row)
}

pub(super) fn read_action_detail(
    reader: &Tables,
    project: &Project,
    key: &EffectKey,
) -> Result<ActionDetail, ReadFault> {
    let name = key.to_string();
    let sql = format!("SELECT {COLUMNS} WHERE a.key = ? AND a.project = ?");
    let found = first_row(reader, &sql, (&name, &project.0), |found| {
        Ok((read_action_row(found)?, column_value(found, "correction")?))
    })?;
    let Some((row, correction)) = found else {
        let why = format!("no action has the id `{name}` here; look at the queue for those there are");
        return Err(ReadFault::Missing(why.into()));
    };
    let bytes = "SELECT c.bytes FROM actions a JOIN contents c ON c.hash = a.bytes WHERE a.key = ?";
    let bytes = first_row(reader, bytes, [&name], |row| column_value::<Vec<u8>>(row, "bytes"))?;
    let texts = "SELECT t.text, c.bytes FROM action_texts t JOIN contents c ON c.hash = t.text WHERE t.action = ? \
                 ORDER BY t.text";
    let texts = all_rows(reader, texts, [&name], |row| Ok((column_value(row, "text")?, column_value(row, "bytes")?)))?;
    let transitions = format!("{TRANSITIONS} WHERE t.action = ? ORDER BY t.version");
    let transitions = all_rows(reader, &transitions, [&name], read_transition)?;
    let approvals = "SELECT actor, at, kind, breadth, content, policy, expires, used, void FROM action_approvals \
                     WHERE action = ? ORDER BY seq";
    let approvals = all_rows(reader, approvals, [&name], read_action_approval)?;
    Ok(ActionDetail { row, bytes: bytes.map(Arc::from), texts, transitions, approvals, correction })
}

pub(super) fn read_action_state(row: &Row<'_>, column: &str) -> Result<ActionState, ReadFault> {
    let word: String = column_value(row, column)?;
    ActionState::parse(&word).ok_or_else(|| ReadFault::Odd(format!("`{column}` is `{word}`")))
}

fn read_action_event(row: &Row<'_>, column: &str) -> Result<ActionEventKind, ReadFault> {
    let word: String = column_value(row, column)?;
    ActionEventKind::parse(&word).ok_or_else(|| ReadFault::Odd(format!("`{column}` is `{word}`")))
}

pub(super) fn read_optional_time(row: &Row<'_>, column: &str) -> Result<Option<Time>, ReadFault> {
    Ok(column_value::<Option<i64>>(row, column)?.map(Time))
}

/// An action's line.
pub(super) fn read_action_row(row: &Row<'_>) -> Result<ActionRow, ReadFault> {
    let origin = match (column_value::<Option<String>>(row, "run")?, count_or_null(row, "step")?) {
        (Some(run), Some(step)) => Some(ActionSource { run: RunId(run), step }),
        _ => None,
    };
    let scope = CreditScope {
        name: column_value(row, "name")?,
        recipient: digest_or_null(row, "recipient")?,
        kind: column_value(row, "kind")?,
    };
    Ok(ActionRow {
        key: EffectKey::of_bytes(column_digest(row, "key")?),
        project: Project(column_value(row, "project")?),
        actor: column_value(row, "actor")?,
        scope,
        target: digest_or_null(row, "target")?,
        content: ActionHash(column_digest(row, "content")?),
        form: column_value(row, "form")?,
        state: read_action_state(row, "state")?,
        version: ActionVersion(column_count(row, "version")?),
        deadline: Time(column_value(row, "deadline")?),
        due: read_optional_time(row, "due")?,
        performer: count_or_null(row, "performer")?.map(PerformerEpoch),
        bytes: digest_or_null(row, "bytes")?.map(BytesHash),
        decision: parsed(row, "decision")?,
        origin,
        created: Time(column_value(row, "created")?),
        ended: read_optional_time(row, "ended")?,
        corrected: read_optional_time(row, "corrected")?,
        purged: read_optional_time(row, "purged")?,
    })
}

/// The columns of a transition.
const TRANSITIONS: &str = "SELECT t.seq, t.action, t.version, t.at, t.actor, t.event, t.state_before, t.state_after, \
    t.epoch, t.policy, CAST(c.bytes AS TEXT) AS form, t.bytes, t.details \
    FROM transitions t LEFT JOIN contents c ON c.hash = t.form";

fn read_transition(row: &Row<'_>) -> Result<TransitionRow, ReadFault> {
    Ok(TransitionRow {
        seq: column_value(row, "seq")?,
        action: EffectKey::of_bytes(column_digest(row, "action")?),
        version: ActionVersion(column_count(row, "version")?),
        at: Time(column_value(row, "at")?),
        actor: column_value(row, "actor")?,
        event: read_action_event(row, "event")?,
        from: read_action_state(row, "state_before")?,
        to: read_action_state(row, "state_after")?,
        epoch: count_or_null(row, "epoch")?.map(PerformerEpoch),
        policy: PolicyHash(column_digest(row, "policy")?),
        replaced: column_value(row, "form")?,
        bytes: digest_or_null(row, "bytes")?.map(BytesHash),
        details: parsed(row, "details")?,
    })
}

fn read_action_approval(row: &Row<'_>) -> Result<ActionApprovalRow, ReadFault> {
    Ok(ActionApprovalRow {
        actor: column_value(row, "actor")?,
        at: Time(column_value(row, "at")?),
        kind: read_action_event(row, "kind")?,
        breadth: column_value(row, "breadth")?,
        content: ActionHash(column_digest(row, "content")?),
        policy: PolicyHash(column_digest(row, "policy")?),
        expires: Time(column_value(row, "expires")?),
        used: read_optional_time(row, "used")?,
        void: read_optional_time(row, "void")?,
    })
}
