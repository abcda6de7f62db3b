//! `proem risk` beside git, in turns: one commit with nothing kept beside `git log --raw -M`, one commit again beside `git
//! show --stat`, and the last hundred commits beside one.
//!
//! Whole commands on clones, which are named: `cargo bench -p proem-cli --bench risk -- CLONE…`. A number in place of a
//! clone makes a repository of so many small files in one commit. Without either there is nothing to measure, which is
//! said. Times are medians; the processor's time is that of a command with its children.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench reads the clock and prints"
)]

#[path = "../tests/it/fixture.rs"]
#[expect(dead_code, reason = "tests need more of it")]
mod fixture;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fixture::Fixture;

/// How often each command is measured.
const ROUNDS: usize = 5;
/// How many commits are assessed together.
const EACH: usize = 100;
/// A tick of the processor's time in `/proc` on Linux (proc(5), `sysconf(_SC_CLK_TCK)`), in milliseconds.
const TICK: u64 = 10;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if given.is_empty() {
        println!("SKIPPED: name clones or a number of files: cargo bench -p proem-cli --bench risk -- CLONE… 50000");
    }
    for name in given {
        match name.parse() {
            Ok(files) => measure_repository(&wide_repository(files).repo, &name),
            Err(_) => measure_repository(&Path::new(&name).canonicalize().unwrap(), &name),
        }
    }
}

/// A repository of small modules that import each other, all made by its only commit.
fn wide_repository(files: usize) -> Fixture {
    let fixture = Fixture::folder();
    let place = |module: usize| (module % 200, module / 200 % 25);
    let mut stream = "commit refs/heads/main\ncommitter A <a@x> 1700000000 +0000\ndata 5\nBegin\n".to_owned();
    for module in 0..files {
        let other = module * 7919 % files;
        let ((package, part), (other_package, other_part)) = (place(module), place(other));
        let text = format!(
            "from package{other_package}.part{other_part} import module{other}\n\n\ndef work{module}(value):\n    \
             if value > {module}:\n        return module{other}.work{other}(value - 1)\n    return value\n"
        );
        let path = format!("package{package}/part{part}/module{module}.py");
        writeln!(stream, "M 100644 inline {path}\ndata {}\n{text}", text.len()).unwrap();
    }
    fixture.git(&["init", "-q", "-b", "main"]);
    fixture.git_with(&["fast-import", "--quiet"], stream.as_bytes());
    fixture
}

/// The time and memory of one run of a command.
#[derive(Debug, Clone, Copy, Default)]
struct RunCost {
    time: Duration,
    processor: Duration,
    /// The most memory that the program held, without its children, in KiB.
    peak: u64,
}

/// The processor's time of all children that have ended.
fn children_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which ends in a bracket, the fields begin with the third; 16 and 17 are those of the children.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * TICK)
}

fn run_cost(mut command: Command) -> RunCost {
    let (begun, before) = (Instant::now(), children_time());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    loop {
        if let Ok(text) = fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0).max(peak);
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{command:?}");
            return RunCost { time: begun.elapsed(), processor: children_time() - before, peak };
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// The median time, the mean processor's time, whose ticks are long, and the greatest peak.
fn typical_cost(rounds: &[RunCost]) -> RunCost {
    let mut times: Vec<Duration> = rounds.iter().map(|cost| cost.time).collect();
    times.sort();
    let processor: Duration = rounds.iter().map(|cost| cost.processor).sum();
    RunCost {
        time: times.get(times.len() / 2).copied().unwrap_or_default(),
        processor: processor / u32::try_from(rounds.len().max(1)).unwrap(),
        peak: rounds.iter().map(|cost| cost.peak).max().unwrap_or(0),
    }
}

/// The range of at least [`EACH`] commits up to HEAD, and how many it has. `None` in a shorter history.
fn newest_range(repository: &Path) -> Option<(String, usize)> {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(repository).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let ids = git(&["rev-list", "--first-parent", "--max-count=101", "HEAD"]);
    let ranges = ids.lines().map(|id| format!("{id}..HEAD"));
    let counted = ranges.map(|range| {
        let count = git(&["rev-list", "--no-merges", "--count", &range]).trim().parse().unwrap();
        (range, count)
    });
    counted.into_iter().find(|(_, count)| *count >= EACH)
}

fn measure_repository(repository: &Path, name: &str) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(repository).args(args);
        command
    };
    let risk = |fixture: &Fixture, args: &[&str]| {
        let mut command = fixture.command(&fixture.binary);
        command.args(["risk", "--no-model", "--no-record"]).args(args).arg("--root").arg(repository);
        command
    };
    let range = newest_range(repository);
    let mut costs: [Vec<RunCost>; 5] = Default::default();
    let [log, cold, show, warm, each] = &mut costs;
    for _ in 0..ROUNDS {
        let kept = Fixture::folder();
        log.push(run_cost(git(&["log", "--raw", "-M"])));
        cold.push(run_cost(risk(&kept, &["HEAD"])));
        show.push(run_cost(git(&["show", "--stat"])));
        warm.push(run_cost(risk(&kept, &["HEAD"])));
        if let Some((range, _)) = &range {
            each.push(run_cost(risk(&Fixture::folder(), &["--each", range])));
        }
    }
    println!("{name}");
    let line = |what: &str, cost: RunCost, beside: Option<RunCost>| {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let ratio = beside.map_or_else(String::new, |beside| {
            let (time, processor) = (cost.time.div_duration_f64(beside.time), (cost.processor, beside.processor));
            let processor = processor.0.as_secs_f64() / processor.1.as_secs_f64();
            format!("  × {time:.1}, processor × {processor:.1}")
        });
        let (time, processor, peak) = (millis(cost.time), millis(cost.processor), cost.peak / 1024);
        println!("  {what:28} {time:8.0} ms {processor:8.0} ms of processor {peak:5} MiB{ratio}");
    };
    let [log, cold, show, warm, each] = costs.map(|rounds| typical_cost(&rounds));
    line("git log --raw -M", log, None);
    line("one commit, nothing kept", cold, Some(log));
    if let Some((_, count)) = range {
        line(&format!("{count} commits, nothing kept"), each, Some(cold));
    }
    line("git show --stat", show, None);
    line("one commit again", warm, Some(show));
}
