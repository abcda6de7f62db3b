//! Tools that are programs of this machine.
//!
//! No shell reads anything: each argument is one word, whatever it holds. A value that begins with `-` would be an option and
//! is refused, unless its parameter is declared to be one.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use proem_agents::lisp::{ArgumentPiece, ToolDefinition, argument_pieces};
use proem_engine::run::ToolUse;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::attempt_end::{Attempt, AttemptEnd, MAX_RESULT, printed_result, tool_words};
use super::set::ReadyCommand;
use crate::process::{ChildOutput, Deadline, Extent, GroupBounds, GroupFailure, run_group};

/// The memory of its own that each process of a tool may have.
const MEMORY: u64 = 2 << 30;
/// The variable with the key of a call, by which a program can tell a repetition.
const KEY_VARIABLE: &str = "PROEM_CALL_KEY";

/// Calls a program once.
pub(super) async fn call_command(
    tool: &ReadyCommand,
    definition: &ToolDefinition,
    call: &ToolUse,
    key: &str,
    stop: &CancellationToken,
) -> Attempt {
    let arguments = match fill_arguments(tool, definition, &call.arguments) {
        Ok(arguments) => arguments,
        Err(why) => return AttemptEnd::Refused(why).into(),
    };
    let mut command = Command::new(&tool.program);
    command.args(arguments).current_dir(&tool.folder).env_clear().env(KEY_VARIABLE, key);
    command.envs(tool.environment.iter().map(|(name, value)| (name, value)));
    command.envs(tool.secrets.iter().map(|(name, secret)| (name, secret.expose())));
    let input = call.arguments.clone().into_bytes();
    let seconds = definition.timeout_seconds;
    let (stop, limit) = (stop.clone(), Duration::from_secs(seconds.into()));
    let run = move || {
        let is_unwanted = || stop.is_cancelled();
        let deadline = Deadline::after(limit);
        run_group(
            &mut command,
            input,
            &GroupBounds { deadline, memory: MEMORY, output: MAX_RESULT, is_unwanted: &is_unwanted },
        )
    };
    match tokio::task::spawn_blocking(run).await {
        Ok(Ok(output)) => Attempt { wrote: tool_words(&output.stderr), end: command_end(output, tool) },
        Ok(Err(GroupFailure::Unstarted(error))) => AttemptEnd::Unbegun(format!("it can't be started: {error}")).into(),
        Ok(Err(GroupFailure::TimedOut)) => {
            AttemptEnd::Doubtful(format!("it did not end within {seconds} s and was killed")).into()
        }
        Ok(Err(GroupFailure::Unwanted)) => {
            AttemptEnd::Doubtful("the run was given up and it was killed".to_owned()).into()
        }
        Ok(Err(GroupFailure::Lost(error))) => AttemptEnd::Doubtful(format!("it can't be waited for: {error}")).into(),
        Err(error) => AttemptEnd::Doubtful(format!("it can't be waited for: {error}")).into(),
    }
}

/// The meaning of what a program wrote, and of its exit code.
fn command_end(output: ChildOutput, tool: &ReadyCommand) -> AttemptEnd {
    if output.extent == Extent::Cut {
        return AttemptEnd::Doubtful(format!("it wrote more than {} MiB and was killed", MAX_RESULT >> 20));
    }
    match output.code {
        // Its word is that it failed, whatever it has written.
        Some(code) if code != 0 => AttemptEnd::Refused(format!("it ended with exit code {code}")),
        None => AttemptEnd::Doubtful("a signal ended it".to_owned()),
        Some(_) => {
            let result = printed_result(output.stdout, tool.output);
            result.map_or_else(AttemptEnd::Doubtful, AttemptEnd::Answered)
        }
    }
}

/// The arguments with the parameters' values in their places. One whose parameter has no value is left out.
fn fill_arguments(tool: &ReadyCommand, definition: &ToolDefinition, arguments: &str) -> Result<Vec<String>, String> {
    let values: BTreeMap<String, Json> =
        serde_json::from_str(arguments).map_err(|error| format!("its arguments can't be read: {error}"))?;
    let mut filled = Vec::with_capacity(tool.arguments.len());
    for argument in &tool.arguments {
        if let Some(argument) = fill_argument(argument, definition, &values)? {
            filled.push(argument);
        }
    }
    Ok(filled)
}

fn fill_argument(
    template: &str,
    definition: &ToolDefinition,
    values: &BTreeMap<String, Json>,
) -> Result<Option<String>, String> {
    let mut text = String::with_capacity(template.len());
    for piece in argument_pieces(template) {
        let name = match piece {
            ArgumentPiece::Text(words) => {
                text.push_str(words);
                continue;
            }
            ArgumentPiece::Slot(name) => name,
        };
        let value = match values.get(name) {
            None | Some(Json::Null) => return Ok(None),
            Some(Json::String(text)) => text.clone(),
            Some(value @ (Json::Number(_) | Json::Bool(_))) => value.to_string(),
            Some(_) => return Err(format!("`{name}` is a list or a map, which is no word of a command")),
        };
        let may_be_option = definition.parameters.get(name).is_some_and(|terms| terms.may_be_option);
        if value.starts_with('-') && !may_be_option {
            return Err(format!(
                "`{name}` begins with `-` and would be an option; `parameters.{name}.may_be_option = true` would permit it"
            ));
        }
        if value.contains('\0') {
            return Err(format!("`{name}` has a NUL, which no word of a command has"));
        }
        text.push_str(&value);
    }
    Ok(Some(text))
}
