//! `proem init`, run as a person would.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails here has found something")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A user with a folder, and a record of what was said.
struct Session {
    _folder: TempDir,
    top: PathBuf,
    root: PathBuf,
    said: String,
}

impl Session {
    fn outside_git() -> Self {
        let folder = TempDir::new().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        let root = top.join("project");
        fs::create_dir(&root).unwrap();
        Self { _folder: folder, top, root, said: String::new() }
    }

    fn new() -> Self {
        let session = Self::outside_git();
        assert!(session.command("git").args(["init", "--quiet", "--initial-branch=main"]).status().unwrap().success());
        session
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.root).envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", &self.top).env("XDG_CONFIG_HOME", self.top.join("config"));
        command.env("XDG_STATE_HOME", self.top.join("state")).env("NO_COLOR", "1");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn proem(&self, args: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_proem")).args(args).output().unwrap()
    }

    /// Runs a command and records what it says.
    fn run(&mut self, args: &[&str]) -> &mut Self {
        let output = self.proem(args);
        let said =
            format!("{}{}", String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let said = said.replace(self.top.to_str().unwrap(), "[TOP]");
        writeln!(self.said, "$ proem {}\n{said}exit {}\n", args.join(" "), output.status.code().unwrap()).unwrap();
        self
    }

    /// The state of every file, as `trust list` says it.
    fn states(&self) -> BTreeMap<String, String> {
        let list: serde_json::Value = serde_json::from_slice(&self.proem(&["trust", "list", "--json"]).stdout).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        list["files"].as_array().unwrap().iter().map(|file| (text(&file["path"]), text(&file["state"]))).collect()
    }

    /// The bytes of every file outside `.git`.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.symlink_metadata().unwrap() {
                    metadata if metadata.is_dir() && !path.ends_with(".git") => walk(&path, files),
                    metadata if metadata.is_file() => _ = files.insert(path.clone(), fs::read(&path).unwrap()),
                    _ => {}
                }
            }
        }
        let mut files = BTreeMap::new();
        walk(&self.root, &mut files);
        files
    }
}

const PROMPT: &str = "# Harbour release agent

You are the release engineer of the Harbour team.

## Safety

- Never print credentials.

## How you work

Read the changelog before the diff.

## Tools

- search: full text \u{202e}hcraes

Ships leave on Fridays.\r
";

#[test]
fn a_new_project() {
    let mut session = Session::new();
    session.run(&["init"]);
    let files = session.files();
    session.run(&["init"]);
    assert_eq!(session.files(), files, "the second time changes nothing");
    session.run(&["book", "check"]);
    session.run(&["trust"]);
    assert!(session.states().values().all(|state| state == "trusted"), "{:?}", session.states());
    let status = session.command("git").args(["status", "--porcelain", "--untracked-files=all"]).output().unwrap();
    assert!(!String::from_utf8(status.stdout).unwrap().contains("private"));
    let mode = |path: &str| fs::metadata(session.root.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        [mode(".proem/private"), mode(".proem/private/README.md"), mode("proem.toml") & 0o700],
        [0o700, 0o600, 0o600]
    );
    let lists = session.proem(&["book", "list", "--json"]);
    let list = String::from_utf8(lists.stdout).unwrap();
    assert!(list.contains("project/question") && list.contains("unlocked") && !list.contains("edited"), "{list}");
    insta::assert_snapshot!(session.said);
}

#[test]
fn a_new_configuration() {
    let session = Session::outside_git();
    session.proem(&["init"]);
    insta::assert_snapshot!(session.read("proem.toml"));
}

#[test]
fn the_next_step_works_as_it_is_printed() {
    let session = Session::new();
    for root in ["with space/it's", "plain"] {
        let folder = session.root.join(root);
        fs::create_dir_all(&folder).unwrap();
        assert!(session.command("git").args(["init", "--quiet"]).arg(&folder).status().unwrap().success());
        let said = String::from_utf8(session.proem(&["init", "--root", root]).stdout).unwrap();
        let next = said.lines().rev().find(|line| line.starts_with("  proem ")).unwrap();
        let binary = Path::new(env!("CARGO_BIN_EXE_proem")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
        let output = session.command("sh").env("PATH", path).args(["-c", next]).output().unwrap();
        assert!(output.status.success(), "{next}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn elsewhere() {
    let mut session = Session::outside_git();
    session.run(&["init"]);
    assert!(session.states().values().all(|state| state == "trusted"));
    let mut session = Session::new();
    session.write("src/main.rs", "");
    session.run(&["init", "--root", "src"]);
    assert!(session.root.join("proem.toml").exists() && !session.root.join("src/proem.toml").exists());
    assert!(session.command("git").args(["init", "--quiet", "--bare", "../bare"]).status().unwrap().success());
    session.run(&["init", "--root", "../bare"]);
    session.run(&["init", "--root", "../nowhere"]);
    insta::assert_snapshot!(session.said);
}

#[test]
fn what_was_there_is_neither_changed_nor_trusted() {
    let mut session = Session::new();
    session.write("proem.toml", "[assemble]\nmax_tools = 99\n");
    session.write("AGENTS.md", "obey\n");
    session.write(".proem/book/book.toml", "");
    session.write(".proem/private/README.md", "mine");
    let before = session.files();
    session.run(&["init"]);
    let after = session.files();
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)));
    let states = session.states();
    for file in ["proem.toml", "AGENTS.md", ".proem/book/book.toml"] {
        assert_eq!(states.get(file).unwrap(), "untrusted", "{file}");
    }
    assert_eq!(states.get(".proem/book/project/question/1.0.0.prompt").unwrap(), "trusted");
    insta::assert_snapshot!(session.said);
}

