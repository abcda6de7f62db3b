//! The speakers: people and accounts, not channels.

use std::collections::BTreeSet;

use crate::{
    charter::ProjectCharter,
    signal::{ProjectSignal, SenderAuthentication, SignalSource},
};
use proem_guard::show;

/// The distinct principals behind signals, in words that are compared and never shown.
///
/// A mail counts only with aligned DMARC from a server that is believed, and a ticket system by the account that it
/// names. A stakeholder who is known by an address is one principal over both. Nobody else is counted: anybody may
/// choose a name.
#[must_use]
pub fn principals<'s>(
    signals: impl IntoIterator<Item = &'s ProjectSignal>,
    charter: &ProjectCharter,
) -> BTreeSet<String> {
    signals.into_iter().filter_map(|signal| principal(signal, charter)).collect()
}

fn principal(signal: &ProjectSignal, charter: &ProjectCharter) -> Option<String> {
    let sender = signal.sender.as_ref()?;
    if !matches!(sender.authentication, SenderAuthentication::SourceAccount | SenderAuthentication::DmarcAligned) {
        return None;
    }
    let exact = |text: &proem_guard::Untrusted<String>| show::exact_json(text).as_str().map(str::to_lowercase);
    let address = sender.address.as_ref().and_then(exact);
    if let Some(known) = address.as_deref().and_then(|address| charter.stakeholder(address)) {
        return Some(format!("stakeholder {}", known.address.to_lowercase()));
    }
    match (sender.authentication, address, sender.account.as_ref().and_then(exact)) {
        (_, Some(address), _) => Some(format!("address {address}")),
        (SenderAuthentication::SourceAccount, None, Some(account)) => {
            Some(format!("account {} {account}", SignalSource::as_str(signal.source)))
        }
        _ => None,
    }
}

/// How many principals agree, as a number for the policy: at least one where there is a signal at all.
#[must_use]
pub fn agreement(signals: &[&ProjectSignal], charter: &ProjectCharter) -> u32 {
    let found = principals(signals.iter().copied(), charter).len();
    u32::try_from(found.max(usize::from(!signals.is_empty()))).unwrap_or(u32::MAX)
}
