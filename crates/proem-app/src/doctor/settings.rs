//! Every setting with its value and where that comes from.
//!
//! Invariants: every key of the configuration's schema is listed, set or not; what could be a credential that somebody
//! wrote into a configuration is never shown, although it doesn't belong there.

use proem_guard::credential;
use proem_runtime::files;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value as Json;

use crate::config::Config;
use crate::error::Error;
use crate::project::{CONFIG, OpenProject};
use crate::trust::sha256_hex;

/// The most bytes of a configuration.
const MAX_BYTES: usize = 1 << 20;

/// The placeholder for a value that could be a credential.
const HIDDEN: &str = "[redacted]";

/// The tables whose entries are headers of requests, in which people put credentials.
const HEADERS: &str = "headers";

/// The origin of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingOrigin {
    /// It ships with Proem.
    Default,
    /// The user's own configuration.
    User,
    /// The project's `proem.toml`, which this user trusts.
    Project,
    /// The project's `proem.toml`, which is not trusted and only lowers limits.
    Lowered,
}

proem_text::word_table! {
    pub SettingOrigin {
        Default = "default",
        User = "user",
        Project = "project",
        Lowered = "lowered",
    }
}

/// A key of the configuration with its value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConfigSetting {
    /// Its name, with the tables that it is in.
    pub key: String,
    /// Its value. Nothing where it is unset and code decides.
    pub value: Option<Json>,
    /// The origin of the value.
    pub origin: SettingOrigin,
}

/// The configurations that a value may come from.
struct ValueSources {
    /// The effective values.
    effective: toml::Value,
    /// The values in the user's file.
    user: toml::Value,
    /// The user's file with the defaults.
    whole: toml::Value,
    /// The values in the project's file, if it is trusted.
    project: toml::Value,
}

/// Every setting that holds in a project, by name.
///
/// # Errors
///
/// If the user's configuration can't be read.
pub fn config_settings(project: &OpenProject) -> Result<Vec<ConfigSetting>, Error> {
    let path = project.places.config_file();
    let text = files::read_text(&path, MAX_BYTES).unwrap_or_default();
    let bytes = project.read(CONFIG).ok().flatten().unwrap_or_default();
    let own = if project.trust.is_trusted(CONFIG, &sha256_hex(&bytes)) { String::from_utf8(bytes).ok() } else { None };
    let table = |text: &str| toml::Value::Table(text.parse().unwrap_or_default());
    let written = |config: &Config| toml::Value::try_from(config).map_err(|e| Error::bug("could not write TOML", e));
    let sources = ValueSources {
        effective: written(&project.config)?,
        user: table(&text),
        whole: written(&Config::of_user(&path)?)?,
        project: table(&own.unwrap_or_default()),
    };
    let root = schema_for!(Config).to_value();
    let mut listing = SettingListing { root: &root, sources: &sources, found: Vec::new() };
    listing.add(&root, &mut Vec::new());
    Ok(listing.found)
}

struct SettingListing<'l> {
    root: &'l Json,
    sources: &'l ValueSources,
    found: Vec<ConfigSetting>,
}

impl<'l> SettingListing<'l> {
    /// Adds what is at a path, or below it.
    fn add(&mut self, schema: &'l Json, path: &mut Vec<String>) {
        let schema = resolve_schema(self.root, schema);
        let value = value_at_path(&self.sources.effective, path);
        let keys = schema.get("properties").and_then(Json::as_object).filter(|_| schema.get("oneOf").is_none());
        if let Some(keys) = keys {
            for (key, below) in keys {
                path.push(key.clone());
                self.add(below, path);
                path.pop();
            }
        } else if let (Some(below), Some(entries)) = (
            schema.get("additionalProperties").filter(|below| below.is_object()),
            value.and_then(toml::Value::as_table),
        ) {
            for key in entries.keys() {
                path.push(key.clone());
                self.add(below, path);
                path.pop();
            }
        } else if schema.get("additionalProperties").is_none_or(Json::is_boolean) {
            let setting = self.setting(path, value);
            self.found.push(setting);
        }
    }

    fn setting(&self, path: &[String], value: Option<&toml::Value>) -> ConfigSetting {
        let ValueSources { user, whole, project, .. } = self.sources;
        // Settings that belong to the user's configuration were not taken from the project's.
        let is_users = path.first().is_some_and(|first| ["effects", "store"].contains(&first.as_str()))
            || path == ["records", "days"];
        let origin = if !is_users && value_at_path(project, path).is_some() {
            SettingOrigin::Project
        } else if value != value_at_path(whole, path) {
            SettingOrigin::Lowered
        } else if value_at_path(user, path).is_some() {
            SettingOrigin::User
        } else {
            SettingOrigin::Default
        };
        let is_header = path.iter().rev().nth(1).is_some_and(|table| table == HEADERS);
        let value = value.map(|value| if is_header { Json::from(HIDDEN) } else { hide_credentials(value) });
        ConfigSetting { key: toml_key_path(path), value, origin }
    }
}

/// A value without what could be a credential.
fn hide_credentials(value: &toml::Value) -> Json {
    let text = |text: &str| {
        let text = without_password(text);
        credential::redact_credentials(&text).unwrap_or(text)
    };
    match value {
        toml::Value::String(given) => Json::from(text(given)),
        toml::Value::Array(items) => items.iter().map(hide_credentials).collect(),
        toml::Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), hide_credentials(value))).collect(),
        toml::Value::Integer(number) => Json::from(*number),
        toml::Value::Float(number) => Json::from(*number),
        toml::Value::Boolean(is) => Json::from(*is),
        toml::Value::Datetime(time) => Json::from(time.to_string()),
    }
}

/// An address without the user and password in it.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{path}"),
        None => text.to_owned(),
    }
}

/// A path as TOML writes it.
fn toml_key_path(path: &[String]) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let quoted = |part: &String| {
        if !part.is_empty() && part.chars().all(bare) {
            part.clone()
        } else {
            toml::Value::from(part.as_str()).to_string()
        }
    };
    path.iter().map(quoted).collect::<Vec<_>>().join(".")
}

fn value_at_path<'v>(value: &'v toml::Value, path: &[String]) -> Option<&'v toml::Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The schema behind a reference, or behind a value that may be left out.
fn resolve_schema<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let schema = schema.get("anyOf").and_then(|any| any.get(0)).unwrap_or(schema);
    let path = schema.get("$ref").and_then(Json::as_str).map(|path| path.trim_start_matches('#'));
    path.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_could_be_a_credential_is_shown() {
        for (given, expected) in [
            ("https://ann:pass@h.example/v1", "https://[redacted]@h.example/v1"),
            ("https://h.example/@x", "https://h.example/@x"),
            ("http://a@b@h?x=@", "http://[redacted]@h?x=@"),
            ("plain", "plain"),
        ] {
            assert_eq!(hide_credentials(&toml::Value::from(given)), Json::from(expected));
        }
        let key = format!("sk-ant-api03-{}", "a1B2".repeat(20));
        assert!(!hide_credentials(&toml::Value::from(key.as_str())).to_string().contains(&key));
    }

    #[test]
    fn names_are_written_as_in_a_file() {
        let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        assert_eq!(toml_key_path(&path(&["providers", "a b", "base_url"])), "providers.\"a b\".base_url");
        assert_eq!(toml_key_path(&path(&["models", "llama3.1"])), "models.\"llama3.1\"");
    }
}
