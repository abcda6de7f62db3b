//! Lists the files of `book/`, so that a prompt is part of the program as soon as it is in the folder. Checklists stay
//! out: only tests read them.
#![expect(clippy::disallowed_methods, reason = "a build reads the folder; the crate doesn't")]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const CHECKLIST: &str = ".checklist.toml";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=book");
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("book");
    let mut paths = Vec::new();
    add_files(&root, &mut paths)?;
    paths.sort();
    let mut list = String::from("[\n");
    for path in paths.iter().filter(|path| !path.to_string_lossy().ends_with(CHECKLIST)) {
        let name = path.strip_prefix(&root).map_err(io::Error::other)?;
        // A book's paths have `/` on each system.
        let name = name.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        list.push_str(&format!("({name:?}, include_str!({path:?})),\n"));
    }
    list.push(']');
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("book.rs"), list)
}

fn add_files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add_files(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|problem| io::Error::other(format!("{name}: {problem}")))
}
