//! Finds what a command has started and what has left its process group, by a mark in its environment.
//!
//! A process that calls `setsid` is in no group of its command's any more, and once its parent has ended, nothing in its
//! number tells where it came from. Its environment does: a new program gets that of the program that started it. So
//! each group has a mark of its own there. A program that takes the mark out for its children hides them from this.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable with the mark.
const VARIABLE: &str = "PROEM_COMMAND_GROUP";

/// The mark of one group.
#[derive(Debug)]
pub(super) struct GroupMark(String);

impl GroupMark {
    /// Marks everything that a command starts.
    pub(super) fn put_on(command: &mut Command) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        command.env(VARIABLE, &mark);
        Self(mark)
    }

    /// Kills every process of this user that has the mark. Only Linux shows environments.
    #[cfg(target_os = "linux")]
    pub(super) fn kill_marked(&self) {
        use rustix::process::{Signal, kill_process};
        /// Rounds against what starts others while it is looked for.
        const ROUNDS: usize = 8;
        let entry = format!("{VARIABLE}={}", self.0);
        for _ in 0..ROUNDS {
            let marked = marked_processes(entry.as_bytes());
            if marked.is_empty() {
                return;
            }
            for process in marked {
                // It fails only when the process has ended.
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) const fn kill_marked(&self) {}
}

/// The running processes whose environment has this entry. Others' environments can't be read.
#[cfg(target_os = "linux")]
fn marked_processes(entry: &[u8]) -> Vec<rustix::process::Pid> {
    use crate::files::{FileContent, read_regular};
    /// The most bytes of an environment that are looked at.
    const ENVIRONMENT_BYTES: usize = 4 << 20;
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    let is_marked = |number: &i32| {
        // That of a process that has ended and isn't waited for is empty.
        let path = format!("/proc/{number}/environ");
        let Ok(Some(FileContent::Whole(environment) | FileContent::Cut(environment))) =
            read_regular(std::path::Path::new(&path), ENVIRONMENT_BYTES)
        else {
            return false;
        };
        environment.split(|byte| *byte == 0).any(|variable| variable == entry)
    };
    numbers.filter(is_marked).filter_map(rustix::process::Pid::from_raw).collect()
}
