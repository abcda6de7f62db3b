//! How well a score tells the commits that needed a fix, beyond what `proem-score` measures.

use proem_score::interval::Z95;
use proem_score::measure;

use super::learn::single_precision;

/// The parts into which commits are cut by size.
pub(crate) const QUINTILES: usize = 5;

/// One commit that was scored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredCommit {
    /// How risky it is by the model: any number, more is riskier.
    pub(crate) score: f64,
    pub(crate) is_bug: bool,
    /// Lines added.
    pub(crate) added: f64,
    /// Lines added and deleted.
    pub(crate) lines: f64,
}

/// An area under the ROC curve with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) area: f64,
    /// The standard error of the area.
    pub(crate) error: f64,
}

impl Area {
    /// Half the width of the 95 % interval.
    pub(crate) fn half(self) -> f64 {
        Z95 * self.error
    }
}

/// The area under the ROC curve with its standard error by DeLong, DeLong and Clarke-Pearson
/// (*Comparing the Areas under Two or More Correlated ROC Curves*, 1988), in the fast form of Sun
/// and Xu (2014). `None` with fewer than two commits of a label.
pub(crate) fn area_under_curve(judged: &[ScoredCommit]) -> Option<Area> {
    let of = |is_bug: bool| -> Vec<f64> { judged.iter().filter(|j| j.is_bug == is_bug).map(|j| j.score).collect() };
    let (bugs, rest) = (of(true), of(false));
    let all: Vec<f64> = bugs.iter().chain(&rest).copied().collect();
    let among_all = midranks(&all);
    let (of_bugs, of_rest) = among_all.split_at_checked(bugs.len())?;
    let beaten = |all: &[f64], own: &[f64], others: f64| -> Vec<f64> {
        all.iter().zip(own).map(|(all, own)| (all - own) / others).collect()
    };
    let (yes, no) = (count_of_commits(bugs.len()), count_of_commits(rest.len()));
    let for_bugs = beaten(of_bugs, &midranks(&bugs), no);
    let for_rest = beaten(of_rest, &midranks(&rest), yes);
    let variance = variance(&for_bugs)? / yes + variance(&for_rest)? / no;
    Some(Area { area: for_bugs.iter().sum::<f64>() / yes, error: libm::sqrt(variance) })
}

/// The area under the ROC curve among commits of like size: within each quintile of lines added,
/// averaged by the number of pairs. `None` if no quintile has both labels.
pub(crate) fn area_within_size(judged: &[ScoredCommit]) -> Option<f64> {
    let mut sorted = judged.to_vec();
    sorted.sort_by(|a, b| a.added.total_cmp(&b.added));
    let (mut sum, mut weight) = (0.0, 0.0);
    for quintile in sorted.chunks(sorted.len().div_ceil(QUINTILES).max(1)) {
        let scores: Vec<f64> = quintile.iter().map(|judged| judged.score).collect();
        let labels: Vec<bool> = quintile.iter().map(|judged| judged.is_bug).collect();
        let bugs = labels.iter().filter(|label| **label).count();
        let pairs = count_of_commits(bugs) * count_of_commits(labels.len().saturating_sub(bugs));
        if let Some(area) = measure::auc(&single_precision(&scores), &labels) {
            sum += pairs * area;
            weight += pairs;
        }
    }
    (weight > 0.0).then(|| sum / weight)
}

/// The share of the commits that needed a fix among the riskiest `share` of all, ties in order of
/// time.
pub(crate) fn recall_of_riskiest(judged: &[ScoredCommit], share: f64) -> Option<f64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the number of commits")]
    let first = libm::round(count_of_commits(judged.len()) * share) as usize;
    let ranked: Vec<bool> = rank_by_score(judged).iter().map(|judged| judged.is_bug).collect();
    let bugs = ranked.iter().filter(|is_bug| **is_bug).count();
    measure::recall_at(&ranked, bugs, first)
}

