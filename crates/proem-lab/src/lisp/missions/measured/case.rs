//! The missions, as their files have them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;

/// A mission with all that a scripted run needs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MissionCase {
    /// The name of its file.
    #[serde(skip)]
    pub(super) name: String,
    /// The subject of the mission.
    pub(super) what: String,
    /// The agent's file.
    pub(super) agent: String,
    /// The input as JSON.
    pub(super) input: String,
    /// The right answer as JSON, which the programs in Python gave.
    pub(super) expect: String,
    /// The programs of a good model, one for each turn.
    pub(super) programs: Vec<String>,
    /// The same in Python.
    pub(super) python: Vec<String>,
    /// The results of each tool, in the form of recorded tools.
    #[serde(default, rename = "results")]
    texts: BTreeMap<String, String>,
    #[serde(skip)]
    results: BTreeMap<String, Vec<RecordedCall>>,
}

/// A call with its result.
#[derive(Debug, Deserialize)]
pub(super) struct RecordedCall {
    pub(super) arguments: Json,
    #[serde(default)]
    pub(super) result: Json,
    pub(super) error: Option<String>,
}

impl MissionCase {
    /// The recorded call with these arguments.
    pub(super) fn call(&self, tool: &str, arguments: &Json) -> Option<&RecordedCall> {
        self.results.get(tool)?.iter().find(|call| call.arguments == *arguments)
    }

    /// The first call that has a result.
    pub(super) fn first_call(&self) -> Option<(&str, &RecordedCall)> {
        let mut calls =
            self.results.iter().flat_map(|(tool, calls)| calls.iter().map(move |call| (tool.as_str(), call)));
        calls.find(|(_, call)| call.error.is_none())
    }
}

/// Reads all missions of a folder, in the order of their names.
pub(super) fn read_cases(folder: &Path) -> Result<Vec<MissionCase>, String> {
    let unread = |error: std::io::Error| format!("could not read `{}`: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| read_mission_case(path)).collect()
}

fn read_mission_case(path: &Path) -> Result<MissionCase, String> {
    let wrong = |why: String| format!("`{}`: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut case: MissionCase = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    case.name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for (tool, text) in &case.texts {
        let calls = serde_json::from_str(text).map_err(|error| wrong(format!("{tool}: {error}")))?;
        case.results.insert(tool.clone(), calls);
    }
    Ok(case)
}
