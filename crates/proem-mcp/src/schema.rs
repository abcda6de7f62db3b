//! JSON Schemas of tools, made from the types that their documents are made from.
//!
//! Invariant: they are complete in themselves. Clients exist that refuse `$ref`, so every part is written out where it
//! is used, and the types of tools are not recursive.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

/// The schema of a type of arguments or answers.
pub(crate) fn inline_schema<T: JsonSchema>() -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Json::Object(mut schema) => {
            schema.remove("title");
            schema.values_mut().for_each(plain_keywords);
            schema
        }
        // A schema that is `true` or `false` has no words to put into an object.
        _ => JsonObject::new(),
    }
}

/// Leaves out what only our own generator means: formats of numbers, and defaults that are null.
fn plain_keywords(schema: &mut Json) {
    match schema {
        Json::Object(fields) => {
            // A property may have these names too, but its schema is no text and not null.
            fields.retain(|key, value| !(key == "format" && value.is_string() || key == "default" && value.is_null()));
            fields.values_mut().for_each(plain_keywords);
        }
        Json::Array(items) => items.iter_mut().for_each(plain_keywords),
        _ => {}
    }
}
