//! `proem-lab eval context-cold`: the first prompt in a repository, beside the same with everything read and beside what
//! `git grep` and BM25 find.
//!
//! Each case is a past commit. Its parent is checked out in the clone, and the program is run as a user runs it: without
//! anything kept, with everything read, and again with all of it kept. Clones are changed by that, so give copies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use proem_risk::path::PathRules;
use proem_runtime::context::use_of_path;
use proem_select::context::{ContextTask, FilePurpose};
use serde_json::Value;

use super::cases::{Case, cases_of, clone_name, git_stdout};
use super::train::eprint_line;

/// Measures the first look at clones.
#[derive(Debug, Args)]
pub(crate) struct EvalCold {
    /// A copy of a clone, in a folder that is or is in `OWNER+NAME`. Give it once for each. Other commits are checked
    /// out.
    #[arg(long = "clone", value_name = "DIR", required = true)]
    clones: Vec<PathBuf>,
    /// The names of those that were looked at while bounds were chosen.
    #[arg(long, value_name = "OWNER/NAME")]
    tuned_on: Vec<String>,
    /// The program.
    #[arg(long, value_name = "FILE", default_value = "target/release/proem")]
    proem: PathBuf,
    /// How many cases of each clone.
    #[arg(long, value_name = "N", default_value_t = 40)]
    cases: usize,
    /// Among how many of its newest commits.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    window: usize,
    /// The workspace's folder, whose `evals/context/cold.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
    /// Print the table, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The addition to the multiple of git's time, cold and warm, in seconds.
const COLD_EXTRA: f64 = 0.3;
const WARM_EXTRA: f64 = 0.04;

/// The usual parameters of BM25 (Robertson and Zaragoza, 2009), and how many words are looked for.
const K1: f64 = 1.2;
const B: f64 = 0.75;
const MOST_WORDS: usize = 12;

/// The figures of one clone.
#[derive(Debug, Default)]
struct ColdFigures {
    files: usize,
    cases: usize,
    /// Recall among ten and of the first, summed: a first look, everything read, `git grep` with BM25.
    recall: [(f64, f64); 3],
    /// Seconds of each case: git's, a first look's, that of a run with everything kept.
    seconds: Vec<[f64; 3]>,
    /// The most memory of a first look, in kB.
    memory: u64,
    /// First looks that gave other bytes when they were repeated.
    differing: usize,
    /// The sum of what a first look gave its first file, and how often that was right.
    first: (f64, usize),
}

pub(crate) fn run_eval_cold(args: &EvalCold) -> Result<String, String> {
    let mut rows = Vec::new();
    for folder in &args.clones {
        let name = clone_name(folder);
        let head = git_stdout(folder, &["rev-parse", "HEAD"])?;
        let cases = cases_of(folder, args.window, args.cases)?;
        let figures = measure_cold_start(folder, &cases, args);
        git_stdout(folder, &["checkout", "--quiet", "--force", "--detach", head.trim()])?;
        let figures = figures?;
        eprint_line(&format!("{name}: {figures:?}"));
        rows.push((name, figures));
    }
    let report = cold_report(&rows, args).map_err(|error| error.to_string())?;
    if !args.dry_run {
        let path = args.to.join("evals/context/cold.md");
        std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    }
    Ok(report)
}

fn measure_cold_start(folder: &Path, cases: &[Case], args: &EvalCold) -> Result<ColdFigures, String> {
    let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
    let kept = temporary.path().join("kept");
    // Nothing can be kept below a file, so each look is a first one, and no process goes on reading.
    let nothing = temporary.path().join("nothing");
    std::fs::write(&nothing, "").map_err(|error| error.to_string())?;
    let program = std::fs::canonicalize(&args.proem).map_err(|error| format!("`{}`: {error}", args.proem.display()))?;
    let mut figures = ColdFigures::default();
    for case in cases {
        let parent = format!("{}^", case.commit);
        if git_stdout(folder, &["checkout", "--quiet", "--force", "--detach", &parent]).is_err() {
            continue;
        }
        figures.files = figures.files.max(git_stdout(folder, &["ls-files"])?.lines().count());
        let Some(rarest) = rarest_word(folder, &case.task) else { continue };
        let grep = || time_command(Command::new("git").arg("-C").arg(folder).args(["grep", "-c", "-F", "-e", &rarest]));
        let find = |cache: &Path, more: &[&str]| {
            let mut command = Command::new(&program);
            command.args(["find", "--json", "--top", "10", "--root"]).arg(folder).args(more).arg("--").arg(&case.task);
            command.env("XDG_CACHE_HOME", cache).env("XDG_STATE_HOME", temporary.path().join("state"));
            time_command(&mut command)
        };
        grep()?;
        let cold = find(&nothing, &[])?;
        let git = [grep()?, grep()?, grep()?].map(|run| run.seconds);
        let again = find(&nothing, &[])?;
        let whole = find(&kept, &["--wait"])?;
        let warm = [find(&kept, &[])?, find(&kept, &[])?];
        figures.differing += usize::from(cold.output != again.output);
        let (looked, all) = (code_of(&cold.output), code_of(&whole.output));
        let grepped = by_grep(folder, &case.task)?;
        figures.cases += 1;
        let orders = [ranked_paths(&looked), ranked_paths(&all), grepped];
        for (sum, order) in figures.recall.iter_mut().zip(&orders) {
            let (ten, one) = recall_at_ten_and_one(order, &case.answers);
            *sum = (sum.0 + ten, sum.1 + one);
        }
        if let Some((path, probability)) = looked.first() {
            figures.first.0 += probability;
            figures.first.1 += usize::from(case.answers.contains(path));
        }
        figures.memory = figures.memory.max(cold.memory);
        let cold = cold.seconds.min(again.seconds);
        figures.seconds.push([median(&git), cold, warm[0].seconds.min(warm[1].seconds)]);
    }
    Ok(figures)
}

/// A run of a program.
struct TimedRun {
    seconds: f64,
    output: String,
    /// Its most memory, in kB, as far as it was looked at in time.
    memory: u64,
}

fn time_command(command: &mut Command) -> Result<TimedRun, String> {
    let failed = |error: std::io::Error| format!("{command:?}: {error}", command = "a program could not be run");
    let began = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let status = format!("/proc/{}/status", child.id());
    let mut out = child.stdout.take();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        out.as_mut().map(|out| std::io::Read::read_to_string(out, &mut text)).transpose().map(|_| text)
    });
    let mut memory = 0;
    loop {
        let peak = std::fs::read_to_string(&status).ok().and_then(|status| peak_of(&status));
        memory = memory.max(peak.unwrap_or_default());
        if child.try_wait().map_err(failed)?.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    let seconds = began.elapsed().as_secs_f64();
    let output = reading.join().map_err(|_| "a reader panicked".to_owned())?.map_err(failed)?;
    Ok(TimedRun { seconds, output, memory })
}

