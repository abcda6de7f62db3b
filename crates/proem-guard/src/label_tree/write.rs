//! How a tree is written down.
//!
//! `{"labels":[…],"tree":…,"version":2}` as canonical JSON. Values that code computed are as they are; what has a label
//! is an object that names it by its place in the table:
//!
//! - `{"label":0,"text":"…"}`, `{"flagged":"…","label":0}`, `{"label":0,"scalar":5}`
//! - `{"label":0,"list":[…]}` and `{"label":0,"map":{…}}`. Of a shape that code chose `[…]` and `{"map":{…}}`
//!
//! The table has each label once, in the order in which the tree names them, names of maps being sorted. So there is
//! one way to write a tree: equal trees have equal bytes, but for a zero below nought, which is written as such.

use super::limits::MAX_LABELS;
use super::place::Trail;
use super::{LabelScalar, LabelTree, TreeError, TreeFault};
use crate::show;
use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use proem_text::{Label, Secrecy, Sources, json::compact};
use serde_json::{Map, Value as Json, json};

/// The version of what is written. It is raised with every change of it.
///
/// Version 1 had the same form, and said `public` of every text: nobody gave a circle by its source.
pub const VERSION: u64 = 2;
/// The version before, which is still read.
pub(super) const WITHOUT_AUDIENCES: u64 = 1;

impl LabelTree {
    /// The tree with all its labels as canonical JSON, for a store. Never for a screen or a prompt.
    ///
    /// # Errors
    ///
    /// If it is too deep, too large, or has one label too many, with the place.
    pub fn write(&self) -> Result<String, TreeError> {
        self.write_as(VERSION)
    }

    /// The same as that version of Proem wrote it.
    pub(super) fn write_as(&self, version: u64) -> Result<String, TreeError> {
        self.check()?;
        let mut labels = LabelTable::default();
        let tree = labels.value(self, Trail::Root)?;
        Ok(compact(&json!({ "labels": labels.written, "tree": tree, "version": version })))
    }
}

/// The labels that were met so far.
#[derive(Debug, Default)]
struct LabelTable {
    written: Vec<Json>,
    places: BTreeMap<String, usize>,
}

impl LabelTable {
    fn value(&mut self, tree: &LabelTree, trail: Trail<'_>) -> Result<Json, TreeError> {
        Ok(match tree {
            LabelTree::Null => Json::Null,
            LabelTree::Bool(value) => Json::Bool(*value),
            LabelTree::Number(number) => Json::Number(number.clone()),
            LabelTree::Text(text) => Json::String(text.clone()),
            LabelTree::Scalar(scalar) => self.labelled("scalar", scalar.value().to_json(), scalar.label(), trail)?,
            LabelTree::Outside(text) => self.labelled("text", show::exact_json(text), text.label(), trail)?,
            LabelTree::Flagged(text) => self.labelled("flagged", show::exact_json(text), text.label(), trail)?,
            LabelTree::List(list) => {
                let label = self.shape(list.label(), trail)?;
                let items = list.iter().enumerate();
                let items = items.map(|(index, item)| self.value(item, Trail::Index(&trail, index)));
                let items = Json::Array(items.collect::<Result<_, _>>()?);
                if label.is_none() { items } else { labelled_object("list", items, label) }
            }
            LabelTree::Map(map) => {
                let label = self.shape(map.label(), trail)?;
                let fields = map.sorted().into_iter().map(|(name, field)| {
                    let trail = Trail::Name(&trail, name, map.outside_label());
                    Ok((String::from(name), self.value(field, trail)?))
                });
                labelled_object("map", Json::Object(fields.collect::<Result<Map<_, _>, _>>()?), label)
            }
        })
    }

    /// The place of a shape's label; what code chose needs none.
    fn shape(&mut self, label: &Label, trail: Trail<'_>) -> Result<Option<usize>, TreeError> {
        if *label == Label::trusted() { Ok(None) } else { self.place(label, trail).map(Some) }
    }

    fn labelled(&mut self, kind: &str, value: Json, label: &Label, trail: Trail<'_>) -> Result<Json, TreeError> {
        Ok(labelled_object(kind, value, Some(self.place(label, trail)?)))
    }

    fn place(&mut self, label: &Label, trail: Trail<'_>) -> Result<usize, TreeError> {
        let label = write_label(label);
        let text = compact(&label);
        if let Some(place) = self.places.get(&text) {
            return Ok(*place);
        }
        let place = self.written.len();
        if place >= MAX_LABELS {
            return Err(TreeError::new(trail.place(), TreeFault::Labels));
        }
        self.places.insert(text, place);
        self.written.push(label);
        Ok(place)
    }
}

fn labelled_object(kind: &str, value: Json, label: Option<usize>) -> Json {
    let mut object = Map::from_iter([(kind.to_string(), value)]);
    if let Some(label) = label {
        object.insert("label".to_string(), label.into());
    }
    Json::Object(object)
}

fn write_label(label: &Label) -> Json {
    let sources = match label.sources() {
        Sources::Named(named) => named.iter().map(|source| Json::from(source.as_str())).collect(),
        Sources::Many => Json::Null,
    };
    let is_secret = label.secrecy() == Secrecy::Secret;
    json!({ "audience": label.audience().as_str(), "secret": is_secret, "sources": sources })
}

impl LabelScalar {
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(number) => Json::Number(number.clone()),
        }
    }
}
