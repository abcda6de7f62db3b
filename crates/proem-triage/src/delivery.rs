//! Deliveries of webhooks: the envelope, which is checked first, and the signals in it.
//!
//! Sources: Atlassian, "Webhooks" (<https://developer.atlassian.com/cloud/jira/platform/webhooks/>), Asana, "Webhooks"
//! (<https://developers.asana.com/docs/webhooks-guide>) and Microsoft, "Receive change notifications through webhooks"
//! (<https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks>).
//!
//! Invariants: an envelope is read without its content, so that this may come before a sender is known. All signals of a
//! delivery are of the webhook's own source. A delivery never makes a backlog whole.

use std::{collections::BTreeSet, fmt};

use proem_engine::run::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{
    date::parse_timestamp,
    signal::SignalSource,
    sources::{AnswerEnd, NormalisedSignals, SourceContext, normalise_value},
};

/// The most items of one delivery.
pub const MAX_DELIVERY_ITEMS: usize = 4_096;
/// The most unreadable items of one delivery. Each of them costs a question to a person.
pub const MAX_UNREADABLE_ITEMS: usize = 32;

const HOUR: i64 = 3_600_000;

/// A system that sends webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookSource {
    /// Jira Cloud: the event with the issue. The body is signed.
    Jira,
    /// Asana: ids of what changed. The body is signed with a secret that Asana chose.
    Asana,
    /// Microsoft Graph: ids of mails that changed. Each notification has the subscription's secret in it.
    Graph,
}

proem_text::word_table! {
    pub WebhookSource: Display {
        Jira = "jira",
        Asana = "asana",
        Graph = "graph",
    }
}

impl WebhookSource {
    /// The system that its signals may claim to come from.
    #[must_use]
    pub const fn signal_source(self) -> SignalSource {
        match self {
            Self::Jira => SignalSource::Jira,
            Self::Asana => SignalSource::Asana,
            Self::Graph => SignalSource::Outlook,
        }
    }

    /// How long after its time a delivery may come, in milliseconds. Jira tries five times, 5 to 15 minutes apart; Asana
    /// tries for 24 hours; Graph tries for 4 hours, and the only time that it gives is the end of the subscription.
    const fn replay_window(self) -> i64 {
        match self {
            Self::Jira => 6 * HOUR,
            Self::Asana => 26 * HOUR,
            Self::Graph => 5 * HOUR,
        }
    }
}

/// The outer form of a delivery.
#[derive(Clone, PartialEq, Eq)]
pub struct DeliveryEnvelope {
    source: WebhookSource,
    items: usize,
    latest: Option<Time>,
    client_states: Vec<Option<String>>,
    lifecycle: BTreeSet<SubscriptionNews>,
}

/// News about a subscription of Graph. Without an answer to it, notifications stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubscriptionNews {
    /// It ends soon unless it is renewed.
    ReauthorizationRequired,
    /// It ended.
    SubscriptionRemoved,
    /// Some notifications were never sent.
    Missed,
}

proem_text::word_table! {
    /// Graph's word for it.
    pub SubscriptionNews {
        ReauthorizationRequired = "reauthorizationRequired",
        SubscriptionRemoved = "subscriptionRemoved",
        Missed = "missed",
    }
}

/// Why a delivery is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryFault {
    /// It is not UTF-8.
    NotText,
    /// It is no JSON, has a key twice, or nests more than 127 values.
    NotJson,
    /// It is not of the form that the source documents.
    OtherForm,
    /// It has too many items, or too many that are unreadable.
    TooMany,
    /// A signal in it is another source's.
    OtherSource,
}

impl DeliveryFault {
    /// The fault in words of ours.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotText => "it is not UTF-8",
            Self::NotJson => "it is no JSON, has a key twice or is nested too deeply",
            Self::OtherForm => "it has another form than the source documents",
            Self::TooMany => "it has too many items",
            Self::OtherSource => "it has signals of another source",
        }
    }
}

#[derive(Deserialize)]
struct JiraBody {
    timestamp: Option<Json>,
}

#[derive(Deserialize)]
struct AsanaBody {
    events: Vec<AsanaTime>,
}

#[derive(Deserialize)]
struct AsanaTime {
    created_at: Option<Json>,
}

