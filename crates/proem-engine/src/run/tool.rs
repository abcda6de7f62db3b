//! Calls of tools as effects of a run.
//!
//! Invariants: arguments and results are texts of JSON, so that no number loses a digit on the way; what a tool's
//! definition leaves open fails closed. A call that may have happened is neither a result nor a failure.

use std::collections::BTreeSet;

use proem_text::{Label, Secrecy, Source, Sources};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{EffectId, ShownHash};

/// The effect that a call of a tool may have on the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolPower {
    /// Nothing: it may be called again at any time.
    Free,
    /// Something, and a second call under the same key does nothing more.
    Idempotent,
    /// Something, each time.
    Effectful,
}

proem_text::word_table! {
    pub ToolPower {
        Free = "free",
        Idempotent = "idempotent",
        Effectful = "effectful",
    }
}

impl ToolPower {
    /// Whether a call of which nobody knows what became may be made again.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        matches!(self, Self::Free | Self::Idempotent)
    }
}

/// The untrusted sources that took part in something, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLabel {
    /// Their names. `None` if there are too many to name.
    pub sources: Option<BTreeSet<String>>,
    /// Whether something of it must stay hidden.
    pub secret: bool,
}

impl Default for CallLabel {
    fn default() -> Self {
        Self { sources: Some(BTreeSet::new()), secret: false }
    }
}

impl From<&Label> for CallLabel {
    fn from(label: &Label) -> Self {
        let sources = match label.sources() {
            Sources::Many => None,
            Sources::Named(named) => Some(named.iter().map(|source| source.as_str().to_owned()).collect()),
        };
        Self { sources, secret: label.secrecy() == Secrecy::Secret }
    }
}

impl CallLabel {
    /// The label that it represents. A name that no source can have counts as too many.
    #[must_use]
    pub fn to_label(&self) -> Label {
        let named = self.sources.as_ref().map(|names| names.iter().map(|name| Source::parse(name)));
        let label = match named {
            None => Label::from_many(),
            Some(names) => names.into_iter().fold(Label::trusted(), |label, source| {
                label.join(&source.map_or_else(Label::from_many, Label::from_source))
            }),
        };
        if self.secret { label.made_secret() } else { label }
    }

    /// Whether all of its sources are among these.
    #[must_use]
    pub fn is_within(&self, permitted: &BTreeSet<String>) -> bool {
        self.sources.as_ref().is_some_and(|sources| sources.is_subset(permitted))
    }

    /// The least label that covers both.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self::from(&self.to_label().join(&other.to_label()))
    }

    /// The sources in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match &self.sources {
            None => "many sources".to_owned(),
            Some(sources) if sources.is_empty() => "nothing from outside".to_owned(),
            Some(sources) => {
                let names: Vec<String> = sources.iter().map(|source| format!("`{source}`")).collect();
                names.join(", ")
            }
        }
    }
}

/// A call of a tool that a run asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool, by the name of its definition.
    pub tool: String,
    /// Its arguments, as the text of a JSON object.
    pub arguments: String,
    /// The effects that it may have.
    pub power: ToolPower,
    /// The sources of each argument, and under `decision` those of the decision to make the call.
    pub labels: ToolLabels,
    /// The hash of what a person was shown and said yes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ShownHash>,
    /// The effect of which this is another attempt: both have one key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<EffectId>,
    /// Why it isn't made, if that was decided before: it passes the gate all the same, which refuses and records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The budgets of an agent that answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<AgentGrant>,
}

/// The budgets of an agent that another one calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentGrant {
    /// The turns that are left of those that all of them share.
    pub turns: u32,
    /// Its level: 1 is an agent that nobody called.
    pub depth: u32,
}

