//! Every signal with who sent it, who judged it, why, and what became of it.
//!
//! Invariants: each signal that came is one entry, whatever it is at. An entry's words are ours but for sender and
//! subject, which keep their labels. A subject in quarantine is not shown.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use proem_engine::effect::ActionState;
use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;
use proem_guard::{LabelTree, show};
use proem_store::query::{ActionsWanted, EscalationRow, SignalRow};
use proem_store::record::{EscalationState, SignalStanding, WHOLE_BACKLOG};
use proem_text::hex;
use proem_triage::plan::{SignalOutcome, SignalOutcomeKind};
use proem_triage::{ProjectSignal, SignalTime, sender_display_name, signal_subject};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::desk::TriageDesk;
use super::judge::{LEARNED, PERSON};
use super::links::{ACTIONS, JUDGE, QUESTIONS, REFUSED};
use super::open_signals::ReadSignal;
use super::set_aside::{LATE, UNREADABLE, UNWRITABLE};
use crate::effects::escalations;
use crate::error::Error;
use crate::message::Hint;
use crate::when;

/// How many signals are read at once.
const TOGETHER: u64 = 1_000;
/// The digits of a short id.
const SHORT: usize = 8;
/// The fewest digits by which a signal is found.
const FEWEST: usize = 4;

/// A signal that was read and left alone.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftSignal {
    /// Its short id.
    pub handle: String,
    /// Its sender.
    pub sender: LabelTree,
    /// Its name.
    pub subject: LabelTree,
    /// Why nothing follows from it, in words of ours.
    pub why: &'static str,
}

/// The judge of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalJudge {
    /// Rules and a lexicon.
    Rules,
    /// A model, within what rules leave it.
    Model,
    /// A person.
    Person,
    /// Rules or a model, raised by what persons' judgements taught.
    Learned,
}

impl SignalJudge {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Model => "model",
            Self::Person => PERSON,
            Self::Learned => LEARNED,
        }
    }
}

/// The fate of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalFate {
    /// Something happened because of it: an artefact changed, a mail or a comment went out.
    Acted,
    /// A mail or a comment waits for the end of its hold.
    Held,
    /// A person is asked.
    Asked,
    /// The policy refused what would answer it, and a person is asked.
    Refused,
    /// It was read and left alone.
    Left,
    /// It was not worked on, or its texts were kept out.
    SetAside,
    /// No cycle has worked on it yet.
    Open,
}

impl SignalFate {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::Held => "held",
            Self::Asked => "asked",
            Self::Refused => "refused",
            Self::Left => "left",
            Self::SetAside => "set-aside",
            Self::Open => "open",
        }
    }
}

/// A signal with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalEntry {
    /// Its short id.
    pub handle: String,
    /// Its whole id, and which content it has.
    pub id: SignalRevision,
    /// When it came.
    pub came: Time,
    /// When it happened, by its own word. When it came where it says nothing that can be believed.
    pub time: Time,
    /// Which system it came from.
    pub source: String,
    /// The event, in the word that all sources share.
    pub kind: String,
    /// Its sender, by name.
    pub sender: LabelTree,
    /// Its name.
    pub subject: LabelTree,
    /// How much it matters. `None` before it was judged, and once that is gone.
    pub importance: Option<String>,
    /// Its category.
    pub category: Option<String>,
    /// Its judge. `None` likewise.
    pub judge: Option<SignalJudge>,
    /// Why it was judged so, in about five words. Empty if nobody judged.
    pub why: &'static str,
    /// Its fate.
    pub fate: SignalFate,
    /// The same in words of ours.
    pub outcome: String,
    /// Items of artefacts that it is about.
    pub items: Vec<String>,
    /// Questions about it.
    pub questions: Vec<String>,
    /// Keys of actions that answer it.
    pub actions: Vec<String>,
    /// The note of the person who judged it.
    pub note: Option<String>,
}

