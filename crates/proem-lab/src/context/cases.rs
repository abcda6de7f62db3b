//! Past commits as tasks: what was said of a change, and which files it turned out to be.
//!
//! A case is a commit without merges with one to five modified sources that are no tests, and at most twelve files in
//! all. Its task is its subject and first paragraph without numbers of issues and trailers. The tree and the past are
//! its parent's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use proem_embed::StaticModel;
use proem_risk::history::{History, ObjectId};
use proem_runtime::Environment;
use proem_runtime::context::{ContextCorpus, ContextLimits, ContextReader, ContextTree, CorpusPast};
use proem_runtime::git::{GitProgram, Repository, discover_repository_around};
use proem_runtime::history::{HistoryWanted, read_repository_history};
use proem_runtime::structure::TreeState;
use proem_select::context::words::Term;
use proem_select::context::{ContextTask, Corpus, FilePurpose, LineSpan, SubjectModel};

/// The time for a small question to git.
const SMALL: Duration = Duration::from_mins(1);

/// No clock ends the reading of a clone.
const A_DAY: Duration = Duration::from_hours(24);

/// The most sources, and files, that a case changes.
const MOST_SOURCES: usize = 5;
const MOST_FILES: usize = 12;

/// A past commit as a task.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) commit: String,
    pub(super) task: String,
    /// The modified sources that are no tests.
    pub(super) answers: BTreeSet<String>,
}

/// A clone with what is known of it.
pub(super) struct Clone {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) reader: ContextReader,
    history: History,
    model: StaticModel<'static>,
}

/// Whether it is known who asks: whoever made the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    Known,
    Unknown,
}

/// The name of the repository of a clone whose folder is called `OWNER+NAME`, or is in one.
pub(super) fn clone_name(folder: &Path) -> String {
    let name = folder.components().rev().filter_map(|part| part.as_os_str().to_str()).find(|part| part.contains('+'));
    name.map_or_else(|| folder.display().to_string(), |name| name.replacen('+', "/", 1))
}

impl Clone {
    /// Opens a clone whose folder is called `OWNER+NAME`, or is in one.
    pub(super) fn open(folder: &Path, cache: &Path) -> Result<Self, String> {
        let words = |error: &dyn std::fmt::Display| format!("`{}`: {error}", folder.display());
        let git = GitProgram::find(&Environment::inherited()).map_err(|error| words(&error))?;
        let repository: Repository = discover_repository_around(&git, folder, SMALL)
            .map_err(|error| words(&error))?
            .ok_or_else(|| words(&"is not in a git repository"))?;
        let name = clone_name(folder);
        let cache = cache.join(name.replace('/', "+"));
        let limits = ContextLimits { time: A_DAY, ..ContextLimits::default() };
        let reader = ContextReader::open(&git, &repository, Some(&cache), limits).map_err(|error| words(&error))?;
        let head = git_stdout(folder, &["rev-parse", "HEAD"])?;
        let head = ObjectId::parse(head.trim().as_bytes()).ok_or_else(|| words(&"has no commit"))?;
        let date: i64 =
            git_stdout(folder, &["log", "-1", "--format=%ct"])?.trim().parse().map_err(|_| words(&"has no date"))?;
        let wanted = HistoryWanted { tips: vec![head], now: date, ..HistoryWanted::default() };
        let model = StaticModel::built_in().map_err(|error| words(&error))?;
        let reading = read_repository_history(&git, &repository, &wanted, Some(&cache), &|_| ())
            .map_err(|error| words(&error))?;
        Ok(Self { name, folder: folder.to_owned(), reader, history: reading.history, model })
    }

    /// The cases among the newest `window` commits, spread evenly, at most `most`.
    pub(super) fn cases(&self, window: usize, most: usize) -> Result<Vec<Case>, String> {
        cases_of(&self.folder, window, most)
    }

    /// The changes of a commit, if it is a case, with a task in other words.
    pub(super) fn case_of(&self, commit: &str, task: &str) -> Result<Option<Case>, String> {
        let args =
            ["log", "-1", "--no-merges", "--name-status", "--no-renames", "-z", "--format=%x02%H%x00%B%x00", commit];
        let found = git_stdout(&self.folder, &args)?.split('\u{2}').find_map(parse_case);
        Ok(found.map(|case| Case { task: task.to_owned(), ..case }))
    }

