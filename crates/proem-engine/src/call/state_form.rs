//! How labels and texts from outside are written down in the state of a run.
//!
//! The output is for a sealed snapshot or a person's inspection. It goes through [`proem_guard::show`] and comes back
//! under the same label.

use std::collections::BTreeSet;

use proem_guard::{Untrusted, show};
use proem_text::{Audience, Label, Secrecy, Source, Sources};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

/// A label as it is written down.
#[derive(Serialize, Deserialize)]
struct StoredLabel {
    /// The sources' names. Absent for "many".
    sources: Option<BTreeSet<String>>,
    secret: bool,
    /// The circle that may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    circle: Option<String>,
    /// The circle as older versions wrote it, when texts had none by their source: `public` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
}

impl From<&Label> for StoredLabel {
    fn from(label: &Label) -> Self {
        let sources = match label.sources() {
            Sources::Named(named) => Some(named.iter().map(|source| source.as_str().to_owned()).collect()),
            Sources::Many => None,
        };
        let secret = label.secrecy() == Secrecy::Secret;
        Self { sources, secret, circle: Some(label.audience().as_str().to_owned()), audience: None }
    }
}

impl StoredLabel {
    /// The label. `None` if a name is none.
    fn label(self) -> Option<Label> {
        let audience = Audience::parse(self.circle.as_deref().or(self.audience.as_deref())?)?;
        let mut label = Label::trusted().narrowed_to(audience);
        match self.sources {
            Some(names) => {
                for name in names {
                    label = label.join(&Label::from_source(Source::parse(&name)?));
                }
            }
            None => label = label.join(&Label::from_many()),
        }
        // A text from outside of which nobody said who may read it is internal.
        if self.circle.is_none() && !label.is_trusted() {
            label = label.narrowed_to(Audience::Internal);
        }
        Some(if self.secret { label.made_secret() } else { label })
    }
}

/// A text from outside as it is written down.
#[derive(Serialize, Deserialize)]
struct LabelledJson {
    value: Json,
    label: StoredLabel,
}

fn unreadable_label<E: serde::de::Error>() -> E {
    E::custom("a trust label names an unknown source or audience")
}

/// A [`Label`], for `#[serde(with)]`.
pub mod label {
    use super::{Deserialize, Deserializer, Label, Serialize, Serializer, StoredLabel, unreadable_label};

    /// Writes it.
    ///
    /// # Errors
    ///
    /// The serialiser's.
    pub fn serialize<S: Serializer>(label: &Label, serializer: S) -> Result<S::Ok, S::Error> {
        StoredLabel::from(label).serialize(serializer)
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// The deserialiser's, or a name that is none.
    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Label, D::Error> {
        StoredLabel::deserialize(deserializer)?.label().ok_or_else(unreadable_label)
    }
}

/// A text from outside, for `#[serde(with)]`.
pub mod outside {
    use super::{
        Deserialize, Deserializer, Json, LabelledJson, Serialize, Serializer, Untrusted, show, unreadable_label,
    };

    /// Writes it.
    ///
    /// # Errors
    ///
    /// The serialiser's.
    pub fn serialize<S: Serializer>(text: &Untrusted<String>, serializer: S) -> Result<S::Ok, S::Error> {
        LabelledJson { value: show::exact_json(text), label: text.label().into() }.serialize(serializer)
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// The deserialiser's, or what is no text.
    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Untrusted<String>, D::Error> {
        let LabelledJson { value, label } = LabelledJson::deserialize(deserializer)?;
        match (value, label.label()) {
            (Json::String(text), Some(label)) => Ok(Untrusted::new(text, label)),
            _ => Err(unreadable_label()),
        }
    }
}

/// A text from outside that may be missing, for `#[serde(with)]`.
pub mod maybe_outside {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Untrusted, outside};

    #[derive(Serialize, Deserialize)]
    struct StoredText(#[serde(with = "outside")] Untrusted<String>);

    /// Writes it.
    ///
    /// # Errors
    ///
    /// The serialiser's.
    pub fn serialize<S: Serializer>(text: &Option<Untrusted<String>>, serializer: S) -> Result<S::Ok, S::Error> {
        text.clone().map(StoredText).serialize(serializer)
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// The deserialiser's, or what is no text.
    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<Untrusted<String>>, D::Error> {
        Ok(Option::<StoredText>::deserialize(deserializer)?.map(|text| text.0))
    }
}

/// A value from outside, for `#[serde(with)]`.
pub mod outside_json {
    use super::{
        Deserialize, Deserializer, Json, LabelledJson, Serialize, Serializer, Untrusted, show, unreadable_label,
    };

    /// Writes it.
    ///
    /// # Errors
    ///
    /// The serialiser's.
    pub fn serialize<S: Serializer>(value: &Untrusted<Json>, serializer: S) -> Result<S::Ok, S::Error> {
        LabelledJson { value: show::exact_value(value), label: value.label().into() }.serialize(serializer)
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// The deserialiser's, or a name that is none.
    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Untrusted<Json>, D::Error> {
        let LabelledJson { value, label } = LabelledJson::deserialize(deserializer)?;
        label.label().map(|label| Untrusted::new(value, label)).ok_or_else(unreadable_label)
    }
}

/// A [`proem_text::Span`], for `#[serde(with)]`.
pub mod span {
    use super::{Deserialize, Deserializer, Serialize, Serializer};
    use proem_text::Span;

    /// Writes it as `[start, end]`.
    ///
    /// # Errors
    ///
    /// The serialiser's.
    pub fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
        (span.start, span.end).serialize(serializer)
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// The deserialiser's.
    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Span, D::Error> {
        <(usize, usize)>::deserialize(deserializer).map(|(start, end)| Span::new(start, end))
    }
}
