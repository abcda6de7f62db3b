//! Incidents from files and from the past, and how they are found.

use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::change::FileStatus;
use crate::history::{CommitIndex, History, ListedCommit, ListedTouch, ObjectId};
use crate::identity::Person;
use crate::path::RepoPath;

/// Id, title, body, paths and date.
type Expected<'e> = (&'e str, &'e str, &'e str, &'e [&'e str], Option<i64>);

#[track_caller]
fn check(text: &str, expected: &[Expected<'_>]) {
    let read = Corpus::read(text.as_bytes()).unwrap();
    let expected: Vec<Incident> = expected
        .iter()
        .map(|(id, title, body, paths, at)| Incident {
            id: (*id).into(),
            title: (*title).into(),
            body: (*body).into(),
            paths: paths.iter().map(|path| (*path).into()).collect(),
            at: *at,
        })
        .collect();
    assert_eq!(read, expected, "{text}");
}

#[test]
fn json_in_its_shapes() {
    check("", &[]);
    check("[]", &[]);
    check(
        "{\"id\": \"a\", \"title\": \"Down\", \"body\": \"All\", \"paths\": [\"x/y.rs\"], \"date\": \"1970-01-02\"}\n\n{\"title\": \"Up\"}\n",
        &[("a", "Down", "All", &["x/y.rs"], Some(86_400)), ("2", "Up", "", &[], None)],
    );
    check(
        r#"[{"title": "Down", "date": 5}, {"id": 7, "title": "Up", "paths": "a.py; b.py"}]"#,
        &[("1", "Down", "", &[], Some(5)), ("7", "Up", "", &["a.py", "b.py"], None)],
    );
    check(
        r#"[{"number": 12, "title": "Crash", "body": null, "createdAt": "2024-02-29T12:30:15Z", "files": [{"path": "a.go"}]}]"#,
        &[("12", "Crash", "", &["a.go"], Some(1_709_209_815))],
    );
    check(
        r#"{"startAt": 0, "issues": [{"id": "10001", "key": "OPS-1", "fields": {"summary": "Slow", "created": "2024-02-29T14:30:15.000+0200",
        "description": {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "Very"}, {"type": "text", "text": "slow"}]}]}}}]}"#,
        &[("OPS-1", "Slow", "Very slow", &[], Some(1_709_209_815))],
    );
}

#[test]
fn comma_separated_values() {
    check(
        "Issue key,Summary,Description,Created,files\r\nOPS-1,\"Slow, \"\"very\"\"\",\"two\nlines\",2024-02-29,a.py b.py\r\nOPS-2,Down,,,\r\n",
        &[
            ("OPS-1", "Slow, \"very\"", "two\nlines", &["a.py", "b.py"], Some(1_709_164_800)),
            ("OPS-2", "Down", "", &[], None),
        ],
    );
    check("title\nDown\n", &[("1", "Down", "", &[], None)]);
}

#[track_caller]
fn refuses(text: &str, expected: &str) {
    let error = Corpus::read(text.as_bytes()).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Unreadable, expected));
}

#[test]
fn what_is_no_list_of_incidents_is_refused_with_its_place() {
    let no_title = "has no `title`; give each one a `title`, and `id`, `body`, `paths` and `date` where known";
    refuses("{\"title\": \"a\"}\n{\"body\": \"b\"}", &format!("line 2 of the incidents {no_title}"));
    refuses("[{\"title\": \"a\"}, {\"title\": \" \"}]", &format!("number 2 of the incidents {no_title}"));
    refuses("id,title\n1,a\n2,\n", &format!("line 3 of the incidents {no_title}"));
    refuses("[1]", "number 1 of the incidents is not an object with a `title`");
    refuses(
        "{\"title\": \"a\"}\n{\"title\": ",
        "line 2 of the incidents is not JSON; expected one object a line, an array of objects, or an export of issues (column 10)",
    );
    refuses(
        "title,date\na,31.01.2024\n",
        "line 2 of the incidents has a `date` that is not a date; write `2024-01-31`, `2024-01-31T12:00:00Z` or seconds since 1970",
    );
    refuses(
        "[{\"title\": \"a\", \"date\": 1709209815000}]",
        "number 1 of the incidents has a `date` that is not a date; write `2024-01-31`, `2024-01-31T12:00:00Z` or seconds since 1970",
    );
    refuses("title,id\na\n", "line 2 of the incidents has 1 fields, but the header has 2");
    refuses("title\n\"a\n", "line 2 of the incidents is not valid CSV: a field in quotes begins here and has no end");
    refuses(
        "hello world",
        "line 1 of the incidents has no column `title`; expected CSV whose header has `title`, and `id`, `body`, \
         `paths`, `date`, or JSON",
    );
    refuses("[{\"title\": \"a\", \"paths\": [1]}]", "number 1 of the incidents has `paths` that are not strings");
    refuses(
        &("[".repeat(100_000)),
        "line 1 of the incidents is not JSON; expected one object a line, an array of objects, or an export of issues (column 128)",
    );
}

