//! Python's `pyproject.toml`, `tox.ini` and `setup.cfg`.

use toml::{Table, Value};

use super::{CommandPurpose, ManifestCommand};

/// Tools that are called by their name once their settings are in a project's file.
const TOOLS: [(&str, CommandPurpose, &str); 6] = [
    ("pytest", CommandPurpose::Test, "pytest"),
    ("tox", CommandPurpose::Test, "tox"),
    ("ruff", CommandPurpose::Lint, "ruff check"),
    ("mypy", CommandPurpose::Lint, "mypy"),
    ("flake8", CommandPurpose::Lint, "flake8"),
    ("black", CommandPurpose::Format, "black ."),
];

/// Tables whose keys are names of commands and whose values are what those run.
const SCRIPTS: [(&[&str], &str); 4] = [
    (&["tool", "poe", "tasks"], "poe"),
    (&["tool", "pdm", "scripts"], "pdm run"),
    (&["tool", "taskipy", "tasks"], "task"),
    (&["tool", "hatch", "envs", "default", "scripts"], "hatch run"),
];

/// The commands of `pyproject.toml`: of its tools, its scripts and what tox runs.
pub(super) fn pyproject_commands(text: &str) -> Vec<ManifestCommand> {
    let Ok(project) = text.parse::<Table>() else { return Vec::new() };
    let mut found = Vec::new();
    let line_of = |start: &str| {
        let line = text.lines().position(|line| line.trim_start().starts_with(start));
        line.map_or(1, |line| line.saturating_add(1))
    };
    for (path, runner) in SCRIPTS {
        for (name, runs) in table_at_path(&project, path).into_iter().flatten() {
            let Some(purpose) = CommandPurpose::of_words(name) else { continue };
            let runs = runs.as_str().map(|runs| format!("  # {runs}")).unwrap_or_default();
            found.push(ManifestCommand { purpose, command: format!("{runner} {name}{runs}"), line: line_of(name) });
        }
    }
    for (name, env) in table_at_path(&project, &["tool", "tox", "env"]).into_iter().flatten() {
        let commands = env.as_table().and_then(|env| env.get("commands")).and_then(Value::as_array);
        for command in commands.into_iter().flatten().filter_map(command_words) {
            let Some(purpose) = CommandPurpose::of_words(&command) else { continue };
            let line = line_of(&format!("[tool.tox.env.{name}]"));
            found.push(ManifestCommand { purpose, command: format!("tox -e {name}  # {command}"), line });
        }
    }
    if let Some(command) = table_at_path(&project, &["tool", "tox", "env_run_base"])
        .and_then(|base| base.get("commands")?.as_array()?.iter().find_map(command_words))
        && let Some(purpose) = CommandPurpose::of_words(&command)
    {
        found.push(ManifestCommand { purpose, command, line: line_of("[tool.tox.env_run_base]") });
    }
    let tools = project.get("tool").and_then(Value::as_table);
    for (name, purpose, command) in
        TOOLS.iter().filter(|(name, ..)| tools.is_some_and(|tools| tools.contains_key(*name)))
    {
        let line = line_of(&format!("[tool.{name}"));
        found.push(ManifestCommand { purpose: *purpose, command: (*command).to_owned(), line });
    }
    found
}

fn table_at_path<'t>(root: &'t Table, path: &[&str]) -> Option<&'t Table> {
    path.iter().try_fold(root, |table, name| table.get(*name)?.as_table())
}

/// A command that is given as a list of words, or as one text.
fn command_words(command: &Value) -> Option<String> {
    match command {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => words.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|words| words.join(" ")),
        _ => None,
    }
}

/// The commands of tox in an environment, and the tools that have settings here.
pub(super) fn ini(text: &str) -> Vec<ManifestCommand> {
    let mut found = Vec::new();
    let (mut section, mut in_commands) = (String::new(), false);
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = name.trim().to_owned();
            in_commands = false;
            let tool = section.trim_start_matches("tool:");
            if let Some((_, purpose, command)) = TOOLS.iter().find(|(name, ..)| *name == tool) {
                found.push(ManifestCommand { purpose: *purpose, command: (*command).to_owned(), line: number });
            }
            continue;
        }
        let is_indented = line.starts_with([' ', '\t']);
        if !is_indented {
            in_commands = line.split('=').next().is_some_and(|key| key.trim() == "commands") && line.contains('=');
        }
        let env = section.strip_prefix("testenv");
        let Some(env) = env.filter(|_| in_commands) else { continue };
        let command = if is_indented { line } else { line.split_once('=').map_or("", |(_, command)| command) };
        let command = command.trim().trim_start_matches('-').trim();
        if let Some(purpose) = CommandPurpose::of_words(command) {
            let env = env.trim_start_matches(':');
            let env = if env.is_empty() { String::new() } else { format!(" -e {env}") };
            found.push(ManifestCommand { purpose, command: format!("tox{env}  # {command}"), line: number });
        }
    }
    found
}
