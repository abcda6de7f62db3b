//! Values read from a model's answer.

use proem_engine::contract::Contract;
use proem_engine::decode::{DecodedValue, PlacedRepair, RepairKind, decode_value};
use proem_guard::Untrusted;
use proem_text::{Label, Source};
use serde::Serialize;
use serde_json::Value;

use crate::{Error, ErrorKind};

/// A value that a model's answer contains, and what was not as it should be around it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decoded {
    /// The value. It meets the schema.
    pub value: Value,
    /// The repairs that reading it took, a sentence each, in the order of the text.
    pub repairs: Vec<String>,
}

/// Reads the value that a schema asks for from the text of a model's answer: out of a code fence, from between
/// sentences, with a trailing comma. A value that could mean two things, or whose end is missing, is refused, because
/// nobody says here why the answer ended.
///
/// A text, list or map without a maximum in the schema gets a generous one.
///
/// ```
/// let schema = serde_json::json!({ "type": "object", "required": ["urgent"],
///     "properties": { "urgent": { "type": "boolean" } } });
/// let decoded = proem::decode("Here you are:\n```json\n{\"urgent\": true,}\n```", &schema)?;
/// assert_eq!(decoded.value, serde_json::json!({ "urgent": true }));
/// assert_eq!(decoded.repairs.len(), 4);
/// # Ok::<(), proem::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::Negative`] if the text has no such value, with everything that is wrong with it.
/// [`ErrorKind::Invalid`] for a schema that is none, or whose root is not an object.
pub fn decode(text: &str, schema: &Value) -> Result<Decoded, Error> {
    let (contract, _) = Contract::bounded("answer", "", schema.clone())?;
    let decoded =
        decode_value(text, &contract).map_err(|failure| Error::new(ErrorKind::Negative, failure.in_words()))?;
    let lost = decoded.repairs.iter().filter(|repair| repair.kind.is_loss() || repair.kind == RepairKind::OpenEnd);
    let losses: Vec<String> = lost.map(|loss| PlacedRepair::from(loss).in_words()).collect();
    if !losses.is_empty() {
        return Err(Error::all(ErrorKind::Negative, losses));
    }
    let DecodedValue { value, repairs } = decoded;
    let answer = Untrusted::new(value.clone(), Label::from_source(Source::named("answer")));
    let problems: Vec<String> = contract.problems(&answer).iter().map(|problem| problem.in_words()).collect();
    if !problems.is_empty() {
        return Err(Error::all(ErrorKind::Negative, problems));
    }
    let repairs = repairs.iter().map(|repair| PlacedRepair::from(repair).in_words()).collect();
    Ok(Decoded { value, repairs })
}
