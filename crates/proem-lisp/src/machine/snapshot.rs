//! Stored machines: the whole state of a program as bytes, and a machine from them.
//!
//! A state holds sources instead of steps, numbers and values. Every object on the heap is written once, behind what it
//! is made of, and parts that are shared stay shared: so what a program costs after it was stored is what it costs
//! without. Equal states are equal bytes. References lead backwards, so nothing that is read contains itself.
//!
//! A state is sealed with a key (HMAC-SHA256): whoever doesn't have it can't make one. Nothing that is read is believed
//! for that: every number is checked, and reading allocates in proportion to the bytes that there are.

mod fibers;
mod graph;
mod input;
mod numbers;
mod objects;
mod output;
mod programs;
mod write;

use super::Machine;
use crate::{builtins, limits::Limits};
use alloc::vec::Vec;
use core::fmt;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// How a state begins.
const MAGIC: &[u8; 7] = b"ptclisp";

/// The version of the format and of what resolving gives, raised with each change of either.
const VERSION: u8 = 2;

/// The bytes of a seal.
const SEAL: usize = 32;

/// A key that states are sealed with.
#[derive(Clone)]
pub struct StateKey([u8; 32]);

impl StateKey {
    /// A key of these bytes, which nobody else may know.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes with the seal of this key behind them. [`Machine::to_state`] does this. By itself it serves to try
    /// reading with states that no machine wrote.
    #[must_use]
    pub fn seal(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let seal: [u8; SEAL] = self.mac(&bytes).finalize().into_bytes().into();
        bytes.extend(seal);
        bytes
    }

    fn mac(&self, bytes: &[u8]) -> Hmac<Sha256> {
        // RFC 2104 fills a key up to a block with zeros.
        let mut block = [0; 64];
        for (to, from) in block.iter_mut().zip(self.0) {
            *to = from;
        }
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(b"proem lisp state");
        mac.update(bytes);
        mac
    }

    /// The bytes before the seal, if it is of this key.
    fn open<'a>(&self, state: &'a [u8]) -> Result<&'a [u8], StateError> {
        let (bytes, seal) = state.split_at_checked(state.len().saturating_sub(SEAL)).ok_or(StateError::Seal)?;
        self.mac(bytes).verify_slice(seal).map_err(|_| StateError::Seal)?;
        Ok(bytes)
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateKey([redacted])")
    }
}

/// Why a machine isn't stored, or not read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// The state would have more bytes than it may, which are these.
    TooLarge(usize),
    /// The program has ended, so there is nothing to go on with.
    Ended,
    /// The bytes don't begin as a state does.
    NoState,
    /// The state is of another version of the language.
    OtherVersion,
    /// The bytes are cut or changed, or sealed with another key.
    Seal,
    /// The program ran under other limits.
    OtherLimits,
    /// The bytes are sealed, and no machine has this state. The words say what is wrong.
    Malformed(&'static str),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(most) => {
                write!(
                    f,
                    "the program's state needs more than {most} bytes with its input; let it hold less when it calls \
                     tools, or let a tool read the data"
                )
            }
            Self::Ended => f.write_str("the program has ended, so there is no state to go on with"),
            Self::NoState => f.write_str("these bytes are no stored program"),
            Self::OtherVersion => {
                f.write_str("the program was stored by another version; run it again with the answers recorded so far")
            }
            Self::Seal => f.write_str("the stored program was cut or changed, or is sealed with another key"),
            Self::OtherLimits => f.write_str("the program was stored under other limits; read it with the same"),
            Self::Malformed(what) => write!(f, "the stored program is malformed: {what}"),
        }
    }
}

impl core::error::Error for StateError {}

impl Machine {
    /// The most bytes that a state usually has: 8 MiB.
    pub const MOST_STATE_BYTES: usize = 8 << 20;

    /// The whole machine as bytes, sealed with `key`: at most `most` of them, which is checked while they are written.
    ///
    /// # Errors
    ///
    /// [`StateError::TooLarge`], and [`StateError::Ended`] after the program's end.
    pub fn to_state(&self, key: &StateKey, most: usize) -> Result<Vec<u8>, StateError> {
        if self.end.is_some() {
            return Err(StateError::Ended);
        }
        let bytes = write::write_machine(self, most.saturating_sub(SEAL)).map_err(|error| match error {
            StateError::TooLarge(_) => StateError::TooLarge(most),
            other => other,
        })?;
        Ok(key.seal(bytes))
    }

    /// A machine that goes on where the stored one was. [`Machine::run`] gives the calls again that it waits for.
    ///
    /// Allocates in proportion to the bytes, and no more than a program under these limits may hold, twice over for
    /// what is between values. Compiled regular expressions take at most `limits.bytes` besides.
    ///
    /// # Errors
    ///
    /// The bytes are no state, of another version, changed or cut, sealed with another key, stored under other limits,
    /// or no state that a machine can have.
    pub fn from_state(state: &[u8], limits: &Limits, key: &StateKey) -> Result<Self, StateError> {
        let rest = state.strip_prefix(MAGIC).ok_or(StateError::NoState)?;
        if rest.first() != Some(&VERSION) {
            return Err(StateError::OtherVersion);
        }
        let bytes = key.open(state)?;
        let body = bytes.get(MAGIC.len().saturating_add(1)..).ok_or(StateError::Malformed("it has no body"))?;
        fibers::read_machine(body, limits)
    }
}

/// The numbers of limits, in the order in which a state has them.
fn limit_numbers(limits: &Limits) -> [u64; 12] {
    let size = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
    let Limits {
        source_bytes,
        nesting,
        digits,
        short_function_arity,
        fuel,
        bytes,
        collection_size,
        output_bytes,
        tool_calls,
        regex_steps,
        parallel_branches,
        memory_bytes,
    } = *limits;
    [
        size(source_bytes),
        size(nesting),
        size(digits),
        size(short_function_arity),
        fuel,
        size(bytes),
        size(collection_size),
        size(output_bytes),
        size(tool_calls),
        regex_steps,
        size(parallel_branches),
        size(memory_bytes),
    ]
}

/// Tells tables of functions apart: their names, in order, and their definitions in the language.
const TABLE_SUM: u64 = builtins::table_sum();
