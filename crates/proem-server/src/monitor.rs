//! Health, readiness and metrics, for a port of their own.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;

use crate::body::MAX_IN_FLIGHT;
use crate::hook::Hook;
use crate::receiver::{Receiver, ReceiverState, delivery_response};
use crate::writer::{WriterAnswer, WriterWork};

/// How long the records count as they were found.
const PROBE_HOLDS: Duration = Duration::from_secs(1);
/// How long a probe may take.
const PROBE_TIME: Duration = Duration::from_secs(5);
/// The type of Prometheus' text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Receiver {
    /// The routes for operators: `/healthz`, `/readyz` and `/metrics`.
    pub fn monitoring_routes(&self) -> Router {
        let health = || async { delivery_response(StatusCode::OK, Body::from("ok\n")) };
        let routes = Router::new().route("/healthz", get(health));
        let routes = routes.route("/readyz", get(answer_readiness)).route("/metrics", get(answer_metrics));
        routes.with_state(Arc::clone(&self.shared))
    }
}

async fn answer_readiness(State(shared): State<Arc<ReceiverState>>) -> Response {
    if shared.is_ending.load(Ordering::Acquire) {
        return delivery_response(StatusCode::SERVICE_UNAVAILABLE, Body::from("ending\n"));
    }
    if shared.can_store().await {
        delivery_response(StatusCode::OK, Body::from("ready\n"))
    } else {
        delivery_response(StatusCode::SERVICE_UNAVAILABLE, Body::from("the records can't be written\n"))
    }
}

async fn answer_metrics(State(shared): State<Arc<ReceiverState>>) -> Response {
    let mut answer = delivery_response(StatusCode::OK, Body::from(shared.metrics_text()));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT));
    answer
}

impl ReceiverState {
    /// Whether the records of every project can be written. One probe at a time, so that nobody fills the queues with
    /// them.
    async fn can_store(&self) -> bool {
        let mut probed = self.probed.lock().await;
        if let Some((at, can_store)) = *probed
            && at.elapsed() < PROBE_HOLDS
        {
            return can_store;
        }
        let mut can_store = true;
        for hook in self.hooks.values() {
            can_store &= can_write(hook).await;
        }
        *probed = Some((Instant::now(), can_store));
        can_store
    }

    fn metrics_text(&self) -> String {
        let mut out = String::from("# HELP proem_deliveries_total Deliveries by webhook and outcome.\n");
        out.push_str("# TYPE proem_deliveries_total counter\n");
        self.for_each_hook(&mut out, |hook, labels, out| hook.counts.write_outcomes(labels, out));
        out.push_str("# HELP proem_delivery_seconds Time from the head of a stored delivery to its answer.\n");
        out.push_str("# TYPE proem_delivery_seconds histogram\n");
        self.for_each_hook(&mut out, |hook, labels, out| hook.counts.write_times(labels, out));
        out.push_str(
            "# HELP proem_deliveries_waiting Deliveries that wait for the records of the webhook's project.\n",
        );
        out.push_str("# TYPE proem_deliveries_waiting gauge\n");
        self.for_each_hook(&mut out, |hook, labels, out| {
            _ = writeln!(out, "proem_deliveries_waiting{{{labels}}} {}", hook.queue.waiting());
        });
        let unknown = self.unknown.load(Ordering::Relaxed);
        let bytes = MAX_IN_FLIGHT.saturating_sub(self.memory.available_permits());
        for (name, kind, help, value) in [
            ("proem_unknown_deliveries_total", "counter", "Requests for no webhook that there is.", unknown),
            ("proem_body_bytes", "gauge", "Bytes of bodies under way.", bytes as u64),
        ] {
            _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
        out
    }

    fn for_each_hook(&self, out: &mut String, write: impl Fn(&Hook, &str, &mut String)) {
        for hook in self.hooks.values() {
            let labels = format!("webhook=\"{}\",source=\"{}\"", hook.name, hook.source);
            write(hook, &labels, out);
        }
    }
}

async fn can_write(hook: &Hook) -> bool {
    let Some(answer) = hook.queue.offer(WriterWork::Probe) else { return false };
    matches!(tokio::time::timeout(PROBE_TIME, answer).await, Ok(Ok(WriterAnswer::Stored)))
}
