//! The texts of a run, for people who want them in spans.
//!
//! Invariants: a text leaves without the credentials that this process knows and without what has a credential's shape.
//! It has at most [`MOST_BYTES`]. Pictures and files do not leave.

use proem_guard::credential::{redact_credentials, uncut_prefix};
use proem_llm::secret::{Secret, SecretFinder};
use proem_store::Store;
use proem_store::query::{CallRow, RunTrace};
use proem_text::json;
use serde_json::{Value as Json, json};

use crate::error::Error;
use crate::runs::{TextsByHash, stored_text};
use crate::secrets::loaded_secrets;

/// The most bytes of one text. Spans that are larger are refused by many endpoints.
const MOST_BYTES: usize = 64 << 10;

/// The texts that a run sent, was answered and passed to tools, as far as they are kept.
pub(super) struct RunTexts {
    texts: TextsByHash,
    secrets: Vec<Secret>,
}

impl RunTexts {
    /// Reads the texts of a run, as far as they are kept.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub(super) async fn load(store: &Store, trace: &RunTrace) -> Result<Self, Error> {
        let mut hashes = Vec::new();
        for call in &trace.calls {
            hashes.extend(call.sections.iter().map(|section| section.text.clone()));
            hashes.extend(call.result.clone());
            hashes.push(call.report.clone());
        }
        for tool in &trace.tools {
            hashes.push(tool.arguments.clone());
            hashes.extend(tool.result.clone());
        }
        Ok(Self { texts: TextsByHash::load(store, hashes).await?, secrets: loaded_secrets() })
    }

    /// A text as it may leave.
    pub(super) fn text(&self, hash: &str) -> Option<String> {
        self.texts.get(hash).map(|text| self.clean(text))
    }

    /// The instructions and the messages of a call, each as JSON in the form of the conventions.
    pub(super) fn messages(&self, call: &CallRow) -> (Option<String>, Option<String>) {
        let report = self.texts.json(&call.report);
        let (mut instructions, mut messages) = (Vec::new(), Vec::<(&str, Vec<Json>)>::new());
        for section in &call.sections {
            let text = if holds_media(report.as_ref(), &section.name) {
                Some("[a picture or file, which is not exported]".to_owned())
            } else {
                self.text(&section.text)
            };
            let Some(text) = text else { continue };
            let part = json!({ "type": "text", "content": text });
            match (section.role.as_str(), messages.last_mut()) {
                ("system", _) => instructions.push(part),
                (role, Some((last, parts))) if *last == role => parts.push(part),
                (role, _) => messages.push((role, vec![part])),
            }
        }
        let role = |role: &str| if role == "model" { "assistant".to_owned() } else { role.to_owned() };
        let messages: Vec<Json> =
            messages.into_iter().map(|(name, parts)| json!({ "role": role(name), "parts": parts })).collect();
        (list_text(instructions), list_text(messages))
    }

    /// The answer to a call, in the form of the conventions.
    pub(super) fn answer(&self, call: &CallRow, finish: Option<&str>) -> Option<String> {
        let response = self.texts.json(call.result.as_deref()?)?;
        let own = |piece: &Json, key: &str| stored_text(piece, key).map(|text| self.clean(text));
        let part = |piece: &Json| match (own(piece, "text"), own(piece, "arguments")) {
            (Some(text), _) => Some(json!({ "type": "text", "content": text })),
            (None, Some(arguments)) => Some(json!({
                "type": "tool_call", "id": own(piece, "id"), "name": own(piece, "name"), "arguments": arguments,
            })),
            (None, None) => None,
        };
        let parts: Vec<Json> = response.get("content")?.as_array()?.iter().filter_map(part).collect();
        let finish = finish.unwrap_or("error");
        list_text(vec![json!({ "role": "assistant", "parts": parts, "finish_reason": finish })])
    }

    /// The text without credentials, and cut. It is cut last, because a part of a credential has no shape any more.
    fn clean(&self, text: &str) -> String {
        let known = SecretFinder::new(&self.secrets).redact(text);
        let text = known.as_deref().unwrap_or(text);
        let shaped = redact_credentials(text);
        let text = shaped.as_deref().unwrap_or(text);
        let kept = uncut_prefix(text, MOST_BYTES);
        if kept.len() < text.len() { format!("{kept} [cut: {} bytes]", text.len()) } else { kept.to_owned() }
    }
}

fn list_text(items: Vec<Json>) -> Option<String> {
    (!items.is_empty()).then(|| json::compact(&Json::Array(items)))
}

/// Whether a section is a picture or file, by the report on its request.
fn holds_media(report: Option<&Json>, section: &str) -> bool {
    let name = section.rsplit_once('/').filter(|(_, number)| number.parse::<u32>().is_ok());
    let name = name.map_or(section, |(name, _)| name);
    let sections = report.and_then(|report| report.get("sections")?.as_array());
    let of_it = |reported: &&Json| reported.get("name").and_then(Json::as_str) == Some(name);
    let media = sections.into_iter().flatten().find(of_it).and_then(|reported| reported.get("media")?.as_array());
    media.is_some_and(|media| !media.is_empty())
}
