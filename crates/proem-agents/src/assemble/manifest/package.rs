//! Scripts of `package.json` and aliases of cargo.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{CommandPurpose, ManifestCommand};

/// The lock files of package managers, each with what runs a script.
const MANAGERS: [(&str, &str); 4] =
    [("pnpm-lock.yaml", "pnpm run"), ("yarn.lock", "yarn run"), ("bun.lock", "bun run"), ("bun.lockb", "bun run")];

/// The scripts that say what they are for by their names.
pub(super) fn scripts(text: &str, beside: &BTreeSet<&str>) -> Vec<ManifestCommand> {
    let Ok(Json::Object(package)) = serde_json::from_str::<Json>(text) else { return Vec::new() };
    let scripts = package.get("scripts").and_then(Json::as_object);
    let manager = MANAGERS.iter().find(|(lock, _)| beside.contains(lock)).map_or("npm run", |(_, run)| *run);
    let mut found: Vec<ManifestCommand> = scripts
        .into_iter()
        .flatten()
        .filter_map(|(name, script)| {
            let purpose = CommandPurpose::of_words(name)?;
            // A script's commands are more telling than its name: which runner, which options.
            let runs = script.as_str().map(|script| format!("  # {}", script.trim())).unwrap_or_default();
            Some(ManifestCommand { purpose, command: format!("{manager} {name}{runs}"), line: line_of_key(text, name) })
        })
        .collect();
    found.sort_by_key(|found| found.line);
    found
}

/// The line on which a name is as a key.
fn line_of_key(text: &str, name: &str) -> usize {
    let key = format!("\"{name}\"");
    let is_key =
        |line: &str| line.trim_start().strip_prefix(&key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    text.lines().position(is_key).map_or(1, |line| line.saturating_add(1))
}

/// The aliases in cargo's configuration, each of which is a command of its own.
pub(super) fn cargo_aliases(text: &str) -> Vec<ManifestCommand> {
    let Ok(config) = text.parse::<toml::Table>() else { return Vec::new() };
    let aliases = config.get("alias").and_then(toml::Value::as_table);
    let mut found: Vec<ManifestCommand> = aliases
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| {
            let runs = match value {
                toml::Value::String(runs) => runs.clone(),
                toml::Value::Array(words) => words.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(" "),
                _ => return None,
            };
            let purpose = CommandPurpose::of_words(name).or_else(|| CommandPurpose::of_words(&runs))?;
            let line = text.lines().position(|line| line.trim_start().starts_with(name.as_str()));
            let line = line.map_or(1, |line| line.saturating_add(1));
            Some(ManifestCommand { purpose, command: format!("cargo {name}  # cargo {runs}"), line })
        })
        .collect();
    found.sort_by_key(|found| found.line);
    found
}