    /// The tree before a case. `None` for a root commit.
    pub(super) fn tree(&mut self, case: &Case) -> Result<Option<ContextTree>, String> {
        let parent = format!("{}^", case.commit);
        if git_stdout(&self.folder, &["rev-parse", "--verify", "--quiet", &parent]).is_err() {
            return Ok(None);
        }
        let tree = self.reader.read(TreeState::Commit(&parent), &|_, _| ());
        tree.map(Some).map_err(|error| format!("`{}` at `{parent}`: {error}", self.name))
    }

    /// The corpus for a case.
    pub(super) fn corpus<'t>(
        &'t self,
        case: &Case,
        tree: &'t ContextTree,
        asker: Asker,
    ) -> Result<ContextCorpus<'t>, String> {
        let parent = git_stdout(&self.folder, &["rev-parse", &format!("{}^", case.commit)])?;
        let parent = ObjectId::parse(parent.trim().as_bytes()).and_then(|id| self.history.find(&id));
        let own = ObjectId::parse(case.commit.as_bytes()).and_then(|id| self.history.find(&id));
        let author = own.and_then(|own| self.history.commit(own)).map(|commit| commit.author);
        let asker = author.filter(|_| asker == Asker::Known);
        let mut corpus = tree.corpus(parent.map(|tip| CorpusPast { history: &self.history, tip, asker }));
        corpus.corpus.meaning = Some(SubjectModel(&self.model));
        Ok(corpus)
    }

    /// Lines of the parent that a case changed or inserted behind, by file.
    pub(super) fn changed_lines(&self, case: &Case) -> Result<Vec<ChangedLines>, String> {
        let parent = format!("{}^", case.commit);
        let diff = git_stdout(&self.folder, &["diff", "-U0", "--no-renames", "--no-ext-diff", &parent, &case.commit])?;
        let (mut file, mut found) = (String::new(), Vec::new());
        for line in diff.lines() {
            if let Some(path) = line.strip_prefix("--- a/") {
                path.clone_into(&mut file);
            } else if let Some(hunk) = line.strip_prefix("@@ -") {
                let old = hunk.split(' ').next().unwrap_or_default();
                let (first, count) = old.split_once(',').unwrap_or((old, "1"));
                let (Ok(first), Ok(count)) = (first.parse::<u32>(), count.parse::<u32>()) else { continue };
                let last = first.saturating_add(count.saturating_sub(1));
                found.push(ChangedLines { path: file.clone(), first, last, is_insertion: count == 0 });
            }
        }
        Ok(found)
    }
}

/// Lines that a commit changed, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedLines {
    pub(super) path: String,
    pub(super) first: u32,
    pub(super) last: u32,
    /// Whether something is behind the line now, and the line is as it was.
    pub(super) is_insertion: bool,
}

impl ChangedLines {
    /// Whether they are in a definition; what was inserted behind its end doesn't.
    pub(super) const fn lie_in(&self, lines: LineSpan) -> bool {
        let is_behind = self.is_insertion && self.first == lines.last;
        lines.first <= self.last && self.first <= lines.last && !is_behind
    }
}

/// The cases among the newest `window` commits of a clone, spread evenly, at most `most`.
pub(super) fn cases_of(folder: &Path, window: usize, most: usize) -> Result<Vec<Case>, String> {
    let window = window.to_string();
    let args =
        ["log", "--no-merges", "--name-status", "--no-renames", "-z", "-n", &window, "--format=%x02%H%x00%B%x00"];
    let log = git_stdout(folder, &args)?;
    let cases: Vec<Case> = log.split('\u{2}').filter_map(parse_case).collect();
    let step = cases.len().div_ceil(most.max(1)).max(1);
    Ok(cases.into_iter().step_by(step).collect())
}

