//! Names the catalogue's tools and skills in a prompt.
//!
//! Base tools and default skills are in the prefix, sorted, whatever the task; what the task needs is named behind
//! everything that is cached. A definition is shown as text of ours only if a person approved it. Of others, the name
//! and a generated signature, contained.

use std::collections::BTreeSet;

use proem_engine::Error;
use proem_guard::{LabelTree, Untrusted};
use proem_select::catalogue::{Approval, Capability, Catalogue, CatalogueEntryKind, signature};
use proem_select::select::{
    BaseNames, Caps, CatalogueIndex, FEATURE_NAMES, Query, Ranking, RejectionReason, Selector, TaskEmbedding,
    choose_capabilities,
};

/// The catalogue to select from, and the task prepared for it.
#[derive(Debug, Clone, Copy)]
pub struct SelectionTask<'r> {
    /// The catalogue to select from.
    pub catalogue: &'r Catalogue,
    /// The catalogue, prepared.
    pub index: &'r CatalogueIndex,
    /// Languages, words and weights.
    pub selector: &'r Selector,
    /// The task, prepared.
    pub query: &'r Query,
    /// The embedding model's view of the task. `None` if there is none or it failed.
    pub meant: Option<TaskEmbedding<'r>>,
}

/// The selected capabilities.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapabilitySelection {
    /// Chosen entries and the best of the others, in the order of the ranking.
    pub candidates: Vec<CapabilityCandidate>,
    /// Whether nothing of the catalogue fits.
    pub abstained: bool,
    /// The probability below which an entry doesn't fit.
    pub threshold: f32,
    /// How many entries the catalogue has.
    pub entries: usize,
    /// Why words alone decided. `None` if meaning did too.
    pub degraded: Option<String>,
    /// Whether only the beginning of the task was looked at.
    pub cut: bool,
    /// Base tools and default skills that are in the catalogue and not approved.
    pub unapproved_base: Vec<String>,
}

/// One entry that was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityCandidate {
    /// The entry's name in the catalogue.
    pub name: String,
    /// Whether it is a tool or a skill.
    pub kind: CatalogueEntryKind,
    /// Whether a person approved its definition.
    pub approval: Approval,
    /// How likely the task needs it, 0 to 1.
    pub score: f32,
    /// Why it was not chosen. `None` if it was.
    pub cut: Option<RejectionReason>,
    /// The task's words that it has too.
    pub words: Vec<String>,
    /// The example of its own that is nearest.
    pub example: Option<Untrusted<String>>,
    /// Each kind of evidence by name, 0 to about 1.
    pub evidence: Vec<(&'static str, f32)>,
    /// The sentence of the task that speaks for it, from 1; 0 for the whole.
    pub part: usize,
}

impl CapabilitySelection {
    /// The names of chosen entries of a kind, in the order of the ranking.
    pub fn chosen(&self, kind: CatalogueEntryKind) -> impl Iterator<Item = &str> {
        let chosen = self.candidates.iter().filter(move |candidate| candidate.cut.is_none() && candidate.kind == kind);
        chosen.map(|candidate| candidate.name.as_str())
    }
}

/// Ranks the catalogue and chooses.
pub(super) fn select(
    selecting: &SelectionTask<'_>,
    caps: &Caps,
    base: &BaseNames<'_>,
) -> Result<CapabilitySelection, Error> {
    let SelectionTask { catalogue, index, selector, query, meant } = selecting;
    let entries = catalogue.entries();
    let ranking = selector.rank(entries, index, query, meant.as_ref())?;
    let selection = choose_capabilities(entries, &ranking, caps, base);
    let chosen = selection.chosen.iter().map(|chosen| (chosen.rank, None));
    let cut = selection.cut.iter().map(|cut| (cut.rank, Some(cut.reason)));
    let mut looked_at: Vec<(usize, Option<RejectionReason>)> = chosen.chain(cut).collect();
    looked_at.sort_unstable_by_key(|(rank, _)| *rank);
    let candidates =
        looked_at.into_iter().filter_map(|(rank, cut)| candidate(selecting, &ranking, rank, cut)).collect();
    let unapproved = |name: &&str| catalogue.get(name).is_some_and(|entry| entry.approval() == Approval::Outside);
    Ok(CapabilitySelection {
        candidates,
        abstained: selection.abstained,
        threshold: caps.min_score.unwrap_or(ranking.threshold),
        entries: entries.len(),
        degraded: ranking.degraded,
        cut: ranking.cut,
        unapproved_base: base.iter().filter(unapproved).map(str::to_owned).collect(),
    })
}

fn candidate(
    selecting: &SelectionTask<'_>,
    ranking: &Ranking,
    rank: usize,
    cut: Option<RejectionReason>,
) -> Option<CapabilityCandidate> {
    let SelectionTask { catalogue, index, selector, query, .. } = selecting;
    let ranked = ranking.ranked.get(rank)?;
    let entry = catalogue.entries().get(ranked.entry)?;
    let example = selector.nearest_example(entry, query);
    Some(CapabilityCandidate {
        name: entry.name().as_str().to_owned(),
        kind: entry.kind(),
        approval: entry.approval(),
        score: ranked.probability,
        cut,
        words: selector.shared_words(index, query, ranked),
        example: example.and_then(|example| entry.definition().examples.get(example).cloned()),
        evidence: FEATURE_NAMES.into_iter().zip(ranked.features).collect(),
        part: ranked.part,
    })
}

/// The definitions of base tools and default skills that a person approved, sorted by name.
pub(super) fn core(catalogue: &Catalogue, named: &BTreeSet<&str>) -> LabelTree {
    LabelTree::list(named.iter().filter_map(|name| approved_definition(catalogue.get(name)?)))
}

/// The chosen entries that a person approved, with their definitions, sorted by name.
pub(super) fn approved_entries(catalogue: &Catalogue, selected: &CapabilitySelection) -> LabelTree {
    LabelTree::list(chosen_entries(catalogue, selected).into_iter().filter_map(approved_definition))
}

/// The chosen entries that nobody approved: name and generated signature, sorted by name.
pub(super) fn unapproved_entries(catalogue: &Catalogue, selected: &CapabilitySelection) -> Vec<Untrusted<String>> {
    let outside = chosen_entries(catalogue, selected).into_iter().filter(|entry| entry.approval() == Approval::Outside);
    outside.map(signature).collect()
}

fn chosen_entries<'c>(catalogue: &'c Catalogue, selected: &CapabilitySelection) -> Vec<&'c Capability> {
    let names = selected.candidates.iter().filter(|candidate| candidate.cut.is_none());
    let names: BTreeSet<&str> = names.map(|candidate| candidate.name.as_str()).collect();
    names.into_iter().filter_map(|name| catalogue.get(name)).collect()
}

fn approved_definition(entry: &Capability) -> Option<LabelTree> {
    let approved = entry.approved()?;
    let about = approved.description.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(LabelTree::from([
        ("kind", entry.kind().as_str().into()),
        ("signature", approved.signature.into()),
        ("about", about.into()),
    ]))
}
