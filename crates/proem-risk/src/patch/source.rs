//! Finds code that is taken from elsewhere than before: another source, or other bytes under the same version.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{FilePatch, is_comment_or_blank, lock};

/// The difference between two pins of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinChange {
    /// It comes from elsewhere.
    Source,
    /// Its digest is another one, and the version that the line names is not.
    Digest,
    /// It was taken by its digest, and is taken by a name that its owner can move.
    Unpinned,
}

/// A line that takes code from elsewhere than the line that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPin {
    /// The difference.
    pub change: PinChange,
    /// The line after the change.
    pub line: u32,
    /// The pin before. From outside.
    pub before: String,
    /// The pin after. From outside.
    pub after: String,
}

/// Something that a line takes from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pin<'l> {
    /// Its origin, without version and digest.
    source: &'l str,
    /// The tag, branch or version, in the reference or in the comment behind it.
    version: Option<&'l str>,
    digest: Option<&'l str>,
}

/// Keys whose value is where a manifest takes a dependency from.
const SOURCE_KEYS: [&str; 6] = ["git", "registry", "index", "index-url", "extra-index-url", "source"];

/// Files that say where dependencies come from.
const MANIFESTS: [&str; 18] = [
    "Cargo.toml",
    "config.toml",
    "package.json",
    "pyproject.toml",
    "requirements.txt",
    "setup.cfg",
    "pip.conf",
    "Pipfile",
    "Gemfile",
    "composer.json",
    "go.mod",
    ".npmrc",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "Package.swift",
    "MODULE.bazel",
];

/// The most characters of a source in a sentence.
pub(super) const SHOWN: usize = 80;

/// The pins of a file that change their source, or their digest under the same version.
#[must_use]
pub fn changed_pins(patch: &FilePatch) -> Vec<ChangedPin> {
    let path = patch.path.as_bytes();
    if lock::is_lock(last_name(path)) {
        return lock::changed_sources(patch);
    }
    let text = |line: &'_ [u8]| (!is_comment_or_blank(line, path)).then(|| String::from_utf8_lossy(line).to_string());
    let mut found = Vec::new();
    for hunk in &patch.hunks {
        let removed: Vec<String> = hunk.removed.iter().filter_map(|line| text(line)).collect();
        let added: Vec<(u32, String)> =
            (hunk.new_start..).zip(&hunk.added).filter_map(|(number, line)| Some((number, text(line)?))).collect();
        let before: Vec<Pin<'_>> = removed.iter().filter_map(|line| pin_of(line, path)).collect();
        let after: Vec<(u32, Pin<'_>)> =
            added.iter().filter_map(|(number, line)| Some((*number, pin_of(line, path)?))).collect();
        // A pin of the same source is the same thing, wherever it moved; the others replace each other in order.
        let is_gone = |pin: &&Pin<'_>| !after.iter().any(|(_, other)| other.source == pin.source);
        let mut gone = before.iter().filter(is_gone);
        for (line, pin) in &after {
            let same = before.iter().find(|other| other.source == pin.source);
            let replaced = if same.is_some() { same } else { gone.next() };
            let change = replaced.and_then(|replaced| Some((replaced, pin_change(replaced, pin)?)));
            found.extend(change.map(|(replaced, change)| ChangedPin {
                change,
                line: *line,
                before: pin_in_words(replaced),
                after: pin_in_words(pin),
            }));
        }
    }
    found
}

fn pin_change(before: &Pin<'_>, after: &Pin<'_>) -> Option<PinChange> {
    match (before.digest, after.digest) {
        _ if before.source != after.source => Some(PinChange::Source),
        (Some(_), None) => Some(PinChange::Unpinned),
        (Some(one), Some(other)) if one != other && before.version == after.version => Some(PinChange::Digest),
        _ => None,
    }
}

fn pin_in_words(pin: &Pin<'_>) -> String {
    let parts = [Some(pin.source), pin.version, pin.digest.and_then(|digest| digest.get(..12))];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join(" ").chars().take(SHOWN).collect()
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// The pin on a line, by the form of its file.
fn pin_of<'l>(line: &'l str, path: &[u8]) -> Option<Pin<'l>> {
    let text = line.trim();
    let name = last_name(path);
    let is_image =
        name.starts_with(b"Dockerfile") || name.starts_with(b"Containerfile") || path.ends_with(b".dockerfile");
    if is_image {
        let words = text.strip_prefix("FROM ")?.split_whitespace();
        return image_pin(words.into_iter().find(|word| !word.starts_with("--"))?);
    }
    if path.ends_with(b".yml") || path.ends_with(b".yaml") {
        let text = text.strip_prefix('-').unwrap_or(text).trim_start();
        let (key, value) = text.split_once(':')?;
        let (value, comment) = value.split_once(" #").unwrap_or((value, ""));
        let value = unquoted(value);
        return match key.trim() {
            "uses" => action_pin(value, comment.trim()),
            "image" => image_pin(value),
            _ => None,
        };
    }
    MANIFESTS.iter().any(|manifest| manifest.as_bytes() == name).then(|| manifest_pin(text)).flatten()
}

