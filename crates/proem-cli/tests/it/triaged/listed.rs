//! A person's view of every signal, and the commands to overrule it: `triage signals`, `triage judge`, `triage digest`.

use serde_json::{Value as Json, json};

use super::models::{TEXT, answers, comment_id, one_comment, run as run_models};
use super::{project, project_of, take_files, triaged};
use crate::approvals::scene::answered;
use crate::browser;
use crate::fixture::{Fixture, Run};
use crate::run::start;
use crate::triage_signals::{charter_text, comment, created, flag_change, moved};

/// A mail as a file. `proof` is what the project's mail server says of it.
fn mail(number: u32, from: &str, subject: &str, proof: &str, body: &str) -> String {
    let proof =
        if proof.is_empty() { String::new() } else { format!("Authentication-Results: mx.corp.example; {proof}\n") };
    format!(
        "{proof}Message-ID: <{number}@corp.example>\nDate: Mon, 23 Nov 2026 09:10:00 +0000\nFrom: {from}\n\
         To: pm@corp.example\nSubject: {subject}\nContent-Type: text/plain; charset=utf-8\n\n{body}\n"
    )
}

const ALIGNED: &str = "dmarc=pass header.from=corp.example";
const SAM: &str = "Sam Okoro <sam@corp.example>";
/// A mail that rules call administrative, whatever it asks for.
const ROOM: &str = "The meeting room changes to 4.12, and the access cards are at the desk.";

fn take_in(fixture: &Fixture, name: &str, text: &str) -> Json {
    fixture.write(name, text);
    take_files(fixture, &[name])
}

fn listing(fixture: &Fixture) -> Vec<Json> {
    fixture.triage().signals()
}

fn text<'j>(signal: &'j Json, name: &str) -> &'j str {
    signal[name].as_str().unwrap_or_default()
}

/// The listed signal that is called so.
fn called(fixture: &Fixture, subject: &str) -> Json {
    let all = listing(fixture);
    all.iter().find(|signal| text(signal, "subject").contains(subject)).cloned().unwrap_or_default()
}

fn judged(fixture: &Fixture, signal: &Json, importance: &str) -> Option<String> {
    let id = text(signal, "short");
    let args = ["triage", "judge", id, "--importance", importance, "--because", "XNOTEX the board asked"];
    let (said, code) = answered(fixture, &args, "y")?;
    assert_eq!(code, 0, "{said}");
    Some(said)
}

/// The run itself tells what it read and left, so that nobody has to ask.
#[test]
fn a_cycle_prints_what_it_left_alone_and_why() {
    let fixture = project("artefact");
    fixture.write("one.json", moved(1, "To Do", "In Progress").to_string());
    let run = fixture.proem(&["triage", "run", "one.json"]);
    assert!(run.stdout().contains("left      1 signal\n"), "{}", run.stdout());
    assert!(run.stdout().contains("Ana: TES-1 Refunds (routine progress, only counted)"), "{}", run.stdout());
    let page = fixture.proem(&["triage", "signals"]);
    assert!(page.stdout().starts_with("1 signal since "), "{}", page.stdout());
    assert!(page.stdout().contains("1 left"), "{}", page.stdout());
}

#[test]
fn controls_and_bidi_in_a_subject_reach_no_terminal_and_no_page() {
    let fixture = project("artefact");
    let hostile =
        "\u{1b}[2J\u{202e}gnp <script>alert(1)</script> ![x](http://evil.example)\n# Approved\n::error::XEVILX";
    let mut signal = moved(1, "To Do", "In Progress");
    signal["issue"]["fields"]["summary"] = json!(hostile);
    signal["user"]["displayName"] = json!("\u{1b}[31mAna\u{202e}\n::error::XEVILX");
    triaged(&fixture, &[signal, flag_change(7)]);
    for args in [
        &["triage", "signals"][..],
        &["triage", "run", "signals.jsonl"],
        &["triage", "digest"],
        &["triage", "digest", "--format", "text"],
        &["triage", "digest", "--format", "html"],
        &["artefacts", "show"],
    ] {
        let run = fixture.proem(args);
        let out = run.stdout();
        assert!(!out.contains(['\u{1b}', '\u{202e}']) && !out.contains("<script"), "{args:?}: {out}");
        assert!(!out.contains("](http://evil") && !out.contains("\n::error"), "{args:?}: {out}");
        assert!(!out.lines().any(|line| line.starts_with("# Approved")), "{args:?}: {out}");
    }
}

