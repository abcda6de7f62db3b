//! The files, definitions and commits that a task is about.

use proem_app::Error;
use proem_app::assemble::{TaskAuthor, bounded_task};
use proem_app::context::output::FindOutput;
use proem_app::context::{ContextPatience, ContextQuery, FileChoice, find_context};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::ToolCall;
use crate::page::Page;
use crate::tool::McpTool;

/// Answers with the places in the project that a task needs.
pub(super) struct FindCode;

/// The task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindArguments {
    /// The task in words, a stack trace or a compiler's errors
    #[schemars(length(min = 1, max = 65536))]
    task: String,
    /// How many files of code, the likeliest first; of tests and documents a quarter as many
    #[serde(default = "usual_top")]
    #[schemars(range(min = 1, max = 100))]
    top: u16,
    /// Leave out these paths, such as `tests/**`
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 200)))]
    exclude: Vec<String>,
    /// `nextCursor` of the page before
    #[serde(default)]
    #[schemars(with = "String", length(max = 40))]
    cursor: Option<String>,
}

const fn usual_top() -> u16 {
    10
}

impl McpTool for FindCode {
    const NAME: &'static str = "find_code";
    const TITLE: &'static str = "Find the code that a task is about";
    const DESCRIPTION: &'static str = "Rank the files of this repository by how likely a task is about them, with the \
        definitions that fit, the evidence, and past commits about the same.";
    const OUTSIDE: &'static [&'static str] =
        &["/files/*/path", "/files/*/evidence", "/files/*/symbols/*/name", "/commits/*/subject"];
    const LISTS: &'static [&'static str] = &["/files"];
    type Arguments = FindArguments;
    type Answer = Page<FindOutput>;

    fn cursor(arguments: &FindArguments) -> Option<&str> {
        arguments.cursor.as_deref()
    }

    fn answer(call: &ToolCall, arguments: FindArguments) -> Result<(String, Self::Answer), Error> {
        let FindArguments { task, top, exclude, cursor: _ } = arguments;
        bounded_task(task.clone(), TaskAuthor::Outside)?;
        let project = call.project()?;
        let query = ContextQuery {
            task: &task,
            root: &call.setting.root,
            most: usize::from(top),
            patience: ContextPatience::Short,
            choice: &FileChoice::new(&task, &[], &exclude)?,
            answers: None,
        };
        let found = find_context(&query, &project, &|_, _| {})?;
        let files = found.all().count();
        Ok((format!("{files} files fit."), Page::whole(FindOutput::new(&found))))
    }
}
