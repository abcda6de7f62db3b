//! Reads the value that a model meant from the text that it sent.
//!
//! Models wrap JSON into fences and prose, forget quotes, leave commas behind and stop in the middle. Text with one
//! possible reading is read, and every repair is reported. Missing parts stay missing: a required field is never
//! invented.
//!
//! Invariants: valid JSON that meets its contract is read in one pass and has no repairs but for a key that occurs
//! twice. Work and memory are linear in the length of the text, whatever it holds. Nothing nests deeper than
//! [`MAX_DEPTH`]. Every text and number of the value is in the text in some spelling.

mod answer_standing;
mod around;
mod backslash;
mod choice;
mod cursor;
mod envelope;
mod fit;
mod kinds;
mod place;
mod placed_repair;
mod reader;
mod reasoning;
mod repairs;
mod scalar;
mod search;
mod strict;
mod strings;
mod tree;
mod turns;

pub use self::kinds::{DecodeFailure, RepairKind};
pub use self::placed_repair::PlacedRepair;

use serde_json::Value as Json;

use proem_text::Span;

use crate::contract::Contract;

/// How deep lists and objects may nest. An empty list has a depth of one.
pub const MAX_DEPTH: usize = 128;

/// How many values of a text are looked at: the last ones.
pub const MAX_CANDIDATES: usize = 32;

/// How many repairs are listed one by one. [`RepairKind::More`] represents the others.
pub const MAX_REPAIRS: usize = 1000;

/// A value that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedValue {
    /// The value. It may still break its contract, and [`DecodedValue::losses`] says what is missing in it.
    pub value: Json,
    /// The repairs, in the order of the text.
    pub repairs: Vec<Repair>,
}

/// Something that was not as it should be, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The kind of repair.
    pub kind: RepairKind,
    /// The place in the original text.
    pub span: Span,
    /// The place in the value, in names that the schema declares. `*` is any other name. It is empty for the value as a
    /// whole and for text around it.
    pub path: String,
    /// The line of the text, counted from 1.
    pub line: usize,
}

impl DecodedValue {
    /// The repairs that left out something of the answer. A value with one of them is not what the model meant,
    /// whether it meets its contract or not.
    pub fn losses(&self) -> impl Iterator<Item = &Repair> {
        self.repairs.iter().filter(|repair| repair.kind.is_loss())
    }
}

/// Reads the value that best meets `contract` from `text`.
///
/// If there are several, it is the only one that the contract accepts, or the one that the text names the final one. An
/// earlier one never replaces a last one that is damaged, nor one from the model's reasoning, from a turn that it
/// invented, or from a sentence that only mentions it. If the contract accepts none, it is the one with the fewest
/// places that break the schema, among equals the last. A list where an object is wanted breaks all of it.
///
/// # Errors
///
/// [`DecodeFailure`] if there is none, if the text can be read in more than one way or doesn't give its value as an
/// answer, or if the value is a form that nobody filled in.
pub fn decode_value(text: &str, contract: &Contract) -> Result<DecodedValue, DecodeFailure> {
    let body = around::trimmed_text_span(text);
    let strict = strict::read_strict(text.get(body.start..body.end).unwrap_or_default());
    match strict {
        Some(read) if !read.duplicates => {
            let is_respelled = read.respell || (read.whole_floats && fit::wants_integers(contract.schema()));
            if !is_respelled && contract.accepts(&read.value) {
                if choice::is_unfilled(&read.value) {
                    return Err(DecodeFailure::Unfilled);
                }
                return Ok(DecodedValue { value: read.value, repairs: Vec::new() });
            }
            search::whole_value(text, body, contract)
        }
        Some(_) => search::whole_value(text, body, contract),
        None if let Some(decoded) = search::escaped(text, body, contract) => Ok(decoded),
        // White space at the end says that a number before it is whole.
        None => search::best_value(text, Span::new(body.start, text.len()), contract),
    }
}
