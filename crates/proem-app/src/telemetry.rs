//! Runs as spans of OpenTelemetry: exported on demand, or as they end.
//!
//! Invariants: only the user's configuration or command names an endpoint and the credentials for it. No text leaves
//! unless it is asked for, and then without credentials. Nothing is spooled: the records are what waits, and a cursor in
//! them says up to where an endpoint has everything.

mod content;
mod conventions;
mod cursor;
mod delivery;
mod live;
mod spans;

use proem_llm::secret::Secret;
use proem_runtime::telemetry::{TraceEndpoint, TraceLimits};
use proem_store::Store;
use proem_store::query::RunsWanted;

pub use self::cursor::{ExportProgress, export_progress};
pub use self::delivery::{SpanContent, SpanCounts};
pub(crate) use self::live::LiveExport;
pub use self::live::{LIVE_LIMIT, export_rest};

use self::delivery::{DeliveryStop, SpanDelivery, SpanTarget};
use crate::error::Error;
use crate::project::OpenProject;
use crate::secrets::load_credential;
use crate::words::count_with_noun;

/// An endpoint, and what it gets.
#[derive(Debug)]
pub struct SpanExport {
    target: SpanTarget,
}

impl SpanExport {
    /// An export to an address that the caller names. `headers` are pairs of a header's name and that of a credential.
    ///
    /// # Errors
    ///
    /// If the address or a header is none, or a credential is missing.
    pub fn to_address(
        project: &OpenProject,
        url: &str,
        headers: &[(String, String)],
        content: SpanContent,
    ) -> Result<Self, Error> {
        let load = |(header, name): &(String, String)| Ok((header.clone(), load_credential(project, name)?));
        Self::new(url, headers.iter().map(load).collect::<Result<_, Error>>()?, content)
    }

    /// An export to the endpoint of the user's configuration.
    ///
    /// # Errors
    ///
    /// If there is none, its address or a header is none, or a credential is missing.
    pub fn configured(project: &OpenProject, content: SpanContent) -> Result<Self, Error> {
        let telemetry = &project.config.telemetry;
        let Some(url) = &telemetry.otlp else {
            let problem = "no endpoint is configured; name one, or set `telemetry.otlp` in your configuration";
            return Err(Error::invalid(problem));
        };
        let headers: Vec<_> = telemetry.headers.iter().map(|(header, name)| (header.clone(), name.clone())).collect();
        let content = if telemetry.content { SpanContent::Texts } else { content };
        Self::to_address(project, url, &headers, content)
    }

    fn new(url: &str, headers: Vec<(String, Secret)>, content: SpanContent) -> Result<Self, Error> {
        let endpoint =
            TraceEndpoint::new(url, headers).map_err(|refusal| Error::invalid(format!("telemetry: {refusal}")))?;
        Ok(Self { target: SpanTarget { endpoint, content, limits: TraceLimits::default(), until: None } })
    }

    /// The host of the endpoint, with its port if that is named.
    #[must_use]
    pub fn host(&self) -> &str {
        self.target.endpoint.host()
    }

    /// Whether texts leave.
    #[must_use]
    pub const fn content(&self) -> SpanContent {
        self.target.content
    }

    /// Sends the wanted runs, the oldest first, whatever was sent before. `limit` of `wanted` is not used. `tell` hears how
    /// many spans were taken, after each request.
    ///
    /// # Errors
    ///
    /// If the records can't be read, or the endpoint does not take all spans: with how many it took.
    pub async fn send(
        &self,
        store: &Store,
        wanted: &RunsWanted,
        tell: &mut dyn FnMut(u64),
    ) -> Result<SpanCounts, Error> {
        let mut delivery = SpanDelivery::new(&self.target, store, tell)?;
        let ended = delivery.push_wanted(wanted).await;
        finished(self.host(), ended, delivery.counts().clone())
    }
}

/// The counts of a sending that took its time, or why not everything was taken.
fn finished(host: &str, ended: Result<(), DeliveryStop>, counts: SpanCounts) -> Result<SpanCounts, Error> {
    let delivered = || format!("{} delivered", count_with_noun(counts.delivered, "span"));
    match ended {
        Err(DeliveryStop::Records(error)) => Err(error),
        Err(DeliveryStop::Endpoint { message, .. }) => Err(Error::outside(format!("{message}; {}", delivered()))),
        Err(DeliveryStop::Late) => Err(Error::outside(format!("`{host}` took too long; {}", delivered()))),
        Ok(()) if counts.rejected > 0 => {
            let why = counts.words.as_deref().map_or_else(String::new, |words| format!(": {words}"));
            let rejected = count_with_noun(counts.rejected, "span");
            Err(Error::outside(format!("`{host}` rejected {rejected}{why}; {}", delivered())))
        }
        Ok(()) => Ok(counts),
    }
}
