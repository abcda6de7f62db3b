//! Recurring work that is no run: its due times, and the new files of a folder.
//!
//! [`PeriodicJobs`] decides from times that are given to it and starts nothing itself. [`inbox`] looks at a folder, and
//! [`own_process`] starts this program once more, beside itself.
//!
//! Invariants: a job never begins while it is under way; what was missed is made up for once, however often it was
//! missed. The clock of the wall, which people set, may bring a job forward and never puts one off.

pub mod inbox;
pub mod own_process;

use std::time::Duration;

use proem_engine::run::Time;

/// A moment by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// Since any fixed moment, by a clock that nobody sets. It may are blocked while the machine sleeps.
    pub steady: Duration,
    /// By the clock of the wall.
    pub wall: Time,
}

/// Jobs that come again and again, by the order in which they begin where several are due.
#[derive(Debug, Clone)]
pub struct PeriodicJobs<J> {
    jobs: Vec<PeriodicJob<J>>,
    last: Option<ClockReading>,
}

#[derive(Debug, Clone)]
struct PeriodicJob<J> {
    job: J,
    period: Duration,
    /// By the steady clock.
    next: Duration,
    under_way: bool,
}

/// A job that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueJob<J> {
    /// The job that is due.
    pub job: J,
    /// How many more times it was due since it last began.
    pub missed: u64,
}

/// How much further the clock of the wall may have gone than the steady one before the machine is taken to have slept.
const SLEPT: Duration = Duration::from_secs(30);

impl<J: Copy + PartialEq> PeriodicJobs<J> {
    /// Jobs with the time between two beginnings, and when each is due first by the steady clock. A period of nothing
    /// counts as a millisecond.
    #[must_use]
    pub fn new(jobs: impl IntoIterator<Item = (J, Duration, Duration)>) -> Self {
        let jobs = jobs.into_iter().map(|(job, period, first)| PeriodicJob {
            job,
            period: period.max(Duration::from_millis(1)),
            next: first,
            under_way: false,
        });
        Self { jobs: jobs.collect(), last: None }
    }

    /// The jobs that begin now. They are under way from here on until [`PeriodicJobs::ended`].
    ///
    /// After a sleep of the machine, and where the clock of the wall was put forward, everything is due: nobody can tell
    /// these two apart, and a job too many does no harm.
    pub fn begin(&mut self, now: ClockReading) -> Vec<DueJob<J>> {
        let slept = self.last.is_some_and(|last| {
            let steady = i64::try_from(now.steady.saturating_sub(last.steady).as_millis()).unwrap_or(i64::MAX);
            let further = now.wall.0.saturating_sub(last.wall.0).saturating_sub(steady);
            u64::try_from(further).is_ok_and(|further| Duration::from_millis(further) >= SLEPT)
        });
        self.last = Some(now);
        let mut due = Vec::new();
        for job in &mut self.jobs {
            if slept {
                job.next = job.next.min(now.steady);
            }
            if job.under_way || job.next > now.steady {
                continue;
            }
            let late = now.steady.saturating_sub(job.next);
            let missed = late.as_millis().checked_div(job.period.as_millis()).unwrap_or_default();
            job.under_way = true;
            job.next = now.steady.saturating_add(job.period);
            due.push(DueJob { job: job.job, missed: u64::try_from(missed).unwrap_or(u64::MAX) });
        }
        due
    }

    /// A job is not due before this moment of the steady clock, unless the machine sleeps.
    pub fn put_off(&mut self, job: J, until: Duration) {
        for known in self.jobs.iter_mut().filter(|known| known.job == job) {
            known.next = known.next.max(until);
        }
    }

    /// A job is not under way any more.
    pub fn ended(&mut self, job: J) {
        for known in self.jobs.iter_mut().filter(|known| known.job == job) {
            known.under_way = false;
        }
    }

