//! How fast a text is scanned, beside what a user would pick instead: a set of regular expressions
//! over the text as it is.
#![expect(clippy::unwrap_used, reason = "a benchmark may stop at what it didn't expect")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use proem_guard::{Guard, Untrusted};
use proem_text::{Label, Source};
use regex::RegexSet;

/// Phrases that filters on the internet look for, most of them in English.
const PATTERNS: [&str; 24] = [
    r"(?i)ignore (all |any )?(the )?(previous|prior|above|earlier) (instructions|prompts|rules|directions)",
    r"(?i)disregard (all |any )?(the )?(previous|prior|above|earlier)",
    r"(?i)forget (all |everything )?(you|your|the) (were told|instructions|previous)",
    r"(?i)you are now (a|an|in|the) ",
    r"(?i)(act|behave|respond) as (if|though|a|an) ",
    r"(?i)pretend (to be|that|you)",
    r"(?i)new instructions?:",
    r"(?i)system ?prompt",
    r"(?i)(reveal|show|print|repeat|output) (me )?(your|the) (system |initial |hidden )?(prompt|instructions)",
    r"(?i)developer mode",
    r"(?i)jailbreak",
    r"(?i)do anything now",
    r"(?i)<\|im_(start|end)\|>",
    r"(?i)\[/?INST\]",
    r"(?im)^\s*(system|assistant|user)\s*:",
    r"(?i)### ?(instruction|system)",
    r"(?i)override (your|all|the) (instructions|rules|safety)",
    r"(?i)bypass (your|all|the|any) (filters?|safety|restrictions?|rules)",
    r"(?i)without (any )?(restrictions|limitations|filters)",
    r"(?i)(send|forward|email|post) .{0,40} to [\w.+-]+@[\w.-]+",
    r"!\[[^\]]*\]\(https?://[^)]*\?[^)]*\)",
    r"(?i)base64",
    r"(?i)(api|access|secret) ?key",
    r"(?i)confidential|classified",
];

const TEXTS: [(&str, &str); 4] = [
    (
        "English",
        "The release moves to Thursday, because two of the tests on the build server still fail. Please look at the log before you restart it. ",
    ),
    (
        "mail",
        "From: Ann <ann@example.org>\nTo: Team\nSubject: Minutes\n\nHi all,\n\nplease find the minutes attached; the next meeting is on Friday at 10:00.\n\nBest regards\nAnn\n\n",
    ),
    (
        "Markdown",
        "## Usage\n\n- Run `make check` before each commit.\n- See [the guide](https://example.org/guide?page=2).\n\n```sh\ncargo test\n```\n\n",
    ),
    ("Chinese", "今天的会议改到下午三点，请大家准时参加。会议室在二楼，需要投影仪的同事请提前告诉我。\n"),
];

fn benches(criterion: &mut Criterion) {
    let guard = Guard::shipped(&[]).unwrap();
    let filter = RegexSet::new(PATTERNS).unwrap();
    for (name, unit) in TEXTS {
        for length in [4 * 1024, 256 * 1024] {
            let mut text = unit.repeat(length / unit.len() + 1);
            text.truncate(text.floor_char_boundary(length));
            let outside = Untrusted::new(text.clone(), Label::from_source(Source::named("bench")));
            let mut group = criterion.benchmark_group(format!("{name}, {} KiB", length / 1024));
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_function("guard", |bencher| bencher.iter(|| black_box(guard.scan(black_box(&outside)))));
            group.bench_function("24 regular expressions", |bencher| {
                bencher.iter(|| black_box(filter.matches(black_box(&text)).into_iter().count()));
            });
        }
    }
    criterion.bench_function("load the guard", |bencher| bencher.iter(|| black_box(Guard::shipped(&[]).unwrap())));
}

criterion_group!(scan, benches);
criterion_main!(scan);
