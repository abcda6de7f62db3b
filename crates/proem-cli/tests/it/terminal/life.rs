//! The screen while a model is asked, and the rest of it afterwards.

use proem_llm::scripted::{Delivery, Reply};

use crate::terminal::scene::{answer, proem, scene, settled};
use crate::terminal::screen::{start, visible};

const ASK: [&str; 4] = ["run", "reviews/triage", "--set", "title=It crashes"];

fn late_reply(reply: Reply, delay_ms: u64) -> Reply {
    Reply { how: Delivery { delay_ms, ..reply.how }, ..reply }
}

#[test]
fn what_says_that_it_works_goes_away() {
    let (_server, fixture) = scene(vec![late_reply(answer("low", 6_500, 0), 2_000)]);
    let Some(mut terminal) = start(proem(&fixture, &ASK)) else { return };
    terminal.until("asking anthropic/claude-haiku-4-5");
    let left = terminal.end();
    left.is_tidy();
    assert_eq!(left.code, Some(0), "{}", left.shown);
    snapshot!("an_answer_on_a_terminal", settled(&fixture, &left.shown));
}

#[test]
fn a_batch_that_is_interrupted_leaves_no_bar() {
    let (server, fixture) = scene(vec![answer("low", 6_500, 0), late_reply(answer("low", 0, 6_500), 600_000)]);
    fixture.write("rows.jsonl", "{\"title\": \"a\"}\n{\"title\": \"b\"}\n");
    let batch = ["run", "reviews/triage", "--batch", "rows.jsonl", "--concurrency", "1", "--out", "out.jsonl"];
    let Some(mut terminal) = start(proem(&fixture, &batch)) else { return };
    terminal.until("1/2");
    server.await_requests(2);
    terminal.press("\u{3}");
    let left = terminal.end();
    left.is_tidy();
    assert!(left.shown.contains("and 1 of unknown cost"), "it was sent: {}", left.shown);
    let said = format!("{}\n── exit code {}\n", left.shown.trim_end(), left.code.unwrap());
    snapshot!("a_batch_that_is_interrupted", settled(&fixture, &said));
}

#[test]
fn nothing_is_drawn_where_nobody_looks() {
    let (_server, fixture) = scene(vec![late_reply(answer("low", 6_500, 0), 1_000)]);
    let run = fixture.proem(&ASK);
    assert!(!run.stderr().contains("asking") && !run.stderr().contains('\u{1b}'), "{}", run.stderr());
}

#[test]
fn a_run_that_is_interrupted_says_so_and_is_kept() {
    let (server, fixture) = scene(vec![late_reply(answer("low", 6_500, 0), 600_000)]);
    let Some(mut terminal) = start(proem(&fixture, &ASK)) else { return };
    terminal.until("asking anthropic/claude-haiku-4-5");
    server.await_requests(1);
    terminal.press("\u{3}");
    let left = terminal.end();
    left.is_tidy();
    let shown = start(proem(&fixture, &["runs", "show", "last"])).unwrap().end();
    assert!(left.shown.contains("tokens unknown  cost unknown"), "it was sent: {}", left.shown);
    let code = left.code.unwrap();
    let said = format!("{}\n── exit code {code}\n\n{}", left.shown.trim_end(), visible(&shown.shown));
    snapshot!("a_run_that_is_interrupted", settled(&fixture, &said));
}

#[test]
fn a_terminal_shows_no_credential() {
    // The shape of a token, put together here so that no scanner of sources takes it for one.
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let (_server, fixture) = scene(vec![]);
    for args in [&["assemble", &format!("replace {token}")][..], &["runs", "show", "last", "--any", "--full"]] {
        let Some(terminal) = start(proem(&fixture, args)) else { return };
        let left = terminal.end();
        assert_eq!(left.code, Some(0), "{}", left.shown);
        let shown: String = left.shown.split_whitespace().collect();
        assert!(!shown.contains(&token) && shown.contains("[redacted:github-token]"), "{args:?}: {}", left.shown);
    }
    assert!(fixture.proem(&["assemble", &format!("replace {token}")]).answer().contains(&token), "a pipe is exact");
}
