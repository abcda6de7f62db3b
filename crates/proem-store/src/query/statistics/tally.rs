//! The sums of one group while its rows go by.

use super::{Group, Summary};
use crate::record::Numbers;

/// A run as far as it is counted.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) ended: bool,
    pub(super) fell_back: bool,
    pub(super) numbers: Numbers,
}

/// A call, or an assembly without one.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) sent: bool,
    pub(super) answered: bool,
    pub(super) problems: u64,
    pub(super) repairs: u64,
    pub(super) tokens: u64,
    pub(super) monolithic: Option<u64>,
}

/// An attempt that is settled.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) answered: bool,
    pub(super) took_ms: u64,
    pub(super) input: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) booked: Option<u64>,
}

/// A sum and how many values it is of. Sums are exact: `u64` values of as many rows as a file holds
/// fit into `i128`.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    total: i128,
    n: u64,
}

impl Sum {
    fn add(&mut self, value: Option<u64>) {
        if let Some(value) = value {
            self.total = self.total.saturating_add(i128::from(value));
            self.n = self.n.saturating_add(1);
        }
    }

    fn count(&mut self, happened: bool) {
        self.add(Some(u64::from(happened)));
    }

    /// The sum; unknown where nothing was added.
    fn sum(self) -> Summary {
        Summary { value: (self.n > 0).then(|| float(self.total)), n: self.n }
    }

    /// The sum for each value.
    fn mean(self) -> Summary {
        share(self.total, i128::from(self.n), self.n)
    }
}

fn share(part: i128, whole: i128, n: u64) -> Summary {
    Summary { value: (whole > 0).then(|| float(part) / float(whole)), n }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people; sixteen digits are enough")]
const fn float(value: i128) -> f64 {
    value as f64
}

/// Everything that is counted of one group.
#[derive(Debug, Default)]
pub(super) struct Tally {
    runs: u64,
    calls: u64,
    input: Sum,
    output: Sum,
    /// Of attempts that say both: what was read from the cache, and of how much.
    cached: Sum,
    cacheable: Sum,
    at_once: Sum,
    schema_failures: Sum,
    repairs: Sum,
    fell_back: Sum,
    latencies: Vec<u64>,
    assembly_us: Vec<u64>,
    assembled: Sum,
    monolithic: Sum,
    embedding_calls: Sum,
    filtered: Sum,
    threats: Sum,
    scanned: Sum,
    escalated: Sum,
    nanos: Sum,
    good: Sum,
}

impl Tally {
    pub(super) const fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn run(&mut self, run: &Ran) {
        let numbers = &run.numbers;
        self.runs = self.runs.saturating_add(1);
        if run.ended {
            self.fell_back.count(run.fell_back);
            self.escalated.count(numbers.escalated);
        }
        self.assembly_us.extend(numbers.assembled_us);
        self.embedding_calls.add(numbers.embedding_calls);
        self.filtered.add(numbers.filtered);
        if let (Some(threats), Some(scanned)) = (numbers.threats, numbers.scanned) {
            self.threats.add(Some(threats));
            self.scanned.add(Some(scanned));
        }
    }

    pub(super) fn call(&mut self, call: &Called) {
        self.calls = self.calls.saturating_add(u64::from(call.sent));
        if call.answered {
            self.at_once.count(call.problems == 0);
            self.schema_failures.count(call.problems > 0);
            self.repairs.add(Some(call.repairs));
        }
        if let Some(monolithic) = call.monolithic {
            self.monolithic.add(Some(monolithic));
            self.assembled.add(Some(call.tokens));
        }
    }

    pub(super) fn attempt(&mut self, attempt: &Sent) {
        self.input.add(attempt.input);
        self.output.add(attempt.output);
        if let (Some(input), Some(read)) = (attempt.input, attempt.cache_read) {
            self.cacheable.add(Some(input));
            self.cached.add(Some(read));
        }
        if attempt.answered {
            self.latencies.push(attempt.took_ms);
        }
        self.nanos.add(attempt.booked);
    }

    pub(super) fn verdict(&mut self, good: bool) {
        self.good.count(good);
    }

    /// The figures, of `all` calls.
    pub(super) fn finish(mut self, name: String, all: u64) -> Group {
        let saved = self.monolithic.total.saturating_sub(self.assembled.total);
        let cost = self.nanos.sum();
        let milliseconds = |micros: Summary| Summary { value: micros.value.map(|value| value / 1e3), n: micros.n };
        Group {
            name,
            runs: self.runs,
            calls: self.calls,
            share: share(i128::from(self.calls), i128::from(all), all),
            input_tokens: self.input.sum(),
            output_tokens: self.output.sum(),
            cache_hit_rate: share(self.cached.total, self.cacheable.total, self.cacheable.n),
            success_rate: self.at_once.mean(),
            schema_failures: self.schema_failures.sum(),
            repairs: self.repairs.sum(),
            fallback_rate: self.fell_back.mean(),
            latency_p50_ms: percentile(&mut self.latencies, 50),
            latency_p95_ms: percentile(&mut self.latencies, 95),
            assembly_p50_ms: milliseconds(percentile(&mut self.assembly_us, 50)),
            saved_rate: share(saved, self.monolithic.total, self.monolithic.n),
            embedding_calls: self.embedding_calls.mean(),
            filtered: self.filtered.sum(),
            threat_rate: share(
                self.threats.total,
                self.scanned.total,
                u64::try_from(self.scanned.total).unwrap_or(u64::MAX),
            ),
            escalation_rate: self.escalated.mean(),
            cost: Summary { value: cost.value.map(|nanos| nanos / 1e9), n: cost.n },
            approval_rate: self.good.mean(),
        }
    }
}

/// The value at the nearest rank: of `n` in order the one at place `⌈n · percent / 100⌉`.
fn percentile(values: &mut [u64], percent: usize) -> Summary {
    values.sort_unstable();
    let n = u64::try_from(values.len()).unwrap_or(u64::MAX);
    let place = values.len().saturating_mul(percent).div_ceil(100).saturating_sub(1);
    Summary { value: values.get(place).map(|value| float(i128::from(*value))), n }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        fn check(values: &[u64], percent: usize, expected: Option<f64>) {
            let mut reversed: Vec<u64> = values.iter().rev().copied().collect();
            let n = u64::try_from(values.len()).unwrap();
            assert_eq!(percentile(&mut reversed, percent), Summary { value: expected, n }, "{values:?} {percent}");
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
        let group = Tally::default().finish("x".to_owned(), 0);
        assert_eq!(group, Group { name: "x".to_owned(), ..Group::default() });
        let mut tally = Tally::default();
        let unknown = Sent { answered: false, took_ms: 9, input: None, cache_read: None, output: None, booked: None };
        tally.attempt(&unknown);
        assert_eq!(tally.finish("x".to_owned(), 0), Group { name: "x".to_owned(), ..Group::default() });
    }
}
