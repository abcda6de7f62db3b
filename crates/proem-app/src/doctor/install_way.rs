//! How this program came onto the machine, by where its file is, and what replaces it by a newer one.

use std::path::Path;

use super::{CheckupLine, CheckupState, CheckupSubject};

/// A way to install the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstallWay {
    /// Built in a source tree, and run there.
    SourceTree,
    /// By `cargo install`.
    Cargo,
    /// By a package of Debian's form.
    Debian,
    /// By a wheel, in an environment of Python.
    Wheel,
    /// By a package of npm.
    Npm,
    /// From the cellar of Homebrew.
    Homebrew,
    /// In some other way, such as from an archive.
    Other,
}

impl InstallWay {
    /// The way of a program at this path, whose links were followed.
    pub(crate) fn of(program: &Path) -> Self {
        let has = |name: &str| program.components().any(|part| part.as_os_str() == name);
        let folder = program.parent();
        let is_beside = |name: &str| folder.is_some_and(|folder| folder.join(name).exists());
        match folder.and_then(Path::file_name).and_then(|name| name.to_str()) {
            _ if has("node_modules") => Self::Npm,
            _ if has("Cellar") => Self::Homebrew,
            Some("debug" | "release") if is_beside(".fingerprint") => Self::SourceTree,
            // Cargo keeps the list of what it installed one folder above.
            Some("bin") if is_beside("../.crates2.json") => Self::Cargo,
            Some("bin") if is_beside("python") || is_beside("python3") && !folder.is_some_and(is_of_system) => {
                Self::Wheel
            }
            Some("bin") if folder == Some(Path::new("/usr/bin")) => Self::Debian,
            _ => Self::Other,
        }
    }

    /// The way in words, and the command that replaces the program.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::SourceTree => ("built in its source tree", "`git pull`, then build it again"),
            Self::Cargo => ("installed by cargo", "`git pull`, then `cargo install --path crates/proem-cli`"),
            Self::Debian => ("installed by a Debian package", "`apt install` with the newer package's file"),
            Self::Wheel => ("installed by a wheel", "`pip install --upgrade` with the newer wheel"),
            Self::Npm => ("installed by npm", "`npm install -g` with the newer package"),
            Self::Homebrew => ("installed by Homebrew", "`brew upgrade proem`"),
            Self::Other => ("put here by hand", "replace its file by the newer one"),
        }
    }
}

/// Whether a folder is the system's own, where Python is beside everything.
fn is_of_system(folder: &Path) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"].iter().any(|own| folder == Path::new(own))
}

/// The program's version, and how it was installed.
pub(super) fn program_line() -> CheckupLine {
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let (way, upgrade) = program.map_or(InstallWay::Other, |path| InstallWay::of(&path)).words();
    let text = format!("version {}, {way}; to upgrade: {upgrade}", env!("CARGO_PKG_VERSION"));
    CheckupLine::new(CheckupSubject::Program, CheckupState::Good, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;

    #[test]
    fn a_programs_place_says_how_it_came_there() {
        let base = tempfile::tempdir().unwrap();
        for file in ["tree/target/release/.fingerprint", "home/.cargo/.crates2.json", "venv/bin/python3", "other/bin/x"]
        {
            let path = base.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        for (path, expected) in [
            ("tree/target/release/proem", InstallWay::SourceTree),
            ("home/.cargo/bin/proem", InstallWay::Other),
            ("venv/bin/proem", InstallWay::Wheel),
            ("lib/node_modules/proem/bin/proem", InstallWay::Npm),
            ("opt/homebrew/Cellar/proem/0.1.0/bin/proem", InstallWay::Homebrew),
            ("other/bin/proem", InstallWay::Other),
        ] {
            assert_eq!(InstallWay::of(&base.path().join(path)), expected, "{path}");
        }
        fs::create_dir_all(base.path().join("home/.cargo/bin")).unwrap();
        assert_eq!(InstallWay::of(&base.path().join("home/.cargo/bin/proem")), InstallWay::Cargo);
        assert_eq!(InstallWay::of(Path::new("/usr/bin/proem")), InstallWay::Debian);
        assert_eq!(InstallWay::of(Path::new("/usr/local/bin/proem")), InstallWay::Other);
    }
}
