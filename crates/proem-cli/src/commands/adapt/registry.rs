//! A file of names that may stand in a profile.

use std::collections::BTreeSet;

use proem_engine::profile::{Registry, is_path, known_risks};

use super::quoted;
use crate::failure::Failure;

/// Reads one name on each line, for agents and for risks; the risks that are known anyway come to the
/// latter. Empty lines and those that start with `#` say nothing.
pub(super) fn read(text: &str) -> Result<(Registry, Registry), Failure> {
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let name = line.trim();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        if is_path(name) {
            names.insert(name.to_owned());
        } else {
            let number = index.saturating_add(1);
            problems.push(format!(
                "line {number} of the registry is no name: {}; write letters, digits, `.`, `_`, `-`, and `/` between",
                quoted(name)
            ));
        }
    }
    if !problems.is_empty() {
        return Err(Failure::usage(problems.join("\n")));
    }
    let mut risks = names.clone();
    if let Registry::Closed(known) = known_risks() {
        risks.extend(known);
    }
    Ok((Registry::Closed(names), Registry::Closed(risks)))
}
