//! The grounds of a sweep's decisions outside the records: files that a person may change between two effects.

use proem_runtime::files;

use super::super::policy::{MAX_POLICY, PROJECT_POLICY};
use crate::error::Error;
use crate::project::{CONFIG, OpenProject};
use crate::triage::charter::CHARTER;
use crate::trust::{RepositoryTrust, TrustStore, sha256_hex};

/// The project's files that decide about effects: the configuration, the policy, and the level of autonomy.
const PROJECT_FILES: [&str; 3] = [CONFIG, PROJECT_POLICY, CHARTER];

/// Every file that decides, as it is at one moment, and which of the project's this user trusts.
///
/// Two of them are the same if policy, level, trust and configuration are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct SweepGrounds {
    users: [Option<String>; 2],
    projects: [ProjectFile; 3],
}

impl SweepGrounds {
    /// The grounds of a desk's decisions: the files as they are before its policy is read, with the trust that the
    /// project was opened with.
    pub(in super::super) fn of_desk(project: &OpenProject) -> Self {
        Self::of(project, &project.trust)
    }

    /// The same at this moment, with what this user trusts now.
    ///
    /// # Errors
    ///
    /// If what this user trusts can't be read.
    pub(super) fn of_now(project: &OpenProject) -> Result<Self, Error> {
        Ok(Self::of(project, &TrustStore::new(project.places.state.clone()).hashed(&project.key)?))
    }

    fn of(project: &OpenProject, trust: &RepositoryTrust) -> Self {
        let users = [project.places.policy(), project.places.config_file()];
        Self {
            // That a file can't be read any more is a change, whatever the reason.
            users: users.map(|path| files::read_text(&path, MAX_POLICY).ok()),
            projects: PROJECT_FILES.map(|path| ProjectFile::read(project, trust, path)),
        }
    }
}

/// One of the project's files as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ProjectFile {
    /// This user trusts these bytes.
    Trusted(Vec<u8>),
    /// This user does not.
    Untrusted(Vec<u8>),
    /// It is not there.
    Absent,
    /// It can't be read.
    Unreadable,
}

impl ProjectFile {
    fn read(project: &OpenProject, trust: &RepositoryTrust, path: &str) -> Self {
        match project.read(path) {
            Ok(Some(bytes)) if trust.is_trusted_by_hash(path, &sha256_hex(&bytes)) => Self::Trusted(bytes),
            Ok(Some(bytes)) => Self::Untrusted(bytes),
            Ok(None) => Self::Absent,
            Err(_) => Self::Unreadable,
        }
    }
}
