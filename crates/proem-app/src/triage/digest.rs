//! A digest: what changed since a time, what waits for a person, what is late, what was sent, and what was read and
//! left alone. It fits on one screen.
//!
//! Invariants: what is left out for want of room is counted. Words of anybody else keep their labels. The same records
//! and the same moment give the same digest.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::effect::ActionState;
use proem_engine::run::Time;
use proem_guard::LabelTree;
use proem_store::query::{EscalationRow, LineDepth, QueueLine};
use proem_store::record::{EscalationId, EscalationState, SignalStanding};
use proem_triage::artefact::{
    Artefact, ArtefactField, ArtefactItem, ArtefactItemId, ArtefactItemKind, ArtefactKind, ItemChangeKind,
    ProjectHealth, tree_on_one_line,
};
use proem_triage::plan::ArtefactSet;
use proem_triage::utc_day;

use super::artefacts::{MAX_VERSIONS, VersionEntry};
use super::desk::TriageDesk;
use super::signals::{SignalEntry, SignalFate};
use crate::effects::escalations;
use crate::error::Error;
use crate::{when, words};

/// A day in milliseconds.
const DAY: i64 = 86_400_000;
/// The most lines of what waits.
const MOST_WAITING: usize = 7;
/// The most lines of what changed.
const MOST_CHANGED: usize = 6;
/// The most lines of what is late.
const MOST_LATE: usize = 4;
/// The most lines of what was sent.
const MOST_SENT: usize = 3;
/// The most senders whose signals were left alone.
const MOST_LEFT: usize = 4;
/// The most characters of a sender by which signals are counted.
const SENDER_WIDTH: usize = 60;
/// The end of an action that went out.
const SENT: [ActionState; 1] = [ActionState::Executed];
/// The states of actions that wait for a person, or go by themselves unless a person stops them.
const WAITING: [ActionState; 5] =
    [ActionState::Unknown, ActionState::Waiting, ActionState::Held, ActionState::Proposed, ActionState::Failed];

/// One screen about a project.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// The project's name among people.
    pub project: String,
    /// From when on it tells.
    pub since: Time,
    /// The moment that it is of.
    pub now: Time,
    /// The colour, with the part of the rule that gives it. `None` before anything is known.
    pub status: Option<String>,
    /// The colour at the beginning, if it was another one.
    pub before: Option<&'static str>,
    /// The sections, in order.
    pub sections: Vec<DigestSection>,
}

/// A part of a digest.
#[derive(Debug, Clone, PartialEq)]
pub struct DigestSection {
    /// Its name.
    pub title: &'static str,
    /// Its lines, as many as fit.
    pub lines: Vec<Vec<DigestPart>>,
    /// How many lines there are with those that don't fit.
    pub all: usize,
    /// The command that shows all of them.
    pub command: &'static str,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum DigestPart {
    /// Words of ours.
    Words(String),
    /// Words that may be anybody's.
    Text(LabelTree),
    /// A command line for the reader to copy.
    Command(String),
}

impl DigestPart {
    fn words(words: impl Into<String>) -> Self {
        Self::Words(words.into())
    }
}

type DigestLine = Vec<DigestPart>;

impl DigestSection {
    fn new(title: &'static str, mut lines: Vec<DigestLine>, most: usize, command: &'static str) -> Self {
        let all = lines.len();
        lines.truncate(most);
        Self { title, lines, all, command }
    }
}

