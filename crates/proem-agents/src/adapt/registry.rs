//! A file of names that may be in a profile.

use std::collections::BTreeSet;

use proem_engine::profile::{Registry, is_registry_path, known_risks};
use proem_engine::{Error, ErrorKind};

use super::foreign_json::quote_json_name;

/// Reads one name on each line, for agents and for risks. The risks that are known anyway come to the latter. Empty
/// lines and those that start with `#` say nothing.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] with every line that is no name.
pub fn registry(text: &str) -> Result<(Registry, Registry), Error> {
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let name = line.trim();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        if is_registry_path(name) {
            names.insert(name.to_owned());
        } else {
            let number = index.saturating_add(1);
            problems.push(format!(
                "line {number} of the registry is not a name: {}; use letters, digits, `.`, `_` and `-`, with `/` only \
                 between two of them",
                quote_json_name(name)
            ));
        }
    }
    if !problems.is_empty() {
        return Err(Error::all(ErrorKind::InvalidInput, problems));
    }
    let mut risks = names.clone();
    if let Registry::Closed(known) = known_risks() {
        risks.extend(known);
    }
    Ok((Registry::Closed(names), Registry::Closed(risks)))
}