/// `VmHWM:   12345 kB` (proc_pid_status(5)).
fn peak_of(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// The files of code in the output of `find --json`, with their probabilities.
fn code_of(output: &str) -> Vec<(String, f64)> {
    let found: Value = serde_json::from_str(output).unwrap_or_default();
    let files = found.get("files").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_code = |file: &&Value| file.get("use").and_then(Value::as_str) == Some("code");
    let file = |file: &Value| Some((file.get("path")?.as_str()?.to_owned(), file.get("probability")?.as_f64()?));
    files.iter().filter(is_code).filter_map(file).collect()
}

fn ranked_paths(files: &[(String, f64)]) -> Vec<String> {
    files.iter().map(|(path, _)| path.clone()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "at most five")]
fn recall_at_ten_and_one(order: &[String], answers: &BTreeSet<String>) -> (f64, f64) {
    let among = |most: usize| order.iter().take(most).filter(|path| answers.contains(*path)).count() as f64;
    (among(10) / answers.len().max(1) as f64, among(1))
}

/// The words of a task that say something, as it writes them.
fn words_of(task: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in task.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() > 2) {
        let is_telling = !ContextTask::new(word).terms.is_empty();
        if is_telling && !words.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            words.push(word.to_owned());
        }
    }
    words.truncate(MOST_WORDS);
    words
}

/// How many lines of each file have a word.
fn lines_with(folder: &Path, word: &str) -> Result<BTreeMap<String, f64>, String> {
    // Nothing found is exit code 1.
    let answer = git_stdout(folder, &["grep", "-c", "-I", "-i", "-F", "-z", "-e", word]).unwrap_or_default();
    let mut found = BTreeMap::new();
    for line in answer.lines() {
        let Some((path, count)) = line.split_once('\0') else { continue };
        found.insert(path.to_owned(), count.parse().map_err(|_| format!("git grep says `{line}`"))?);
    }
    Ok(found)
}

/// The word of a task that the fewest files have.
fn rarest_word(folder: &Path, task: &str) -> Option<String> {
    let counted = words_of(task).into_iter().filter_map(|word| Some((lines_with(folder, &word).ok()?.len(), word)));
    counted.filter(|(files, _)| *files > 0).min().map(|(_, word)| word)
}

