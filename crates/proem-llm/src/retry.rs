//! When to send a request again.
//!
//! Pure: what was heard, the time and the chance are arguments. Invariants: what is not expected to pass is never sent
//! again. A wait is never shorter than the endpoint asked for, and longer than [`RetryPolicy::longest_backoff`] only if
//! it asked for that.

use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use proem_engine::call::FailureKind;
use proem_engine::run::Time;

use crate::wire::ResponseHead;

/// How long is waited between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The upper bound of the first wait. Each later one's is twice that of the one before.
    pub first_backoff: Duration,
    /// The most that is waited unasked.
    pub longest_backoff: Duration,
    /// The most that is waited because the endpoint asks for it.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    /// Half a second and 30 seconds. Two minutes if asked, as OpenAI's own client does (`MAX_RETRY_AFTER_DELAY` in
    /// <https://github.com/openai/openai-python/blob/main/src/openai/_base_client.py>).
    fn default() -> Self {
        Self {
            first_backoff: Duration::from_millis(500),
            longest_backoff: Duration::from_secs(30),
            longest_asked: Duration::from_secs(120),
        }
    }
}

/// An attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedAttempt {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// How many bytes of an answer came.
    pub bytes: usize,
    /// The endpoint's advice about another attempt.
    pub advice: Advice,
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// How many there may be.
    pub most: NonZeroU32,
    /// How much time is left. `None` if nobody set an end.
    pub left: Option<Duration>,
}

/// An endpoint's advice about another attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Advice {
    /// How long to wait at least.
    pub wait: Option<Duration>,
    /// Whether there should be one at all.
    pub again: RetryWish,
}

/// Whether an endpoint wants another attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RetryWish {
    /// It doesn't say so.
    #[default]
    Unsaid,
    /// It would fail again.
    No,
}

/// The decision after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Another one, after that time.
    Wait(Duration),
    /// There is no other attempt.
    Over(RetryStop),
}

/// Why there is no other attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryStop {
    /// The same request would fail again.
    Settled,
    /// There were as many as there may be.
    Attempts,
    /// The endpoint asks for a longer wait than is allowed.
    Asked {
        /// The wait that the endpoint asks for.
        wait: Duration,
        /// The longest wait that is taken.
        most: Duration,
    },
    /// The time would be over before the wait is.
    Time {
        /// How long would have been waited.
        wait: Duration,
    },
}

impl fmt::Display for RetryStop {
    /// The end of a sentence about how many attempts were made. Empty if nothing is to be said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settled | Self::Attempts => Ok(()),
            Self::Asked { wait, most } => {
                let (wait, most) = (whole_seconds(*wait), whole_seconds(*most));
                write!(f, ", because the provider asks to wait {wait} and the maximum wait is {most}")
            }
            Self::Time { wait } => {
                write!(f, ", because the remaining time is shorter than the next wait of {}", whole_seconds(*wait))
            }
        }
    }
}

impl RetryPolicy {
    /// The decision after a failed attempt. `chance` sets the part of the backoff to wait, all of it for [`u32::MAX`].
    ///
    /// The backoff is exponential with full jitter:
    /// <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>. An endpoint
    /// that says how long to wait is believed instead, unless it says zero.
    #[must_use]
    pub fn next(&self, failed: &FailedAttempt, chance: u32) -> RetryDecision {
        if !may_pass(failed) {
            return RetryDecision::Over(RetryStop::Settled);
        }
        if failed.attempt >= failed.most.get() {
            return RetryDecision::Over(RetryStop::Attempts);
        }
        let wait = match failed.advice.wait {
            // A shorter wait would only be refused again.
            Some(wait) if wait > self.longest_asked => {
                return RetryDecision::Over(RetryStop::Asked { wait, most: self.longest_asked });
            }
            Some(wait) if !wait.is_zero() => wait,
            _ => part_of_time(self.bound(failed.attempt), chance),
        };
        match failed.left {
            // Told at once: nobody gains by waiting for an attempt that can't be made.
            Some(left) if wait >= left => RetryDecision::Over(RetryStop::Time { wait }),
            _ => RetryDecision::Wait(wait),
        }
    }

