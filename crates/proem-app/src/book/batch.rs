//! The weekly batch: proposals that follow from the outcomes in a project's records.
//!
//! Invariants: the batch changes no setting and no book. Its proposals depend on the records and on earlier decisions
//! alone, not on the time: the same records give the same proposals with the same ids. Only a person's explicit verdict
//! and a contract that code checked count as outcomes. No text of a person, a model or a repository is in a proposal,
//! only our words, numbers, ids of runs and names of rules.

mod revisions;
mod thresholds;

use std::collections::BTreeMap;
use std::path::Path;

use proem_engine::run::Time;
use proem_store::Store;
use schemars::JsonSchema;
use serde::Serialize;

use self::revisions::weigh_prompts;
use self::thresholds::weigh_risk_thresholds;
use super::journal::{Journal, JournalDecision};
use super::promotion::{BookChoice, DecidedBook};
use super::proposals::{
    ProposalDraft, ProposedChange, describe_proposal, project_mark, read_proposals, remove_proposal, write_proposal,
};
use crate::error::Error;
use crate::message::WithNotes;
use crate::places::Places;
use crate::records;

/// The chance that a project ever gets a proposal without a reason, over all its batches: half of it for thresholds,
/// half for prompts.
pub const BATCH_ERROR: f64 = 0.05;

/// Whether a batch writes its proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchWriting {
    /// It writes them.
    Write,
    /// It only says which.
    Show,
}

/// The person who starts a batch, and what it may write.
#[derive(Debug, Clone, Copy)]
pub struct BatchOptions<'o> {
    /// A folder of the project.
    pub root: &'o Path,
    /// The person's name, under which proposals are made.
    pub by: &'o str,
    /// Whether it writes.
    pub writing: BatchWriting,
}

/// The results of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackBatch {
    /// The subjects that have outcomes, each with what these show.
    pub subjects: Vec<BatchSubject>,
    /// The proposals that follow.
    pub proposals: Vec<BatchProposal>,
    /// The ids of earlier proposals of batches that are removed, because newer ones replace them or because the outcomes
    /// no longer show them.
    pub removed: Vec<String>,
}

/// A subject with its outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchSubject {
    /// A setting, or a prompt with its version. The latter is from outside.
    pub name: String,
    /// How many outcomes count: since the last decision about it.
    pub n: u64,
    /// Whether they show that a change is better.
    pub is_shown: bool,
    /// The finding, in our words.
    pub finding: String,
}

/// The state of a batch's proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BatchProposalState {
    /// It is made now, or would be.
    New,
    /// It waits for a person since an earlier batch.
    Open,
    /// A person decided about the same evidence before, so it is not made again.
    Decided,
}

/// The book that holds a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BatchBook {
    /// The user's own: thresholds are the user's alone.
    User,
    /// The project's, if it has one, or else the user's.
    Nearest,
}

/// A proposal of a batch, as the command prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchProposal {
    /// The name of its folder in `proposed/`, as `approve` takes it.
    pub id: String,
    /// Whether it is new.
    pub state: BatchProposalState,
    /// The book that holds it.
    pub book: BatchBook,
    /// The change in words, escaped for display.
    pub change: String,
    /// Why, with the number of outcomes.
    pub because: String,
    /// The measurements, one line each, the expected effect first.
    pub evidence: Vec<String>,
}

/// Something to propose.
#[derive(Debug)]
struct Finding {
    change: ProposedChange,
    because: String,
    evidence: Vec<String>,
    /// The time of the newest outcome: the proposal's own time, so that the same evidence gives the same proposal.
    newest: Time,
}

/// The books and earlier decisions of a project.
#[derive(Debug)]
struct BatchScene {
    nearest: DecidedBook,
    user: DecidedBook,
    /// The mark of the project.
    mark: String,
}

impl BatchScene {
    fn open(root: &Path, places: &Places) -> Result<Self, Error> {
        let nearest = DecidedBook::open(root, places, BookChoice::Nearest)?;
        let user = DecidedBook::open(root, places, BookChoice::User)?;
        let mark = project_mark(&nearest.project().key);
        Ok(Self { nearest, user, mark })
    }

    const fn book(&self, which: BatchBook) -> &DecidedBook {
        match which {
            BatchBook::User => &self.user,
            BatchBook::Nearest => &self.nearest,
        }
    }
}

/// The time of the last decision about each subject. A journal in a project is from outside: a line in it can hide
/// outcomes from a batch, and never add any.
fn last_decisions(journal: &Journal) -> BTreeMap<String, Time> {
    let mut last = BTreeMap::new();
    for (_, entry) in &journal.entries {
        let decides = !matches!(
            entry.decision,
            JournalDecision::ExperimentStarted { .. } | JournalDecision::ExperimentStopped { .. }
        );
        let Some(at) = entry.at.parse::<jiff::Timestamp>().ok().filter(|_| decides) else { continue };
        let known = last.entry(entry.about.clone()).or_insert(Time(i64::MIN));
        *known = (*known).max(Time(at.as_millisecond()));
    }
    last
}

