//! A lock that lets one process do something at a time: perform actions, or watch a folder.
//!
//! Invariants: the lock ends with the process that holds it, however that ends; who holds it is written into the file
//! for people to read, and nothing is decided by it. Whether the file is on a local disk is for the caller to find out:
//! elsewhere the lock may hold nobody off.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::path_on_screen;
use crate::files::open_to_lock;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct InstanceLock {
    /// Closing the file gives the lock back. It is not inherited by children, as Rust opens files.
    _file: File,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockRefusal {
    /// Another process has it.
    #[error("{holder} has it; wait until it has ended, or end it")]
    Held {
        /// Its holder, as far as the file names it: a process and its number.
        holder: String,
    },
    /// The file can't be locked.
    #[error("could not lock `{}`: {source}", path_on_screen(.path))]
    Io {
        /// The lock's file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl InstanceLock {
    /// Takes the lock in the file at `path`, which is made if it isn't there and stays.
    ///
    /// # Errors
    ///
    /// [`LockRefusal::Held`] at once if somebody has it. [`LockRefusal::Io`] if there can be no lock, as in a place
    /// that can't be written.
    pub fn acquire(path: &Path) -> Result<Self, LockRefusal> {
        let broken = |source| LockRefusal::Io { path: path.to_path_buf(), source };
        let mut file = open_to_lock(path).map_err(broken)?;
        match file.try_lock() {
            Ok(()) => {
                // Nothing depends on these words, so a full disk stops nobody.
                _ = write_holder(&mut file);
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => Err(LockRefusal::Held { holder: holder(&mut file) }),
            Err(TryLockError::Error(error)) => Err(broken(error)),
        }
    }
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// The holder of the lock, from the file, which anybody may have written.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let number = file.take(16).read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok());
    number.map_or_else(|| "another process".to_owned(), |number| format!("process {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};
    use tempfile::TempDir;

    #[test]
    fn one_has_the_lock_until_it_is_dropped() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("performer.lock");
        let lock = InstanceLock::acquire(&path).unwrap();
        let refused = InstanceLock::acquire(&path).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("process {} has it; wait until it has ended, or end it", std::process::id())
        );
        drop(lock);
        InstanceLock::acquire(&path).unwrap();
    }

    #[test]
    fn no_child_keeps_the_lock() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("performer.lock");
        let lock = InstanceLock::acquire(&path).unwrap();
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        drop(lock);
        // A child that another test is about to start has a copy of everything until it has become its program.
        let began = Instant::now();
        let again = loop {
            let again = InstanceLock::acquire(&path);
            if again.is_ok() || began.elapsed() > Duration::from_secs(30) {
                break again;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        drop(child.stdin.take());
        child.wait().unwrap();
        again.unwrap();
    }

    #[test]
    fn what_the_file_says_is_no_lock() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("performer.lock");
        for text in ["1\n", "", "\u{1b}[2J", "99999999999999999999"] {
            std::fs::write(&path, text).unwrap();
            drop(InstanceLock::acquire(&path).unwrap());
        }
    }

    #[test]
    fn no_link_and_no_folder_is_locked() {
        let folder = TempDir::new().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
        for path in [link, folder.path().to_path_buf(), folder.path().join("no/lock")] {
            assert!(matches!(InstanceLock::acquire(&path), Err(LockRefusal::Io { .. })), "{}", path.display());
        }
        assert!(!folder.path().join("elsewhere").exists());
    }
}