    /// How long no other request should go to the endpoint either: it said so to this one, and would
    /// say so to the others.
    #[must_use]
    pub fn hold(&self, failed: &FailedAttempt) -> Option<Duration> {
        failed.advice.wait.filter(|wait| may_pass(failed) && *wait <= self.longest_asked)
    }

    /// The most that is waited unasked after that attempt, which is counted from 1.
    #[must_use]
    pub fn bound(&self, attempt: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_backoff.saturating_mul(factor).min(self.longest_backoff)
    }
}

/// Whether the same request may succeed when it is sent again. Among statuses those that the
/// providers' own clients try again: <https://github.com/openai/openai-python#retries>,
/// <https://github.com/anthropics/anthropic-sdk-python#retries>.
fn may_pass(failed: &FailedAttempt) -> bool {
    let is_passing = match (failed.kind, failed.status) {
        // A status that is no provider's word for its own failure, such as 405, won't change.
        (FailureKind::Server, Some(status)) => matches!(status, 200..=299 | 408 | 409 | 429 | 500..),
        (FailureKind::Refused, Some(status)) => status == 409,
        // Once may be chance: twice, the server breaks off before it answers this very request.
        (FailureKind::Cut, Some(200)) if failed.bytes == 0 => failed.attempt < 2,
        // A server that answers outside the protocol will do so again, for the same price.
        (FailureKind::Malformed, _) => failed.bytes == 0,
        (kind, _) => kind.is_passing(),
    };
    is_passing && failed.advice.again == RetryWish::Unsaid
}

