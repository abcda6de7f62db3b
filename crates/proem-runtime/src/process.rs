//! Runs a child process within bounds.
//!
//! Invariants: standard output and error are drained at the same time, so a child that fills one of them never blocks.
//! Nothing is kept beyond the byte caps. The caller gets an answer by the deadline. The child is waited for in every
//! case, so none is left behind as a zombie.
//!
//! A child has a limit of time, and on Linux one of memory.
//!
//! A process that the child started itself and that outlives it isn't waited for.

mod group;
mod memory;
mod strays;

pub(crate) use self::group::{GroupBounds, GroupFailure, run_group};
#[cfg(feature = "mcp")]
pub(crate) use self::group::{GroupLife, TalkingGroup, talk_with_group};
pub(crate) use self::memory::confine;

use std::{
    io::{self, Read, Write},
    ops::ControlFlow,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender},
    thread,
    time::{Duration, Instant},
};

/// How much of standard error is kept, in bytes. The rest is read and thrown away.
const ERROR_BYTES: usize = 16 * 1024;

/// How much of a stream is handed over at a time, in bytes.
const PIECE: usize = 128 * 1024;

/// How many pieces of a stream wait to be taken. A child that is further ahead waits too.
const PIECES: usize = 8;

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
    /// They are all there are.
    Whole,
    /// They are the beginning. More follow.
    Cut,
}

pub(crate) struct ChildBounds<'b> {
    /// When it must have ended.
    pub(crate) deadline: Deadline,
    /// The memory of its own that it may have, in bytes. Enforced on Linux.
    pub(crate) memory: u64,
    /// How long it may write nothing before it is asked whether to go on waiting. Then twice as long, and so on.
    pub(crate) silence: Duration,
    /// Says whether to go on waiting.
    pub(crate) silent: &'b dyn Fn() -> ControlFlow<()>,
}

impl ChildBounds<'_> {
    /// Starts a child within them.
    fn spawn(&self, command: &mut Command, stdin: Stdio) -> Result<Running, ChildFailure> {
        if self.deadline.left().is_none() {
            return Err(ChildFailure::TimedOut);
        }
        let running = Running(command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?);
        memory::confine(&running.0, self.memory)?;
        Ok(running)
    }

    /// The next thing that a child says.
    fn receive<T>(&self, from: &Receiver<T>) -> Result<T, ChildFailure> {
        let mut silence = self.silence;
        loop {
            let left = self.deadline.left().ok_or(ChildFailure::TimedOut)?;
            let wait = left.min(silence);
            silence = silence.saturating_mul(2);
            match from.recv_timeout(wait) {
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Timeout) if wait < left && (self.silent)().is_continue() => {}
                Err(_) => return Err(ChildFailure::TimedOut),
            }
        }
    }
}

/// The output of a child that ended, or was cut off at its byte cap.
#[derive(Debug)]
pub(crate) struct ChildOutput {
    /// The exit code. `None` when a signal ended the child.
    pub(crate) code: Option<i32>,
    /// Its standard output, up to the cap.
    pub(crate) stdout: Vec<u8>,
    /// Whether that is all of it; if not, the child was killed and the code means nothing.
    pub(crate) extent: Extent,
    /// The beginning of its standard error.
    pub(crate) stderr: Vec<u8>,
}

/// Why there is no [`ChildOutput`].
#[derive(Debug)]
pub(crate) enum ChildFailure {
    /// The deadline came first.
    TimedOut,
    /// The child could not be started or read.
    Io(io::Error),
}

impl From<io::Error> for ChildFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Runs `command` with no input until it ends, the deadline passes, or it has written more than `cap` bytes.
pub(crate) fn run_child(
    command: &mut Command,
    bounds: &ChildBounds<'_>,
    cap: usize,
) -> Result<ChildOutput, ChildFailure> {
    let mut running = bounds.spawn(command, Stdio::null())?;
    let receiver = drain_both(&mut running.0, cap)?;
    let (mut stdout, mut stderr) = (None, None);
    while stdout.is_none() || stderr.is_none() {
        match bounds.receive(&receiver)? {
            Drained::Output(read) => {
                let (bytes, extent) = read?;
                if extent == Extent::Cut {
                    return Ok(ChildOutput { code: None, stdout: bytes, extent, stderr: Vec::new() });
                }
                stdout = Some(bytes);
            }
            Drained::Error(bytes) => stderr = Some(bytes),
        }
    }
    let code = running.wait(bounds.deadline)?.code();
    Ok(ChildOutput {
        code,
        stdout: stdout.unwrap_or_default(),
        extent: Extent::Whole,
        stderr: stderr.unwrap_or_default(),
    })
}

