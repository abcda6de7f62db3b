//! Finding the files of a task beside what people would use instead: `git grep` for each of its words, and a plain BM25
//! over the tree.
//!
//! Whole commands on clones, which are named: `cargo bench -p proem-cli --bench context -- CLONE…`. Without any there
//! is nothing to measure, which is said. Cold is the first answer of a user who has no cache. Complete is cold with
//! `--wait`. Warm is every later one.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench reads the clock and prints"
)]

#[path = "../tests/it/fixture.rs"]
#[expect(dead_code, reason = "tests need more of it")]
mod fixture;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bm25::{Document, SearchEngineBuilder, Tokenizer};
use fixture::Fixture;

const TASK: &str = "the export is slow when a timeout happens while the retry handler flushes its buffer";
/// The words of the task that a person would search for.
const WORDS: [&str; 6] = ["export", "timeout", "retry", "handler", "flush", "buffer"];
/// How often what is warm is measured. The median counts.
const ROUNDS: usize = 9;

fn main() {
    let clones: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).map(PathBuf::from).collect();
    if clones.is_empty() {
        println!("SKIPPED: name clones: cargo bench -p proem-cli --bench context -- CLONE…");
    }
    for clone in clones {
        measure_clone(&clone);
    }
}

/// Words as a plain engine takes them.
#[derive(Debug, Default)]
struct PlainWords;

impl Tokenizer for PlainWords {
    fn tokenize(&self, text: &str) -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_lowercase).collect()
    }
}

/// How long a command took, and the most memory that it held, in KiB, as far as it was seen.
#[derive(Debug, Clone, Copy)]
struct Took {
    time: Duration,
    peak: u64,
}

fn timed(mut command: Command) -> Took {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    loop {
        if let Ok(text) = fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            peak = kib.unwrap_or(0).max(peak);
        }
        if child.try_wait().unwrap().is_some() {
            return Took { time: begun.elapsed(), peak };
        }
        thread::sleep(Duration::from_micros(500));
    }
}

fn median_took(mut rounds: Vec<Took>) -> Took {
    rounds.sort_by_key(|took| took.time);
    let peak = rounds.iter().map(|took| took.peak).max().unwrap_or(0);
    Took { peak, ..rounds[rounds.len() / 2] }
}

fn measure_clone(clone: &Path) {
    let clone = clone.canonicalize().unwrap();
    let files = Command::new("git").arg("-C").arg(&clone).args(["ls-files", "-z"]).output().unwrap().stdout;
    let files: Vec<String> =
        files.split(|&byte| byte == 0).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    println!("{} ({} files)", clone.display(), files.len().saturating_sub(1));
    let proem = |fixture: &Fixture, args: &[&str]| {
        let mut command = fixture.command(&fixture.binary);
        command.args(args).arg("--root").arg(&clone);
        command
    };
    let line = |what: &str, took: Took| {
        println!("  {what:44} {:8.0} ms {:6} MiB", took.time.as_secs_f64() * 1e3, took.peak / 1024);
    };
    let fresh = || Fixture::folder();
    line("proem find, cold", timed(proem(&fresh(), &["find", TASK])));
    line("proem assemble, cold", timed(proem(&fresh(), &["assemble", TASK])));
    let kept = fresh();
    line("proem find --wait, cold", timed(proem(&kept, &["find", TASK, "--wait"])));
    line("proem find, warm", median_took((0..ROUNDS).map(|_| timed(proem(&kept, &["find", TASK]))).collect()));
    line("proem assemble, warm", median_took((0..ROUNDS).map(|_| timed(proem(&kept, &["assemble", TASK]))).collect()));
    let grep = || {
        let all = WORDS.map(|word| {
            let mut command = Command::new("git");
            command.arg("-C").arg(&clone).args(["grep", "-c", "-i", word]);
            timed(command)
        });
        Took { time: all.iter().map(|took| took.time).sum(), peak: all.iter().map(|took| took.peak).max().unwrap_or(0) }
    };
    line("git grep, a call for each of six words", median_took((0..ROUNDS).map(|_| grep()).collect()));
    let begun = Instant::now();
    let read = |(id, name): (u32, &String)| Some(Document::new(id, fs::read_to_string(clone.join(name)).ok()?));
    let texts: Vec<Document<u32>> = (0..).zip(&files).filter_map(read).collect();
    let engine = SearchEngineBuilder::<u32, u32, PlainWords>::with_tokenizer_and_documents(PlainWords, texts).build();
    let built = begun.elapsed();
    let begun = Instant::now();
    let found = engine.search(TASK, 10).len();
    println!(
        "  {:44} {:8.0} ms",
        format!("a BM25 of all texts read and built ({found} found)"),
        built.as_secs_f64() * 1e3
    );
    println!("  {:44} {:8.0} ms", "and asked", begun.elapsed().as_secs_f64() * 1e3);
}
