//! The records around an action, for its decision, all as of one moment.

use proem_engine::effect::key::{EffectKey, SignalRevision};
use proem_guard::Verdict;
use serde_json::json;

use super::actions::{ActionDetail, limit, read_action_detail};
use super::effects::CreditRow;
use super::quarantine::read_verdict;
use super::values::{ReadFault, all_rows, column_count, column_value, first_row};
use crate::Store;
use crate::error::Error;
use crate::record::{CreditScope, Project, digest_text};
use crate::sql::Tables;

/// The conditions that evidence has to meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceWanted {
    /// Of which project.
    pub project: Project,
    /// The scope of credit and precedents.
    pub scope: CreditScope,
    /// The signals that the action is on.
    pub signals: Vec<SignalRevision>,
    /// So many precedents are counted at most, for more of them say no more.
    pub most: u64,
}

/// Reads the evidence for and against an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvidence {
    /// The credit of that kind of action to that recipient.
    pub credit: CreditRow,
    /// How many actions of that name and type a person approved that were then executed and not corrected, to whomever.
    /// Those whose texts are gone count. An action whose hold ran out does not: nobody said yes to it.
    pub precedents: u64,
    /// The worst verdict on any field of its signals, in their revisions, that is or was in quarantine. `None` if there
    /// never was one. A field that a person released counts as [`Verdict::Flag`], because it remains text from outside
    /// with a finding. A dismissed field keeps its verdict.
    pub quarantine: Option<Verdict>,
}

impl Store {
    /// Reads the evidence for and against an action.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn evidence(&self, wanted: EvidenceWanted) -> Result<StoredEvidence, Error> {
        self.read(move |reader, _site| read_evidence(reader, &wanted)).await
    }

    /// An action with all that happened to it, and the evidence beside it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an action, [`Error::Unusable`].
    pub async fn action_with_evidence(
        &self,
        key: EffectKey,
        wanted: EvidenceWanted,
    ) -> Result<(ActionDetail, StoredEvidence), Error> {
        self.read(move |reader, _site| {
            Ok((read_action_detail(reader, &wanted.project, &key)?, read_evidence(reader, &wanted)?))
        })
        .await
    }
}

fn read_evidence(reader: &Tables, wanted: &EvidenceWanted) -> Result<StoredEvidence, ReadFault> {
    let EvidenceWanted { project, scope, signals, most } = wanted;
    let recipient = scope.recipient.as_ref().map(digest_text).unwrap_or_default();
    let credit = first_row(
        reader,
        "SELECT approvals, day FROM credits WHERE (project, name, recipient, kind) = (?, ?, ?, ?)",
        (&project.0, &scope.name, recipient, &scope.kind),
        |row| Ok(CreditRow { approvals: column_count(row, "approvals")?, day: column_value(row, "day")? }),
    )?;
    let precedents = first_row(
        reader,
        "SELECT count(*) AS precedents FROM (SELECT 1 FROM actions a WHERE project = ? AND name = ? AND kind = ? \
         AND state = 'executed' AND corrected IS NULL AND EXISTS \
         (SELECT 1 FROM action_approvals p WHERE p.action = a.key AND p.used IS NOT NULL) LIMIT ?) AS few",
        (&project.0, &scope.name, &scope.kind, limit(Some(*most))),
        |row| column_count(row, "precedents"),
    )?;
    let signals: Vec<[&str; 2]> = signals.iter().map(|signal| [signal.id.as_str(), signal.revision.as_str()]).collect();
    let quarantine = all_rows(
        reader,
        "SELECT DISTINCT CASE WHEN q.state = 'released' THEN 'flag' ELSE q.verdict END AS verdict FROM json_each(?) s CROSS JOIN quarantined q \
         ON (q.project, q.signal, q.revision) = (?, s.value ->> 0, s.value ->> 1)",
        (json!(signals).to_string(), &project.0),
        read_verdict,
    )?;
    Ok(StoredEvidence {
        credit: credit.unwrap_or_default(),
        precedents: precedents.unwrap_or(0),
        quarantine: quarantine.into_iter().max(),
    })
}
