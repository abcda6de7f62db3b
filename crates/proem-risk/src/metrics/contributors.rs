//! The people who change a file: the share of its owner, minor contributors, recent commits.
//!
//! Shares are of the commits in the window. The owner is who has most of them. A contributor with less than 5 % is a
//! minor one (Bird et al., *Don't Touch My Code! Examining the Effects of Ownership on Software Quality*, 2011). Both
//! mean little for few commits and are unknown below 20.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::words::{commit_count_words, count_words, period_words, saturating_u32};
use super::{DETAILS, RECENT_DAYS, Survey};
use crate::history::PersonId;
use crate::metric::{Fraction, Metric, MetricName, PercentileRank, Sentence, SentencePart};

/// The fewest commits for shares of them to mean something.
pub(super) const FEWEST: u32 = 20;

/// A metric of this file.
pub(super) fn contributors(survey: &Survey<'_>, file: u32, name: MetricName) -> Metric {
    let unknown = |because: &str| Metric::unknown(name, Sentence::ours(because));
    let Some(own) = survey.history_of(file) else {
        return match name {
            MetricName::RecentCommits => {
                Metric { evidence: Sentence::ours("the file is new"), ..Metric::of(MetricName::RecentCommits, 0.0) }
            }
            _ => unknown("the file has no history yet"),
        };
    };
    let window = survey.facts().window_days;
    let needed = if name == MetricName::RecentCommits { RECENT_DAYS } else { window };
    if let Some(reach) = survey.reach().filter(|reach| *reach < needed) {
        return unknown(&format!("the history goes back {reach} days only, {needed} are needed"));
    }
    if name == MetricName::RecentCommits {
        let number = saturating_u32(survey.within(own, RECENT_DAYS).count());
        return Metric {
            rank: PercentileRank::among(survey.recent(), number),
            excluded: survey.left_out(),
            evidence: Sentence::ours(format!("{} touched it in {RECENT_DAYS} days", commit_count_words(number))),
            ..Metric::of(name, f64::from(number))
        };
    }
    let authors = authors(survey.within(own, window).map(|(_, commit)| commit.author));
    let total = authors.iter().map(|(_, number)| *number).fold(0, u32::saturating_add);
    if total < FEWEST {
        let few = commit_count_words(total);
        return unknown(&format!("{few} in {} touched the file, {FEWEST} are needed", period_words(window)));
    }
    let metric = if name == MetricName::OwnerShare {
        owner_share_metric(survey, &authors, total)
    } else {
        minor(survey, &authors, total)
    };
    Metric { excluded: survey.left_out(), ..metric }
}

/// Authors with their commits, most first.
pub(super) fn authors(commits: impl Iterator<Item = PersonId>) -> Vec<(PersonId, u32)> {
    let mut counts: BTreeMap<PersonId, u32> = BTreeMap::new();
    for author in commits {
        let count = counts.entry(author).or_default();
        *count = count.saturating_add(1);
    }
    let mut authors: Vec<(PersonId, u32)> = counts.into_iter().collect();
    authors.sort_by_key(|(author, number)| (core::cmp::Reverse(*number), *author));
    authors
}

fn owner_share_metric(survey: &Survey<'_>, authors: &[(PersonId, u32)], total: u32) -> Metric {
    let Some((owner, number)) = authors.first() else {
        return Metric::unknown(MetricName::OwnerShare, Sentence::ours("nobody touched the file"));
    };
    let of = Fraction { numerator: u64::from(*number), denominator: u64::from(total) };
    let person = SentencePart::Person(survey.facts().past.history().person(*owner).mail.clone());
    let window = period_words(survey.facts().window_days);
    Metric {
        of: Some(of),
        between: of.between(),
        evidence: Sentence::default()
            .then(person)
            .and(format!(" wrote {number} of the {} that touched it in {window}", commit_count_words(total))),
        details: contributor_details(survey, authors),
        ..Metric::of(MetricName::OwnerShare, of.share().unwrap_or_default())
    }
}

fn minor(survey: &Survey<'_>, authors: &[(PersonId, u32)], total: u32) -> Metric {
    // Below 5 %: number / total < 1 / 20.
    let is_minor = |number: u32| u64::from(number).saturating_mul(20) < u64::from(total);
    let minor: Vec<(PersonId, u32)> = authors.iter().filter(|(_, number)| is_minor(*number)).copied().collect();
    let number = saturating_u32(minor.len());
    let words: String = format!(
        "{} of {} wrote less than 5 % of the {} that touched it in {}",
        number,
        count_words(saturating_u32(authors.len()), "author", "authors"),
        commit_count_words(total),
        period_words(survey.facts().window_days)
    );
    Metric {
        evidence: Sentence::ours(words),
        details: contributor_details(survey, &minor),
        ..Metric::of(MetricName::MinorContributors, f64::from(number))
    }
}

fn contributor_details(survey: &Survey<'_>, authors: &[(PersonId, u32)]) -> Vec<Sentence> {
    let history = survey.facts().past.history();
    let sentence = |(author, number): &(PersonId, u32)| {
        let person = SentencePart::Person(history.person(*author).mail.clone());
        Sentence::default().then(person).and(format!(": {}", commit_count_words(*number)))
    };
    authors.iter().take(DETAILS).map(sentence).collect()
}
