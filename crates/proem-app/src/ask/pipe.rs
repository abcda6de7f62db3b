//! Standard input, bounded in bytes and time.

use std::io::Read;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::attachment::is_binary_content;
use crate::error::Error;

/// The most bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// How long is waited before `waiting` is told.
const UNSAID: Duration = Duration::from_secs(1);

/// Reads all that `from` gives. `None` if that is nothing. `waiting` is told once if it takes long.
///
/// # Errors
///
/// If it is unfinished within `most`, too long, or not text.
pub fn read_pipe(
    from: impl Read + Send + 'static,
    most: Duration,
    waiting: impl FnOnce(),
) -> Result<Option<String>, Error> {
    let (send, receive) = channel();
    // Nobody waits for it: a read that hangs ends with the process.
    _ = thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = from.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes);
        _ = send.send(read.map(|_| bytes));
    });
    let first = most.min(UNSAID);
    let read = match receive.recv_timeout(first) {
        Err(RecvTimeoutError::Timeout) if first < most => {
            waiting();
            receive.recv_timeout(most.saturating_sub(first))
        }
        read => read,
    };
    let Ok(read) = read else {
        let seconds = most.as_secs();
        return Err(Error::invalid(format!(
            "standard input has not ended within {seconds} s; end it, or give none with `< /dev/null`"
        )));
    };
    let bytes = read.map_err(|error| Error::outside(format!("could not read standard input: {error}")))?;
    if is_binary_content(&bytes) {
        return Err(Error::invalid("standard input is binary; convert it to text"));
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::invalid(format!(
            "standard input has more than {MAX_BYTES} bytes; keep the part that matters, such as by `grep` or `tail`"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid("standard input is not UTF-8; convert it"))?;
    Ok((!text.trim().is_empty()).then_some(text))
}
