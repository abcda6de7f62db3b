//! How soon the first count is there, and how fast texts of each kind are counted.
//!
//! `cargo bench -p proem-tokens --bench count`. The same beside the crate `bpe-openai`, and over files:
//! `lab/oracle`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a bench prints what it measured, and may stop at what it didn't expect"
)]

#[path = "../tests/it/corpus/mod.rs"]
#[expect(dead_code, reason = "nothing is compared here")]
mod corpus;

use std::{
    collections::BTreeMap,
    hint::black_box,
    process::Command,
    time::{Duration, Instant},
};

use proem_tokens::Vocabulary;

/// How many processes count for the first time.
const PROCESSES: usize = 41;
/// How often each kind is counted. The fastest time counts.
const ROUNDS: usize = 20;
/// The order to a child process.
const FIRST_USE: &str = "first-use";
const TEXT: &str = "Find the flaky test in our payment service, explain why it fails on Mondays, and mend it.\n";

fn main() {
    if std::env::args().any(|argument| argument == FIRST_USE) {
        println!("{}", first_use());
        return;
    }
    let mut times: Vec<u64> = (0..PROCESSES).map(|_| in_a_fresh_process()).collect();
    times.sort_unstable();
    let (median, most) = (times.get(PROCESSES / 2).unwrap(), times.last().unwrap());
    println!("both vocabularies' first counts, {PROCESSES} processes: median {median} µs, most {most} µs\n");
    println!("| kind | MB | o200k MB/s | cl100k MB/s |\n|---|---|---|---|");
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in corpus::texts() {
        kinds.entry(text.kind).or_default().push(text.text);
    }
    let (mut bytes, mut sums) = (0, [Duration::ZERO; 2]);
    for (kind, texts) in &kinds {
        let size: usize = texts.iter().map(String::len).sum();
        let times = Vocabulary::ALL.map(|vocabulary| (0..ROUNDS).map(|_| once(vocabulary, texts)).min().unwrap());
        print_times(kind, size, times);
        bytes += size;
        for (sum, time) in sums.iter_mut().zip(times) {
            *sum += time;
        }
    }
    print_times("all", bytes, sums);
}

/// Microseconds until both vocabularies have counted a short text.
fn first_use() -> u128 {
    let start = Instant::now();
    for vocabulary in Vocabulary::ALL {
        black_box(vocabulary.count(black_box(TEXT)));
    }
    start.elapsed().as_micros()
}

fn in_a_fresh_process() -> u64 {
    let output = Command::new(std::env::current_exe().unwrap()).arg(FIRST_USE).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn print_times(kind: &str, bytes: usize, times: [Duration; 2]) {
    let megabytes = bytes as f64 / 1e6;
    let [o200k, cl100k] = times.map(|time| megabytes / time.as_secs_f64());
    println!("| {kind} | {megabytes:.3} | {o200k:.0} | {cl100k:.0} |");
}

fn once(vocabulary: Vocabulary, texts: &[String]) -> Duration {
    let start = Instant::now();
    for text in texts {
        black_box(vocabulary.count(black_box(text)));
    }
    start.elapsed()
}
