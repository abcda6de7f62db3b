//! Proposals as JSON.

use proem_app::book::proposals::Proposal;
use proem_app::book::proposing::{CaseCounts, CheckedProposal, CheckedProposals};
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::book::diff::BookDiffOutput;

/// The output of `book proposals --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposalsOutput<'p> {
    /// The proposals that are as they were made, by id.
    proposals: Vec<ProposalOutput<'p>>,
    /// Folders that are no proposal as it was made, and problems and conflicts of the journal.
    problems: &'p [String],
}

/// One proposal.
#[derive(Debug, Serialize, JsonSchema)]
struct ProposalOutput<'p> {
    /// The name of its folder in `proposed/`.
    id: &'p str,
    /// Its description.
    proposal: &'p Proposal,
    /// Everything because of which it can't be approved as it is.
    problems: Vec<&'p str>,
    /// Its prompt's cases, without a model.
    cases: CaseCounts,
    /// The cost of both versions' calls, in words. Absent for a setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'p str>,
    /// The differences from its base. Absent for a setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<BookDiffOutput<'p>>,
}

impl<'p> ProposalsOutput<'p> {
    pub(super) fn new(checked: &'p CheckedProposals) -> Self {
        let one = |proposal: &'p CheckedProposal| ProposalOutput {
            id: &proposal.stored.id,
            proposal: &proposal.stored.proposal,
            problems: proposal.obstacles(),
            cases: proposal.cases,
            cost: proposal.cost.as_deref(),
            difference: proposal.difference.as_ref().map(BookDiffOutput::new),
        };
        Self { proposals: checked.whole.iter().map(one).collect(), problems: &checked.problems }
    }
}
