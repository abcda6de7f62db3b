//! Change of owner: days since somebody else began to lead a file.
//!
//! The owner of a period is who has most of the file's commits in it (Bird et al., 2011, by commits). A
//! **transition** is there when the owner of the last 90 days is not among those who led the window before
//! them, each with at least 3 commits. The days since count from the first day of the time, lasting until
//! the change, in which the new owner had more commits than anybody else in the 90 days up to each day.
//! Below 20 commits in the window before the change nothing is said.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::contributors::{FEWEST, authors};
use super::words::{commit_count_words, count_words, period_words, saturating_u32};
use super::{RANKED, RECENT_DAYS, Survey};
use crate::history::{FileId, PersonId};
use crate::metric::{Fraction, Metric, MetricName, PercentileRank, Sentence, SentencePart, Signal};

/// The fewest commits of an owner in a period.
const LEAST: u32 = 3;

/// The seconds of the recent period.
fn recent_seconds() -> i64 {
    i64::from(RECENT_DAYS).saturating_mul(86_400)
}

/// The leaders of a period, and their number of commits.
struct Leaders {
    persons: Vec<PersonId>,
    commits: u32,
    of: u32,
}

impl Leaders {
    fn of(commits: impl Iterator<Item = PersonId>) -> Self {
        let authors = authors(commits);
        let most = authors.first().map_or(0, |(_, number)| *number);
        Self {
            persons: authors.iter().filter(|(_, number)| *number == most).map(|(person, _)| *person).collect(),
            commits: most,
            of: authors.iter().map(|(_, number)| *number).fold(0, u32::saturating_add),
        }
    }
}

/// The leader of a file in the window, and the one in the recent period after it.
struct Succession {
    old: Leaders,
    new: Leaders,
}

/// The metric of a file of the change.
pub(super) fn churn(survey: &Survey<'_>, file: u32) -> Metric {
    let Some(own) = survey.history_of(file) else {
        return Metric::unknown(MetricName::OwnershipChurn, Sentence::ours("the file has no history yet"));
    };
    let metric = ownership_metric(survey, own);
    let rank = metric.value.and_then(|days| PercentileRank::among(survey.churns(), days));
    Metric { rank, ..metric }
}

/// The days of some files that have enough commits, ascending. The files are spread evenly over all that the
/// history knows.
pub(super) fn churns(survey: &Survey<'_>) -> Vec<f64> {
    let files = survey.facts().past.history().files();
    let step = usize::try_from(files).unwrap_or(usize::MAX).div_ceil(RANKED).max(1);
    let looked_at = (0..files).step_by(step).map(FileId).filter(|file| survey.path_of(*file).is_some());
    let mut days: Vec<f64> = looked_at.filter_map(|file| ownership_metric(survey, file).value).collect();
    days.sort_by(f64::total_cmp);
    days
}

/// The metric of any file.
fn ownership_metric(survey: &Survey<'_>, own: FileId) -> Metric {
    let unknown = |because: String| Metric::unknown(MetricName::OwnershipChurn, Sentence::ours(because));
    let (window, at) = (survey.facts().window_days, survey.at());
    let needed = window.saturating_add(RECENT_DAYS);
    if let Some(reach) = survey.reach().filter(|reach| *reach < needed) {
        return unknown(format!("the history goes back {reach} days only, {needed} are needed"));
    }
    let total = saturating_u32(survey.within(own, window).count());
    if total < FEWEST {
        let few = commit_count_words(total);
        return unknown(format!("{few} in {} touched the file, {FEWEST} are needed", period_words(window)));
    }
    // By date, since parallel branches are not in order. Later than the change counts as of its time.
    let mut all: Vec<(i64, PersonId)> =
        survey.within(own, needed).map(|(_, commit)| (commit.at.min(at), commit.author)).collect();
    all.sort_unstable();
    let border = at.saturating_sub(recent_seconds());
    let (before, recent) = all.split_at(all.partition_point(|(then, _)| *then <= border));
    let leaders = Succession {
        old: Leaders::of(before.iter().map(|(_, author)| *author)),
        new: Leaders::of(recent.iter().map(|(_, author)| *author)),
    };
    let Succession { old, new } = &leaders;
    if old.commits < LEAST || new.commits < LEAST {
        let (when, most) = if new.commits < LEAST {
            (format!("the last {RECENT_DAYS} days"), new.commits)
        } else {
            (format!("the {} before the last {RECENT_DAYS} days", period_words(window)), old.commits)
        };
        return unknown(format!(
            "nobody has more than {} of it in {when}, {LEAST} are needed",
            commit_count_words(most)
        ));
    }
    let mut metric = match (new.persons.as_slice(), old.persons.iter().find(|person| new.persons.contains(person))) {
        (_, Some(same)) => kept_owner_metric(survey, *same, &leaders, before.first().map_or(at, |(then, _)| *then)),
        ([successor], None) => changed_owner_metric(survey, *successor, &leaders, led_since(&all, *successor, at)),
        _ => unknown(format!(
            "{} lead with {} each",
            count_words(saturating_u32(new.persons.len()), "author", "authors"),
            new.commits
        )),
    };
    metric.excluded = survey.left_out();
    metric
}

