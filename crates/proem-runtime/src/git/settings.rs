//! Finds the files that git's configuration names, before git reads it.
//!
//! Git opens what `include.path` names without asking what it is, so that `git config --list` is no way to find
//! out. The files are read here as far as regular files lead: by the grammar of git-config(1), with every
//! condition of `includeIf` taken as met, so that nothing git may open is missing.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io::Read as _,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use crate::{Environment, files};

/// How deep included files may include others. Git goes as far (`MAX_INCLUDE_DEPTH` in its `config.c`).
const MOST_DEPTH: usize = 10;

/// The most files that are read.
const MOST_FILES: usize = 1_000;

/// The most bytes of a file that are read: more than any configuration has.
const MOST_BYTES: u64 = 4 << 20;

/// The settings that name a file which git opens, in lower case. Those of commands that never run here among them.
const NAMING: [(&str, &str); 8] = [
    ("blame", "ignorerevsfile"),
    ("commit", "template"),
    ("core", "attributesfile"),
    ("core", "excludesfile"),
    ("diff", "orderfile"),
    ("gpg", "allowedsignersfile"),
    ("gpg", "revocationfile"),
    ("mailmap", "file"),
];

/// The files beside the user's configuration that are opened unless a setting names others.
const USERS: [&str; 2] = ["git/attributes", "git/ignore"];

/// Every file that git may open because of its configuration: the configuration itself, what it includes, and what
/// it names. `folder` is where git runs, `git_dirs` are the git folders there.
///
/// `check` sees each before it is read, and ends the search with an error.
pub(super) fn named_files<E>(
    environment: &Environment,
    folder: &Path,
    git_dirs: &[PathBuf],
    check: &dyn Fn(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let home = environment.get("HOME").map(PathBuf::from);
    let own = environment.get("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = own.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let system = environment.get("GIT_CONFIG_SYSTEM").map_or_else(|| PathBuf::from("/etc/gitconfig"), PathBuf::from);
    let global = match environment.get("GIT_CONFIG_GLOBAL") {
        Some(global) => vec![PathBuf::from(global)],
        None => [own.as_ref().map(|own| own.join("git/config")), home.as_ref().map(|home| home.join(".gitconfig"))]
            .into_iter()
            .flatten()
            .collect(),
    };
    let of_repository =
        git_dirs.iter().flat_map(|git_dir| ["config", "config.worktree"].map(|name| git_dir.join(name)));
    let mut reader = SettingsReader { home: home.as_deref(), folder, check, seen: BTreeSet::new() };
    for file in [system].into_iter().chain(global).chain(of_repository) {
        reader.read(&file, MOST_DEPTH)?;
    }
    own.map_or(Ok(()), |own| USERS.iter().try_for_each(|name| check(&own.join(name))))
}

struct SettingsReader<'r, E> {
    home: Option<&'r Path>,
    folder: &'r Path,
    check: &'r dyn Fn(&Path) -> Result<(), E>,
    seen: BTreeSet<PathBuf>,
}

impl<E> SettingsReader<'_, E> {
    fn read(&mut self, file: &Path, deeper: usize) -> Result<(), E> {
        (self.check)(file)?;
        let is_new = self.seen.len() < MOST_FILES && self.seen.insert(file.to_path_buf());
        // Git itself reports a file that can't be read.
        let (true, Some(text)) = (is_new, read_git_settings(file)) else { return Ok(()) };
        for setting in parse_settings(&text) {
            if matches!(setting.section.as_slice(), b"include" | b"includeif") && setting.key == b"path" {
                let base = file.parent().unwrap_or(Path::new("/"));
                if let (Some(included), Some(deeper)) = (self.path(&setting.value, base), deeper.checked_sub(1)) {
                    self.read(&included, deeper)?;
                }
            } else if setting.names_a_file() {
                self.path(&setting.value, self.folder).map_or(Ok(()), |named| (self.check)(&named))?;
            }
        }
        Ok(())
    }

    /// A value as a path. `None` where it begins with what only git resolves (`~user/`, `%(prefix)/`).
    fn path(&self, value: &[u8], base: &Path) -> Option<PathBuf> {
        if let Some(below) = value.strip_prefix(b"~/") {
            return self.home.map(|home| home.join(OsStr::from_bytes(below)));
        }
        let is_gits = value.is_empty() || value.starts_with(b"~") || value.starts_with(b"%(");
        // An attribute file of an older git may be marked as one that need not exist.
        let value = value.strip_prefix(b":(optional)").unwrap_or(value);
        (!is_gits).then(|| base.join(OsString::from_vec(value.to_vec())))
    }
}

