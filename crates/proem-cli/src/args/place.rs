//! Finds the records that a command is about.

use std::path::PathBuf;

use clap::Parser;
use proem_app::records::Whose;

/// The project whose records a command is about.
#[derive(Debug, Clone, Parser)]
pub(crate) struct RecordsPlace {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    pub(crate) root: PathBuf,
    /// All projects of this user
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl RecordsPlace {
    /// The scope of runs.
    pub(crate) const fn whose(&self) -> Whose {
        if self.all { Whose::All } else { Whose::Project }
    }
}