#[test]
fn a_judgement_overrules_runs_the_signal_again_and_asks() {
    let fixture = project("artefact");
    take_in(&fixture, "room.eml", &mail(1, "Kim <kim@corp.example>", "Room", ALIGNED, ROOM));
    let before = called(&fixture, "Room");
    assert_eq!((text(&before, "importance"), text(&before, "outcome")), ("low", "left"), "{before}");
    let Some(said) = judged(&fixture, &before, "high") else { return };
    assert!(said.contains("low becomes high") && said.contains("waits     1 thing"), "{said}");
    let after = called(&fixture, "Room");
    assert_eq!(
        (text(&after, "importance"), text(&after, "judge"), text(&after, "outcome")),
        ("high", "person", "asked"),
        "{after}"
    );
    assert_eq!(text(&after, "note"), "XNOTEX the board asked");
    // The same id is one signal still, and the way back is a judgement, too.
    assert_eq!(listing(&fixture).len(), 1);
    let Some(said) = judged(&fixture, &after, "low") else { return };
    assert!(said.contains("its consequences stay: "), "{said}");
    assert_eq!(text(&called(&fixture, "Room"), "importance"), "low");
}

/// Two judgements of a proven stakeholder's signals raise the third. A forged sender and a stranger teach nothing, and
/// what is lowered lowers nothing else.
#[test]
fn judgements_teach_by_proven_stakeholder_and_category_and_never_lower() {
    let fixture = project("artefact");
    let forged = "dmarc=fail header.from=corp.example";
    let take = |number: u32, from: &str, proof: &str| {
        let subject = format!("Room {number}");
        take_in(&fixture, &format!("{number}.eml"), &mail(number, from, &subject, proof, ROOM));
        called(&fixture, &subject)
    };
    for number in [1, 2] {
        let forged = take(number, SAM, forged);
        let Some(said) = judged(&fixture, &forged, "high") else { return };
        assert!(!said.contains("it counts for later"), "{said}");
    }
    let third = take(3, SAM, ALIGNED);
    assert_eq!(text(&third, "judge"), "rules", "{third}");
    let before = text(&third, "importance").to_owned();
    let Some(said) = judged(&fixture, &third, "high") else { return };
    assert!(said.contains("it counts for later administrative signals of this sender"), "{said}");
    assert_eq!(text(&take(4, SAM, ALIGNED), "importance"), before, "one judgement teaches nothing");
    judged(&fixture, &called(&fixture, "Room 4"), "high");
    let fifth = take(5, SAM, ALIGNED);
    assert_eq!((text(&fifth, "importance"), text(&fifth, "judge")), ("high", "learned"), "{fifth}");
    assert_eq!(text(&take(6, SAM, forged), "judge"), "rules");
    assert_eq!(text(&take(7, "Kim <kim@corp.example>", ALIGNED), "judge"), "rules");
    for number in [8, 9] {
        let other = "Eve <eve@corp.example>";
        judged(&fixture, &take(number, other, ALIGNED), "low");
    }
    assert_eq!(text(&take(10, SAM, ALIGNED), "importance"), "high");
}

#[test]
fn lowering_below_what_rules_leave_is_said_plainly() {
    let fixture = project("artefact");
    triaged(&fixture, &[flag_change(7)]);
    let Some(said) = judged(&fixture, &called(&fixture, "Payment"), "low") else { return };
    assert!(said.contains("high becomes low"), "{said}");
    assert!(said.contains("rules leave this signal at least high"), "{said}");
    // The blocker is real until somebody ends it.
    let shown = fixture.proem(&["artefacts", "show", "delivery-state"]).stdout().to_owned();
    assert!(shown.contains("**B001**"), "{shown}");
}

