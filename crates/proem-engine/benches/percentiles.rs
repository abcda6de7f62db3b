//! How long the slowest assemblies take: 64 sections, about 20,000 tokens, another task each time.
//!
//! `cargo bench -p proem-engine --bench percentiles`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and prints"
)]

mod large;

use std::hint::black_box;
use std::time::Instant;

use large::Large;
use proem_engine::tokens::{CachingCounter, OpenAi};

/// How many runs, unless the first argument says.
const RUNS: usize = 10_000;

fn main() {
    let mut large = Large::new();
    let mut counts = CachingCounter::new(&OpenAi::O200k);
    let (assembly, report) = large.assemble(&mut counts);
    println!("{} sections, {} tokens, {} bytes", assembly.sections.len(), report.totals.tokens, assembly.text().len());
    let runs = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(RUNS);
    let mut micros: Vec<u128> = Vec::with_capacity(runs);
    for task in 1..=runs {
        large.set_task(task);
        let start = Instant::now();
        black_box(large.assemble(&mut counts));
        micros.push(start.elapsed().as_micros());
    }
    micros.sort_unstable();
    let at = |percent: usize| micros.get(micros.len() * percent / 100).copied().unwrap_or_default();
    let max = micros.last().copied().unwrap_or_default();
    println!("{runs} assemblies: p50 {} µs, p90 {} µs, p99 {} µs, max {max} µs", at(50), at(90), at(99));
}
