//! The queue as people go through it: one line for each action, and the keys that begin in one way.

use proem_engine::effect::key::EffectKey;
use proem_engine::effect::{ActionState, ActionVersion};
use proem_engine::run::Time;
use serde_json::Value as Json;

use super::actions::{ActionRow, ActionsWanted, limit, list_actions, read_action_state, read_optional_time};
use super::values::{ReadFault, all_rows, column_count, column_digest, column_value, json_or_null};
use crate::Store;
use crate::error::Error;
use crate::record::Project;
use crate::sql::Row;

/// An action as one line of the queue: nothing of its texts and its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueLine {
    /// The key by which it happens at most once.
    pub key: EffectKey,
    /// The name of the action in the policy.
    pub name: String,
    /// Only its state.
    pub state: ActionState,
    /// In which version.
    pub version: ActionVersion,
    /// Until when somebody has to have decided.
    pub deadline: Time,
    /// When its hold is over, while it is held.
    pub due: Option<Time>,
    /// When it was proposed.
    pub created: Time,
    /// When it ended.
    pub ended: Option<Time>,
    /// When its texts went.
    pub purged: Option<Time>,
    /// Its written form. `None` once its texts are gone, and if it is read with [`LineDepth::Standing`].
    pub form: Option<String>,
    /// The policy's last decision. `None` unless it is read with [`LineDepth::Decision`].
    pub decision: Option<Json>,
}

impl From<&ActionRow> for QueueLine {
    fn from(row: &ActionRow) -> Self {
        Self {
            key: row.key,
            name: row.scope.name.clone(),
            state: row.state,
            version: row.version,
            deadline: row.deadline,
            due: row.due,
            created: row.created,
            ended: row.ended,
            purged: row.purged,
            form: row.form.clone(),
            decision: Some(row.decision.clone()),
        }
    }
}

/// How much of each action a line of the queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineDepth {
    /// Only its state.
    Standing,
    /// Also its content, so that its target can be shown.
    Target,
    /// Also the policy's last decision, which is most of the stored bytes of an action.
    Decision,
}

const LINE: &str = "a.key, a.name, a.state, a.version, a.deadline, a.due, a.created, a.ended, a.purged, \
    NULL AS form, NULL AS decision FROM actions a";

const TARGET_LINE: &str = "a.key, a.name, a.state, a.version, a.deadline, a.due, a.created, a.ended, a.purged, \
    CAST(c.bytes AS TEXT) AS form, NULL AS decision FROM actions a LEFT JOIN contents c ON c.hash = a.form";

const DECIDED_LINE: &str = "a.key, a.name, a.state, a.version, a.deadline, a.due, a.created, a.ended, a.purged, \
    CAST(c.bytes AS TEXT) AS form, a.decision FROM actions a LEFT JOIN contents c ON c.hash = a.form";

/// The concatenation keeps the index by project, which orders by other columns, from being taken for the narrower one
/// (an expression has no index).
const KEYS_BEGINNING: &str =
    "SELECT key FROM actions WHERE key >= ? AND key < ? AND project || '' = ? ORDER BY key LIMIT ?";

impl Store {
    /// The same actions in the same order as [`Store::actions`], one line of each.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn queue_lines(&self, wanted: &ActionsWanted, depth: LineDepth) -> Result<Vec<QueueLine>, Error> {
        let wanted = wanted.clone();
        let columns = match depth {
            LineDepth::Standing => LINE,
            LineDepth::Target => TARGET_LINE,
            LineDepth::Decision => DECIDED_LINE,
        };
        self.read(move |reader, _site| list_actions(reader, &wanted, columns, read_queue_line)).await
    }

    /// The first keys of a project's actions, in any state, whose digits begin like this, at most so many. The
    /// digits are those of the key's display, in lower case; what has others begins no key.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn keys_beginning(&self, project: &Project, digits: &str, most: u64) -> Result<Vec<EffectKey>, Error> {
        let (project, first) = (project.clone(), digits.to_owned());
        // No digit is behind `f`, so that the keys that begin like this are all that are before this one.
        let behind = format!("{first}g");
        self.read(move |reader, _site| {
            all_rows(reader, KEYS_BEGINNING, (&first, &behind, &project.0, limit(Some(most))), read_effect_key)
        })
        .await
    }
}

fn read_effect_key(row: &Row<'_>) -> Result<EffectKey, ReadFault> {
    Ok(EffectKey::of_bytes(column_digest(row, "key")?))
}

fn read_queue_line(row: &Row<'_>) -> Result<QueueLine, ReadFault> {
    Ok(QueueLine {
        key: read_effect_key(row)?,
        name: column_value(row, "name")?,
        state: read_action_state(row, "state")?,
        version: ActionVersion(column_count(row, "version")?),
        deadline: Time(column_value(row, "deadline")?),
        due: read_optional_time(row, "due")?,
        created: Time(column_value(row, "created")?),
        ended: read_optional_time(row, "ended")?,
        purged: read_optional_time(row, "purged")?,
        form: column_value(row, "form")?,
        decision: json_or_null(row, "decision")?,
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    const SCHEMA: &str = concat!(
        include_str!("../../migrations/0001.sql"),
        include_str!("../../migrations/0002.sql"),
        include_str!("../../migrations/0003.sql"),
        include_str!("../../migrations/0004.sql"),
        include_str!("../../migrations/0005.sql")
    );

    /// Otherwise all actions of the project would be gone through.
    #[test]
    fn a_beginning_is_looked_up_among_the_keys() {
        let memory = Connection::open_in_memory().unwrap();
        memory.execute_batch(SCHEMA).unwrap();
        let mut plan = memory.prepare(&format!("EXPLAIN QUERY PLAN {KEYS_BEGINNING}")).unwrap();
        let parameters = plan.parameter_count();
        let parameters = rusqlite::params_from_iter(vec!["0"; parameters]);
        let steps: Vec<String> =
            plan.query_map(parameters, |row| row.get("detail")).unwrap().map(Result::unwrap).collect();
        assert_eq!(steps, ["SEARCH actions USING PRIMARY KEY (key>? AND key<?)"]);
    }
}
