//! Finds the commits of a clone that needed a fix later: those whose lines a later fix changes.
//!
//! The labels of the score's training data were made in the same way (Śliwerski, Zimmermann and Zeller, *When Do
//! Changes Induce Fixes?*, 2005). Only lines of code and configuration count. Proem's own reading of messages decides
//! about fixes, so the labels share its faults. Every row of a table is compared with the same ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use proem_risk::history::Mends;
use proem_risk::path::{FileRole, GitAttributes, PathRules, RepoPath, classify_path};
use proem_runtime::Environment;
use proem_runtime::git::{GitProgram, discover_repository_around};
use proem_runtime::history::{HistoryWanted, read_repository_history};

/// The most places of a file that a fix changes. One that changes more rewrites the file, which says nothing of who was
/// wrong, and git needs gigabytes for it.
const RANGES: usize = 80;

/// The ids of commits, newest first: without merges, at most `last` behind the newest `skip`.
pub(super) fn commits(folder: &Path, revision: &str, skip: usize, last: usize) -> Result<Vec<String>, String> {
    let (skip, last) = (format!("--skip={skip}"), format!("--max-count={last}"));
    let listed = ask_git(folder, &["rev-list", "--no-merges", &skip, &last, revision, "--"])?;
    Ok(listed.lines().map(str::to_owned).collect())
}

/// When a commit was made, in seconds since 1970.
pub(super) fn commit_date(folder: &Path, revision: &str) -> Result<i64, String> {
    let date = ask_git(folder, &["show", "--no-patch", "--format=%ct", revision, "--"])?;
    date.trim().parse().map_err(|_| format!("`{revision}` has no date"))
}

/// Those of `commits` whose lines a later fix, up to `revision`, changes or removes.
pub(super) fn needed_a_fix(folder: &Path, revision: &str, commits: &[String]) -> Result<BTreeSet<String>, String> {
    let rules = PathRules::shipped().map_err(|error| error.to_string())?;
    let wanted: BTreeSet<&str> = commits.iter().map(String::as_str).collect();
    let Some(oldest) = commits.last() else { return Ok(BTreeSet::new()) };
    let later = ask_git(folder, &["rev-list", "--no-merges", revision, &format!("^{oldest}"), "--"])?;
    let fixes = fixes(folder, revision)?;
    let mut found = BTreeSet::new();
    for fix in later.lines().filter(|id| fixes.contains(*id)) {
        let before = format!("{fix}^");
        let removed = removed_lines(folder, fix, &rules)?;
        for (path, ranges) in removed.into_iter().filter(|(_, ranges)| ranges.len() <= RANGES) {
            let mut args = vec!["blame", "-w", "--line-porcelain"];
            args.extend(ranges.iter().map(String::as_str));
            args.extend([before.as_str(), "--", path.as_str()]);
            let blamed = ask_git(folder, &args)?;
            let ids = blamed.lines().filter_map(|line| line.split(' ').next());
            found.extend(ids.filter(|id| wanted.contains(id)).map(str::to_owned));
        }
    }
    Ok(found)
}

/// The commits of a history that fix something.
fn fixes(folder: &Path, revision: &str) -> Result<BTreeSet<String>, String> {
    let tip = ask_git(folder, &["rev-parse", "--verify", &format!("{revision}^{{commit}}")])?;
    let tip = proem_risk::history::ObjectId::parse(tip.trim().as_bytes()).ok_or("git gave no id of a commit")?;
    let words = |error: proem_runtime::Error| error.to_string();
    let git = GitProgram::find(&Environment::inherited()).map_err(words)?;
    let repository = discover_repository_around(&git, folder, std::time::Duration::from_mins(1)).map_err(words)?;
    let repository = repository.ok_or("this is no git repository")?;
    let wanted = HistoryWanted { tips: vec![tip], now: commit_date(folder, revision)?, ..HistoryWanted::default() };
    let read = read_repository_history(&git, &repository, &wanted, None, &|_| ()).map_err(words)?;
    let fixes = read.history.commits().iter().filter(|commit| commit.mends == Mends::Fix);
    Ok(fixes.map(|commit| commit.id.to_string()).collect())
}