/// The same among the riskiest commits that together change `share` of all lines.
pub(crate) fn recall_by_lines(judged: &[ScoredCommit], share: f64) -> Option<f64> {
    let mut left = judged.iter().map(|judged| judged.lines).sum::<f64>() * share;
    let bugs = judged.iter().filter(|judged| judged.is_bug).count();
    let mut found = 0;
    for judged in rank_by_score(judged) {
        left -= judged.lines;
        if left < 0.0 {
            break;
        }
        found += usize::from(judged.is_bug);
    }
    (bugs > 0).then(|| count_of_commits(found) / count_of_commits(bugs))
}

fn rank_by_score(judged: &[ScoredCommit]) -> Vec<ScoredCommit> {
    let mut ranked = judged.to_vec();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

/// The rank of each number, the mean rank for equal ones, counted from 1.
fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|(_, a), (_, b)| a == b) {
        let rank = count_of_commits(before) + (count_of_commits(tied.len()) + 1.0) / 2.0;
        before += tied.len();
        for (place, _) in tied {
            if let Some(slot) = ranks.get_mut(*place) {
                *slot = rank;
            }
        }
    }
    ranks
}

fn variance(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / count_of_commits(values.len());
    let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    (values.len() > 1).then(|| squares / (count_of_commits(values.len()) - 1.0))
}

#[expect(clippy::cast_precision_loss, reason = "a count of commits")]
const fn count_of_commits(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored_commits(scores: &[f64], labels: &[u8]) -> Vec<ScoredCommit> {
        let one =
            |(score, label): (&f64, &u8)| ScoredCommit { score: *score, is_bug: *label == 1, added: 0.0, lines: 1.0 };
        scores.iter().zip(labels).map(one).collect()
    }

    #[test]
    fn the_area_agrees_with_the_count_of_pairs_and_delongs_variance() {
        let judged = scored_commits(&[0.1, 0.4, 0.35, 0.8, 0.8], &[0, 0, 1, 1, 0]);
        let area = area_under_curve(&judged).unwrap();
        // Bug 0.35 beats one of three, bug 0.8 two and ties one: 1/3 and 2.5/3.
        assert!((area.area - 3.5 / 6.0).abs() < 1e-12);
        // Placements: bugs (1/3, 5/6), the rest 1, 1/2 and 1/4, with variances 1/8 and 7/48.
        let expected = (1.0 / 8.0) / 2.0 + (7.0 / 48.0) / 3.0;
        assert!((area.error * area.error - expected).abs() < 1e-12, "{area:?}");
    }

    #[test]
    fn one_label_has_no_area() {
        assert_eq!(area_under_curve(&scored_commits(&[1.0, 2.0], &[1, 1])), None);
        assert_eq!(area_under_curve(&[]), None);
        assert_eq!(area_within_size(&scored_commits(&[1.0, 2.0], &[1, 1])), None);
        assert_eq!(recall_of_riskiest(&scored_commits(&[1.0], &[0]), 0.2), None);
    }

    #[test]
    fn size_alone_says_nothing_within_a_size() {
        // The score is the size, which tells the labels between quintiles, never within.
        let judged: Vec<ScoredCommit> = (0..50)
            .map(|n| {
                let size = f64::from(n / 10);
                ScoredCommit { score: size, is_bug: n % 10 < 1 + n / 10, added: size, lines: size }
            })
            .collect();
        assert_eq!(area_within_size(&judged), Some(0.5));
        assert!(area_under_curve(&judged).unwrap().area > 0.55);
    }

    #[test]
    fn recall_counts_commits_or_lines() {
        let mut judged = scored_commits(&[5.0, 4.0, 3.0, 2.0, 1.0], &[1, 0, 1, 0, 0]);
        assert_eq!((recall_of_riskiest(&judged, 0.2), recall_of_riskiest(&judged, 0.6)), (Some(0.5), Some(1.0)));
        judged[0].lines = 96.0;
        // The first has 96 of 100 lines, so nothing fits into 20 of them.
        assert_eq!(recall_by_lines(&judged, 0.2), Some(0.0));
        assert_eq!(recall_by_lines(&judged, 0.97), Some(0.5));
    }
}
