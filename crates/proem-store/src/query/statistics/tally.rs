//! The sums of one group while its rows go by.

use super::{CountedFigure, RunGroup};

/// A sum and how many values it is of. It is exact up to 2⁵³, which is nine million dollars, or as many tokens
/// as a file holds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CountedSum {
    pub(super) total: f64,
    pub(super) n: u64,
}

impl CountedSum {
    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.n = self.n.saturating_add(other.n);
    }

    /// The sum. Unknown where nothing was added.
    fn sum(self) -> CountedFigure {
        CountedFigure { value: (self.n > 0).then_some(self.total), n: self.n }
    }

    /// The sum for each value.
    fn mean(self) -> CountedFigure {
        share_of_total(self.total, float(self.n), self.n)
    }
}

fn share_of_total(part: f64, whole: f64, n: u64) -> CountedFigure {
    CountedFigure { value: (whole > 0.0).then(|| part / whole), n }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people; sixteen digits are enough")]
const fn float(value: u64) -> f64 {
    value as f64
}

/// Runs that have something in common.
#[derive(Debug)]
pub(super) struct RunTally {
    pub(super) runs: u64,
    /// Of those that ended.
    pub(super) fell_back: CountedSum,
    pub(super) escalated: CountedSum,
    pub(super) assembly_us: Vec<u64>,
    pub(super) embedding_calls: CountedSum,
    pub(super) filtered: CountedSum,
    /// Of the texts that were looked at, in runs that say both.
    pub(super) threats: CountedSum,
}

/// Calls, and assemblies without one, that have something in common.
#[derive(Debug)]
pub(super) struct CallTally {
    pub(super) sent: u64,
    /// Of those that were answered.
    pub(super) at_once: CountedSum,
    pub(super) broken: CountedSum,
    pub(super) repairs: CountedSum,
    /// Of those whose prompt that lists everything is known.
    pub(super) assembled: f64,
    pub(super) monolithic: CountedSum,
}

/// Settled attempts that have something in common.
#[derive(Debug)]
pub(super) struct AttemptTally {
    /// Of those that were answered.
    pub(super) latencies: Vec<u64>,
    pub(super) input: CountedSum,
    pub(super) output: CountedSum,
    /// Of those that say both: what was read from the cache, and of how much.
    pub(super) cached: CountedSum,
    pub(super) cacheable: f64,
    pub(super) nanos: CountedSum,
}

/// Everything that is counted of one group.
#[derive(Debug, Default)]
pub(super) struct StatisticsTally {
    runs: u64,
    calls: u64,
    input: CountedSum,
    output: CountedSum,
    cached: CountedSum,
    cacheable: f64,
    at_once: CountedSum,
    broken: CountedSum,
    repairs: CountedSum,
    fell_back: CountedSum,
    latencies: Vec<u64>,
    assembly_us: Vec<u64>,
    assembled: f64,
    monolithic: CountedSum,
    embedding_calls: CountedSum,
    filtered: CountedSum,
    threats: CountedSum,
    escalated: CountedSum,
    nanos: CountedSum,
    good: CountedSum,
}

impl StatisticsTally {
    pub(super) const fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn runs(&mut self, ran: &RunTally) {
        self.runs = self.runs.saturating_add(ran.runs);
        self.fell_back.add(ran.fell_back);
        self.escalated.add(ran.escalated);
        self.assembly_us.extend(&ran.assembly_us);
        self.embedding_calls.add(ran.embedding_calls);
        self.filtered.add(ran.filtered);
        self.threats.add(ran.threats);
    }

    pub(super) fn calls_of(&mut self, called: &CallTally) {
        self.calls = self.calls.saturating_add(called.sent);
        self.at_once.add(called.at_once);
        self.broken.add(called.broken);
        self.repairs.add(called.repairs);
        self.assembled += called.assembled;
        self.monolithic.add(called.monolithic);
    }

    pub(super) fn attempts(&mut self, sent: &AttemptTally) {
        self.input.add(sent.input);
        self.output.add(sent.output);
        self.cached.add(sent.cached);
        self.cacheable += sent.cacheable;
        self.latencies.extend(&sent.latencies);
        self.nanos.add(sent.nanos);
    }

    pub(super) fn verdicts(&mut self, good: CountedSum) {
        self.good.add(good);
    }

    /// The figures, of `all` calls.
    pub(super) fn finish(mut self, name: String, all: u64) -> RunGroup {
        let saved = self.monolithic.total - self.assembled;
        let cost = self.nanos.sum();
        let milliseconds =
            |micros: CountedFigure| CountedFigure { value: micros.value.map(|value| value / 1e3), n: micros.n };
        RunGroup {
            name,
            runs: self.runs,
            calls: self.calls,
            share: share_of_total(float(self.calls), float(all), all),
            input_tokens: self.input.sum(),
            output_tokens: self.output.sum(),
            cache_hit_rate: share_of_total(self.cached.total, self.cacheable, self.cached.n),
            success_rate: self.at_once.mean(),
            schema_failures: self.broken.sum(),
            repairs: self.repairs.sum(),
            fallback_rate: self.fell_back.mean(),
            latency_p50_ms: nearest_rank_percentile(&mut self.latencies, 50),
            latency_p95_ms: nearest_rank_percentile(&mut self.latencies, 95),
            assembly_p50_ms: milliseconds(nearest_rank_percentile(&mut self.assembly_us, 50)),
            saved_rate: share_of_total(saved, self.monolithic.total, self.monolithic.n),
            embedding_calls: self.embedding_calls.mean(),
            filtered: self.filtered.sum(),
            threat_rate: self.threats.mean(),
            escalation_rate: self.escalated.mean(),
            cost: CountedFigure { value: cost.value.map(|nanos| nanos / 1e9), n: cost.n },
            approval_rate: self.good.mean(),
        }
    }
}

/// The value at the nearest rank: of `n` in order the one at place `⌈n · percent / 100⌉`.
fn nearest_rank_percentile(values: &mut [u64], percent: usize) -> CountedFigure {
    values.sort_unstable();
    let n = u64::try_from(values.len()).unwrap_or(u64::MAX);
    let place = values.len().saturating_mul(percent).div_ceil(100).saturating_sub(1);
    CountedFigure { value: values.get(place).map(|value| float(*value)), n }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        fn check(values: &[u64], percent: usize, expected: Option<f64>) {
            let mut reversed: Vec<u64> = values.iter().rev().copied().collect();
            let n = u64::try_from(values.len()).unwrap();
            assert_eq!(
                nearest_rank_percentile(&mut reversed, percent),
                CountedFigure { value: expected, n },
                "{values:?} {percent}"
            );
        }
        check(&[], 50, None);
        check(&[7], 50, Some(7.0));
        check(&[7], 95, Some(7.0));
        check(&[1, 2], 50, Some(1.0));
        check(&[1, 2, 3], 50, Some(2.0));
        // The example of the method: of 15, 20, 35, 40, 50 the 40th is 20, the 95th 50.
        check(&[15, 20, 35, 40, 50], 40, Some(20.0));
        check(&[15, 20, 35, 40, 50], 95, Some(50.0));
        check(&(1..=100).collect::<Vec<u64>>(), 95, Some(95.0));
    }

    #[test]
    fn what_nobody_knows_is_no_zero() {
        let group = StatisticsTally::default().finish("x".to_owned(), 0);
        assert_eq!(group, RunGroup { name: "x".to_owned(), ..RunGroup::default() });
        let mut tally = StatisticsTally::default();
        let nobody = CountedSum::default();
        let unknown = AttemptTally {
            latencies: vec![],
            input: nobody,
            output: nobody,
            cached: nobody,
            cacheable: 0.0,
            nanos: nobody,
        };
        tally.attempts(&unknown);
        assert_eq!(tally.finish("x".to_owned(), 0), RunGroup { name: "x".to_owned(), ..RunGroup::default() });
    }
}
