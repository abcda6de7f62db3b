//! Finds the commands that a repository's files say, and its outline.
//!
//! Invariants: only regular files beneath the root are read, no link is followed. Bytes, files and commands are
//! bounded; what is read depends on nothing but the files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use proem_agents::assemble::{
    manifest::{BESIDE, CommandPurpose, MANIFESTS, ManifestKind, WORKFLOWS, commands},
    outline::folder_outline,
    place_facts::{CommandFact, Gap},
};
use proem_guard::Untrusted;
use proem_text::{Label, Source};

use crate::{
    files::{FileContent, read_beneath},
    gaps::{gap, gap_of},
    git::{GitProgram, tracked_below},
};

/// Bytes read of one manifest.
const MANIFEST_BYTES: usize = 256 * 1024;

/// The most workflows that are read.
const MAX_WORKFLOWS: usize = 12;

/// The most commands of each purpose, and so four times as many in all.
const MAX_EACH: usize = 6;

/// The most entries of a folder without a repository that are counted.
const MAX_WALKED: usize = 5000;

/// The commands that the files at `root` say, by what they are for.
pub(super) fn commands_of(root: &Path, gaps: &mut Vec<Gap>) -> Vec<CommandFact> {
    let is_file = |name: &&str| root.join(name).symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let beside: BTreeSet<&str> = BESIDE.iter().copied().filter(is_file).collect();
    let fixed = MANIFESTS.iter().map(|(name, kind)| ((*name).to_owned(), *kind));
    let workflows = workflows(root).into_iter().map(|path| (path, ManifestKind::Workflow));
    let label = Label::from_source(Source::named("repository/command"));
    let mut seen = BTreeSet::new();
    let mut by_purpose: BTreeMap<CommandPurpose, Vec<CommandFact>> = BTreeMap::new();
    for (path, kind) in fixed.chain(workflows) {
        let Some(text) = read_manifest(root, &path, gaps) else { continue };
        for found in commands(kind, &text, &beside) {
            // The command that calls a target comes before the one that it runs. Two ways to call one thing are two.
            if !seen.insert(found.command.clone()) {
                continue;
            }
            let of = by_purpose.entry(found.purpose).or_default();
            if of.len() < MAX_EACH {
                of.push(CommandFact {
                    purpose: found.purpose,
                    command: Untrusted::new(found.command, label.clone()),
                    place: Untrusted::new(format!("{path}:{}", found.line), label.clone()),
                });
            }
        }
    }
    by_purpose.into_values().flatten().collect()
}

fn read_manifest(root: &Path, path: &str, gaps: &mut Vec<Gap>) -> Option<String> {
    match read_beneath(root, Path::new(path), MANIFEST_BYTES) {
        Ok(None) => None,
        Ok(Some(FileContent::Whole(bytes) | FileContent::Cut(bytes))) => {
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        Err(error) => {
            gaps.push(gap_of("a file that says how to build and test", &error));
            None
        }
    }
}

/// The workflows' paths, sorted.
fn workflows(root: &Path) -> Vec<String> {
    let folder = root.join(WORKFLOWS);
    if !folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".yml") || name.ends_with(".yaml")).collect();
    // A workflow that is named after tests says more about them than one that publishes.
    names.sort_by_key(|name| (!["ci", "test", "check", "build"].iter().any(|word| name.contains(word)), name.clone()));
    names.into_iter().take(MAX_WORKFLOWS).map(|name| format!("{WORKFLOWS}/{name}")).collect()
}

/// The source of an outline's files.
pub(super) enum OutlineOf<'a> {
    /// The files that git tracks.
    Tracked(&'a GitProgram, &'a Path, Duration),
    /// All below a folder.
    Folder(&'a Path),
}

/// The lines of an outline.
pub(super) fn outline_of(of: &OutlineOf<'_>, gaps: &mut Vec<Gap>) -> Vec<Untrusted<String>> {
    let paths: Vec<PathBuf> = match of {
        OutlineOf::Tracked(git, root, time) => match tracked_below(git, root, *time) {
            Ok(listed) => listed.into_iter().map(|(path, _)| path).collect(),
            Err(error) => {
                gaps.push(gap_of("outline of the repository", &error));
                return Vec::new();
            }
        },
        OutlineOf::Folder(root) => match walk_project(root) {
            Some(paths) => paths,
            None => {
                let why = format!("the folder is in no repository and has more than {MAX_WALKED} entries");
                gaps.push(gap("outline of the folder", why));
                return Vec::new();
            }
        },
    };
    let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let label = Label::from_source(Source::named("repository/path"));
    folder_outline(paths.iter().map(String::as_str))
        .into_iter()
        .map(|line| Untrusted::new(line, label.clone()))
        .collect()
}

/// The files below a folder, without hidden folders. `None` if there are too many to be a project.
fn walk_project(root: &Path) -> Option<Vec<PathBuf>> {
    let (mut paths, mut open, mut seen) = (Vec::new(), vec![PathBuf::new()], 0usize);
    while let Some(relative) = open.pop() {
        for entry in fs::read_dir(root.join(&relative)).into_iter().flatten().flatten() {
            seen = seen.saturating_add(1);
            if seen > MAX_WALKED {
                return None;
            }
            let path = relative.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') => open.push(path),
                Ok(kind) if kind.is_file() => paths.push(path),
                _ => {}
            }
        }
    }
    Some(paths)
}
