//! Whether everything that reads text from outside takes time in proportion to its length.
//!
//! Each entry point reads each hostile shape at lengths that double from 64 kB to 4 MB. The slope of the time's logarithm
//! over the length's, by least squares, is the exponent of the growth: 1 is linear, 2 is quadratic. An exponent above
//! [`MOST_EXPONENT`] is a failure, and so is a length that takes longer than the limit.

mod entries;
mod shapes;

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use clap::Args;

use self::entries::{ENTRIES, EntryPoint, Fixtures};
use self::shapes::{SHAPES, Shape};
use crate::stopwatch::Stopwatch;

/// The lengths, in bytes.
const LENGTHS: [usize; 7] = [64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20];

/// The highest exponent that counts as linear. A cache that is too small for the longer texts costs a little more than
/// nothing, and a logarithm as well.
const MOST_EXPONENT: f64 = 1.2;

/// A text is read again until so much time is spent. The shortest time counts, since other programs only add to it.
const ENOUGH: Duration = Duration::from_millis(10);

/// How much longer than the limit is waited for a text by the wall's clock: other programs use the processors as well.
const PATIENCE: u32 = 20;

/// A text that takes this long is read once.
const LONG: Duration = Duration::from_secs(1);

/// A time below this is mostly what a call costs, whatever its text.
const LEAST: Duration = Duration::from_micros(20);

/// The settings that make the allocator of glibc keep memory that was freed (mallopt(3)): the system's time to hand out
/// pages anew begins at some length, and would pass for growth.
const KEEPING_MEMORY: [(&str, &str); 4] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_MAX_", "0"),
    ("MALLOC_TRIM_THRESHOLD_", "17179869184"),
    ("MALLOC_TOP_PAD_", "268435456"),
];

/// Doubles hostile texts.
#[derive(Debug, Args)]
pub(crate) struct EvalLinear {
    /// Measure only entry points whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// The most seconds of the processor's time that one text may take.
    #[arg(long, default_value_t = 30)]
    limit: u64,
    /// The longest text, in kB.
    #[arg(long, default_value_t = 4096)]
    most: usize,
    /// Print a line for each entry point and shape.
    #[arg(long)]
    all: bool,
}

/// How long one entry point takes for one shape.
struct Growth {
    shape: &'static str,
    /// For the first lengths, in their order.
    times: Vec<Duration>,
    /// Whether a length took longer than the limit.
    is_cut_short: bool,
}

impl Growth {
    /// The exponent; 0 if no text takes long enough to tell, infinite if one took too long.
    fn exponent(&self) -> f64 {
        if self.is_cut_short {
            return f64::INFINITY;
        }
        let points: Vec<(f64, f64)> = LENGTHS
            .into_iter()
            .zip(&self.times)
            .filter(|(_, time)| **time >= LEAST)
            .map(|(length, time)| (log2(length), libm::log2(time.as_secs_f64())))
            .collect();
        slope(&points)
    }

