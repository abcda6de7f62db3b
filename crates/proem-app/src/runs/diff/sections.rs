//! The sections of two requests, side by side.

use proem_engine::cache::miss::RequestDifference;
use proem_store::record::SectionRow;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Pair;

/// A section of one request, of the other, or of both.
#[derive(Debug, Clone, Copy)]
pub struct SectionPair<'r> {
    /// As it was.
    pub first: Option<&'r SectionRow>,
    /// As it is.
    pub second: Option<&'r SectionRow>,
}

/// How a section differs between two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionChange {
    /// Its text is the same.
    Same,
    /// Its text is another.
    Changed,
    /// Only the earlier request has it.
    OnlyFirst,
    /// Only the later request has it.
    OnlySecond,
}

proem_text::word_table! {
    /// Its name in documents.
    pub SectionChange {
        Same = "same",
        Changed = "changed",
        OnlyFirst = "only-first",
        OnlySecond = "only-second",
    }
}

impl SectionPair<'_> {
    /// The change of its text.
    #[must_use]
    pub fn state(&self) -> SectionChange {
        match (self.first, self.second) {
            (Some(first), Some(second)) if first.text == second.text => SectionChange::Same,
            (Some(_), None) => SectionChange::OnlyFirst,
            (None, Some(_)) => SectionChange::OnlySecond,
            _ => SectionChange::Changed,
        }
    }

    /// The section as it is in the later request, or as it was.
    #[must_use]
    pub fn either(&self) -> Option<&SectionRow> {
        self.second.or(self.first)
    }
}

/// The sections of both requests.
#[must_use]
pub fn section_pairs<'r>(pair: &'r Pair<'_>) -> Vec<SectionPair<'r>> {
    pair_sections(&pair.first.row.sections, &pair.second.row.sections)
}

/// The sections of both, those of the same name in one row where their order allows it.
#[must_use]
pub fn pair_sections<'r>(first: &'r [SectionRow], second: &'r [SectionRow]) -> Vec<SectionPair<'r>> {
    let names = |sections: &'r [SectionRow]| sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>();
    let mut rows = Vec::new();
    let only_first = |index: usize| SectionPair { first: first.get(index), second: None };
    let only_second = |index: usize| SectionPair { first: None, second: second.get(index) };
    for op in capture_diff_slices(Algorithm::Myers, &names(first), &names(second)) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => rows.extend((0..len).map(|at| SectionPair {
                first: first.get(old_index.saturating_add(at)),
                second: second.get(new_index.saturating_add(at)),
            })),
            DiffOp::Delete { old_index, old_len, .. } => {
                rows.extend((old_index..old_index.saturating_add(old_len)).map(only_first));
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                rows.extend((new_index..new_index.saturating_add(new_len)).map(only_second));
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                rows.extend((old_index..old_index.saturating_add(old_len)).map(only_first));
                rows.extend((new_index..new_index.saturating_add(new_len)).map(only_second));
            }
        }
    }
    rows
}

/// The change of the part before all sections. `None` if it is unknown, or there is none.
#[must_use]
pub fn tools_state(pair: &Pair<'_>) -> Option<SectionChange> {
    let before = (pair.first.tokens_before(), pair.second.tokens_before());
    match (&pair.compared.first_change, before) {
        (_, (0, 0)) => None,
        (Some(RequestDifference::Tools), (_, 0)) => Some(SectionChange::OnlyFirst),
        (Some(RequestDifference::Tools), (0, _)) => Some(SectionChange::OnlySecond),
        (Some(RequestDifference::Tools), _) => Some(SectionChange::Changed),
        // Of what was asked elsewhere, and of what is not kept, no more was compared.
        (Some(RequestDifference::Model | RequestDifference::Endpoint), _) => None,
        _ => (pair.first.parts().has_tools() && pair.second.parts().has_tools()).then_some(SectionChange::Same),
    }
}
