//! Groups the signals of a batch that are about the same: by ticket, link, thread and time.
//!
//! Two are related if they are of one ticket, one names the other's ticket or both name a third, or they are mails of
//! one thread; and if at most [`WINDOW`] is between them, where both times are known.

use std::collections::{BTreeMap, BTreeSet};

use proem_guard::{LabelTree, Untrusted};
use sha2::{Digest, Sha256};

use super::SignalInBatch;
use crate::{contract::MAX_SIGNALS, date::SignalTime, signal::ProjectSignal};

/// How far apart related signals may be, in milliseconds: seven days.
pub(super) const WINDOW: i64 = 7 * 24 * 3600 * 1000;

/// The most tickets that a text names, as far as this is concerned.
const MAX_MENTIONS: usize = 20;

/// Each signal with the ids of those related to it, sorted, without its own.
pub(super) fn related_signals<'b, 's>(
    batch: &'b [SignalInBatch<'s>],
) -> impl Iterator<Item = (&'b SignalInBatch<'s>, Vec<String>)> {
    let subjects: Vec<(&SignalInBatch<'_>, SignalSubject)> =
        batch.iter().map(|item| (item, SignalSubject::of(item))).collect();
    let mut by_key: BTreeMap<u64, Vec<(Option<i64>, usize)>> = BTreeMap::new();
    for (at, (_, subject)) in subjects.iter().enumerate() {
        for key in &subject.keys {
            by_key.entry(*key).or_default().push((subject.time, at));
        }
    }
    // Those without a time come first, then by time, so that a window is one stretch.
    by_key.values_mut().for_each(|members| members.sort_unstable());
    subjects.into_iter().map(move |(item, subject)| {
        let own = item.signal.id.as_str();
        let mut found = BTreeSet::new();
        for key in &subject.keys {
            let Some(members) = by_key.get(key) else { continue };
            for other in members_within_window(members, subject.time) {
                let id = batch.get(other).map_or("", |other| other.signal.id.as_str());
                if id != own && found.len() < MAX_SIGNALS {
                    found.insert(id.to_owned());
                }
            }
        }
        (item, found.into_iter().collect())
    })
}

/// The matter that a signal is about, by the strongest name that its source gives it: its ticket, else the beginning of
/// its thread, else the signal itself. Answers to a mail have the matter of the mail, and revisions of a signal that of
/// the first. No text leaves: a name is a hash.
#[must_use]
pub fn signal_matter(signal: &ProjectSignal) -> String {
    let ticket = signal.ticket.as_ref().map(|ticket| ticket.measure(|ticket| ticket_key(ticket.trim())));
    let first_id = |name: &str| {
        let LabelTree::Map(fields) = &signal.fields else { return None };
        let mut first = None;
        let mut find = |text: &str| {
            if first.is_none() {
                first = text.split_whitespace().next().map(|id| correlation_key("thread", id));
            }
        };
        visit_texts(fields.get(name)?, &mut find);
        first
    };
    let thread = || ["conversation", "references", "in_reply_to", "message_id"].into_iter().find_map(first_id);
    match (ticket, thread) {
        (Some(ticket), _) => format!("ticket {ticket:016x}"),
        (None, thread) => {
            thread().map_or_else(|| format!("signal {}", signal.id), |thread| format!("thread {thread:016x}"))
        }
    }
}

/// The members of a group within the window around a time. At most a few more than are listed.
fn members_within_window(members: &[(Option<i64>, usize)], time: Option<i64>) -> impl Iterator<Item = usize> {
    let first_timed = members.partition_point(|(time, _)| time.is_none());
    let (from, to) = match time {
        Some(time) => {
            let (from, to) = (time.saturating_sub(WINDOW), time.saturating_add(WINDOW));
            (members.partition_point(|(at, _)| *at < Some(from)), members.partition_point(|(at, _)| *at <= Some(to)))
        }
        None => (first_timed, members.len()),
    };
    let timed = members.get(from.max(first_timed)..to).unwrap_or_default();
    let untimed = members.get(..first_timed).unwrap_or_default();
    timed.iter().chain(untimed).take(MAX_SIGNALS.saturating_add(1)).map(|(_, at)| *at)
}

/// The subject of a signal, as hashes: no text leaves.
struct SignalSubject {
    keys: BTreeSet<u64>,
    time: Option<i64>,
}

impl SignalSubject {
    fn of(item: &SignalInBatch<'_>) -> Self {
        let mut keys = BTreeSet::new();
        if let Some(ticket) = &item.signal.ticket {
            keys.insert(ticket.measure(|ticket| ticket_key(ticket.trim())));
        }
        for field in &item.sanitised.fields {
            field.measure_rest(|text| keys.extend(ticket_mentions(text)));
        }
        if let LabelTree::Map(fields) = &item.signal.fields {
            for name in ["changes", "parent"] {
                fields
                    .get(name)
                    .into_iter()
                    .for_each(|tree| visit_texts(tree, &mut |text| keys.extend(ticket_mentions(text))));
            }
            for name in ["conversation", "message_id", "in_reply_to", "references"] {
                let mut add = |text: &str| keys.extend(text.split_whitespace().map(|id| correlation_key("thread", id)));
                fields.get(name).into_iter().for_each(|tree| visit_texts(tree, &mut add));
            }
        }
        let time = if let SignalTime::Known(time) = &item.signal.time { Some(time.0) } else { None };
        Self { keys, time }
    }
}

fn visit_texts(tree: &LabelTree, ask: &mut dyn FnMut(&str)) {
    match tree {
        LabelTree::Outside(text) | LabelTree::Flagged(text) => {
            let text: &Untrusted<String> = text;
            text.measure(|text| ask(text));
        }
        LabelTree::List(list) => list.iter().for_each(|item| visit_texts(item, ask)),
        LabelTree::Map(map) => map.iter().for_each(|(_, value)| visit_texts(value, ask)),
        _ => {}
    }
}

/// The tickets that a text names: two to ten capitals or digits, a hyphen, and a number.
fn ticket_mentions(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.filter(|word| is_ticket(word)).take(MAX_MENTIONS).map(ticket_key).collect()
}

fn is_ticket(word: &str) -> bool {
    let Some((project, number)) = word.split_once('-') else { return false };
    (2..=10).contains(&project.len())
        && project.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && project.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
        && (1..=9).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn ticket_key(ticket: &str) -> u64 {
    correlation_key("ticket", &ticket.to_uppercase())
}

/// The first eight bytes of a SHA-256.
fn correlation_key(kind: &str, text: &str) -> u64 {
    let digest = Sha256::new().chain_update(kind).chain_update([0]).chain_update(text).finalize();
    digest.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::{SignalKind, SignalSource};

    fn matter(ticket: Option<&str>, fields: &[(&'static str, &str)]) -> String {
        let outside = |text: &str| Untrusted::new(text.to_owned(), SignalSource::Mail.label("body"));
        let fields = fields.iter().map(|(name, text)| (*name, LabelTree::Outside(outside(text))));
        signal_matter(&ProjectSignal {
            source: SignalSource::Mail,
            kind: SignalKind::EmailReceived,
            id: "mail:7".to_owned(),
            revision: "0".repeat(64),
            time: SignalTime::Missing,
            sender: None,
            ticket: ticket.map(outside),
            project: None,
            summary: None,
            fields: LabelTree::map(fields),
            notes: Vec::new(),
        })
    }

    #[test]
    fn a_matter_is_the_ticket_else_the_beginning_of_the_thread_else_the_signal() {
        let first = matter(None, &[("message_id", "a@x")]);
        assert_eq!(matter(None, &[("message_id", "b@x"), ("in_reply_to", "a@x")]), first);
        assert_eq!(matter(None, &[("message_id", "c@x"), ("references", "a@x b@x"), ("in_reply_to", "b@x")]), first);
        assert_ne!(matter(None, &[("message_id", "b@x")]), first);
        assert_eq!(matter(Some("pay-7 "), &[("message_id", "a@x")]), matter(Some("PAY-7"), &[]));
        assert_eq!(matter(None, &[]), "signal mail:7");
    }

    #[test]
    fn tickets_are_found_in_text() {
        for (text, expected) in [
            ("We lose two weeks on PAY-7.", vec!["PAY-7"]),
            ("(PAY-7/CORE_2-11)", vec!["PAY-7", "CORE_2-11"]),
            ("pay-7, X-1, UTF-8x, 12-34, PAY-, PAY-7-8", vec![]),
        ] {
            assert_eq!(ticket_mentions(text), expected.into_iter().map(ticket_key).collect::<Vec<_>>(), "{text}");
        }
    }
}
