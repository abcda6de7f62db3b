//! A file has one verdict, whether it is scanned, is in a prompt or is told to a coding agent.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proem_app::Error;
use proem_app::context::{ContextPatience, FileChoice};
use proem_app::hook::{PromptEvent, answer_prompt};
use proem_app::scan::examine::ScanDepth;
use proem_app::scan::folder::{FileSelection, Folder, FolderScanEvent, FolderScope};
use proem_app::scan::{ScanOptions, guard_for_project};
use serde_json::json;

use crate::Home;
use crate::found::{assembled_with, assembly_options};

/// How many files are compared.
const FILES: usize = 500;

/// How many files one prompt is given.
const AT_ONCE: usize = 25;

/// How many files one hook is told of: the sources of two of them take most of the room.
const TOLD: usize = 4;

/// The most bytes that a hook may tell.
const MOST_TOLD: usize = 9_000;

/// Of how many files one may have another verdict, since a prompt shows parts of a long file: sentences are together
/// that are apart in the whole, and what the whole is suspected for may not be shown. Seven of 500 have one.
const DIFFERS_ONE_IN: usize = 50;

/// The paths of this workspace's sources, documents and settings, from its root: every so many, in their order.
fn sample(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["crates", "docs", "lab"].map(|folder| root.join(folder)).into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_read = ["rs", "md", "toml", "js", "py"].iter().any(|ending| name.ends_with(&format!(".{ending}")));
            if path.is_dir() {
                folders.extend((name != "target").then_some(path));
            } else if is_read && !name.starts_with('.') && path.metadata().unwrap().len() < 40_000 {
                files.push(path);
            }
        }
    }
    files.sort();
    let every = files.len() / FILES;
    files.into_iter().step_by(every.max(1)).take(FILES).collect()
}

/// A repository with copies of them, and what a scan says of each.
fn scanned() -> (Home, BTreeMap<String, String>) {
    let home = Home::with_repository("");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    for (number, path) in sample(&root).iter().enumerate() {
        // Names say what a file is. Folders such as `tests` would make another use of it.
        let name = path.file_name().unwrap().to_str().unwrap();
        home.write(&format!("part{number}/{name}"), fs::read(path).unwrap());
    }
    home.commit("parts");
    let folder = Folder::list(&home.work, &FileSelection::Tracked, FolderScope::AllFiles).unwrap();
    let guarding = guard_for_project(&home.work, &home.places).unwrap();
    let mut verdicts = BTreeMap::new();
    let options = ScanOptions {
        kind: None,
        source: None,
        file_bytes: 16 * 1024 * 1024,
        folder_file_bytes: 1024 * 1024,
        detail: ScanDepth::FindingsOnly,
    };
    let looked = folder.look_at_all(&guarding, &options, |_, entry, event| {
        if let FolderScanEvent::File(file) = event {
            verdicts.insert(entry.path.to_str().unwrap().to_owned(), file.verdict.as_str().to_owned());
        }
        Ok::<_, Error>(())
    });
    looked.unwrap();
    (home, verdicts)
}

#[test]
fn a_prompt_and_a_hook_take_a_file_as_a_scan_does() {
    let (home, verdicts) = scanned();
    let paths: Vec<&str> = verdicts.keys().map(String::as_str).collect();
    let (mut compared, mut different) = (0, Vec::new());
    for some in paths.chunks(AT_ONCE) {
        let named: Vec<String> = some.iter().map(|&path| path.to_owned()).collect();
        let mut options = assembly_options(&home, &["explain this", "--budget", "1000000"]);
        options.choice = FileChoice::new("explain this", &named, &[]).unwrap();
        options.patience = ContextPatience::Whole;
        let prompt = assembled_with(&home, &options);
        for file in prompt["found"]["files"].as_array().unwrap() {
            let Some(verdict) = verdicts.get(file["path"].as_str().unwrap()) else { continue };
            let is_kept_whole = !file["reason"].as_str().is_some_and(|reason| reason.contains("guard"));
            compared += 1;
            if is_kept_whole != (verdict == "allow") {
                different.push((file["path"].clone(), verdict, file["reason"].clone(), file["offered"].clone()));
            }
        }
    }
    assert!(compared > FILES * 9 / 10, "{compared}");
    assert!(different.len() * DIFFERS_ONE_IN <= compared, "{compared}: {different:#?}");
    // A file that is shown whole has the verdict of the whole.
    assert!(different.iter().all(|(_, _, _, offered)| offered != "full"), "{different:#?}");

    let harmless: Vec<&str> = paths.into_iter().filter(|path| verdicts[*path] == "allow").collect();
    assert!(harmless.len() > compared / 2 && harmless.len() < compared, "{} of {compared}", harmless.len());
    let (mut told, mut missing) = (0, Vec::<&str>::new());
    for some in harmless.chunks(TOLD) {
        let prompt =
            some.iter().fold("explain what these files do:".to_owned(), |prompt, path| format!("{prompt} @{path}"));
        let event = json!({ "hook_event_name": "UserPromptSubmit", "cwd": home.work, "prompt": prompt });
        let event = PromptEvent::read(&event.to_string()).unwrap();
        let answer = answer_prompt(&event, MOST_TOLD, &home.project()).unwrap().value.unwrap_or_default().to_string();
        for path in some {
            told += 1;
            missing.extend((!answer.contains(path)).then_some(*path));
        }
    }
    assert!(missing.len() * DIFFERS_ONE_IN <= told, "{told}: {missing:#?}");
}
