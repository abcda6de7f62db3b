//! Runs a child with all that it starts within bounds.
//!
//! Invariants: the child leads a process group of its own, and the group is killed when the child has ended, wrote too
//! much, ran out of time or is not wanted any more, so that its own children neither hold the caller up nor stay. A
//! process that leaves the group on purpose (`setsid`) stays. Its output is not waited for.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{ChildOutput, Deadline, ERROR_BYTES, Extent, PIECES, memory};

/// How long it is waited between two looks at the child.
const LOOK: Duration = Duration::from_millis(2);
/// How long output is waited for that is still held by what has left the group.
const GRACE: Duration = Duration::from_millis(200);
/// How much of a stream is read at a time.
const PIECE_BYTES: usize = 64 << 10;

pub(crate) struct GroupBounds<'b> {
    /// When it must have ended.
    pub(crate) deadline: Deadline,
    /// The memory of its own that each process may have, in bytes. Enforced on Linux.
    pub(crate) memory: u64,
    /// The most bytes of output.
    pub(crate) output: usize,
    /// Whether nobody wants it any more.
    pub(crate) is_unwanted: &'b (dyn Fn() -> bool + Sync),
}

/// Why there is no output.
#[derive(Debug)]
pub(crate) enum GroupFailure {
    /// It could not be started, so it did nothing.
    Unstarted(io::Error),
    /// The deadline came first.
    TimedOut,
    /// Nobody wanted it any more.
    Unwanted,
    /// It could not be waited for.
    Lost(io::Error),
}

/// Runs `command` with `input` on standard input, until it ends or a bound is reached.
pub(crate) fn run_group(
    command: &mut Command,
    input: Vec<u8>,
    bounds: &GroupBounds<'_>,
) -> Result<ChildOutput, GroupFailure> {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group(command.spawn().map_err(GroupFailure::Unstarted)?);
    memory::confine(&group.0, bounds.memory).map_err(GroupFailure::Lost)?;
    let streams = pump(&mut group.0, input).map_err(GroupFailure::Lost)?;
    let mut output = ChildOutput { code: None, stdout: Vec::new(), extent: Extent::Whole, stderr: Vec::new() };
    let mut open = 2_u8;
    let mut ended: Option<Instant> = None;
    loop {
        match streams.recv_timeout(LOOK) {
            Ok(Streamed::Output(piece)) => {
                output.stdout.extend(piece);
                if output.stdout.len() > bounds.output {
                    output.stdout.truncate(bounds.output);
                    output.extent = Extent::Cut;
                    return Ok(output);
                }
            }
            Ok(Streamed::Error(piece)) => {
                let room = ERROR_BYTES.saturating_sub(output.stderr.len());
                output.stderr.extend(piece.into_iter().take(room));
            }
            Ok(Streamed::End) => open = open.saturating_sub(1),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        if ended.is_none() && group.has_ended().map_err(GroupFailure::Lost)? {
            // Before it is waited for: until then nobody else can have its number.
            group.kill();
            output.code = group.0.wait().map_err(GroupFailure::Lost)?.code();
            ended = Some(Instant::now());
        }
        match ended {
            Some(at) if open == 0 || at.elapsed() > GRACE => return Ok(output),
            _ if (bounds.is_unwanted)() => return Err(GroupFailure::Unwanted),
            _ if bounds.deadline.left().is_none() => return Err(GroupFailure::TimedOut),
            _ => {}
        }
    }
}

enum Streamed {
    Output(Vec<u8>),
    Error(Vec<u8>),
    End,
}

/// Moves what goes into and comes out of a child, each in a thread of its own.
fn pump(child: &mut Child, input: Vec<u8>) -> io::Result<mpsc::Receiver<Streamed>> {
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    let (sender, receiver) = mpsc::sync_channel(PIECES);
    let mut stdin = child.stdin.take().ok_or_else(closed)?;
    let (stdout, stderr) = (child.stdout.take().ok_or_else(closed)?, child.stderr.take().ok_or_else(closed)?);
    // A child that ends without having read all says by its exit code what that means.
    thread::Builder::new().spawn(move || io::Write::write_all(&mut stdin, &input))?;
    let for_errors = sender.clone();
    thread::Builder::new().spawn(move || read_pieces(stdout, &sender, Streamed::Output))?;
    thread::Builder::new().spawn(move || read_pieces(stderr, &for_errors, Streamed::Error))?;
    Ok(receiver)
}

/// Sends all of `from` as it comes. Ends early once nobody listens.
fn read_pieces(mut from: impl Read, to: &SyncSender<Streamed>, piece: impl Fn(Vec<u8>) -> Streamed) {
    let mut buffer = vec![0; PIECE_BYTES];
    // A stream that can't be read has ended.
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let bytes = buffer.get(..read).unwrap_or_default().to_vec();
        if to.send(piece(bytes)).is_err() {
            return;
        }
    }
    // A receiver that is gone needs no end.
    let _ = to.send(Streamed::End);
}

/// A child that leads a group, which is killed and waited for when nobody is interested any more.
struct Group(Child);

impl Group {
    fn id(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
    }

    /// Whether the child has ended. It keeps its number.
    fn has_ended(&self) -> io::Result<bool> {
        let Some(id) = self.id() else { return Ok(true) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(id), options)?.is_some())
    }

    fn kill(&self) {
        if let Some(id) = self.id() {
            // It fails only when nobody is left.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A child that was waited for has left its number to others.
        if self.0.try_wait().is_ok_and(|status| status.is_none()) {
            self.kill();
            // It fails only when the child was waited for.
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, millis: u64, output: usize) -> Result<ChildOutput, GroupFailure> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let deadline = Deadline::after(Duration::from_millis(millis));
        run_group(
            &mut command,
            b"in".to_vec(),
            &GroupBounds { deadline, memory: 1 << 30, output, is_unwanted: &|| false },
        )
    }

    #[test]
    fn a_grandchild_that_holds_the_output_holds_nobody_up_and_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alive");
        let script = format!("(while :; do date >> '{}'; sleep 0.05; done) & cat; echo; echo done", file.display());
        let began = Instant::now();
        let output = run(&script, 20_000, 100).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "in\ndone\n");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        let size = || std::fs::metadata(&file).map_or(0, |file| file.len());
        let before = size();
        thread::sleep(Duration::from_millis(300));
        assert_eq!(size(), before, "it is killed with its group");
    }

    #[test]
    fn what_never_ends_ignores_signals_or_writes_without_end_is_killed() {
        assert!(matches!(run("sleep 100", 50, 100), Err(GroupFailure::TimedOut)));
        assert!(matches!(run("trap '' TERM INT HUP; while :; do sleep 1; done", 50, 100), Err(GroupFailure::TimedOut)));
        let output = run("yes", 20_000, 1_000).unwrap();
        assert_eq!((output.extent, output.stdout.len()), (Extent::Cut, 1_000));
        let mut missing = Command::new("/nowhere/at/all");
        let deadline = Deadline::after(Duration::from_secs(1));
        let bounds = GroupBounds { deadline, memory: 1 << 30, output: 1, is_unwanted: &|| false };
        assert!(matches!(run_group(&mut missing, Vec::new(), &bounds), Err(GroupFailure::Unstarted(_))));
        let mut unwanted = Command::new("/bin/sleep");
        unwanted.arg("100");
        let bounds =
            GroupBounds { is_unwanted: &|| true, deadline: Deadline::after(Duration::from_secs(20)), ..bounds };
        assert!(matches!(run_group(&mut unwanted, Vec::new(), &bounds), Err(GroupFailure::Unwanted)));
    }
}
