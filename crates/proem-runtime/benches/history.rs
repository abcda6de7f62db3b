//! How long it takes to read a history, beside plain `git log --raw -z -M100%` in the same run: cold, warm, and warm
//! with new commits. How long one change and the newest hundred take to be assessed, each with the files and the past
//! that it is on, with everything kept that an earlier command read; and the most memory that this process ever held.
//!
//! `cargo bench -p proem-runtime --bench history`
//!
//! `PROEM_BENCH_REPO` names a repository; without it one of `PROEM_BENCH_COMMITS` (22,000) commits is made by
//! `git fast-import`: 3,000 files, five touched by each commit, 100 authors, a merge in twenty.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench reads the clock and prints")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use proem_risk::assess::Depth;
use proem_risk::history::ObjectId;
use proem_risk::level::{LevelRules, Thresholds};
use proem_runtime::Environment;
use proem_runtime::change::{ChangeLimits, CommitSelection, commits_since, read_change};
use proem_runtime::git::{GitProgram, Repository, discover_repository_around};
use proem_runtime::history::{HistoryReading, HistoryWanted, read_repository_history};
use proem_runtime::risk::{Assessor, AssessorOptions};
use tempfile::TempDir;

/// How often each is measured. The least time counts, as the others had more company.
const RUNS: usize = 3;

fn git_output(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(folder).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Numbers that look random and are the same each time (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % end
    }
}

/// One commit for `git fast-import`. Merges have a second parent twenty commits back.
fn commit(number: u64, numbers: &mut Numbers, out: &mut String) {
    let (author, at) = (numbers.below(100), 1_500_000_000 + number * 1800);
    let what =
        ["Add", "Fix a crash in", "Change", "Remove", "Speed up"].get(usize::try_from(number % 5).unwrap()).unwrap();
    let message = format!("{what} part {number}\n\nWhy this is so takes a line or two to say, as it often does.\n");
    writeln!(out, "commit refs/heads/main\nmark :{number}").unwrap();
    for who in ["author", "committer"] {
        writeln!(out, "{who} Author {author} <author{author}@example.org> {at} +0000").unwrap();
    }
    write!(out, "data {}\n{message}", message.len()).unwrap();
    if number > 1 {
        writeln!(out, "from :{}", number - 1).unwrap();
    }
    if number > 20 && number.is_multiple_of(20) {
        writeln!(out, "merge :{}\n", number - 20).unwrap();
        return;
    }
    for _ in 0..5 {
        // Some files change far more often than others.
        let file = numbers.below(3000) * numbers.below(3000) / 3000;
        let text = format!("line {number}\n");
        let folder = file % 40;
        writeln!(out, "M 100644 inline crates/part{folder}/src/module{file}.rs\ndata {}\n{text}", text.len()).unwrap();
    }
    writeln!(out).unwrap();
}

fn made_repository(commits: u64) -> TempDir {
    let folder = TempDir::new().unwrap();
    git_output(folder.path(), &["init", "-q", "-b", "main"]);
    let mut command = Command::new("git");
    command.current_dir(folder.path()).args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut numbers = Numbers(1);
    for number in 1..=commits {
        let mut text = String::new();
        commit(number, &mut numbers, &mut text);
        stdin.write_all(text.as_bytes()).unwrap();
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    folder
}

fn least<T>(mut measured: impl FnMut() -> T) -> (Duration, T) {
    let run = |measured: &mut dyn FnMut() -> T| {
        let began = Instant::now();
        let result = measured();
        (began.elapsed(), result)
    };
    let mut best = run(&mut measured);
    for _ in 1..RUNS {
        let next = run(&mut measured);
        if next.0 < best.0 {
            best = next;
        }
    }
    best
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown here".to_owned(), |line| line.trim().to_owned())
}

/// Assesses the newest `most` commits, one after the other. How many there were.
fn assessed(program: &GitProgram, repository: &Repository, (now, most): (i64, usize), cache: &Path) -> usize {
    let listing = commits_since(program, repository, &CommitSelection::Since(0), most).unwrap();
    let changes = listing.commits;
    let options = AssessorOptions {
        changes: changes.clone(),
        first_parent: false,
        window_days: 365,
        now,
        cache: Some(cache.to_path_buf()),
        thresholds: Thresholds::shipped().unwrap(),
        level_rules: LevelRules::Rank,
        incidents: None,
        coverage: None,
    };
    let assessor = Assessor::open(program, repository, options, &|_| ()).unwrap();
    for resolved in &changes {
        let change = read_change(program, repository, resolved, assessor.rules(), &ChangeLimits::default()).unwrap();
        assessor.look(&change).unwrap().assess(Depth::TierTwo).unwrap();
    }
    let _ = assessor.keep();
    changes.len()
}

fn main() {
    let commits = std::env::var("PROEM_BENCH_COMMITS").ok().and_then(|count| count.parse().ok()).unwrap_or(22_000);
    let given = std::env::var_os("PROEM_BENCH_REPO").map(PathBuf::from);
    let folder = if given.is_none() { Some(made_repository(commits)) } else { None };
    let path = given.as_deref().or_else(|| folder.as_ref().map(TempDir::path)).unwrap();
    let program = GitProgram::find(&Environment::inherited()).unwrap();
    let repository = discover_repository_around(&program, path, Duration::from_mins(1)).unwrap().unwrap();
    let tip = |revision: &str| ObjectId::parse(git_output(path, &["rev-parse", revision]).as_bytes()).unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs().cast_signed();
    let wanted = |tip| HistoryWanted { tips: vec![tip], base: Some(tip), now, ..HistoryWanted::default() };
    let read = |tip, cache: Option<&Path>| -> HistoryReading {
        read_repository_history(&program, &repository, &wanted(tip), cache, &|_| ()).unwrap()
    };
    let head = tip("HEAD");
    let (plain, ()) = least(|| {
        let mut command = Command::new("git");
        command.current_dir(path).args(["log", "--raw", "-z", "-M100%"]).stdout(Stdio::null());
        assert!(command.status().unwrap().success());
    });
    let (cold, all) = least(|| read(head, None));
    let count = all.history.commits().len();
    drop(all);
    let cache = TempDir::new().unwrap();
    let before = tip("HEAD~10");
    let (_, next) = least(|| {
        let fresh = cache.path().join("next");
        let _ = std::fs::remove_dir_all(&fresh);
        read(before, Some(&fresh));
        let began = Instant::now();
        read(head, Some(&fresh));
        began.elapsed()
    });
    read(head, Some(cache.path()));
    let (warm, again) = least(|| read(head, Some(cache.path())));
    assert_eq!((again.new, again.history.commits().len()), (0, count));
    let assess = |most| assessed(&program, &repository, (now, most), cache.path());
    assess(100);
    let (one, _) = least(|| assess(1));
    let (many, assessed) = least(|| assess(100));
    let ratio = cold.as_secs_f64() / plain.as_secs_f64();
    println!("{count} commits");
    println!("git log --raw -z -M100%   {:>7} ms", plain.as_millis());
    println!("cold                      {:>7} ms  ({ratio:.2} times git's)", cold.as_millis());
    println!("warm                      {:>7} ms", warm.as_millis());
    println!("warm with new commits     {:>7} ms", next.as_millis());
    println!("one change                {:>7} ms", one.as_millis());
    println!("{assessed:>3} changes               {:>7} ms", many.as_millis());
    println!("peak memory of this process  {}", peak());
}
