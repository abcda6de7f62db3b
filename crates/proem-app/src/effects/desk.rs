//! An opened project with its policy and its actions, and what keeps effects from happening in it.

use std::fmt;
use std::path::{Path, PathBuf};

use proem_engine::policy::{AutonomyLevel, Policy};
use proem_runtime::Environment;
use proem_store::query::EffectsStatus;
use proem_store::record::{Actor, ActorKind, EffectsPower, Project as Owner};
use proem_store::{FileSystemKind, Store, StoreAccess, StoreCreator};
use rustix::io::Errno;

use super::policy;
use super::sweep::grounds::SweepGrounds;
use crate::config::KeepRecords;
use crate::error::Error;
use crate::guarding::LazyGuard;
use crate::message::{Note, NoteKind, WithNotes};
use crate::project::OpenProject;
use crate::records::{actor, open_records, records_owner};
use crate::triage::charter;

/// The actions of a project, open to read or to write.
#[derive(Debug)]
pub struct ActionDesk<'p> {
    /// The project whose actions these are, with its configuration and trust.
    pub project: &'p OpenProject,
    /// The policy in force.
    pub policy: Policy,
    /// The state of its effects.
    pub status: EffectsStatus,
    pub(crate) guarding: LazyGuard,
    pub(crate) store: Store,
    pub(crate) owner: Owner,
    level: AutonomyLevel,
    /// The grounds of its decisions beside the records.
    pub(super) grounds: SweepGrounds,
}

/// Why no effect happens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EffectsObstacle {
    /// Records don't keep texts, so that nobody could say what went out.
    NothingKept,
    /// Another installation made the records.
    ForeignRecords,
    /// The records are on a file system that other machines use, too, or that is not known.
    SharedDisk {
        /// The records.
        path: PathBuf,
        /// Its kind, if that is known.
        kind: Option<&'static str>,
    },
    /// Records and witness disagree about what was sent, and no person has looked yet.
    Parked(String),
    /// The state folder can't be written.
    ReadOnlyFolder(PathBuf),
    /// They are switched off, or were never switched on.
    SwitchedOff,
}

impl EffectsObstacle {
    /// The name in documents.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NothingKept => "nothing-kept",
            Self::ForeignRecords => "foreign-records",
            Self::SharedDisk { .. } => "shared-disk",
            Self::Parked(_) => "parked",
            Self::ReadOnlyFolder(_) => "read-only-folder",
            Self::SwitchedOff => "switched-off",
        }
    }
}

impl fmt::Display for EffectsObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingKept => f.write_str("`records.keep` is not \"content\", so what goes out would not be kept"),
            Self::ForeignRecords => f.write_str("another installation made the records"),
            Self::SharedDisk { path, kind: Some(kind) } => {
                write!(f, "the records are on a network file system ({kind}): {}", path.display())
            }
            Self::SharedDisk { path, kind: None } => {
                write!(f, "the records are on a file system that is not known to be local: {}", path.display())
            }
            Self::Parked(why) => write!(f, "effects are parked: {why}"),
            Self::ReadOnlyFolder(path) => write!(f, "nothing can be written into {}", path.display()),
            Self::SwitchedOff => f.write_str("effects are off in this project"),
        }
    }
}

impl<'p> ActionDesk<'p> {
    /// Opens the actions of a project.
    ///
    /// # Errors
    ///
    /// If the policy or the records can't be read.
    pub async fn open(project: &'p OpenProject, access: StoreAccess) -> Result<WithNotes<Self>, Error> {
        // Files of a project that do not count concern everybody who relies on them here.
        let mut notes = project.all_notes();
        let grounds = SweepGrounds::of_desk(project);
        let WithNotes { value: policy, notes: said } = policy::policy_in_force(project)?;
        notes.extend(said);
        let guarding = LazyGuard::load(&project.places)?;
        notes.extend(guarding.notes.iter().cloned());
        let access = if is_writable_folder(&project.places.state) { access } else { StoreAccess::Read };
        let opened = open_records(project, access).await?;
        notes.extend(opened.notes.into_iter().map(|words| Note::new(NoteKind::Records, words)));
        let level = charter::autonomy_in_force(project, &policy);
        let owner = records_owner(project);
        let parked = if opened.origin == StoreCreator::Own { opened.store.examine_witness().await? } else { None };
        let status = EffectsStatus { parked, ..opened.store.effects(&owner).await? };
        Ok(WithNotes {
            value: Self { project, policy, status, guarding, store: opened.store, owner, level, grounds },
            notes,
        })
    }

    /// Ends the use of the records.
    pub async fn close(self) {
        self.store.close().await;
    }

    /// The obstacles to effects: none, or everything that has to be mended.
    #[must_use]
    pub fn obstacles(&self) -> Vec<EffectsObstacle> {
        let mut found = self.lasting_obstacles();
        if self.status.power() == EffectsPower::Off {
            found.push(EffectsObstacle::SwitchedOff);
        }
        found
    }

    /// The obstacles that there would be if effects were switched on.
    #[must_use]
    pub fn lasting_obstacles(&self) -> Vec<EffectsObstacle> {
        let mut found = Vec::new();
        if !keeps_texts(self.project) {
            found.push(EffectsObstacle::NothingKept);
        }
        if self.status.creator == StoreCreator::Foreign {
            found.push(EffectsObstacle::ForeignRecords);
        }
        if let Some(why) = &self.status.parked {
            found.push(EffectsObstacle::Parked(why.clone()));
        }
        if !is_writable_folder(&self.project.places.state) {
            found.push(EffectsObstacle::ReadOnlyFolder(self.project.places.state.clone()));
        }
        let path = self.project.places.records();
        match self.status.file_system {
            FileSystemKind::Local(_) => {}
            FileSystemKind::Network(kind) => found.push(EffectsObstacle::SharedDisk { path, kind: Some(kind) }),
            FileSystemKind::Unknown => found.push(EffectsObstacle::SharedDisk { path, kind: None }),
        }
        found
    }

    /// The level of autonomy in force: that of the project's own file for triage if this user trusted it, else that
    /// of the policy.
    #[must_use]
    pub const fn level(&self) -> AutonomyLevel {
        self.level
    }

    /// Proem itself, as it is in the records.
    pub(crate) fn system(&self) -> Actor {
        Actor { kind: ActorKind::System, ..actor(&Environment::inherited(), self.project.places.channel) }
    }
}

/// Whether files can be made in a folder, or it is yet to be made.
fn is_writable_folder(folder: &Path) -> bool {
    let access = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK);
    !matches!(access, Err(Errno::ROFS | Errno::ACCESS | Errno::PERM))
}

/// Whether what goes out would be kept.
#[must_use]
pub fn keeps_texts(project: &OpenProject) -> bool {
    project.config.records.keep == KeepRecords::Content
}
