//! How many deliveries a second a webhook may make.

use std::num::NonZeroU32;
use std::time::Instant;

/// How many seconds' worth of deliveries may come at once.
const BURST_SECONDS: u32 = 10;

/// Tokens that come back at a steady rate, up to ten seconds' worth of them.
#[derive(Debug, Clone, Copy)]
pub struct TokenBucket {
    per_second: f64,
    capacity: f64,
    tokens: f64,
    filled: Instant,
}

impl TokenBucket {
    /// A full one.
    #[must_use]
    pub fn new(per_second: NonZeroU32, now: Instant) -> Self {
        let per_second = f64::from(per_second.get());
        let capacity = per_second * f64::from(BURST_SECONDS);
        Self { per_second, capacity, tokens: capacity, filled: now }
    }

    /// Takes a token at a time, if there is one. A time before the last one counts as that one.
    pub fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.filled);
        self.filled = self.filled.max(now);
        self.tokens = passed.as_secs_f64().mul_add(self.per_second, self.tokens).min(self.capacity);
        let has_token = self.tokens >= 1.0;
        if has_token {
            self.tokens -= 1.0;
        }
        has_token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn no_more_than_the_burst_and_the_rate_pass() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(NonZeroU32::new(50).unwrap(), start);
        let passed = (0..10_000_u64).filter(|n| bucket.take(start + Duration::from_millis(*n))).count();
        // Ten seconds' worth at once, and 50 a second after that; the last token is not whole.
        assert_eq!(passed, 500 + 499);
        assert!(!bucket.take(start));
    }
}
