//! Experiments with prompts, simulated: how often equal versions are told apart, and how soon different ones are. Below
//! it, the weekly batch's proposals.

mod proposals;

mod searches;

use std::fmt::Write as _;
use std::path::PathBuf;

use self::proposals::proposals_report;
use clap::{Parser, ValueEnum};
use proem_score::sequential::{ArmTally, DifferenceTest, DifferenceVerdict, ERROR_OF_95, two_points_better};

/// The experiments of each row.
const EXPERIMENTS: u64 = 10_000;
/// The normal quantiles of a two-sided test of 5 % and of a power of 80 %.
const QUANTILES: (f64, f64) = (1.959_963_984_540_054, 0.841_621_233_572_914);

/// A table of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LifecycleTable {
    /// The sequential test of experiments
    Experiments,
    /// The test of searches for a better wording
    Searches,
    /// The proposals of the weekly batch, over a fifth as many projects
    Proposals,
}

/// Measures the tests of experiments and searches, and the proposals of the weekly batch, by simulation.
#[derive(Debug, Parser)]
pub(crate) struct EvalLifecycle {
    /// The folder that the tables are written to
    #[arg(long, default_value = "evals/lifecycle")]
    out: PathBuf,
    /// One table, instead of all
    #[arg(long, value_enum)]
    table: Option<LifecycleTable>,
    /// How many experiments each row has
    #[arg(long, default_value_t = EXPERIMENTS)]
    experiments: u64,
}

/// A kind of experiment.
#[derive(Debug, Clone, Copy)]
struct SimulatedExperiment {
    /// The share of successes with the version in use.
    base: f64,
    /// The same with the other version.
    other: f64,
    /// The other version's share of subjects.
    share: f64,
    /// The subjects of both versions together.
    subjects: u32,
    /// The most runs of a subject, all of which are drawn before the next look.
    repeats: u32,
}

/// The counts of many experiments of one kind.
#[derive(Debug, Default)]
struct SimulatedCounts {
    promoted: u64,
    refused: u64,
    naive: u64,
    fixed: u64,
    subjects: u64,
}

/// Pseudo-random numbers (SplitMix64; Steele, Lea and Flood, 2014).
struct Randomness(u64);

impl Randomness {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let [high, ..] = (bits ^ (bits >> 31)).to_be_bytes().map(u32::from);
        let low = u32::try_from((bits ^ (bits >> 31)) & 0xFFFF_FFFF).unwrap_or(0);
        (f64::from(high) * 4_294_967_296.0 + f64::from(low) + 0.5) / (256.0 * 4_294_967_296.0)
    }
}

pub(crate) fn run_eval_lifecycle(args: &EvalLifecycle) -> Result<String, String> {
    let mut all = String::new();
    for (table, name) in [
        (LifecycleTable::Experiments, "experiments.md"),
        (LifecycleTable::Searches, "searches.md"),
        (LifecycleTable::Proposals, "proposals.md"),
    ] {
        if args.table.is_some_and(|wanted| wanted != table) {
            continue;
        }
        let text = match table {
            LifecycleTable::Experiments => lifecycle_report(args.experiments),
            LifecycleTable::Searches => searches::search_report(args.experiments),
            LifecycleTable::Proposals => proposals_report((args.experiments / 5).max(1)),
        };
        let path = args.out.join(name);
        std::fs::write(&path, &text).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
        all.push_str(&text);
    }
    Ok(all)
}

/// The table of all rows.
fn lifecycle_report(experiments: u64) -> String {
    let mut out = format!(
        "# Experiments, simulated\n\n`cargo lab eval lifecycle` writes this file. Each row is {experiments} seeded \
         experiments with a look after every\nsubject's outcome. The test is `proem-score`'s `sequential.rs` with an error \
         of 5 % on both sides together.\n\n## Equal versions\n\n*Promoted* counts experiments that at some look called the \
         other version better. The rule \"two points better\" looks as\noften, from the twentieth subject of the smaller \
         version on.\n\n| successes | share | subjects | runs of a subject | promoted | called worse | two points better |\n\
         |---|---|---|---|---|---|---|\n"
    );
    let equal = |base, share, subjects, repeats| SimulatedExperiment { base, other: base, share, subjects, repeats };
    for kind in [
        equal(0.5, 0.5, 2_000, 1),
        equal(0.9, 0.1, 2_000, 1),
        equal(0.5, 0.1, 2_000, 1),
        equal(0.02, 0.5, 2_000, 1),
        equal(0.8, 0.1, 1_000, 4),
    ] {
        let found = simulate(kind, experiments);
        let SimulatedExperiment { base, share, subjects, repeats, .. } = kind;
        let percent = |count| percent_of(count, experiments);
        _ = writeln!(
            out,
            "| {base} | {share} | {subjects} | {repeats} | {} | {} | {} |",
            percent(found.promoted),
            percent(found.refused),
            percent(found.naive)
        );
    }
    out.push_str(
        "\n## Different versions\n\n*Fixed size* is the two-proportion test that looks once, at the end. *Needed* is the size\n\
         that it needs for a power of 80 %.\n\n| in use | other | share | subjects | promoted | mean subjects until then | \
         fixed size | needed |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (base, other, share, subjects) in [
        (0.80, 0.90, 0.5, 1_000),
        (0.80, 0.85, 0.5, 4_000),
        (0.80, 0.85, 0.1, 8_000),
        (0.90, 0.92, 0.5, 10_000),
        (0.90, 0.92, 0.1, 20_000),
    ] {
        let kind = SimulatedExperiment { base, other, share, subjects, repeats: 1 };
        let runs = (experiments / 10).max(1);
        let found = simulate(kind, runs);
        let mean = found.subjects.checked_div(found.promoted).unwrap_or(0);
        _ = writeln!(
            out,
            "| {base} | {other} | {share} | {subjects} | {} | {mean} | {} | {:.0} |",
            percent_of(found.promoted, runs),
            percent_of(found.fixed, runs),
            needed_subjects(kind)
        );
    }
    _ = writeln!(out, "\nRows of different versions have {} experiments each.", (experiments / 10).max(1));
    out
}

