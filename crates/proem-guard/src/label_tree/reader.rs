//! Reads what [`LabelTree::write`] wrote, and nothing else.
//!
//! A change of a label in a store could make a text trusted. A store's seal prevents that. Everything that Proem
//! doesn't write is refused here, so that no two readers can disagree on a document.

use super::limits::{MAX_BYTES, MAX_LABELS, MAX_VALUES};
use super::place::Trail;
use super::write::{VERSION, WITHOUT_AUDIENCES};
use super::{LabelList, LabelMap, LabelScalar, LabelTree, TreeError, TreeFault};
use crate::untrusted::Untrusted;
use alloc::{string::String, vec::Vec};
use proem_text::{
    Audience, Label, Source,
    label::{MAX_NAMED_SOURCES, MAX_SOURCE_BYTES},
};
use serde_json::{Map, Value as Json};

/// The longest document: every byte of a text as `\u0001`, and what is around values and labels.
const MAX_WRITTEN: usize = {
    const VALUE: usize = 64;
    const LABEL: usize = (MAX_SOURCE_BYTES + 3) * MAX_NAMED_SOURCES + 128;
    6 * MAX_BYTES + VALUE * MAX_VALUES + LABEL * MAX_LABELS
};

impl LabelTree {
    /// Reads a tree that was written down. A text from outside is internal if it was written before texts had an
    /// audience by their source.
    ///
    /// # Errors
    ///
    /// The first place in the document that isn't as [`Self::write`] writes it.
    pub fn read(written: &str) -> Result<Self, TreeError> {
        let root = |fault| TreeError::new(Trail::Root.place(), fault);
        if written.len() > MAX_WRITTEN {
            return Err(root(TreeFault::Length));
        }
        let document: Json = serde_json::from_str(written).map_err(|_| root(TreeFault::NoJson))?;
        let Json::Object(document) = &document else { return Err(root(TreeFault::Form)) };
        let version = document.get("version").and_then(Json::as_u64);
        let Some(version) = version.filter(|version| matches!(*version, WITHOUT_AUDIENCES | VERSION)) else {
            return Err(TreeError::new(Trail::Name(&Trail::Root, "version", None).place(), TreeFault::Version));
        };
        let (Some(Json::Array(labels)), Some(tree), 3) = (document.get("labels"), document.get("tree"), document.len())
        else {
            return Err(root(TreeFault::Form));
        };
        let trail = Trail::Name(&Trail::Root, "labels", None);
        if labels.len() > MAX_LABELS {
            return Err(TreeError::new(trail.place(), TreeFault::Labels));
        }
        let labels = labels.iter().enumerate().map(|(index, label)| {
            read_label(label).ok_or_else(|| TreeError::new(Trail::Index(&trail, index).place(), TreeFault::Label))
        });
        let labels: Vec<Label> = labels.collect::<Result<_, _>>()?;
        let trail = Trail::Name(&Trail::Root, "tree", None);
        let read = TreeReader { labels: &labels }.value(tree, trail)?;
        // Each label at its place, no field twice, no other order and no space.
        let canonical = read.write_as(version)?;
        match canonical.bytes().zip(written.bytes()).position(|(a, b)| a != b) {
            Some(byte) => Err(root(TreeFault::Canonical(byte))),
            None if canonical.len() != written.len() => {
                Err(root(TreeFault::Canonical(canonical.len().min(written.len()))))
            }
            None if version == VERSION => Ok(read),
            None => {
                let labels: Vec<Label> = labels.into_iter().map(at_least_internal).collect();
                TreeReader { labels: &labels }.value(tree, trail)
            }
        }
    }
}

/// The label of a text of which nobody said who may read it.
fn at_least_internal(label: Label) -> Label {
    if label.is_trusted() { label } else { label.narrowed_to(Audience::Internal) }
}

/// The reader of values, with the table of labels that they name.
struct TreeReader<'l> {
    labels: &'l [Label],
}

