//! ^C while a model is asked: the first one tells what is under way to end, the second one ends at once.
//!
//! Invariants: the first ^C loses nothing, since what ends by itself writes its end down; the second one leaves
//! what a kill leaves. What was booked stays booked, and whoever opens the records next settles it in full.

use std::pin::pin;
use std::time::Duration;

use tokio::signal::ctrl_c;
use tokio_util::sync::CancellationToken;

use crate::ui;

/// How long the end may take before a person is told how to have it at once.
const UNSAID: Duration = Duration::from_secs(1);

/// The exit code of what a ^C ended at once: 128 and the number of the signal, as shells count.
const INTERRUPTED: i32 = 130;

/// Cancels `stop` at the first ^C, and ends the process at the second one.
pub(super) async fn listen(stop: CancellationToken) {
    if let Err(error) = ctrl_c().await {
        ui::note(&format!("can't listen for ^C: {error}"));
        return;
    }
    let mut second = pin!(ctrl_c());
    stop.cancel();
    let heard = tokio::select! {
        biased;
        heard = &mut second => heard,
        () = tokio::time::sleep(UNSAID) => {
            say();
            second.await
        }
    };
    if heard.is_ok() {
        end();
    }
}

/// Says how to end at once.
fn say() {
    let _still = ui::cleared();
    ui::note("stopping; a second ^C stops at once and charges open requests in full");
}

/// Ends the process as a kill does, with the terminal as it was.
#[expect(clippy::exit, reason = "the way out that runs no destructors is the one that was asked for")]
fn end() {
    // Held, so that nothing is drawn again.
    let _still = ui::cleared();
    std::process::exit(INTERRUPTED);
}
