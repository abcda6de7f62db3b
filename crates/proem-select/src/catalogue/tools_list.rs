//! A server's saved answer to `tools/list`.
//!
//! The tools are those of the Model Context Protocol (revision 2025-11-25, server/tools). A server's own statements in
//! `annotations` may only restrict: they are hints by its author.

use serde_json::{Map, Value as Json};

use super::entry::{CatalogueContents, CatalogueEntryKind, SourceFile};
use super::modes::Modes;
use super::problem::FilePosition;
use super::reading::{EntryCollector, EntryDraft};
use crate::mode::Mode;

/// Reads `{"tools": […]}`, the answer `{"result": {"tools": […]}}`, or a bare list.
#[must_use]
pub fn parse_tools_list(file: &SourceFile, server: &str) -> CatalogueContents {
    let mut reading = EntryCollector::new(file, Some(server));
    let text = proem_text::strip_json_comments(&file.text);
    match serde_json::from_str::<Json>(&text) {
        Ok(json) => read_tools(&json, &mut reading),
        Err(error) => {
            let at = FilePosition::Line { line: error.line().max(1), column: error.column().max(1) };
            reading.problems.add(at, "not valid JSON", "save the server's answer to `tools/list` again");
        }
    }
    reading.finish()
}

fn read_tools(json: &Json, reading: &mut EntryCollector<'_>) {
    let (holder, path) = match json.get("result") {
        Some(result) => (result, "/result"),
        None => (json, ""),
    };
    if let Some(error) = json.get("error").filter(|_| json.get("result").is_none()) {
        let code = error.get("code").and_then(Json::as_i64).map(|code| format!(" {code}")).unwrap_or_default();
        let message = format!("the server answered with an error{code}, not with tools");
        reading.problems.add(
            FilePosition::Pointer("/error".into()),
            message,
            "send the request again and save the answer",
        );
        return;
    }
    if holder.get("nextCursor").is_some_and(|cursor| !cursor.is_null()) {
        let remedy = "request the other pages and merge all tools into one list";
        let at = FilePosition::Pointer(format!("{path}/nextCursor"));
        reading.problems.add(at, "the manifest is only one page of several", remedy);
    }
    let (tools, path) = match (holder, holder.get("tools")) {
        (Json::Array(tools), _) => (tools, path.to_owned()),
        (_, Some(Json::Array(tools))) => (tools, format!("{path}/tools")),
        _ => {
            let remedy = "save the server's answer to `tools/list`";
            reading.problems.add(FilePosition::Whole, "no list of tools in it", remedy);
            return;
        }
    };
    for (index, tool) in tools.iter().enumerate() {
        let at = FilePosition::Pointer(format!("{path}/{index}"));
        match tool {
            Json::Object(tool) => add_tool(tool, at, reading),
            _ => reading.problems.add(at, "not a tool", "a tool is an object with `name` and `inputSchema`"),
        }
    }
}

fn add_tool(tool: &Map<String, Json>, at: FilePosition, reading: &mut EntryCollector<'_>) {
    let name = match tool.get("name") {
        Some(Json::String(name)) => name.as_str(),
        None => "",
        Some(_) => {
            reading.problems.add(at, "`name` is not a string", "save the server's answer to `tools/list` again");
            return;
        }
    };
    if tool.get("description").is_some_and(|text| !text.is_string() && !text.is_null()) {
        reading.problems.add(
            at.clone(),
            "`description` is not a string and is ignored",
            "report it to the server's author",
        );
    }
    let text = |key: &str| tool.get(key).and_then(Json::as_str);
    let says_something = |text: &&str| !text.trim().is_empty();
    // A title repeats the name in other words. It is in where nothing else says what it does.
    let description = text("description").filter(says_something).or_else(|| text("title").filter(says_something));
    let description = description.or_else(|| text("description")).unwrap_or_default().to_owned();
    let parameters = tool.get("inputSchema").or_else(|| tool.get("input_schema")).cloned();
    let draft = EntryDraft {
        description,
        parameters,
        modes: annotated_modes(tool.get("annotations")),
        ..EntryDraft::default()
    };
    reading.add(CatalogueEntryKind::Tool, name, draft, at);
}

/// A tool that says that it changes something is for acting. One that says nothing is for any mode.
fn annotated_modes(annotations: Option<&Json>) -> Modes {
    let hint = |name: &str| annotations.and_then(|hints| hints.get(name)).and_then(Json::as_bool);
    let changes = hint("destructiveHint") == Some(true) || hint("readOnlyHint") == Some(false);
    if changes { Modes::of(&[Mode::Act]) } else { Modes::ANY }
}
