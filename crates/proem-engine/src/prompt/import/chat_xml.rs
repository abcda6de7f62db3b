//! Chats that a text writes as `<message role="user">…</message>`, as Semantic Kernel has them.
//!
//! Source: `ChatPromptParser.cs` and `XmlPromptParser.cs` of <https://github.com/microsoft/semantic-kernel>: text outside
//! messages is not sent, white space at the ends of a message is not either, and references such as `&lt;` are decoded.

use super::source::{Fragment, ImportReader};
use crate::message::Role;

/// A message with its text.
pub(super) struct XmlMessage<'s> {
    /// The role of its author.
    pub(super) role: Role,
    /// Its text, decoded.
    pub(super) fragment: Fragment<'s>,
}

/// The beginning of a message.
const OPEN: &str = "<message";

/// Its end.
const CLOSE: &str = "</message>";

/// The meaning of each reference.
const REFERENCES: [(&str, &str); 6] =
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")];

/// Whether a text is a chat.
pub(super) fn is_chat(text: &str) -> bool {
    text.match_indices(OPEN).any(|(at, _)| {
        let tag = text.get(at..).unwrap_or_default().split('>').next().unwrap_or_default();
        tag.contains(" role") && text.contains(CLOSE)
    })
}

/// The most messages of a chat.
const MAX_MESSAGES: usize = 1_000;

/// Reads the messages of a chat; what isn't plain is refused with its line.
pub(super) fn read_chat<'s>(fragment: &Fragment<'s>, reader: &mut ImportReader<'_>) -> Vec<XmlMessage<'s>> {
    let mut messages = Vec::new();
    let mut outside = OutsideText::default();
    let mut rest = fragment.text.as_str();
    let offset = |rest: &str| fragment.text.len().saturating_sub(rest.len());
    while let Some(start) = rest.find(OPEN) {
        let (before, message) = rest.split_at_checked(start).unwrap_or((rest, ""));
        outside.add(before, offset(rest));
        let at = offset(message);
        if messages.len() >= MAX_MESSAGES {
            reader.refuse_in(fragment, at, &format!("more than {MAX_MESSAGES} messages"), "split the prompt");
            return messages;
        }
        let Some((tag, behind)) = message.split_once('>') else {
            reader.refuse_in(fragment, at, "this message's tag has no end", "");
            return messages;
        };
        let Some((body, after)) = behind.split_once(CLOSE) else {
            reader.refuse_in(fragment, at, "this message has no end; `</message>` closes it", "");
            return messages;
        };
        rest = after;
        let Some(role) = read_role(tag) else {
            let help = "write `<message role=\"user\">`; known roles: system, developer, user, assistant";
            reader.refuse_in(fragment, at, "the role of this message is not imported", help);
            continue;
        };
        match decode_text(body) {
            Ok(text) => {
                let fragment = Fragment { file: fragment.file, start: fragment.place_of_byte(at), text };
                messages.push(XmlMessage { role, fragment });
            }
            Err(why) => reader.refuse_in(fragment, at, why, "keep words and placeholders in a message"),
        }
    }
    outside.add(rest, offset(rest));
    outside.report(fragment, reader);
    messages
}

/// The text between messages.
#[derive(Default)]
struct OutsideText {
    /// The place of the first words.
    words: Option<usize>,
    /// The place of the first tag of a loop or a condition, which would repeat or leave out messages.
    code: Option<usize>,
}

impl OutsideText {
    fn add(&mut self, text: &str, at: usize) {
        let blank = text.len().saturating_sub(text.trim_start().len());
        if blank < text.len() && self.words.is_none() {
            self.words = Some(at.saturating_add(blank));
        }
        let code = ["{{#", "{{/", "{{^", "{%"].iter().filter_map(|sign| text.find(sign)).min();
        self.code = self.code.or(code.map(|code| at.saturating_add(code)));
    }

    fn report(&self, fragment: &Fragment<'_>, reader: &mut ImportReader<'_>) {
        if let Some(at) = self.code {
            reader.refuse_in(
                fragment,
                at,
                "a loop over messages is code, which is not imported",
                "write each message out",
            );
        } else if let Some(at) = self.words {
            let text = "text outside of messages is left out: Semantic Kernel doesn't send it";
            reader.leave_out(fragment.file, fragment.place_of_byte(at), text);
        }
    }
}

/// The role in a tag such as `<message role="user"`. Other attributes are refused.
fn read_role(tag: &str) -> Option<Role> {
    let attributes = tag.strip_prefix(OPEN)?.trim();
    let value = attributes.strip_prefix("role")?.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let role = value.strip_prefix(quote)?.strip_suffix(quote)?;
    match role.to_ascii_lowercase().as_str() {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Model),
        _ => None,
    }
}

/// The text of a message without the white space at its ends. One element `<text>` in it is its text.
fn decode_text(body: &str) -> Result<String, &'static str> {
    let body = body.trim();
    if let Some(data) = body.strip_prefix("<![CDATA[") {
        let text = data.strip_suffix("]]>").filter(|text| !text.contains("]]>"));
        return text.map(|text| text.trim().to_owned()).ok_or("text beside CDATA is not imported");
    }
    let inner = body.strip_prefix("<text>").and_then(|inner| inner.strip_suffix("</text>")).map_or(body, str::trim);
    if inner.contains('<') {
        return Err("an element in a message is not imported");
    }
    let mut text = String::new();
    let mut rest = inner;
    while let Some(at) = rest.find('&') {
        let (before, reference) = rest.split_at_checked(at).unwrap_or((rest, ""));
        text.push_str(before);
        let Some((written, meant)) = REFERENCES.iter().find(|(written, _)| reference.starts_with(written)) else {
            return Err("a `&` that is no reference such as `&amp;` makes no message");
        };
        text.push_str(meant);
        rest = reference.get(written.len()..).unwrap_or_default();
    }
    text.push_str(rest);
    Ok(text)
}