#[derive(Deserialize)]
struct GraphBody {
    value: Vec<GraphNotice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GraphNotice {
    client_state: Option<String>,
    subscription_expiration_date_time: Option<String>,
    lifecycle_event: Option<String>,
}

impl DeliveryEnvelope {
    /// Reads the outer form of a body.
    ///
    /// # Errors
    ///
    /// [`DeliveryFault`] if it is not what the source documents.
    pub fn read(source: WebhookSource, body: &[u8]) -> Result<Self, DeliveryFault> {
        let text = std::str::from_utf8(body).map_err(|_| DeliveryFault::NotText)?;
        if !text.trim_start().starts_with('{') {
            return Err(DeliveryFault::OtherForm);
        }
        let envelope = match source {
            WebhookSource::Jira => {
                let body: JiraBody = read_form(text)?;
                let latest = body.timestamp.and_then(|time| time.as_i64()).map(Time);
                Self { items: 1, latest, ..Self::empty(source) }
            }
            WebhookSource::Asana => {
                let body: AsanaBody = read_form(text)?;
                let times = body.events.iter().filter_map(|event| delivery_time(event.created_at.as_ref()?.as_str()?));
                Self { items: body.events.len(), latest: times.max(), ..Self::empty(source) }
            }
            WebhookSource::Graph => {
                let body: GraphBody = read_form(text)?;
                let ends = body.value.iter();
                let latest =
                    ends.filter_map(|notice| delivery_time(notice.subscription_expiration_date_time.as_deref()?));
                let news = body.value.iter().filter_map(|notice| notice.lifecycle_event.as_deref());
                let lifecycle = news.filter_map(SubscriptionNews::parse).collect();
                let (items, latest) = (body.value.len(), latest.max());
                let client_states = body.value.into_iter().map(|notice| notice.client_state).collect();
                Self { source, items, latest, client_states, lifecycle }
            }
        };
        if envelope.items > MAX_DELIVERY_ITEMS { Err(DeliveryFault::TooMany) } else { Ok(envelope) }
    }

    const fn empty(source: WebhookSource) -> Self {
        Self { source, items: 0, latest: None, client_states: Vec::new(), lifecycle: BTreeSet::new() }
    }

    /// The news of the subscription itself.
    pub fn subscription_news(&self) -> impl Iterator<Item = SubscriptionNews> + use<'_> {
        self.lifecycle.iter().copied()
    }

    /// Whether nothing is in it: a sign of life, which Asana sends every eight hours.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Whether it comes so long after its own time that its source would not send it any more. Without a time it is never
    /// stale; the records still keep each signal once.
    #[must_use]
    pub fn is_stale(&self, now: Time) -> bool {
        self.latest.is_some_and(|latest| latest.0.saturating_add(self.source.replay_window()) < now.0)
    }

    /// Whether every notification has a `clientState` that `is_known` accepts. Every one is looked at. Never without a
    /// notification.
    pub fn has_known_states(&self, mut is_known: impl FnMut(&str) -> bool) -> bool {
        let known = self.client_states.iter().filter(|state| is_known(state.as_deref().unwrap_or_default()));
        let known = known.count();
        known > 0 && known == self.client_states.len()
    }
}

/// Shows no secret.
impl fmt::Debug for DeliveryEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, items, latest) = (self.source, self.items, self.latest);
        f.debug_struct("DeliveryEnvelope")
            .field("source", &source)
            .field("items", &items)
            .field("latest", &latest)
            .finish_non_exhaustive()
    }
}

/// Reads the signals of a delivery whose sender is known.
///
/// # Errors
///
/// [`DeliveryFault`] if it is refused as a whole.
pub fn normalise_delivery(
    source: WebhookSource,
    body: &[u8],
    context: &SourceContext<'_>,
) -> Result<NormalisedSignals, DeliveryFault> {
    let value: Json = serde_json::from_slice(body).map_err(|_| DeliveryFault::NotJson)?;
    if !value.is_object() {
        return Err(DeliveryFault::OtherForm);
    }
    let mut found = normalise_value(value, context);
    // Several events are no search, whatever else the body says.
    (found.search, found.end) = (None, AnswerEnd::Whole);
    if found.signals.iter().any(|signal| signal.source != source.signal_source()) {
        return Err(DeliveryFault::OtherSource);
    }
    let items = found.signals.len().saturating_add(found.malformed.len());
    if items > MAX_DELIVERY_ITEMS || found.malformed.len() > MAX_UNREADABLE_ITEMS {
        return Err(DeliveryFault::TooMany);
    }
    Ok(found)
}

fn read_form<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, DeliveryFault> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data if !error.to_string().starts_with("duplicate field") => {
            DeliveryFault::OtherForm
        }
        _ => DeliveryFault::NotJson,
    })
}

