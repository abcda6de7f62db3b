//! Makes what a release has for this machine, and tries each way to install it where nothing of Proem is.
//!
//! The program is linked statically where Rust's target for musl is installed. What a machine lacks to make or try a
//! package is said, and is a finding: a release without one of its packages is none.

mod node_package;
mod wheels;

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{TaskFailure, print_to_stdout, toolchain::cargo_program};

/// The subcommand of cargo that writes the list of crates into a program.
const AUDITABLE: &str = "cargo-auditable";
const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";
/// The npm package of the program.
const PROGRAM_PACKAGE: &str = "proem-linux-x64";
const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];
/// The form of a Debian package for this machine.
const ARCHITECTURE: &str = "amd64";

/// The folders of one release.
struct ReleaseFolders {
    /// The workspace.
    root: PathBuf,
    /// What is handed out.
    out: PathBuf,
    /// What is tried, thrown away before.
    trial: PathBuf,
    /// The version of the program.
    version: String,
}

/// Makes and tries all packages.
pub(crate) fn check_release(root: &Path) -> Result<(), TaskFailure> {
    let folders = ReleaseFolders {
        root: root.to_owned(),
        out: root.join("target/package/out"),
        trial: root.join("target/package/trial"),
        version: workspace_version(root)?,
    };
    for folder in [&folders.out, &folders.trial] {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(outside("could not empty", folder, &error));
            }
            _ => make_folder(folder)?,
        }
    }
    let program = folders.build()?;
    let mut lacking = Vec::new();
    for (name, step) in [
        ("archive", make_archive as fn(&ReleaseFolders, &Path) -> Result<Option<String>, TaskFailure>),
        ("list of crates", read_crates),
        ("empty root", try_empty_root),
        ("debian package", make_debian_package),
        ("wheel", wheels::make_program_wheel),
        ("wheel of the library", wheels::make_library_wheel),
        ("npm package", make_npm_package),
        ("npm package of the library", node_package::make_node_package),
    ] {
        match step(&folders, &program)? {
            None => print_to_stdout(&format!("{name}: made and tried\n")),
            Some(lack) => {
                print_to_stdout(&format!("{name}: NOT TRIED: {lack}\n"));
                lacking.push(name);
            }
        }
    }
    folders.write_checksums()?;
    if lacking.is_empty() { Ok(()) } else { Err(TaskFailure::Found) }
}

impl ReleaseFolders {
    /// Builds the program, with the list of its crates in it where `cargo auditable` is installed.
    fn build(&self) -> Result<PathBuf, TaskFailure> {
        let mut build = Command::new(cargo_program());
        if has_auditable() {
            build.arg("auditable");
        }
        build.args(["build", "--release", "--locked", "--package", "proem-cli", "--features", "postgres"]);
        build.args(["--target", STATIC_TARGET]).current_dir(&self.root);
        run(&mut build)?;
        Ok(self.root.join("target").join(STATIC_TARGET).join("release/proem"))
    }