/// `owner/action@reference # version`. A local action has no reference, and its lines are in the repository.
fn action_pin<'l>(value: &'l str, comment: &'l str) -> Option<Pin<'l>> {
    if let Some(image) = value.strip_prefix("docker://") {
        return image_pin(image);
    }
    let (source, reference) = value.split_once('@')?;
    let version = Some(comment).filter(|comment| !comment.is_empty());
    Some(match is_digest(reference) {
        true => Pin { source, version, digest: Some(reference) },
        false => Pin { source, version: Some(reference), digest: None },
    })
}

/// `registry/name:tag@sha256:digest`.
fn image_pin(value: &str) -> Option<Pin<'_>> {
    let (name, digest) = value.split_once('@').map_or((value, None), |(name, digest)| (name, Some(digest)));
    let digest = digest.map(|digest| digest.split_once(':').map_or(digest, |(_, digits)| digits));
    let name_start = name.rfind('/').map_or(0, |at| at.saturating_add(1));
    let tag = name.get(name_start..)?.split_once(':').map(|(_, tag)| tag);
    let source = tag.and_then(|tag| name.strip_suffix(tag)?.strip_suffix(':')).unwrap_or(name);
    (!source.is_empty()).then_some(Pin { source, version: tag, digest })
}

/// `key = "https://host/path"` of a manifest, and `replace module => other` of Go.
fn manifest_pin(text: &str) -> Option<Pin<'_>> {
    if let Some((_, other)) = text.split_once(" => ") {
        let source = other.split_whitespace().next()?;
        return source.contains('/').then_some(Pin { source, version: None, digest: None });
    }
    let has_key = |key: &&str| {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
        text.match_indices(*key).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let behind = text.get(at.saturating_add(key.len())..).unwrap_or_default();
            let ends =
                behind.trim_start_matches(['"', '\'']).trim_start().starts_with(['=', ':']) || behind.starts_with(' ');
            before.is_none_or(|c| is_end(c) || text.starts_with("--")) && ends
        })
    };
    SOURCE_KEYS.iter().find(|key| has_key(key))?;
    let at = text.find("https://").or_else(|| text.find("http://")).or_else(|| text.find("git@"))?;
    let url = text.get(at..)?;
    let end = url.find(['"', '\'', ' ', ',', '#', '?']).unwrap_or(url.len());
    Some(Pin { source: url.get(..end)?, version: None, digest: None })
}

fn unquoted(value: &str) -> &str {
    value.trim().trim_matches(['"', '\''])
}

