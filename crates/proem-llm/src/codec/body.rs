//! A request's body in the making, as both providers' words need it.

use proem_engine::call::{Request, Tool};
use proem_engine::providers::{Model, Quirk};
use serde_json::{Map, Value, json};

use crate::projection::{Omission, SchemaDialect, project_schema};

/// The path of a provider's endpoint, and its headers beside the type of the content.
pub(crate) type EndpointPath = (&'static str, Vec<(&'static str, String)>);

/// A provider's names for the settings by which words are chosen, and their limits.
#[derive(Debug)]
pub(crate) struct SamplingNames {
    /// The highest temperature, in hundredths.
    pub(crate) most_temperature: u16,
    /// The name of `top_k`, where there is one.
    pub(crate) top_k: Option<&'static str>,
    /// The name of the list of stop sequences.
    pub(crate) stop: &'static str,
}

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
        let projection = project_schema(&tool.schema, target);
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

    /// Sets how words are chosen, as far as the model takes it, under the provider's names.
    pub(crate) fn set_sampling(&mut self, request: &Request, model: &Model, names: &SamplingNames) {
        let sampling = &request.sampling;
        let fixed = model.quirks.contains(&Quirk::NoTemperature);
        let unsupported = || format!("model `{}` does not support this setting", model.name);
        if let Some(percent) = sampling.temperature_percent {
            self.set_temperature(percent, model, names.most_temperature);
        }
        match sampling.top_p_thousandths {
            Some(_) if fixed => self.drop("/top_p", unsupported()),
            Some(thousandths) => self.set("top_p", json!(f64::from(thousandths) / 1000.0)),
            None => {}
        }
        match (sampling.top_k, names.top_k) {
            (Some(count), Some(name)) if !fixed => self.set(name, json!(count)),
            (Some(_), _) => self.drop("/top_k", unsupported()),
            (None, _) => {}
        }
        if !sampling.stop.is_empty() {
            // A model that can't choose words freely can't be stopped at OpenAI either. Anthropic stops any model.
            if fixed && names.top_k.is_none() {
                self.drop(&format!("/{}", names.stop), unsupported());
            } else {
                self.set(names.stop, json!(sampling.stop));
            }
        }
    }

    /// Sets the temperature that was asked for, as far as the model takes it.
    fn set_temperature(&mut self, percent: u16, model: &Model, most_percent: u16) {
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
pub(crate) fn tools_by_name(tools: &[Tool]) -> Vec<&Tool> {
    let mut tools: Vec<&Tool> = tools.iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}
