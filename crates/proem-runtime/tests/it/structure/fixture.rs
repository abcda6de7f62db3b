//! A repository in a temporary folder, with an isolated home.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::PathBuf,
    process::{Command, Output},
    time::Duration,
};

use proem_runtime::{
    Environment, Error,
    git::{GitProgram, Repository, discover},
    structure::{Structure, StructureLimits, TreeState, structure},
};
use tempfile::TempDir;

pub(crate) struct Fixture {
    pub(crate) base: PathBuf,
    pub(crate) repo: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    _folder: TempDir,
}

impl Fixture {
    /// A repository without a commit.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let repo = base.join("repo");
        fs::create_dir_all(&repo).unwrap();
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
        let fixture = Self { base, repo, variables, _folder: folder };
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture
    }

    /// A repository whose one commit has these files.
    pub(crate) fn committed(files: &[(&str, &str)]) -> Self {
        let fixture = Self::new();
        for (path, content) in files {
            fixture.write(path, content);
        }
        fixture.commit();
        fixture
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]);
    }

    /// Runs plain git in the repository, which must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> Output {
        let mut command = Command::new("git");
        let output = command.args(args).current_dir(&self.repo).env_clear().envs(&self.variables).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    pub(crate) fn program(&self) -> GitProgram {
        let environment: Environment = self.variables.clone().into_iter().collect();
        GitProgram::find(&environment).unwrap()
    }

    pub(crate) fn repository(&self) -> Repository {
        discover(&self.program(), &self.repo, Duration::from_mins(1)).unwrap().unwrap()
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.base.join("cache/here")
    }

    pub(crate) fn try_read(&self, at: TreeState<'_>, limits: &StructureLimits) -> Result<Structure, Error> {
        structure(&self.program(), &self.repository(), at, (None, limits), &|_, _| {})
    }

    pub(crate) fn read(&self, at: TreeState<'_>) -> Structure {
        self.try_read(at, &StructureLimits::default()).unwrap()
    }

    /// Reads HEAD with the cache.
    pub(crate) fn cached(&self) -> Structure {
        let cache = self.cache();
        let limits = StructureLimits::default();
        structure(&self.program(), &self.repository(), TreeState::Commit("HEAD"), (Some(&cache), &limits), &|_, _| {})
            .unwrap()
    }
}

/// The edges, by path.
pub(crate) fn edges(structure: &Structure) -> Vec<String> {
    let name = |file: u32| structure.paths[usize::try_from(file).unwrap()].escape_ascii().to_string();
    let from = |file: u32| structure.graph.imported(file).iter().map(move |end| (file, end.file));
    (0..structure.graph.files()).flat_map(from).map(|(from, to)| format!("{} -> {}", name(from), name(to))).collect()
}

/// The paths.
pub(crate) fn paths(structure: &Structure) -> Vec<String> {
    structure.paths.iter().map(|path| path.escape_ascii().to_string()).collect()
}
