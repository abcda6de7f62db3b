//! The places of this user's configuration and state.

use std::path::PathBuf;

use etcetera::BaseStrategy;

use crate::error::Error;

/// The user's folders.
#[derive(Debug, Clone)]
pub struct Places {
    /// `config.toml` and `book/`.
    pub config: PathBuf,
    /// The installation's key and what was trusted.
    pub state: PathBuf,
    /// Files that can be rebuilt.
    pub cache: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// The folder of all programs' configuration.
    pub programs: PathBuf,
    /// How whoever asks reaches Proem.
    pub channel: Channel,
}

/// How somebody reaches Proem, for the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// A person at a terminal.
    Terminal,
    /// A script, or another program.
    Pipe,
}

proem_text::word_table! {
    /// Its name in the records.
    pub Channel {
        Terminal = "terminal",
        Pipe = "pipe",
    }
}

/// A file with the installation's key, instead of the one in the state folder.
const KEY_VARIABLE: &str = "PROEM_KEY_FILE";

impl Places {
    /// The folders that the XDG base directory specification names.
    ///
    /// # Errors
    ///
    /// If there is no home folder.
    pub fn find(channel: Channel) -> Result<Self, Error> {
        let base = etcetera::base_strategy::Xdg::new()
            .map_err(|e| Error::invalid(format!("no home folder: {e}; set HOME")))?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Ok(Self {
            config: base.config_dir().join("proem"),
            state: state.join("proem"),
            cache: base.cache_dir().join("proem"),
            home: base.home_dir().to_path_buf(),
            programs: base.config_dir(),
            channel,
        })
    }

    /// The user's configuration.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The user's policy: what agents may do.
    #[must_use]
    pub fn policy(&self) -> PathBuf {
        self.config.join("policy.toml")
    }

    /// The user's book.
    #[must_use]
    pub fn book(&self) -> PathBuf {
        self.config.join("book")
    }

    /// The file that runs are recorded in.
    pub fn records(&self) -> PathBuf {
        self.state.join("records.db")
    }

    /// The file with the day on which old runs were deleted last.
    pub fn purged(&self) -> PathBuf {
        self.state.join("purged")
    }

    /// The installation's key, wherever the environment says it is.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        std::env::var_os(KEY_VARIABLE).map_or_else(|| self.state.join("key"), PathBuf::from)
    }
}
