//! A repository in a temporary folder, with an isolated home.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise, and says out loud what it skips"
)]

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use proem_agents::assemble::place_facts::{Gap, Git, PlaceFacts};
use proem_guard::Untrusted;
use proem_runtime::{
    Environment, GatherOptions, gather_facts,
    git::{GitProgram, Repository, discover_repository_around},
};
use tempfile::TempDir;

/// The work that plain git leaves undone in a fixture: tidying in a process of its own after each commit, and waiting
/// for the disk.
pub(crate) const QUICK: [&str; 4] = ["-c", "maintenance.auto=false", "-c", "core.fsync=none"];

/// The path of a program by a child's variables. A program that is looked up here can be started without a copy of this
/// process's page tables, which a search by the child would need.
pub(crate) fn program(name: &str, variables: &BTreeMap<OsString, OsString>) -> PathBuf {
    let path = variables.get(OsStr::new("PATH")).unwrap();
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| file.is_file()).unwrap()
}

/// A home, a folder `repo`, and whatever a test adds.
pub(crate) struct Fixture {
    pub(crate) base: PathBuf,
    pub(crate) repo: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    _folder: TempDir,
}

impl Fixture {
    /// A folder that is no repository.
    pub(crate) fn folder() -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let repo = base.join("repo");
        fs::create_dir(&repo).unwrap();
        fs::create_dir(base.join("home")).unwrap();
        let home = base.join("home").into_os_string();
        let pairs = [
            ("HOME", home.clone()),
            ("XDG_CONFIG_HOME", home),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CEILING_DIRECTORIES", base.clone().into_os_string()),
            ("PATH", std::env::var_os("PATH").unwrap()),
        ];
        let variables = pairs.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { base, repo, variables, _folder: folder }
    }

    /// A repository without a commit, on branch `main`.
    pub(crate) fn unborn() -> Self {
        let fixture = Self::folder();
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture
    }

    /// The same with ids of SHA-256.
    pub(crate) fn unborn_sha256() -> Self {
        let fixture = Self::folder();
        fixture.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
        fixture
    }

    /// A repository with one commit of these files.
    pub(crate) fn of_files(files: &[(&str, &str)]) -> Self {
        let fixture = Self::unborn();
        for (path, content) in files {
            fixture.write(path, content);
        }
        fixture.commit("first");
        fixture
    }

    /// A repository with one commit of `a.txt`, which says `one`.
    pub(crate) fn committed() -> Self {
        Self::of_files(&[("a.txt", "one\n")])
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    pub(crate) fn environment(&self) -> Environment {
        self.variables.clone().into_iter().collect()
    }

    pub(crate) fn program(&self) -> GitProgram {
        GitProgram::find(&self.environment()).unwrap()
    }

    /// The repository that `program` finds at `repo`.
    pub(crate) fn repository(&self) -> Repository {
        discover_repository_around(&self.program(), &self.repo, Duration::from_mins(1)).unwrap().unwrap()
    }

    /// The defaults, with time enough on any machine.
    pub(crate) fn options(&self) -> GatherOptions {
        let mut options = GatherOptions::new(self.environment());
        options.limits.repository_time = Duration::from_mins(1);
        options.limits.changes_time = Duration::from_mins(1);
        options
    }

    pub(crate) fn gather(&self) -> PlaceFacts {
        gather_facts(&self.repo, &self.options()).unwrap()
    }

    /// Runs plain git in `repo`, whatever comes of it.
    pub(crate) fn try_git(&self, args: &[&str]) -> Output {
        let mut command = Command::new(program("git", &self.variables));
        command.args(QUICK).current_dir(&self.repo).env_clear().envs(&self.variables);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ann").env(format!("GIT_{who}_EMAIL"), "ann@example.org");
            command.env(format!("GIT_{who}_DATE"), "2024-01-01T00:00:00Z");
        }
        command.args(args).output().unwrap()
    }

    /// Runs a line of shell in `repo`, as somebody would who copied it.
    pub(crate) fn try_shell(&self, line: &str) -> Output {
        let mut command = Command::new("/bin/sh");
        command.current_dir(&self.repo).env_clear().envs(&self.variables);
        command.args(["-c", line]).output().unwrap()
    }

    /// Runs plain git in `repo`. It must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.try_git(args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Puts a shell script in the place of git.
    pub(crate) fn replace_git(&mut self, script: &str) {
        let folder = self.base.join("bin");
        fs::create_dir_all(&folder).unwrap();
        executable(&folder.join("git"), script);
        self.set("PATH", folder);
    }

    /// A script that leaves a file behind when anybody runs it.
    pub(crate) fn canary(&self, name: &str) -> Canary {
        let canary =
            Canary { script: self.base.join(format!("{name}.sh")), mark: self.base.join(format!("{name}.mark")) };
        executable(&canary.script, &format!("echo run >'{}'\nexit 1", canary.mark.display()));
        canary
    }
}

/// Writes a program, in another process: one that is open for writing here can't be run, and a
/// child that another test starts at this moment would hold it open.
fn executable(path: &Path, script: &str) {
    let write = "printf '#!/bin/sh\n%s\n' \"$1\" >\"$2\" && chmod 755 \"$2\"";
    let status = Command::new("/bin/sh").args(["-c", write, "sh", script]).arg(path).status().unwrap();
    assert!(status.success());
}

pub(crate) struct Canary {
    script: PathBuf,
    mark: PathBuf,
}

impl Canary {
    pub(crate) fn script(&self) -> &str {
        self.script.to_str().unwrap()
    }

    /// Puts a copy of the script at `path`.
    pub(crate) fn copy_to(&self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("cp").arg("-p").arg(&self.script).arg(path).status().unwrap().success());
    }

    pub(crate) fn was_run(&self) -> bool {
        self.mark.exists()
    }
}

pub(crate) fn git_of(gathered: &PlaceFacts) -> &Git {
    gathered.git.as_ref().unwrap_or_else(|| panic!("no repository: {:?}", gathered.gaps))
}

/// Whether the untrusted text is `expected`.
#[track_caller]
pub(crate) fn assert_text(text: &Untrusted<String>, expected: &str, source: &str) {
    assert!(text.measure(|text| text == expected), "not {expected:?}, but of {} bytes", text.len());
    assert!(format!("{:?}", text.label()).contains(&format!("{source:?}")), "{:?}", text.label());
}

/// The gaps, `what: why`.
pub(crate) fn said(gaps: &[Gap]) -> Vec<String> {
    gaps.iter().map(|gap| format!("{}: {}", gap.what, gap.why)).collect()
}

pub(crate) fn link(to: impl AsRef<Path>, at: impl AsRef<Path>) {
    std::os::unix::fs::symlink(to, at).unwrap();
}

/// Whether permissions don't bind this user.
pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}
