//! `config.toml`, the user's, and `proem.toml`, a project's.
//!
//! A project's file counts as written only if this user trusted it. Until then it may only
//! restrict: its caps apply where they are lower, everything else in it is ignored.

use std::path::Path;

use proem_agents::assemble::settings::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The keys of `config.toml` and `proem.toml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The model or role that is counted, planned and encoded for; without it, what the prompt
    /// file names.
    pub(crate) model: Option<String>,
    /// What prompts are assembled from.
    pub(crate) assemble: Settings,
    /// The prompt that Proem's replaces, relative to this file; token savings are measured
    /// against it.
    pub(crate) baseline: Option<String>,
    /// Where tools and skills are found, beside the places that are always looked at.
    pub(crate) catalogue: CatalogueFiles,
}

/// The keys of `[catalogue]`. Paths are relative to the file that names them; yours may be absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CatalogueFiles {
    /// Saved answers to `tools/list`, each called `SERVER.json`.
    pub(crate) manifests: Vec<String>,
    /// Folders with a folder for each skill.
    pub(crate) skills: Vec<String>,
    /// Files with one entry on each line, as JSON.
    pub(crate) lines: Vec<String>,
}

impl Config {
    /// Reads a file's text; `name` is used in messages.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| {
            let span = error.span().map(|span| proem_text::span::Span::new(span.start, span.end));
            let diagnostic = proem_text::diagnostic::Diagnostic {
                severity: proem_text::diagnostic::Severity::Error,
                message: error.message().to_owned(),
                span,
                help: Some("every key is documented in docs/reference/configuration.md".into()),
            };
            Failure::usage(diagnostic.render(name, text).trim_end())
        })
    }

    /// The user's file; without one, the defaults.
    pub(crate) fn of_user(path: &Path) -> Result<Self, Failure> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&path.display().to_string(), &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Failure::usage(format!("could not read `{}`: {error}", path.display()))),
        }
    }
}