impl SignalEntry {
    /// Why nothing was done because of it, in words of ours; what became of it where something was.
    #[must_use]
    pub fn reason(&self) -> &str {
        let known = ["read and left: ", "set aside: "].iter().find_map(|begin| self.outcome.strip_prefix(begin));
        // The part behind a semicolon is a command.
        known.unwrap_or(&self.outcome).split(';').next().unwrap_or_default()
    }
}

/// The short id of a signal in one of its revisions: the beginning of a hash.
#[must_use]
pub fn short_signal_id(id: &SignalRevision) -> String {
    revision_digest(id).chars().take(SHORT).collect()
}

fn revision_digest(id: &SignalRevision) -> String {
    hex::encode_hex(Sha256::digest(format!("{}\n{}", id.id, id.revision)))
}

/// A time as people name it for triage: `today` and `yesterday` begin in the project's zone, and all that
/// [`when::since`] knows.
///
/// # Errors
///
/// If it names no time.
pub fn period_start(text: &str, now: Time, zone: &TimeZone) -> Result<Time, Error> {
    let back = match text.trim().to_ascii_lowercase().as_str() {
        "today" => 0,
        "yesterday" => 1,
        _ => return when::since(text, now, zone),
    };
    let day = jiff::Timestamp::from_millisecond(now.0).ok().map(|now| now.to_zoned(zone.clone()).date());
    let day = day.and_then(|day| day.checked_sub(jiff::Span::new().days(back)).ok());
    let begins = day.and_then(|day| day.to_zoned(zone.clone()).ok());
    begins
        .map(|begins| Time(begins.timestamp().as_millisecond()))
        .ok_or_else(|| Error::invalid("the clock is beyond every calendar; set it"))
}

/// The context for making entries.
struct EntryContext {
    questions: BTreeMap<String, EscalationRow>,
    actions: BTreeMap<String, ActionState>,
    /// Signals whose summary is in quarantine.
    hidden: BTreeSet<SignalRevision>,
    notes: BTreeMap<SignalRevision, String>,
}

