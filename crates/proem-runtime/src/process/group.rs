//! Runs a child with all that it starts within bounds.
//!
//! Invariants: the child leads a process group of its own, and the group is killed when the child has ended, wrote too
//! much, ran out of time or is not wanted any more, so that its own children neither hold the caller up nor stay. A
//! process that leaves the group on purpose (`setsid`) is found by a mark in its environment on Linux, and stays
//! elsewhere. Its output is not waited for.

#[cfg(feature = "mcp")]
use std::fmt;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
#[cfg(feature = "mcp")]
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
#[cfg(feature = "mcp")]
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::strays::GroupMark;
use super::{ChildOutput, Deadline, ERROR_BYTES, Extent, PIECES, memory};

/// How long it is waited between two looks at the child.
const LOOK: Duration = Duration::from_millis(2);
/// How long output is waited for that is still held by what has left the group.
const GRACE: Duration = Duration::from_millis(200);
/// How much is kept of what a talking child wrote to standard error last.
#[cfg(feature = "mcp")]
const LAST_ERRORS: usize = 2 << 10;
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
    let mark = GroupMark::put_on(command);
    let mut group = Group { leader: command.spawn().map_err(GroupFailure::Unstarted)?, mark };
    memory::confine(&group.leader, bounds.memory).map_err(GroupFailure::Lost)?;
    let streams = pump(&mut group.leader, input).map_err(GroupFailure::Lost)?;
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
            output.code = group.leader.wait().map_err(GroupFailure::Lost)?.code();
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

/// A child with all that it starts, which others talk with until this is dropped.
#[cfg(feature = "mcp")]
#[derive(Debug)]
pub(crate) struct TalkingGroup {
    /// The child's standard input.
    pub(crate) input: ChildStdin,
    /// The child's standard output.
    pub(crate) output: ChildStdout,
    /// Kills the child and all that it started when it is dropped.
    pub(crate) life: GroupLife,
}

/// Keeps a group alive, and the end of what it wrote to standard error.
#[cfg(feature = "mcp")]
pub(crate) struct GroupLife {
    group: Group,
    errors: Arc<Mutex<Vec<u8>>>,
}

#[cfg(feature = "mcp")]
impl fmt::Debug for GroupLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupLife").finish_non_exhaustive()
    }
}

#[cfg(feature = "mcp")]
impl GroupLife {
    /// Whether the child has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.group.has_ended().unwrap_or(true)
    }

    /// The last that it wrote to standard error, from a whole word on: a part of one could be that of a credential.
    pub(crate) fn last_errors(&self) -> String {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&errors);
        let is_whole = errors.len() < LAST_ERRORS;
        let whole = if is_whole { &text } else { text.split_once(char::is_whitespace).map_or("", |(_, after)| after) };
        whole.to_owned()
    }
}

/// Starts `command` in a group of its own, each process with so much memory of its own.
#[cfg(feature = "mcp")]
pub(crate) fn talk_with_group(command: &mut Command, memory: u64) -> io::Result<TalkingGroup> {
    use std::os::unix::process::CommandExt as _;
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mark = GroupMark::put_on(command);
    let mut group = Group { leader: command.spawn()?, mark };
    memory::confine(&group.leader, memory)?;
    let (input, output) = (group.leader.stdin.take(), group.leader.stdout.take());
    let mut stderr = group.leader.stderr.take().ok_or_else(closed)?;
    let errors = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&errors);
    thread::Builder::new().spawn(move || {
        let mut piece = [0; 4096];
        // A stream that can't be read has ended.
        while let Ok(read @ 1..) = stderr.read(&mut piece) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(piece.iter().take(read));
            let surplus = kept.len().saturating_sub(LAST_ERRORS);
            kept.drain(..surplus);
        }
    })?;
    let (input, output) = (input.ok_or_else(closed)?, output.ok_or_else(closed)?);
    Ok(TalkingGroup { input, output, life: GroupLife { group, errors } })
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
struct Group {
    leader: Child,
    mark: GroupMark,
}

impl Group {
    fn id(&self) -> Option<Pid> {
        i32::try_from(self.leader.id()).ok().and_then(Pid::from_raw)
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
        self.mark.kill_marked();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A child that was waited for has left its number to others.
        if self.leader.try_wait().is_ok_and(|status| status.is_none()) {
            self.kill();
            // It fails only when the child was waited for.
            let _ = self.leader.wait();
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

    /// Whether a file that a script writes into again and again stays as it is.
    fn rests(file: &std::path::Path) -> bool {
        let size = || std::fs::metadata(file).map_or(0, |file| file.len());
        let before = size();
        thread::sleep(Duration::from_millis(300));
        size() == before && before > 0
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_leaves_the_group_with_setsid_is_found_and_does_not_stay() {
        for (name, end, millis) in [("ended", "sleep 0.3; echo done", 20_000), ("late", "sleep 100", 500)] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("alive");
            // Twice, so that its parent is nobody of the group's either.
            let stray = format!("while :; do date >> '{}'; sleep 0.05; done", file.display());
            let script = format!("setsid sh -c \"setsid sh -c \\\"{stray}\\\" &\" >/dev/null 2>&1 </dev/null; {end}");
            let ran = run(&script, millis, 100);
            assert_eq!(ran.is_ok(), name == "ended", "{ran:?}");
            assert!(rests(&file), "{name}: it stays");
        }
        // A process of the same user without the mark, or with another's, stays.
        let mut other = Command::new("/bin/sleep");
        let mark = GroupMark::put_on(&mut other);
        let mut other = other.arg("100").spawn().unwrap();
        run("true", 20_000, 100).unwrap();
        assert!(other.try_wait().unwrap().is_none());
        mark.kill_marked();
        assert_eq!(other.wait().unwrap().code(), None);
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
