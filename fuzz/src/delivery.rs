//! Any body that somebody delivers to a webhook: it is read or refused, and nothing in it is another source's signal.

use proem_engine::run::Time;
use proem_triage::{
    DeliveryEnvelope, MAX_DELIVERY_ITEMS, MAX_UNREADABLE_ITEMS, SourceContext, WebhookSource, normalise_delivery,
};

/// Holds one input to the laws.
pub fn feed(body: &[u8]) {
    let context = SourceContext { now: Time(1_795_392_000_000), mail_servers: &[], audiences: &[] };
    for source in WebhookSource::ALL {
        let Ok(envelope) = DeliveryEnvelope::read(source, body) else { continue };
        // Without a known secret no notification counts, whatever is in it.
        assert!(!envelope.has_known_states(|_| false));
        assert!(!envelope.is_stale(Time(i64::MIN)));
        let Ok(found) = normalise_delivery(source, body, &context) else { continue };
        assert!(found.signals.iter().all(|signal| signal.source == source.signal_source()));
        assert!(found.signals.len() <= MAX_DELIVERY_ITEMS && found.malformed.len() <= MAX_UNREADABLE_ITEMS);
        assert!(found.search.is_none());
        let again = normalise_delivery(source, body, &context).expect("it was read before");
        assert!(found.signals.iter().zip(&again.signals).all(|(a, b)| (&a.id, &a.revision) == (&b.id, &b.revision)));
    }
}
