//! `proem index`: reads and keeps the whole of a repository. `find`, `assemble` and `hook` start it after a first look.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use proem_app::context::index::{begin_index, index_repository};
use proem_app::project::OpenProject;
use proem_runtime::schedule::own_process::{OwnProgram, leave_terminal};

use crate::failure::CommandFailure;
use crate::ui;

#[derive(Debug, Parser)]
pub(crate) struct Index {
    /// A folder in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

pub(super) fn run_index(args: &Index) -> Result<ExitCode, CommandFailure> {
    leave_terminal();
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    index_repository(&args.root, &project)?;
    Ok(ExitCode::SUCCESS)
}

/// Starts reading the whole of a repository beside this process if it was looked at for the first time. A failure is a note:
/// the answer was given.
pub(super) fn start_indexing(project: &OpenProject, root: &Path) {
    if !project.first_look.is_noted() {
        return;
    }
    let begun = index_program(root).and_then(|program| Ok(begin_index(&program, project)?));
    if let Err(failure) = begun {
        ui::print_note(&failure.to_string());
    }
}

/// `proem index`, of this same program.
fn index_program(root: &Path) -> Result<OwnProgram, CommandFailure> {
    let failed = |error: std::io::Error| CommandFailure::outside(format!("could not go on reading: {error}"));
    let root = std::path::absolute(root).map_err(failed)?;
    let arguments = vec![OsString::from("index"), OsString::from("--root"), root.into()];
    Ok(OwnProgram { program: std::env::current_exe().map_err(failed)?, arguments })
}
