//! How risky is this commit? Name a folder and a revision. HEAD of the current folder otherwise.
//!
//! ```text
//! LOW: no signal is HIGH; its percentile among past commits is unknown, so its signals decide the level
//!   "kettle.rs": LOW
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use proem::{Error, risk};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| ".".to_owned());
    let revision = arguments.next().unwrap_or_else(|| "HEAD".to_owned());
    let report = risk::assess(folder, &revision)?;
    println!("{}: {}", report.level.as_str(), report.reasons.join("; "));
    for (path, level) in &report.files {
        println!("  {path:?}: {}", level.as_str());
    }
    for gap in &report.gaps {
        println!("not known: {gap}");
    }
    Ok(())
}
