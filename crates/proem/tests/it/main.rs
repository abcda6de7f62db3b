//! The facade from outside. Every example prints what its first comment says.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

mod budgets;
mod containment;
mod decoding;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Set, it has the test write the outputs into the examples instead of comparing them.
const UPDATE: &str = "PROEM_UPDATE_REFERENCE";

/// The examples' sources, by name.
fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

/// The program that cargo built of an example, the newest of them: beside the tests its name has a hash behind it.
fn program(source: &Path) -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let folder = deps.ancestors().nth(2).unwrap().join("examples");
    let name = source.file_stem().unwrap().to_str().unwrap();
    let is_of_it = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.strip_prefix(name).is_some_and(|rest| (rest.is_empty() || rest.starts_with('-')) && !rest.contains('.'))
    };
    let built = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(is_of_it);
    let newest = built.max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    newest.unwrap_or_else(|| panic!("`{name}` is not in {}; build it with `cargo test -p proem`", folder.display()))
}

/// The expected output in the first comment between its fences, and the text before and behind that.
fn expected(text: &str) -> (String, String, String) {
    let (before, rest) = text.split_once("//! ```text\n").unwrap();
    let (block, behind) = rest.split_once("//! ```\n").unwrap();
    let lines = block.lines().map(|line| line.strip_prefix("//!").unwrap().strip_prefix(' ').unwrap_or_default());
    (before.to_owned(), lines.map(|line| format!("{line}\n")).collect(), behind.to_owned())
}

/// A repository of two commits, the same each time.
fn repository(folder: &Path) {
    let git = |arguments: &[&str], day: u32| {
        let date = format!("2026-01-0{day}T12:00:00Z");
        let mut command = Command::new("git");
        command.args(arguments).current_dir(folder).env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        assert!(command.status().unwrap().success(), "git {arguments:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"], 1);
    for (day, text) in [(1, "pub fn boil() {}\n"), (2, "pub fn boil() { heat(100) }\nfn heat(degrees: u32) {}\n")] {
        fs::write(folder.join("kettle.rs"), text).unwrap();
        git(&["add", "kettle.rs"], day);
        git(&["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "--quiet", "-m", "Boil water"], day);
    }
}

#[test]
fn every_example_prints_what_its_first_comment_says() {
    let examples = examples();
    assert_eq!(examples.len(), 13);
    let home = TempDir::new().unwrap();
    let work = home.path().join("work");
    fs::create_dir(&work).unwrap();
    repository(&work);
    for source in examples {
        let text = fs::read_to_string(&source).unwrap();
        let (before, expected, behind) = expected(&text);
        let ran = Command::new(program(&source))
            .current_dir(&work)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", home.path())
            .output()
            .unwrap();
        let (printed, said) =
            (String::from_utf8(ran.stdout).unwrap(), String::from_utf8_lossy(&ran.stderr).into_owned());
        assert!(ran.status.success(), "{}: {said}", source.display());
        if std::env::var_os(UPDATE).is_some() {
            let block: String = printed.lines().map(|line| format!("{}\n", format!("//! {line}").trim_end())).collect();
            fs::write(&source, format!("{before}//! ```text\n{block}//! ```\n{behind}")).unwrap();
        } else {
            assert_eq!(printed, expected, "{}", source.display());
        }
    }
}