fn parse_case(entry: &str) -> Option<Case> {
    let mut fields = entry.split('\0');
    let commit = fields.next()?.trim().to_owned();
    let task = task_of(fields.next()?);
    let (mut files, mut answers): (usize, BTreeSet<String>) = (0, BTreeSet::new());
    let mut rest = fields.map(|field| field.trim_start_matches('\n')).filter(|field| !field.is_empty());
    let rules = proem_risk::path::PathRules::shipped().ok()?;
    while let Some((status, path)) = rest.next().zip(rest.next()) {
        files = files.saturating_add(1);
        if status == "M" && proem_runtime::context::use_of_path(path.as_bytes(), &rules) == FilePurpose::Code {
            answers.insert(path.to_owned());
        }
    }
    let is_case = (1..=MOST_SOURCES).contains(&answers.len()) && files <= MOST_FILES && !task.trim().is_empty();
    is_case.then_some(Case { commit, task, answers })
}

/// The subject and the first paragraph, without what only the tracker knows.
fn task_of(message: &str) -> String {
    let mut paragraphs = message.split("\n\n");
    let subject = paragraphs.next().unwrap_or_default();
    let first = paragraphs.next().unwrap_or_default();
    let is_trailer = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
        (line.contains(": ") && is_name && name.contains('-'))
            || line.starts_with("Reviewers:")
            || line.contains("git-svn-id")
    };
    let kept = first.lines().filter(|line| !is_trailer(line)).collect::<Vec<_>>().join("\n");
    let words = format!("{subject}\n{kept}");
    let is_issue = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#');
        let number = bare.strip_prefix('#').or_else(|| bare.split_once('-').map(|(_, number)| number));
        let is_number = number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
        let is_key = bare.split_once('-').is_none_or(|(key, _)| key.chars().all(|c| c.is_ascii_uppercase()));
        (is_number && is_key) || word.starts_with("http")
    };
    words.split_inclusive(char::is_whitespace).filter(|word| !is_issue(word.trim())).collect()
}

/// How somebody puts a task who only says what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShortForm {
    /// So many words of the subject: the most telling ones of those that are in the tree at all, in their order.
    Telling(usize),
    /// The name of the first source that was changed, in words.
    NameOfPart,
    /// That name, and the most telling word of the subject that isn't in it.
    NameAndWord,
}

impl ShortForm {
    /// The case in this form. `None` if nothing is left of its task.
    pub(super) fn of(self, case: &Case, corpus: &Corpus<'_>) -> Option<Case> {
        let name = || case.answers.first().map(|path| name_in_words(path));
        let task = match self {
            Self::Telling(most) => rarest_words(&case.task, corpus, most, "").join(" "),
            Self::NameOfPart => name()?,
            Self::NameAndWord => {
                let name = name()?;
                [rarest_words(&case.task, corpus, 1, &name), vec![name.as_str()]].concat().join(" ")
            }
        };
        (!task.is_empty()).then(|| Case { task, ..case.clone() })
    }
}

/// `src/errorHandler.rs` as `error handler`.
fn name_in_words(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let mut words = String::new();
    let mut was_lower = false;
    for letter in stem.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower) {
            words.push(' ');
        }
        words.extend(letter.to_lowercase().filter(|letter| letter.is_alphanumeric()));
        was_lower = letter.is_lowercase();
    }
    words.trim().to_owned()
}

/// The words of a subject that the fewest files have, of those that are in the tree at all and not in `but`.
fn rarest_words<'t>(task: &'t str, corpus: &Corpus<'_>, most: usize, but: &str) -> Vec<&'t str> {
    let subject = task.lines().next().unwrap_or_default();
    let known = ContextTask::new(but).terms;
    let with = |term: Term| {
        corpus.files.iter().filter(|file| file.record.is_some_and(|record| record.count(term).is_some())).count()
    };
    let mut telling: Vec<(usize, usize, &str)> = Vec::new();
    for (place, token) in subject.split_whitespace().enumerate() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        // A silent word is no word of a task.
        let terms = ContextTask::new(word).terms;
        let new = terms.iter().filter(|query| known.iter().all(|known| known.term != query.term));
        let files = new.map(|query| with(query.term)).filter(|files| *files > 0).min();
        telling.extend(files.map(|files| (files, place, word)));
    }
    telling.sort_unstable();
    telling.truncate(most);
    telling.sort_unstable_by_key(|(_, place, _)| *place);
    telling.into_iter().map(|(_, _, word)| word).collect()
}

/// Git's answer.
pub(super) fn git_stdout(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .arg("-C")
        .arg(folder)
        .args(args)
        .output()
        .map_err(|error| format!("git could not be run: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`git {}`: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
    }
}
