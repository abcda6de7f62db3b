//! The use cases as other programs call them: a plain `main`, and an asynchronous one with tasks on several threads.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

mod asynchronous;
mod booking;
mod notes;
mod plain;
mod program_agent;
mod same_verdict;
mod set_aside;

use std::fs;
use std::path::{Path, PathBuf};

use proem_app::places::{Channel, Places};
use proem_app::project::{BookReading, OpenProject};
use tempfile::TempDir;

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
        fs::write(config_folder.join("config.toml"), config).unwrap();
        let places =
            Places { config: config_folder, state, cache, home: base.clone(), programs: base, channel: Channel::Pipe };
        Self { places, work, _folder: folder }
    }

    /// Writes a file of the user's book.
    fn book(&self, path: &str, text: &str) {
        let path = self.places.book().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    }

    fn project(&self) -> OpenProject {
        OpenProject::open(&self.work, &self.places, BookReading::Trusted).unwrap()
    }
}
