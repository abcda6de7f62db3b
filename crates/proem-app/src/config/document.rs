//! The text of a new `proem.toml`: the most common settings, or every key with its meaning and default, from the
//! types.
//!
//! Defaults are commented out. Written as values they would override the user's own
//! configuration in this project, and stay when a later version has better ones.

use std::collections::BTreeMap;

use proem_agents::assemble::settings::AssembleSettings;
use schemars::schema_for;
use serde_json::Value as Json;

use super::Config;
use super::lisp::LispFile;
use crate::error::Error;

/// Values by the full name of their key.
pub type KeyValues = BTreeMap<&'static str, String>;

/// The most lines of a new file: who opens it reads it.
#[cfg(test)]
const MOST_LINES: usize = 30;

const SHORT_INTRODUCTION: &str = "\
# What Proem does in this project; `proem init --print` prints every key with its meaning. A key that
# is commented out has the value of your own configuration, or else the default.
#
# Whoever changes this file changes what your models are told: run `proem trust` after a change.
";

/// The settings that people change first: the key, a value if it has no default, and its purpose.
const COMMON: [(&str, &str, &str); 8] = [
    ("model", "\"small\"", "a role or model, instead of what a prompt names"),
    ("assemble.code_share", "75", "percent of a prompt for files"),
    ("assemble.context", "\"parts\"", "none, paths, outline, parts, full"),
    ("assemble.max_skills", "3", "named in a prompt"),
    ("assemble.max_tools", "10", "named in a prompt"),
    ("assemble.tools", "[]", "named in every prompt"),
    ("budget.project.day", "0.50", "dollars; nothing is sent beyond it"),
    ("budget.project.month", "8.00", "dollars"),
];

const INTRODUCTION: &str = "\
# What Proem does in this project. Keys that are commented out have the value of your own
# configuration, or else the default shown here.
#
# This file decides what your models are told, so a change counts only after you
# trusted it with `proem trust`. `[effects]`, how actions leave, `[sources]`, the servers that signals
# are read from, `[mcp]`, the servers of tools, `[webhooks]`, `[store]`, the place of records, and
# `[telemetry]`, where runs are exported to, are in your own configuration alone.
";

/// The tables that only the user's own configuration decides, so that no project is offered them.
const USERS_ALONE: [&str; 6] = ["effects", "mcp", "sources", "store", "telemetry", "webhooks"];