impl TriageDesk<'_> {
    /// The zone that the project's people live in. UTC if this system does not know it.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        TimeZone::get(&self.charter.time_zone).unwrap_or(TimeZone::UTC)
    }

    /// Every signal that came since a time, the newest first.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn signal_entries(&self, since: Time) -> Result<Vec<SignalEntry>, Error> {
        let context = self.entry_context().await?;
        let mut entries = Vec::new();
        let mut after = 0;
        loop {
            let page = self.desk.store.signals(&self.desk.owner, after, TOGETHER).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            let rows = page.into_iter().filter(|row| row.kind != WHOLE_BACKLOG && row.at >= since);
            for row in rows {
                entries.push(self.entry(&row, &context)?);
            }
        }
        entries.reverse();
        Ok(entries)
    }

    /// The one signal of this id.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one, or the records can't be read.
    pub async fn signal_entry(&self, id: &str) -> Result<SignalEntry, Error> {
        let row = self.signal_row(id).await?;
        self.entry(&row, &self.entry_context().await?)
    }

    /// The row of the one signal whose short or whole id begins like that. Of several revisions of a whole id the
    /// newest.
    pub(super) async fn signal_row(&self, id: &str) -> Result<SignalRow, Error> {
        let id = id.trim();
        let shown = show::terminal_str(id);
        let is_digits = id.len() >= FEWEST && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = id.to_ascii_lowercase();
        let (mut found, mut after): (Vec<SignalRow>, u64) = (Vec::new(), 0);
        loop {
            let page = self.desk.store.signals(&self.desk.owner, after, TOGETHER).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            found.extend(page.into_iter().filter(|row| {
                let is_meant = (is_digits && revision_digest(&row.id).starts_with(&digits))
                    || (id.len() >= FEWEST && row.id.id.starts_with(id));
                is_meant && row.kind != WHOLE_BACKLOG
            }));
        }
        if let Some(place) = found.iter().rposition(|row| row.id.id == id) {
            return Ok(found.swap_remove(place));
        }
        let ids: BTreeSet<&str> = found.iter().map(|row| row.id.id.as_str()).collect();
        match (ids.len(), found.len()) {
            (0, _) if id.len() < FEWEST => Err(Error::invalid(format!(
                "`{shown}` is too short for the id of a signal; give at least {FEWEST} digits"
            ))
            .hinting(Hint::ListSignals)),
            (0, _) => Err(Error::invalid(format!("no signal has the id `{shown}`")).hinting(Hint::ListSignals)),
            (1, count) if !is_digits || count == 1 => {
                found.pop().ok_or_else(|| Error::bug("a signal was lost", "it was found"))
            }
            _ => Err(Error::invalid(format!("several signals have the id `{shown}…`; give more of it"))
                .hinting(Hint::ListSignals)),
        }
    }

    async fn entry_context(&self) -> Result<EntryContext, Error> {
        let (store, owner) = (&self.desk.store, &self.desk.owner);
        let wanted = ActionsWanted {
            project: Some(owner.clone()),
            states: ActionState::ALL.to_vec(),
            ..ActionsWanted::default()
        };
        let questions = store.escalations(owner, None).await?;
        let actions = store.actions(&wanted).await?;
        let quarantined = store.quarantined(owner, None).await?;
        let judgements = store.signal_judgements(owner).await?;
        let hides = |field: &str| field.starts_with("summary") || field == "whole";
        Ok(EntryContext {
            questions: questions.into_iter().map(|row| (row.id.0.clone(), row)).collect(),
            actions: actions.into_iter().map(|row| (row.key.to_string(), row.state)).collect(),
            hidden: quarantined
                .into_iter()
                .filter(|item| hides(&item.id.field))
                .map(|item| SignalRevision { id: item.id.signal, revision: item.id.revision })
                .collect(),
            notes: judgements.into_iter().filter_map(|row| Some((row.id, row.note?))).collect(),
        })
    }

    fn entry(&self, row: &SignalRow, context: &EntryContext) -> Result<SignalEntry, Error> {
        let screening = self.desk.guarding.screening()?;
        let signal = row.text.as_deref().and_then(|text| ProjectSignal::read(text).ok());
        let unread = match (row.standing, &row.text) {
            (SignalStanding::Malformed, _) => "could not be read",
            (_, None) => "its text was purged",
            (_, Some(_)) => "its record can't be read",
        };
        let subject = match &signal {
            Some(_) if context.hidden.contains(&row.id) => LabelTree::from("kept out"),
            Some(signal) => signal_subject(signal),
            None => unread.into(),
        };
        let sender = signal
            .as_ref()
            .map_or_else(|| "unknown".into(), |signal| sender_display_name(signal, &self.charter, screening));
        let told = signal.as_ref().and_then(|signal| match signal.time {
            SignalTime::Known(time) => Some(time),
            SignalTime::Doubtful { .. } | SignalTime::Missing => None,
        });
        let word = |name: &str| row.outcome.get(name).and_then(Json::as_str).map(str::to_owned);
        let words = |name: &str| {
            let list = row.outcome.get(name).and_then(Json::as_array).into_iter().flatten();
            list.filter_map(Json::as_str).map(str::to_owned).collect::<Vec<String>>()
        };
        let judge = word("importance").map(|_| judge_of(&row.outcome));
        let (questions, actions, items) = (words(QUESTIONS), words(ACTIONS), words("items"));
        let links = EntryLinks { questions: &questions, actions: &actions, items: &items };
        let (fate, outcome) = fate_of(row, links, context);
        let is_open = row.standing == SignalStanding::Open;
        Ok(SignalEntry {
            handle: short_signal_id(&row.id),
            id: row.id.clone(),
            came: row.at,
            time: told.or(row.time).unwrap_or(row.at),
            source: row.source.clone(),
            kind: row.kind.clone(),
            sender,
            subject,
            importance: word("importance").filter(|_| !is_open),
            category: word("category").filter(|_| !is_open),
            judge: judge.filter(|_| !is_open),
            why: judge.filter(|_| !is_open).map_or("", |judge| judgement_reason(judge, &row.outcome)),
            fate,
            outcome,
            items,
            questions,
            actions,
            note: context.notes.get(&row.id).cloned(),
        })
    }

    /// The signals of a cycle that were read and left alone, in their order.
    pub(super) fn left_alone(&self, read: &[ReadSignal], outcomes: &[SignalOutcome]) -> Result<Vec<LeftSignal>, Error> {
        let screening = self.desk.guarding.screening()?;
        let left = outcomes.iter().filter(|outcome| outcome.kind == SignalOutcomeKind::Logged);
        let left = left.filter_map(|outcome| {
            let of = |read: &&ReadSignal| SignalRevision::from(&read.signal) == outcome.id;
            let signal = &read.iter().find(of)?.signal;
            Some(LeftSignal {
                handle: short_signal_id(&outcome.id),
                sender: sender_display_name(signal, &self.charter, screening),
                subject: signal_subject(signal),
                why: left_reason(outcome.category.as_str(), outcome.action.as_str()),
            })
        });
        Ok(left.collect())
    }
}