impl TreeReader<'_> {
    fn value(&self, json: &Json, trail: Trail<'_>) -> Result<LabelTree, TreeError> {
        let object = match json {
            Json::Null => return Ok(LabelTree::Null),
            Json::Bool(value) => return Ok(LabelTree::Bool(*value)),
            Json::Number(number) => return Ok(LabelTree::Number(number.clone())),
            Json::String(text) => return Ok(LabelTree::Text(text.clone())),
            Json::Array(items) => return self.list(items, Label::trusted(), trail),
            Json::Object(object) => object,
        };
        let label = object.get("label").map(|label| self.label(label, Trail::Name(&trail, "label", None)));
        let label = label.transpose()?;
        let mut others = object.iter().filter(|(kind, _)| *kind != "label");
        match (others.next(), label, others.next()) {
            (Some((kind, Json::String(text))), Some(label), None) if kind == "text" => {
                Ok(LabelTree::Outside(Untrusted::new(text.clone(), label)))
            }
            (Some((kind, Json::String(text))), Some(label), None) if kind == "flagged" => {
                Ok(LabelTree::Flagged(Untrusted::new(text.clone(), label)))
            }
            (Some((kind, value)), Some(label), None) if kind == "scalar" => {
                let fault = || TreeError::new(Trail::Name(&trail, "scalar", None).place(), TreeFault::Form);
                Ok(LabelTree::Scalar(Untrusted::new(read_scalar(value).ok_or_else(fault)?, label)))
            }
            (Some((kind, Json::Array(items))), Some(label), None) if kind == "list" => {
                self.list(items, label, Trail::Name(&trail, "list", None))
            }
            (Some((kind, Json::Object(fields))), label, None) if kind == "map" => {
                self.map(fields, label.unwrap_or_else(Label::trusted), Trail::Name(&trail, "map", None))
            }
            _ => Err(TreeError::new(trail.place(), TreeFault::Form)),
        }
    }

    fn list(&self, items: &[Json], label: Label, trail: Trail<'_>) -> Result<LabelTree, TreeError> {
        let items = items.iter().enumerate().map(|(index, item)| self.value(item, Trail::Index(&trail, index)));
        Ok(LabelTree::List(LabelList::new(label, items.collect::<Result<Vec<_>, _>>()?)))
    }

    fn map(&self, fields: &Map<String, Json>, label: Label, trail: Trail<'_>) -> Result<LabelTree, TreeError> {
        // Until all is read nobody knows whose names they are.
        let unknown = Label::from_many();
        let fields = fields
            .iter()
            .map(|(name, field)| Ok((name.as_str(), self.value(field, Trail::Name(&trail, name, Some(&unknown)))?)));
        Ok(LabelTree::Map(LabelMap::new(label, fields.collect::<Result<Vec<_>, _>>()?)))
    }

    fn label(&self, index: &Json, trail: Trail<'_>) -> Result<Label, TreeError> {
        let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
        let label = index.and_then(|index| self.labels.get(index)).cloned();
        label.ok_or_else(|| TreeError::new(trail.place(), TreeFault::LabelIndex))
    }
}

fn read_scalar(json: &Json) -> Option<LabelScalar> {
    match json {
        Json::Null => Some(LabelScalar::Null),
        Json::Bool(value) => Some(LabelScalar::Bool(*value)),
        Json::Number(number) => Some(LabelScalar::Number(number.clone())),
        Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn read_label(json: &Json) -> Option<Label> {
    let fields = json.as_object().filter(|fields| fields.len() == 3)?;
    let audience = Audience::parse(fields.get("audience")?.as_str()?)?;
    let is_secret = fields.get("secret")?.as_bool()?;
    let sources = match fields.get("sources")? {
        Json::Null => Label::from_many(),
        Json::Array(names) => names.iter().try_fold(Label::trusted(), |label, name| {
            Some(label.join(&Label::from_source(Source::parse(name.as_str()?)?)))
        })?,
        _ => return None,
    };
    let label = sources.narrowed_to(audience);
    Some(if is_secret { label.made_secret() } else { label })
}