    fn write_checksums(&self) -> Result<(), TaskFailure> {
        let mut names: Vec<String> = Vec::new();
        for entry in fs::read_dir(&self.out).map_err(|error| outside("could not read", &self.out, &error))? {
            let entry = entry.map_err(|error| outside("could not read", &self.out, &error))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        let sums = output(Command::new("sha256sum").args(&names).current_dir(&self.out))?;
        write_file(&self.out.join("SHA256SUMS"), &sums)?;
        print_to_stdout(&sums);
        Ok(())
    }
}

/// The program with its manual pages and completions, as an archive.
fn make_archive(folders: &ReleaseFolders, program: &Path) -> Result<Option<String>, TaskFailure> {
    let name = format!("proem-{}-{STATIC_TARGET}", folders.version);
    let staging = folders.trial.join(&name);
    lay_out(folders, program, &staging, "bin", "share")?;
    let archive = folders.out.join(format!("{name}.tar.xz"));
    run(Command::new("tar").arg("-C").arg(&folders.trial).arg("-cJf").arg(&archive).arg(&name))?;
    let unpacked = folders.trial.join("unpacked");
    make_folder(&unpacked)?;
    run(Command::new("tar").arg("-C").arg(&unpacked).arg("-xf").arg(&archive))?;
    try_program(folders, &unpacked.join(&name).join("bin/proem"))?;
    Ok(None)
}

/// The list of crates that scanners for known weaknesses read out of the program.
fn read_crates(_: &ReleaseFolders, program: &Path) -> Result<Option<String>, TaskFailure> {
    if !has_auditable() {
        return Ok(Some(format!("there is no `{AUDITABLE}`; `cargo install {AUDITABLE}` brings it")));
    }
    let listed = match auditable_info::audit_info_from_file(program, auditable_info::Limits::default()) {
        Ok(listed) => listed.packages,
        Err(error) => return finding(&format!("the program's list of crates can't be read: {error}")),
    };
    for name in ["proem-store", "rusqlite", "sqlx-postgres"] {
        if !listed.iter().any(|package| package.name == name) {
            return finding(&format!("the program's list of {} crates lacks `{name}`", listed.len()));
        }
    }
    Ok(None)
}

/// The program where there is nothing else: no library, no shell, no home.
fn try_empty_root(folders: &ReleaseFolders, program: &Path) -> Result<Option<String>, TaskFailure> {
    let empty = folders.trial.join("empty");
    make_folder(&empty)?;
    copy_file(program, &empty.join("proem"))?;
    let mut chroot = Command::new("unshare");
    chroot.args(["--map-root-user", "chroot"]).arg(&empty).args(["/proem", "--version"]).env_clear();
    chroot.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let Ok(tried) = chroot.output() else { return Ok(Some("there is no `unshare`".to_owned())) };
    if !tried.status.success() {
        return Ok(Some(String::from_utf8_lossy(&tried.stderr).trim().to_owned()));
    }
    expect_version(folders, &String::from_utf8_lossy(&tried.stdout))?;
    Ok(None)
}

/// Made by `dpkg-deb`, installed into a root of its own, and removed.
fn make_debian_package(folders: &ReleaseFolders, program: &Path) -> Result<Option<String>, TaskFailure> {
    if !is_installed("dpkg-deb") {
        return Ok(Some("there is no `dpkg-deb`".to_owned()));
    }
    let staging = folders.trial.join("deb");
    lay_out(folders, program, &staging, "usr/bin", "usr/share")?;
    let documents = staging.join("usr/share/doc/proem");
    make_folder(&documents)?;
    copy_file(&folders.root.join("NOTICE"), &documents.join("NOTICE"))?;
    copy_file(&folders.root.join("LICENSE"), &documents.join("copyright"))?;
    make_folder(&staging.join("DEBIAN"))?;
    let control = format!(
        "Package: proem\nVersion: {}\nArchitecture: {ARCHITECTURE}\nMaintainer: The Proem authors <authors@proem.invalid>\n\
         Section: devel\nPriority: optional\nRecommends: git\n\
         Description: prompt engine for agents of language models\n \
         Versioned prompts, a token budget, trust labels, policy in code, and records of every call.\n",
        folders.version
    );
    write_file(&staging.join("DEBIAN/control"), &control)?;
    let package = folders.out.join(format!("proem_{}_{ARCHITECTURE}.deb", folders.version));
    run(Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&staging).arg(&package))?;
    let root = folders.trial.join("debian");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        make_folder(&root.join(folder))?;
    }
    write_file(&root.join("var/lib/dpkg/status"), "")?;
    let dpkg = |arguments: &[&str], last: &Path| {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", root.display())).args(["--force-not-root", "--force-script-chrootless"]);
        run(dpkg.args(arguments).arg(last))
    };
    dpkg(&["--install"], &package)?;
    try_program(folders, &root.join("usr/bin/proem"))?;
    for file in ["usr/share/man/man1/proem.1", "usr/share/bash-completion/completions/proem"] {
        if !root.join(file).is_file() {
            return finding(&format!("the Debian package has no `{file}`"));
        }
    }
    dpkg(&["--purge"], Path::new("proem"))?;
    if root.join("usr/bin/proem").exists() || root.join("usr/share/man/man1/proem.1").exists() {
        return finding("the Debian package leaves files behind when it is removed");
    }
    Ok(None)
}

/// Packed and installed by `npm`, without a registry.
fn make_npm_package(folders: &ReleaseFolders, program: &Path) -> Result<Option<String>, TaskFailure> {
    if !is_installed("npm") {
        return Ok(Some("there is no `npm`".to_owned()));
    }
    let staging = folders.trial.join("npm");
    make_folder(&staging.join("bin"))?;
    copy_file(program, &staging.join("bin/proem"))?;
    copy_file(&folders.root.join("LICENSE"), &staging.join("LICENSE"))?;
    copy_file(&folders.root.join("NOTICE"), &staging.join("NOTICE"))?;
    let manifest = format!(
        "{{\n  \"name\": \"{PROGRAM_PACKAGE}\",\n  \"version\": \"{}\",\n  \"description\": \"Prompt engine for agents of \
         language models\",\n  \"license\": \"Apache-2.0\",\n  \"bin\": {{ \"proem\": \"bin/proem\" }},\n  \"os\": \
         [\"linux\"],\n  \"cpu\": [\"x64\"]\n}}\n",
        folders.version
    );
    write_file(&staging.join("package.json"), &manifest)?;
    run(Command::new("npm").args(["pack", "--silent", "--pack-destination"]).arg(&folders.out).current_dir(&staging))?;
    let Some(package) = file_that_ends_with(&folders.out, ".tgz")? else { return finding("npm made no package") };
    let prefix = folders.trial.join("node");
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--offline", "--no-audit", "--no-fund", "--global", "--prefix"]);
    run(install.arg(&prefix).arg(package))?;
    try_program(folders, &prefix.join("bin/proem"))?;
    Ok(None)
}