#[test]
fn a_book_in_use_gets_no_example() {
    let mut session = Session::new();
    session.write(".proem/book/team/triage/1.0.0.prompt", "x");
    session.run(&["init"]);
    assert!(!session.root.join(".proem/book/project").exists() && !session.root.join(".proem/book/book.lock").exists());
    insta::assert_snapshot!(session.said);
}

#[test]
fn links_are_not_followed() {
    for (link, target) in
        [("proem.toml", "../outside.toml"), (".proem", "../outside"), (".proem/private", "../../outside")]
    {
        let session = Session::new();
        let outside = session.top.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::create_dir_all(session.root.join(link).parent().unwrap()).unwrap();
        symlink(target, session.root.join(link)).unwrap();
        let output = session.proem(&["init"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{link}: {said}");
        assert!(
            said.contains("is a symbolic link, and links are not followed here")
                && said.contains("; nothing was written"),
            "{said}"
        );
        assert!(session.files().is_empty() && fs::read_dir(&outside).unwrap().next().is_none(), "{link}");
        assert!(!session.top.join("outside.toml").exists());
    }
}

#[test]
fn an_existing_prompt() {
    let mut session = Session::new();
    session.write("agent.md", PROMPT);
    session.run(&["init", "--from", "agent.md"]);
    assert_eq!(session.read(".proem/prompts/monolithic.md"), PROMPT);
    for part in ["prompts/constitution", "prompts/rules", "rules"] {
        let text = session.read(&format!(".proem/{part}.md"));
        writeln!(session.said, "--- {part}.md\n{}", text.replace('\u{202e}', "[U+202E]").replace('\r', "[CR]"))
            .unwrap();
    }
    session.run(&["init", "--from", "agent.md"]);
    assert!(session.states().values().all(|state| state == "trusted"), "{:?}", session.states());
    let assembled = session.proem(&["assemble", "release it", "--json"]);
    assert!(assembled.status.success(), "{}", String::from_utf8_lossy(&assembled.stderr));
    let assembled = String::from_utf8(assembled.stdout).unwrap();
    for line in PROMPT.lines().filter(|line| line.starts_with(char::is_alphabetic)) {
        assert!(assembled.contains(line), "{line}");
    }
    // A file that `init` wrote is no change that the task could be about.
    assert!(!assembled.contains("proem.toml") && assembled.contains("agent.md"), "{assembled}");
    insta::assert_snapshot!(session.said);
}

#[test]
fn an_existing_prompt_beside_an_existing_configuration() {
    let mut session = Session::new();
    session.write("proem.toml", "model = \"small\"\n[assemble.paths]\nrules = \".proem/prompts/rules.md\"\n");
    session.write(".proem/prompts/rules.md", "obey\n");
    session.write(".proem/rules.md", "ours\n");
    session.write("agent.md", PROMPT);
    session.run(&["init", "--from", "agent.md"]);
    assert_eq!(session.states().get(".proem/prompts/rules.md").unwrap(), "untrusted");
    insta::assert_snapshot!(session.said);
}

#[test]
fn a_prompt_without_a_part() {
    let mut session = Session::outside_git();
    session.write("agent.md", "Ships leave on Fridays.\n");
    session.run(&["init", "--from", "agent.md"]);
    assert!(!session.read("proem.toml").contains("\nconstitution ="));
    insta::assert_snapshot!(session.said);
}

#[test]
fn prompts_that_can_not_be_read() {
    let mut session = Session::new();
    session.write("empty.md", " \n\n");
    session.write("bytes.md", b"\xff\xfe");
    session.write("large.md", "x".repeat(256 * 1024 + 1));
    symlink("/etc/hostname", session.root.join("link.md")).unwrap();
    for file in ["missing.md", "empty.md", "bytes.md", "large.md", "link.md", "."] {
        session.run(&["init", "--from", file]);
    }
    assert!(!session.root.join("proem.toml").exists());
    insta::assert_snapshot!(session.said);
}

#[test]
fn a_broken_store_stops_it_before_anything_is_written() {
    let mut session = Session::new();
    fs::create_dir_all(session.top.join("state/proem")).unwrap();
    fs::write(session.top.join("state/proem/trust.json"), "{").unwrap();
    session.run(&["init"]);
    assert!(session.files().is_empty());
    insta::assert_snapshot!(session.said);
}
