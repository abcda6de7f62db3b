//! Two ^C on a terminal: the second one ends at once, and leaves the terminal as it was.

use proem_llm::scripted::{Delivery, Reply};

use crate::fixture::Locked;
use crate::terminal::scene::{answer, proem, scene};
use crate::terminal::screen::start;

#[test]
fn a_second_interrupt_ends_at_once() {
    let low = answer("low", 6_500, 0);
    let late = Reply { how: Delivery { delay_ms: 600_000, ..low.how }, ..low };
    let (server, fixture) = scene(vec![late]);
    let Some(mut terminal) = start(proem(&fixture, &["run", "reviews/triage", "--set", "title=It crashes"])) else {
        return;
    };
    terminal.until("asking anthropic/claude-haiku-4-5");
    server.await_requests(1);
    let locked = Locked::of(&fixture);
    terminal.press("\u{3}");
    terminal.until("a second ^C stops at once");
    terminal.press("\u{3}");
    let left = terminal.end();
    left.is_tidy();
    assert_eq!(left.code, Some(130), "{}", left.shown);
    let note = "note: stopping; a second ^C stops at once and charges open requests in full";
    assert_eq!((left.shown.trim_end(), left.wrapped()), (note, 0), "neither a bar nor a key's echo is left");
    locked.let_go();
}