fn kept_owner_metric(survey: &Survey<'_>, owner: PersonId, leaders: &Succession, since: i64) -> Metric {
    let Succession { old, new } = leaders;
    let days = survey.days_since(since);
    let window = period_words(survey.facts().window_days);
    Metric {
        of: Some(Fraction { numerator: u64::from(new.commits), denominator: u64::from(new.of) }),
        signal: Signal::Low,
        evidence: Sentence::default().then(person_part(survey, owner)).and(format!(
            " leads in the last {RECENT_DAYS} days with {} of {} and led in the {window} before with {} of {}, for {} at least",
            new.commits,
            commit_count_words(new.of),
            old.commits,
            old.of,
            count_words(days, "day", "days")
        )),
        ..Metric::of(MetricName::OwnershipChurn, f64::from(days))
    }
}

fn changed_owner_metric(survey: &Survey<'_>, owner: PersonId, leaders: &Succession, since: i64) -> Metric {
    let Succession { old, new } = leaders;
    let days = survey.days_since(since);
    let window = period_words(survey.facts().window_days);
    let leads = format!(
        " leads since {} with {} of {} in the last {RECENT_DAYS} days; ",
        count_words(days, "day", "days"),
        new.commits,
        commit_count_words(new.of)
    );
    let led = format!(" led with {} of {} in the {window} before", old.commits, commit_count_words(old.of));
    let predecessor = old.persons.first().copied();
    let sentence = Sentence::default().then(person_part(survey, owner)).and(leads);
    Metric {
        of: Some(Fraction { numerator: u64::from(new.commits), denominator: u64::from(new.of) }),
        signal: survey.facts().thresholds.signal(MetricName::OwnershipChurn, f64::from(days)),
        evidence: predecessor
            .map_or_else(|| sentence.clone(), |old| sentence.clone().then(person_part(survey, old)).and(led)),
        ..Metric::of(MetricName::OwnershipChurn, f64::from(days))
    }
}

fn person_part(survey: &Survey<'_>, person: PersonId) -> SentencePart {
    SentencePart::Person(survey.facts().past.history().person(person).mail.clone())
}

/// When a person began to lead without a break until `at`: who leads changes only when a commit comes into
/// the 90 days or leaves them.
fn led_since(commits: &[(i64, PersonId)], owner: PersonId, at: i64) -> i64 {
    let leaving = commits.iter().map(|(then, _)| then.saturating_add(recent_seconds())).filter(|then| *then <= at);
    let mut times: Vec<i64> = commits.iter().map(|(then, _)| *then).chain(leaving).collect();
    times.sort_unstable();
    times.dedup();
    let (mut coming, mut going) = (commits.iter().peekable(), commits.iter().peekable());
    let mut counts: BTreeMap<PersonId, u32> = BTreeMap::new();
    let mut since = None;
    for time in times {
        while let Some((_, author)) = coming.next_if(|(then, _)| *then <= time) {
            let count = counts.entry(*author).or_default();
            *count = count.saturating_add(1);
        }
        while let Some((_, author)) = going.next_if(|(then, _)| *then <= time.saturating_sub(recent_seconds())) {
            counts.entry(*author).and_modify(|count| *count = count.saturating_sub(1));
        }
        let own = counts.get(&owner).copied().unwrap_or_default();
        let leads = counts.iter().all(|(person, count)| *person == owner || *count < own);
        since = if leads { since.or(Some(time)) } else { None };
    }
    since.unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::super::survey::days_between;
    use super::*;

    const DAY: i64 = 86_400;

    #[test]
    fn an_owner_leads_since_the_first_day_of_an_unbroken_lead() {
        let check = |commits: &[(i64, u32)], expected: i64| {
            let commits: Vec<(i64, PersonId)> =
                commits.iter().map(|(day, person)| (day * DAY, PersonId(*person))).collect();
            assert_eq!(led_since(&commits, PersonId(1), 400 * DAY) / DAY, expected, "{commits:?}");
        };
        // The first commit after the other one's have left the quarter.
        check(&[(200, 0), (210, 0), (390, 1), (391, 1), (392, 1)], 390);
        // The other one leads until the commits of days 340 and 341 are outnumbered.
        check(&[(340, 0), (341, 0), (350, 1), (360, 1), (370, 1)], 370);
        // Nobody commits: the other one's leave the quarter on day 390, and the lead is there.
        check(&[(300, 0), (300, 0), (385, 1), (386, 1)], 390);
        // An interrupted lead begins anew.
        check(&[(320, 1), (330, 0), (340, 0), (350, 1), (360, 1)], 360);
    }

    #[test]
    fn days_are_whole_and_never_negative() {
        assert_eq!(days_between(0, DAY - 1), 0);
        assert_eq!(days_between(0, DAY), 1);
        assert_eq!(days_between(DAY, 0), 0);
        assert_eq!(days_between(i64::MIN, i64::MAX), u32::MAX);
    }
}
