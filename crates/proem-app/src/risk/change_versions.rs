//! The versions of an investigation's prompts for each change, where experiments run on them.
//!
//! A change's subject is its commit. The changes of one command meet the versions that each would meet alone.

use std::collections::BTreeMap;

use proem_engine::prompt::book::Book;
use proem_engine::prompt::book::experiment::VersionAssignment;
use proem_risk::assess::Investigate;

use super::assessing::{AssessedRepository, ChangeAssessment};
use super::options::RiskOptions;
use super::prompts::{DECISION, InvestigationPrompts, SYNTHESIS};
use super::setting::{OpenInvestigations, contracted_prompts, teach};
use crate::agents::access::ModelAccess;
use crate::book::experiments::{RunningExperiments, watch_prompt};
use crate::error::Error;
use crate::message::Note;
use crate::project::OpenProject;

/// The versions that changes meet.
#[derive(Debug, Default)]
pub(super) struct ChangeVersions {
    running: RunningExperiments,
    /// The run settings of versions that experiments chose, by version. Runs with the versions in use are not in it.
    others: BTreeMap<Vec<String>, OtherInvestigator>,
}

/// Prompts with other versions, and the access that records them.
#[derive(Debug)]
struct OtherInvestigator {
    prompts: InvestigationPrompts,
    access: ModelAccess,
}

/// The prompts and the access with which a change is investigated.
pub(super) struct ChangeInvestigator<'i> {
    pub(super) prompts: &'i InvestigationPrompts,
    /// The access, or the reason that there is none.
    pub(super) access: Result<&'i ModelAccess, &'i str>,
    pub(super) assigned: Vec<VersionAssignment>,
}

impl OpenInvestigations {
    /// The same, where each change that is investigated meets the versions of its own subject. Messages go to `notes`.
    ///
    /// # Errors
    ///
    /// If the starts of experiments or the book can't be read.
    pub async fn with_change_versions(
        mut self,
        (assessing, looked): (&AssessedRepository, &[ChangeAssessment]),
        options: &RiskOptions,
        project: &OpenProject,
        notes: &mut Vec<Note>,
    ) -> Result<Self, Error> {
        let Some(access) = self.setting.investigator() else { return Ok(self) };
        if let Some(records) = self.booking.records() {
            for prompt in [DECISION, SYNTHESIS] {
                watch_prompt(project, records.store(), prompt, notes).await;
            }
        }
        let running = RunningExperiments::look_up(project, notes)?.on_prompts(&[DECISION, SYNTHESIS]);
        if running.is_empty() {
            return Ok(self);
        }
        let mut others = BTreeMap::new();
        for looked in looked.iter().filter(|looked| looked.first.investigate == Investigate::Yes) {
            let assigned = running.assignments(&assessing.experiment_subject(looked.change));
            if assigned.iter().all(|assigned| running.is_in_use(assigned)) {
                continue;
            }
            let key = version_key(&assigned);
            if let std::collections::btree_map::Entry::Vacant(vacant) = others.entry(key) {
                let book = Book::new(project.layers.clone())?.with_assignments(assigned);
                let mut prompts = contracted_prompts(&book)?;
                let asked = [&prompts.decision.prompt, &prompts.synthesis.prompt];
                let access = access.with_versions(&book, &asked);
                teach(&mut prompts, self.booking.records(), options, project).await?.collect(notes);
                vacant.insert(OtherInvestigator { prompts, access });
            }
        }
        self.versions = ChangeVersions { running, others };
        Ok(self)
    }

    /// The prompts and the access for a change.
    pub(super) fn investigator_of(
        &self,
        assessing: &AssessedRepository,
        looked: &ChangeAssessment,
    ) -> ChangeInvestigator<'_> {
        let ChangeVersions { running, others } = &self.versions;
        let assigned = running.assignments(&assessing.experiment_subject(looked.change));
        match others.get(&version_key(&assigned)) {
            Some(other) => ChangeInvestigator { prompts: &other.prompts, access: Ok(&other.access), assigned },
            None => ChangeInvestigator {
                prompts: &self.setting.prompts,
                access: self.setting.investigator_or_why(),
                assigned,
            },
        }
    }
}

fn version_key(assigned: &[VersionAssignment]) -> Vec<String> {
    assigned.iter().map(|assigned| format!("{}@{}", assigned.prompt, assigned.version)).collect()
}