impl TriageDesk<'_> {
    /// The news since a time, as of `now`.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn digest(&self, since: Time, now: Time) -> Result<Digest, Error> {
        let artefacts = self.artefacts().await?;
        let entries = self.signal_entries(since).await?;
        let open = self.desk.store.signal_counts(&self.desk.owner).await?;
        let open = open.get(&SignalStanding::Open).copied().unwrap_or_default();
        let questions = self.desk.escalations(Some(EscalationState::Open)).await?;
        let sent = self.desk.queue(&SENT, None, LineDepth::Target).await?;
        let waiting = self.desk.queue(&WAITING, None, LineDepth::Target).await?;
        let is_new = |at: Option<Time>| at.is_some_and(|at| at >= since);
        let sent = sent.iter().filter(|line| is_new(line.ended));
        // A failure is news once.
        let waiting = waiting.iter().filter(|line| line.state != ActionState::Failed || is_new(line.ended));
        let (late, on_late) = self.late(&artefacts, &questions, now);
        let mut questions: Vec<EscalationRow> =
            questions.into_iter().filter(|row| !on_late.contains(&row.id)).collect();
        // Of equally pressing ones the newest comes first: whoever reads it every day knows the others.
        questions.sort_by_key(|row| (escalations::urgency(row), std::cmp::Reverse(row.at)));
        let waits = self.waits(&questions, waiting, open);
        let health = ProjectHealth::of(artefacts.iter(), self.charter.wall_clock(now));
        let is_known = artefacts.iter().any(|artefact| artefact.version() > 0);
        Ok(Digest {
            project: self.charter.name.clone(),
            since,
            now,
            status: is_known.then(|| health.reason()),
            before: self.colour_before(since).await?.filter(|before| *before != health.colour()),
            sections: vec![
                DigestSection::new("Waits for you", waits, MOST_WAITING, "proem triage status"),
                DigestSection::new(
                    "Changed",
                    self.changed(&artefacts, since).await?,
                    MOST_CHANGED,
                    "proem artefacts log",
                ),
                DigestSection::new("Late", late, MOST_LATE, "proem escalations list"),
                DigestSection::new(
                    "Sent",
                    sent.map(|line| self.line_of_sent(line)).collect(),
                    MOST_SENT,
                    "proem queue list",
                ),
                DigestSection::new("Read and left alone", left_by_sender(&entries), MOST_LEFT, "proem triage signals"),
            ],
        })
    }

    /// Questions, the most pressing first, then actions, then signals that nobody worked on.
    fn waits<'l>(
        &self,
        questions: &[EscalationRow],
        actions: impl Iterator<Item = &'l QueueLine>,
        open: u64,
    ) -> Vec<DigestLine> {
        let mut lines: Vec<DigestLine> = questions.iter().map(question_line).collect();
        // A question about an action says what there is to say of it.
        let asked: BTreeSet<String> =
            questions.iter().filter_map(|row| row.action.as_ref()).map(ToString::to_string).collect();
        let actions = actions.filter(|line| !asked.contains(&line.key.to_string()));
        lines.extend(actions.map(|line| self.action_line(line)));
        if open > 0 {
            let open = usize::try_from(open).unwrap_or(usize::MAX);
            let words = format!("{} that no cycle worked on yet: ", counted_noun(open, "signal"));
            lines.push(vec![DigestPart::Words(words), DigestPart::Command("proem triage signals".to_owned())]);
        }
        if self.desk.status.quarantined > 0 {
            let texts = usize::try_from(self.desk.status.quarantined).unwrap_or(usize::MAX);
            let words = format!("{} kept out: ", counted_noun(texts, "text"));
            lines.push(vec![DigestPart::Words(words), DigestPart::Command("proem queue quarantine".to_owned())]);
        }
        lines
    }

    fn action_line(&self, line: &QueueLine) -> DigestLine {
        let zone = self.zone();
        let state = match line.state {
            ActionState::Held => match line.due {
                Some(due) => format!("held, goes by itself at {}", minute(due, &zone)),
                None => "held".to_owned(),
            },
            ActionState::Waiting => format!("needs your yes before {}", minute(line.deadline, &zone)),
            ActionState::Unknown => "may have been sent; say whether it was".to_owned(),
            ActionState::Failed => "could not be sent".to_owned(),
            _ => "goes once effects are on".to_owned(),
        };
        let mut parts = self.aimed(line);
        parts.push(DigestPart::Words(format!(", {state}: ")));
        parts.push(DigestPart::Command(format!("proem queue show {}", short_key(&line.key.to_string()))));
        parts
    }

    fn line_of_sent(&self, line: &QueueLine) -> DigestLine {
        let at = line.ended.unwrap_or(line.created);
        let mut parts = self.aimed(line);
        parts.push(DigestPart::Words(format!(", {}", minute(at, &self.zone()))));
        parts
    }

    /// An action's kind, and its target.
    fn aimed(&self, line: &QueueLine) -> DigestLine {
        let target = self.desk.target(line).map(LabelTree::Outside);
        let what = match line.name.as_str() {
            "email_stakeholder" | "email_external" => "mail to ",
            "notification_internal" => "notice to ",
            "jira_comment" => "comment on ",
            "jira_status_change" => "move of ",
            name => return vec![DigestPart::words(name.replace('_', " "))],
        };
        let target = target.unwrap_or_else(|| "somebody, whose address was purged".into());
        vec![DigestPart::words(what), DigestPart::Text(target)]
    }

    /// The items that changed since a time, the most severe first. The colour and the backlog's own line are told
    /// elsewhere.
    async fn changed(&self, artefacts: &ArtefactSet, since: Time) -> Result<Vec<DigestLine>, Error> {
        let versions = self.changes(&ArtefactKind::ALL, MAX_VERSIONS).await?;
        let is_since = |version: &&VersionEntry| version.entry.as_ref().is_some_and(|entry| entry.at >= since);
        let mut changed: BTreeMap<ArtefactItemId, &'static str> = BTreeMap::new();
        // The newest version comes first; what was added is new, whatever changed of it later.
        for entry in versions.iter().filter(is_since).filter_map(|version| version.entry.as_ref()) {
            for change in &entry.changes {
                let word = match &change.kind {
                    ItemChangeKind::Added(_) => "new",
                    ItemChangeKind::Modified { .. } => "changed",
                    ItemChangeKind::Status { to, .. } => to.as_str(),
                };
                let known = changed.entry(change.item).or_insert(word);
                if word == "new" || *known == "changed" {
                    *known = if *known == "new" { "new" } else { word };
                }
            }
        }
        let is_told = |id: &ArtefactItemId| !matches!(id.kind, ArtefactItemKind::Health | ArtefactItemKind::Backlog);
        let items = changed.into_iter().filter(|(id, _)| is_told(id));
        let found = |id: ArtefactItemId| artefacts.get(id.kind.artefact()).and_then(|artefact| artefact.item(id));
        let mut items: Vec<_> = items.filter_map(|(id, word)| Some((id, word, found(id)?))).collect();
        items.sort_by_key(|(id, _, item)| (severity_rank(item), *id));
        Ok(items.into_iter().map(|(id, word, item)| item_line(id, item, &word.replace('_', " "))).collect())
    }

    /// Open matters after their day, the longest first, each with the question about its date, and these questions.
    fn late(
        &self,
        artefacts: &ArtefactSet,
        questions: &[EscalationRow],
        now: Time,
    ) -> (Vec<DigestLine>, BTreeSet<EscalationId>) {
        let today = self.charter.wall_clock(now);
        let mut late: Vec<_> = artefacts
            .iter()
            .flat_map(Artefact::items)
            .filter(|(_, item)| item.is_overdue(today))
            .filter_map(|(id, item)| Some((item.date(ArtefactField::DueDate)?, id, item)))
            .collect();
        late.sort_by_key(|(due, id, _)| (*due, *id));
        let mut asked = BTreeSet::new();
        let lines = late.into_iter().map(|(due, id, item)| {
            let days = today.0.saturating_sub(due.0).div_euclid(DAY);
            let days = counted_noun(usize::try_from(days).unwrap_or_default(), "day");
            let mut line = item_line(id, item, &format!("due {}, {days} ago", utc_day(due)));
            if let Some(row) = questions.iter().find(|row| is_about_date(row, id)) {
                asked.insert(row.id.clone());
                line.extend([DigestPart::words(" "), show_question(row)]);
            }
            line
        });
        (lines.collect(), asked)
    }

    /// The colour that was in the artefacts at a time. `None` if nothing did.
    async fn colour_before(&self, at: Time) -> Result<Option<&'static str>, Error> {
        let kind = ArtefactKind::DeliveryState;
        let rows = self.desk.store.artefact_versions(&self.desk.owner, kind.as_str(), MAX_VERSIONS).await?;
        let before = rows.into_iter().find(|row| row.at < at).and_then(|row| row.content);
        let before = before.and_then(|content| Artefact::read(&content).ok());
        Ok(before.and_then(|delivery| {
            let (_, item) = delivery.of_kind(ArtefactItemKind::Health).next()?;
            item.word(ArtefactField::OverallStatus)
        }))
    }
}

