//! Two ^C on a terminal: the second one ends at once, and leaves the terminal as it was.

use proem_llm::scripted::{How, Reply};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::scene::{answer, proem, scene};
use crate::screen::start;

#[test]
fn a_second_interrupt_ends_at_once() {
    let low = answer("low", 6_500, 0);
    let late = Reply { how: How { delay_ms: 600_000, ..low.how }, ..low };
    let (server, fixture) = scene(vec![late]);
    let Some(mut terminal) = start(proem(&fixture, &["run", "reviews/triage", "--set", "title=It crashes"])) else {
        return;
    };
    terminal.until("asking anthropic/claude-haiku-4-5");
    while server.requests().is_empty() {
        std::thread::yield_now();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let records = fixture.base.join("state/proem/records.db");
        let mut other = sqlx::sqlite::SqliteConnectOptions::new().filename(records).connect().await.unwrap();
        other.execute("BEGIN IMMEDIATE").await.unwrap();
        terminal.press("\u{3}");
        terminal.until("a second ^C ends at once");
        terminal.press("\u{3}");
        let left = terminal.end();
        left.is_tidy();
        assert_eq!(left.code, Some(130), "{}", left.shown);
        let note = "note: ending; a second ^C ends at once, and what was sent is then booked in full";
        assert_eq!((left.shown.trim_end(), left.wrapped()), (note, 0), "neither a bar nor a key's echo is left");
        other.execute("ROLLBACK").await.unwrap();
        other.close().await.unwrap();
    });
}