/// The consequences of a signal.
#[derive(Clone, Copy)]
struct EntryLinks<'l> {
    questions: &'l [String],
    actions: &'l [String],
    items: &'l [String],
}

fn judge_of(outcome: &Json) -> SignalJudge {
    let is_by_rules = outcome.get("degraded").and_then(Json::as_bool).unwrap_or(true);
    match outcome.get(JUDGE).and_then(Json::as_str) {
        Some(PERSON) => SignalJudge::Person,
        Some(LEARNED) => SignalJudge::Learned,
        _ if is_by_rules => SignalJudge::Rules,
        _ => SignalJudge::Model,
    }
}

/// Why a signal was judged so.
fn judgement_reason(judge: SignalJudge, outcome: &Json) -> &'static str {
    let basis = outcome.get("basis").and_then(Json::as_str).unwrap_or_default();
    match (judge, basis) {
        (SignalJudge::Person, _) => "a person overruled it",
        (SignalJudge::Learned, _) => "you raised this sender before",
        (_, "system") => "the tracker itself says so",
        (SignalJudge::Model, _) => "a model reads it so",
        (SignalJudge::Rules, "clear") => "its words say so clearly",
        (SignalJudge::Rules, "close") => "its words say so, barely",
        (SignalJudge::Rules, _) => "nothing in it says more",
    }
}

/// Why nothing follows from a signal.
fn left_reason(category: &str, action: &str) -> &'static str {
    match (category, action) {
        ("progress", _) => "routine progress, only counted",
        (_, "update_artefact") => "the artefacts say it already",
        (_, "add_jira_comment") => "its ticket needs no comment",
        ("administrative", _) => "administrative, nothing to do",
        ("stakeholder", _) => "a message that needs no answer",
        _ => "too minor to change anything",
    }
}

/// The fate of a signal, in one word and in more.
fn fate_of(row: &SignalRow, links: EntryLinks<'_>, context: &EntryContext) -> (SignalFate, String) {
    let has = |name: &str| row.outcome.get(name).and_then(Json::as_bool).unwrap_or_default();
    let aside = |why: &str| (SignalFate::SetAside, format!("set aside: {why}"));
    match row.standing {
        SignalStanding::Open => return (SignalFate::Open, "still open: the next cycle works on it".to_owned()),
        SignalStanding::SetAside => return aside("it is of another project"),
        SignalStanding::Malformed => return aside("it could not be read; see `proem queue quarantine`"),
        SignalStanding::Handled => {}
    }
    let asides = [
        (LATE, "it took too long to be read"),
        (UNREADABLE, "its record can't be read"),
        (UNWRITABLE, "what follows from it can't be written"),
    ];
    if let Some((_, why)) = asides.into_iter().find(|(name, _)| has(name)) {
        return aside(why);
    }
    let word = |name: &str| row.outcome.get(name).and_then(Json::as_str).unwrap_or_default();
    let changed =
        if links.items.is_empty() { String::new() } else { format!("{} in the artefacts", links.items.join(", ")) };
    let (action, asked) = (action_fate(links, context), question_words(links, context));
    let joined = |parts: &[&str]| {
        let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    };
    let asked_words = asked.clone().unwrap_or_default();
    if has(REFUSED) {
        return (SignalFate::Refused, joined(&["refused by the policy", &asked_words, &changed]));
    }
    if let Some((fate, words)) = action {
        return (fate, joined(&[&words, &asked_words, &changed]));
    }
    match word("outcome") {
        "" => (SignalFate::SetAside, "what became of it was purged".to_owned()),
        "kept-out" => aside("its text was kept out; see `proem queue quarantine`"),
        "escalated" => {
            let asked = asked.unwrap_or_else(|| "asked; see `proem escalations list --all`".to_owned());
            (SignalFate::Asked, joined(&[&asked, &changed]))
        }
        "logged" => {
            let left = format!("read and left: {}", left_reason(word("category"), word("action")));
            (asked.as_ref().map_or(SignalFate::Left, |_| SignalFate::Asked), asked.unwrap_or(left))
        }
        _ => (SignalFate::Acted, joined(&[&changed, &asked_words])),
    }
}

