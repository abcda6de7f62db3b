//! A request's body in the making, as both providers' words need it.

use proem_engine::call::{Request, Tool};
use proem_engine::providers::{Model, Quirk};
use serde_json::{Map, Value, json};

use crate::projection::{Omission, SchemaDialect, project};

/// The path of a provider's endpoint, and its headers beside the type of the content.
pub(crate) type EndpointPath = (&'static str, Vec<(&'static str, String)>);

/// A body in the making.
#[derive(Debug)]
pub(crate) struct BodyBuilder {
    pub(super) fields: Map<String, Value>,
    pub(super) dropped: Vec<Omission>,
    pub(super) strict: Vec<String>,
}

impl BodyBuilder {
    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.fields.insert(key.to_owned(), value);
    }

    pub(crate) fn drop(&mut self, path: &str, why: impl Into<String>) {
        self.dropped.push(Omission { path: path.to_owned(), why: why.into() });
    }

    /// The schema as `target` takes it, or as it must be sent instead; what is dropped of it is
    /// listed behind `prefix`.
    pub(crate) fn schema(&mut self, tool: &Tool, target: SchemaDialect, prefix: &str) -> (Value, SchemaDialect) {
        let projection = project(&tool.schema, target);
        self.drop_all(projection.dropped, prefix);
        // A schema that is tried in another form after all counts in that.
        self.strict.retain(|name| *name != tool.name);
        if projection.target == SchemaDialect::OpenAiStrict {
            self.strict.push(tool.name.clone());
        }
        (projection.schema, projection.target)
    }

    /// Lists what is dropped of a schema behind `prefix`.
    pub(crate) fn drop_all(&mut self, dropped: Vec<Omission>, prefix: &str) {
        let behind = |one: Omission| Omission { path: format!("{prefix}{}", one.path), why: one.why };
        self.dropped.extend(dropped.into_iter().map(behind));
    }

    /// Sets the temperature that was asked for, as far as the model takes it.
    pub(crate) fn set_temperature(&mut self, request: &Request, model: &Model, most_percent: u16) {
        let Some(percent) = request.temperature_percent else { return };
        if model.quirks.contains(&Quirk::NoTemperature) {
            return self.drop("/temperature", format!("model `{}` does not support this setting", model.name));
        }
        if percent > most_percent {
            self.drop("/temperature", format!("lowered to {most_percent} hundredths, the maximum"));
        }
        self.set("temperature", json!(f64::from(percent.min(most_percent)) / 100.0));
    }
}

/// The tools by name: their order is part of the prefix that a provider caches.
pub(crate) fn sorted(tools: &[Tool]) -> Vec<&Tool> {
    let mut tools: Vec<&Tool> = tools.iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}