fn incident(title: &str, body: &str, paths: &[&str]) -> Incident {
    let paths = paths.iter().map(|path| (*path).into()).collect();
    Incident { id: title.into(), title: title.into(), body: body.into(), paths, at: None }
}

fn query<'q>(subject: &'q str, paths: &'q [&'q str], identifiers: &'q [String]) -> IncidentQuery<'q> {
    IncidentQuery { subject, paths, identifiers }
}

#[track_caller]
fn finds(corpus: &Corpus, query: &IncidentQuery<'_>, most: usize, expected: &[&str]) {
    let found: Vec<&str> = corpus.like(query, most).into_iter().map(|(incident, _)| incident.title.as_str()).collect();
    assert_eq!(found, expected, "{query:?}");
}

#[test]
fn similar_incidents_come_best_first() {
    let corpus = Corpus::new(vec![
        incident("Login loops forever", "the session cookie was lost", &["web/auth/login.ts"]),
        incident("Payment declined twice", "retry without an idempotency key", &["billing/charge_card.py"]),
        incident("Slow start", "", &["cmd/server.go"]),
        incident("Another slow start", "", &["cmd/server.go"]),
    ]);
    assert_eq!((corpus.len(), corpus.is_empty(), corpus.cut()), (4, false, CorpusTruncation::default()));
    finds(&corpus, &query("Retry charges", &["billing/chargeCard.py"], &[]), 3, &["Payment declined twice"]);
    finds(&corpus, &query("", &[], &["sessionCookie".into()]), 3, &["Login loops forever"]);
    finds(&corpus, &query("", &["cmd/server.go"], &[]), 9, &["Slow start", "Another slow start"]);
    finds(&corpus, &query("", &["cmd/server.go"], &[]), 1, &["Slow start"]);
    finds(&corpus, &query("slow", &["web/auth/login.ts"], &[]), 0, &[]);
    finds(&corpus, &query("nothing alike", &["src/lib.rs"], &[]), 9, &[]);
    finds(&Corpus::new(vec![]), &query("slow", &[], &[]), 9, &[]);
}

#[test]
fn equal_incidents_keep_their_order() {
    let corpus =
        Corpus::new((0..9).map(|number| Incident { id: number.to_string(), ..incident("Down", "", &[]) }).collect());
    let found = corpus.like(&query("down", &[], &[]), 4);
    assert_eq!(found.iter().map(|(incident, _)| incident.id.as_str()).collect::<String>(), "0123");
}

#[test]
fn the_score_is_that_of_the_formula() {
    // N = 2, n = 1. Document lengths 1 and 3, so the average is 2.
    let corpus = Corpus::new(vec![incident("alpha", "", &[]), incident("beta gamma delta", "", &[])]);
    let found = corpus.like(&query("alpha", &[], &[]), 1);
    let idf = (1.0 + (2.0 - 1.0 + 0.5) / (1.0 + 0.5_f32)).ln();
    assert!((found[0].1 - idf / (1.0 + 1.2 * (0.25 + 0.75 * 1.0 / 2.0))).abs() < 1e-6, "{found:?}");
}

#[test]
fn too_much_is_cut_and_counted() {
    let long = "é".repeat(LONGEST_BODY) + " needle";
    let corpus = Corpus::new(vec![incident("a", &long, &[]), incident("b", "needle", &[])]);
    assert_eq!(corpus.cut(), CorpusTruncation { incidents: 0, shortened: 1 });
    assert_eq!(corpus.like(&query("needle", &[], &[]), 9).len(), 1);
    let corpus = Corpus::new(vec![incident("a", "", &[]); MOST_INCIDENTS + 3]);
    assert_eq!((corpus.len(), corpus.cut().incidents), (MOST_INCIDENTS, 3));
}

