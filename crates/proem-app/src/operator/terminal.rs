//! The controlling terminal, as the system knows it.

use std::fs::File;
#[cfg(unix)]
use std::path::Path;

#[cfg(unix)]
use proem_runtime::files::{self, FileContent};

use super::OperatorAbsence;
use super::page::ScreenSize;

/// More than any system's own users, in bytes.
#[cfg(unix)]
const MAX_USERS: usize = 1 << 20;

/// The terminal that controls this process, which is in its foreground and has its input and notes there.
#[cfg(unix)]
pub(super) fn controlling() -> Result<File, OperatorAbsence> {
    use rustix::fs::{Mode, OFlags, open};
    use rustix::process::getpgrp;
    use rustix::termios::tcgetpgrp;

    // The system tells a terminal's foreground only to those whom that terminal controls.
    let absent = |_| OperatorAbsence::NoTerminal;
    tcgetpgrp(std::io::stdin()).map_err(absent)?;
    tcgetpgrp(std::io::stderr()).map_err(absent)?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = open("/dev/tty", flags, Mode::empty()).map_err(absent)?;
    if tcgetpgrp(&terminal).map_err(absent)? == getpgrp() {
        Ok(File::from(terminal))
    } else {
        Err(OperatorAbsence::Background)
    }
}

#[cfg(not(unix))]
pub(super) fn controlling() -> Result<File, OperatorAbsence> {
    Err(OperatorAbsence::Unsupported)
}

/// How large a terminal says that it is.
#[cfg(unix)]
pub(super) fn size(terminal: &File) -> Option<ScreenSize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(ScreenSize { columns: usize::from(size.ws_col), rows: usize::from(size.ws_row) })
}

#[cfg(not(unix))]
pub(super) fn size(_: &File) -> Option<ScreenSize> {
    None
}

/// Forgets what was typed and not read.
#[cfg(unix)]
pub(super) fn discard_input(terminal: &File) {
    // A terminal that can't do that is about to fail at being written to.
    _ = rustix::termios::tcflush(terminal, rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
pub(super) fn discard_input(_: &File) {}

/// The user that this process belongs to: the name in the system's table, or else the number. Anybody could have set
/// the environment.
#[cfg(unix)]
pub(super) fn user() -> String {
    let id = rustix::process::getuid().as_raw();
    let users = match files::read_beneath(Path::new("/etc"), Path::new("passwd"), MAX_USERS) {
        Ok(Some(FileContent::Whole(bytes))) => bytes,
        _ => Vec::new(),
    };
    name(&String::from_utf8_lossy(&users), id).unwrap_or_else(|| format!("uid-{id}"))
}

#[cfg(not(unix))]
pub(super) fn user() -> String {
    "unknown".to_owned()
}

/// The name of a user in a table as passwd(5) has it.
#[cfg(unix)]
fn name(users: &str, id: u32) -> Option<String> {
    let of = |line: &str| {
        let mut fields = line.split(':');
        let (name, _, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(id) && !name.is_empty()).then(|| name.to_owned())
    };
    users.lines().find_map(of)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_called_as_the_table_says() {
        let users = "root:x:0:0::/root:/bin/sh\nbroken\n:x:7:7:::\nann:x:1000:1000::/:\nann2:x:1000:1000::/:\n";
        for (id, expected) in [(0, Some("root")), (1000, Some("ann")), (7, None), (10, None)] {
            assert_eq!(name(users, id).as_deref(), expected, "{id}");
        }
    }
}