fn percent_of(count: u64, all: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a count of experiments")]
    let share = count as f64 / all as f64;
    format!("{:.2} %", share * 100.0)
}

fn simulate(kind: SimulatedExperiment, experiments: u64) -> SimulatedCounts {
    let mut counts = SimulatedCounts::default();
    let Some(test) = DifferenceTest::new(ERROR_OF_95, kind.share) else { return counts };
    for seed in 0..experiments {
        simulate_once(kind, &test, seed, &mut counts);
    }
    counts
}

/// One experiment, with a look after every outcome until it is decided.
fn simulate_once(kind: SimulatedExperiment, test: &DifferenceTest, seed: u64, counts: &mut SimulatedCounts) {
    let mut dice = Randomness(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1));
    let (mut base, mut other) = (ArmTally::default(), ArmTally::default());
    let (mut is_decided, mut is_naive) = (false, false);
    for subject in 1..=kind.subjects {
        let is_other = dice.uniform() < kind.share;
        let rate = if is_other { kind.other } else { kind.base };
        let arm = if is_other { &mut other } else { &mut base };
        let runs = 1.0 + (dice.uniform() * f64::from(kind.repeats)).floor();
        let (mut sum, mut run) = (0.0, 0.0);
        while run < runs {
            sum += f64::from(u8::from(dice.uniform() < rate));
            run += 1.0;
        }
        let _counted = arm.add(sum / runs);
        is_naive |= other.count().min(base.count()) >= 20 && two_points_better(&base, &other);
        if !is_decided && other.count() > 0 && base.count() > 0 {
            // No difference is small enough to end the experiment: only a real one does.
            match test.verdict(&base, &other, -1.0) {
                DifferenceVerdict::Better => {
                    (counts.promoted, is_decided) = (counts.promoted + 1, true);
                    counts.subjects += u64::from(subject);
                }
                DifferenceVerdict::Worse => (counts.refused, is_decided) = (counts.refused + 1, true),
                DifferenceVerdict::TooSmall | DifferenceVerdict::Open => {}
            }
        }
    }
    counts.naive += u64::from(is_naive);
    counts.fixed += u64::from(is_better_at_fixed_size(&base, &other));
}

/// The two-proportion test with pooled variance, at the end.
fn is_better_at_fixed_size(base: &ArmTally, other: &ArmTally) -> bool {
    let (Some(first), Some(second)) = (base.mean(), other.mean()) else { return false };
    #[expect(clippy::cast_precision_loss, reason = "a count of subjects")]
    let (m, n) = (base.count() as f64, other.count() as f64);
    let pooled = (first * m + second * n) / (m + n);
    let deviation = (pooled * (1.0 - pooled) * (1.0 / m + 1.0 / n)).sqrt();
    (second - first) / deviation > QUANTILES.0
}

/// The size of a test that looks once, for a power of 80 %.
fn needed_subjects(kind: SimulatedExperiment) -> f64 {
    let variance = |rate: f64| rate * (1.0 - rate);
    let spread = variance(kind.base) / (1.0 - kind.share) + variance(kind.other) / kind.share;
    let quantile = QUANTILES.0 + QUANTILES.1;
    quantile * quantile * spread / ((kind.other - kind.base) * (kind.other - kind.base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_repeats_and_equal_versions_are_seldom_promoted() {
        let kind = SimulatedExperiment { base: 0.5, other: 0.5, share: 0.5, subjects: 100, repeats: 1 };
        let (one, again) = (simulate(kind, 100), simulate(kind, 100));
        assert_eq!((one.promoted, one.naive), (again.promoted, again.naive));
        assert!(one.promoted <= 9 && one.naive > one.promoted, "{one:?}");
    }
}