/// Values for keys without a default, to show their form.
const FORMS: [(&str, &str); 86] = [
    ("baseline", "\".proem/prompts/monolithic.md\""),
    ("model", "\"small\""),
    ("lisp.model", "\"large\""),
    ("lisp.max_turns", "5"),
    ("lisp.mission_seconds", "60"),
    ("lisp.turn_budget", "20"),
    ("assemble.code_share", "75"),
    ("assemble.max_context_tokens", "4000"),
    ("assemble.output_tokens", "4096"),
    ("assemble.injection_min_score", "0.75"),
    ("assemble.min_score", "0.2"),
    ("assemble.layers.constitution", "1000"),
    ("assemble.layers.rules", "1000"),
    ("assemble.layers.capabilities", "800"),
    ("assemble.layers.task", "4000"),
    ("assemble.modes.act.max_context_tokens", "6000"),
    ("assemble.modes.act.max_skills", "3"),
    ("assemble.modes.act.max_tools", "10"),
    ("assemble.paths.constitution", "\".proem/prompts/constitution.md\""),
    ("assemble.paths.rules", "\".proem/prompts/rules.md\""),
    ("assemble.paths.rules_act", "\".proem/prompts/rules-act.md\""),
    ("assemble.paths.rules_plan", "\".proem/prompts/rules-plan.md\""),
    ("assemble.paths.rules_review", "\".proem/prompts/rules-review.md\""),
    ("assemble.modes.act.tools", "[\"edit\", \"test\"]"),
    ("adapt.compliance_required", "false"),
    ("adapt.days", "7"),
    ("adapt.enabled", "true"),
    ("adapt.failures", "50"),
    ("adapt.preferred_format", "\"Markdown\""),
    ("adapt.retries", "2"),
    ("adapt.time_sensitive", "false"),
    ("budget.zone", "\"Europe/Berlin\""),
    ("budget.agent.triage.day", "0.40"),
    ("budget.agent.triage.day_tokens", "400000"),
    ("budget.agent.triage.month", "8.00"),
    ("budget.agent.triage.month_tokens", "8000000"),
    ("budget.agent.triage.run", "0.05"),
    ("budget.agent.triage.run_tokens", "50000"),
    ("budget.agent.triage.steps", "[{ from = 0.30, models = \"small-only\", every_minutes = 30 }]"),
    ("budget.project.day", "0.50"),
    ("budget.project.day_tokens", "500000"),
    ("budget.project.month", "8.00"),
    ("budget.project.month_tokens", "8000000"),
    ("budget.project.run", "0.05"),
    ("budget.project.run_tokens", "50000"),
    ("budget.user.day", "2.00"),
    ("budget.user.day_tokens", "2000000"),
    ("budget.user.month", "30.00"),
    ("budget.user.month_tokens", "30000000"),
    ("budget.user.run", "0.05"),
    ("budget.user.run_tokens", "50000"),
    ("records.days", "90"),
    ("records.keep", "\"content\""),
    ("git.history_seconds", "120"),
    ("git.question_seconds", "10"),
    ("embedding.provider", "\"openai\""),
    ("embedding.model", "\"text-embedding-3-small\""),
    ("embedding.dimensions", "512"),
    ("embedding.calibration", "\"select-weights.json\""),
    ("embedding.seconds", "20"),
    ("embedding.texts", "96"),
    ("embedding.text_bytes", "8000"),
    ("roles.small", "\"ollama/llama3.1\""),
    ("providers.ollama.answer_bytes", "4194304"),
    ("providers.ollama.answers", "\"schema\""),
    ("providers.ollama.attempts", "4"),
    ("providers.ollama.authorities", "\"/etc/ssl/company.pem\""),
    ("providers.ollama.base_url", "\"http://127.0.0.1:11434/v1\""),
    ("providers.ollama.cache_diagnostics", "true"),
    ("providers.ollama.call_seconds", "120"),
    ("providers.ollama.concurrency", "8"),
    ("providers.ollama.connect_seconds", "10"),
    ("providers.ollama.idle_seconds", "60"),
    ("providers.ollama.key", "\"OLLAMA_KEY\""),
    ("providers.ollama.protocol", "\"openai\""),
    ("providers.ollama.requests_per_minute", "60"),
    ("providers.ollama.stream", "true"),
    ("providers.ollama.models.\"llama3.1\".answers", "\"schema\""),
    ("providers.ollama.models.\"llama3.1\".cache_read_price", "10"),
    ("providers.ollama.models.\"llama3.1\".context_tokens", "8192"),
    ("providers.ollama.models.\"llama3.1\".input_price", "100"),
    ("providers.ollama.models.\"llama3.1\".output_price", "200"),
    ("providers.ollama.models.\"llama3.1\".output_tokens", "2048"),
    ("risk.show_diff", "true"),
    ("triage.models", "true"),
    ("triage.retries", "2"),
];

/// A name for each table whose entries are named by the user, to show its form.
const NAMES: [(&str, &str); 4] =
    [("agent", "triage"), ("roles", "small"), ("providers", "ollama"), ("models", "\"llama3.1\"")];

