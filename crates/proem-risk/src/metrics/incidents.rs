//! Incident similarity: how like a past incident the change of a file is.
//!
//! The incidents are ranked by BM25 for the change's subject, the file's path and the names in changed
//! lines. Scores of different collections and queries can't be compared, so the best score is given as a
//! percentile of an **empirical null**: the best scores of up to 200 past commits of the repository, each
//! asked with its own subject, one of its paths and, in place of changed names, as many names of files that
//! other past commits touched. Nothing is matched with itself: a past commit not with the incident made
//! from it or from its revert, the change not with what happened after it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::words::{count_words, saturating_u32};
use super::{DETAILS, Survey};
use crate::history::{CommitIndex, ObjectId};
use crate::incident::{Incident, IncidentQuery};
use crate::level::percent_words;
use crate::metric::{Metric, MetricName, PercentileRank, Sentence, SentencePart};
use crate::sample::draw_commits;

/// The most past commits that are asked about.
const COMMITS: usize = 200;

/// The seed of the draw: any number, the same in every run.
const SEED: u64 = 0x696e_6369_6465_6e74;

/// How many matches are looked at to find one that isn't the commit itself.
const MATCHES: usize = 24;

/// The fewest digits that name a commit.
const DIGITS: usize = 7;

/// The best scores of past commits, ascending.
#[derive(Debug, Default)]
pub(super) struct NullDistribution {
    scores: Vec<f32>,
}

impl NullDistribution {
    /// Asks about past commits as about the change: with a subject if it has one, and with as many names.
    pub(super) fn of(survey: &Survey<'_>) -> Self {
        let (past, change) = (survey.facts().past, survey.facts().change);
        let drawn = draw_commits(past, SEED, COMMITS);
        let names: Vec<String> = drawn.iter().flat_map(|index| touched_names(survey, *index)).collect();
        let step = change.identifiers.len();
        let score = |(at, index): (usize, &CommitIndex)| {
            let touches = past.history().touches(*index);
            let touch = touches.get(at.checked_rem(touches.len())?)?;
            let path = past.history().path(touch.path).to_text();
            let subject = past.history().subject(*index);
            let start = at.saturating_mul(step).checked_rem(names.len()).unwrap_or_default();
            let identifiers: Vec<String> = names.iter().cycle().skip(start).take(step).cloned().collect();
            let query = IncidentQuery {
                subject: if change.subject.is_empty() { "" } else { subject },
                paths: &[&path],
                identifiers: &identifiers,
            };
            let id = past.history().commit(*index)?.id;
            let matches = survey.facts().incidents.like(&query, MATCHES);
            let mut others = matches.iter().filter(|(incident, _)| !is_incident_of_commit(incident, &id, subject));
            Some(others.next().map_or(0.0, |(_, score)| *score))
        };
        let mut scores: Vec<f32> = drawn.iter().enumerate().filter_map(score).collect();
        scores.sort_by(f32::total_cmp);
        Self { scores }
    }
}

/// The names of the files that a commit touched, without their extensions.
fn touched_names(survey: &Survey<'_>, index: CommitIndex) -> Vec<String> {
    let history = survey.facts().past.history();
    let name = |path: &crate::path::RepoPath| {
        let name = path.name().split(|byte| *byte == b'.').find(|part| !part.is_empty()).unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    };
    history.touches(index).iter().take(super::WIDE).map(|touch| name(history.path(touch.path))).collect()
}

/// Whether an incident is made from a commit, or quotes its subject as a revert does.
fn is_incident_of_commit(incident: &Incident, id: &ObjectId, subject: &str) -> bool {
    is_incident_named_by(incident, id) || (!subject.is_empty() && incident.title.contains(subject))
}

fn is_incident_named_by(incident: &Incident, id: &ObjectId) -> bool {
    incident.id.len() >= DIGITS && id.to_string().starts_with(&incident.id)
}

/// The metric of a file of the change.
pub(super) fn similarity(survey: &Survey<'_>, file: u32) -> Metric {
    let unknown = |because: String| Metric::unknown(MetricName::IncidentSimilarity, Sentence::ours(because));
    let (change, thresholds) = (survey.facts().change, survey.facts().thresholds);
    if survey.facts().incidents.is_empty() {
        return unknown("no incident is known to compare with".to_string());
    }
    let scores = &survey.null().scores;
    if saturating_u32(scores.len()) < thresholds.sample {
        let past = count_words(saturating_u32(scores.len()), "past commit", "past commits");
        return unknown(format!("{past} can be compared with, {} are needed", thresholds.sample));
    }
    let Some(changed) = survey.file(file) else { return unknown("the file is not part of the change".to_string()) };
    let path = changed.path.to_text();
    let query = IncidentQuery { subject: &change.subject, paths: &[&path], identifiers: &change.identifiers };
    let mut matches = survey.facts().incidents.like(&query, MATCHES);
    matches.retain(|(incident, _)| {
        let is_past = incident.at.is_none_or(|at| at <= survey.at());
        is_past && change.id.is_none_or(|id| !is_incident_named_by(incident, &id))
    });
    let Some((best, score)) = matches.first() else {
        return Metric {
            rank: PercentileRank::among(scores, 0.0),
            signal: thresholds.signal(MetricName::IncidentSimilarity, 0.0),
            evidence: Sentence::ours("no incident has a word in common with it"),
            ..Metric::of(MetricName::IncidentSimilarity, 0.0)
        };
    };
    let Some(rank) = PercentileRank::among(scores, *score) else {
        return unknown("no past commit is known".to_string());
    };
    Metric {
        rank: Some(rank),
        signal: thresholds.signal(MetricName::IncidentSimilarity, rank.percentile),
        evidence: incident_sentence(survey, best, rank),
        details: matches
            .iter()
            .take(DETAILS)
            .map(|(incident, score)| incident_detail(survey, incident, *score))
            .collect(),
        ..Metric::of(MetricName::IncidentSimilarity, rank.percentile)
    }
}

fn incident_sentence(survey: &Survey<'_>, incident: &Incident, rank: PercentileRank) -> Sentence {
    let compared = format!(
        ": nearer than {} % of {} are to any",
        percent_words(rank.percentile),
        count_words(rank.among, "past commit", "past commits")
    );
    Sentence::ours("the nearest incident is ")
        .then(incident_name(incident))
        .and(days_before(survey, incident))
        .and(compared)
}

fn incident_detail(survey: &Survey<'_>, incident: &Incident, score: f32) -> Sentence {
    Sentence::default().then(incident_name(incident)).and(format!(": BM25 {score:.1}{}", days_before(survey, incident)))
}

fn incident_name(incident: &Incident) -> SentencePart {
    SentencePart::Message(format!("{} {}", incident.id, incident.title))
}

fn days_before(survey: &Survey<'_>, incident: &Incident) -> String {
    let days = incident.at.map(|at| survey.days_since(at));
    days.map_or_else(String::new, |days| format!(", {} before", count_words(days, "day", "days")))
}
