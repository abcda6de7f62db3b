//! The use cases as other programs call them, from a plain `main` and an asynchronous one, and the laws that they keep.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

mod agent_files;
mod asynchronous;
mod booking;
mod called_agents;
mod experiments;
mod finding;
mod found;
mod improving;
mod inputs;
mod model_names;
mod notes;
mod plain;
mod program_agent;
mod prompt_verdict;
mod proposing;
mod same_verdict;
mod selection;
mod set_aside;
mod source_server;
mod source_worlds;
mod special;
mod syncing;
mod triage_scene;
mod triage_signals;
mod triaged;
mod weekly_batch;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proem_app::places::{Channel, Places};
use proem_app::project::{BookReading, OpenProject};
use tempfile::TempDir;

use self::triage_scene::TriageScene;

/// A user with folders of their own, and a folder that is no repository.
struct Home {
    places: Places,
    work: PathBuf,
    _folder: TempDir,
}

impl Home {
    /// A user whose configuration says that.
    fn with(config: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let [config_folder, state, cache, work] = ["config", "state", "cache", "work"].map(|name| base.join(name));
        for folder in [&config_folder, &state, &cache, &work] {
            fs::create_dir(folder).unwrap();
        }
        let places =
            Places { config: config_folder, state, cache, home: base.clone(), programs: base, channel: Channel::Pipe };
        let home = Self { places, work, _folder: folder };
        home.configure(config);
        home
    }

    /// Writes a file of the user's book.
    fn book(&self, path: &str, text: &str) {
        let path = self.places.book().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The same, whose folder is a repository without a commit.
    fn with_repository(config: &str) -> Self {
        let home = Self::with(config);
        home.git(&["init", "-q", "-b", "main"]);
        home
    }

    /// Writes the configuration anew.
    fn configure(&self, config: &str) {
        fs::write(self.places.config_file(), config).unwrap();
    }

    /// Writes a credential beside the configuration, for this user alone.
    fn write_credential(&self, name: &str, value: &str) {
        let path = self.places.config.join(name);
        fs::write(&path, value).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Writes a file of the folder.
    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.work.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Runs plain git in the folder. It must succeed.
    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(&self.work).args(["-c", "maintenance.auto=false", "-c", "core.fsync=none"]).args(args);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "Ann").env(format!("GIT_{who}_EMAIL"), "ann@example.org");
            git.env(format!("GIT_{who}_DATE"), "2024-01-01T00:00:00Z");
        }
        assert!(git.env("GIT_CONFIG_GLOBAL", "/dev/null").status().unwrap().success(), "git {args:?}");
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// The folder as a project whose signals are triaged.
    fn triage(&self) -> TriageScene {
        TriageScene { places: self.places.clone(), folder: self.work.clone(), moment: None }
    }

    fn project(&self) -> OpenProject {
        OpenProject::open(&self.work, &self.places, BookReading::Trusted).unwrap()
    }
}
