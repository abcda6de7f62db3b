//! A yes covers what was displayed to its end: long, wide and hostile texts on real pseudo-terminals of usual sizes.

use std::fs;
use std::num::NonZeroU16;

use serde_json::{Value as Json, json};

use super::scene::{Office, POLICY};
use crate::skipped::skip;
use crate::terminal::screen::Terminal;

/// A policy with a mail that may carry a file.
fn with_files() -> String {
    POLICY.replace(
        "fields.cc = { role = \"recipient\", list = true }\n",
        "fields.cc = { role = \"recipient\", list = true }\n\
         fields.report = { role = \"text\", audience = \"internal\", attachment = \"report.md\" }\n",
    )
}

/// An office where a note with this body waits for a yes.
fn with_body(body: &str) -> Option<(Office, String)> {
    let office = Office::open()?;
    let mut note = office.note();
    note["fields"]["body"] = body.into();
    let id = office.propose_action(&note)["id"].as_str().unwrap().to_owned();
    Some((office, id))
}

/// The text behind bars on the screens that a person left one after the other.
fn barred(screens: &[String]) -> Vec<String> {
    let lines = screens.iter().flat_map(|screen| screen.lines());
    lines.filter_map(|line| Some(line.split_once('│')?.1.strip_prefix(' ').unwrap_or_default().to_owned())).collect()
}

/// Goes through all screens on a terminal of that size. Each row of the body was on one of them.
#[track_caller]
fn check_whole(body: &str, rows: u16, columns: u16) {
    let Some((office, id)) = with_body(body) else { return };
    let mut terminal = office.on_terminal(&["queue", "approve", &id], rows, columns).unwrap();
    let screens = terminal.until_asked();
    let all = barred(&screens);
    let seen: String = all.iter().map(|row| row.trim_end()).collect();
    let expected: String =
        body.lines().map(|line| proem_guard::show::terminal_str(line.trim_end()).into_string()).collect();
    let squeezed = |text: &str| text.replace(' ', "");
    assert!(squeezed(&seen).contains(&squeezed(&expected)), "a part of the body was on no screen");
    let blank = body.lines().filter(|line| line.is_empty()).count();
    assert!(all.iter().filter(|row| row.trim().is_empty()).count() >= blank, "{blank} blank lines");
    // Whom it reaches is beside the question.
    let last = screens[screens.len().saturating_sub(4)..].concat().replace(['\n', ' '], "");
    assert!(last.contains("bob@corp.example") && last.contains("│Week0"), "{last}");
    terminal.press("y\n");
    let left = terminal.end();
    assert_eq!((left.code, office.states()[&id].as_str()), (Some(0), "approved"), "{}", left.shown);
}

#[test]
fn a_yes_covers_what_was_shown() {
    // Eight thousand characters, and five hundred and twenty lines.
    let long: String = (0..520).map(|line| format!("line {line:03}\n")).collect();
    check_whole(&long, 24, 80);
    check_whole(&long, 50, 200);
    check_whole(&"A sentence of eight thousand characters in one line. ".repeat(151), 24, 80);
}

#[test]
fn a_hundred_thousand_bytes_are_shown_on_as_many_screens_as_they_take() {
    check_whole(&"x".repeat(100_000), 60, 120);
}

#[test]
fn ten_thousand_blank_lines_push_nothing_off_the_screen() {
    check_whole(&format!("before{}after", "\n".repeat(10_000)), 100, 80);
}

#[test]
fn wide_characters_marks_and_bidi_take_the_rows_that_they_take() {
    check_whole(&"木漢字かな한글".repeat(60), 24, 80);
    check_whole(&format!("{}end", "e\u{301}".repeat(900)), 24, 80);
    check_whole(&"שלום עולם \u{202e}evil\u{2066} ".repeat(40), 24, 40);
}

#[test]
fn the_smallest_terminal_shows_all_of_it_as_well() {
    check_whole(&"木 is wide\nand this is a longer line of the same body\n".repeat(8), 12, 20);
}

/// A waiting note that no screen holds, on a terminal at its first prompt.
fn at_first_screen() -> Option<(Office, String, Terminal)> {
    let (office, id) = with_body(&"a line\n".repeat(200))?;
    let mut terminal = office.on_terminal(&["queue", "approve", &id], 24, 80)?;
    let screen = terminal.until_prompted();
    assert!(screen.trim_end().lines().last().unwrap().starts_with("-- 1 of "), "{screen}");
    Some((office, id, terminal))
}

