//! Finding a catalogue's files, in folders that others arranged.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use proem_runtime::catalogue::{
    CatalogueDiscovery, CatalogueLocations, ConfigOwner, NamedSource, SourceFormat, discover_catalogue,
};
use proem_select::catalogue::{Approvals, Catalogue, SourceTrust};
use tempfile::TempDir;

const SKILL: &str = "---\nname: NAME\ndescription: Does NAME.\n---\nbody\n";
const TOOLS: &str = r#"{"tools": [{"name": "t", "description": "Does t."}]}"#;

/// A user's home and a project beside it.
struct Places {
    _folder: TempDir,
    base: PathBuf,
    sources: CatalogueLocations,
}

impl Places {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let at = |path: &str| {
            fs::create_dir_all(base.join(path)).unwrap();
            Some(base.join(path))
        };
        let sources = CatalogueLocations {
            root: at("repo"),
            home: at("home"),
            config: at("home/.config"),
            own: at("home/.config/proem"),
            named: Vec::new(),
        };
        Self { _folder: folder, base, sources }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, path: &str, name: &str) {
        self.write(path, SKILL.replace("NAME", name));
    }

    fn name(&mut self, by: ConfigOwner, path: &str, holds: SourceFormat) {
        self.sources.named.push(NamedSource { by, path: path.into(), holds });
    }

    fn discover(&self) -> CatalogueDiscovery {
        discover_catalogue(&self.sources, &|path, bytes| {
            if path == ".proem/catalogue.toml" && bytes.starts_with(b"# trusted") {
                SourceTrust::Trusted
            } else {
                SourceTrust::Outside
            }
        })
    }

    /// Names with their standing and file, then problems.
    #[track_caller]
    fn check(&self, expected: &[&str]) {
        let found = self.discover();
        let catalogue = Catalogue::new(found.parsed, &Approvals::default());
        let mut said: Vec<String> = catalogue
            .entries()
            .iter()
            .map(|entry| format!("{} {:?} {}", entry.name(), entry.standing(), entry.origin().file))
            .collect();
        said.extend(catalogue.problems().iter().map(|problem| format!("! {problem}")));
        assert_eq!(said, expected);
    }
}

#[test]
fn every_place_is_looked_at() {
    let mut places = Places::new();
    places.write("repo/.proem/catalogue/git.json", TOOLS);
    places.write("repo/.proem/catalogue.toml", "[[tool]]\nname = 'own'\n");
    places.write("home/.config/proem/catalogue/mail.json", TOOLS);
    places.write("home/.config/proem/catalogue.toml", "[[tool]]\nname = 'mine'\n");
    places.skill("repo/.claude/skills/a/SKILL.md", "a");
    places.skill("repo/.agents/skills/b/SKILL.md", "b");
    places.skill("home/.claude/skills/c/SKILL.md", "c");
    places.skill("repo/docs/skills/d/SKILL.md", "d");
    places.write("home/elsewhere/wiki.json", TOOLS);
    places.write("repo/tools.jsonl", "{\"name\": \"line\"}\n");
    let wiki = places.base.join("home/elsewhere/wiki.json");
    places.name(ConfigOwner::User, wiki.to_str().unwrap(), SourceFormat::Manifest { server: "wiki".into() });
    places.name(ConfigOwner::Project, "docs/skills", SourceFormat::Skills);
    places.name(ConfigOwner::Project, "tools.jsonl", SourceFormat::Lines);
    places.check(&[
        "a Outside .claude/skills/a/SKILL.md",
        "b Outside .agents/skills/b/SKILL.md",
        "c Outside ~/.claude/skills/c/SKILL.md",
        "d Outside docs/skills/d/SKILL.md",
        "git__t Outside .proem/catalogue/git.json",
        "line Outside tools.jsonl",
        "mail__t Outside ~/.config/proem/catalogue/mail.json",
        "mine Own ~/.config/proem/catalogue.toml",
        "own Outside .proem/catalogue.toml",
        &format!("wiki__t Outside {}", wiki.display()),
    ]);
    places.write("repo/.proem/catalogue.toml", "# trusted\n[[tool]]\nname = 'own'\n");
    let own = places.discover().parsed.entries.into_iter().find(|entry| entry.name.as_str() == "own").unwrap();
    assert_eq!(own.standing, SourceTrust::Trusted);
}

#[test]
fn one_broken_file_is_named_and_the_others_count() {
    let places = Places::new();
    places.write("repo/.mcp.json", "{");
    places.write("repo/.cursor/mcp.json", r#"{"mcpServers": {"a": {}}}"#);
    places.write("repo/.codex/config.toml", "[mcp_servers.b]\n");
    places.write("repo/.vscode/mcp.json", b"\xff");
    let found = places.discover().parsed;
    assert_eq!(found.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        found.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            ".mcp.json:1:1: not valid JSON; correct the file; its servers are not listed",
            ".vscode/mcp.json: not UTF-8 from byte 0 on; save it as UTF-8",
        ]
    );
}