/// The end of a child whose output was streamed.
#[derive(Debug)]
pub(crate) struct ChildExit {
    /// The exit code. `None` when a signal ended the child.
    pub(crate) code: Option<i32>,
    /// Whether all of its output was taken; if not, the child was killed and the code means nothing.
    pub(crate) extent: Extent,
    /// The beginning of its standard error.
    pub(crate) stderr: Vec<u8>,
}

/// Runs `command` with `input`, and hands its output to `take` in pieces while it runs, until `take` has
/// enough, the child ends or the deadline passes.
///
/// A few pieces are held at most, so a child that writes faster than `take` works has to wait. Input that
/// the child doesn't read is dropped when it ends.
pub(crate) fn stream_child(
    command: &mut Command,
    input: Vec<u8>,
    bounds: &ChildBounds<'_>,
    take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<ChildExit, ChildFailure> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut running = bounds.spawn(command, stdin)?;
    let receiver = pump(&mut running.0, input)?;
    let (mut ended, mut stderr) = (false, None);
    while !ended || stderr.is_none() {
        match bounds.receive(&receiver)? {
            Pumped::Piece(piece) => {
                if take(&piece).is_break() {
                    return Ok(ChildExit { code: None, extent: Extent::Cut, stderr: Vec::new() });
                }
            }
            Pumped::End(result) => {
                result?;
                ended = true;
            }
            Pumped::Error(bytes) => stderr = Some(bytes),
        }
    }
    let code = running.wait(bounds.deadline)?.code();
    Ok(ChildExit { code, extent: Extent::Whole, stderr: stderr.unwrap_or_default() })
}

enum Pumped {
    Piece(Vec<u8>),
    End(io::Result<()>),
    Error(Vec<u8>),
}

/// Moves what goes into and comes out of a child, each in a thread of its own.
fn pump(child: &mut Child, input: Vec<u8>) -> io::Result<Receiver<Pumped>> {
    let (sender, receiver) = mpsc::sync_channel(PIECES);
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    let mut stdout = child.stdout.take().ok_or_else(closed)?;
    let stderr = child.stderr.take().ok_or_else(closed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A child that ends without having read all says by its exit code what that means.
        thread::Builder::new().spawn(move || ChildStdin::write_all(&mut stdin, &input))?;
    }
    let for_output: SyncSender<Pumped> = sender.clone();
    thread::Builder::new().spawn(move || {
        let result = send_pieces(&mut stdout, &for_output);
        let _ = for_output.send(Pumped::End(result));
    })?;
    thread::Builder::new().spawn(move || {
        let _ = sender.send(Pumped::Error(read_discarding(stderr)));
    })?;
    Ok(receiver)
}

/// Sends all of `from`. Ends early once nobody listens.
fn send_pieces(from: &mut impl Read, to: &SyncSender<Pumped>) -> io::Result<()> {
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let limit = u64::try_from(PIECE).unwrap_or(u64::MAX);
        if from.by_ref().take(limit).read_to_end(&mut piece)? == 0 || to.send(Pumped::Piece(piece)).is_err() {
            return Ok(());
        }
    }
}

/// A child that is killed and waited for when nobody is interested any more.
struct Running(Child);

impl Running {
    fn wait(&mut self, deadline: Deadline) -> Result<ExitStatus, ChildFailure> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            thread::sleep(deadline.left().ok_or(ChildFailure::TimedOut)?.min(POLL));
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
    // The receiver is gone once the caller has given up. Then nobody misses the message.
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

    fn shell_command(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn bounds_after(limit: Duration) -> ChildBounds<'static> {
        let deadline = Deadline::after(limit);
        ChildBounds { deadline, memory: 1 << 30, silence: limit, silent: &|| ControlFlow::Continue(()) }
    }

