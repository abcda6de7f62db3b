//! Inputs that are no signals, or too large for one.

use proem_triage::SignalTime;
use serde_json::{Value as Json, json};

use super::{field, one, read, refusal, text};

#[test]
fn what_is_no_signal_says_why_and_where() {
    let unknown = "of no known source: neither `webhookEvent`";
    for (given, expected) in [
        ("", "the whole text: nothing but spaces; give signals as JSON, or one on each line"),
        (" \n\t", "the whole text: nothing but spaces; give signals as JSON, or one on each line"),
        ("{", "the whole text: no JSON: it ends too early at line 1, column 1"),
        ("{\"a\":1} x", "the whole text: no JSON: something follows its end at line 1, column 9"),
        ("Subject: x", "the whole text: no JSON: a sign that is not allowed there at line 1, column 1"),
        ("5", "the whole text: no object; a signal is one"),
        ("[5]", "item 0: no object; a signal is one"),
        ("{\"signal\":2}", "the whole text: `signal` is not 1, the only form of lines that is known"),
        ("{\"signal\":1}", "the whole text: no `id`; a line needs one, so that it can come twice"),
        (
            "{\"signal\":1,\"id\":\"\",\"type\":\"x\"}",
            "the whole text: no `id`; a line needs one, so that it can come twice",
        ),
        ("{\"signal\":1,\"id\":\"a\"}", "the whole text: no `type`; a line needs one, such as `ticket_updated`"),
    ] {
        assert_eq!(refusal(given), expected, "{given:?}");
    }
    for given in ["{}", "{\"webhookEvent\":5}", "{\"webhookEvent\":null,\"issue\":{}}"] {
        assert!(refusal(given).contains(unknown), "{given}: {}", refusal(given));
    }
    assert!(refusal(&"[".repeat(500)).contains("more than 127 values in one another"));
}

#[test]
fn a_broken_line_stops_no_other() {
    let good = |id: &str| format!("{{\"signal\":1,\"id\":\"{id}\",\"type\":\"note\"}}");
    for (lines, signals, places) in [
        (vec![good("a"), "{\"signal\":".to_owned(), good("b")], 2, vec!["line 2"]),
        (vec!["{\"signal\":".to_owned(), good("a"), good("b")], 2, vec!["line 1"]),
        (vec![good("a"), String::new(), "[{}, 5]".to_owned()], 1, vec!["line 3, item 0", "line 3, item 1"]),
        (vec![good("a"), good("b")], 2, vec![]),
    ] {
        for end in ["\n", "\r\n"] {
            let found = read(&format!("\u{feff}{}", lines.join(end)));
            assert_eq!(found.signals.len(), signals, "{lines:?}");
            let found: Vec<String> = found.malformed.iter().map(|malformed| malformed.place.to_string()).collect();
            assert_eq!(found, places, "{lines:?}");
        }
    }
    let pretty = serde_json::to_string_pretty(&json!([{ "signal": 1, "id": "a", "type": "x" }, {}])).unwrap();
    let found = read(&pretty);
    assert_eq!((found.signals.len(), found.malformed.len()), (1, 1));
}

/// A reader that looks through all that is left for each part of a file takes minutes for this.
#[test]
fn a_file_of_empty_lines_is_read_in_linear_time() {
    let line = |id: &str| format!("{{\"signal\":1,\"id\":\"{id}\",\"type\":\"note\"}}");
    let empty = " \n".repeat(1 << 20);
    let found = read(&format!("{}\n{empty}{}\n{empty}", line("a"), line("b")));
    assert_eq!((found.signals.len(), found.malformed.len()), (2, 0));
    let found = read(&format!("{}\n{empty}{{", line("a")));
    let place = (1 << 20) + 2;
    let places: Vec<String> = found.malformed.iter().map(|malformed| malformed.place.to_string()).collect();
    assert_eq!(places, [format!("line {place}")]);
}

fn issue_of_fields(fields: &Json) -> Json {
    json!({ "id": "1", "key": "PAY-1", "fields": fields })
}

#[test]
fn a_ticket_of_5_mb_is_cut_and_says_so() {
    let long = |end: &str| {
        one(&issue_of_fields(
            &json!({ "summary": "x".repeat(10_000), "description": format!("{}{end}", "ä".repeat(2_500_000)) }),
        ))
    };
    let signal = long("");
    assert_eq!(field(&signal, "/description").as_str().unwrap().len(), 512 * 1024);
    assert!(
        signal
            .notes
            .contains(&format!("bytes cut from the end of long texts: {}", 5_000_000 - 512 * 1024 + 10_000 - 4096)),
        "{:?}",
        signal.notes
    );
    signal.write().unwrap();
    assert_ne!(long(" but it changed at its end").revision, signal.revision);
}

#[test]
fn what_is_too_many_too_deep_or_has_too_long_a_name_is_counted() {
    let many: Vec<usize> = (0..40_000).collect();
    let deep = (0..100).fold(json!("bottom"), |inner, _| json!([inner]));
    for (value, at_least) in [(json!(many), 7000), (deep, 1), (json!({ ("n".repeat(300)): 1, "kept": 2 }), 1)] {
        let signal = one(&issue_of_fields(&json!({ "custom": value, "summary": "s" })));
        let left_out = signal.notes.iter().find(|note| note.starts_with("values left out")).unwrap();
        assert!(left_out.rsplit(' ').next().unwrap().parse::<usize>().unwrap() >= at_least, "{left_out}");
        assert_eq!(text(signal.summary.as_ref()).as_deref(), Some("s"));
        signal.write().unwrap();
    }
    let texts: Vec<String> = (0..20).map(|_| "x".repeat(500_000)).collect();
    let signal = one(&issue_of_fields(&json!({ "custom": texts })));
    assert!(signal.write().unwrap().len() < 3 * 1024 * 1024);
}

#[test]
fn times_that_can_not_be_right_are_kept_as_said() {
    for (said, fault) in [
        (json!(0), "before-2000"),
        (json!("1970-01-01T00:00:00Z"), "before-2000"),
        (json!("2038-01-19T03:14:08Z"), "in-the-future"),
        (json!(i64::MAX), "in-the-future"),
        (json!(1.5), "unreadable"),
        (json!(u64::MAX), "unreadable"),
        (json!("tomorrow"), "unreadable"),
        (json!({ "at": 5 }), "unreadable"),
        (json!("2025-10-09T08:53:20"), "no-zone"),
    ] {
        let signal = one(&json!({ "webhookEvent": "jira:issue_updated", "timestamp": said, "issue": { "id": "1" } }));
        let SignalTime::Doubtful { said: kept, fault: found } = &signal.time else { panic!("{:?}", signal.time) };
        let kept = text(Some(kept)).unwrap();
        assert_eq!(kept, said.as_str().map_or_else(|| said.to_string(), str::to_owned));
        assert_eq!(found.as_str(), fault, "{said}");
        assert!(signal.notes.contains(&format!("time {fault}; kept as said")), "{:?}", signal.notes);
    }
}