/// The file that is written for a new project, with `values` set and the most common settings.
#[must_use]
pub fn new_config_text(values: &KeyValues) -> String {
    let table = |name: &'static str| name.rsplit_once('.').unwrap_or(("", name));
    let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value, meaning) in COMMON.into_iter().filter(|(name, ..)| !values.contains_key(name)) {
        let (table, key) = table(name);
        let set = format!("#{key} = {value}");
        tables.entry(table).or_default().push(format!("{set:28} # {meaning}\n"));
    }
    for (name, value) in values {
        let (table, key) = table(name);
        tables.entry(table).or_default().push(format!("{key} = {value}\n"));
    }
    format!("{SHORT_INTRODUCTION}\n{}", laid_out(tables))
}

/// Every key that a project may set, for who looks for one.
///
/// # Errors
///
/// Never, but for a bug.
pub fn every_key() -> Result<String, Error> {
    let root = of_projects();
    let defaults =
        toml::Table::try_from(AssembleSettings::default()).map_err(|e| Error::bug("could not write TOML", e))?;
    let limits = toml::Table::try_from(LispFile::usual()).map_err(|e| Error::bug("could not write TOML", e))?;
    let defaults = [("assemble", defaults), ("lisp", limits)];
    let defaults = defaults.into_iter().map(|(name, table)| (name.to_owned(), toml::Value::Table(table))).collect();
    let mut writer = Writer { root: &root, out: INTRODUCTION.to_owned() };
    writer.table("", &root, Some(&defaults));
    Ok(writer.out)
}

/// The schema of a configuration without what is the user's alone.
fn of_projects() -> Json {
    let mut root = schema_for!(Config).to_value();
    if let Some(keys) = root.get_mut("properties").and_then(Json::as_object_mut) {
        keys.retain(|key, _| !USERS_ALONE.contains(&key.as_str()));
    }
    root
}

/// The lines that set `values`, for a file that is there already.
#[must_use]
pub fn value_lines(values: &KeyValues) -> String {
    let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in values {
        let (table, key) = name.rsplit_once('.').unwrap_or(("", name));
        tables.entry(table).or_default().push(format!("{key} = {value}\n"));
    }
    laid_out(tables)
}

/// The lines of tables below their headings, those of no table first.
fn laid_out(tables: BTreeMap<&str, Vec<String>>) -> String {
    let tables = tables.into_iter().map(|(table, keys)| {
        let header = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
        format!("{header}{}", keys.concat())
    });
    tables.collect::<Vec<_>>().join("\n")
}

struct Writer<'w> {
    root: &'w Json,
    out: String,
}

impl<'w> Writer<'w> {
    /// Writes the keys of a table, then the tables inside it.
    fn table(&mut self, name: &str, schema: &'w Json, defaults: Option<&toml::Table>) {
        let mut tables = Vec::new();
        for (key, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let full = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            let target = self.resolved(property);
            let default = defaults.and_then(|defaults| defaults.get(key));
            if ["properties", "propertyNames", "additionalProperties"].iter().any(|word| target.get(word).is_some()) {
                tables.push((full, property, default.and_then(toml::Value::as_table)));
            } else {
                self.out.push('\n');
                self.about(property);
                self.key(&full, key, default);
            }
        }
        for (full, property, default) in tables {
            let target = self.resolved(property);
            self.out.push('\n');
            self.about(property);
            match target
                .get("additionalProperties")
                .filter(|schema| schema.is_object())
                .map(|schema| self.resolved(schema))
            {
                Some(of_each) if schema_keys(target).next().is_none() => self.named_by_user(&full, of_each),
                Some(of_each) if of_each.get("properties").is_some() => self.one_of_many(&full, target, of_each),
                Some(_) => {
                    self.out.push_str(&format!("[{full}]\n"));
                    for (key, about) in schema_keys(target) {
                        self.out.push_str(&format!("# {about}\n"));
                        self.key(&format!("{full}.{key}"), key, None);
                    }
                }
                None => {
                    self.out.push_str(&format!("[{full}]\n"));
                    self.table(&full, target, default);
                }
            }
        }
    }