/// The fate of the farthest action that answers a signal.
fn action_fate(links: EntryLinks<'_>, context: &EntryContext) -> Option<(SignalFate, String)> {
    let states = links.actions.iter().filter_map(|key| Some((key.get(..8)?, *context.actions.get(key)?)));
    let (key, state) = states.max_by_key(|(_, state)| ActionState::ALL.iter().position(|known| known == state))?;
    let shown = format!("`proem queue show {key}`");
    Some(match state {
        ActionState::Held => (SignalFate::Held, format!("held; {shown}")),
        ActionState::Proposed | ActionState::Approved | ActionState::Executing | ActionState::Resending => {
            (SignalFate::Held, format!("goes with the next sweep; {shown}"))
        }
        ActionState::Waiting => (SignalFate::Asked, format!("waits for your approval; {shown}")),
        ActionState::Unknown | ActionState::Resend => {
            (SignalFate::Asked, format!("may have been sent, which a person has to say; {shown}"))
        }
        ActionState::Executed => (SignalFate::Acted, format!("sent; {shown}")),
        ActionState::Refused => (SignalFate::Refused, format!("refused by the policy; {shown}")),
        ActionState::Failed => (SignalFate::Acted, format!("could not be sent; {shown}")),
        ActionState::Cancelled => (SignalFate::Acted, format!("a person cancelled what would answer it; {shown}")),
        ActionState::Expired => (SignalFate::Acted, format!("nobody decided in time; {shown}")),
    })
}

/// The questions about a signal and how they are. Those that are open come first.
fn question_words(links: EntryLinks<'_>, context: &EntryContext) -> Option<String> {
    let mut known: Vec<&EscalationRow> = links.questions.iter().filter_map(|id| context.questions.get(id)).collect();
    known.sort_by_key(|row| row.state != EscalationState::Open);
    let words = |row: &&EscalationRow| {
        let id = escalations::short_escalation_id(&row.id);
        match (row.state, &row.decision) {
            (EscalationState::Open, _) => format!("asked; `proem escalations show {id}`"),
            (_, Some(decision)) => format!("asked, and {} was decided in {id}", decision.option),
            (_, None) => format!("asked in {id}, which is over"),
        }
    };
    let words: Vec<String> = known.iter().take(3).map(words).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_and_yesterday_begin_in_the_projects_zone() {
        // 2026-11-29T13:16:00Z, which is 2026-11-30 02:16 in Auckland.
        let now = Time(1_795_958_160_000);
        let begins = |text: &str, zone: &str| {
            let zone = TimeZone::get(zone).unwrap();
            period_start(text, now, &zone).map(|time| when::date_and_clock(time, &TimeZone::UTC)).unwrap()
        };
        assert_eq!(begins("today", "UTC"), "2026-11-29 00:00:00");
        assert_eq!(begins("today", "Pacific/Auckland"), "2026-11-29 11:00:00");
        assert_eq!(begins("Yesterday", "Pacific/Auckland"), "2026-11-28 11:00:00");
        assert_eq!(begins("yesterday", "America/New_York"), "2026-11-28 05:00:00");
        assert_eq!(begins("1d", "America/New_York"), "2026-11-28 13:16:00");
    }
}
