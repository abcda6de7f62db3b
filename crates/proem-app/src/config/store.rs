//! `[store]`: the place of the records. Only the user's own file decides it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::effects::CredentialFile;

/// The keys of `[store]`: a PostgreSQL database that holds the records, so that several machines share them. Only your
/// own configuration decides this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreFile {
    /// The database's address, such as `postgres://proem@db.example/records`, without a password. Without it, the
    /// records are in a file in your state folder.
    pub url: Option<String>,
    /// The place of the role's password: `{ variable = "NAME" }`, or `{ file = "PATH" }` for one line in a file that
    /// only you can read (mode 600).
    pub password: Option<CredentialFile>,
    /// The names by which the records know projects, by a folder in each, as an absolute path. Without one, a project
    /// is known by the path of its repository, which another machine may have elsewhere.
    pub projects: BTreeMap<PathBuf, String>,
}
