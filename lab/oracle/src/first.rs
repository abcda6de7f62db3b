//! How long the first count of a process takes.

use std::{hint::black_box, process::Command, time::Instant};

/// How many processes count for the first time.
const PROCESSES: usize = 41;
const TEXT: &str = "Find the flaky test in our payment service, explain why it fails on Mondays, and mend it.\n";

/// Prints medians over fresh processes.
pub fn print() -> bool {
    println!("| vocabulary | `proem-tokens`, median (most) | `bpe-openai`, median (most) |\n|---|---|---|");
    for vocabulary in ["o200k", "cl100k", "both"] {
        let [ours, peer] = ["ours", "peer"].map(|which| {
            let mut times: Vec<f64> = (0..PROCESSES).map(|_| fresh_process(&format!("{which}-{vocabulary}"))).collect();
            times.sort_by(f64::total_cmp);
            format!("{:.2} ms ({:.2})", times[PROCESSES / 2] / 1e3, times[PROCESSES - 1] / 1e3)
        });
        println!("| {vocabulary} | {ours} | {peer} |");
    }
    true
}

/// Microseconds.
fn fresh_process(which: &str) -> f64 {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).args(["first", which]).output().expect("this program can be run again");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number of microseconds")
}

/// Counts one text and prints how long it took, in microseconds.
pub fn use_once(which: &str) -> bool {
    let start = Instant::now();
    for (ours, name) in [(proem_tokens::Vocabulary::O200k, "o200k"), (proem_tokens::Vocabulary::Cl100k, "cl100k")] {
        if which.ends_with(name) || which.ends_with("both") {
            if which.starts_with("ours") {
                black_box(ours.count(black_box(TEXT)));
            } else {
                // Only the one that is asked for: each is loaded when it is first used.
                let peer = match ours {
                    proem_tokens::Vocabulary::O200k => bpe_openai::o200k_base(),
                    proem_tokens::Vocabulary::Cl100k => bpe_openai::cl100k_base(),
                };
                black_box(peer.count(black_box(TEXT)));
            }
        }
    }
    println!("{}", start.elapsed().as_secs_f64() * 1e6);
    true
}
