//! The toolchain that does everything: the one that runs this program.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::TaskFailure;

/// The cargo that runs this program.
pub(crate) fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The variable that names what compiles the crates of a workspace in the compiler's place.
pub(crate) const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";

/// Clippy's driver, a compiler that lints what it compiles: beside the cargo that runs this, else on the path.
///
/// # Errors
///
/// [`TaskFailure::Outside`] where there is none, with what installs it.
pub(crate) fn driver() -> Result<PathBuf, TaskFailure> {
    let beside = Path::new(&cargo_program()).with_file_name(format!("clippy-driver{}", env::consts::EXE_SUFFIX));
    if beside.is_file() {
        return Ok(beside);
    }
    let asked = Command::new("clippy-driver").arg("--version").output();
    if asked.is_ok_and(|asked| asked.status.success()) {
        return Ok("clippy-driver".into());
    }
    Err(TaskFailure::Outside("clippy is missing; `rustup component add clippy` installs it".to_owned()))
}

/// A program's output. Its messages go to the terminal.
pub(crate) fn program_output(
    root: &Path,
    program: impl AsRef<OsStr>,
    arguments: &[&str],
) -> Result<String, TaskFailure> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| TaskFailure::Outside(format!("could not run {}: {error}", arguments.join(" "))))?;
    if !output.status.success() {
        return Err(TaskFailure::Found);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
