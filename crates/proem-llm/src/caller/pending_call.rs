//! A call as it is carried out, and the account of its attempts.

use std::time::Duration;

use bytes::Bytes;
use proem_engine::cache::CachePlan;
use proem_engine::call::{CallFailure, FailureKind, Request};
use proem_engine::providers::Model;

use super::gate::{CallAttempt, Gate};
use super::listener::TextListener;
use crate::codec::EndpointNames;
use crate::endpoint::Endpoint;
use crate::pace::Pace;
use crate::projection::Omission;
use crate::retry::RetryPolicy;
use crate::wire::{CallSlot, WireRequest};

/// The wire traffic of one attempt of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptReport {
    /// The status of the answer. `None` if none came.
    pub status: Option<u16>,
    /// How long it was waited before, by rule or because the endpoint asked for it. Nothing in a replay.
    pub waited: Duration,
    /// How long it took. Nothing in a replay, where the network has no part in it.
    pub took: Duration,
    /// The bytes of the answer that were read.
    pub bytes: usize,
    /// The failure.
    pub failed: Option<FailureKind>,
}

/// A call as it is carried out.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingCall<'c> {
    pub(super) request: &'c Request,
    pub(super) model: &'c Model,
    pub(super) plan: &'c CachePlan,
    pub(super) slot: CallSlot,
    pub(super) paced: &'c Paced,
    pub(super) wire: &'c WireRequest,
    /// The same bytes for whoever writes them down and for every attempt.
    pub(super) body: &'c Bytes,
    pub(super) url: &'c str,
    pub(super) policy: &'c RetryPolicy,
    pub(super) gate: &'c dyn Gate,
    pub(super) listener: Option<&'c dyn TextListener>,
    pub(super) dropped: &'c [Omission],
}

impl<'c> PendingCall<'c> {
    /// The attempt with that number, as a gate sees it. `body` is what goes over the wire.
    pub(super) const fn attempt<'b>(&self, number: u32, body: &'b [u8]) -> CallAttempt<'b>
    where
        'c: 'b,
    {
        CallAttempt {
            slot: self.slot,
            number,
            request: self.request,
            model: self.model,
            endpoint: &self.paced.endpoint,
            plan: self.plan,
            wire: self.wire,
            body,
            dropped: self.dropped,
        }
    }

    /// The names of the endpoint and the model, for messages.
    pub(super) fn names(&self) -> EndpointNames<'c> {
        let endpoint = &self.paced.endpoint;
        EndpointNames {
            endpoint: &endpoint.name,
            variable: endpoint.key.variable(),
            model: &self.model.name,
            url: self.url,
            body_bytes: self.body.len(),
        }
    }
}

/// An endpoint and its pace.
#[derive(Debug)]
pub(super) struct Paced {
    pub(super) endpoint: Endpoint,
    pub(super) pace: Pace,
}

/// How messages of failures end that may pass.
pub(super) const TRY_AGAIN: &str = "; try again";

pub(super) fn cancelled_failure() -> CallFailure {
    CallFailure::new(FailureKind::Cancelled, "the call was cancelled")
}