/// Weighs the outcomes of a project and proposes what they show.
///
/// # Errors
///
/// If the records, a book, its journal or its proposals can't be read, or a proposal can't be written.
pub async fn run_feedback_batch(
    options: &BatchOptions<'_>,
    places: &Places,
) -> Result<WithNotes<FeedbackBatch>, Error> {
    let scene = BatchScene::open(options.root, places)?;
    let WithNotes { value: store, notes } = records::look_at_records(scene.nearest.project()).await?;
    let weighed = weigh_outcomes(&scene, &store).await;
    store.close().await;
    let (subjects, findings) = weighed?;
    let batch = settle_proposals(&scene, subjects, &findings, options)?;
    Ok(WithNotes { value: batch, notes })
}

async fn weigh_outcomes(scene: &BatchScene, store: &Store) -> Result<(Vec<BatchSubject>, Vec<Finding>), Error> {
    let (mut subjects, mut findings) = weigh_risk_thresholds(scene, store, BATCH_ERROR / 2.0).await?;
    let (prompts, revisions) = weigh_prompts(scene, store, BATCH_ERROR / 2.0).await?;
    subjects.extend(prompts);
    findings.extend(revisions);
    subjects.extend(quarantine_subject(scene, store).await?);
    Ok((subjects, findings))
}

/// People's decisions about texts that the guard set aside. No setting follows from them, and a reader should know that.
async fn quarantine_subject(scene: &BatchScene, store: &Store) -> Result<Option<BatchSubject>, Error> {
    let senders = store.quarantined_senders(&records::records_owner(scene.nearest.project())).await?;
    let sum =
        |part: fn(&proem_store::query::SenderRow) -> u64| senders.iter().map(part).fold(0_u64, u64::saturating_add);
    let (released, dismissed) = (sum(|sender| sender.released), sum(|sender| sender.dismissed));
    let n = released.saturating_add(dismissed);
    let finding = format!(
        "people released {released} and dismissed {dismissed} of the texts in quarantine; rules decide that, and no setting \
         of a project makes them weaker"
    );
    Ok((n > 0).then(|| BatchSubject { name: "guard".to_owned(), n, is_shown: false, finding }))
}

/// The book in which a change is proposed. `None` for a change that batches don't propose.
const fn changed_book(change: &ProposedChange) -> Option<BatchBook> {
    match change {
        ProposedChange::Threshold { .. } => Some(BatchBook::User),
        ProposedChange::Revision { .. } => Some(BatchBook::Nearest),
        ProposedChange::Version { .. } | ProposedChange::Current { .. } => None,
    }
}

/// Writes the new proposals, and removes the earlier ones of batches in this project that no finding repeats.
fn settle_proposals(
    scene: &BatchScene,
    subjects: Vec<BatchSubject>,
    findings: &[Finding],
    options: &BatchOptions<'_>,
) -> Result<FeedbackBatch, Error> {
    let mut open: BTreeMap<String, BatchBook> = BTreeMap::new();
    for which in [BatchBook::Nearest, BatchBook::User] {
        for stored in read_proposals(&scene.book(which).folder)?.whole {
            let (ProposedChange::Threshold { project, .. } | ProposedChange::Revision { project, .. }) =
                &stored.proposal.change
            else {
                continue;
            };
            if *project == scene.mark && changed_book(&stored.proposal.change) == Some(which) {
                open.insert(stored.id, which);
            }
        }
    }
    let mut proposals = Vec::new();
    for finding in findings {
        let Some(which) = changed_book(&finding.change) else { continue };
        let draft = ProposalDraft {
            by: options.by,
            made: finding.newest,
            because: &finding.because,
            evidence: finding.evidence.clone(),
            change: finding.change.clone(),
            files: BTreeMap::new(),
        };
        let (id, _) = describe_proposal(&draft)?;
        let folder = &scene.book(which).folder;
        let state = if open.remove(&id).is_some() {
            BatchProposalState::Open
        } else if Journal::load(folder)?.verdict(&id).is_some() {
            BatchProposalState::Decided
        } else {
            if options.writing == BatchWriting::Write {
                write_proposal(folder, &draft)?;
            }
            BatchProposalState::New
        };
        proposals.push(BatchProposal {
            id,
            state,
            book: which,
            change: finding.change.in_words(),
            because: finding.because.clone(),
            evidence: finding.evidence.clone(),
        });
    }
    // The new ones are written first: a crash between leaves two, and the next batch removes the old one.
    if options.writing == BatchWriting::Write {
        for (id, which) in &open {
            remove_proposal(&scene.book(*which).folder, id)?;
        }
    }
    Ok(FeedbackBatch { subjects, proposals, removed: open.into_keys().collect() })
}

#[cfg(test)]
mod tests;
