//! The exact bytes that a call sent.

use proem_store::Store;
use proem_store::body::unfold;
use proem_store::query::{CallRow, RunDetail};
use proem_store::record::HashedContent;
use proem_text::json;
use serde_json::Value as Json;

use super::TextsByHash;
use crate::error::Error;

/// The bytes, put together from what is kept and compared with the hash of what was sent.
///
/// # Errors
///
/// If there is no such call, or the bytes are not kept or were changed.
pub async fn exact_body(store: &Store, run: &RunDetail, call: u32) -> Result<String, Error> {
    let sent = sent_call(run, call)?;
    if sent.pieces.is_null() {
        let short = run.row.id.short();
        return Err(Error::negative(format!(
            "the body of run {short} is not kept; only hashes are kept (see `records.keep`)"
        )));
    }
    let texts = TextsByHash::load(store, all_strings(&sent.pieces)).await?;
    let body = unfold(&sent.pieces, &|hash| texts.get(hash).map(str::to_owned));
    let Some(body) = body else {
        let short = run.row.id.short();
        return Err(Error::negative(format!(
            "the body of run {short} is not kept: its texts are not all in the record, because a secret was removed or \
             `records.keep` leaves them out"
        )));
    };
    let bytes = json::compact_in_order(&body);
    let hash = HashedContent::new(bytes.as_str()).hash;
    if hash != sent.body {
        return Err(Error::outside(format!(
            "the record of run {} does not reproduce the bytes that were sent: their SHA-256 is {}, that of the record \
             is {hash}; the record was changed, or a secret was removed from it",
            run.row.id.short(),
            sent.body
        )));
    }
    Ok(bytes)
}

fn sent_call(run: &RunDetail, call: u32) -> Result<&CallRow, Error> {
    let bodies: Vec<&CallRow> = run.calls.iter().filter(|call| !call.body.is_empty()).collect();
    let found = usize::try_from(call).ok().and_then(|call| bodies.get(call));
    found.copied().ok_or_else(|| {
        let short = run.row.id.short();
        match bodies.len() {
            0 => Error::negative(format!("run {short} called no model")),
            1 => Error::invalid(format!("run {short} has one call, which is call 0")),
            count => Error::invalid(format!("run {short} has {count} calls, numbered from 0")),
        }
    })
}

/// All strings of a value. The hashes are among them.
fn all_strings(value: &Json) -> Vec<String> {
    match value {
        Json::String(text) if text.len() == 64 => vec![text.clone()],
        Json::Array(items) => items.iter().flat_map(all_strings).collect(),
        Json::Object(fields) => fields.values().flat_map(all_strings).collect(),
        _ => Vec::new(),
    }
}
