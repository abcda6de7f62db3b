//! The names that may be in a profile.

use std::collections::BTreeSet;

use super::evaluate::{CUT_OFF, EXECUTION_FAILED, MISSING_OUTPUT, REFUSED, SCHEMA_FAILED, WARNINGS_PRESENT};

/// The longest identifier, in bytes.
const IDENTIFIER: usize = 64;

/// The longest name of several identifiers with slashes between, in bytes.
const PATH: usize = 200;

/// Names that may be in a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registry {
    /// These and no others. A member that is not made of identifiers with slashes between doesn't count.
    Closed(BTreeSet<String>),
    /// Names of identifier form, for which the caller vouches.
    Vouched,
}

impl Registry {
    /// Whether a profile may show this name.
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        match self {
            Self::Closed(names) => names.contains(name) && is_registry_path(name),
            Self::Vouched => is_registry_identifier(name),
        }
    }
}

/// Whether a text is `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
#[must_use]
pub fn is_registry_identifier(text: &str) -> bool {
    let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    starts
        && text.len() <= IDENTIFIER
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Whether a text is identifiers with slashes between, as a closed registry may hold.
#[must_use]
pub fn is_registry_path(text: &str) -> bool {
    text.len() <= PATH && text.split('/').all(is_registry_identifier)
}

/// The risks that recorded runs can have.
#[must_use]
pub fn known_risks() -> Registry {
    let tags = [EXECUTION_FAILED, MISSING_OUTPUT, WARNINGS_PRESENT, SCHEMA_FAILED, REFUSED, CUT_OFF];
    Registry::Closed(tags.into_iter().map(str::to_owned).collect())
}
