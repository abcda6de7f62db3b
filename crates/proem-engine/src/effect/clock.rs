//! The time that decides about effects, which never goes back.

use crate::run::Time;

/// A clock that went back further than this is trusted with no hold: 60 s, in milliseconds.
pub const BACKWARD_JUMP: i64 = 60_000;

/// The clock's course since the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockCourse {
    /// It went on, or back by no more than [`BACKWARD_JUMP`].
    Steady,
    /// It went back further.
    JumpedBack,
}

/// A time of the ledger: the later of the clock and the last time that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerTime {
    now: Time,
    course: ClockCourse,
}

impl LedgerTime {
    /// Compares the clock with the latest time that the store saw.
    #[must_use]
    pub fn new(clock: Time, last_seen: Time) -> Self {
        let jumped = last_seen.0.saturating_sub(clock.0) > BACKWARD_JUMP;
        let course = if jumped { ClockCourse::JumpedBack } else { ClockCourse::Steady };
        Self { now: clock.max(last_seen), course }
    }

    /// The time.
    #[must_use]
    pub const fn now(self) -> Time {
        self.now
    }

    /// The clock's course.
    #[must_use]
    pub const fn course(self) -> ClockCourse {
        self.course
    }
}

/// How long after it was due a held action may still go by itself, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseWindow(pub i64);

/// 4 h.
impl Default for ReleaseWindow {
    fn default() -> Self {
        Self(4 * 60 * 60 * 1000)
    }
}

impl ReleaseWindow {
    /// Whether what was due then may still go: until the window has passed, and at its very end.
    pub(super) fn is_open(self, due: Time, now: Time) -> bool {
        now.0.saturating_sub(due.0) <= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_never_goes_back() {
        let check = |clock: i64, last_seen: i64, now: i64, course| {
            let time = LedgerTime::new(Time(clock), Time(last_seen));
            assert_eq!((time.now(), time.course()), (Time(now), course), "{clock} after {last_seen}");
        };
        check(2_000, 1_000, 2_000, ClockCourse::Steady);
        check(1_000, 61_000, 61_000, ClockCourse::Steady);
        check(1_000, 61_001, 61_001, ClockCourse::JumpedBack);
        // A clock that starts in 1970, one that ran ahead to 2038, and the ends of what a time can be.
        check(0, 1_700_000_000_000, 1_700_000_000_000, ClockCourse::JumpedBack);
        check(1_700_000_000_000, 2_147_483_647_000, 2_147_483_647_000, ClockCourse::JumpedBack);
        check(i64::MIN, i64::MAX, i64::MAX, ClockCourse::JumpedBack);
        check(i64::MAX, i64::MIN, i64::MAX, ClockCourse::Steady);
    }

    #[test]
    fn the_window_ends_after_four_hours() {
        let check = |due: i64, now: i64, open: bool| {
            assert_eq!(ReleaseWindow::default().is_open(Time(due), Time(now)), open, "due {due} at {now}");
        };
        check(0, 14_400_000, true);
        check(0, 14_400_001, false);
        check(1_000, 0, true);
        check(i64::MIN, i64::MAX, false);
    }
}