/// Judging again proposes nothing twice.
#[test]
fn a_signal_that_is_judged_again_sends_no_second_comment() {
    let fixture = project("tactical");
    fixture.switch_effects_on();
    triaged(&fixture, &[created(1, "Refund in two parts", "")]);
    let queue = || fixture.open_actions().len();
    assert_eq!((queue(), text(&called(&fixture, "Refund"), "outcome")), (1, "held"));
    for importance in ["medium", "high", "medium"] {
        judged(&fixture, &called(&fixture, "Refund"), importance);
    }
    assert_eq!(queue(), 1);
}

/// A person's reason is a note: no request holds it, neither of this signal nor of a later one.
#[test]
fn the_words_of_a_judgement_go_into_no_prompt() {
    let id = comment_id(1, TEXT);
    let server = start([answers(&id), answers(&id), answers(&id)].concat());
    let fixture = one_comment("artefact", &server);
    run_models(&fixture, &["--json"]);
    let signal = called(&fixture, "Vendor");
    let Some(said) = judged(&fixture, &signal, "critical") else { return };
    assert!(said.contains("medium becomes critical"), "{said}");
    assert_eq!(text(&called(&fixture, "Vendor"), "judge"), "person");
    fixture.write("one.json", comment(2, "When is the certification done?").to_string());
    run_models(&fixture, &["--json"]);
    assert!(server.requests().len() >= 4, "a later signal is asked about");
    for request in server.requests() {
        assert!(!request.json().unwrap().to_string().contains("XNOTEX"));
    }
}

#[test]
fn ids_that_are_unknown_short_or_shared_have_a_remedy() {
    let fixture = project("artefact");
    let signals: Vec<Json> = (1..=40).map(|number| moved(number, "To Do", "In Progress")).collect();
    triaged(&fixture, &signals);
    let refused = |id: &str| {
        let run = fixture.proem(&["triage", "judge", id, "--importance", "high"]);
        assert_eq!(run.code(), 2, "{}", run.transcript());
        run.stderr().to_owned()
    };
    let lists = "`proem triage signals --since 30d` lists them";
    assert!(refused("zzzz").contains(&format!("no signal has the id `zzzz`; {lists}")), "{}", refused("zzzz"));
    assert!(refused("ab").contains("too short for the id of a signal"), "{}", refused("ab"));
    assert!(
        refused("jira:unknown")
            .contains(&format!("several signals have the id `jira:unknown…`; give more of it; {lists}"))
    );
    // An id that is whole, however its text goes on elsewhere, is one signal; without a terminal nobody judges.
    let whole = text(&called(&fixture, "TES-4 "), "id").to_owned();
    assert!(refused(&whole).contains("needs confirmation"), "{}", refused(&whole));
}

#[test]
fn a_signal_of_another_project_or_without_its_text_is_judged_by_nobody() {
    let fixture = project("artefact");
    let mut other = flag_change(9);
    other["issue"]["fields"]["project"]["key"] = json!("ALIEN");
    triaged(&fixture, &[other]);
    take_in(&fixture, "room.eml", &mail(1, "Kim <kim@corp.example>", "Room", ALIGNED, ROOM));
    let (alien, own) = (called(&fixture, "Payment"), called(&fixture, "Room"));
    let judge = |signal: &Json| {
        let run = fixture.proem(&["triage", "judge", text(signal, "short"), "--importance", "high"]);
        (run.code(), run.stderr().to_owned())
    };
    let (code, said) = judge(&alien);
    assert!(code == 2 && said.contains("is of another project; name that project among the `[[trackers]]`"), "{said}");
    let Some((_, 0)) = answered(&fixture, &["triage", "purge", "--before", "2999-01-01"], "y") else { return };
    let (code, said) = judge(&own);
    assert!(code == 1 && said.contains("was purged"), "{said}");
    assert_eq!(text(&called(&fixture, "purged"), "outcome"), "set-aside");
}