/// Files of code by BM25 of the lines that `git grep` counts for each word of the task. A word of the path counts as
/// four.
fn by_grep(folder: &Path, task: &str) -> Result<Vec<String>, String> {
    let rules = PathRules::shipped().map_err(|error| error.to_string())?;
    let listed = git_stdout(folder, &["ls-files"])?;
    let is_code = |path: &&str| use_of_path(path.as_bytes(), &rules) == FilePurpose::Code;
    #[expect(clippy::cast_precision_loss, reason = "sizes of sources")]
    let size = |path: &str| std::fs::metadata(folder.join(path)).map_or(0.0, |data| data.len() as f64);
    let files: Vec<(&str, f64)> = listed.lines().filter(is_code).map(|path| (path, size(path))).collect();
    #[expect(clippy::cast_precision_loss, reason = "at most some hundred thousand")]
    let count = files.len().max(1) as f64;
    let average = files.iter().map(|(_, size)| size).sum::<f64>() / count + 1.0;
    let mut scores = vec![0.0_f64; files.len()];
    for word in words_of(task) {
        let (lines, lower) = (lines_with(folder, &word)?, word.to_lowercase());
        let weight = |path: &str| {
            let in_path = if path.to_lowercase().contains(&lower) { 4.0 } else { 0.0 };
            lines.get(path).copied().unwrap_or(0.0) + in_path
        };
        let counts: Vec<f64> = files.iter().map(|(path, _)| weight(path)).collect();
        #[expect(clippy::cast_precision_loss, reason = "at most some hundred thousand")]
        let with = counts.iter().filter(|count| **count > 0.0).count() as f64;
        let telling = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
        for ((score, (_, size)), count) in scores.iter_mut().zip(&files).zip(counts) {
            *score += telling * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * size / average));
        }
    }
    let mut order: Vec<(f64, &str)> = scores.into_iter().zip(files).map(|(score, (path, _))| (score, path)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    Ok(order.into_iter().take(10).map(|(_, path)| path.to_owned()).collect())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn cold_report(rows: &[(String, ColdFigures)], args: &EvalCold) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(out, "# The first prompt in a repository\n")?;
    writeln!(
        out,
        "Past commits as tasks, each at its parent: recall among the first ten files, and of the first in brackets, in \
         percent. A *first look* runs with nothing kept, *everything* with every file read. Times are medians over the \
         cases, as multiples of `git grep -c` for the task's rarest word: of a first look beyond {COLD_EXTRA} s, and of a \
         run with everything kept beyond {WARM_EXTRA} s. *Said* is what a first look gives its first file on average, \
         beside how often that is right. Measured by `cargo lab eval context-cold`, on a machine that others used.\n"
    )?;
    writeln!(
        out,
        "| repository | looked at while tuning | files | cases | first look | everything | of it | git grep and BM25 | git \
         grep | first look | kept | memory | said (right) | differing |"
    )?;
    writeln!(out, "|---|---|{}", "---:|".repeat(12))?;
    for (name, figures) in rows {
        let tuned = if args.tuned_on.contains(name) { "yes" } else { "no" };
        writeln!(out, "| {name} | {tuned} |{}", cold_row(figures))?;
    }
    writeln!(out, "\nCases: at most {} of the newest {} commits of each clone.", args.cases, args.window)?;
    Ok(out)
}

fn cold_row(figures: &ColdFigures) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred cases")]
    let cases = figures.cases.max(1) as f64;
    let [looked, all, grepped] = figures.recall;
    let cell = |(ten, one): (f64, f64)| format!(" {:.1} ({:.1}) |", 100.0 * ten / cases, 100.0 * one / cases);
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
    let seconds = |of: fn(&[f64; 3]) -> f64| median(&figures.seconds.iter().map(of).collect::<Vec<_>>());
    #[expect(clippy::cast_precision_loss, reason = "a few hundred cases")]
    let right = figures.first.1 as f64;
    format!(
        " {} | {} |{}{} {:.2} ({:.2}) |{} {:.0} ms | {:.0} ms, {:.1}× | {:.0} ms, {:.1}× | {} MB | {:.0} % ({:.0} %) | {} |",
        figures.files,
        figures.cases,
        cell(looked),
        cell(all),
        ratio(looked.0, all.0),
        ratio(looked.1, all.1),
        cell(grepped),
        1e3 * seconds(|[git, ..]| *git),
        1e3 * seconds(|[_, cold, _]| *cold),
        seconds(|[git, cold, _]| (cold - COLD_EXTRA) / git),
        1e3 * seconds(|[.., warm]| *warm),
        seconds(|[git, _, warm]| (warm - WARM_EXTRA) / git),
        figures.memory.div_ceil(1024),
        100.0 * figures.first.0 / cases,
        100.0 * right / cases,
        figures.differing,
    )
}
