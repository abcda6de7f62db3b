//! Artefacts whose newest version can't be read: they are set aside with a question, and the others go on.
//!
//! Invariants: nothing is written over what can't be read, and no version is deleted. The newest version that can be
//! read is shown in its place and changed by nobody but a person who restores it.

use std::collections::BTreeSet;

use proem_guard::LabelTree;
use proem_store::query::ArtefactVersionRow;
use proem_triage::artefact::{AppliedChange, Artefact, ArtefactKind, ArtefactLogEntry, restored_version};
use proem_triage::plan::{ArtefactSet, CyclePlan, SignalOutcomeKind};

use super::cycle_report::CycleReport;
use super::desk::TriageDesk;
use super::set_aside::SetAside;
use super::standing_artefacts::{StandingArtefacts, UnreadableArtefact};
use crate::effects::ActionDesk;
use crate::error::Error;
use crate::operator::Operator;
use crate::when;

/// How many versions are looked through for one that can be read.
const MOST_VERSIONS: u64 = 1_000;
/// The question about an artefact that can't be read.
const QUESTION: &str = "An artefact of the records can't be read, so nothing of it is changed. Who restores it?";

impl ActionDesk<'_> {
    /// The artefacts of a project as they are, as far as they can be read. `project` is its UUID.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub(crate) async fn standing_artefacts(&self, project: &str) -> Result<StandingArtefacts, Error> {
        let mut standing = StandingArtefacts { set: ArtefactSet::new(project), unreadable: Vec::new() };
        for kind in ArtefactKind::ALL {
            let Some(row) = self.store.artefact(&self.owner, kind.as_str(), None).await? else { continue };
            match parse_artefact_row(&row) {
                Ok(artefact) => standing.set.set(artefact),
                Err(problem) => {
                    let rows = self.store.artefact_versions(&self.owner, kind.as_str(), MOST_VERSIONS).await?;
                    let older = rows.iter().find_map(|row| parse_artefact_row(row).ok());
                    let readable = older.as_ref().map(Artefact::version);
                    standing.unreadable.push(UnreadableArtefact { kind, version: row.version, readable, problem });
                    older.into_iter().for_each(|older| standing.set.set(older));
                }
            }
        }
        Ok(standing)
    }
}

/// An artefact from its row, or what is wrong with it.
fn parse_artefact_row(row: &ArtefactVersionRow) -> Result<Artefact, String> {
    let content = row.content.as_deref().ok_or_else(|| "its text is not in the records".to_owned())?;
    Artefact::read(content).map_err(|error| error.to_string())
}

impl TriageDesk<'_> {
    /// Takes out of a plan what would change artefacts that are set aside, and asks about those. The signals that it comes
    /// from are handed to a person.
    pub(super) async fn withhold_unreadable(
        &self,
        plan: &mut CyclePlan,
        standing: &StandingArtefacts,
        report: &mut CycleReport,
    ) -> Result<(), Error> {
        let aside = standing.set_aside();
        let withheld = plan.changes.extract_if(.., |change| aside.contains(&change.artefact.kind()));
        let causes: BTreeSet<_> = withheld.flat_map(|change| change.entry.causes).collect();
        for outcome in plan.outcomes.iter_mut().filter(|outcome| causes.contains(&outcome.id)) {
            outcome.kind = SignalOutcomeKind::Escalated;
            outcome.items.retain(|id| !aside.contains(&id.kind.artefact()));
        }
        if !causes.is_empty() {
            report.problems.push(format!("changes because of {} signals were not made", causes.len()));
        }
        for unreadable in &standing.unreadable {
            let UnreadableArtefact { kind, version, problem, .. } = unreadable;
            report.problems.push(format!("version {version} of the {} can't be read: {problem}", kind.as_str()));
            let word = format!("unreadable {} {version}", kind.as_str());
            let about = unreadable.about();
            let aside = SetAside { word: &word, title: QUESTION, about, causes: &[] };
            report.questions.extend(self.ask_about_set_aside(aside).await?);
        }
        Ok(())
    }

    /// The next version of an artefact, which says what an older one says and what the log tells of since.
    ///
    /// # Errors
    ///
    /// If there is no such version, it can't be read, or the records can't be read.
    pub async fn plan_restoring(
        &self,
        operator: &Operator,
        kind: ArtefactKind,
        version: u64,
    ) -> Result<AppliedChange, Error> {
        let rows = self.desk.store.artefact_versions(&self.desk.owner, kind.as_str(), MOST_VERSIONS).await?;
        let Some(newest) = rows.first().map(|row| row.version) else {
            return Err(Error::invalid(format!("the {} has no version yet; nothing is to be restored", kind.as_str())));
        };
        let older = self.version(kind, Some(version)).await?;
        let since = rows.iter().rev().filter(|row| row.version > version);
        let since: Vec<ArtefactLogEntry> =
            since.filter_map(|row| ArtefactLogEntry::read(row.entry.as_deref()?).ok()).collect();
        let now = when::time_now().max(self.desk.status.last_seen);
        Ok(restored_version(&older, newest.saturating_add(1), &since, (now, &operator.actor().id)))
    }
}

impl UnreadableArtefact {
    /// That it can't be read, and how it is restored, to go on after its name.
    pub(super) fn in_words(&self) -> String {
        format!("can't be read ({}); {}", self.problem, self.remedy())
    }

    /// How it is restored.
    fn remedy(&self) -> String {
        let name = self.kind.as_str().replace('_', "-");
        match self.readable {
            Some(readable) => format!(
                "`proem artefacts log {name}` shows what changed since version {readable}, which can be read; `proem \
                 artefacts restore {name} {readable}` makes it the newest one again"
            ),
            None => "no earlier version can be read; put the records back from a backup".to_owned(),
        }
    }

    /// The facts for the person who restores it.
    fn about(&self) -> LabelTree {
        LabelTree::map([
            ("artefact", LabelTree::from(self.kind.as_str())),
            ("version", LabelTree::from(self.version)),
            ("problem", LabelTree::from(self.problem.as_str())),
            ("to restore it", LabelTree::from(self.remedy().as_str())),
        ])
    }
}
