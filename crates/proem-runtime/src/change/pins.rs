//! Tells when a pipeline changes nothing but the versions of the actions that it uses.
//!
//! A pipeline is sensitive, since it holds secrets; that `actions/checkout` is taken at another version is the
//! most frequent change of one, and none of what it does. It counts as such only if every changed line of the
//! file uses an action and the same actions are used as often before as after: another action, or another line,
//! keeps the file sensitive.

use std::collections::BTreeMap;

use proem_risk::path::RepoPath;

/// The uses of one pipeline.
#[derive(Debug, Default)]
struct PipelineUses {
    /// How many more lines use an action after the change than before, by its name.
    uses: BTreeMap<Vec<u8>, i64>,
    /// Whether another line changed.
    others: bool,
}

/// The pipelines of a patch.
#[derive(Debug, Default)]
pub(super) struct Pins {
    seen: BTreeMap<RepoPath, PipelineUses>,
    /// The file whose lines come.
    current: Option<RepoPath>,
}

impl Pins {
    /// The following lines are those of this file.
    pub(super) fn file(&mut self, path: RepoPath) {
        let folder = path.folder();
        let is_pipeline = folder == b".github/workflows" || folder.starts_with(b".github/actions/");
        self.current = Some(path).filter(|_| is_pipeline);
    }

    /// Takes a changed line: `by` is 1 for an added one and −1 for one that was removed.
    pub(super) fn line(&mut self, text: &[u8], by: i64) {
        let Some(path) = &self.current else { return };
        let seen = self.seen.entry(path.clone()).or_default();
        match pinned_action(text) {
            Some(name) => {
                let count = seen.uses.entry(name.to_vec()).or_default();
                *count = count.saturating_add(by);
            }
            None => seen.others = true,
        }
    }

    /// The pipelines of which only versions changed.
    pub(super) fn only_versions(self) -> impl Iterator<Item = RepoPath> {
        let is_only =
            |(_, seen): &(RepoPath, PipelineUses)| !seen.others && seen.uses.values().all(|count| *count == 0);
        self.seen.into_iter().filter(is_only).map(|(path, _)| path)
    }
}

/// The action that a line uses: `actions/checkout` of `- uses: actions/checkout@v4 # 4.2`.
fn pinned_action(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"-").unwrap_or(text).trim_ascii_start();
    let used = text.strip_prefix(b"uses:")?.trim_ascii_start();
    let used = used.split(|byte| b" \t#".contains(byte)).next()?;
    let used = used.strip_prefix(b"\"").or_else(|| used.strip_prefix(b"'")).unwrap_or(used);
    let at = used.iter().position(|&byte| byte == b'@')?;
    used.get(..at).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether only versions change, in a file with these lines of a patch.
    #[track_caller]
    fn check(path: &str, lines: &[&str], expected: bool) {
        let mut pins = Pins::default();
        pins.file(RepoPath::new(path));
        for line in lines {
            let by = if line.starts_with('+') { 1 } else { -1 };
            pins.line(&line.as_bytes()[1..], by);
        }
        assert_eq!(pins.only_versions().next().is_some(), expected, "{path} {lines:?}");
    }

    #[test]
    fn a_version_of_the_same_action_is_no_change_of_a_pipeline() {
        let path = ".github/workflows/publish.yaml";
        let (old, new) = ("-      - uses: actions/checkout@v3 # old", "+      - uses: actions/checkout@v4");
        check(path, &[old, new], true);
        check(path, &["-        uses: 'a/b/c@1'", "+        uses: \"a/b/c@2\""], true);
        check(path, &[old, "+      - uses: somebody/checkout@v4"], false);
        check(path, &[old], false);
        check(path, &[new], false);
        check(path, &[old, new, "+        run: make release"], false);
        check(path, &[old, new, "+"], false);
        check(path, &["-      - uses: ./local", "+      - uses: ./other"], false);
        check(path, &[], false);
        check("src/uses.py", &[old, new], false);
    }
}
