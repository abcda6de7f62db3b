//! What a sweep's decisions rest on outside the records: files that a person may change between two effects.

use proem_runtime::files;

use super::super::policy::{MAX_POLICY, PROJECT_POLICY};
use crate::error::Error;
use crate::project::{CONFIG, OpenProject};
use crate::triage::charter::CHARTER;
use crate::trust::{RepositoryTrust, TrustStore, hash};

/// The project's files that decide about effects: the configuration, the policy, and the level of autonomy.
const PROJECT_FILES: [&str; 3] = [CONFIG, PROJECT_POLICY, CHARTER];

/// Every file that decides, as it is at one moment, and which of the project's this user trusts.
///
/// Two of them are the same if policy, level, trust and configuration are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SweepGrounds {
    users: [Option<Vec<u8>>; 2],
    projects: Vec<(Option<Vec<u8>>, FileTrust)>,
}

/// Whether this user trusts a file as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileTrust {
    Trusted,
    Untrusted,
}

impl SweepGrounds {
    /// Reads the files of this moment.
    ///
    /// # Errors
    ///
    /// If one of them, or what this user trusts, can't be read.
    pub(super) fn read(project: &OpenProject) -> Result<Self, Error> {
        let trust = TrustStore::new(project.places.state.clone()).hashed(&project.key)?;
        let users = [project.places.policy(), project.places.config_file()];
        Ok(Self {
            // A file that can't be read any more is a change, whatever the reason.
            users: users.map(|path| files::read_text(&path, MAX_POLICY).ok().map(String::into_bytes)),
            projects: PROJECT_FILES.iter().map(|path| project_file(project, &trust, path)).collect::<Result<_, _>>()?,
        })
    }
}

fn project_file(
    project: &OpenProject,
    trust: &RepositoryTrust,
    path: &str,
) -> Result<(Option<Vec<u8>>, FileTrust), Error> {
    let bytes = project.read(path)?;
    let is_trusted = bytes.as_ref().is_some_and(|bytes| trust.has(path, &hash(bytes)));
    Ok((bytes, if is_trusted { FileTrust::Trusted } else { FileTrust::Untrusted }))
}
