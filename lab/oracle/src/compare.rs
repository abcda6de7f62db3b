//! Counts the files of folders with both, and says where they differ and how fast they are.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use bpe_openai::Tokenizer;
use proem_tokens::Vocabulary;
use rustix::time::{ClockId, clock_gettime};

/// How often every file is counted. The fastest time counts.
const ROUNDS: usize = 3;
/// Larger files are left out, so that no single one decides a line of the table.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Both vocabularies with their peers.
pub fn pairs() -> [(Vocabulary, &'static Tokenizer); 2] {
    [(Vocabulary::O200k, bpe_openai::o200k_base()), (Vocabulary::Cl100k, bpe_openai::cl100k_base())]
}

#[derive(Default)]
struct Line {
    texts: Vec<String>,
    mismatches: usize,
    /// Ours and the peer's, for each vocabulary.
    times: [[Duration; 2]; 2],
}

/// Prints a table by kind of file. Whether nothing differs.
pub fn folders(folders: &[&str]) -> bool {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    let mut skipped = 0usize;
    for folder in folders {
        let mut paths = Vec::new();
        collect(Path::new(folder), &mut paths);
        paths.sort();
        for path in paths {
            let small = std::fs::metadata(&path).is_ok_and(|facts| facts.len() <= MAX_FILE_BYTES);
            match std::fs::read(&path).ok().filter(|_| small).map(String::from_utf8) {
                Some(Ok(text)) if !text.is_empty() => {
                    let line = lines.entry(kind(&path, &text)).or_default();
                    line.mismatches += mismatches(&path, &text);
                    line.texts.push(text);
                }
                _ => skipped += 1,
            }
        }
    }
    for line in lines.values_mut() {
        line.measure();
    }
    print(&lines);
    println!("\nLeft out: {skipped} files that are empty, no UTF-8 or larger than 4 MiB.");
    lines.values().all(|line| line.mismatches == 0)
}

impl Line {
    fn measure(&mut self) {
        for ((ours, peer), times) in pairs().into_iter().zip(&mut self.times) {
            times[0] = fastest(|| self.texts.iter().map(|text| ours.count(text)).sum());
            times[1] = fastest(|| self.texts.iter().map(|text| peer.count(text.as_str())).sum());
        }
    }
}

fn fastest(count: impl Fn() -> usize) -> Duration {
    (0..ROUNDS).map(|_| once(&count).0).min().unwrap_or_default()
}

/// The processor's time that a count takes, and the count. Other work on the machine is no part of it.
pub fn once(count: impl Fn() -> usize) -> (Duration, usize) {
    let start = processor_time();
    let tokens = std::hint::black_box(count());
    (processor_time().saturating_sub(start), tokens)
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// How many of the two encodings of a text differ. Prints which.
fn mismatches(path: &Path, text: &str) -> usize {
    let differs = |(ours, peer): &(Vocabulary, &Tokenizer)| {
        let expected = peer.encode(text);
        ours.encode(text) != expected || ours.count(text) != expected.len()
    };
    let differing: Vec<_> = pairs().into_iter().filter(differs).collect();
    for (ours, _) in &differing {
        eprintln!("{ours:?} differs: {}", path.display());
    }
    differing.len()
}

fn print(lines: &BTreeMap<String, Line>) {
    println!("| kind | files | MB | mismatches | o200k MB/s | `bpe-openai` | cl100k MB/s | `bpe-openai` |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut all = Line::default();
    let (mut files, mut bytes) = (0, 0);
    let row = |name: &str, files: usize, bytes: usize, line: &Line| {
        #[allow(clippy::cast_precision_loss)]
        let megabytes = bytes as f64 / 1e6;
        let [[a, b], [c, d]] = line.times.map(|pair| pair.map(|time| megabytes / time.as_secs_f64()));
        println!("| {name} | {files} | {megabytes:.2} | {} | {a:.0} | {b:.0} | {c:.0} | {d:.0} |", line.mismatches);
    };
    for (name, line) in lines {
        let size = line.texts.iter().map(String::len).sum::<usize>();
        row(name, line.texts.len(), size, line);
        files += line.texts.len();
        bytes += size;
        all.mismatches += line.mismatches;
        for (sum, times) in all.times.iter_mut().zip(line.times) {
            sum[0] += times[0];
            sum[1] += times[1];
        }
    }
    row("all", files, bytes, &all);
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => collect(&entry.path(), paths),
            Ok(kind) if kind.is_file() => paths.push(entry.path()),
            _ => {}
        }
    }
}

/// A text's line in the table: prose by its script, everything else by what its name ends with.
fn kind(path: &Path, text: &str) -> String {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_lowercase();
    let name = match extension.as_str() {
        "rs" => "Rust",
        "py" | "pyi" => "Python",
        "js" | "mjs" | "cjs" | "jsx" => "JavaScript",
        "ts" | "tsx" => "TypeScript",
        "go" => "Go",
        "java" | "kt" => "Java, Kotlin",
        "c" | "h" | "cc" | "cpp" | "hpp" => "C, C++",
        "json" | "jsonl" | "toml" | "yaml" | "yml" | "csv" | "tsv" | "lock" => "JSON, TOML, YAML, tables",
        "html" | "xml" if script(text) != "Latin" => return format!("prose, {}", script(text)),
        "html" | "css" | "scss" | "xml" | "svg" => "HTML, CSS, XML",
        "md" | "txt" | "rst" | "adoc" => return format!("prose, {}", script(text)),
        _ => "other",
    };
    name.to_owned()
}

/// The script that most characters outside ASCII are of, if they are at least a fifth of all.
fn script(text: &str) -> &'static str {
    const SCRIPTS: [(&str, &[std::ops::RangeInclusive<u32>]); 24] = [
        ("Greek", &[0x370..=0x3FF, 0x1F00..=0x1FFF]),
        ("Cyrillic", &[0x400..=0x52F]),
        ("Armenian", &[0x530..=0x58F]),
        ("Hebrew", &[0x590..=0x5FF]),
        ("Arabic", &[0x600..=0x6FF, 0x750..=0x77F]),
        ("Devanagari", &[0x900..=0x97F]),
        ("Bengali", &[0x980..=0x9FF]),
        ("Gurmukhi", &[0xA00..=0xA7F]),
        ("Gujarati", &[0xA80..=0xAFF]),
        ("Tamil", &[0xB80..=0xBFF]),
        ("Telugu", &[0xC00..=0xC7F]),
        ("Kannada", &[0xC80..=0xCFF]),
        ("Malayalam", &[0xD00..=0xD7F]),
        ("Sinhala", &[0xD80..=0xDFF]),
        ("Thai", &[0xE00..=0xE7F]),
        ("Lao", &[0xE80..=0xEFF]),
        ("Tibetan", &[0xF00..=0xFFF]),
        ("Myanmar", &[0x1000..=0x109F]),
        ("Georgian", &[0x10A0..=0x10FF]),
        ("Ethiopic", &[0x1200..=0x139F]),
        ("Khmer", &[0x1780..=0x17FF]),
        ("Hangul", &[0x1100..=0x11FF, 0xAC00..=0xD7AF]),
        ("Japanese", &[0x3040..=0x30FF]),
        ("Han", &[0x3400..=0x9FFF]),
    ];
    let mut counts = [0usize; SCRIPTS.len()];
    let mut wide = 0;
    for character in text.chars().filter(|character| !character.is_ascii()) {
        wide += 1;
        let found =
            SCRIPTS.iter().position(|(_, ranges)| ranges.iter().any(|range| range.contains(&u32::from(character))));
        if let Some(script) = found {
            counts[script] += 1;
        }
    }
    // Japanese is written in Han as well. A tenth of it in kana tells it from Chinese.
    if counts[22] * 10 > counts[23] {
        counts[22] += std::mem::take(&mut counts[23]);
    }
    if wide * 5 < text.chars().count() {
        return "Latin";
    }
    let most = counts.iter().enumerate().max_by_key(|(_, count)| **count).filter(|(_, count)| **count > 0);
    most.map_or("other scripts", |(script, _)| SCRIPTS[script].0)
}

/// Times of texts that are written to be slow, at three lengths. Whether nothing differs.
pub fn long() -> bool {
    let mut agrees = true;
    println!("| text | vocabulary | 1 MB | 4 MB | 16 MB | `bpe-openai`, 1 MB |\n|---|---|---|---|---|---|");
    for unit in
        ["a", " ", "\n", "ab", "A", "aA", "日", "日A", "e\u{301}", "-", "=", "!", "1", "😀", "\u{300}", "' ", "a' \n"]
    {
        for (ours, peer) in pairs() {
            let texts = [1_000_000, 4_000_000, 16_000_000].map(|bytes| unit.repeat(bytes / unit.len()));
            let times = texts.each_ref().map(|text| once(|| ours.count(text)));
            let expected = once(|| peer.count(texts[0].as_str()));
            agrees &= expected.1 == times[0].1;
            let [one, four, sixteen] = times.map(|(time, _)| time.as_secs_f64() * 1e3);
            let peer = expected.0.as_secs_f64() * 1e3;
            println!("| {unit:?} | {ours:?} | {one:.1} ms | {four:.1} ms | {sixteen:.1} ms | {peer:.1} ms |");
        }
    }
    agrees
}