    fn minute_bounds() -> ChildBounds<'static> {
        bounds_after(Duration::from_mins(1))
    }

    fn short_bounds() -> ChildBounds<'static> {
        bounds_after(Duration::from_millis(50))
    }

    #[test]
    fn both_streams_are_drained_and_the_code_is_kept() {
        let script = "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; exit 3";
        let finished = run_child(&mut shell_command(script), &minute_bounds(), 400_000).unwrap();
        assert_eq!((finished.code, finished.stdout.len(), finished.extent), (Some(3), 300_000, Extent::Whole));
        assert_eq!(finished.stderr.len(), ERROR_BYTES);
    }

    #[test]
    fn output_beyond_the_cap_ends_the_child() {
        let finished = run_child(&mut shell_command("cat /dev/zero"), &minute_bounds(), 1000).unwrap();
        assert_eq!((finished.stdout.len(), finished.extent), (1000, Extent::Cut));
        assert_eq!(run_child(&mut shell_command("printf abc"), &minute_bounds(), 3).unwrap().extent, Extent::Whole);
        assert_eq!(run_child(&mut shell_command("printf abcd"), &minute_bounds(), 3).unwrap().extent, Extent::Cut);
    }

    #[test]
    fn a_child_that_never_ends_is_killed_at_the_deadline() {
        assert!(matches!(
            run_child(&mut shell_command("exec cat /dev/zero >/dev/null"), &short_bounds(), 10),
            Err(ChildFailure::TimedOut)
        ));
        let closed = "exec >&- 2>&-; while :; do :; done";
        assert!(matches!(run_child(&mut shell_command(closed), &short_bounds(), 10), Err(ChildFailure::TimedOut)));
    }

    fn stream_script(script: &str, input: &[u8], enough: usize) -> (usize, ChildExit) {
        let mut taken = 0;
        let mut take = |piece: &[u8]| {
            taken += piece.len();
            if taken < enough { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let streamed = stream_child(&mut shell_command(script), input.to_vec(), &minute_bounds(), &mut take).unwrap();
        (taken, streamed)
    }

    #[test]
    fn a_stream_is_taken_while_the_child_runs() {
        let (taken, streamed_all) = stream_script("head -c 3000000 /dev/zero; echo oh >&2; exit 4", b"", usize::MAX);
        assert_eq!((taken, streamed_all.code, streamed_all.extent), (3_000_000, Some(4), Extent::Whole));
        assert_eq!(streamed_all.stderr, b"oh\n");
        let (taken, cut) = stream_script("cat /dev/zero", b"", 1_000_000);
        assert_eq!((taken >= 1_000_000, cut.extent), (true, Extent::Cut));
    }

    #[test]
    fn input_and_output_may_both_be_larger_than_a_pipe() {
        let input = vec![b'x'; 2_000_000];
        let (taken, all) = stream_script("cat", &input, usize::MAX);
        assert_eq!((taken, all.code), (input.len(), Some(0)));
        // A child that reads nothing ends all the same.
        assert_eq!(stream_script("exit 0", &input, usize::MAX).1.code, Some(0));
    }

    #[test]
    fn a_stream_that_never_ends_is_killed_at_the_deadline() {
        let take = &mut |_: &[u8]| ControlFlow::Continue(());
        let result = stream_child(&mut shell_command("exec cat /dev/zero"), Vec::new(), &short_bounds(), take);
        assert!(matches!(result, Err(ChildFailure::TimedOut)));
    }

    #[test]
    fn no_time_means_no_child() {
        let nothing = bounds_after(Duration::ZERO);
        assert!(matches!(run_child(&mut Command::new("/does/not/exist"), &nothing, 10), Err(ChildFailure::TimedOut)));
    }

    #[test]
    fn a_child_that_says_nothing_is_asked_about() {
        let asked = std::cell::Cell::new(false);
        let check = |script: &str, way: ControlFlow<()>, expected: (bool, usize, bool)| {
            asked.set(false);
            let silent = || {
                asked.set(true);
                way
            };
            let bounds = ChildBounds { silence: Duration::from_millis(200), silent: &silent, ..minute_bounds() };
            let mut taken = 0;
            let mut take = |piece: &[u8]| {
                taken += piece.len();
                ControlFlow::Continue(())
            };
            let ended = stream_child(&mut shell_command(script), Vec::new(), &bounds, &mut take).is_ok();
            assert_eq!((ended, taken, asked.get()), expected, "{script}");
        };
        let (stop, go_on) = (ControlFlow::Break(()), ControlFlow::Continue(()));
        check("exec cat /dev/zero >/dev/null", stop, (false, 0, true));
        // Also one that has said something before, as much as a pipe hands over at a time.
        let piece = format!("head -c {PIECE} /dev/zero; exec cat /dev/zero >/dev/null");
        check(&piece, stop, (false, PIECE, true));
        // A child that is only slow goes on.
        check("n=0; while [ $n -lt 1000000 ]; do n=$((n + 1)); done; echo done", go_on, (true, 5, true));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_has_only_so_much_memory() {
        // The program holds a line as a whole. It begins once it hears something, which is behind the limit: what starts
        // others within its first moments may be ahead of it.
        let script = "read go; head -c 200000000 /dev/zero | tr '\\0' x | tail -n 1 | wc -c; exit 0";
        let held = |memory| {
            let bounds = ChildBounds { memory, ..minute_bounds() };
            let mut said = Vec::new();
            let mut take = |piece: &[u8]| {
                said.extend_from_slice(piece);
                ControlFlow::Continue(())
            };
            let ended = stream_child(&mut shell_command(script), b"go\n".to_vec(), &bounds, &mut take).unwrap();
            (String::from_utf8(said).unwrap().trim().to_owned(), ended.stderr)
        };
        assert_eq!(held(1 << 30).0, "200000000");
        let (count, stderr) = held(64 << 20);
        assert_eq!(count, "0");
        assert!(!stderr.is_empty(), "it says why");
    }
}