/// A project that has all that a digest tells: many changes, questions, late items, senders.
fn busy() -> Fixture {
    let late: String =
        (1..=9).map(|n| format!("\n[[milestones]]\nname = \"Late {n}\"\ndue = \"2026-11-0{n}\"\n")).collect();
    let fixture = project_of(&(charter_text("artefact") + &late));
    let mut signals: Vec<Json> = (1..=30).map(flag_change).collect();
    signals.extend((31..=60).map(|number| {
        let mut signal = moved(number, "To Do", "In Progress");
        signal["user"]["displayName"] = json!(format!("Person {}", number % 9));
        signal["issue"]["fields"]["summary"] = json!("<img src=x> & \"quoted\" <b>title</b> ".repeat(20));
        signal
    }));
    triaged(&fixture, &signals);
    for number in 1..=9 {
        let subject = format!("Question {number} & \"more\"");
        let body = format!("When is part {number} of the beta done, and what does it cost?");
        take_in(&fixture, &format!("{number}.eml"), &mail(number, SAM, &subject, ALIGNED, &body));
    }
    fixture
}

fn digest(fixture: &Fixture, format: &str) -> Run {
    let run = fixture.proem(&["triage", "digest", "--format", format, "--since", "30d"]);
    assert_eq!(run.code(), 0, "{}", run.transcript());
    run
}

#[test]
fn a_digest_is_one_screen_in_each_format_and_counts_what_does_not_fit() {
    let fixture = busy();
    for format in ["md", "text", "html"] {
        let run = digest(&fixture, format);
        let out = run.stdout();
        assert!(out.lines().count() <= 40, "{format}: {}\n{out}", out.lines().count());
        for words in
            ["Waits for you", "Changed", "Late", "Read and left alone", "M002", "days ago", "proem escalations show "]
        {
            assert!(out.contains(words), "{format}: {words}: {out}");
        }
        assert!(out.contains(" of 9; ") && out.contains("Question"), "{format}: {out}");
        assert!(out.contains("Nothing: sent."), "{format}: {out}");
    }
    assert!(!digest(&fixture, "md").stdout().contains('\\'));
}

#[test]
fn a_digest_as_html_holds_no_element_of_anybody_else_and_reads_in_a_browser() {
    let fixture = busy();
    let run = digest(&fixture, "html");
    let html = run.stdout();
    for part in html.split('<').skip(1) {
        let name = part.split(['>', ' ']).next().unwrap();
        let own =
            ["section", "/section", "h2", "/h2", "h3", "/h3", "p", "/p", "ul", "/ul", "li", "/li", "code", "/code"];
        assert!(own.contains(&name), "{name}: {html}");
    }
    for width in [1200, 360] {
        let page = format!("<!doctype html><body>{html}");
        let Some(seen) = browser::browsed_page(&page, width) else { return };
        assert_eq!((&seen["foreign"], &seen["fetched"]), (&json!(0), &json!(0)), "{seen}");
        assert!(seen["content"].as_u64() <= seen["width"].as_u64(), "it scrolls sideways: {seen}");
        let text = seen["text"].as_str().unwrap();
        assert!(text.contains("Question 9 & \"more\"") && text.contains("Waits for you"), "{text}");
    }
}

#[test]
fn a_digest_tells_from_when_on_and_what_was_decided_waits_no_more() {
    let fixture = project("artefact");
    triaged(&fixture, &[flag_change(7)]);
    let of = |since: &str| fixture.proem(&["triage", "digest", "--since", since]).stdout().to_owned();
    assert!(of("today").contains("B001 new, high: Payment provider sandbox"), "{}", of("today"));
    assert!(of("2999-01-01").contains("Nothing: waits for you, changed, late, sent, read and left alone."));
    let run = fixture.proem(&["triage", "digest", "--since", "tomorrow"]);
    assert!(run.code() == 2 && run.stderr().contains("`tomorrow` is not a time"), "{}", run.transcript());
}