/// The sources of a call's words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLabels {
    /// Each argument, by the name of its parameter.
    pub arguments: std::collections::BTreeMap<String, CallLabel>,
    /// The sources of the decision to make the call.
    pub decision: CallLabel,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ToolOutcome {
    /// It gave a result.
    Answered {
        /// The result, as the text of a JSON value.
        result: String,
    },
    /// It gave none, and is not expected to.
    Failed {
        /// Why, in our words.
        message: String,
        /// The tool's own words about it, which may be anybody's: for a person, never for a program or a model. Empty
        /// if there are none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        wrote: String,
    },
    /// It was not made.
    Denied {
        /// Why, in our words.
        message: String,
    },
    /// It may have happened. Nobody knows.
    Unknown {
        /// How that came to be, in our words.
        message: String,
        /// The tool's own words about it, as those of a failure.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        wrote: String,
    },
    /// An agent answered it, or did not.
    OfAgent {
        /// The outcome of the call.
        outcome: Box<Self>,
        /// The turns that it and the agents that it called took.
        turns: u32,
        /// The label of what it answered: that of all that its model was shown, too.
        label: CallLabel,
    },
    /// It was begun or could have been, and what carries it out is missing or used up.
    Unavailable {
        /// The missing or exhausted thing.
        lack: ToolLack,
        /// The same in our words.
        message: String,
    },
}

impl ToolOutcome {
    /// A failure, without words of the tool's own.
    #[must_use]
    pub fn failure(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), wrote: String::new() }
    }

    /// A call that may have happened, without words of the tool's own.
    #[must_use]
    pub fn doubt(message: impl Into<String>) -> Self {
        Self::Unknown { message: message.into(), wrote: String::new() }
    }

    /// The tool's own words about a call that gave no result. Empty if there are none.
    #[must_use]
    pub fn wrote(&self) -> &str {
        match self.own() {
            Self::Failed { wrote, .. } | Self::Unknown { wrote, .. } => wrote,
            _ => "",
        }
    }

    /// The outcome of the call, whoever answered it.
    #[must_use]
    pub fn own(&self) -> &Self {
        match self {
            Self::OfAgent { outcome, .. } => outcome.own(),
            other => other,
        }
    }
}

/// Why a model or an agent could not answer a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolLack {
    /// No model can be asked.
    Model,
    /// A model was asked and gave no answer that counts.
    Answer,
    /// Agents call agents deeper than they may.
    Depth,
    /// The agents together have no turns left.
    Turns,
    /// The time of the mission is over.
    Time,
}

/// The text in place of a hidden value.
const HIDDEN: &str = "[Hidden]";

/// The text of a JSON value with every field hidden whose name begins with `_`. `None` if there is none, or the text is
/// no JSON.
#[must_use]
pub fn hide_fields(text: &str) -> Option<String> {
    if !text.contains("\"_") && !text.contains("\\u") {
        return None;
    }
    let mut value: Json = serde_json::from_str(text).ok()?;
    let mut open = vec![&mut value];
    let mut is_hidden = false;
    while let Some(part) = open.pop() {
        match part {
            Json::Array(items) => open.extend(items.iter_mut()),
            Json::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    if name.starts_with('_') {
                        *field = Json::String(HIDDEN.to_owned());
                        is_hidden = true;
                    } else {
                        open.push(field);
                    }
                }
            }
            _ => {}
        }
    }
    is_hidden.then(|| proem_text::json::compact(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_stored_and_read_back() {
        let mail = Label::from_source(Source::named("ctx/mail"));
        for label in [Label::trusted(), mail.clone(), mail.made_secret(), Label::from_many()] {
            assert_eq!(CallLabel::from(&label).to_label(), label);
        }
        let odd = CallLabel { sources: Some(BTreeSet::from(["No Source".to_owned()])), secret: false };
        assert_eq!(odd.to_label(), Label::from_many(), "a name that was changed fails closed");
    }

    #[test]
    fn a_field_that_begins_with_a_line_is_hidden_at_any_depth() {
        let hidden = hide_fields(r#"{"a":[{"_b":{"c":1},"d":2}],"\u005fe":3}"#);
        assert_eq!(hidden.as_deref(), Some(r#"{"_e":"[Hidden]","a":[{"_b":"[Hidden]","d":2}]}"#));
        assert_eq!(hide_fields(r#"{"a":"_b"}"#), None);
        assert_eq!(hide_fields("no JSON \"_"), None);
    }

    #[test]
    fn too_many_sources_are_within_nothing() {
        let all = BTreeSet::from(["a".to_owned()]);
        assert!(CallLabel::default().is_within(&BTreeSet::new()));
        assert!(!CallLabel::from(&Label::from_many()).is_within(&all));
    }
}
