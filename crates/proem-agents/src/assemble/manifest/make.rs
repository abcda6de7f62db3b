//! Targets of `make` and recipes of `just`.

use super::{CommandPurpose, ManifestCommand};

/// The targets that say what they are for by their names.
pub(super) fn targets(text: &str, tool: &str) -> Vec<ManifestCommand> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some(name) = rule_target(line) else { continue };
        // A target that takes arguments can't be called by its name alone.
        let Some(purpose) = CommandPurpose::of_words(name) else { continue };
        found.push(ManifestCommand { purpose, command: format!("{tool} {name}"), line: number });
    }
    found
}

/// The name of a rule that begins on a line.
fn rule_target(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t', '#', '.', '@', '[']) {
        return None;
    }
    let (name, rest) = line.split_once(':')?;
    // `a := b` and `a ::= b` are variables.
    if rest.starts_with('=') || rest.starts_with(":=") {
        return None;
    }
    let name = name.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}
