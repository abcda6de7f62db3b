//! Changes that are LOW whatever their size: in which nothing runs differently.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::change::{Change, ChangedFile, FileKind, FileStatus};
use crate::patch::{FilePatch, changed_pins};
use crate::path::FileRole;

/// The kind of a file in such a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuietPart {
    /// Only tests and their data change.
    Tests,
    /// Only documentation changes.
    Documentation,
    /// A generated file.
    Generated,
    /// Somebody else's code, kept here.
    Vendored,
    /// A lock file.
    Lock,
    /// A file without lines.
    Asset,
    /// Code or configuration of which only version numbers change.
    Versions,
    /// Code or configuration of which only comments change.
    Comments,
}

impl QuietPart {
    /// Such things, in our words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::Documentation => "documentation",
            Self::Generated => "generated files",
            Self::Vendored => "vendored files",
            Self::Lock => "lock files",
            Self::Asset => "files without lines",
            Self::Versions => "version numbers",
            Self::Comments => "comments",
        }
    }
}

/// The kinds of files in a change, if nothing in it runs differently. Empty if anything does, or it is unknown.
pub(crate) fn quiet_parts(change: &Change) -> Vec<QuietPart> {
    let parts: Option<BTreeSet<QuietPart>> = change.files.iter().map(|file| quiet_part(change, file)).collect();
    parts.unwrap_or_default().into_iter().collect()
}

fn quiet_part(change: &Change, file: &ChangedFile) -> Option<QuietPart> {
    // A sensitive file is looked at whatever it is, unless only versions move.
    if file.class.sensitive.is_some() {
        let patch = change.patch(&file.path).filter(|_| file.status == FileStatus::Modified)?;
        return patch.changes_only_versions().then_some(QuietPart::Versions);
    }
    match file.class.role {
        FileRole::Test => Some(QuietPart::Tests),
        FileRole::Documentation => Some(QuietPart::Documentation),
        FileRole::Generated => Some(QuietPart::Generated),
        FileRole::Vendored => Some(QuietPart::Vendored),
        FileRole::Lock => {
            let is_swapped = change.patch(&file.path).is_some_and(|patch| !changed_pins(patch).is_empty());
            (!is_swapped).then_some(QuietPart::Lock)
        }
        FileRole::Asset => Some(QuietPart::Asset),
        FileRole::Code | FileRole::Configuration => {
            let is_edit = file.status == FileStatus::Modified && file.kind == FileKind::Regular;
            let patch = change.patch(&file.path).filter(|_| is_edit)?;
            part_of_patch(patch)
        }
    }
}

fn part_of_patch(patch: &FilePatch) -> Option<QuietPart> {
    if patch.changes_only_versions() {
        return Some(QuietPart::Versions);
    }
    patch.changes_only_comments().then_some(QuietPart::Comments)
}
