//! How to build, test, check and format a repository: the exact commands that its own files say.
//!
//! Light readers of lines, TOML and JSON: what a file means beyond that is its tool's matter. A command that is none
//! of these kinds is left out, so that a release script is never offered as a way to test.
//!
//! Invariants: nothing is made up but what a manifest's tool documents for every project (`cargo test`). Each command
//! is on one line and is bounded. The order is the file's. No input makes a reader panic or take longer than its text.

mod make;
mod package;
mod python;
mod workflow;

use std::collections::BTreeSet;

/// The most commands of one file.
const MAX_COMMANDS: usize = 16;

/// The longest command, in characters. Longer ones are scripts.
const LONGEST: usize = 160;

/// A command and where it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestCommand {
    /// One of the usual steps of a project.
    pub purpose: CommandPurpose,
    /// The command, on one line.
    pub command: String,
    /// The line that says it, from 1.
    pub line: usize,
}

/// The purpose of a command, in the order in which they are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandPurpose {
    /// It compiles or packs the project.
    Build,
    /// It runs tests.
    Test,
    /// It checks without running.
    Lint,
    /// It rewrites sources in the project's style.
    Format,
}

proem_text::word_table! {
    /// One word for prompts.
    pub CommandPurpose {
        Build = "build",
        Test = "test",
        Lint = "lint",
        Format = "format",
    }
}

impl CommandPurpose {
    /// The purpose in the words of a target, script or command: the first telling word counts, so that `cargo test
    /// --package x` tests and `cargo fmt --check` formats.
    fn of_words(text: &str) -> Option<Self> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_ascii_lowercase).find_map(|word| {
            let of = |(words, purpose): &(&[&str], Self)| words.contains(&word.as_str()).then_some(*purpose);
            WORDS.iter().find_map(of)
        })
    }
}

/// Words that say what a command is for.
const WORDS: [(&[&str], CommandPurpose); 4] = [
    (&["fmt", "format", "prettier", "black", "gofmt", "rustfmt", "isort"], CommandPurpose::Format),
    (
        &["lint", "clippy", "ruff", "flake8", "mypy", "eslint", "vet", "typecheck", "pylint", "tsc"],
        CommandPurpose::Lint,
    ),
    (
        &[
            "test", "tests", "pytest", "nextest", "tox", "jest", "vitest", "mocha", "unittest", "ctest", "check",
            "verify",
        ],
        CommandPurpose::Test,
    ),
    (&["build", "compile", "cmake", "package", "assemble"], CommandPurpose::Build),
];

/// A kind of file that says how to build and test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestKind {
    /// `Makefile`.
    Make,
    /// `justfile`.
    Just,
    /// `Cargo.toml`.
    Cargo,
    /// Cargo's aliases, `.cargo/config.toml`.
    CargoAliases,
    /// `package.json`.
    Package,
    /// `pyproject.toml`.
    PyProject,
    /// `tox.ini` and `setup.cfg`.
    Ini,
    /// `go.mod`.
    Go,
    /// `pom.xml`.
    Maven,
    /// `build.gradle` and `build.gradle.kts`.
    Gradle,
    /// The command of a service after each push.
    Workflow,
}

/// The files at a repository's root that are read, with their kinds, in the order in which their commands are named.
pub const MANIFESTS: [(&str, ManifestKind); 21] = [
    ("Makefile", ManifestKind::Make),
    ("GNUmakefile", ManifestKind::Make),
    ("makefile", ManifestKind::Make),
    ("justfile", ManifestKind::Just),
    ("Justfile", ManifestKind::Just),
    (".justfile", ManifestKind::Just),
    ("Cargo.toml", ManifestKind::Cargo),
    (".cargo/config.toml", ManifestKind::CargoAliases),
    ("package.json", ManifestKind::Package),
    ("pyproject.toml", ManifestKind::PyProject),
    ("tox.ini", ManifestKind::Ini),
    ("setup.cfg", ManifestKind::Ini),
    ("go.mod", ManifestKind::Go),
    ("pom.xml", ManifestKind::Maven),
    ("build.gradle", ManifestKind::Gradle),
    ("build.gradle.kts", ManifestKind::Gradle),
    (".gitlab-ci.yml", ManifestKind::Workflow),
    (".circleci/config.yml", ManifestKind::Workflow),
    (".travis.yml", ManifestKind::Workflow),
    ("azure-pipelines.yml", ManifestKind::Workflow),
    (".woodpecker.yml", ManifestKind::Workflow),
];

