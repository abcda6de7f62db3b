//! Who is asked before a request is sent, and told what became of it.
//!
//! Invariants: no byte of an attempt leaves before its `enter` said yes; every `enter` that did not
//! fail is followed by one `leave`, unless the whole call is dropped; what is replayed passes no gate.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;

use proem_engine::cache::CachePlan;
use proem_engine::call::{Failure, Request, Response};
use proem_engine::providers::Model;

use super::Sent;
use crate::endpoint::Endpoint;
use crate::projection::Dropped;
use crate::wire::{Slot, WireRequest};

/// A future that a gate gives.
pub type Passing<'g, T> = Pin<Box<dyn Future<Output = T> + Send + 'g>>;

/// An attempt that is about to be made, or was.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'c> {
    /// Which call of which run.
    pub slot: Slot,
    /// Which attempt of the call, from 0.
    pub number: u32,
    /// What is asked.
    pub request: &'c Request,
    /// The model that is asked.
    pub model: &'c Model,
    /// The endpoint that it is sent to.
    pub endpoint: &'c Endpoint,
    /// What is cached of it.
    pub plan: &'c CachePlan,
    /// What is sent, without its key.
    pub wire: &'c WireRequest,
    /// The bytes of its body: canonical JSON.
    pub body: &'c [u8],
    /// What the provider does not get.
    pub dropped: &'c [Dropped],
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub struct Left<'c> {
    /// What went over the wire.
    pub sent: &'c Sent,
    /// The answer, or why there is none.
    pub result: Result<&'c Response, &'c Failure>,
    /// Whether the call is over with it.
    pub last: Last,
}

/// Whether a call is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// It is.
    Yes,
    /// It is tried again.
    No,
}

/// Is asked before every attempt over the network.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Before anything is sent, when it is the attempt's turn; a failure ends the call, and nothing is
    /// sent. The future is dropped if the call is cancelled meanwhile; then `leave` follows too.
    fn enter<'g>(&'g self, attempt: &'g Attempt<'_>) -> Passing<'g, Result<(), Failure>>;

    /// After it, whatever came of it. It is waited for even when the call is cancelled.
    fn leave<'g>(&'g self, attempt: &'g Attempt<'_>, left: Left<'g>) -> Passing<'g, ()>;
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open;

impl Gate for Open {
    fn enter<'g>(&'g self, _attempt: &'g Attempt<'_>) -> Passing<'g, Result<(), Failure>> {
        Box::pin(ready(Ok(())))
    }

    fn leave<'g>(&'g self, _attempt: &'g Attempt<'_>, _left: Left<'g>) -> Passing<'g, ()> {
        Box::pin(ready(()))
    }
}
