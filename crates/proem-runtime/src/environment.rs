//! The environment that child processes see.
//!
//! Invariant: a variable that could point git at another repository, program or configuration never reaches it. The
//! user's own choice of configuration files does.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// The variables beginning with `GIT_` that are the user's own settings and safe to pass on.
const KEPT: [&str; 6] = [
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
];

/// Environment variables, as data.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The variables of this process.
    #[must_use]
    pub fn inherited() -> Self {
        std::env::vars_os().collect()
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The variables that git may see: all except those that begin with `GIT_` and aren't known to be harmless.
    pub(crate) fn for_git(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
            .filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"GIT_") || KEPT.iter().any(|kept| name == kept))
    }

    /// The possible places of a program called `name`, in the order of `PATH`.
    ///
    /// Relative folders are passed over: they would be looked up below the folder that a command
    /// runs in, whose files come from whoever wrote the repository.
    pub fn candidates(&self, name: &str) -> Vec<PathBuf> {
        let Some(path) = self.get("PATH") else { return Vec::new() };
        std::env::split_paths(path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).collect()
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: values may be credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment_of_pairs(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[test]
    fn git_sees_no_variable_that_redirects_it() {
        for (name, kept) in [
            ("HOME", true),
            ("PATH", true),
            ("GIT_CONFIG_GLOBAL", true),
            ("GIT_CONFIG_NOSYSTEM", true),
            ("GIT_DIR", false),
            ("GIT_WORK_TREE", false),
            ("GIT_INDEX_FILE", false),
            ("GIT_EXTERNAL_DIFF", false),
            ("GIT_SSH", false),
            ("GIT_SSH_COMMAND", false),
            ("GIT_ASKPASS", false),
            ("GIT_CONFIG_PARAMETERS", false),
            ("GIT_CONFIG_COUNT", false),
            ("GIT_CONFIG_KEY_0", false),
            ("GIT_OBJECT_DIRECTORY", false),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", false),
            ("GIT_TRACE", false),
        ] {
            assert_eq!(environment_of_pairs(&[(name, "x")]).for_git().count() == 1, kept, "{name}");
        }
    }

    #[test]
    fn programs_are_looked_for_in_absolute_folders_only() {
        let environment = environment_of_pairs(&[("PATH", ".:/usr/bin::bin:/opt/git/bin")]);
        assert_eq!(environment.candidates("git"), [PathBuf::from("/usr/bin/git"), PathBuf::from("/opt/git/bin/git")]);
    }

    #[test]
    fn debug_output_shows_no_value() {
        assert_eq!(format!("{:?}", environment_of_pairs(&[("TOKEN", "hunter2")])), r#"{"TOKEN"}"#);
    }
}
