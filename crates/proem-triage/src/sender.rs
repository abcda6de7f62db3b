//! A signal's sender and name, as people read them.
//!
//! Invariants: a name of the trusted file is shown only for its own address, with a remark where nothing proves the
//! sender. An account's id is never shown as a name. A name that the guard suspects is shown nowhere. All else keeps
//! its label.

use proem_guard::{LabelTree, Untrusted, Verdict};

use proem_agents::screen::Screening;

use super::{
    charter::{CharterStakeholder, ProjectCharter},
    signal::{ProjectSignal, SenderAuthentication, SignalSender, SignalSource},
};

/// A word of hexadecimal digits is an id from so many characters on.
const HEX_ID: usize = 8;
/// A word of letters and digits is one from so many characters on, as Atlassian's `5b10a2844c20165700ede21g` is.
const WORD_ID: usize = 20;

/// The stakeholder whose address a signal names, whether or not anything proves it.
#[must_use]
pub fn named_stakeholder<'c>(signal: &ProjectSignal, charter: &'c ProjectCharter) -> Option<&'c CharterStakeholder> {
    let address = signal.sender.as_ref()?.address.as_ref()?;
    charter.stakeholders.iter().find(|known| address.measure(|address| known.address.eq_ignore_ascii_case(address)))
}

/// The stakeholder who sent a signal, by aligned DMARC or by an account of the tracker.
#[must_use]
pub fn proven_stakeholder<'c>(signal: &ProjectSignal, charter: &'c ProjectCharter) -> Option<&'c CharterStakeholder> {
    signal.sender.as_ref().filter(|sender| is_proven(sender)).and(named_stakeholder(signal, charter))
}

const fn is_proven(sender: &SignalSender) -> bool {
    matches!(sender.authentication, SenderAuthentication::SourceAccount | SenderAuthentication::DmarcAligned)
}

/// The sender's name: that of the project's file, else what the source calls him, with the address beside it.
#[must_use]
pub fn sender_display_name(signal: &ProjectSignal, charter: &ProjectCharter, screening: Screening<'_>) -> LabelTree {
    let nobody = || match signal.source {
        SignalSource::Jira => LabelTree::from("Jira"),
        SignalSource::Asana => "Asana".into(),
        SignalSource::Outlook | SignalSource::Mail | SignalSource::Plain => "nobody named".into(),
    };
    let Some(sender) = signal.sender.as_ref() else { return nobody() };
    if let Some(known) = named_stakeholder(signal, charter) {
        let remark = if is_proven(sender) { "" } else { " (unproven)" };
        return format!("{}{remark}", known.name.trim()).as_str().into();
    }
    let name = sender.name.as_ref().filter(|name| !is_account_id(name, sender.account.as_ref()));
    let shown = |text| shown_name(text, signal.source, screening);
    match (name, sender.address.as_ref().filter(|address| !address.is_empty())) {
        (Some(name), Some(address)) => {
            let address = address.clone().map(|address| format!("({address})"));
            shown(Untrusted::join(&[name, &address], " ").0)
        }
        (Some(only), None) | (None, Some(only)) => shown(only.clone()),
        (None, None) => match signal.source {
            SignalSource::Jira => "an account of Jira".into(),
            SignalSource::Asana => "an account of Asana".into(),
            SignalSource::Outlook | SignalSource::Mail | SignalSource::Plain => nobody(),
        },
    }
}

/// A name of a source as people may read it.
pub(super) fn shown_name(name: Untrusted<String>, source: SignalSource, screening: Screening<'_>) -> LabelTree {
    let bar = screening.policy.bar(&source.verdict_name("assignee"), "text");
    if bar.judge(&screening.guard.scan(&name)) >= Verdict::Flag {
        return "a name that was kept out".into();
    }
    LabelTree::Outside(name)
}

/// Whether a name says nothing to a person: it is blank, or an id of an account.
fn is_account_id(name: &Untrusted<String>, account: Option<&Untrusted<String>>) -> bool {
    let is_of_account = account.is_some_and(|account| name.measure(|name| account.measure(|id| name == id)));
    is_of_account
        || name.measure(|name| {
            let name = name.trim();
            let has_digit = name.contains(|c: char| c.is_ascii_digit());
            let is_of = |is: fn(&char) -> bool| name.chars().all(|c| is(&c) || matches!(c, ':' | '-'));
            let is_hex = name.len() >= HEX_ID && is_of(char::is_ascii_hexdigit);
            let is_word = name.len() >= WORD_ID && is_of(char::is_ascii_alphanumeric);
            name.is_empty() || (has_digit && (is_hex || is_word))
                // An id such as `557058:a1` of an older account of Jira.
                || name.split_once(':').is_some_and(|(digits, rest)| {
                    !digits.is_empty() && !rest.contains(char::is_whitespace) && digits.bytes().all(|b| b.is_ascii_digit())
                })
        })
}

/// A signal's name: its ticket and its summary, as far as it has them.
#[must_use]
pub fn signal_subject(signal: &ProjectSignal) -> LabelTree {
    match (&signal.ticket, &signal.summary) {
        (Some(ticket), Some(summary)) => LabelTree::Outside(Untrusted::join(&[ticket, summary], " ").0),
        (Some(only), None) | (None, Some(only)) => LabelTree::Outside(only.clone()),
        (None, None) => "without a subject".into(),
    }
}

#[cfg(test)]
mod tests {
    use proem_text::Label;

    use super::*;

    #[test]
    fn ids_of_accounts_are_no_names() {
        let check = |name: &str, expected: bool| {
            let label = Label::from_source(proem_text::Source::named("jira/sender"));
            assert_eq!(is_account_id(&Untrusted::new(name.to_owned(), label), None), expected, "{name}");
        };
        for id in [
            "557058:a1",
            "557058:f58131cb-b67d-43c7-b30d-6b58d40bd077",
            "5b10a2844c20165700ede21g",
            "5b10ac8d82e0",
            " ",
        ] {
            check(id, true);
        }
        for name in ["Ana", "Abe Decade", "Sam Okoro", "Team 42", "deadbeef", "李雷"] {
            check(name, false);
        }
    }
}
