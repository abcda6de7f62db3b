//! Sends the spans of runs in bounded requests.
//!
//! Invariants: no more is held than a page of runs and the spans of one request. Whatever ends the sending, the counts
//! say how many spans the endpoint took.

use std::time::Duration;

use proem_runtime::telemetry::{MOST_BYTES, MOST_SPANS, TraceEndpoint, TraceLimits, send_spans};
use proem_store::Store;
use proem_store::query::{RunPosition, RunTrace, RunsWanted};
use tokio::time::Instant;

use super::content::RunTexts;
use super::conventions::SpanNames;
use super::spans::run_spans;
use crate::error::Error;

/// The runs that are read at a time.
pub(super) const PAGE: u32 = 100;

/// Whether texts are in spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanContent {
    /// Names and figures alone.
    Figures,
    /// The texts of prompts, answers and calls of tools as well, without credentials.
    Texts,
}

/// How many spans an endpoint took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// The runs whose spans were all sent.
    pub runs: u64,
    /// The spans that it took.
    pub delivered: u64,
    /// The spans that it refused while it took others.
    pub rejected: u64,
    /// Its own words about that, or its last warning, escaped.
    pub words: Option<String>,
}

/// The sending ended early.
#[derive(Debug)]
pub(super) enum DeliveryStop {
    /// The endpoint takes no spans. `wait` is how long it asks to be left alone.
    Endpoint { message: String, wait: Option<Duration> },
    /// The time was over.
    Late,
    /// The records can't be read.
    Records(Error),
}

impl From<Error> for DeliveryStop {
    fn from(error: Error) -> Self {
        Self::Records(error)
    }
}

impl From<proem_store::Error> for DeliveryStop {
    fn from(error: proem_store::Error) -> Self {
        Self::Records(error.into())
    }
}

/// An endpoint, and what is sent to it.
#[derive(Debug)]
pub(super) struct SpanTarget {
    pub(super) endpoint: TraceEndpoint,
    pub(super) content: SpanContent,
    pub(super) limits: TraceLimits,
    /// When the sending has to end. `None` if it may take its time.
    pub(super) until: Option<Instant>,
}

/// Spans on their way.
pub(super) struct SpanDelivery<'d> {
    target: &'d SpanTarget,
    store: &'d Store,
    names: SpanNames,
    /// As they are written.
    waiting: Vec<Vec<u8>>,
    bytes: usize,
    counts: SpanCounts,
    tell: &'d mut dyn FnMut(u64),
}

impl<'d> SpanDelivery<'d> {
    /// `tell` hears how many spans were taken, after each request.
    pub(super) fn new(target: &'d SpanTarget, store: &'d Store, tell: &'d mut dyn FnMut(u64)) -> Result<Self, Error> {
        let names = SpanNames::shipped()?;
        Ok(Self { target, store, names, waiting: Vec::new(), bytes: 0, counts: SpanCounts::default(), tell })
    }

    /// How many were taken so far.
    pub(super) const fn counts(&self) -> &SpanCounts {
        &self.counts
    }

    /// Sends the spans of a run, the last of them with those of the next one.
    pub(super) async fn push(&mut self, trace: &RunTrace) -> Result<(), DeliveryStop> {
        let texts = match self.target.content {
            SpanContent::Figures => None,
            SpanContent::Texts => Some(RunTexts::load(self.store, trace).await?),
        };
        for span in run_spans(&self.names, trace, texts.as_ref()) {
            let span = span.encode();
            if self.waiting.len() >= MOST_SPANS || self.bytes.saturating_add(span.len()) > MOST_BYTES {
                self.flush().await?;
            }
            self.bytes = self.bytes.saturating_add(span.len());
            self.waiting.push(span);
        }
        self.counts.runs = self.counts.runs.saturating_add(1);
        Ok(())
    }

    /// Sends what waits.
    pub(super) async fn flush(&mut self) -> Result<(), DeliveryStop> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut limits = self.target.limits;
        if let Some(until) = self.target.until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DeliveryStop::Late);
            }
            limits.host.whole = limits.host.whole.min(left);
            limits.host.connect = limits.host.connect.min(left);
        }
        let spans = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let sent = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        let receipt = send_spans(&self.target.endpoint, spans, &limits)
            .await
            .map_err(|failure| DeliveryStop::Endpoint { message: failure.message, wait: failure.wait })?;
        let rejected = receipt.rejected.min(sent);
        self.counts.rejected = self.counts.rejected.saturating_add(rejected);
        self.counts.delivered = self.counts.delivered.saturating_add(sent.saturating_sub(rejected));
        self.counts.words = receipt.message.or_else(|| self.counts.words.take());
        (self.tell)(self.counts.delivered);
        Ok(())
    }

    /// Sends the spans of the wanted runs, the oldest first. `limit` of `wanted` is not used.
    pub(super) async fn push_wanted(&mut self, wanted: &RunsWanted) -> Result<(), DeliveryStop> {
        let wanted = RunsWanted { limit: Some(PAGE), ..wanted.clone() };
        let mut behind = Some(RunPosition::default());
        while let Some(place) = behind {
            let page = self.store.run_traces(&wanted, place).await?;
            for trace in &page.runs {
                self.push(trace).await?;
            }
            behind = page.next;
        }
        self.flush().await
    }
}
