//! This program once more, as a process of its own, from a clean environment.
//!
//! A process that reads texts from outside holds no credential (T7): a process that needs one is started beside it, and
//! finds it by itself. That process gets only the parts of the environment that locate the user's folders and the
//! programs, and belongs to no terminal's group, so that a ^C that ends its starter is cut off it in the middle of a
//! delivery.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tokio::sync::oneshot;

/// Variables that are handed on: where folders and programs are, how times and texts are written, and, in builds for
/// tests, what the clock says and where to stop.
const HANDED_ON: [&str; 15] = [
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "PROEM_KEY_FILE",
    "PROEM_CLOCK",
    "SystemRoot",
];
/// How much of what it says is kept of each stream, in bytes. The rest is read and thrown away.
const MOST: u64 = 4 * 1024 * 1024;

/// The most memory of a process that is started for its own sake, in bytes.
const APART_MEMORY: u64 = 2 << 30;

/// The program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnProgram {
    /// The executable to start.
    pub program: PathBuf,
    /// The words after the program's own name.
    pub arguments: Vec<OsString>,
}

/// A process that was started.
#[derive(Debug)]
pub struct OwnProcess {
    /// Its number.
    pub id: u32,
    end: oneshot::Receiver<io::Result<ProcessEnd>>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEnd {
    /// Its exit code. `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub error: Vec<u8>,
}

impl OwnProgram {
    /// Starts it for its own sake: nobody hears what it says, and it may outlive its starter. On Linux it may have at most 2 GiB of
    /// memory of its own.
    ///
    /// # Errors
    ///
    /// If the system starts no process.
    pub fn start_apart(&self) -> io::Result<()> {
        let mut command = self.command();
        // It may have been started in a folder that is to be removed.
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        crate::process::confine(&child, APART_MEMORY)?;
        // Its starter may run for long, and must leave no dead process behind.
        std::thread::Builder::new().name("proem-process".to_owned()).spawn(move || child.wait())?;
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear();
        command.envs(HANDED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// If the system starts no process.
    pub fn start(&self) -> io::Result<OwnProcess> {
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let id = child.id();
        let (said, end) = oneshot::channel();
        std::thread::Builder::new().name("proem-process".to_owned()).spawn(move || {
            let error = child.stderr.take();
            let reading = std::thread::spawn(move || error.map(read_at_most).transpose());
            let output = child.stdout.take().map(read_at_most).transpose();
            let end = || -> io::Result<ProcessEnd> {
                let output = output?.unwrap_or_default();
                let error = reading.join().map_err(|_| io::Error::other("the reader of its errors ended"))??;
                let code = child.wait()?.code();
                Ok(ProcessEnd { code, output, error: error.unwrap_or_default() })
            };
            // Its starter may have ended.
            _ = said.send(end());
        })?;
        Ok(OwnProcess { id, end })
    }
}

/// How much less a background process is preferred to others, of at most 19 (setpriority(2)).
const NICE: i32 = 15;

/// Moves this process into the background: into a session of its own, so that no terminal belongs to it, and behind all
/// others. If the system refuses a part of that, the process keeps it: a shell's own job is the first of its group, and
/// keeps its terminal.
pub fn leave_terminal() {
    _ = rustix::process::setsid();
    _ = rustix::process::nice(NICE);
}

fn read_at_most(mut from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    from.by_ref().take(MOST).read_to_end(&mut kept)?;
    io::copy(&mut from, &mut io::sink())?;
    Ok(kept)
}

impl OwnProcess {
    /// Asks it and all that it started to end (`SIGTERM`). One that has ended is left alone.
    #[cfg(unix)]
    pub fn ask_to_end(&self) {
        let group = i32::try_from(self.id).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group.filter(|_| self.end.is_empty()) {
            // It may end at this moment.
            _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }

    /// Waits for its end. May be dropped and called again before it is ready.
    ///
    /// # Errors
    ///
    /// If nobody could wait for it or read what it said.
    pub async fn end(&mut self) -> io::Result<ProcessEnd> {
        (&mut self.end).await.unwrap_or_else(|_| Err(io::Error::other("nobody waited for it")))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> OwnProgram {
        OwnProgram { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }
    }

    #[tokio::test]
    async fn what_it_says_and_how_it_ends_is_heard() {
        let end = shell("echo out; echo err >&2; exit 3").start().unwrap().end().await.unwrap();
        assert_eq!(end, ProcessEnd { code: Some(3), output: b"out\n".to_vec(), error: b"err\n".to_vec() });
        let end = shell("kill -9 $$").start().unwrap().end().await.unwrap();
        assert_eq!(end.code, None);
    }

    #[tokio::test]
    async fn it_gets_no_variable_that_is_not_handed_on_and_a_group_of_its_own() {
        let mut process = shell("env; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat").start().unwrap();
        let end = process.end().await.unwrap();
        let said = String::from_utf8(end.output).unwrap();
        let names = said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        // The variables that shells set themselves.
        let own = ["PWD", "SHLVL", "_", "OLDPWD"];
        let others: Vec<&str> = names.filter(|name| !HANDED_ON.contains(name) && !own.contains(name)).collect();
        assert!(others.is_empty(), "{others:?}");
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "there was something to keep back");
        assert_eq!(said.lines().last().unwrap().trim(), process.id.to_string());
    }

    #[test]
    fn what_is_started_apart_has_no_stream_of_its_starter_and_may_outlive_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let to = folder.path().join("said");
        let script = format!(
            "said=$(pwd; for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done; env); echo \"$said\" >'{0}.new'; mv '{0}.new' '{0}'",
            to.display()
        );
        shell(&script).start_apart().unwrap();
        let began = std::time::Instant::now();
        while !to.exists() && began.elapsed() < std::time::Duration::from_mins(1) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let said = crate::files::read_text(&to, 1 << 20).unwrap();
        assert!(said.starts_with("/\n/dev/null\n/dev/null\n/dev/null\n"), "{said}");
        assert!(!said.contains("CARGO_MANIFEST_DIR"), "{said}");
    }

    #[tokio::test]
    async fn a_flood_of_words_is_read_to_its_end() {
        let mut process = shell("yes 0123456789 | head -c 9000000; yes x | head -c 9000000 >&2").start().unwrap();
        let end = process.end().await.unwrap();
        assert_eq!((end.code, end.output.len(), end.error.len()), (Some(0), 4 * 1024 * 1024, 4 * 1024 * 1024));
    }
}