#[test]
fn what_is_no_regular_file_below_the_project_is_not_read() {
    let mut places = Places::new();
    places.skill("outside/SKILL.md", "stolen");
    fs::create_dir_all(places.base.join("repo/.claude/skills")).unwrap();
    symlink(places.base.join("outside"), places.base.join("repo/.claude/skills/linked")).unwrap();
    fs::create_dir_all(places.base.join("repo/.claude/skills/inner")).unwrap();
    symlink(places.base.join("outside/SKILL.md"), places.base.join("repo/.claude/skills/inner/SKILL.md")).unwrap();
    symlink(places.base.join("outside"), places.base.join("repo/.agents")).unwrap();
    fs::create_dir_all(places.base.join("repo/.claude/skills/pipe")).unwrap();
    let pipe = places.base.join("repo/.claude/skills/pipe/SKILL.md");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    places.write("repo/.claude/skills/file", "no folder");
    places.write("repo/.claude/skills/big/SKILL.md", vec![b'x'; 20 * 1024 * 1024]);
    places.write("repo/.claude/skills/odd/SKILL.md", b"---\nname: \xff\n---\n");
    fs::create_dir(places.base.join("repo/.claude/skills").join(std::ffi::OsStr::from_bytes(b"n\xff"))).unwrap();
    places.skill("repo/.claude/skills/good/SKILL.md", "good");
    places.name(ConfigOwner::Project, "../outside", SourceFormat::Skills);
    places.name(ConfigOwner::Project, "gone.jsonl", SourceFormat::Lines);
    let link = "a symbolic link, and links are not followed here; replace it with what it points to";
    places.check(&[
        "good Outside .claude/skills/good/SKILL.md",
        "! ../outside: not a path below the project's root; leave out `..` and a leading `/`",
        &format!("! .agents/skills: {link}"),
        "! .claude/skills: 1 file names in it are not UTF-8 and are ignored; rename them",
        "! .claude/skills/big/SKILL.md: larger than 16777216 bytes and left out; split it",
        &format!("! .claude/skills/inner/SKILL.md: {link}"),
        &format!("! .claude/skills/linked: {link}"),
        "! .claude/skills/odd/SKILL.md: not UTF-8 from byte 10 on; save it as UTF-8",
        "! .claude/skills/pipe/SKILL.md: a named pipe, not a regular file; move it elsewhere",
        "! gone.jsonl: not there; correct the path under `[catalogue]`, or remove it",
    ]);
}

#[test]
fn links_of_the_user_are_followed_and_pipes_are_not_read() {
    let places = Places::new();
    places.skill("dotfiles/skills/mine/SKILL.md", "mine");
    fs::create_dir_all(places.base.join("home/.claude")).unwrap();
    symlink(places.base.join("dotfiles/skills"), places.base.join("home/.claude/skills")).unwrap();
    assert!(Command::new("mkfifo").arg(places.base.join("home/.claude.json")).status().unwrap().success());
    places.check(&[
        "mine Outside ~/.claude/skills/mine/SKILL.md",
        "! ~/.claude.json: a named pipe, not a regular file; move it elsewhere",
    ]);
}

#[test]
fn the_users_manifest_of_a_server_counts_before_the_projects() {
    let places = Places::new();
    places.write("home/.config/proem/catalogue/git.json", TOOLS);
    places.write("repo/.proem/catalogue/git.json", TOOLS.replace("Does t.", "Obey."));
    places.check(&[
        "git__t Outside ~/.config/proem/catalogue/git.json",
        "! .proem/catalogue/git.json: not used: server `git` already has the manifest \
         `~/.config/proem/catalogue/git.json`; remove one of them",
    ]);
    let found = places.discover();
    assert_eq!(found.manifests.len(), 1);
}

#[test]
fn a_project_in_the_home_folder_is_read_once() {
    let mut places = Places::new();
    places.sources.root = places.sources.home.clone();
    places.skill("home/.claude/skills/a/SKILL.md", "a");
    places.write("home/.cursor/mcp.json", r#"{"mcpServers": {"a": {}}}"#);
    assert_eq!(places.discover().parsed.servers.len(), 1);
    places.check(&["a Outside .claude/skills/a/SKILL.md"]);
}

#[test]
fn nothing_anywhere_is_nothing() {
    let found = discover_catalogue(&CatalogueLocations::default(), &|_, _| SourceTrust::Own);
    assert!(found.parsed.entries.is_empty() && found.parsed.problems.is_empty());
    let sources = CatalogueLocations { root: Some(Path::new("/nowhere").into()), ..CatalogueLocations::default() };
    assert!(discover_catalogue(&sources, &|_, _| SourceTrust::Own).parsed.problems.is_empty());
}
