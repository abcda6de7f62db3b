//! ^C, or the signal by which a service is stopped: the first one tells what is under way to end, the second one ends
//! at once.
//!
//! Invariants: the first interrupt loses nothing, because the ending work writes its end down. The second one leaves
//! the same state as a kill. Bookings stay, and the next process that opens the records settles them in full.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::ctrl_c;
use tokio_util::sync::CancellationToken;

use crate::ui;

/// How long the end may take before a person is told how to have it at once.
const UNSAID: Duration = Duration::from_secs(1);

/// The exit code of what a ^C ended at once: 128 and the number of the signal, as shells count.
const INTERRUPTED: i32 = 130;

/// Cancels `stop` at the first ^C, and ends the process at the second one. `meanwhile` says what goes on between them,
/// for a person who waits.
pub(crate) async fn stop_on_interrupt(stop: CancellationToken, meanwhile: &'static str) {
    if let Err(error) = interrupt_signal().await {
        ui::print_note(&format!("can't listen for ^C: {error}"));
        return;
    }
    let mut second = pin!(interrupt_signal());
    stop.cancel();
    let heard = tokio::select! {
        biased;
        heard = &mut second => heard,
        () = tokio::time::sleep(UNSAID) => {
            say_how_to_end(meanwhile);
            second.await
        }
    };
    if heard.is_ok() {
        end_as_killed();
    }
}

/// A flag that each ^C sets from now on, instead of ending the process.
///
/// # Errors
///
/// If signals can't be listened for.
pub(super) fn flag() -> io::Result<Arc<AtomicBool>> {
    use tokio::signal::unix::{SignalKind, signal};

    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut interrupts = {
        let _context = runtime.enter();
        signal(SignalKind::interrupt())?
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            while interrupts.recv().await.is_some() {
                set.store(true, Ordering::Relaxed);
            }
        });
    });
    Ok(flag)
}

/// Waits until somebody asks the process to end.
#[cfg(unix)]
async fn interrupt_signal() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut stopped = signal(SignalKind::terminate())?;
    tokio::select! {
        heard = ctrl_c() => heard,
        _ = stopped.recv() => Ok(()),
    }
}

/// Waits until somebody asks the process to end.
#[cfg(not(unix))]
async fn interrupt_signal() -> io::Result<()> {
    ctrl_c().await
}

/// Says how to end at once.
fn say_how_to_end(meanwhile: &str) {
    let _still = ui::clear_progress();
    ui::print_progress_note(meanwhile);
}

/// Ends the process as a kill does, with the terminal as it was.
#[expect(clippy::exit, reason = "the way out that runs no destructors is the one that was asked for")]
fn end_as_killed() {
    // Held, so that nothing is drawn again.
    let _still = ui::clear_progress();
    std::process::exit(INTERRUPTED);
}
