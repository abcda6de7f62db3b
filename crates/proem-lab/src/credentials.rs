//! The parts of a folder with the shape of a credential: false alarms, if its owner keeps none in it.
//!
//! A value is never printed, only its kind and its place.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_guard::credential;

/// The most bytes that are read of a file: what is gathered is shorter.
const MOST_BYTES: u64 = 16 << 20;

/// Looks through folders, such as clones of public repositories.
#[derive(Debug, Args)]
pub(crate) struct EvalCredentials {
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct FolderCount {
    files: usize,
    bytes: usize,
    /// It is too long, or not UTF-8.
    skipped: usize,
    places: Vec<String>,
}

pub(crate) fn run_eval_credentials(args: &EvalCredentials) -> Result<String, String> {
    let mut out = "| folder | files | MB | skipped | found |\n|---|---|---|---|---|\n".to_owned();
    let mut places = String::new();
    for folder in &args.folders {
        let mut read = FolderCount::default();
        walk_folder(folder, folder, &mut read)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let megabytes = read.bytes / 1_000_000;
        out.push_str(&format!(
            "| {name} | {} | {megabytes} | {} | {} |\n",
            read.files,
            read.skipped,
            read.places.len()
        ));
        read.places.iter().for_each(|place| places.push_str(&format!("{name}: {place}\n")));
    }
    Ok(format!("{out}\n{places}"))
}

fn walk_folder(root: &Path, folder: &Path, read: &mut FolderCount) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()).map_err(failed)?;
    paths.sort();
    for path in paths {
        let metadata = path.symlink_metadata().map_err(failed)?;
        if metadata.is_dir() && path.file_name().is_some_and(|name| name != ".git") {
            walk_folder(root, &path, read)?;
        } else if metadata.is_file() {
            scan_file_for_credentials(root, &path, metadata.len(), read)?;
        }
    }
    Ok(())
}

fn scan_file_for_credentials(root: &Path, path: &Path, bytes: u64, read: &mut FolderCount) -> Result<(), String> {
    let text = match bytes {
        0..=MOST_BYTES => {
            String::from_utf8(fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?).ok()
        }
        _ => None,
    };
    let Some(text) = text else {
        read.skipped += 1;
        return Ok(());
    };
    read.files += 1;
    read.bytes += text.len();
    for found in credential::find_credentials(&text) {
        let line = text.get(..found.span.start).unwrap_or_default().matches('\n').count() + 1;
        let place = path.strip_prefix(root).unwrap_or(path).display();
        read.places.push(format!("{place}:{line} {}", found.kind.as_str()));
    }
    Ok(())
}
