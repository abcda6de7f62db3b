//! The counts of signals, and what they are worth.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString as _;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{ENOUGH, SignalName, WORTHY};
use crate::metric::{ConfidenceInterval, Fraction};
use crate::{Error, ErrorKind};

/// The fewest past commits, and of those that needed a fix, for an AUC.
const FEWEST: (usize, usize) = (100, 10);

/// Percentiles from which a change is MEDIUM and HIGH, for changes like this one.
const BANDS: [f64; 2] = [80.0, 95.0];

/// The shipped figures.
const TRAINED: &str = include_str!("../../data/signals-1.json");

/// How often changes with each signal needed a fix.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SignalTable {
    /// Those that needed a fix, of all past commits that are old enough.
    pub base: Base,
    /// By signal: those of them that had it.
    pub counts: BTreeMap<SignalName, Base>,
    /// By signal: how many of those would have needed a fix if only the lines that they add mattered.
    pub by_size: BTreeMap<SignalName, f64>,
}

/// A past commit that is counted.
pub(super) struct MeasuredCommit<'s> {
    pub(super) signals: &'s BTreeSet<SignalName>,
    pub(super) needed_fix: bool,
    /// Lines added.
    pub(super) added: f64,
}

/// Into how many classes of like size commits are put.
const SIZES: usize = 5;

/// Commits that needed a fix, of some commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// How many needed one.
    pub fixed: u64,
    /// Of how many.
    pub commits: u64,
}

/// The figures of one signal in the clones that the shipped figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrainedSignal {
    /// Which.
    pub signal: SignalName,
    /// Commits with it.
    pub with: Base,
    /// How many of these would have needed a fix at the base rate of each clone.
    pub expected: f64,
    /// How many by the rates of commits of like size in each clone.
    pub expected_by_size: f64,
}

/// The source of a row's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowSource {
    /// This repository's past.
    Here,
    /// The clones of the shipped figures, because too few commits had the signal here.
    Clones,
    /// Nowhere: it needs more of each past commit than its changed lines.
    Unmeasured,
}

/// One signal with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignalRow {
    /// Which.
    pub signal: SignalName,
    /// Commits with it, and those of them that needed a fix.
    pub with: Base,
    /// The share's 95 % interval (Wilson 1927).
    pub between: Option<ConfidenceInterval>,
    /// The share over the base rate.
    pub ratio: Option<f64>,
    /// The share over that of commits of like size. `None` where sizes are unknown.
    pub ratio_by_size: Option<f64>,
    /// The source of the figures.
    pub source: RowSource,
    /// Whether it raises a level.
    pub raises: bool,
}

/// How well the score told which past changes needed a fix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// Past changes, and those of them that needed a fix.
    pub base: Base,
    /// The same of those in the same band of percentiles: below 80, below 95, or above.
    pub like_this: Option<Base>,
    /// The probability that a change which needed a fix scores above one that didn't.
    pub auc: f64,
    /// The same for lines added.
    pub auc_lines: f64,
}

impl Base {
    /// The share. `None` of nothing.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        self.fraction().share()
    }

    /// The share with its 95 % interval.
    #[must_use]
    pub const fn fraction(self) -> Fraction {
        Fraction { numerator: self.fixed, denominator: self.commits }
    }

    fn add(&mut self, needed: bool) {
        self.commits = self.commits.saturating_add(1);
        self.fixed = self.fixed.saturating_add(u64::from(needed));
    }
}

impl SignalTable {
    pub(super) fn of<'s>(commits: impl Iterator<Item = MeasuredCommit<'s>>) -> Self {
        let mut commits: Vec<MeasuredCommit<'s>> = commits.collect();
        commits.sort_by(|one, other| one.added.total_cmp(&other.added));
        let mut table = Self::default();
        for like in commits.chunks(commits.len().div_ceil(SIZES).max(1)) {
            let mut base = Base::default();
            like.iter().for_each(|commit| base.add(commit.needed_fix));
            for commit in like {
                table.base.add(commit.needed_fix);
                for signal in commit.signals {
                    table.counts.entry(*signal).or_default().add(commit.needed_fix);
                    *table.by_size.entry(*signal).or_default() += base.share().unwrap_or_default();
                }
            }
        }
        table
    }

    /// The row of a signal.
    #[must_use]
    pub fn row(&self, signal: SignalName, trained: &[TrainedSignal]) -> SignalRow {
        let with = self.counts.get(&signal).copied().unwrap_or_default();
        if !signal.is_measured() {
            let source = RowSource::Unmeasured;
            return SignalRow { signal, with, between: None, ratio: None, ratio_by_size: None, source, raises: false };
        }
        let here = Expected {
            base: self.base.share().map(|share| share * exact_f64(with.commits)),
            by_size: self.by_size.get(&signal).copied(),
        };
        let is_enough = with.commits >= ENOUGH && self.base.fixed > 0;
        match trained.iter().find(|one| one.signal == signal) {
            Some(clones) if !is_enough => {
                let expected = Expected { base: Some(clones.expected), by_size: Some(clones.expected_by_size) };
                signal_row(signal, clones.with, expected, RowSource::Clones)
            }
            _ => signal_row(signal, with, here, RowSource::Here),
        }
    }

    /// All rows, in the order of [`SignalName::ALL`].
    #[must_use]
    pub fn rows(&self, trained: &[TrainedSignal]) -> Vec<SignalRow> {
        SignalName::ALL.iter().map(|signal| self.row(*signal, trained)).collect()
    }
}