#[test]
fn a_person_who_stops_before_the_end_approves_nothing() {
    for keys in ["q\n", "y\n", "yes\n", "\u{4}"] {
        let Some((office, id, terminal)) = at_first_screen() else { return };
        terminal.press(keys);
        let left = terminal.end();
        assert_eq!((left.code, office.states()[&id].as_str()), (Some(1), "waiting"), "{keys:?}: {}", left.shown);
        assert!(left.shown.contains("nothing was changed"), "{}", left.shown);
    }
}

#[test]
fn an_interrupt_amid_the_screens_approves_nothing() {
    if ignores_interrupts() {
        return skip("interrupts", "whoever started the tests has interrupts ignored, and programs inherit that");
    }
    let Some((office, id, terminal)) = at_first_screen() else { return };
    terminal.press("\u{3}");
    let left = terminal.end();
    assert_ne!(left.code, Some(0), "{}", left.shown);
    assert_eq!(office.states()[&id], "waiting");
}

#[test]
fn keys_that_are_typed_ahead_skip_no_screen() {
    let Some((office, id, mut terminal)) = at_first_screen() else { return };
    terminal.press(&format!("{}y\n", "\n".repeat(30)));
    terminal.clear();
    let screen = terminal.until_prompted();
    assert!(screen.contains("-- 2 of "), "{screen}");
    terminal.press("q\n");
    assert_eq!((terminal.end().code, office.states()[&id].as_str()), (Some(1), "waiting"));
}

#[test]
fn a_terminal_that_shrinks_amid_the_screens_shows_the_rest_on_more_of_them() {
    let body: String = (0..60).map(|line| format!("line {line:02} {}\n", "word ".repeat(12))).collect();
    let Some((office, id)) = with_body(&body) else { return };
    let mut terminal = office.on_terminal(&["queue", "approve", &id], 40, 80).unwrap();
    let first = terminal.until_prompted();
    let (rows, columns) = (NonZeroU16::new(12).unwrap(), NonZeroU16::new(30).unwrap());
    terminal.resize(rows, columns);
    terminal.clear();
    terminal.press("\n");
    let screens = [vec![first], terminal.until_asked()].concat();
    let seen = barred(&screens).concat();
    assert!((0..60).all(|line| seen.contains(&format!("line {line:02}"))), "{screens:#?}");
    terminal.press("n\n");
    assert_eq!(terminal.end().code, Some(1));
    // One in which nothing can be read shows nothing and takes no answer.
    let left = office.on_terminal(&["queue", "approve", &id], 4, 80).unwrap().end();
    assert_eq!((left.code, office.states()[&id].as_str()), (Some(2), "waiting"), "{}", left.shown);
    assert!(left.raw.contains("too few to show what would be decided"), "{}", left.raw);
}

#[test]
fn a_bulk_approval_shows_each() {
    let Some((office, first)) = with_body(&"first\n".repeat(100)) else { return };
    let mut note = office.note();
    note["fields"]["body"] = "second\n".repeat(100).into();
    let second = office.propose_action(&note)["id"].as_str().unwrap().to_owned();
    let mut terminal = office.on_terminal(&["queue", "approve", &first, &second], 24, 80).unwrap();
    let all = barred(&terminal.until_asked());
    let count = |word: &str| all.iter().filter(|row| row.trim_end() == word).count();
    assert_eq!((count("first"), count("second")), (100, 100));
    terminal.press("y\n");
    assert_eq!(terminal.end().code, Some(0));
    assert!(office.states().values().all(|state| state == "approved"));
}

#[test]
fn subject_recipients_and_files_with_their_sizes_stand_beside_the_question() {
    let Some(office) = Office::open() else { return };
    office.fixture.configure("policy.toml", &with_files());
    let mut note = office.note();
    note["fields"]["body"] = "a line\n".repeat(520).into();
    note["fields"]["report"] = "r".repeat(1_234).into();
    let id = office.propose_action(&note)["id"].as_str().unwrap().to_owned();
    let mut terminal = office.on_terminal(&["queue", "approve", &id], 24, 80).unwrap();
    let screens = terminal.until_asked();
    let last = screens.last().unwrap();
    for shown in ["│ Week 0", "attached    `report.md`, 1,234 bytes", "ada@corp.example", "bob@corp.example"] {
        assert!(last.contains(shown), "{shown} in {last}");
    }
    let place = |text: &str| last.rfind(text).unwrap();
    assert!(place("│ Week 0") < place("[y/N]") && place("bob@corp.example") < place("[y/N]"), "{last}");
    terminal.press("n\n");
    assert_eq!(terminal.end().code, Some(1));
}