/// The folder whose YAML files are read as [`ManifestKind::Workflow`] too.
pub const WORKFLOWS: &str = ".github/workflows";

/// Files at the root that only say how another one is used.
pub const BESIDE: [&str; 6] = ["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "mvnw", "gradlew"];

/// The commands of one file. `beside` are the files of [`BESIDE`] that are there.
#[must_use]
pub fn commands(kind: ManifestKind, text: &str, beside: &BTreeSet<&str>) -> Vec<ManifestCommand> {
    let found = match kind {
        ManifestKind::Make => make::targets(text, "make"),
        ManifestKind::Just => make::targets(text, "just"),
        ManifestKind::Cargo => cargo_commands(text),
        ManifestKind::CargoAliases => package::cargo_aliases(text),
        ManifestKind::Package => package::scripts(text, beside),
        ManifestKind::PyProject => python::pyproject_commands(text),
        ManifestKind::Ini => python::ini(text),
        ManifestKind::Go => {
            always(&[(CommandPurpose::Build, "go build ./..."), (CommandPurpose::Test, "go test ./...")])
        }
        ManifestKind::Maven => {
            let maven = if beside.contains("mvnw") { "./mvnw" } else { "mvn" };
            of_tool(maven, &[(CommandPurpose::Build, "package"), (CommandPurpose::Test, "test")])
        }
        ManifestKind::Gradle => {
            let gradle = if beside.contains("gradlew") { "./gradlew" } else { "gradle" };
            of_tool(gradle, &[(CommandPurpose::Build, "build"), (CommandPurpose::Test, "test")])
        }
        ManifestKind::Workflow => workflow::workflow_commands(text),
    };
    let mut seen = BTreeSet::new();
    let new = found.into_iter().filter(|found| seen.insert(found.command.clone()));
    new.filter(|found| is_one_line(&found.command)).take(MAX_COMMANDS).collect()
}

fn is_one_line(command: &str) -> bool {
    !command.is_empty() && !command.contains(['\n', '\r']) && command.chars().count() <= LONGEST
}

/// Cargo's own commands. Of all members where there is a workspace.
fn cargo_commands(text: &str) -> Vec<ManifestCommand> {
    let line = text.lines().position(|line| line.trim() == "[workspace]" || line.trim().starts_with("[workspace."));
    let all = if line.is_some() { " --workspace" } else { "" };
    let line = line.map_or(1, |line| line.saturating_add(1));
    let command = |purpose, command: &str| ManifestCommand { purpose, command: format!("{command}{all}"), line };
    vec![command(CommandPurpose::Build, "cargo build"), command(CommandPurpose::Test, "cargo test")]
}

fn always(commands: &[(CommandPurpose, &str)]) -> Vec<ManifestCommand> {
    let command = |(purpose, command): &(CommandPurpose, &str)| ManifestCommand {
        purpose: *purpose,
        command: (*command).to_owned(),
        line: 1,
    };
    commands.iter().map(command).collect()
}

fn of_tool(tool: &str, goals: &[(CommandPurpose, &str)]) -> Vec<ManifestCommand> {
    let command = |(purpose, goal): &(CommandPurpose, &str)| ManifestCommand {
        purpose: *purpose,
        command: format!("{tool} {goal}"),
        line: 1,
    };
    goals.iter().map(command).collect()
}

#[cfg(test)]
mod tests;
