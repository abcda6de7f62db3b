//! Reads the change that a task is about, as differences of files.
//!
//! Invariants: git runs nothing of the repository for it (no external difference, no text conversion, no filter of its
//! own configuration). A name of a revision is resolved before it is used and is never an option. Files, lines and
//! bytes are bounded, and what is cut is said. No difference holds a credential that is told by its shape.

use std::path::Path;

use proem_agents::assemble::{
    change_wanted::ChangeWanted,
    place_facts::Gap,
    task_context::{ChangedFile, FoundChange},
};
use proem_guard::{Untrusted, credential};
use proem_text::{Label, Source, legacy_text};

use crate::{
    Error, Extent,
    gaps::{gap, gap_of},
    gather::GatherOptions,
    git::{Session, discover_repository_around, filters},
    process::Deadline,
};

/// Bytes read of one change.
const CHANGE_BYTES: usize = 2 * 1024 * 1024;

/// The most files of a change that are shown.
const MAX_FILES: usize = 40;

/// Bytes of the difference of one file.
const FILE_BYTES: usize = 16 * 1024;

/// Lines of it where it has to be shorter.
const BEGUN_LINES: usize = 40;

/// How a difference is written.
const OPTIONS: [&str; 8] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=dirty",
    "--find-renames",
    "-O/dev/null",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// A change with its subject, if it is a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadChange {
    /// The change.
    pub change: FoundChange,
    /// The commit's first line behind the beginning of its id.
    pub subject: Option<Untrusted<String>>,
}

/// The change that is wanted of the repository around `folder`. `None` where there is none, with the reason among the
/// gaps.
///
/// # Errors
///
/// The error that stops gathering. Every other one is a gap.
pub fn task_change(
    folder: &Path,
    wanted: &ChangeWanted,
    options: &GatherOptions,
    gaps: &mut Vec<Gap>,
) -> Result<Option<ReadChange>, Error> {
    let git = options.git()?;
    let Some(repository) = discover_repository_around(&git, folder, options.limits.repository_time)? else {
        gaps.push(gap("the change that the task is about", "the folder is in no repository"));
        return Ok(None);
    };
    let mut session =
        Session::new(&git, repository.folder(), Deadline::after(options.limits.changes_time), CHANGE_BYTES);
    filters::overrides(&mut session)?;
    match read_task_change(&session, wanted) {
        Ok(Some((of, subject, text, extent))) => {
            let change = FoundChange { of, files: files_of_difference(&text, extent, gaps) };
            Ok(Some(ReadChange { change, subject }).filter(|read| !read.change.files.is_empty()))
        }
        Ok(None) => {
            gaps.push(gap("the change that the task is about", "git knows no such revision here"));
            Ok(None)
        }
        Err(error) => {
            gaps.push(gap_of("the change that the task is about", &error));
            Ok(None)
        }
    }
}

type ReadText = (String, Option<Untrusted<String>>, Vec<u8>, Extent);

fn read_task_change(session: &Session<'_>, wanted: &ChangeWanted) -> Result<Option<ReadText>, Error> {
    let short = |id: &str| id.chars().take(12).collect::<String>();
    match wanted {
        ChangeWanted::Uncommitted => {
            if resolve_commit(session, "HEAD")?.is_none() {
                return Ok(None);
            }
            let (text, extent) = read_difference(session, &["diff"], &["HEAD", "--"])?;
            Ok(Some(("what is not committed".to_owned(), None, text, extent)))
        }
        ChangeWanted::LastCommit => commit_change(session, "HEAD", "the last commit"),
        ChangeWanted::Revision(name) => commit_change(session, name, "the commit that the task names"),
        ChangeWanted::Between(from, to) => {
            let (Some(from), Some(to)) = (resolve_commit(session, from)?, resolve_commit(session, to)?) else {
                return Ok(None);
            };
            let (text, extent) = read_difference(session, &["diff-tree", "-p", "-r"], &[&from, &to])?;
            let of = format!("the commits that the task names, from {} to {}", short(&from), short(&to));
            Ok(Some((of, None, text, extent)))
        }
    }
}

fn commit_change(session: &Session<'_>, name: &str, of: &str) -> Result<Option<ReadText>, Error> {
    let Some(id) = resolve_commit(session, name)? else { return Ok(None) };
    let short: String = id.chars().take(12).collect();
    // Against its first parent, so that a merge shows what it brought.
    let parent = resolve_commit(session, &format!("{id}^1"))?;
    let (text, extent) = match &parent {
        Some(parent) => read_difference(session, &["diff-tree", "-p", "-r"], &[parent, &id])?,
        None => read_difference(session, &["diff-tree", "-p", "-r", "--root", "--no-commit-id"], &[&id])?,
    };
    let subject = session.ask_about(
        &["log", "-1", "--no-color", "--no-show-signature", "--encoding=UTF-8", "--format=%s"],
        &[&id],
        &[0],
    )?;
    let subject = legacy_text(subject.stdout.trim_ascii()).chars().take(200).collect::<String>();
    let subject = Untrusted::new(format!("{short} {subject}"), Label::from_source(Source::named("git/commit")));
    Ok(Some((format!("{of}, {short}"), Some(subject), text, extent)))
}