fn read_git_settings(file: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    files::open_regular(file).ok()?.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

/// One `key = value`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Setting {
    /// In lower case, without the part in quotes or behind a dot.
    section: Vec<u8>,
    /// In lower case.
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Setting {
    fn names_a_file(&self) -> bool {
        NAMING.iter().any(|(section, key)| self.section == section.as_bytes() && self.key == key.as_bytes())
    }
}

/// Reads settings as git does; what git would refuse is passed over.
fn parse_settings(text: &[u8]) -> Vec<Setting> {
    let mut bytes = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text).iter().copied().peekable();
    let (mut settings, mut section) = (Vec::new(), Vec::new());
    while let Some(byte) = bytes.next() {
        match byte {
            b'#' | b';' => while bytes.next_if(|byte| *byte != b'\n').is_some() {},
            b'[' => {
                section.clear();
                while let Some(byte) = bytes.next_if(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
                    section.push(byte.to_ascii_lowercase());
                }
                skip_heading(&mut bytes);
            }
            byte if byte.is_ascii_alphabetic() => {
                let mut key = vec![byte.to_ascii_lowercase()];
                while let Some(byte) = bytes.next_if(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
                    key.push(byte.to_ascii_lowercase());
                }
                while bytes.next_if(|byte| matches!(byte, b' ' | b'\t' | b'\r')).is_some() {}
                if bytes.next_if_eq(&b'=').is_some() {
                    settings.push(Setting { section: section.clone(), key, value: read_setting_value(&mut bytes) });
                }
            }
            _ => {}
        }
    }
    settings
}

/// Goes on behind the bracket that ends a heading. One in quotes ends none.
fn skip_heading(bytes: &mut impl Iterator<Item = u8>) {
    let mut is_quoted = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if is_quoted => _ = bytes.next(),
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted => return,
            b'\n' => return,
            _ => {}
        }
    }
}

/// Reads a value to the end of its line: quotes keep space and what begins a comment, a backslash goes on.
fn read_setting_value(bytes: &mut impl Iterator<Item = u8>) -> Vec<u8> {
    let (mut value, mut is_quoted, mut trimmed) = (Vec::new(), false, 0);
    while let Some(byte) = bytes.next() {
        let (byte, is_kept) = match byte {
            b'\n' => break,
            b'"' => {
                is_quoted = !is_quoted;
                // Space in quotes stays, at the end too.
                trimmed = value.len();
                continue;
            }
            b'#' | b';' if !is_quoted => {
                while bytes.next().is_some_and(|byte| byte != b'\n') {}
                break;
            }
            b'\\' => match bytes.next() {
                Some(b'\r') => {
                    bytes.next();
                    continue;
                }
                Some(b'n') => (b'\n', true),
                Some(b't') => (b'\t', true),
                Some(b'b') => (8, true),
                Some(b'\n') | None => continue,
                Some(byte) => (byte, true),
            },
            byte => (byte, is_quoted || !byte.is_ascii_whitespace()),
        };
        if is_kept || !value.is_empty() {
            value.push(byte);
        }
        trimmed = if is_kept { value.len() } else { trimmed };
    }
    value.truncate(trimmed);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let found = parse_settings(text.as_bytes());
        let words: Vec<(String, String, String)> = found
            .into_iter()
            .map(|Setting { section, key, value }| {
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                (text(section), text(key), text(value))
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect();
        assert_eq!(words, expected, "{text:?}");
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        check("", &[]);
        check("[include]\n\tpath = a b \n", &[("include", "path", "a b")]);
        check("[INCLUDE] Path=x", &[("include", "path", "x")]);
        check("[includeIf \"gitdir:~/a]b\\\"/\"]\npath = x", &[("includeif", "path", "x")]);
        check("[include.any]\npath = x\n", &[("include", "path", "x")]);
        check("\u{feff}[core]\r\nexcludesFile = \"a ; b \" # no\r\n", &[("core", "excludesfile", "a ; b ")]);
        check("[core]\nexcludesFile = a\\\nb\\\r\nc\\\\d\\\"e", &[("core", "excludesfile", "abc\\d\"e")]);
        check("[core]\n# path = x\n; path = y\nbare\npath=z;c", &[("core", "path", "z")]);
        check("[core]\na = \"\"\nb =\nc = \"x", &[("core", "a", ""), ("core", "b", ""), ("core", "c", "x")]);
        check("[a]\nb = 1\n[unended\nb = 2", &[("a", "b", "1"), ("unended", "b", "2")]);
        check("[gpg \"ssh\"]\nallowedSignersFile = s", &[("gpg", "allowedsignersfile", "s")]);
    }
}
