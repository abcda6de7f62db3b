//! The gate that is asked before a request is sent, and told the outcome.
//!
//! Invariants: no byte of an attempt leaves before its `enter` said yes. Every `enter` that did not fail is followed by
//! one `leave`, unless the whole call is dropped; what is replayed passes no gate.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;

use proem_engine::cache::CachePlan;
use proem_engine::call::{CallFailure, Request, Response};
use proem_engine::providers::Model;

use super::pending_call::AttemptReport;
use crate::endpoint::Endpoint;
use crate::projection::Omission;
use crate::wire::{CallSlot, WireRequest};

/// A future that a gate gives.
pub type GateFuture<'g, T> = Pin<Box<dyn Future<Output = T> + Send + 'g>>;

/// An attempt that is about to be made, or was.
#[derive(Debug, Clone, Copy)]
pub struct CallAttempt<'c> {
    /// Which call of which run.
    pub slot: CallSlot,
    /// Which attempt of the call, from 0.
    pub number: u32,
    /// The question.
    pub request: &'c Request,
    /// The model that is asked.
    pub model: &'c Model,
    /// The endpoint that it is sent to.
    pub endpoint: &'c Endpoint,
    /// Its cache plan.
    pub plan: &'c CachePlan,
    /// The request, without its key.
    pub wire: &'c WireRequest,
    /// The bytes of its body: canonical JSON.
    pub body: &'c [u8],
    /// The parts that the provider does not get.
    pub dropped: &'c [Omission],
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub struct AttemptEnd<'c> {
    /// The wire traffic.
    pub sent: &'c AttemptReport,
    /// The answer, or why there is none.
    pub result: Result<&'c Response, &'c CallFailure>,
    /// Whether the call is over with it.
    pub last: Last,
}

/// Whether a call is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// It is: this was the last attempt.
    Yes,
    /// It is tried again.
    No,
}

/// Is asked before every attempt over the network.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Before anything is sent, when it is the attempt's turn. A failure ends the call, and nothing is sent. The future
    /// is dropped if the call is cancelled meanwhile. Then `leave` follows too.
    fn enter<'g>(&'g self, attempt: &'g CallAttempt<'_>) -> GateFuture<'g, Result<(), CallFailure>>;

    /// After it, whatever came of it. It is waited for even when the call is cancelled.
    fn leave<'g>(&'g self, attempt: &'g CallAttempt<'_>, left: AttemptEnd<'g>) -> GateFuture<'g, ()>;
}

/// A gate for calls that are not kept: it lets every attempt pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenGate;

impl Gate for OpenGate {
    fn enter<'g>(&'g self, _attempt: &'g CallAttempt<'_>) -> GateFuture<'g, Result<(), CallFailure>> {
        Box::pin(ready(Ok(())))
    }

    fn leave<'g>(&'g self, _attempt: &'g CallAttempt<'_>, _left: AttemptEnd<'g>) -> GateFuture<'g, ()> {
        Box::pin(ready(()))
    }
}