/// Goes through all screens of a question, says yes, and gives what was behind bars.
#[track_caller]
fn agreed(office: &Office, args: &[&str]) -> Vec<String> {
    let mut terminal = office.on_terminal(args, 24, 80).unwrap();
    let screens = terminal.until_asked();
    assert!(screens.len() > 1, "{screens:#?}");
    terminal.press("y\n");
    let left = terminal.end();
    assert_eq!(left.code, Some(0), "{}", left.shown);
    barred(&screens)
}

#[test]
fn an_edit_a_release_and_a_resend_are_shown_to_their_end_as_well() {
    let Some((office, id)) = with_body(&"old\n".repeat(100)) else { return };
    office.fixture.write("body.txt", format!("{}The last.\n", "new\n".repeat(520)));
    let count = |shown: &[String], word: &str| shown.iter().filter(|row| row.trim_end() == word).count();
    let shown = agreed(&office, &["queue", "edit", &id, "--file", "body=body.txt"]);
    // A person's own text is behind the same bar where it has several lines.
    assert_eq!((count(&shown, "old"), count(&shown, "new")), (100, 520));
    // The edit's changes come above, in short.
    let shown = agreed(&office, &["queue", "approve", &id]);
    assert!((520..560).contains(&count(&shown, "new")), "{shown:#?}");
    fs::create_dir_all(office.outbox()).unwrap();
    fs::write(office.outbox().join(format!("{id}.eml")), "in its way").unwrap();
    office.perform_due();
    assert_eq!(office.states()[&id], "unknown");
    fs::remove_file(office.outbox().join(format!("{id}.eml"))).unwrap();
    let shown = agreed(&office, &["queue", "resolve", &id, "resend"]);
    assert!((520..560).contains(&count(&shown, "new")), "{shown:#?}");
    let mut reminder = office.reminder();
    reminder["fields"]["body"] = "held\n".repeat(520).into();
    let held = office.propose_action(&reminder)["id"].as_str().unwrap().to_owned();
    assert_eq!(count(&agreed(&office, &["queue", "release", &held]), "held"), 520);
}

#[test]
fn the_action_of_an_option_is_shown_to_its_end() {
    let Some(office) = Office::open() else { return };
    let narrow = POLICY
        .replace("level = \"tactical\"", "level = \"monitoring\"")
        .replace("[actions.reminder]\nlevel = \"monitoring\"", "[actions.reminder]\nlevel = \"tactical\"");
    office.fixture.configure("policy.toml", &narrow);
    let mut reminder = office.reminder();
    reminder["fields"]["body"] = "a line\n".repeat(520).into();
    let asked = office.propose_action(&reminder)["escalation"].as_str().unwrap().to_owned();
    let mut terminal = office.on_terminal(&["escalations", "decide", &asked, "A"], 24, 80).unwrap();
    let screens = terminal.until_asked();
    let lines = barred(&screens).iter().filter(|row| row.trim_end() == "a line").count();
    assert!(lines >= 520, "{lines}");
    assert!(screens.last().unwrap().contains("ada@corp.example"), "{}", screens.last().unwrap());
    terminal.press("n\n");
    assert_eq!(terminal.end().code, Some(1));
    let left = {
        let mut terminal = office.on_terminal(&["escalations", "decide", &asked, "A"], 24, 80).unwrap();
        terminal.until_prompted();
        terminal.press("q\n");
        terminal.end()
    };
    assert_eq!((left.code, office.states().values().next().map(String::as_str)), (Some(1), Some("waiting")));
}

#[test]
fn raw_bytes_are_those_that_leave() {
    let Some(office) = Office::open() else { return };
    let id = office.propose_note();
    let before = office.fixture.proem(&["queue", "show", &id, "--raw"]);
    assert!(before.stderr().contains("it has not left yet"), "{}", before.stderr());
    office.approve(std::slice::from_ref(&id));
    office.perform_due();
    let sent = fs::read_to_string(office.outbox().join(format!("{id}.eml"))).unwrap();
    let undated = |mail: &str| -> Vec<String> {
        mail.lines().filter(|line| !line.starts_with("Date:")).map(str::to_owned).collect()
    };
    assert_eq!(undated(before.stdout()), undated(&sent));
    let after = office.fixture.proem(&["queue", "show", &id, "--raw"]);
    assert_eq!((after.stdout(), after.stderr()), (sent.as_str(), ""));
    let both: Json = json!(office.fixture.proem(&["queue", "show", &id, "--raw", "--json"]).code());
    assert_eq!(both, json!(2));
}

/// Whether this process ignores SIGINT, the second bit of the signals that it ignores, as jobs behind a shell's `&` do.
fn ignores_interrupts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & 2 != 0)
}
