//! The result of a search as a document for programs, which a published schema describes.

use proem_guard::show;
use proem_select::context::{CodeSymbol, FilePurpose};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::{ContextFile, TaskCandidates};

/// The files, definitions and commits that a task is about. Paths, evidence and subjects come from the repository.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindOutput {
    /// Code, then tests, then documents and configuration, each best first.
    files: Vec<FoundFileOut>,
    /// Past commits about the same, of the best files first.
    commits: Vec<FoundCommitOut>,
    /// The parts that could not be searched, a sentence each.
    gaps: Vec<String>,
    /// How many files the repository has as far as they were listed.
    listed: u64,
    /// How many of them were read for this answer. The others were known from an earlier one.
    read: u64,
}

/// A file that fits.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundFileOut {
    /// Its path from the root. Bytes that are no UTF-8 are replaced.
    #[schemars(with = "String")]
    path: Json,
    /// The line to begin with, from 1: one that the task names, else that of the best definition, else the first.
    line: u32,
    /// Its purpose: `code`, `test`, `document`, `configuration` or `foreign` (generated, or somebody else's).
    #[serde(rename = "use")]
    used_for: &'static str,
    /// How likely the task is about it, 0 to 1 in steps of 0.0001. It is measured for code only.
    probability: f64,
    /// The evidence for it, in words, strongest first.
    #[schemars(with = "Vec<String>")]
    evidence: Vec<Json>,
    /// The definitions that fit, best first.
    symbols: Vec<FoundDefinitionOut>,
}

/// A definition that fits. Lines count from 1.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundDefinitionOut {
    name: String,
    /// Its kind: `function`, `method`, `type`, …
    kind: &'static str,
    /// Its first line, with what is written above it.
    first_line: u32,
    /// The line with its name.
    line: u32,
    last_line: u32,
}

/// A commit about the same.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundCommitOut {
    /// Its id, in hexadecimal digits.
    id: String,
    /// The first line of its message.
    #[schemars(with = "String")]
    subject: Json,
}

/// The purpose of a file, in a word.
#[must_use]
pub const fn purpose(used_for: FilePurpose) -> &'static str {
    match used_for {
        FilePurpose::Code => "code",
        FilePurpose::Test => "test",
        FilePurpose::Documentation => "document",
        FilePurpose::Configuration => "configuration",
        FilePurpose::Foreign => "foreign",
    }
}

impl FindOutput {
    /// The document of what was found.
    #[must_use]
    pub fn new(found: &TaskCandidates) -> Self {
        let commit = |commit: &super::ContextCommit| FoundCommitOut {
            id: commit.id.clone(),
            subject: show::exact_json(&commit.subject),
        };
        Self {
            files: found.all().map(FoundFileOut::new).collect(),
            commits: found.commits.iter().map(commit).collect(),
            gaps: found.gaps.clone(),
            listed: u64::try_from(found.files).unwrap_or(u64::MAX),
            read: u64::try_from(found.read).unwrap_or(u64::MAX),
        }
    }
}

impl FoundFileOut {
    fn new(file: &ContextFile) -> Self {
        let symbol = |symbol: &CodeSymbol| FoundDefinitionOut {
            name: symbol.name.clone(),
            kind: symbol.kind.as_str(),
            first_line: symbol.lines.first,
            line: symbol.own_line,
            last_line: symbol.lines.last,
        };
        Self {
            path: show::exact_json(&file.path),
            line: file.line(),
            used_for: purpose(file.used_for),
            probability: (f64::from(file.probability) * 1e4).round() / 1e4,
            evidence: file.evidence.iter().map(show::exact_json).collect(),
            symbols: file.fitting.iter().filter_map(|at| file.symbols.get(*at)).map(symbol).collect(),
        }
    }
}
