//! Finds packages of lock files that come from elsewhere than before.
//!
//! A lock file has one source for each package, in lines that look alike, and a bump replaces many of them. So sources are
//! compared as a whole: a host by whether any package came from it before, a repository of a host of many owners by
//! whether a source that goes away is left for it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::FilePatch;
use super::source::{ChangedPin, PinChange, SHOWN};

/// Files whose lines say where packages come from. Others, such as `go.sum`, only have names and digests.
const LOCKS: [&str; 20] = [
    "Cargo.lock",
    "Gemfile.lock",
    "MODULE.bazel.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "composer.lock",
    "conda-lock.yml",
    "deno.lock",
    "flake.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pdm.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "uv.lock",
    "yarn.lock",
];

/// Hosts on which anybody has a place: there the owner and the repository are part of a source.
const SHARED_HOSTS: [&str; 8] = [
    "api.github.com",
    "bitbucket.org",
    "codeberg.org",
    "codeload.github.com",
    "github.com",
    "gitlab.com",
    "raw.githubusercontent.com",
    "sr.ht",
];

/// Words around a package's address that ask for money or name its page, and take no code.
const NO_SOURCES: [&str; 8] = ["funding", "homepage", "support", "docs", "issues", "forum", "chat", "license"];

/// The source that a line names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LockSource {
    /// The host, with the owner and the repository on a shared one. In lower case, as hosts are compared.
    place: String,
    is_shared: bool,
    /// Whether the scheme is `http`: a package over plain `http` comes from elsewhere than one over `https`.
    is_plain: bool,
}

pub(super) fn is_lock(name: &[u8]) -> bool {
    LOCKS.iter().any(|lock| lock.as_bytes() == name)
}

/// The sources of packages that replace others. The first line of each source.
pub(super) fn changed_sources(patch: &FilePatch) -> Vec<ChangedPin> {
    let sources =
        |lines: &[Vec<u8>]| -> Vec<LockSource> { lines.iter().filter_map(|line| lock_source(line)).collect() };
    let removed: Vec<LockSource> = patch.hunks.iter().flat_map(|hunk| sources(&hunk.removed)).collect();
    let known: BTreeSet<&LockSource> = removed.iter().collect();
    let added: Vec<LockSource> = patch.hunks.iter().flat_map(|hunk| sources(&hunk.added)).collect();
    let gone_from_file = first_gone(&removed, &added);
    let mut found: Vec<ChangedPin> = Vec::new();
    let mut seen: BTreeSet<LockSource> = BTreeSet::new();
    for hunk in &patch.hunks {
        let gone = first_gone(&sources(&hunk.removed), &sources(&hunk.added)).or_else(|| gone_from_file.clone());
        for (line, text) in (hunk.new_start..).zip(&hunk.added) {
            let Some(source) = lock_source(text).filter(|source| !known.contains(source)) else { continue };
            // A package that is new may come from a repository of its own, but hardly from a host of its own.
            let replaced =
                if source.is_shared { gone.clone() } else { gone.clone().or_else(|| removed.first().cloned()) };
            let Some(replaced) = replaced.filter(|_| seen.insert(source.clone())) else { continue };
            found.push(ChangedPin {
                change: PinChange::Source,
                line,
                before: source_in_words(&replaced),
                after: source_in_words(&source),
            });
        }
    }
    found
}

/// The first source of the removed lines for which the added ones have no equal left.
fn first_gone(removed: &[LockSource], added: &[LockSource]) -> Option<LockSource> {
    let mut left: BTreeMap<&LockSource, usize> = BTreeMap::new();
    for source in added {
        let count = left.entry(source).or_default();
        *count = count.saturating_add(1);
    }
    let mut takes_equal = |source: &LockSource| {
        let count = left.get_mut(source).filter(|count| **count > 0);
        count.map(|count| *count = count.saturating_sub(1)).is_some()
    };
    removed.iter().find(|source| !takes_equal(source)).cloned()
}

fn source_in_words(source: &LockSource) -> String {
    let scheme = if source.is_plain { "http://" } else { "" };
    [scheme, source.place.as_str()].concat().chars().take(SHOWN).collect()
}

