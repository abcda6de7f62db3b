//! Where this user's configuration and state are.

use std::path::PathBuf;

use etcetera::BaseStrategy;

use crate::failure::Failure;

/// The user's folders.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// `config.toml` and `book/`.
    pub(crate) config: PathBuf,
    /// The installation's key and what was trusted.
    pub(crate) state: PathBuf,
    /// What can be rebuilt.
    pub(crate) cache: PathBuf,
    /// The user's home.
    pub(crate) home: PathBuf,
    /// The folder of all programs' configuration.
    pub(crate) programs: PathBuf,
}

/// A file with the installation's key, instead of the one in the state folder.
const KEY_VARIABLE: &str = "PROEM_KEY_FILE";

impl Places {
    /// The folders that the XDG base directory specification names.
    pub(crate) fn find() -> Result<Self, Failure> {
        let base = etcetera::base_strategy::Xdg::new()
            .map_err(|e| Failure::usage(format!("no home folder: {e}; set HOME")))?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Ok(Self {
            config: base.config_dir().join("proem"),
            state: state.join("proem"),
            cache: base.cache_dir().join("proem"),
            home: base.home_dir().to_path_buf(),
            programs: base.config_dir(),
        })
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    pub(crate) fn book(&self) -> PathBuf {
        self.config.join("book")
    }

    /// The file that runs are recorded in.
    pub(crate) fn records(&self) -> PathBuf {
        self.state.join("records.db")
    }

    /// The file with the day on which old runs were deleted last.
    pub(crate) fn purged(&self) -> PathBuf {
        self.state.join("purged")
    }

    pub(crate) fn key(&self) -> PathBuf {
        std::env::var_os(KEY_VARIABLE).map_or_else(|| self.state.join("key"), PathBuf::from)
    }
}
