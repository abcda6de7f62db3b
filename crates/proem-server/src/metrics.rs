//! Counts and times, as Prometheus reads them.
//!
//! Source: Prometheus, "Exposition formats" (<https://prometheus.io/docs/instrumenting/exposition_formats/>), text
//! format 0.0.4. Labels are names of the user's configuration and words of ours, never text from outside.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::outcome::WebhookOutcome;

/// The upper ends of the histogram's buckets, in milliseconds.
const ENDS: [u64; 10] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/// The deliveries of a webhook.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCounts {
    outcomes: [AtomicU64; WebhookOutcome::ALL.len()],
    buckets: [AtomicU64; ENDS.len()],
    timed: AtomicU64,
    microseconds: AtomicU64,
}

impl DeliveryCounts {
    /// Counts a delivery.
    pub(crate) fn count(&self, outcome: WebhookOutcome) {
        if let Some(count) = self.outcomes.get(outcome as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts how long a stored delivery took, from its head to its answer.
    pub(crate) fn time(&self, took: Duration) {
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if let Some(bucket) = ENDS.iter().position(|end| milliseconds < *end).and_then(|at| self.buckets.get(at)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.timed.fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The lines of the counter of outcomes.
    pub(crate) fn write_outcomes(&self, labels: &str, out: &mut String) {
        for (outcome, count) in WebhookOutcome::ALL.iter().zip(&self.outcomes) {
            let (word, count) = (outcome.as_str(), count.load(Ordering::Relaxed));
            out.push_str(&format!("proem_deliveries_total{{{labels},outcome=\"{word}\"}} {count}\n"));
        }
    }

    /// The lines of the histogram of times.
    pub(crate) fn write_times(&self, labels: &str, out: &mut String) {
        let mut sum = 0_u64;
        for (end, bucket) in ENDS.iter().zip(&self.buckets) {
            sum = sum.saturating_add(bucket.load(Ordering::Relaxed));
            let end = seconds(end.saturating_mul(1_000));
            out.push_str(&format!("proem_delivery_seconds_bucket{{{labels},le=\"{end}\"}} {sum}\n"));
        }
        // A delivery that is counted meanwhile is in a bucket before it is in the sum.
        let all = self.timed.load(Ordering::Relaxed).max(sum);
        out.push_str(&format!("proem_delivery_seconds_bucket{{{labels},le=\"+Inf\"}} {all}\n"));
        let spent = seconds(self.microseconds.load(Ordering::Relaxed));
        out.push_str(&format!("proem_delivery_seconds_sum{{{labels}}} {spent}\n"));
        out.push_str(&format!("proem_delivery_seconds_count{{{labels}}} {all}\n"));
    }
}

/// Microseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "a figure for people; sixteen digits are enough")]
fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_adds_up() {
        let counts = DeliveryCounts::default();
        for milliseconds in [0, 4, 5, 99, 100, 60_000] {
            counts.time(Duration::from_millis(milliseconds));
        }
        let mut out = String::new();
        counts.write_times("webhook=\"a\"", &mut out);
        let sums: Vec<&str> = out.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
        assert_eq!(sums, ["2", "3", "3", "3", "4", "5", "5", "5", "5", "5", "6", "60.208", "6"]);
    }
}