    fn longest(&self) -> Duration {
        self.times.iter().copied().max().unwrap_or_default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a length below 2^53")]
fn log2(length: usize) -> f64 {
    libm::log2(length as f64)
}

/// The slope of the line with the least squares; 0 for fewer than three points.
fn slope(points: &[(f64, f64)]) -> f64 {
    if points.len() < 3 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful of points")]
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let (above, below) = points
        .iter()
        .fold((0.0, 0.0), |sum, point| (sum.0 + (point.0 - x) * (point.1 - y), sum.1 + (point.0 - x) * (point.0 - x)));
    above / below
}

pub(crate) fn run_eval_linear(args: &EvalLinear) -> Result<String, String> {
    if KEEPING_MEMORY.iter().any(|(name, _)| std::env::var_os(name).is_none()) {
        return run_keeping_memory();
    }
    let fixtures = Arc::new(Fixtures::new()?);
    let limit = Duration::from_secs(args.limit);
    let mut out = "| entry point | highest exponent | shape | longest time for 4 MB | shape |\n|---|---|---|---|---|\n"
        .to_owned();
    let (mut all, mut failures) = (String::new(), Vec::new());
    for entry in ENTRIES.iter().filter(|entry| entry.name.contains(&args.only)) {
        let growths: Vec<Growth> = SHAPES.iter().map(|shape| args.growth(&fixtures, entry, shape, limit)).collect();
        for growth in &growths {
            let times: Vec<String> = growth.times.iter().map(|time| milliseconds(*time)).collect();
            let line =
                format!("| {} | {} | {:.2} | {} |\n", entry.name, growth.shape, growth.exponent(), times.join(" "));
            // A whole run takes minutes.
            _ = std::io::stderr().write_all(line.as_bytes());
            all.push_str(&line);
            if growth.exponent() > MOST_EXPONENT {
                failures.push(line);
            }
        }
        let steepest = growths.iter().max_by(|a, b| a.exponent().total_cmp(&b.exponent()));
        let slowest = growths.iter().max_by_key(|growth| growth.longest());
        let (Some(steepest), Some(slowest)) = (steepest, slowest) else { continue };
        out.push_str(&format!(
            "| {} | {:.2} | {} | {} ms | {} |\n",
            entry.name,
            steepest.exponent(),
            steepest.shape,
            milliseconds(slowest.longest()),
            slowest.shape
        ));
    }
    if args.all {
        out.push_str("\n| entry point | shape | exponent | ms |\n|---|---|---|---|\n");
        out.push_str(&all);
    }
    if failures.is_empty() { Ok(out) } else { Err(format!("not linear\n{out}\n{}", failures.concat())) }
}

/// The same command in a process of its own, which reads those settings as it starts.
fn run_keeping_memory() -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program can't be found: {error}"))?;
    let mut command = Command::new(program);
    let output = command.args(std::env::args_os().skip(1)).envs(KEEPING_MEMORY).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("this program can't be started: {error}"))?;
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(report) } else { Err(format!("it ended with {}", output.status)) }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1_000.0)
}

impl EvalLinear {
    /// Measures in a thread of its own, so that a text that takes too long stops nothing.
    fn growth(
        &self,
        fixtures: &Arc<Fixtures>,
        entry: &'static EntryPoint,
        shape: &'static Shape,
        limit: Duration,
    ) -> Growth {
        let mut growth = Growth { shape: shape.name, times: Vec::new(), is_cut_short: false };
        for length in LENGTHS.into_iter().filter(|length| length / 1024 <= self.most) {
            let (sender, receiver) = mpsc::channel();
            let fixtures = Arc::clone(fixtures);
            std::thread::spawn(move || {
                // Nobody listens any more if this took too long.
                _ = sender.send(shortest_time(&fixtures, entry, &shape.text(length)));
            });
            match receiver.recv_timeout(limit.saturating_mul(PATIENCE)) {
                Ok(time) if time <= limit => growth.times.push(time),
                _ => {
                    growth.is_cut_short = true;
                    break;
                }
            }
        }
        growth
    }
}

fn shortest_time(fixtures: &Fixtures, entry: &EntryPoint, text: &str) -> Duration {
    let begun = Stopwatch::start();
    let mut shortest = Duration::MAX;
    for round in 0_usize.. {
        let start = Stopwatch::start();
        (entry.read)(fixtures, text);
        shortest = shortest.min(start.elapsed());
        // The first time pays for memory that the next ones find.
        let is_enough = begun.elapsed() >= ENOUGH && round > 0;
        if is_enough || shortest >= LONG {
            break;
        }
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes() {
        let of = |power: f64| slope(&[1.0, 2.0, 3.0, 4.0].map(|x| (x, 5.0 + power * x)));
        assert!((of(1.0) - 1.0).abs() < 1e-9 && (of(2.0) - 2.0).abs() < 1e-9);
        assert!(slope(&[(1.0, 1.0), (2.0, 9.0)]) == 0.0);
    }

    /// Each entry point reads each shape. How long that takes is measured by the command.
    #[test]
    fn every_entry_point_reads_every_shape() {
        let fixtures = Fixtures::new().unwrap();
        for entry in ENTRIES {
            SHAPES.iter().for_each(|shape| (entry.read)(&fixtures, &shape.text(2 << 10)));
        }
        let names: std::collections::BTreeSet<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ENTRIES.len());
    }
}