/// A commit's or a content's id in hexadecimal digits.
fn is_digest(reference: &str) -> bool {
    matches!(reference.len(), 40 | 64) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::Hunk;
    use crate::path::RepoPath;

    const ONE: &str = "11bd71901bbe5b1630ceea73d27597364c9af683";
    const OTHER: &str = "08c6903cd8c0fde910a37f88322edcfb5dd907a8";

    #[track_caller]
    fn check(path: &str, removed: &[&str], added: &[&str], expected: &[PinChange]) {
        let bytes = |lines: &[&str]| {
            lines.iter().map(|line| line.replace("ONE", ONE).replace("OTHER", OTHER).into_bytes()).collect()
        };
        let hunk = Hunk { old_start: 3, removed: bytes(removed), new_start: 3, added: bytes(added) };
        let patch = FilePatch { path: RepoPath::new(path), hunks: alloc::vec![hunk], ..FilePatch::default() };
        let found: Vec<PinChange> = changed_pins(&patch).iter().map(|pin| pin.change).collect();
        assert_eq!(found, expected, "{path}: {removed:?} → {added:?}");
    }

    #[test]
    fn an_action_of_another_owner_or_other_bytes_of_a_version_is_a_changed_source() {
        let path = ".github/workflows/release.yml";
        check(path, &["- uses: actions/checkout@v4"], &["- uses: acti0ns/checkout@v4"], &[PinChange::Source]);
        check(path, &["- uses: a/b@ONE # v4"], &["- uses: a/b@OTHER # v4"], &[PinChange::Digest]);
        check(path, &["- uses: a/b@ONE"], &["- uses: a/b@OTHER"], &[PinChange::Digest]);
        check(path, &["- uses: a/b@ONE # v4"], &["- uses: a/b@main"], &[PinChange::Unpinned]);
        check(path, &["  image: a/b:1@sha256:ONE"], &["  image: a/b:1@sha256:OTHER"], &[PinChange::Digest]);
        check(path, &["  image: \"a/b:1\""], &["  image: \"c/b:1\""], &[PinChange::Source]);
        check("Dockerfile", &["FROM debian:12"], &["FROM --platform=x evil/debian:12 AS base"], &[PinChange::Source]);
    }

    #[test]
    fn a_name_that_only_looks_the_same_is_another_source() {
        let path = ".github/workflows/release.yml";
        check(path, &["- uses: actions/checkout@v4"], &["- uses: \u{430}ctions/checkout@v4"], &[PinChange::Source]);
        check(path, &["- uses: 'actions/checkout@v4'"], &["- uses: \"actions/checkout@v5\""], &[]);
        check(path, &["- uses: docker://a/b:1"], &["- uses: docker://a.evil.org/b:1"], &[PinChange::Source]);
        // A harmless line beside it hides nothing, and a comment is no pin.
        let added = ["- uses: a/b@v2", "- uses: e/d@v1"];
        check(path, &["- uses: a/b@v1", "- uses: c/d@v1"], &added, &[PinChange::Source]);
        check(path, &["# uses: a/b@v1"], &["# uses: c/b@v1"], &[]);
    }

    #[test]
    fn another_version_of_the_same_source_is_no_changed_source() {
        let path = ".github/workflows/release.yml";
        check(path, &["- uses: actions/checkout@v4"], &["- uses: actions/checkout@v5"], &[]);
        check(path, &["- uses: a/b@ONE # v4.1"], &["- uses: a/b@OTHER # v4.2"], &[]);
        check(path, &["- uses: a/b@v4"], &["- uses: a/b@OTHER # v4"], &[]);
        check(path, &["- uses: a/b@v1", "- uses: c/d@v1"], &["- uses: c/d@v2", "- uses: a/b@v2"], &[]);
        check(path, &["- uses: ./local"], &["- uses: ./other"], &[]);
        check(path, &[], &["- uses: new/action@v1"], &[]);
        check("Dockerfile", &["FROM localhost:5000/debian:12"], &["FROM localhost:5000/debian:13"], &[]);
        check("compose.yml", &["image: redis:7"], &["image: redis:8"], &[]);
        check("a.py", &["uses: a/b@1"], &["uses: c/b@1"], &[]);
    }

    #[test]
    fn a_dependency_from_another_place_is_a_changed_source() {
        let source = [PinChange::Source];
        check("Cargo.toml", &["x = { git = \"https://a.org/x\" }"], &["x = { git = \"https://b.org/x\" }"], &source);
        check(
            "Cargo.toml",
            &["x = { git = \"https://a.org/x\", tag = \"1\" }"],
            &["x = { git = \"https://a.org/x\", tag = \"2\" }"],
            &[],
        );
        check("Cargo.toml", &["repository = \"https://a.org/x\""], &["repository = \"https://b.org/x\""], &[]);
        check(".npmrc", &["registry=https://registry.npmjs.org/"], &["registry=https://npm.evil.org/"], &source);
        check(
            "requirements.txt",
            &["--index-url https://pypi.org/simple"],
            &["--index-url https://b.org/simple"],
            &source,
        );
        check("go.mod", &["replace a.org/x => b.org/x v1.2.3"], &["replace a.org/x => c.org/x v1.2.3"], &source);
        check("go.mod", &["replace a.org/x => b.org/x v1.2.3"], &["replace a.org/x => b.org/x v1.2.4"], &[]);
        check("Cargo.toml", &["digit = 3"], &["digit = 4"], &[]);
    }

    #[test]
    fn lines_from_outside_end_no_program() {
        for line in
            ["uses:", "- uses: @", "image: :", "image: @sha256:", "FROM ", "git = \"https://", "é => /", "uses: a@b@c"]
        {
            for path in ["a.yml", "Dockerfile", "Cargo.toml"] {
                check(path, &[line], &[], &[]);
            }
        }
    }
}
