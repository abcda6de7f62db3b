//! Answers that are written as they arrive.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::num::{NonZeroU16, NonZeroUsize};
use std::sync::mpsc::channel;

use proem_llm::scripted::{Delivery, DeliveryEnd, RawReply, Reply, ReplyContent, ScriptedServer};

use crate::fixture::Fixture;
use crate::records::sql;
use crate::run::{fixture, set_up, start as serve};
use crate::terminal::scene::proem;
use crate::terminal::screen::{start, start_on};

const ASK: [&str; 4] = ["run", "reviews/free", "--set", "title=Say hello"];

const SMALL: NonZeroU16 = NonZeroU16::new(20).unwrap();

/// A user at a terminal.
fn scene(replies: Vec<Reply>, more: &str) -> (ScriptedServer, Fixture) {
    let server = serve(replies);
    let mut fixture = fixture(&server, more);
    fixture.set("TERM", "xterm-256color");
    (server, fixture)
}

/// A stream of these pieces of text that stops for a long time behind the first.
fn stalled(pieces: &[&str]) -> Reply {
    let event = |name: &str, data: serde_json::Value| format!("event: {name}\ndata: {data}\n\n");
    let delta = |text: &&str| {
        let data = serde_json::json!({
            "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text },
        });
        event("content_block_delta", data)
    };
    let message = serde_json::json!({ "id": "msg_1", "usage": { "input_tokens": 10, "output_tokens": 1 } });
    let begun = [
        event("message_start", serde_json::json!({ "type": "message_start", "message": message })),
        event(
            "content_block_start",
            serde_json::json!({
                "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" },
            }),
        ),
    ];
    let first = begun.concat() + &delta(&pieces[0]);
    let rest: String = pieces[1..].iter().map(delta).collect();
    let how = Delivery { chunk_bytes: NonZeroUsize::new(first.len()), pause_ms: 600_000, ..Delivery::default() };
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    Reply { say: ReplyContent::Raw(RawReply { status: 200, headers, body: (first + &rest).into_bytes() }), how }
}

#[test]
fn what_arrived_before_an_interrupt_is_shown_kept_and_recorded() {
    let (_server, fixture) = scene(vec![stalled(&["Hello, wor", "ld"])], "");
    let Some(mut terminal) = start(proem(&fixture, &ASK)) else { return };
    terminal.until("Hello, wor");
    terminal.press("\u{3}");
    let left = terminal.end();
    left.is_tidy();
    assert_eq!(left.code, Some(3), "{}", left.shown);
    let mut lines = left.shown.lines().skip_while(|line| !line.starts_with("Hello"));
    // The terminal shows the keys that are pressed.
    assert_eq!(lines.next().map(|line| line.trim_end_matches("^C")), Some("Hello, wor"), "{}", left.shown);
    let broken = "note: the answer broke off here; the text above is not all of it";
    assert_eq!(lines.next(), Some(broken), "{}", left.shown);
    let kept =
        sql(&fixture, "SELECT CAST(count(*) AS TEXT) FROM contents WHERE CAST(bytes AS TEXT) LIKE '%Hello, wor%'");
    assert_ne!(kept, ["0"], "what arrived is in the record");
}

#[test]
fn an_answer_is_the_same_however_it_arrives() {
    let text = "An escape \u{1b}[31mred\u{1b}[0m, a pаypal.com, a C:\\new, é👍 and a line that is wider.\n\nThe end";
    let shown: Vec<String> = [1, 7, 100_000]
        .into_iter()
        .filter_map(|bytes| {
            let (_server, fixture) = scene(vec![Reply::text(text).in_chunks_of(bytes)], "");
            let left = start_on(SMALL, proem(&fixture, &ASK))?.end();
            left.is_tidy();
            assert_eq!(left.code, Some(0), "{}", left.shown);
            let answer = left.written().split("reviews/free").next()?.replace("\r\n", "\n");
            Some(answer)
        })
        .collect();
    let expected = "An escape \\u{1b}[31mred\\u{1b}[0m, a pаypal⟨mixed script: Latin+Cyrillic⟩.com, a C:\\\\new, é👍 and a \
                    line that is wider.\n\nThe end\n";
    for shown in &shown {
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn a_broken_attempt_is_marked_before_the_next_one_begins() {
    let broken = Reply { how: Delivery::default(), ..stalled(&["Hello, wor", "ld"]) };
    let ReplyContent::Raw(raw) = &broken.say else { panic!("a stalled answer is raw") };
    let half = raw.body.len() / 2 + 60;
    let (_server, fixture) =
        scene(vec![broken.clone().ending(DeliveryEnd::CutAfter(half)), Reply::text("Good day")], "");
    let Some(terminal) = start(proem(&fixture, &ASK)) else { return };
    let left = terminal.end();
    left.is_tidy();
    assert_eq!(left.code, Some(0), "{}", left.shown);
    if let Some((before, after)) = left.shown.split_once("the answer broke off here") {
        assert!(before.contains("Hello, wor") && after.contains("Good day"), "{}", left.shown);
    } else {
        assert!(left.shown.starts_with("Good day"), "the cut came before the first piece: {}", left.shown);
    }
    assert_eq!(left.shown.matches("Good day").count(), 1, "{}", left.shown);
}

#[test]
fn a_server_that_drips_is_given_up_on() {
    let drips = Reply::text("Hello").in_chunks_of(1).pausing(60_000);
    let (_server, fixture) = scene(vec![drips.clone(), drips], "idle_seconds = 1\nattempts = 1\n");
    let Some(terminal) = start(proem(&fixture, &ASK)) else { return };
    let left = terminal.end();
    left.is_tidy();
    assert_eq!(left.code, Some(3), "{}", left.shown);
    assert!(left.shown.contains("idle_seconds"), "{}", left.shown);
}

/// The server sends a piece once the one before is on the screen: what is kept back until more arrives never ends.
#[test]
fn each_piece_is_on_the_screen_before_the_next_is_sent() {
    let pieces: Vec<String> = (0..100).map(|number| format!("piece-{number} ")).collect();
    let texts: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let ReplyContent::Raw(raw) = stalled(&texts).say else { panic!("a stalled answer is raw") };
    let body = String::from_utf8(raw.body).unwrap();
    let events: Vec<String> = body.split_inclusive("\n\n").map(str::to_owned).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, next) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 65_536];
        _ = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        for event in events {
            stream.write_all(event.as_bytes()).unwrap();
            if event.contains("text_delta") && next.recv().is_err() {
                break;
            }
        }
    });
    let mut fixture = Fixture::folder();
    fixture.set("TERM", "xterm-256color");
    let server = serve(vec![]);
    set_up(&mut fixture, &server, "");
    fixture.configure(
        "config.toml",
        &format!("[providers.local]\nbase_url = \"http://{address}/v1\"\nprotocol = \"anthropic\"\n"),
    );
    let args = [&ASK[..], &["--provider", "local", "--model", "m"]].concat();
    let Some(mut terminal) = start(proem(&fixture, &args)) else { return };
    for (piece, later) in pieces.iter().zip(pieces.iter().skip(1).map(Some).chain([None])) {
        terminal.until(piece.trim_end());
        assert!(later.is_none_or(|later| !terminal.shows(later)), "{later:?} was not sent yet");
        seen.send(()).unwrap();
    }
}