/// The lines that a commit takes away from code and configuration, as options of blame by path.
fn removed_lines(folder: &Path, commit: &str, rules: &PathRules) -> Result<BTreeMap<String, Vec<String>>, String> {
    let patch = ask_git(folder, &["diff-tree", "-p", "-U0", "--no-commit-id", "--no-renames", "-r", commit, "--"])?;
    let (mut path, mut ranges): (Option<String>, BTreeMap<String, Vec<String>>) = (None, BTreeMap::new());
    for line in patch.lines() {
        if let Some(name) = line.strip_prefix("--- ") {
            // Git ends a name with spaces with a tab.
            let name = name.strip_suffix('\t').unwrap_or(name).strip_prefix("a/").map(str::to_owned);
            let role =
                |name: &String| classify_path(&RepoPath::new(name.as_str()), &GitAttributes::default(), rules).role;
            path = name.filter(|name| matches!(role(name), FileRole::Code | FileRole::Configuration));
        } else if let (Some(path), Some(hunk)) = (&path, line.strip_prefix("@@ -")) {
            let before = hunk.split(' ').next().unwrap_or_default();
            let (first, count) = before.split_once(',').unwrap_or((before, "1"));
            if let (Ok(first), Ok(count @ 1..)) = (first.parse::<u32>(), count.parse::<u32>()) {
                ranges.entry(path.clone()).or_default().push(format!("-L{first},+{count}"));
            }
        }
    }
    Ok(ranges)
}

fn ask_git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let answer = Command::new("git").arg("-C").arg(folder).args(args).stdin(Stdio::null()).output();
    let answer = answer.map_err(|error| format!("git could not be started: {error}"))?;
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr);
        return Err(format!("`git {}` in `{}`: {}", args.join(" "), folder.display(), said.trim()));
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a commit for each message and content of `a.py`. The ids, oldest first.
    fn repository(folder: &Path, commits: &[(&str, &str)]) -> Vec<String> {
        let git = |args: &[&str]| ask_git(folder, args).unwrap();
        git(&["init", "-q", "."]);
        for (message, content) in commits {
            std::fs::write(folder.join("a.py"), content).unwrap();
            git(&["add", "-A"]);
            git(&["-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "--no-gpg-sign", "-m", message]);
        }
        let mut ids = super::commits(folder, "HEAD", 0, 99).unwrap();
        ids.reverse();
        ids
    }

    #[test]
    fn a_commit_needed_a_fix_if_a_later_fix_changes_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let ids = repository(
            folder.path(),
            &[
                ("Begin", "one = 1\ntwo = 2\n"),
                ("Add three", "one = 1\ntwo = 2\nthree = 4\n"),
                ("Add four", "one = 1\ntwo = 2\nthree = 4\nfour = 4\n"),
                ("Rename one", "ones = 1\ntwo = 2\nthree = 4\nfour = 4\n"),
                ("Fix three", "ones = 1\ntwo = 2\nthree = 3\nfour = 4\n"),
            ],
        );
        let newest: Vec<String> = ids.iter().rev().cloned().collect();
        let found = needed_a_fix(folder.path(), "HEAD", &newest).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [ids[1].clone()]);
        let window = super::commits(folder.path(), "HEAD", 1, 2).unwrap();
        assert_eq!(window, [ids[3].clone(), ids[2].clone()]);
    }

    #[test]
    fn a_name_with_spaces_is_blamed_too() {
        let folder = tempfile::tempdir().unwrap();
        repository(folder.path(), &[("Begin", "one = 1\n")]);
        let commit = |content: &str, message: &str| {
            std::fs::write(folder.path().join("b c.py"), content).unwrap();
            ask_git(folder.path(), &["add", "-A"]).unwrap();
            let args = ["-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "--no-gpg-sign", "-m", message];
            ask_git(folder.path(), &args).unwrap();
        };
        commit("two = 3\n", "Add two");
        commit("two = 2\n", "Fix two");
        let ids = super::commits(folder.path(), "HEAD", 0, 2).unwrap();
        let found = needed_a_fix(folder.path(), "HEAD", &ids).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [ids[1].clone()]);
    }

    #[test]
    fn what_is_no_revision_is_said() {
        let folder = tempfile::tempdir().unwrap();
        repository(folder.path(), &[("Begin", "one = 1\n")]);
        let error = super::commits(folder.path(), "nowhere", 0, 1).unwrap_err();
        assert!(error.contains("nowhere"), "{error}");
    }
}