/// The id of a commit. `None` if git knows none by that name.
fn resolve_commit(session: &Session<'_>, name: &str) -> Result<Option<String>, Error> {
    let wanted = format!("{name}^{{commit}}");
    let options = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
    match session.ask_about(&options, &[&wanted], &[0, 1, 128]) {
        Ok(answer) if answer.code == 0 => {
            let id = String::from_utf8_lossy(answer.stdout.trim_ascii()).into_owned();
            Ok(Some(id).filter(|id| id.len() >= 40 && id.chars().all(|c| c.is_ascii_hexdigit())))
        }
        Ok(_) | Err(Error::GitFailed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_difference(session: &Session<'_>, command: &[&'static str], of: &[&str]) -> Result<(Vec<u8>, Extent), Error> {
    let args: Vec<&'static str> = command.iter().chain(&OPTIONS).copied().collect();
    let mut text = Vec::new();
    let mut extent = Extent::Whole;
    let result = session.stream(&args, of, Vec::new(), &mut |piece| {
        text.extend_from_slice(piece);
        if text.len() > CHANGE_BYTES {
            Err(Error::TooMuchOutput { command: "diff", cap: CHANGE_BYTES })
        } else {
            Ok(())
        }
    });
    match result {
        Err(Error::TooMuchOutput { .. }) => extent = Extent::Cut,
        other => other?,
    }
    Ok((text, extent))
}

/// The files of a difference, in its order.
fn files_of_difference(text: &[u8], extent: Extent, gaps: &mut Vec<Gap>) -> Vec<ChangedFile> {
    let text = String::from_utf8_lossy(text);
    let text = credential::redact_credentials(&text).unwrap_or_else(|| text.into_owned());
    let mut pieces: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("diff --git ") {
            pieces.push(Vec::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(line);
        }
    }
    let cut = pieces.len().saturating_sub(MAX_FILES);
    if cut > 0 || extent == Extent::Cut {
        let why = format!("only the first {} files of it are shown", pieces.len().min(MAX_FILES));
        gaps.push(gap("the change that the task is about", why));
    }
    pieces.iter().take(MAX_FILES).map(|piece| file_of_difference(piece)).collect()
}

fn file_of_difference(lines: &[&str]) -> ChangedFile {
    let label = Label::from_source(Source::named("repository/difference"));
    let body = lines.iter().position(|line| line.starts_with("@@")).unwrap_or(lines.len());
    let (head, hunks) = lines.split_at_checked(body).unwrap_or((lines, &[]));
    let named = |mark: &str| {
        let names = head.iter().filter_map(|line| line.strip_prefix(mark));
        names.filter(|name| *name != "/dev/null").map(|name| name.trim_matches('"')).next()
    };
    let path = named("+++ ").or_else(|| named("--- ")).map(|path| path.get(2..).unwrap_or(path));
    let path = path.or_else(|| named("rename to ")).map_or_else(
        // A file without lines, such as a binary one, is named in the first line only.
        || head.first().and_then(|line| line.rsplit_once(" b/")).map_or("", |(_, path)| path).to_owned(),
        str::to_owned,
    );
    let count = |mark: char| hunks.iter().filter(|line| line.starts_with(mark)).count();
    let size = match (hunks.is_empty(), named("rename from ")) {
        (true, Some(_)) => "renamed, no line changed".to_owned(),
        (true, None) => "no lines to show".to_owned(),
        _ => format!("+{} −{}", count('+'), count('-')),
    };
    let begun = |bytes: usize, most: usize| {
        let (mut out, mut shown) = (String::new(), 0usize);
        for line in hunks {
            if shown == most || out.len().saturating_add(line.len()) > bytes {
                let more = hunks.len().saturating_sub(shown);
                out.push_str(&format!("[{more} more line{} not shown]\n", if more == 1 { "" } else { "s" }));
                break;
            }
            out.push_str(line);
            out.push('\n');
            shown = shown.saturating_add(1);
        }
        Untrusted::new(out, label.clone())
    };
    ChangedFile {
        size,
        difference: (!hunks.is_empty()).then(|| begun(FILE_BYTES, usize::MAX)),
        begun: (hunks.len() > BEGUN_LINES).then(|| begun(FILE_BYTES / 4, BEGUN_LINES)),
        path: Untrusted::new(path, label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@ fn x\n-old\n+new\n+more\n \
                        kept\ndiff --git a/old.md b/new.md\nsimilarity index 100%\nrename from old.md\nrename to new.md\ndiff --git \
                        a/x.png b/x.png\nBinary files differ\ndiff --git a/gone.rs b/gone.rs\n--- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";

    #[test]
    fn a_difference_is_cut_into_its_files() {
        let mut gaps = Vec::new();
        let found = files_of_difference(DIFF.as_bytes(), Extent::Whole, &mut gaps);
        let sizes: Vec<&str> = found.iter().map(|file| file.size.as_str()).collect();
        assert_eq!(sizes, ["+2 −1", "renamed, no line changed", "no lines to show", "+0 −1"]);
        for (file, path) in found.iter().zip(["a.rs", "new.md", "x.png", "gone.rs"]) {
            assert!(file.path.measure(|found| found == path), "{path}");
        }
        assert!(gaps.is_empty() && found.iter().all(|file| file.begun.is_none()));
    }

    #[test]
    fn long_differences_and_many_files_are_cut_and_said_to_be() {
        let mut gaps = Vec::new();
        let long = format!("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n{}", "+line\n".repeat(9000));
        let found = files_of_difference(long.as_bytes(), Extent::Whole, &mut gaps);
        let file = found.first().unwrap();
        assert!(file.difference.as_ref().unwrap().measure(|text| text.ends_with("more lines not shown]\n")));
        assert!(file.begun.as_ref().unwrap().measure(|text| text.lines().count() == BEGUN_LINES + 1));
        assert!(gaps.is_empty());
        let many: String = (0..60).map(|n| format!("diff --git a/{n} b/{n}\n")).collect();
        assert_eq!(files_of_difference(many.as_bytes(), Extent::Whole, &mut gaps).len(), MAX_FILES);
        assert_eq!(gaps.len(), 1);
        assert_eq!(files_of_difference(b"\xff\n", Extent::Cut, &mut gaps), []);
    }
}