#[test]
fn fixes_and_reverts_of_the_past_are_incidents() {
    let id = |number: u8| ObjectId::parse(format!("{number:02x}").repeat(20).as_bytes()).unwrap();
    let listed = |number: u8, subject: &str, mends, path: &str| ListedCommit {
        id: id(number),
        parents: number.checked_sub(1).map(id).into_iter().collect(),
        at: 1_700_000_000 + i64::from(number),
        author: Person { mail: "a@b".into(), name: "A".into() },
        subject: subject.into(),
        mends,
        touches: vec![ListedTouch { path: RepoPath::new(path), from: None, status: FileStatus::Modified }],
    };
    let commits = vec![
        listed(0, "Begin", Mends::Nothing, "a.rs"),
        listed(1, "Fix the lock", Mends::Fix, "lock.rs"),
        listed(2, "Revert \"Begin\"", Mends::Revert, "a.rs"),
        listed(3, "Fix later", Mends::Fix, "b.rs"),
    ];
    let history = History::of(commits, 1_800_000_000);
    let past = history.past(CommitIndex(2));
    let mut mended = MendIncidents::default();
    let incidents: Vec<Incident> = mended.corpus(&past, 9).incidents().cloned().collect();
    assert_eq!(
        incidents,
        [
            Incident {
                id: "020202020202".into(),
                title: "Revert \"Begin\"".into(),
                body: "".into(),
                paths: vec!["a.rs".into()],
                at: Some(1_700_000_002)
            },
            Incident {
                id: "010101010101".into(),
                title: "Fix the lock".into(),
                body: "".into(),
                paths: vec!["lock.rs".into()],
                at: Some(1_700_000_001)
            },
        ]
    );
    let mut check = |past: &Past<'_>, most| {
        let (known, anew) = (mended.corpus(past, most), MendIncidents::default().corpus(past, most));
        assert!(known.incidents().eq(anew.incidents()), "{most} of what was read for another past");
        let query = query("lock of the beginning", &["lock.rs"], &[]);
        assert_eq!(known.like(&query, 9), anew.like(&query, 9));
        known.len()
    };
    assert_eq!(check(&past, 1), 1);
    assert_eq!(check(&history.past(CommitIndex(1)), 9), 1);
    assert_eq!(check(&history.past(CommitIndex(3)), 9), 3);
    assert_eq!(check(&past, 9), 2);
}

#[test]
fn a_fix_that_does_not_say_what_was_wrong_is_no_incident() {
    let id = |number: u8| ObjectId::parse(format!("{number:02x}").repeat(20).as_bytes()).unwrap();
    let subjects =
        ["Fix.", "fix bug #12", "Fixes #7", "More fixes", "Fix overdraft of shared accounts", "fix: 登录失败"];
    let listed = |(number, subject): (u8, &&str)| ListedCommit {
        id: id(number),
        parents: number.checked_sub(1).map(id).into_iter().collect(),
        at: 1_700_000_000 + i64::from(number),
        author: Person { mail: "a@b".into(), name: "A".into() },
        subject: (*subject).into(),
        mends: Mends::Fix,
        touches: vec![ListedTouch { path: RepoPath::new("a.rs"), from: None, status: FileStatus::Modified }],
    };
    let history = History::of((0..).zip(&subjects).map(listed).collect(), 1_800_000_000);
    let mut mended = MendIncidents::default();
    let corpus = mended.corpus(&history.past(CommitIndex(5)), 9);
    let titles: Vec<&str> = corpus.incidents().map(|incident| incident.title.as_str()).collect();
    assert_eq!(titles, ["fix: 登录失败", "Fix overdraft of shared accounts"]);
}

proptest! {
    #[test]
    fn any_bytes_are_incidents_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Corpus::read(&bytes);
    }

    #[test]
    fn any_text_is_searched_and_every_score_is_finite(titles in proptest::collection::vec(".{0,12}", 0..9), subject in ".{0,12}") {
        let corpus = Corpus::new(titles.iter().map(|title| incident(title, "", &[])).collect());
        let found = corpus.like(&query(&subject, &[], &[]), 5);
        prop_assert!(found.len() <= 5 && found.iter().all(|(_, score)| score.is_finite() && *score > 0.0));
        prop_assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
    }
}