fn severity_rank(item: &ArtefactItem) -> usize {
    let word = item.word(ArtefactField::Severity);
    ["critical", "high", "medium", "low"].iter().position(|known| word == Some(known)).unwrap_or(4)
}

/// An item by its id, what there is to say of it, and its name.
fn item_line(id: ArtefactItemId, item: &ArtefactItem, words: &str) -> DigestLine {
    let fields = [ArtefactField::Severity, ArtefactField::Flag];
    let marks = fields.into_iter().filter_map(|field| item.word(field));
    let marks: String = marks.map(|word| format!(", {}", word.replace('_', " "))).collect();
    let mut parts = vec![DigestPart::Words(format!("{id} {words}{marks}"))];
    if let Some(heading) = item.heading() {
        parts.extend([DigestPart::words(": "), DigestPart::Text(heading.words().clone())]);
    }
    parts
}

/// Whether a question asks the state of an item whose date has passed: its words, which are ours, begin with the item.
fn is_about_date(row: &EscalationRow, id: ArtefactItemId) -> bool {
    let case = escalations::escalation_case(row);
    let because = case.map(|case| case.because);
    matches!(because, Some(LabelTree::Text(text)) if text.starts_with(&format!("{id} was due on ")))
}

fn show_question(row: &EscalationRow) -> DigestPart {
    DigestPart::Command(format!("proem escalations show {}", escalations::short_escalation_id(&row.id)))
}