    /// Writes a table whose name is chosen, such as a mode's, for one name and commented out: an
    /// empty one would mean something.
    fn one_of_many(&mut self, full: &str, map: &'w Json, of_each: &'w Json) {
        let all: Vec<&str> = schema_keys(map).map(|(key, _)| key).collect();
        let name = format!("{full}.{}", all.last().copied().unwrap_or_default());
        self.out.push_str(&format!("# One table for each of {}.\n#[{name}]\n", all.join(", ")));
        for (key, property) in of_each.get("properties").and_then(Json::as_object).into_iter().flatten() {
            self.about(property);
            self.key(&format!("{name}.{key}"), key, None);
        }
    }

    /// Writes a table whose entries have names of the user's, for one name and commented out.
    fn named_by_user(&mut self, full: &str, of_each: &'w Json) {
        let word = full.rsplit('.').next().unwrap_or(full);
        let name = NAMES.iter().find(|(table, _)| *table == word).map_or("name", |(_, name)| *name);
        let Some(keys) = of_each.get("properties").and_then(Json::as_object) else {
            self.out.push_str(&format!("#[{full}]\n"));
            return self.key(&format!("{full}.{name}"), name, None);
        };
        let full = format!("{full}.{name}");
        self.out.push_str(&format!("#[{full}]\n"));
        let mut tables = Vec::new();
        for (key, property) in keys {
            let target = self.resolved(property);
            match target.get("additionalProperties").map(|schema| self.resolved(schema)) {
                Some(of_each) if of_each.get("properties").is_some() => {
                    tables.push((format!("{full}.{key}"), property, of_each));
                }
                _ => {
                    self.about(property);
                    self.key(&format!("{full}.{key}"), key, None);
                }
            }
        }
        for (full, property, of_each) in tables {
            self.out.push('\n');
            self.about(property);
            self.named_by_user(&full, of_each);
        }
    }

    fn key(&mut self, full: &str, key: &str, default: Option<&toml::Value>) {
        let form = FORMS.iter().find(|(name, _)| *name == full).map(|(_, form)| (*form).to_owned());
        let value = default.map(ToString::to_string).or(form).unwrap_or_else(|| "[]".to_owned());
        self.out.push_str(&format!("#{key} = {value}\n"));
    }

    fn about(&mut self, schema: &Json) {
        let text = schema.get("description").and_then(Json::as_str).unwrap_or_default();
        text.lines().for_each(|line| self.out.push_str(&format!("# {line}\n")));
    }

