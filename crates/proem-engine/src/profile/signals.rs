//! The signals in a history at a point in time.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ageing, ResultRecord, Signals, Wishes};
use crate::run::Time;

/// The milliseconds of a day.
const DAY: i64 = 86_400_000;

/// How many of those involved in failures are named.
pub(super) const AGENTS: usize = 3;

/// Signals with what was not taken as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalDerivation {
    /// How often each thing went wrong among the results that count.
    pub signals: Signals,
    /// The failures that count, the oldest first.
    pub counted: Vec<ResultRecord>,
    /// Failures that don't count any more, and retries beyond the cap, in our words.
    pub notes: Vec<String>,
}

/// The signals that a history of one project and agent gives at `now`.
#[must_use]
pub fn history_signals(history: &[ResultRecord], wishes: Wishes, ageing: Ageing, now: Time) -> Signals {
    derive(history, wishes, ageing, now).signals
}

/// [`history_signals`], with what was not taken as it was.
///
/// A record counts once, however often it is there, and one that is later than `now` counts as of now.
/// The newest result of each kind and agent is this round's: it gives the risks, and asks for a retry
/// if it failed and fewer than [`Ageing::retries`] were asked for since the last success.
#[must_use]
pub fn derive(history: &[ResultRecord], wishes: Wishes, ageing: Ageing, now: Time) -> SignalDerivation {
    let mut notes = Vec::new();
    let results = in_window(history, ageing, now, &mut notes);
    let (failures, round) = standing_failures(&results, &mut notes);
    let most = usize::try_from(ageing.records).unwrap_or(usize::MAX);
    let over = failures.len().saturating_sub(most);
    note_records(&mut notes, over, |counted| format!("{counted} left out: only the newest {} count", ageing.records));
    let failures: Vec<&ResultRecord> = failures.into_iter().skip(over).collect();
    let mut agents: Vec<String> = Vec::new();
    for failure in failures.iter().rev() {
        if agents.len() < AGENTS && !agents.contains(&failure.agent) {
            agents.push(failure.agent.clone());
        }
    }
    let retries = usize::try_from(ageing.retries).unwrap_or(usize::MAX);
    let mut needs_retry = false;
    let mut given_up = 0_usize;
    let mut risks = BTreeSet::new();
    for (newest, streak) in round.values().filter(|(newest, _)| !newest.issue.is_none()) {
        // The first failure is no retry.
        if streak.saturating_sub(1) < retries {
            needs_retry = true;
        } else {
            given_up = given_up.saturating_add(1);
        }
        risks.extend(newest.issue.risks.iter().cloned());
    }
    if given_up > 0 {
        notes.push(format!("recovery steps are no longer requested after {} retries", ageing.retries));
    }
    let signals = Signals {
        needs_retry,
        risk_tags: risks.into_iter().collect(),
        recent_failure_count: u64::try_from(failures.len()).unwrap_or(u64::MAX),
        last_failure_subagents: agents,
        time_sensitive: wishes.time_sensitive,
        compliance_required: wishes.compliance_required,
        preferred_format: wishes.preferred_format,
    };
    SignalDerivation { signals, counted: failures.into_iter().cloned().collect(), notes }
}

impl SignalDerivation {
    /// When the last of the failures is too old, if no success comes before. `None` if none counts.
    #[must_use]
    pub fn until(&self, ageing: Ageing) -> Option<Time> {
        let newest = self.counted.iter().map(|failure| failure.at).max()?;
        Some(Time(newest.0.saturating_add(i64::from(ageing.days).saturating_mul(DAY))))
    }
}

/// Distinct records that are not too old, oldest first.
fn in_window<'r>(
    history: &'r [ResultRecord],
    ageing: Ageing,
    now: Time,
    notes: &mut Vec<String>,
) -> Vec<&'r ResultRecord> {
    let oldest = now.0.saturating_sub(i64::from(ageing.days).saturating_mul(DAY));
    let mut seen = BTreeSet::new();
    let mut results: Vec<&ResultRecord> = Vec::new();
    let (mut old, mut repeated, mut ahead) = (0_usize, 0_usize, 0_usize);
    for record in history {
        let issue = &record.issue;
        let key = (record.at, &record.run, &record.kind, &record.agent, &issue.risks);
        if !seen.insert((key, issue.quality, issue.completeness)) {
            repeated = repeated.saturating_add(1);
        } else if record.at.0 < oldest {
            old = old.saturating_add(usize::from(!issue.is_none()));
        } else {
            ahead = ahead.saturating_add(usize::from(record.at > now));
            results.push(record);
        }
    }
    note_records(notes, old, |counted| format!("{counted} left out: older than {}", days_in_words(ageing.days)));
    note_records(notes, repeated, |counted| format!("{counted} left out: recorded twice"));
    note_records(notes, ahead, |counted| format!("{counted} dated in the future: treated as of now"));
    results.sort_by_key(|record| record.at.min(now));
    results
}

/// A result with the failures of its kind and agent since the last success.
type Round<'r> = BTreeMap<(&'r str, &'r str), (&'r ResultRecord, usize)>;

/// The failures that no success of their kind came after, oldest first, and the newest result of each
/// kind and agent.
fn standing_failures<'r>(results: &[&'r ResultRecord], notes: &mut Vec<String>) -> (Vec<&'r ResultRecord>, Round<'r>) {
    let mut failures: Vec<&ResultRecord> = Vec::new();
    let mut round = Round::new();
    let mut ended = 0_usize;
    for record in results {
        let key = (record.kind.as_str(), record.agent.as_str());
        let streak = round.get(&key).map_or(0, |(_, streak)| *streak);
        if record.issue.is_none() {
            let before = failures.len();
            failures.retain(|failure| (failure.kind.as_str(), failure.agent.as_str()) != key);
            ended = ended.saturating_add(before.saturating_sub(failures.len()));
            round.insert(key, (record, 0));
        } else {
            failures.push(record);
            round.insert(key, (record, streak.saturating_add(1)));
        }
    }
    note_records(notes, ended, |counted| format!("{counted} left out: a success of the same kind came after"));
    (failures, round)
}

fn days_in_words(days: u32) -> String {
    format!("{days} {}", if days == 1 { "day" } else { "days" })
}

fn note_records(notes: &mut Vec<String>, count: usize, words: impl Fn(&str) -> String) {
    if count > 0 {
        let noun = if count == 1 { "record" } else { "records" };
        notes.push(words(&format!("{count} {noun}")));
    }
}