/// How many commits with a signal would have needed a fix without it.
#[derive(Debug, Clone, Copy)]
struct Expected {
    base: Option<f64>,
    by_size: Option<f64>,
}

/// A signal that only large commits have tells what the rank tells already, so both ratios count.
fn signal_row(signal: SignalName, with: Base, expected: Expected, source: RowSource) -> SignalRow {
    let between = with.fraction().between();
    let over = |expected: Option<f64>| {
        expected.filter(|expected| *expected > 0.0).map(|expected| exact_f64(with.fixed) / expected)
    };
    let (ratio, ratio_by_size) = (over(expected.base), over(expected.by_size));
    let base = expected.base.map(|base| base / exact_f64(with.commits.max(1)));
    let is_above = between.zip(base).is_some_and(|(between, base)| between.low > base);
    let is_worthy = [ratio, ratio_by_size].iter().all(|ratio| ratio.is_some_and(|ratio| ratio >= WORTHY));
    SignalRow {
        signal,
        with,
        between,
        ratio,
        ratio_by_size,
        source,
        raises: with.commits >= ENOUGH && is_above && is_worthy,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of commits are far below 2⁵³")]
const fn exact_f64(count: u64) -> f64 {
    count as f64
}

impl TrainedSignal {
    /// The shipped figures.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] if they can't be read.
    pub fn shipped() -> Result<Vec<Self>, Error> {
        serde_json::from_str(TRAINED).map_err(|error| Error::new(ErrorKind::Damaged, error.to_string()))
    }
}

impl Worth {
    /// By the score and the lines added of past commits, each with whether it needed a fix.
    pub(super) fn of(scored: Vec<(f64, bool)>, added: Vec<(f64, bool)>, percentile: Option<f64>) -> Option<Self> {
        let mut base = Base::default();
        scored.iter().for_each(|(_, needed)| base.add(*needed));
        let fixed = usize::try_from(base.fixed).ok()?;
        if scored.len() < FEWEST.0 || fixed < FEWEST.1 {
            return None;
        }
        let mut scores: Vec<f64> = scored.iter().map(|(score, _)| *score).collect();
        scores.sort_by(f64::total_cmp);
        let band_of = |percentile: f64| BANDS.iter().filter(|from| percentile >= **from).count();
        let like_this = percentile.map(|percentile| {
            let mut like = Base::default();
            for (score, needed) in &scored {
                let below = scores.partition_point(|other| other < score);
                if band_of(share_in_percent(below, scores.len())) == band_of(percentile) {
                    like.add(*needed);
                }
            }
            like
        });
        Some(Self { base, like_this, auc: rank_auc(scored)?, auc_lines: rank_auc(added)? })
    }
}

fn share_in_percent(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(part) / number(whole.max(1)) * 100.0
}

/// The area under the curve of Mann and Whitney (1947): pairs in the right order, and half of the ties.
fn rank_auc(mut scored: Vec<(f64, bool)>) -> Option<f64> {
    scored.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut right, mut clean, mut fixed) = (0.0, 0.0, 0.0);
    for tied in scored.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()) {
        let count = |wanted: bool| {
            let number = tied.iter().filter(|(_, needed)| *needed == wanted).count();
            f64::from(u32::try_from(number).unwrap_or(u32::MAX))
        };
        let (here_fixed, here_clean) = (count(true), count(false));
        right += here_fixed * (clean + here_clean / 2.0);
        clean += here_clean;
        fixed += here_fixed;
    }
    (clean > 0.0 && fixed > 0.0).then(|| right / (clean * fixed))
}
