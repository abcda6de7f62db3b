//! From a ranking to what is named in the prompt.

use std::collections::BTreeSet;

use super::rank::Ranking;
use crate::catalogue::{Capability, CatalogueEntryKind};
use crate::mode::Mode;

/// How much may be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Caps {
    /// The mode of the task.
    pub mode: Mode,
    /// The most tools, base tools among them.
    pub tools: usize,
    /// The most skills, default skills among them.
    pub skills: usize,
    /// The most of each kind that a ranking may add.
    pub results: usize,
    /// The least probability. `None` takes the calibrated threshold.
    pub min_score: Option<f32>,
}

/// The selected and the other entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Chosen entries, tools and skills, the likeliest first.
    pub chosen: Vec<SelectedEntry>,
    /// The best of those that were not, in the order of the ranking.
    pub cut: Vec<RejectedEntry>,
    /// Whether nothing of the catalogue fits the task.
    pub abstained: bool,
}

/// A chosen entry.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedEntry {
    /// Its place in the catalogue.
    pub entry: usize,
    /// Its place in the ranking.
    pub rank: usize,
}

/// An entry that was not chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedEntry {
    /// Its place in the catalogue.
    pub entry: usize,
    /// Its place in the ranking.
    pub rank: usize,
    /// The reason that it was kept out.
    pub reason: RejectionReason,
}

/// Why an entry was not chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RejectionReason {
    /// It is unlikely to fit.
    Unlikely,
    /// It may not be used in this mode.
    Mode,
    /// Enough were found.
    Results,
    /// No more tools or skills may be named.
    Cap,
    /// It is named anyway, as a base tool or default skill.
    Named,
}

impl RejectionReason {
    /// Why, in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Unlikely => "below the threshold",
            Self::Mode => "not for this mode",
            Self::Results => "beyond the number of results requested",
            Self::Cap => "beyond the cap",
            Self::Named => "named already",
        }
    }
}

/// How many entries that were not chosen are named with their reason.
const MAX_CUT: usize = 10;

/// The names that are listed for any task.
#[derive(Debug, Clone, Default)]
pub struct BaseNames<'n> {
    /// Base tools.
    pub tools: BTreeSet<&'n str>,
    /// Default skills.
    pub skills: BTreeSet<&'n str>,
}

impl<'n> BaseNames<'n> {
    /// Every name, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &'n str> {
        self.tools.union(&self.skills).copied()
    }

    fn contains(&self, name: &str) -> bool {
        self.tools.contains(name) || self.skills.contains(name)
    }
}

/// Chooses from a ranking. Entries that are `named` anyway count towards the caps, whether the catalogue has them or
/// not, and aren't chosen twice.
#[must_use]
pub fn choose_capabilities(
    capabilities: &[Capability],
    ranking: &Ranking,
    caps: &Caps,
    named: &BaseNames<'_>,
) -> Selection {
    let least = caps.min_score.unwrap_or(ranking.threshold);
    let mut selection = Selection { abstained: true, ..Selection::default() };
    let (mut tools, mut skills) =
        (RemainingPlaces::new(caps.tools, named.tools.len()), RemainingPlaces::new(caps.skills, named.skills.len()));
    for (rank, ranked) in ranking.ranked.iter().enumerate() {
        let Some(capability) = capabilities.get(ranked.entry) else { continue };
        let likely = ranked.probability >= least;
        selection.abstained &= !likely;
        let room = if capability.kind() == CatalogueEntryKind::Tool { &mut tools } else { &mut skills };
        let reason = if !likely {
            Some(RejectionReason::Unlikely)
        } else if named.contains(capability.name().as_str()) {
            Some(RejectionReason::Named)
        } else if !capability.definition().modes.allow(caps.mode) {
            Some(RejectionReason::Mode)
        } else if room.found >= caps.results {
            Some(RejectionReason::Results)
        } else if room.left == 0 {
            Some(RejectionReason::Cap)
        } else {
            None
        };
        match reason {
            None => {
                room.found = room.found.saturating_add(1);
                room.left = room.left.saturating_sub(1);
                selection.chosen.push(SelectedEntry { entry: ranked.entry, rank });
            }
            Some(reason) if selection.cut.len() < MAX_CUT => {
                selection.cut.push(RejectedEntry { entry: ranked.entry, rank, reason });
            }
            Some(_) => {}
        }
        if !likely && selection.cut.len() >= MAX_CUT {
            break;
        }
    }
    selection
}

struct RemainingPlaces {
    left: usize,
    found: usize,
}

impl RemainingPlaces {
    const fn new(cap: usize, named: usize) -> Self {
        Self { left: cap.saturating_sub(named), found: 0 }
    }
}
