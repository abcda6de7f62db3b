//! What a service runs after each push: `run:` and `script:` of YAML files, by lines and indentation.

use super::{CommandPurpose, ManifestCommand};

/// The keys whose values are commands.
const KEYS: [&str; 5] = ["run", "script", "before_script", "command", "bash"];

/// Words of commands that prepare a machine and say nothing about the project.
const PREPARING: [&str; 12] =
    ["apt-get", "apt", "brew", "curl", "echo", "git", "rustup", "pip", "choco", "sudo", "export", "docker"];

/// The commands that say what they are for.
pub(super) fn steps(text: &str) -> Vec<ManifestCommand> {
    let mut found = Vec::new();
    // The indentation of the key whose value the lines below are.
    let mut block: Option<usize> = None;
    let mut joined: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let indent = line.len().saturating_sub(line.trim_start().len());
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let is_below = block.is_some_and(|of| indent > of || (indent == of && bare.starts_with("- ")));
        let command = match command(bare) {
            // A key ends the block above it, wherever it stands.
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
        let Some(command) = command else { continue };
        // A line that ends with a backslash goes on in the next.
        let (from, mut whole) = joined.take().unwrap_or_else(|| (number, String::new()));
        whole.push_str(command.trim_end_matches('\\').trim_end());
        if command.ends_with('\\') {
            whole.push(' ');
            joined = Some((from, whole));
            continue;
        }
        found.extend(named(unquoted(&whole), from));
    }
    found
}

/// Where a key's value stands.
enum Value<'t> {
    Here(&'t str),
    Below,
}

fn command(line: &str) -> Option<Value<'_>> {
    let (key, value) = line.trim_start_matches("- ").split_once(':')?;
    if !KEYS.contains(&key.trim()) {
        return None;
    }
    let value = value.trim();
    let is_block = value.is_empty() || value.starts_with(['|', '>']);
    Some(if is_block { Value::Below } else { Value::Here(value) })
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = |mark: char| text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

fn named(command: &str, line: usize) -> Option<ManifestCommand> {
    let first = command.split_whitespace().next()?;
    let is_shell = ["if", "then", "else", "fi", "for", "do", "done", "case", "esac", "set", "cd"].contains(&first);
    if is_shell || PREPARING.contains(&first) || first.contains('=') {
        return None;
    }
    let purpose = CommandPurpose::of_words(command)?;
    Some(ManifestCommand { purpose, command: command.to_owned(), line })
}
