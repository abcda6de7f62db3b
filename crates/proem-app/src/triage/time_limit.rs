//! How long a signal may take to be read.
//!
//! Everything that reads text from outside takes time in proportion to its length. These limits hold where that fails:
//! what exceeds them is kept for a person, and nothing reads it again unasked.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::error::Error;

/// How long it may take to make signals of some lines of a file, of one value, or of a mail (the seed's stage
/// *normalise*).
pub(super) const NORMALISE: Duration = Duration::from_secs(30);

/// How long it may take to look through the texts of a signal (the seed's stage *sanitise*).
pub(super) const SANITISE: Duration = Duration::from_secs(120);

/// Why something is kept for a person that was not read within the limit.
pub(super) fn late_reason(limit: Duration) -> String {
    format!("took longer than {} s to be read", limit.as_secs())
}

/// The outcome for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    ByCaller,
    /// Nobody waits for results any more.
    ByNobody,
}

/// The results of work that is done in a thread of its own, each within the limit. The last one is `None` if one was
/// not there in time. The thread can't be stopped, so what it makes after that is dropped.
///
/// # Errors
///
/// If the system has no thread left.
pub(super) fn in_time<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(&dyn Fn(T) -> Taken) + Send + 'static,
) -> Result<impl Iterator<Item = Option<T>>, Error> {
    // One result waits, so that a thread is never far ahead of who takes its results.
    let (sender, receiver) = sync_channel(1);
    let run = move || work(&|result| if sender.send(result).is_ok() { Taken::ByCaller } else { Taken::ByNobody });
    let thread = Builder::new().name("reading".to_owned()).spawn(run);
    thread.map_err(|error| Error::outside(format!("no thread can be started to read signals: {error}")))?;
    let mut is_over = false;
    Ok(std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let asked = Instant::now();
        match receiver.recv_timeout(limit) {
            Ok(result) if asked.elapsed() <= limit => Some(Some(result)),
            Err(RecvTimeoutError::Disconnected) => {
                is_over = true;
                None
            }
            // One that comes at the last moment may be late as well, so that no limit at all makes every result late.
            Ok(_) | Err(RecvTimeoutError::Timeout) => {
                is_over = true;
                Some(None)
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(limit: Duration, work: impl FnOnce() -> Vec<u8> + Send + 'static) -> Vec<Option<u8>> {
        let give = move |give: &dyn Fn(u8) -> Taken| work().into_iter().for_each(|result| _ = give(result));
        in_time(limit, give).unwrap().collect()
    }

    #[test]
    fn what_is_there_in_time_comes_in_order() {
        assert_eq!(results(NORMALISE, || vec![1, 2, 3]), [Some(1), Some(2), Some(3)]);
        assert_eq!(results(NORMALISE, Vec::new), []);
    }

    #[test]
    fn work_without_end_is_waited_for_no_longer_than_the_limit() {
        let (_kept, never) = std::sync::mpsc::channel::<u8>();
        let late = results(Duration::from_millis(1), move || never.into_iter().collect());
        assert_eq!(late, [None]);
    }
}
