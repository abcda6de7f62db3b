#![doc = include_str!("../README.md")]
//!
//! Invariants: a delivery is answered with 2xx only after its signals are on the disk. Of a delivery that is refused,
//! nothing is kept or told but which webhook it was for and why. Memory is bounded whatever arrives. No credential but
//! secrets of webhooks is read.

mod body;
mod event;
mod hook;
mod listen;
mod metrics;
mod monitor;
mod outcome;
mod rate;
mod receiver;
mod signing_key;
pub mod worker;
mod writer;

pub use self::{
    event::{ServeEvent, ServeListener},
    listen::{ServeAddresses, serve_webhooks},
    outcome::WebhookOutcome,
    rate::TokenBucket,
    receiver::{Receiver, ReceiverOptions},
};