/// As much of a time as `chance` is of [`u32::MAX`].
fn part_of_time(time: Duration, chance: u32) -> Duration {
    let whole = u128::from(u32::MAX);
    let nanos = time.as_nanos().saturating_mul(u128::from(chance)).checked_div(whole).unwrap_or_default();
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A time for people, rounded up.
pub(crate) fn whole_seconds(time: Duration) -> String {
    let millis = time.as_nanos().div_ceil(1_000_000);
    let (whole, rest) = (millis.checked_div(1_000).unwrap_or_default(), millis.checked_rem(1_000).unwrap_or_default());
    if rest == 0 {
        return format!("{whole} s");
    }
    format!("{whole}.{rest:03}").trim_end_matches('0').to_owned() + " s"
}

/// The advice about another attempt in the head of an answer.
///
/// Read are `retry-after` (<https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>) and what the
/// providers' own clients read beside it, `retry-after-ms` and `x-should-retry`
/// (<https://github.com/openai/openai-python/blob/main/src/openai/_base_client.py>). A date is
/// compared with the endpoint's own clock where its answer shows it, else with `now`.
#[must_use]
pub fn advice(head: &ResponseHead, now: Time) -> Advice {
    let after = head.header("retry-after").map(str::trim);
    let millis = head.header("retry-after-ms").and_then(|value| parse_delay(value.trim(), 0.001));
    let seconds = after.and_then(|value| parse_delay(value, 1.0));
    let wait = millis.or(seconds).or_else(|| {
        // Both from one clock, so that ours may be wrong by any amount.
        let now = head.header("date").and_then(parse_http_date).unwrap_or(now);
        let wait = parse_http_date(after?)?.0.saturating_sub(now.0);
        Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
    });
    let again = match head.header("x-should-retry").map(str::trim) {
        // `true` is left out: its status tells whether the same request may succeed.
        Some("false") => RetryWish::No,
        _ => RetryWish::Unsaid,
    };
    Advice { wait, again }
}

/// A number of some unit, which is a part of a second; what is below zero is zero, and what is too
/// large the longest time there is.
fn parse_delay(text: &str, unit: f64) -> Option<Duration> {
    // `parse` takes "inf", "nan" and "1e300" too, which no server means.
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-')) {
        return None;
    }
    let seconds = text.parse::<f64>().ok()? * unit;
    Some(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
}

/// A date in one of the three forms of <https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7>. The day's name is not
/// compared with the date.
fn parse_http_date(text: &str) -> Option<Time> {
    let rest = text.split_once(", ").map_or(text, |(_, rest)| rest);
    let forms = ["%d %b %Y %H:%M:%S GMT", "%d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let read = |form: &&str| strtime::parse(form, rest).and_then(|parsed| parsed.to_datetime()).ok();
    let when: DateTime = forms.iter().find_map(read)?;
    when.to_zoned(TimeZone::UTC).ok().map(|zoned| Time(Timestamp::from(zoned).as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failed_attempt(kind: FailureKind, status: Option<u16>) -> FailedAttempt {
        let most = NonZeroU32::new(4).unwrap();
        FailedAttempt { kind, status, bytes: 0, advice: Advice::default(), attempt: 1, most, left: None }
    }

    #[test]
    fn what_is_sent_again() {
        use FailureKind as K;
        for (kind, status, expected) in [
            (K::RateLimited, Some(429), true),
            (K::Server, Some(500), true),
            (K::Server, Some(529), true),
            (K::Server, Some(409), true),
            (K::Server, Some(200), true),
            (K::Server, None, true),
            (K::Server, Some(405), false),
            (K::Server, Some(418), false),
            (K::TimedOut, Some(408), true),
            (K::TimedOut, None, true),
            (K::Unreachable, None, true),
            (K::Cut, Some(200), true),
            (K::Empty, Some(200), false),
            (K::Insecure, None, false),
            (K::Malformed, Some(200), true),
            (K::Refused, Some(409), true),
            (K::Refused, Some(400), false),
            (K::Refused, None, false),
            (K::NoKey, None, false),
            (K::KeyRefused, Some(401), false),
            (K::UnknownModel, Some(404), false),
            (K::TooLong, Some(413), false),
            (K::NoCredit, Some(429), false),
            (K::Redirected, Some(307), false),
            (K::TooLarge, Some(200), false),
            (K::UnknownTool, Some(200), false),
            (K::Cancelled, None, false),
            (K::Replay, None, false),
        ] {
            let again = matches!(RetryPolicy::default().next(&failed_attempt(kind, status), 0), RetryDecision::Wait(_));
            assert_eq!(again, expected, "{kind:?} {status:?}");
            let advice = Advice { again: RetryWish::No, wait: None };
            let told = RetryPolicy::default().next(&FailedAttempt { advice, ..failed_attempt(kind, status) }, 0);
            assert_eq!(told, RetryDecision::Over(RetryStop::Settled));
        }
        for (kind, expected) in [(K::Malformed, false), (K::Cut, true), (K::TimedOut, true)] {
            let failed = FailedAttempt { bytes: 1, ..failed_attempt(kind, Some(200)) };
            assert_eq!(matches!(RetryPolicy::default().next(&failed, 0), RetryDecision::Wait(_)), expected, "{kind:?}");
        }
    }

    #[test]
    fn how_long_is_waited() {
        let check = |attempt, asked: Option<u64>, left: Option<u64>, chance, expected: &str| {
            let advice = Advice { wait: asked.map(Duration::from_secs), again: RetryWish::Unsaid };
            let left = left.map(Duration::from_secs);
            let failed = FailedAttempt { attempt, advice, left, ..failed_attempt(FailureKind::RateLimited, Some(429)) };
            let next = match RetryPolicy::default().next(&failed, chance) {
                RetryDecision::Wait(wait) => whole_seconds(wait),
                RetryDecision::Over(over) => format!("over{over}"),
            };
            assert_eq!(next, expected, "{failed:?}");
        };
        check(1, None, None, u32::MAX, "0.5 s");
        check(1, None, None, 0, "0 s");
        check(2, None, None, u32::MAX, "1 s");
        check(3, None, None, u32::MAX / 2, "1 s");
        check(4, None, None, u32::MAX, "over");
        check(1, Some(0), None, u32::MAX, "0.5 s");
        check(1, Some(7), None, 0, "7 s");
        check(1, Some(120), None, 0, "120 s");
        check(1, Some(121), None, 0, "over, because the provider asks to wait 121 s and the maximum wait is 120 s");
        check(1, Some(7), Some(8), 0, "7 s");
        check(1, Some(7), Some(7), 0, "over, because the remaining time is shorter than the next wait of 7 s");
        check(3, None, Some(1), u32::MAX, "over, because the remaining time is shorter than the next wait of 2 s");
    }

    #[test]
    fn heads() {
        let check = |headers: &[(&str, &str)], expected: Option<u64>| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let wait = advice(&ResponseHead { status: 429, headers }, Time(784_111_777_000)).wait;
            assert_eq!(wait, expected.map(Duration::from_millis));
        };
        check(&[], None);
        check(&[("retry-after", "7")], Some(7_000));
        check(&[("retry-after", " 1.5 ")], Some(1_500));
        check(&[("retry-after", "-7")], Some(0));
        check(&[("retry-after", "soon")], None);
        check(&[("retry-after", "inf")], None);
        check(&[("retry-after", "NaN")], None);
        check(&[("retry-after", "")], None);
        check(&[("retry-after", "1e3")], None);
        check(&[("retry-after-ms", "1500"), ("retry-after", "7")], Some(1_500));
        check(&[("retry-after-ms", "x"), ("retry-after", "7")], Some(7_000));
        // The three forms of one date, which is that of `now`, and one a minute after it.
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], Some(60_000));
        check(&[("retry-after", "Sunday, 06-Nov-94 08:50:37 GMT")], Some(60_000));
        check(&[("retry-after", "Sun Nov  6 08:50:37 1994")], Some(60_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:48:37 GMT")], Some(0));
        check(&[("retry-after", "Sun, 66 Nov 1994 08:48:37 GMT")], None);
        let date = ("date", "Sun, 06 Nov 1994 08:50:07 GMT");
        check(&[date, ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], Some(30_000));
        let digits = "9".repeat(400);
        let headers = vec![("retry-after".to_owned(), digits)];
        assert_eq!(advice(&ResponseHead { status: 429, headers }, Time(0)).wait, Some(Duration::MAX));
        for (value, again) in [("false", RetryWish::No), ("true", RetryWish::Unsaid), ("", RetryWish::Unsaid)] {
            let headers = vec![("x-should-retry".to_owned(), value.to_owned())];
            assert_eq!(advice(&ResponseHead { status: 500, headers }, Time(0)).again, again);
        }
    }

    fn any_policy() -> impl Strategy<Value = RetryPolicy> {
        (0_u64..100_000, 0_u64..100_000, 0_u64..200_000).prop_map(|(first, longest, asked)| RetryPolicy {
            first_backoff: Duration::from_millis(first),
            longest_backoff: Duration::from_millis(longest),
            longest_asked: Duration::from_millis(asked),
        })
    }

    proptest! {
        #[test]
        fn waits_keep_to_what_was_asked_and_to_the_bounds(
            policy in any_policy(), attempt in 1_u32.., most in 1_u32.., chance: u32,
            asked in proptest::option::of(0_u64..300_000), left in proptest::option::of(0_u64..300_000),
        ) {
            let advice = Advice { wait: asked.map(Duration::from_millis), again: RetryWish::Unsaid };
            let left = left.map(Duration::from_millis);
            let most = NonZeroU32::new(most).unwrap();
            let failed = FailedAttempt { attempt, most, advice, left, ..failed_attempt(FailureKind::Server, Some(503)) };
            if let RetryDecision::Wait(wait) = policy.next(&failed, chance) {
                let asked = advice.wait.unwrap_or_default();
                prop_assert!(attempt < most.get());
                prop_assert!(wait >= asked);
                prop_assert!(wait <= policy.longest_backoff.max(asked));
                prop_assert!(asked <= policy.longest_asked);
                prop_assert!(left.is_none_or(|left| wait < left));
            }
        }

        #[test]
        fn bounds_never_fall(policy in any_policy(), attempt: u32) {
            prop_assert!(policy.bound(attempt) <= policy.bound(attempt.saturating_add(1)));
        }

        #[test]
        fn any_header_is_read(value in ".{0,40}", date in ".{0,40}") {
            let headers = vec![("retry-after".to_owned(), value), ("date".to_owned(), date)];
            let _ = advice(&ResponseHead { status: 429, headers }, Time(0));
        }
    }
}
