//! Files that a person adds to what is found, or leaves out, as several commands take them.

use clap::Args;
use proem_app::context::FileChoice;

/// Single files for a task.
#[derive(Debug, Args)]
pub(crate) struct ChosenFiles {
    /// A file that the task is about, as `@path` in the task names it too; may be given several times
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// A pattern as in .gitignore for files that are left out; may be given several times
    #[arg(long = "exclude", value_name = "GLOB")]
    excluded: Vec<String>,
}

impl ChosenFiles {
    /// The choice of files, with those that the task mentions.
    pub(crate) fn choice(&self, task: &str) -> Result<FileChoice, proem_app::Error> {
        FileChoice::new(task, &self.files, &self.excluded)
    }
}