/// Lays out the program with its manual pages and completions.
fn lay_out(
    folders: &ReleaseFolders,
    program: &Path,
    to: &Path,
    programs: &str,
    shared: &str,
) -> Result<(), TaskFailure> {
    make_folder(&to.join(programs))?;
    copy_file(program, &to.join(programs).join("proem"))?;
    let shared = to.join(shared);
    run(Command::new(program).arg("man").arg(shared.join("man/man1")))?;
    for shell in SHELLS {
        let script = output(Command::new(program).args(["completions", shell]))?;
        let file = match shell {
            "bash" => "bash-completion/completions/proem",
            "elvish" => "elvish/lib/proem.elv",
            "fish" => "fish/vendor_completions.d/proem.fish",
            "powershell" => "powershell/proem.ps1",
            _ => "zsh/vendor-completions/_proem",
        };
        let file = shared.join(file);
        if let Some(folder) = file.parent() {
            make_folder(folder)?;
        }
        write_file(&file, &script)?;
    }
    copy_file(&folders.root.join("LICENSE"), &folders.trial.join("LICENSE"))
}

/// Runs an installed program as a newcomer does: its version, and `doctor` in an empty folder with a home of its own.
fn try_program(folders: &ReleaseFolders, program: &Path) -> Result<(), TaskFailure> {
    let home = folders.trial.join("home");
    make_folder(&home)?;
    let command = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("HOME", &home).env("PATH", "/usr/bin:/bin").current_dir(&home);
        command
    };
    expect_version(folders, &output(&mut command(&["--version"]))?)?;
    let doctor = output(&mut command(&["doctor"]))?;
    if doctor.contains(&format!("version {}", folders.version)) {
        Ok(())
    } else {
        finding(&format!("`{} doctor` says:\n{doctor}", program.display()))
    }
}

fn expect_version(folders: &ReleaseFolders, printed: &str) -> Result<(), TaskFailure> {
    let expected = format!("proem {}\n", folders.version);
    if printed == expected { Ok(()) } else { finding(&format!("the program says `{printed}`, not `{expected}`")) }
}

fn workspace_version(root: &Path) -> Result<String, TaskFailure> {
    let manifest = root.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| outside("could not read", &manifest, &error))?;
    let version = text.split("[workspace.package]").nth(1).and_then(|rest| rest.split("version = \"").nth(1));
    let version = version.and_then(|rest| rest.split('"').next()).map(str::to_owned);
    version.ok_or_else(|| TaskFailure::Outside("`Cargo.toml` has no version of the workspace".to_owned()))
}

fn file_that_ends_with(folder: &Path, ending: &str) -> Result<Option<PathBuf>, TaskFailure> {
    let entries = fs::read_dir(folder).map_err(|error| outside("could not read", folder, &error))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.find(|path| path.to_string_lossy().ends_with(ending)))
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|tried| tried.status.success())
}

fn has_auditable() -> bool {
    Command::new(AUDITABLE).args(["auditable", "--version"]).output().is_ok_and(|tried| tried.status.success())
}

fn run(command: &mut Command) -> Result<(), TaskFailure> {
    let status = command.status().map_err(|error| unstarted(command, &error))?;
    if status.success() { Ok(()) } else { finding(&format!("`{command:?}` failed ({status})")) }
}

fn output(command: &mut Command) -> Result<String, TaskFailure> {
    let output = command.output().map_err(|error| unstarted(command, &error))?;
    if !output.status.success() {
        return finding(&format!("`{command:?}` failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn finding<T>(problem: &str) -> Result<T, TaskFailure> {
    print_to_stdout(&format!("{problem}\n"));
    Err(TaskFailure::Found)
}

fn unstarted(command: &Command, error: &std::io::Error) -> TaskFailure {
    TaskFailure::Outside(format!("could not start `{command:?}`: {error}"))
}

fn outside(what: &str, path: &Path, error: &std::io::Error) -> TaskFailure {
    TaskFailure::Outside(format!("{what} `{}`: {error}", path.display()))
}

fn make_folder(folder: &Path) -> Result<(), TaskFailure> {
    fs::create_dir_all(folder).map_err(|error| outside("could not create", folder, &error))
}

fn copy_file(from: &Path, to: &Path) -> Result<(), TaskFailure> {
    fs::copy(from, to).map(|_| ()).map_err(|error| outside("could not copy", from, &error))
}

fn write_file(path: &Path, text: &str) -> Result<(), TaskFailure> {
    fs::write(path, text).map_err(|error| outside("could not write", path, &error))
}
