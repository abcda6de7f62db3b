//! Guides that run: their files are written, their commands are run, what they print is compared.
//!
//! A block `text title=NAME` is a file, below the user's folders if its name begins with `~/.config/proem/`. A block
//! `console` is a session, in which `[…]` represents anything. `console after=N` is one that takes place N seconds
//! after the one before: what is recorded gets that much older. A command that is shown with `[y/N] ` and an answer
//! runs on a terminal, where that answer is given once the question is there.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;

use crate::fixture::Fixture;
use crate::terminal::screen::{WIDE, start_on};

/// The end of a question of yes or no.
const QUESTION: &str = "[y/N] ";

/// The commands of a guide that were tried.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) files: usize,
    pub(crate) sessions: usize,
}

/// Runs a guide. In what is printed the first text of each of `replaced` becomes the second, and in its files
/// the second becomes the first.
pub(crate) fn run(fixture: &Fixture, name: &str, replaced: &[(&str, &str)]) -> Tried {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(name);
    run_text(fixture, &fs::read_to_string(path).unwrap(), replaced)
}

/// Runs guides that continue each other, in this order. The counts are those of all together.
pub(crate) fn run_pages(fixture: &Fixture, names: &[&str], replaced: &[(&str, &str)]) -> Tried {
    names.iter().map(|name| run(fixture, name, replaced)).fold(Tried { files: 0, sessions: 0 }, |all, page| Tried {
        files: all.files + page.files,
        sessions: all.sessions + page.sessions,
    })
}

/// Runs the sections of a guide that begin with `## `, each in a fixture from `given`, with the files before the first
/// one. `console after=N` moves the clock on by that many seconds. Returns the commands tried in each.
pub(crate) fn run_sections(name: &str, given: impl Fn() -> Fixture) -> Vec<(String, Tried)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(name);
    let guide = fs::read_to_string(path).unwrap();
    let mut sections = guide.split("\n## ");
    let before = sections.next().unwrap_or_default().to_owned();
    let run = |section: &str| {
        let mut fixture = given();
        let title = section.lines().next().unwrap_or_default().to_owned();
        let whole = format!("{before}\n{section}");
        let mut parts = whole.split("\n```console after=");
        let mut all = run_text(&fixture, parts.next().unwrap_or_default(), &[]);
        for part in parts {
            let (seconds, rest) = part.split_once('\n').unwrap();
            let later = crate::effects::scene::now() + 1_000 * seconds.parse::<i64>().unwrap();
            fixture.set("PROEM_CLOCK", later.to_string());
            let tried = run_text(&fixture, &format!("\n```console\n{rest}"), &[]);
            all = Tried { files: all.files + tried.files, sessions: all.sessions + tried.sessions };
        }
        (title, all)
    };
    sections.map(run).collect()
}

/// Runs the text of a guide.
fn run_text(fixture: &Fixture, guide: &str, replaced: &[(&str, &str)]) -> Tried {
    let mut tried = Tried { files: 0, sessions: 0 };
    let mut blocks = guide.split("\n```");
    blocks.next();
    while let (Some(block), _) = (blocks.next(), blocks.next()) {
        let (head, body) = block.split_once('\n').unwrap();
        if let Some(name) = head.strip_prefix("text title=") {
            let file = replaced.iter().fold(format!("{body}\n"), |text, (from, to)| text.replace(to, from));
            match name.strip_prefix("~/.config/proem/") {
                Some(name) => fixture.configure(name, &file),
                None => fixture.write(name, file),
            }
            tried.files += 1;
        }
        let Some(how) = head.strip_prefix("console") else { continue };
        if let Some(seconds) = how.strip_prefix(" after=") {
            older(fixture, seconds.parse().unwrap());
        }
        for session in format!("\n{body}").split("\n$ ").skip(1) {
            let (command, expected) = session.split_once('\n').unwrap_or((session, ""));
            let command = command.replace("proem ", &format!("{} ", env!("CARGO_BIN_EXE_proem")));
            let answers: Vec<&str> =
                expected.lines().filter_map(|line| Some(line.split_once(QUESTION)?.1.trim())).collect();
            let printed =
                if answers.is_empty() { piped(fixture, &command) } else { answered(fixture, &command, &answers) };
            let printed = replaced.iter().fold(printed, |text, (from, to)| text.replace(from, to));
            assert!(shows(expected, &printed), "{command}\n── expected\n{expected}\n── found\n{printed}");
            tried.sessions += 1;
        }
    }
    tried
}

/// A command's output without a terminal.
fn piped(fixture: &Fixture, command: &str) -> String {
    let output = fixture.command("sh").args(["-c", command]).stdin(Stdio::null()).output().unwrap();
    // A mail's lines end with two characters, of which a terminal shows none.
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap().replace('\r', "")
}

/// The text on a terminal on which a person gives these answers. Keys typed before a question answer nothing, so each
/// answer waits for its own.
fn answered(fixture: &Fixture, command: &str, answers: &[&str]) -> String {
    let mut shell = fixture.command("sh");
    shell.args(["-c", command]).env("NO_COLOR", "1");
    let mut terminal = start_on(WIDE, shell).unwrap();
    for (index, answer) in answers.iter().enumerate() {
        terminal.until_times(QUESTION.trim_end(), index + 1);
        terminal.press(&format!("{answer}\n"));
    }
    terminal.end().raw.replace('\r', "")
}

/// Whether `found` is what a guide shows, whose `[…]` represents anything.
pub(crate) fn shows(expected: &str, found: &str) -> bool {
    let parts: Vec<&str> = expected.split("[…]").map(str::trim).collect();
    let mut rest = found.trim();
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let found = if is_last { rest.rfind(part) } else { rest.find(part) };
        let Some(at) = found else { return false };
        if index == 0 && at != 0 {
            return false;
        }
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.is_empty() || parts.last() == Some(&"")
}

/// Makes what is recorded that much older.
pub(crate) fn older(fixture: &Fixture, seconds: i64) {
    let records = Connection::open(fixture.base.join("state/proem/records.db")).unwrap();
    for column in [
        "failures SET at = at",
        "outcomes SET at = at",
        "runs SET started = started",
        "calls SET at = at",
        "attempts SET at = at",
    ] {
        let shifted = records.execute(&format!("UPDATE {column} - {}", seconds * 1_000), []);
        // Not every run fails or calls.
        assert!(shifted.unwrap() > 0 || column.ends_with("SET at = at"));
    }
}

/// The texts of a folder's sources, and of the folders in it.
fn sources_below(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.extension().and_then(|end| end.to_str()) {
            Some("rs") => fs::read_to_string(&path).unwrap(),
            None if path.is_dir() => sources_below(&path),
            _ => String::new(),
        })
        .collect()
}

#[test]
fn a_test_names_every_guide_that_shows_a_session() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = sources_below(&root.join("tests/it"));
    let guides = fs::read_dir(root.join("../../docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    let mut sessions = 0;
    for guide in guides.filter(|path| fs::read_to_string(path).unwrap().contains("\n```console")) {
        let name = guide.file_name().unwrap().to_str().unwrap();
        assert!(tests.contains(&format!("{name}\"")), "no test runs {name}");
        sessions += 1;
    }
    assert!(sessions > 15, "{sessions} guides show sessions");
}
