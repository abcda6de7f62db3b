//! Runs a child process within bounds.
//!
//! Invariants: standard output and error are drained at the same time, so a child that fills one
//! of them never blocks; nothing is kept beyond the byte caps; the caller gets an answer by the
//! deadline; the child is waited for in every case, so none is left behind as a zombie.
//!
//! A process that the child started itself and that outlives it isn't waited for.

use std::{
    io::{self, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::{Duration, Instant},
};

/// How much of standard error is kept, in bytes; the rest is read and thrown away.
const ERROR_BYTES: usize = 16 * 1024;

/// How long to wait between two looks at a child that has closed its output but hasn't ended.
const POLL: Duration = Duration::from_millis(1);

/// A point in time by which work must end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    /// The deadline `limit` from now.
    pub(crate) fn after(limit: Duration) -> Self {
        let now = Instant::now();
        // An unrepresentable deadline is a day away, far beyond any limit that makes sense.
        let at = now.checked_add(limit).or_else(|| now.checked_add(Duration::from_hours(24))).unwrap_or(now);
        Self { at, limit }
    }

    /// The time that was given, not what is left of it.
    pub(crate) const fn limit(self) -> Duration {
        self.limit
    }

    fn left(self) -> Option<Duration> {
        let left = self.at.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

/// Whether bytes are all there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of them.
    Whole,
    /// The beginning; more follow.
    Cut,
}

/// What a child that ended, or was cut off at its byte cap, left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code; `None` when a signal ended the child.
    pub(crate) code: Option<i32>,
    /// Its standard output, up to the cap.
    pub(crate) stdout: Vec<u8>,
    /// Whether that is all of it; if not, the child was killed and the code means nothing.
    pub(crate) extent: Extent,
    /// The beginning of its standard error.
    pub(crate) stderr: Vec<u8>,
}

/// Why there is no [`Finished`].
#[derive(Debug)]
pub(crate) enum Failure {
    /// The deadline came first.
    TimedOut,
    /// The child could not be started or read.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Runs `command` with no input until it ends, the deadline passes, or it has written more than `cap` bytes.
pub(crate) fn run(command: &mut Command, deadline: Deadline, cap: usize) -> Result<Finished, Failure> {
    if deadline.left().is_none() {
        return Err(Failure::TimedOut);
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut running = Running(child);
    let receiver = drain_both(&mut running.0, cap)?;
    let (mut stdout, mut stderr) = (None, None);
    while stdout.is_none() || stderr.is_none() {
        let left = deadline.left().ok_or(Failure::TimedOut)?;
        match receiver.recv_timeout(left) {
            Ok(Drained::Output(read)) => {
                let (bytes, extent) = read?;
                if extent == Extent::Cut {
                    return Ok(Finished { code: None, stdout: bytes, extent, stderr: Vec::new() });
                }
                stdout = Some(bytes);
            }
            Ok(Drained::Error(bytes)) => stderr = Some(bytes),
            Err(_) => return Err(Failure::TimedOut),
        }
    }
    let code = running.wait(deadline)?.code();
    Ok(Finished { code, stdout: stdout.unwrap_or_default(), extent: Extent::Whole, stderr: stderr.unwrap_or_default() })
}

/// A child that is killed and waited for when nobody is interested any more.
struct Running(Child);

impl Running {
    fn wait(&mut self, deadline: Deadline) -> Result<ExitStatus, Failure> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            thread::sleep(deadline.left().ok_or(Failure::TimedOut)?.min(POLL));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when the child has ended and been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

enum Drained {
    Output(io::Result<(Vec<u8>, Extent)>),
    Error(Vec<u8>),
}

fn drain_both(child: &mut Child, cap: usize) -> io::Result<Receiver<Drained>> {
    let (sender, receiver) = mpsc::channel();
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    let stdout = child.stdout.take().ok_or_else(closed)?;
    let stderr = child.stderr.take().ok_or_else(closed)?;
    let for_output: Sender<Drained> = sender.clone();
    // The receiver is gone once the caller has given up; then nobody misses the message.
    thread::Builder::new().spawn(move || {
        let _ = for_output.send(Drained::Output(read_capped(stdout, cap)));
    })?;
    thread::Builder::new().spawn(move || {
        let _ = sender.send(Drained::Error(read_discarding(stderr)));
    })?;
    Ok(receiver)
}

/// Reads at most `cap` bytes and says whether that was all.
pub(crate) fn read_capped(mut from: impl Read, cap: usize) -> io::Result<(Vec<u8>, Extent)> {
    let mut bytes = Vec::new();
    from.by_ref().take(u64::try_from(cap).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    let mut more = Vec::new();
    from.take(1).read_to_end(&mut more)?;
    Ok((bytes, if more.is_empty() { Extent::Whole } else { Extent::Cut }))
}

fn read_discarding(mut from: impl Read) -> Vec<u8> {
    // Standard error only explains; what couldn't be read of it is not worth a failure.
    let (bytes, _) = read_capped(from.by_ref(), ERROR_BYTES).unwrap_or((Vec::new(), Extent::Whole));
    let _ = io::copy(&mut from, &mut io::sink());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn long() -> Deadline {
        Deadline::after(Duration::from_mins(1))
    }

    #[test]
    fn both_streams_are_drained_and_the_code_is_kept() {
        let script = "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; exit 3";
        let finished = run(&mut shell(script), long(), 400_000).unwrap();
        assert_eq!((finished.code, finished.stdout.len(), finished.extent), (Some(3), 300_000, Extent::Whole));
        assert_eq!(finished.stderr.len(), ERROR_BYTES);
    }

    #[test]
    fn output_beyond_the_cap_ends_the_child() {
        let finished = run(&mut shell("cat /dev/zero"), long(), 1000).unwrap();
        assert_eq!((finished.stdout.len(), finished.extent), (1000, Extent::Cut));
        assert_eq!(run(&mut shell("printf abc"), long(), 3).unwrap().extent, Extent::Whole);
        assert_eq!(run(&mut shell("printf abcd"), long(), 3).unwrap().extent, Extent::Cut);
    }

    #[test]
    fn a_child_that_never_ends_is_killed_at_the_deadline() {
        let deadline = Deadline::after(Duration::from_millis(50));
        assert!(matches!(run(&mut shell("exec cat /dev/zero >/dev/null"), deadline, 10), Err(Failure::TimedOut)));
        let deadline = Deadline::after(Duration::from_millis(50));
        let closed = "exec >&- 2>&-; while :; do :; done";
        assert!(matches!(run(&mut shell(closed), deadline, 10), Err(Failure::TimedOut)));
    }

    #[test]
    fn no_time_means_no_child() {
        let nothing = Deadline::after(Duration::ZERO);
        assert!(matches!(run(&mut Command::new("/does/not/exist"), nothing, 10), Err(Failure::TimedOut)));
    }
}
