//! Bodies, within a size, a time, and the memory that all of them share.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::outcome::WebhookOutcome;

/// The most bytes of one body.
pub(crate) const MAX_BODY: usize = 1 << 20;
/// The most bytes of all bodies that are under way.
pub(crate) const MAX_IN_FLIGHT: usize = 32 << 20;
/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(10);

/// A body that was read, with its share of the memory.
#[derive(Debug)]
pub(crate) struct DeliveryBody {
    /// The bytes as they came.
    pub(crate) bytes: Vec<u8>,
    /// Given back once the body is stored or refused.
    share: Option<OwnedSemaphorePermit>,
}

/// Reads a body. One that is announced as too large is not read at all.
pub(crate) async fn read_body(body: Body, memory: &Arc<Semaphore>) -> Result<DeliveryBody, WebhookOutcome> {
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(WebhookOutcome::TooLarge);
    }
    let read = tokio::time::timeout(BODY_TIME, read_frames(body, memory)).await;
    read.unwrap_or(Err(WebhookOutcome::Slow))
}

/// Reads pieces as they come: only bytes that arrived count, so that nobody reserves memory by announcing a body.
async fn read_frames(mut body: Body, memory: &Arc<Semaphore>) -> Result<DeliveryBody, WebhookOutcome> {
    let mut read = DeliveryBody { bytes: Vec::new(), share: None };
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| WebhookOutcome::Cut)?;
        let Ok(piece) = frame.into_data() else { continue };
        if read.bytes.len().saturating_add(piece.len()) > MAX_BODY {
            return Err(WebhookOutcome::TooLarge);
        }
        let wanted = u32::try_from(piece.len()).map_err(|_| WebhookOutcome::TooLarge)?;
        let share = Arc::clone(memory).try_acquire_many_owned(wanted).map_err(|_| WebhookOutcome::Busy)?;
        match &mut read.share {
            Some(held) => held.merge(share),
            none => *none = Some(share),
        }
        read.bytes.extend_from_slice(&piece);
    }
    Ok(read)
}