fn question_line(row: &EscalationRow) -> DigestLine {
    let case = escalations::escalation_case(row);
    let heading = case.as_ref().and_then(|case| case.heading.clone());
    let because = case.map_or_else(|| "a question whose text was purged".into(), |case| case.because);
    // The text in brackets behind a question of ours is for the reader.
    let because = match because {
        LabelTree::Text(text) => LabelTree::from(text.split(" (").next().unwrap_or_default()),
        other => other,
    };
    let mut parts = Vec::new();
    if let Some(heading) = heading.filter(|heading| !tree_on_one_line(heading, 1).is_empty()) {
        parts.extend([DigestPart::Text(heading), DigestPart::words(": ")]);
    }
    parts.extend([DigestPart::Text(because), DigestPart::words(" "), show_question(row)]);
    parts
}

/// How many signals of each sender were read and left alone or kept out, most first, with the reason that most have.
fn left_by_sender(entries: &[SignalEntry]) -> Vec<DigestLine> {
    let mut senders: BTreeMap<String, (LabelTree, Vec<&str>)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| matches!(entry.fate, SignalFate::Left | SignalFate::SetAside)) {
        let name = tree_on_one_line(&entry.sender, SENDER_WIDTH);
        let (_, reasons) = senders.entry(name).or_insert_with(|| (entry.sender.clone(), Vec::new()));
        reasons.push(entry.reason());
    }
    let mut senders: Vec<_> = senders.into_iter().collect();
    senders.sort_by_key(|(name, (_, reasons))| (std::cmp::Reverse(reasons.len()), name.clone()));
    let line = |(_, (sender, reasons)): (String, (LabelTree, Vec<&str>))| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        reasons.iter().for_each(|reason| *counts.entry(reason).or_default() += 1);
        let most = counts.into_iter().max_by_key(|(reason, count)| (*count, std::cmp::Reverse(*reason)));
        let (reason, count) = most.unwrap_or_default();
        let others = if count < reasons.len() { " and other reasons" } else { "" };
        vec![DigestPart::Text(sender), DigestPart::Words(format!(": {} ({reason}{others})", reasons.len()))]
    };
    senders.into_iter().map(line).collect()
}

/// A time to the minute.
fn minute(time: Time, zone: &jiff::tz::TimeZone) -> String {
    when::date_and_clock(time, zone).chars().take(16).collect()
}

fn short_key(key: &str) -> &str {
    key.get(..8).unwrap_or(key)
}

/// A count with its noun.
fn counted_noun(count: usize, noun: &str) -> String {
    words::count_with_noun(u64::try_from(count).unwrap_or(u64::MAX), noun)
}