    /// How long nothing is due: until the first job that is not under way, and never longer than a minute, so that a
    /// sleep of the machine is noticed.
    #[must_use]
    pub fn rest(&self, now: ClockReading) -> Duration {
        let waiting = self.jobs.iter().filter(|job| !job.under_way);
        let next = waiting.map(|job| job.next.saturating_sub(now.steady)).min();
        next.unwrap_or(Duration::from_mins(1)).min(Duration::from_mins(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);
    const QUARTER: Duration = Duration::from_mins(15);
    const START: i64 = 1_795_000_000_000;

    fn at(steady: Duration, wall: i64) -> ClockReading {
        ClockReading { steady, wall: Time(wall) }
    }

    fn both(seconds: u64) -> ClockReading {
        at(Duration::from_secs(seconds), START + i64::try_from(seconds).unwrap() * 1_000)
    }

    fn jobs() -> PeriodicJobs<char> {
        PeriodicJobs::new([('c', QUARTER, Duration::ZERO), ('s', MINUTE, Duration::ZERO)])
    }

    fn names(due: &[DueJob<char>]) -> String {
        due.iter().map(|due| due.job).collect()
    }

    #[test]
    fn each_job_begins_by_its_period() {
        let mut jobs = jobs();
        let mut began = Vec::new();
        for second in 0..=1_800 {
            for due in jobs.begin(both(second)) {
                began.push((second, due.job, due.missed));
                jobs.ended(due.job);
            }
        }
        let of = |job: char| began.iter().filter(|began| began.1 == job).map(|began| began.0).collect::<Vec<_>>();
        assert_eq!(of('c'), [0, 900, 1_800]);
        assert_eq!(of('s'), (0..=30).map(|minute| minute * 60).collect::<Vec<_>>());
        assert!(began.iter().all(|began| began.2 == 0));
    }

    #[test]
    fn a_job_that_is_put_off_is_due_then_and_not_later() {
        let mut jobs = jobs();
        jobs.begin(both(0));
        jobs.ended('c');
        jobs.put_off('c', MINUTE * 20);
        jobs.put_off('c', MINUTE);
        assert_eq!(names(&jobs.begin(both(1_199))), "");
        assert_eq!(jobs.begin(both(1_200)), [DueJob { job: 'c', missed: 0 }]);
    }

    #[test]
    fn a_job_that_takes_long_begins_once_for_all_that_it_missed() {
        let mut jobs = jobs();
        assert_eq!(names(&jobs.begin(both(0))), "cs");
        jobs.ended('c');
        assert_eq!(names(&jobs.begin(both(250))), "", "it is still under way");
        jobs.ended('s');
        assert_eq!(jobs.begin(both(250)), [DueJob { job: 's', missed: 3 }]);
        jobs.ended('s');
        assert_eq!(names(&jobs.begin(both(300))), "", "a minute after it began, not after it should have");
        assert_eq!(names(&jobs.begin(both(310))), "s");
    }

    #[test]
    fn after_a_sleep_of_the_machine_everything_is_due_once() {
        let mut jobs = jobs();
        jobs.begin(both(0));
        jobs.ended('c');
        jobs.ended('s');
        let night = 8 * 3_600_000;
        assert_eq!(names(&jobs.begin(at(Duration::from_secs(5), START + 5_000 + night))), "cs");
        jobs.ended('c');
        jobs.ended('s');
        assert_eq!(names(&jobs.begin(at(Duration::from_secs(6), START + 6_000 + night))), "");
    }

    #[test]
    fn a_clock_that_is_put_back_puts_nothing_off() {
        let mut jobs = jobs();
        jobs.begin(both(0));
        jobs.ended('s');
        assert_eq!(names(&jobs.begin(at(MINUTE, 0))), "s", "1970");
        jobs.ended('s');
        assert_eq!(names(&jobs.begin(at(MINUTE * 2, i64::MIN))), "s");
        assert_eq!(jobs.rest(at(MINUTE * 2, i64::MAX)), MINUTE, "it is under way, and the other is due later");
    }

    proptest! {
        /// The laws for any clock and any duration of jobs: none begins while it is under way, none begins more often
        /// than its period allows but for jumps, and none waits longer than its period once it could begin.
        #[test]
        fn laws(steps in prop::collection::vec((0..200_u64, -100_000_000_000..100_000_000_000_i64, any::<bool>()), 1..80)) {
            let mut jobs = jobs();
            let (mut steady, mut jumps) = (Duration::ZERO, 0_u32);
            let mut wall = START;
            let mut under_way = String::new();
            let mut began: Vec<(char, Duration)> = Vec::new();
            for (seconds, jump, ends) in steps {
                steady += Duration::from_secs(seconds);
                let jump = if jump % 3 == 0 { jump } else { 0 };
                jumps += u32::from(jump > 0);
                wall += i64::try_from(seconds).unwrap() * 1_000 + jump;
                for due in jobs.begin(at(steady, wall)) {
                    prop_assert!(!under_way.contains(due.job));
                    under_way.push(due.job);
                    began.push((due.job, steady));
                }
                for (job, period) in [('c', QUARTER), ('s', MINUTE)] {
                    let last = began.iter().rev().find(|began| began.0 == job).map(|began| began.1).unwrap();
                    prop_assert!(under_way.contains(job) || steady - last < period, "{job} waits since {last:?}");
                    let most = steady.as_secs() / period.as_secs() + 1 + u64::from(jumps);
                    let times = began.iter().filter(|began| began.0 == job).count() as u64;
                    prop_assert!(times <= most, "{job} began {times} times of {most}");
                }
                prop_assert!(jobs.rest(at(steady, wall)) <= MINUTE);
                if ends {
                    under_way.clear();
                    jobs.ended('c');
                    jobs.ended('s');
                }
            }
        }
    }
}
