//! A file has one verdict, whichever command reads it.

use std::fs;
use std::path::{Path, PathBuf};

use proem_app::ask::{Attachment, PROMPT, Question, read_attachments};
use proem_app::guarding::GuardSetup;
use proem_app::message::NoteKind;
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::RunSetting;
use proem_app::scan::examine::{ScanDepth, scan_document};
use proem_guard::Verdict;
use proem_runtime::readers::{DocumentOptions, FileSurroundings, UnreadTail, extract};

use crate::Home;

/// How many files are compared.
const FILES: usize = 500;

/// Files of this workspace, in the order of their paths: source, documents, settings, data and fixtures with attacks.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut folders: Vec<PathBuf> = ["crates", "docs", "evals", "lab"].map(|folder| root.join(folder)).into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!path.ends_with("target")).then_some(path));
            } else if path.metadata().unwrap().len() < 40_000 {
                files.push(path);
            }
        }
    }
    files.sort();
    let every = files.len() / FILES;
    files.into_iter().step_by(every).take(FILES).collect()
}

#[test]
fn a_question_takes_a_file_as_a_scan_of_its_folder_does() {
    let home = Home::with("");
    let guarding = GuardSetup::load(&home.places, &[]).unwrap();
    let mut project = home.project();
    let options = RunOptions { carriage: Carriage::Nobody, ..RunOptions::of(PROMPT.to_owned()) };
    let setting = RunSetting::new(&options, &mut project).unwrap();
    let (mut compared, mut clean, mut different) = (0, 0, Vec::new());
    for path in files() {
        let Ok(Some(Attachment { text, .. })) =
            read_attachments(std::slice::from_ref(&path)).map(|read| read.texts.into_iter().next())
        else {
            continue;
        };
        let surroundings = FileSurroundings::Project;
        let options = DocumentOptions { name: Some(&path), surroundings, ..DocumentOptions::default() };
        let document = extract(text.as_bytes(), UnreadTail::Nothing, &options);
        if document.fields.len() != 1 {
            continue;
        }
        let scan = scan_document(&guarding, String::new(), document, None, ScanDepth::FindingsOnly);
        let mut question = Question::new("What is it?".to_owned(), None).unwrap();
        question.files = read_attachments(std::slice::from_ref(&path)).unwrap();
        let request = setting.request(&question.inputs()).unwrap();
        let is_clean = !request.notes.iter().any(|note| note.kind == NoteKind::Guard);
        compared += 1;
        clean += usize::from(is_clean);
        if is_clean != (scan.verdict == Verdict::Allow) {
            different.push((path, scan.verdict, request.notes));
        }
    }
    assert!(different.is_empty(), "{different:#?}");
    assert!(compared > 400 && clean > compared / 2 && clean < compared, "{clean} of {compared}");
}
