//! The package's own tests and types, checked by the Node of this machine with the module that cargo has built.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use skipped::skip;
use tempfile::TempDir;

#[path = "../../../xtask/skipped.rs"]
mod skipped;

/// Names a folder with the packages that `package-lock.json` lists.
const MODULES: &str = "PROEM_TEST_NODE_MODULES";

/// Fails where a package is missing or Node is older than those that the tests need.
const PROBE: &str = "if (parseInt(process.versions.node) < 18) throw new Error('Node is older than 18');
for (const name of ['@ai-sdk/openai', '@types/node/package.json', 'ai', 'typescript/package.json', 'zod'])
  require.resolve(name);";

/// The parts of the package that its tests need.
const PARTS: [&str; 6] = ["README.md", "examples", "package.json", "tests", "tsconfig.json", "typescript"];

fn manifest_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Node, to be run in this folder.
fn node(folder: &Path, arguments: &[&str]) -> Command {
    let mut node = Command::new("node");
    node.args(arguments).current_dir(folder);
    node
}

/// The package in a folder of its own, with the packages that its tests need.
fn package() -> Result<TempDir, String> {
    let modules = env::var_os(MODULES).map_or_else(|| manifest_folder().join("node_modules"), PathBuf::from);
    let folder = TempDir::new().unwrap();
    for part in PARTS {
        copy_tree(&manifest_folder().join(part), &folder.path().join(part));
    }
    link_folder(&modules, &folder.path().join("node_modules"));
    match node(folder.path(), &["--eval", PROBE]).output() {
        Ok(probe) if probe.status.success() => Ok(folder),
        Ok(probe) => {
            let problems = String::from_utf8_lossy(&probe.stderr).into_owned();
            Err(problems.lines().find(|line| line.contains("Error")).unwrap_or("it can't be run").to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn copy_tree(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy_tree(&entry.path(), &to.join(entry.file_name()));
    }
}

#[cfg(unix)]
fn link_folder(folder: &Path, link: &Path) {
    std::os::unix::fs::symlink(folder, link).unwrap();
}

#[cfg(windows)]
fn link_folder(folder: &Path, link: &Path) {
    std::os::windows::fs::symlink_dir(folder, link).unwrap();
}

/// The module that cargo builds beside the tests.
fn module() -> PathBuf {
    let tests = env::current_exe().unwrap();
    tests.with_file_name(format!("{}proem_node{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX))
}

/// The names of the package's tests, because the versions of Node disagree on how to find them.
fn test_files() -> Vec<String> {
    let files = fs::read_dir(manifest_folder().join("tests")).unwrap();
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".test.mjs"));
    names.sort();
    names.into_iter().map(|name| format!("tests/{name}")).collect()
}

fn expect_success(command: &mut Command) {
    let done = command.output().unwrap();
    let (words, problems) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}\n{words}\n{problems}");
}

#[test]
fn the_package_passes_its_own_tests() {
    let package = match package() {
        Ok(package) => package,
        Err(problem) => {
            skip(
                "node",
                format!(
                    "no Node with the packages of `package-lock.json`: {problem}; name their folder in `{MODULES}`"
                ),
            );
            return;
        }
    };
    let compiler = "node_modules/typescript/bin/tsc";
    expect_success(&mut node(package.path(), &[compiler]));
    expect_success(&mut node(package.path(), &[compiler, "--project", "tests"]));
    fs::copy(module(), package.path().join("dist/proem-engine.node")).unwrap();
    let mut tests = node(package.path(), &["--test"]);
    let guide = manifest_folder().join("../../docs/guide/node.md");
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let program = manifest_folder().join("../..").join(target).join("debug/proem");
    let tests = tests.args(test_files()).env("PROEM_TEST_GUIDE", guide).env("PROEM_TEST_PROGRAM", program);
    expect_success(tests);
}