    /// The schema behind a reference.
    fn resolved(&self, schema: &'w Json) -> &'w Json {
        let path = schema.get("$ref").and_then(Json::as_str).map(|path| path.trim_start_matches('#'));
        path.and_then(|path| self.root.pointer(path)).unwrap_or(schema)
    }
}

/// The keys that a map may have, with what each represents.
fn schema_keys(map: &Json) -> impl Iterator<Item = (&str, &str)> {
    let names = map.get("propertyNames").and_then(|names| names.get("oneOf")).and_then(Json::as_array);
    names.into_iter().flatten().filter_map(|name| {
        let about = name.get("description").and_then(Json::as_str).unwrap_or_default();
        Some((name.get("const")?.as_str()?, about))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file with its commented keys and tables taken as written.
    fn uncommented(text: &str) -> String {
        let commented = |line: &str| {
            line.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| !c.is_whitespace())).map(str::to_owned)
        };
        text.lines().map(|line| commented(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
    }

    #[test]
    fn a_new_file_is_short_and_changes_nothing() {
        let paths = [
            ("baseline", "\".proem/prompts/monolithic.md\""),
            ("assemble.paths.constitution", "\".proem/prompts/constitution.md\""),
            ("assemble.paths.rules", "\".proem/prompts/rules.md\""),
        ];
        for values in [KeyValues::new(), paths.map(|(name, value)| (name, value.to_owned())).into()] {
            let text = new_config_text(&values);
            assert!(text.lines().count() <= MOST_LINES, "{text}");
            Config::parse("proem.toml", &uncommented(&text)).unwrap();
            assert_eq!(
                Config::parse("proem.toml", &text).unwrap(),
                Config::parse("proem.toml", &value_lines(&values)).unwrap()
            );
        }
        let defaults = toml::Table::try_from(AssembleSettings::default()).unwrap();
        for (name, value, _) in COMMON {
            if let Some(default) = name.strip_prefix("assemble.").and_then(|key| defaults.get(key)) {
                assert_eq!(value, default.to_string(), "{name}");
            }
        }
    }

    #[test]
    fn every_key_says_its_default() {
        let text = every_key().unwrap();
        assert_eq!(Config::parse("proem.toml", &text).unwrap(), Config::default());
        let all: toml::Table = uncommented(&text).parse().unwrap();
        Config::parse("proem.toml", &uncommented(&text)).unwrap();
        let assemble = all["assemble"].as_table().unwrap();
        for (key, value) in toml::Table::try_from(AssembleSettings::default()).unwrap() {
            if !value.is_table() {
                assert_eq!(assemble[&key], value, "{key}");
            }
        }
    }

    /// The tables that a schema refers to, directly or through others.
    fn referred<'s>(root: &'s Json, schema: &'s Json, found: &mut BTreeMap<&'s str, &'s Json>) {
        match schema {
            Json::Object(words) => {
                let path = words.get("$ref").and_then(Json::as_str).map(|path| path.trim_start_matches('#'));
                if let Some((path, target)) = path.and_then(|path| Some((path, root.pointer(path)?)))
                    && found.insert(path, target).is_none()
                {
                    referred(root, target, found);
                }
                words.iter().filter(|(word, _)| *word != "$defs").for_each(|(_, one)| referred(root, one, found));
            }
            Json::Array(all) => all.iter().for_each(|one| referred(root, one, found)),
            _ => {}
        }
    }

    #[test]
    fn no_key_is_forgotten() {
        let text = uncommented(&every_key().unwrap());
        let schema = of_projects();
        let mut tables = BTreeMap::from([("", &schema)]);
        referred(&schema, &schema, &mut tables);
        assert!(tables.len() > 10, "the tables of {:?} alone", tables.keys());
        for key in tables.values().filter_map(|table| table["properties"].as_object()).flat_map(|keys| keys.keys()) {
            let table = format!(".{key}");
            let found = text
                .lines()
                .any(|line| line.starts_with(&format!("{key} = ")) || (line.starts_with('[') && line.contains(&table)));
            let is_table = [format!("[{key}]\n"), format!("[{key}.")].iter().any(|start| text.contains(start));
            assert!(found || is_table, "{key}");
        }
    }

    #[test]
    fn what_is_the_users_alone_is_offered_to_no_project() {
        let known = schema_for!(Config).to_value();
        for (name, offered) in [("every key", every_key().unwrap()), ("a new file", new_config_text(&KeyValues::new()))]
        {
            let offered: toml::Table = uncommented(&offered).parse().unwrap();
            for key in USERS_ALONE {
                assert!(known["properties"].get(key).is_some(), "`{key}` is a key");
                assert!(!offered.contains_key(key), "{name} offers `{key}`");
            }
        }
    }

    #[test]
    fn values_stand_where_they_belong() {
        let values =
            KeyValues::from([("baseline", "\"b.md\"".to_owned()), ("assemble.paths.rules", "\"r.md\"".to_owned())]);
        for text in [new_config_text(&values), value_lines(&values)] {
            let config = Config::parse("proem.toml", &text).unwrap();
            assert_eq!(
                (config.baseline.as_deref(), config.assemble.paths.rules.as_deref()),
                (Some("b.md"), Some("r.md"))
            );
        }
        assert_eq!(value_lines(&values), "baseline = \"b.md\"\n\n[assemble.paths]\nrules = \"r.md\"\n");
    }
}
