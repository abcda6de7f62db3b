//! The package's own tests and types, checked by the Python of this machine with the module that cargo has built.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use skipped::skip;
use tempfile::TempDir;

#[path = "../../../xtask/skipped.rs"]
mod skipped;

/// Names an interpreter that has what `tests/requirements.txt` lists.
const PYTHON: &str = "PROEM_TEST_PYTHON";

/// Fails where a module is missing or the interpreter is older than the package's oldest.
const PROBE: &str = "import mypy, openai, pydantic, pytest, sys; sys.exit(sys.version_info < (3, 10))";

/// The name by which Python finds the module.
const MODULE: &str = if cfg!(windows) { "_native.pyd" } else { "_native.abi3.so" };

fn manifest_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The interpreter's command, if it has what the tests need.
fn interpreter() -> Result<OsString, String> {
    let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    match Command::new(&python).args(["-c", PROBE]).output() {
        Ok(output) if output.status.success() => Ok(python),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("it is too old").to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The package in a folder of its own, with the module.
fn package() -> TempDir {
    let folder = TempDir::new().unwrap();
    let package = folder.path().join("proem_engine");
    fs::create_dir(&package).unwrap();
    for entry in fs::read_dir(manifest_folder().join("python/proem_engine")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), package.join(entry.file_name())).unwrap();
        }
    }
    fs::copy(module(), package.join(MODULE)).unwrap();
    folder
}

/// The module that cargo builds beside the tests.
fn module() -> PathBuf {
    let tests = env::current_exe().unwrap();
    tests.with_file_name(format!("{}_native{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX))
}

#[test]
fn the_package_passes_its_own_tests() {
    let python = match interpreter() {
        Ok(python) => python,
        Err(problem) => {
            skip(
                "python",
                format!("no Python with the packages of `tests/requirements.txt`: {problem}; name it in `{PYTHON}`"),
            );
            return;
        }
    };
    let package = package();
    let tests = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir"])
        .args([manifest_folder().as_os_str(), manifest_folder().join("tests").as_os_str()])
        .env("PYTHONPATH", package.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(package.path())
        .output()
        .unwrap();
    let (words, problems) = (String::from_utf8_lossy(&tests.stdout), String::from_utf8_lossy(&tests.stderr));
    assert!(tests.status.success(), "{words}\n{problems}");
}
