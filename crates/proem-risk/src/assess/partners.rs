//! Usual partners that a change misses.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Partner;
use crate::history::FileId;
use crate::metrics::{CoChange, Survey, is_partner_imported, missing_usual_partners};

/// The most partners that are named.
const MOST: usize = 20;

/// How much a partner weighs that an import explains: a compiler or a reader of the code would find it,
/// while the others are known from history alone. Half is a choice, not a measurement.
const EXPLAINED: f64 = 0.5;

/// The partners that are missing, most usual first, each once: for the file that it goes with most. Beside them
/// how many more there are.
pub(super) fn missing_partners(survey: &Survey<'_>, together: &[(u32, CoChange)]) -> (Vec<Partner>, u32) {
    let history = survey.facts().past.history();
    let mut most: BTreeMap<FileId, Partner> = BTreeMap::new();
    for (file, co_change) in together {
        for partner in missing_usual_partners(survey, co_change) {
            if most.get(&partner.file).is_some_and(|known| known.low >= partner.low) {
                continue;
            }
            let named = Partner {
                path: history.path(partner.path).to_text(),
                of: *file,
                together: partner.together,
                low: partner.low,
                imported: is_partner_imported(survey, *file, partner),
            };
            most.insert(partner.file, named);
        }
    }
    let weight = |partner: &Partner| if partner.imported == Some(true) { partner.low * EXPLAINED } else { partner.low };
    let mut partners: Vec<Partner> = most.into_values().collect();
    partners.sort_by(|one, other| weight(other).total_cmp(&weight(one)).then_with(|| one.path.cmp(&other.path)));
    let more = partners.len().saturating_sub(MOST);
    partners.truncate(MOST);
    (partners, u32::try_from(more).unwrap_or(u32::MAX))
}
