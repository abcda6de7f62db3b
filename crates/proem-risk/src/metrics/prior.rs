//! Earlier mending of a file: commits that fixed or reverted something and touched it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::words::{commit_count_words, saturating_u32};
use super::{DETAILS, Survey};
use crate::history::{FileId, Mends, Past};
use crate::metric::{Fraction, Metric, MetricName, PercentileRank, Sentence, SentencePart};

/// The fixes and the reverts of each file that has any, ascending.
#[derive(Debug, Default)]
pub(super) struct MendTimes {
    fixes: Vec<u32>,
    reverts: Vec<u32>,
}

impl MendTimes {
    /// Counts them over all counted commits of a past.
    pub(super) fn of(past: &Past<'_>) -> Self {
        let (mut fixes, mut reverts) = (BTreeMap::new(), BTreeMap::new());
        for (index, commit) in past.commits() {
            let counts = match commit.mends {
                Mends::Nothing => continue,
                Mends::Fix => &mut fixes,
                Mends::Revert => &mut reverts,
            };
            for touch in past.history().touches(index) {
                let count: &mut u32 = counts.entry(touch.file).or_default();
                *count = count.saturating_add(1);
            }
        }
        Self { fixes: ascending(fixes), reverts: ascending(reverts) }
    }
}

fn ascending(counts: BTreeMap<FileId, u32>) -> Vec<u32> {
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable();
    counts
}

/// The earlier fixes or reverts of a file of the change.
pub(super) fn prior_fix_metric(survey: &Survey<'_>, file: u32, name: MetricName) -> Metric {
    let (wanted, verb) = match name {
        MetricName::PriorReverts => (Mends::Revert, "reverted"),
        _ => (Mends::Fix, "fixed"),
    };
    if survey.reach().is_some() {
        return Metric::unknown(name, Sentence::ours("the history doesn't go back to its beginning"));
    }
    let Some(own) = survey.history_of(file) else {
        return Metric { evidence: Sentence::ours("the file is new"), ..Metric::of(name, 0.0) };
    };
    let (past, history) = (survey.facts().past, survey.facts().past.history());
    let total = saturating_u32(past.touching(own).count());
    let mended: Vec<_> = past.touching(own).filter(|(_, commit)| commit.mends == wanted).collect();
    let number = saturating_u32(mended.len());
    let of = Fraction { numerator: u64::from(number), denominator: u64::from(total) };
    let others = if wanted == Mends::Fix { &survey.mended().fixes } else { &survey.mended().reverts };
    let subject =
        |index| Sentence(alloc::vec![SentencePart::Message(alloc::string::String::from(history.subject(index)))]);
    Metric {
        of: Some(of),
        rank: PercentileRank::among(others, number),
        excluded: survey.left_out(),
        evidence: Sentence::ours(format!(
            "{number} of the {} that touched it {verb} something",
            commit_count_words(total)
        )),
        details: mended.iter().take(DETAILS).map(|(index, _)| subject(*index)).collect(),
        total: Some(number),
        ..Metric::of(name, f64::from(number))
    }
}
