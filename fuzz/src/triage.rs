//! Any text of another system: it is read as signals or refused with its place, and every read signal can be stored.

use proem_engine::run::Time;
use proem_text::json::compact;
use proem_triage::{ProjectSignal, SignalLog, SourceContext, normalise_signals};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let servers = ["mx.corp.example".to_owned()];
    let context = SourceContext { now: Time(1_795_392_000_000), mail_servers: &servers, audiences: &[] };
    let found = normalise_signals(text, &context);
    assert!(found.malformed.iter().all(|malformed| !malformed.reason.is_empty() && !malformed.reason.contains('\n')));
    let (mut log, mut reversed) = (SignalLog::default(), SignalLog::default());
    for signal in &found.signals {
        let written = signal.write().expect("what was read is within bounds");
        assert_eq!(ProjectSignal::read(&written).as_ref(), Ok(signal));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-');
        assert!(signal.id.len() <= 256 && signal.id.bytes().all(is_plain));
        let again = normalise_signals(&compact(&signal.to_json()), &context);
        assert!(again.malformed.is_empty() && again.signals.len() == 1);
        log.add(signal.clone());
    }
    found.signals.into_iter().rev().for_each(|signal| _ = reversed.add(signal));
    assert_eq!(log, reversed);
}