/// The source of a package on a line: that of the first address with a scheme.
fn lock_source(line: &[u8]) -> Option<LockSource> {
    let text = String::from_utf8_lossy(line);
    let (key, rest) = text.split_once("://").or_else(|| text.split_once("git@"))?;
    let words = key.to_ascii_lowercase();
    if NO_SOURCES.iter().any(|word| words.contains(word)) {
        return None;
    }
    let end = rest.find(|c: char| c.is_whitespace() || "\"',#?)]}>".contains(c)).unwrap_or(rest.len());
    let address = rest.get(..end)?.to_lowercase();
    // The part before `@` is a user: `https://registry.npmjs.org@evil.example/`.
    let (host, path) = address.split_once(['/', '\\']).unwrap_or((address.as_str(), ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    let (host, path) = match host.split_once(':') {
        // `git@host:owner/name`, where no number follows.
        Some((host, owner)) if !owner.starts_with(|c: char| c.is_ascii_digit()) => (host, [owner, "/", path].concat()),
        _ => (host, path.to_string()),
    };
    let host = host.trim_end_matches('.');
    let is_plain = key.ends_with("http");
    if host.is_empty() {
        return None;
    }
    let bare = host.strip_prefix("www.").unwrap_or(host);
    if !SHARED_HOSTS.contains(&bare) {
        return Some(LockSource { place: host.to_string(), is_shared: false, is_plain });
    }
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != "repos").take(2);
    let owned: Vec<&str> = parts.map(|part| part.strip_suffix(".git").unwrap_or(part)).collect();
    // The hosts of one company's archives and pages have the same owners.
    let host = if bare.contains("github") { "github.com" } else { bare };
    Some(LockSource { place: [host, "/", &owned.join("/")].concat(), is_shared: true, is_plain })
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::super::{Hunk, changed_pins};
    use super::*;
    use crate::path::RepoPath;

    const NPM: &str = "\"resolved\": \"https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz\",";
    const NPM_NEXT: &str = "\"resolved\": \"https://registry.npmjs.org/left-pad/-/left-pad-1.3.1.tgz\",";
    const CRATES: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

    fn lock_patch(path: &str, hunks: &[(&[&str], &[&str])]) -> FilePatch {
        let bytes = |lines: &[&str]| lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        let hunk = |(removed, added): &(&[&str], &[&str])| Hunk {
            old_start: 3,
            removed: bytes(removed),
            new_start: 3,
            added: bytes(added),
        };
        FilePatch { path: RepoPath::new(path), hunks: hunks.iter().map(hunk).collect(), ..FilePatch::default() }
    }

    #[track_caller]
    fn check_lock(path: &str, hunks: &[(&[&str], &[&str])], expected: &[(&str, &str)]) {
        let found = changed_pins(&lock_patch(path, hunks));
        let words: Vec<(&str, &str)> = found.iter().map(|pin| (pin.before.as_str(), pin.after.as_str())).collect();
        assert_eq!(words, expected, "{path}: {hunks:?}");
    }

    #[test]
    fn a_package_of_a_lock_file_from_another_host_is_a_changed_source() {
        let evil = "\"resolved\": \"https://npm.evil.example/left-pad/-/left-pad-1.3.0.tgz\",";
        check_lock("web/package-lock.json", &[(&[NPM], &[evil])], &[("registry.npmjs.org", "npm.evil.example")]);
        check_lock(
            "yarn.lock",
            &[(
                &["  resolved \"https://registry.yarnpkg.com/a/-/a-1.tgz#0\""],
                &["  resolved \"https://b.org/a-1.tgz#0\""],
            )],
            &[("registry.yarnpkg.com", "b.org")],
        );
        let git = "source = \"git+https://github.com/evil/serde?rev=1#2\"";
        check_lock(
            "Cargo.lock",
            &[(&[CRATES], &[git])],
            &[("github.com/rust-lang/crates.io-index", "github.com/evil/serde")],
        );
        let (old, new) =
            ("source = { registry = \"https://pypi.org/simple\" }", "source = { registry = \"https://p.org\" }");
        check_lock("uv.lock", &[(&[old], &[new])], &[("pypi.org", "p.org")]);
        check_lock(
            "Gemfile.lock",
            &[(&["  remote: https://rubygems.org/"], &["  remote: https://g.org/"])],
            &[("rubygems.org", "g.org")],
        );
        check_lock("go.sum", &[(&["a https://a.org"], &["a https://b.org"])], &[]);
    }

    #[test]
    fn a_swapped_source_does_not_hide_behind_a_new_package_or_a_look_alike() {
        let evil = "\"resolved\": \"https://npm.evil.example/a.tgz\",";
        let words = &[("registry.npmjs.org", "npm.evil.example")];
        check_lock("package-lock.json", &[(&[NPM], &[NPM_NEXT, evil])], words);
        // The block moved to where nothing is taken away.
        check_lock("package-lock.json", &[(&[NPM], &[]), (&[], &[evil])], words);
        check_lock("package-lock.json", &[(&[NPM], &[NPM_NEXT]), (&[], &[evil])], words);
        let one = |address: &str, place: &str| {
            let added = format!("\"resolved\": \"{address}\",");
            check_lock("package-lock.json", &[(&[NPM], &[&added])], &[("registry.npmjs.org", place)]);
        };
        one("https://registry.npmjs.org@evil.example/a.tgz", "evil.example");
        one("https://registry.npmjs.org.evil.example/a.tgz", "registry.npmjs.org.evil.example");
        one("http://registry.npmjs.org/a.tgz", "http://registry.npmjs.org");
        one("https://registry.npmjs.org:8443/a.tgz", "registry.npmjs.org:8443");
        one("git+ssh://git@github.com/evil/a.git#0", "github.com/evil/a");
        one("https://evil.example\\registry.npmjs.org/a.tgz", "evil.example");
    }

    #[test]
    fn a_bump_and_a_new_package_of_the_same_registry_change_no_source() {
        let check = |path: &str, hunks: &[(&[&str], &[&str])]| check_lock(path, hunks, &[]);
        check("package-lock.json", &[(&[NPM], &[NPM_NEXT]), (&[], &[NPM])]);
        check("package-lock.json", &[(&[NPM], &["\"resolved\": \"https://REGISTRY.npmjs.org./a.tgz\","])]);
        check("Cargo.lock", &[(&["version = \"1\""], &["version = \"2\""]), (&[], &[CRATES])]);
        check("package-lock.json", &[(&[NPM], &[NPM_NEXT, "\"funding\": \"https://opencollective.com/a\","])]);
        // A new package of composer comes from a repository of its own.
        let (old, new) = (
            "\"url\": \"https://api.github.com/repos/a/b/zipball/1\",",
            "\"url\": \"https://api.github.com/repos/a/b/zipball/2\",",
        );
        check("composer.lock", &[(&[old], &[new]), (&[], &["\"url\": \"https://github.com/c/d.git\","])]);
    }

    #[test]
    fn lines_of_a_lock_file_from_outside_end_no_program() {
        for line in
            ["://", "https://", "git@", "git@:", "https://@:/", "é://é", "https://github.com", "https://github.com//"]
        {
            check_lock("Cargo.lock", &[(&[line], &[line])], &[]);
        }
    }
}
