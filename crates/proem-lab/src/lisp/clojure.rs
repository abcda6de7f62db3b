//! Asks Clojure for the values of expressions, all in one process.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Evaluates each line of its input. The first lines of the script say what it prints.
const SCRIPT: &str = include_str!("answers.clj");

/// The script's output for a name that Clojure doesn't have, and for a call that takes too long.
const NO_ANSWER: [&str; 2] = ["UNKNOWN", "SLOW"];

/// Installs Debian's package if there is no `clojure` yet.
pub(crate) fn install_clojure() -> Result<(), String> {
    if Command::new("clojure").args(["-e", "nil"]).stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    let status = Command::new("apt-get").args(["install", "-y", "clojure"]).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err("could not install `clojure` by apt-get; install it and run this again".into()),
    }
}

/// Longer values say no more about a function, and those without an end have to be cut somewhere.
const LONGEST_ANSWER: usize = 300;

/// The printed value of each expression. `None` if Clojure has no such function or no short text that can be read.
pub(crate) fn ask_clojure(sources: &[String], folder: &Path) -> Result<Vec<Option<String>>, String> {
    let failed = |error: std::io::Error| format!("could not run `clojure`: {error}");
    let (script, questions) = (folder.join("answers.clj"), folder.join("questions.txt"));
    std::fs::write(&script, SCRIPT).map_err(failed)?;
    let mut file = std::fs::File::create(&questions).map_err(failed)?;
    for source in sources {
        writeln!(file, "{source}").map_err(failed)?;
    }
    let input = std::fs::File::open(&questions).map_err(failed)?;
    let output = Command::new("clojure").arg(&script).stdin(input).output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() != sources.len() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`clojure` gave {} answers to {} questions: {complaint}", lines.len(), sources.len()));
    }
    Ok(lines.into_iter().map(|line| is_answer(line).then(|| line.to_owned())).collect())
}

/// Whether the line is a value that doesn't depend on where in memory an object is.
fn is_answer(line: &str) -> bool {
    !NO_ANSWER.contains(&line)
        && line.len() <= LONGEST_ANSWER
        && !line.contains(char::is_control)
        && !line.contains("#object[")
        && !line.contains("#<")
}
