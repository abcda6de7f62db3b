//! The commands of a service after each push: `run:` and `script:` of YAML files, by lines and indentation.

use std::collections::BTreeSet;

use super::{CommandPurpose, ManifestCommand};

/// The keys whose values are commands.
const KEYS: [&str; 5] = ["run", "script", "before_script", "command", "bash"];

/// Words of commands that prepare a machine and say nothing about the project.
const PREPARING: [&str; 24] = [
    "apt-get", "apt", "brew", "curl", "echo", "git", "rustup", "pip", "choco", "sudo", "export", "docker", "printf",
    "mkdir", "mv", "cp", "rm", "cat", "tar", "unzip", "chmod", "wget", "pip3", "return",
];

/// Words of a shell's own language.
const SHELL: [&str; 11] = ["if", "then", "else", "fi", "for", "do", "done", "case", "esac", "set", "cd"];

/// Within how many words of a command `install` says that it prepares.
const INSTALLS_WITHIN: usize = 4;

/// The commands that say what they are for.
pub(super) fn workflow_commands(text: &str) -> Vec<ManifestCommand> {
    let mut found = Vec::new();
    // The indentation of the key whose value the lines below are.
    let mut block: Option<usize> = None;
    let mut joined: Option<(usize, String)> = None;
    // Functions that a script defines, which nobody can call outside of it.
    let mut functions: BTreeSet<&str> = BTreeSet::new();
    let mut in_function = false;
    for (number, line) in (1..).zip(text.lines()) {
        let indent = line.len().saturating_sub(line.trim_start().len());
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let is_below = block.is_some_and(|of| indent > of || (indent == of && bare.starts_with("- ")));
        let command = match command_on_line(bare) {
            // A key ends the block above it, wherever it is.
            Some(Value::Here(command)) => {
                block = None;
                Some(command)
            }
            Some(Value::Below) => {
                block = Some(indent.saturating_add(if bare.starts_with("- ") { 2 } else { 0 }));
                None
            }
            None if is_below => Some(bare.trim_start_matches("- ").trim()),
            None => {
                block = None;
                None
            }
        };
        let Some(command) = command else {
            in_function = false;
            continue;
        };
        if in_function {
            in_function = command != "}";
            continue;
        }
        if let Some(name) = function(command) {
            functions.insert(name);
            in_function = !command.ends_with('}');
            continue;
        }
        // A line that ends with a backslash goes on in the next.
        let (from, mut whole) = joined.take().unwrap_or_else(|| (number, String::new()));
        whole.push_str(command.trim_end_matches('\\').trim_end());
        if command.ends_with('\\') {
            whole.push(' ');
            joined = Some((from, whole));
            continue;
        }
        found.extend(recognised_command(strip_quotes(&whole), from));
    }
    let is_own = |found: &ManifestCommand| found.command.split_whitespace().any(|word| functions.contains(word));
    found.retain(|found| !is_own(found));
    found
}

/// The place of a key's value.
enum Value<'t> {
    Here(&'t str),
    Below,
}

fn command_on_line(line: &str) -> Option<Value<'_>> {
    let (key, value) = line.trim_start_matches("- ").split_once(':')?;
    if !KEYS.contains(&key.trim()) {
        return None;
    }
    let value = value.trim();
    let is_block = value.is_empty() || value.starts_with(['|', '>']);
    Some(if is_block { Value::Below } else { Value::Here(value) })
}

fn strip_quotes(text: &str) -> &str {
    let text = text.trim();
    let inner = |mark: char| text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// The name of a function that begins on a line: `name() {`, `function name {`.
fn function(line: &str) -> Option<&str> {
    let head = line.split_once('{')?.0.trim();
    let name = head
        .strip_suffix("()")
        .or_else(|| head.strip_prefix("function "))
        .map(|name| name.trim_end_matches("()").trim())?;
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

fn recognised_command(command: &str, line: usize) -> Option<ManifestCommand> {
    let first = command.split_whitespace().next()?;
    let installs = command.split_whitespace().take(INSTALLS_WITHIN).any(|word| word == "install");
    if SHELL.contains(&first) || PREPARING.contains(&first) || first.contains('=') || is_cmdlet(first) || installs {
        return None;
    }
    if !is_whole_command(command) {
        return None;
    }
    let purpose = CommandPurpose::of_words(command)?;
    Some(ManifestCommand { purpose, command: command.to_owned(), line })
}

/// Whether it is one of PowerShell's own: `Invoke-WebRequest`.
fn is_cmdlet(word: &str) -> bool {
    word.split_once('-').is_some_and(|(verb, noun)| {
        let is_capital = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
        is_capital(verb) && is_capital(noun)
    })
}

/// Whether a command can be given elsewhere as it is: its quotes are closed, and no variable of the service or of the
/// script is in it.
fn is_whole_command(command: &str) -> bool {
    let closed = ['"', '\''].iter().all(|mark| command.matches(*mark).count().is_multiple_of(2));
    let variable = command.match_indices('$').any(|(at, _)| {
        let next = command.get(at.saturating_add(1)..).and_then(|rest| rest.chars().next());
        next.is_some_and(|c| c == '{' || c.is_ascii_alphanumeric() || c == '_')
    });
    closed && !variable
}