fn delivery_time(text: &str) -> Option<Time> {
    parse_timestamp(text).ok().map(Time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Time = Time(1_795_500_000_000);

    fn context() -> SourceContext<'static> {
        SourceContext { now: NOW, mail_servers: &[], audiences: &[] }
    }

    fn fault(source: WebhookSource, body: &[u8]) -> Option<DeliveryFault> {
        let read = DeliveryEnvelope::read(source, body);
        read.and_then(|_| normalise_delivery(source, body, &context())).err()
    }

    fn notice(state: Option<&str>, end: &str) -> Json {
        json!({ "subscriptionId": "s", "clientState": state, "changeType": "created", "resource": "Users/u/Messages/m",
            "subscriptionExpirationDateTime": end, "resourceData": { "@odata.type": "#Microsoft.Graph.Message", "id": "m" } })
    }

    #[test]
    fn a_body_of_another_form_is_refused() {
        use DeliveryFault::{NotJson, NotText, OtherForm, OtherSource, TooMany};
        use WebhookSource::{Asana, Graph, Jira};
        let deep = format!("{{\"issue\":{}{}}}", "[".repeat(200), "]".repeat(200));
        let event = json!({ "action": "changed", "resource": { "gid": "1", "resource_type": "task" } });
        let many = json!({ "events": vec![event.clone(); MAX_DELIVERY_ITEMS + 1] }).to_string();
        let unreadable = json!({ "events": vec![json!({}); MAX_UNREADABLE_ITEMS + 1] }).to_string();
        let line = json!({ "signal": 1, "id": "1", "type": "ticket_updated", "source": "outlook" }).to_string();
        let asana = json!({ "value": [{ "clientState": "s", "gid": "1", "resource_type": "task" }] }).to_string();
        for (source, body, expected) in [
            (Jira, &b"\xff{}"[..], NotText),
            (Jira, b"", OtherForm),
            (Jira, b"[]", OtherForm),
            (Jira, b"{", NotJson),
            (Jira, b"{\"timestamp\":1,\"timestamp\":2}", NotJson),
            (Jira, deep.as_bytes(), NotJson),
            (Jira, line.as_bytes(), OtherSource),
            (Asana, b"{}", OtherForm),
            (Asana, b"{\"events\":{}}", OtherForm),
            (Asana, many.as_bytes(), TooMany),
            (Asana, unreadable.as_bytes(), TooMany),
            (Graph, b"{\"value\":[{\"clientState\":1}]}", OtherForm),
            (Graph, asana.as_bytes(), OtherSource),
        ] {
            assert_eq!(fault(source, body), Some(expected), "{source} {}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_delivery_is_stale_once_its_source_has_given_up() {
        let jira = |age: i64| json!({ "webhookEvent": "jira:issue_updated", "timestamp": NOW.0 - age });
        let asana =
            |hour: &str| json!({ "events": [{ "created_at": "2020-01-01T00:00:00Z" }, { "created_at": hour }] });
        let graph = |end: &str| json!({ "value": [notice(None, end)] });
        for (source, body, expected) in [
            (WebhookSource::Jira, jira(0), false),
            (WebhookSource::Jira, jira(6 * HOUR), false),
            (WebhookSource::Jira, jira(6 * HOUR + 1), true),
            (WebhookSource::Jira, json!({ "webhookEvent": "jira:issue_updated" }), false),
            // Now is 2026-11-24T06:00:00Z.
            (WebhookSource::Asana, asana("2026-11-23T05:00:00.000Z"), false),
            (WebhookSource::Asana, asana("2026-11-23T03:59:59.000Z"), true),
            (WebhookSource::Graph, graph("2026-11-26T11:00:00.0000000Z"), false),
            (WebhookSource::Graph, graph("2026-11-24T00:59:59.0000000Z"), true),
        ] {
            let envelope = DeliveryEnvelope::read(source, body.to_string().as_bytes()).unwrap();
            assert_eq!(envelope.is_stale(NOW), expected, "{body}");
        }
    }

    #[test]
    fn every_notification_needs_the_secret() {
        let end = "2026-11-26T11:00:00Z";
        for (states, expected) in [
            (vec![], false),
            (vec![Some("secret")], true),
            (vec![Some("secret"), Some("other")], false),
            (vec![None], false),
            (vec![Some("secret"), None], false),
        ] {
            let items: Vec<Json> = states.iter().map(|state| notice(*state, end)).collect();
            let body = json!({ "value": items }).to_string();
            let envelope = DeliveryEnvelope::read(WebhookSource::Graph, body.as_bytes()).unwrap();
            assert_eq!(envelope.has_known_states(|state| state == "secret"), expected, "{body}");
            assert!(!format!("{envelope:?}").contains("secret"));
        }
    }

    #[test]
    fn a_notification_is_a_signal_that_names_what_changed() {
        let body = json!({ "value": [notice(Some("hidden"), "2026-11-26T11:00:00Z")], "startAt": 0 }).to_string();
        let found = normalise_delivery(WebhookSource::Graph, body.as_bytes(), &context()).unwrap();
        assert_eq!((found.signals.len(), found.search), (1, None));
        let written = found.signals[0].write().unwrap();
        assert!(written.contains("\"m\"") && !written.contains("hidden"), "{written}");
        assert_eq!(found.signals[0].kind.as_str(), "email_announced");
    }
}
