//! Cassettes on disk: what is kept, what is refused, and what a replay says.
#![expect(clippy::unwrap_used, clippy::string_slice, reason = "a test may stop at what it didn't expect")]

use std::fs;
use std::path::Path;

use proem_engine::call::FailureKind;
use proem_llm::cassette::{CassetteError, Recorder, Replayer, Tape, TapeEnd};
use proem_llm::secret::Secret;
use proem_llm::wire::{CallSlot, ResponseHead, WireRequest};
use proem_text::json::compact;
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const URL: &str = "https://api.anthropic.com/v1/messages";
const SLOT: CallSlot = CallSlot { run: 1, effect: 0 };
const KEY: &str = "sk-ant-api03-0123456789";

fn request(body: Json) -> WireRequest {
    let headers = vec![("anthropic-version", "2023-06-01".to_owned()), ("content-type", "application/json".to_owned())];
    WireRequest { path: "/messages", headers, body }
}

fn tape() -> Tape {
    let headers = [("content-type", "text/event-stream"), ("set-cookie", "session=1"), ("request-id", "req_1")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Tape {
        url: URL.to_owned(),
        request: request(json!({ "model": "m", "messages": [{ "role": "user", "content": "one\ntwo" }] })),
        head: Some(ResponseHead { status: 200, headers }),
        chunks: vec![b"data: \xc3".to_vec(), b"\xa9".to_vec(), b"\n".to_vec(), b"\n".to_vec()],
        end: TapeEnd::Whole,
    }
}

/// A new folder, and the one below it that is recorded into.
fn cassette_folder() -> (TempDir, std::path::PathBuf) {
    let temporary = TempDir::new().unwrap();
    let folder = temporary.path().join("tapes").join("run");
    (temporary, folder)
}

fn record(folder: &Path, tape: &Tape) -> Result<(), CassetteError> {
    let secrets = vec![Secret::new("ANTHROPIC_API_KEY", KEY)];
    Recorder::open(folder, secrets).unwrap().write(SLOT, 0, tape)
}

/// The error of a replay, with the folder's name replaced.
fn said<T: std::fmt::Debug>(result: Result<T, CassetteError>, folder: &Path) -> String {
    result.unwrap_err().to_string().replace(&folder.display().to_string(), "DIR")
}

#[test]
fn a_cassette_is_a_file_that_people_can_read() {
    let (_temporary, folder) = cassette_folder();
    record(&folder, &tape()).unwrap();
    let text = fs::read_to_string(folder.join("0001-00-00.json")).unwrap();
    let expected = r#"{
  "body": {
    "text": "data: é\n\n"
  },
  "chunks": "7 1x3",
  "end": {
    "kind": "whole"
  },
  "format": 1,
  "request": {
    "body": {
      "messages": [
        {
          "content": "one\ntwo",
          "role": "user"
        }
      ],
      "model": "m"
    },
    "headers": [
      [
        "anthropic-version",
        "2023-06-01"
      ],
      [
        "content-type",
        "application/json"
      ]
    ],
    "path": "/messages"
  },
  "response": {
    "headers": [
      [
        "content-type",
        "text/event-stream"
      ],
      [
        "request-id",
        "req_1"
      ]
    ],
    "status": 200
  },
  "url": "https://api.anthropic.com/v1/messages"
}
"#;
    assert_eq!(text, expected);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_look() {
    use std::os::unix::fs::PermissionsExt;
    let (_temporary, folder) = cassette_folder();
    record(&folder, &tape()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(folder.parent().unwrap()), 0o700);
    assert_eq!(mode(&folder.join("0001-00-00.json")), 0o600);
}

#[test]
fn a_folder_with_cassettes_is_not_recorded_into() {
    let (_temporary, folder) = cassette_folder();
    record(&folder, &tape()).unwrap();
    let expected =
        "the folder `DIR` already holds cassettes, such as `0001-00-00.json`; name an empty one or remove them";
    assert_eq!(said(Recorder::open(&folder, Vec::new()), &folder), expected);
    fs::remove_file(folder.join("0001-00-00.json")).unwrap();
    let recorder = Recorder::open(&folder, Vec::new()).unwrap();
    recorder.write(SLOT, 1, &tape()).unwrap();
    let expected = "`DIR/0001-00-01.json` already exists; name an empty folder";
    assert_eq!(said(recorder.write(SLOT, 1, &tape()), &folder), expected);
    fs::write(folder.join("0001-00-02.part"), "").unwrap();
    let expected = "`DIR/0001-00-02.json` can't be written: `DIR/0001-00-02.part` is in the way; remove it";
    assert_eq!(said(recorder.write(SLOT, 2, &tape()), &folder), expected);
    fs::write(folder.join("a file"), "").unwrap();
    assert!(
        said(Recorder::open(&folder.join("a file"), Vec::new()), &folder)
            .starts_with("the folder `DIR/a file` can't be created: ")
    );
}

#[test]
fn nothing_is_written_in_which_a_secret_is_found() {
    let percent = KEY.replace('-', "%2D");
    let in_request = |text: &str| Tape { request: request(json!({ "messages": text })), ..tape() };
    let in_answer = |chunks: &[&[u8]]| Tape { chunks: chunks.iter().map(|chunk| chunk.to_vec()).collect(), ..tape() };
    let in_header = Tape {
        head: Some(ResponseHead { status: 200, headers: vec![("request-id".to_owned(), KEY.to_owned())] }),
        ..tape()
    };
    let (start, end) = KEY.split_at(9);
    for (tape, place) in [
        (in_request(KEY), "the request's body"),
        (in_request(&percent), "the request's body"),
        (Tape { request: request(json!({ KEY: 1 })), ..tape() }, "the request's body"),
        (in_answer(&[start.as_bytes(), end.as_bytes()]), "the answer's body"),
        (in_answer(&[b"\xff", KEY.as_bytes()]), "the answer's body"),
        (in_answer(&[b"c2stYW50LWFwaTAzLTAxMjM0NTY3ODk="]), "the answer's body"),
        (in_header, "a header of the answer"),
        (Tape { url: format!("http://localhost/{KEY}/v1"), ..tape() }, "the address"),
        (Tape { end: TapeEnd::Broken { kind: FailureKind::Cut, message: KEY.to_owned() }, ..tape() }, "the cassette"),
    ] {
        let (_temporary, folder) = cassette_folder();
        let expected = format!(
            "{place} holds the value of `ANTHROPIC_API_KEY`, so `0001-00-00.json` was not written; \
             remove the secret from the inputs, and replace it if it was sent by mistake"
        );
        assert_eq!(said(record(&folder, &tape), &folder), expected);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{place}");
    }
    // The text around the kept part may hold it.
    let (_temporary, folder) = cassette_folder();
    let mut tape = tape();
    tape.head.as_mut().unwrap().headers.push(("set-cookie".to_owned(), KEY.to_owned()));
    tape.request.headers.push(("x-api-key", KEY.to_owned()));
    tape.url = format!("https://user:{KEY}@localhost/v1?key={KEY}");
    record(&folder, &tape).unwrap();
    assert!(!fs::read_to_string(folder.join("0001-00-00.json")).unwrap().contains(KEY));
}

#[test]
fn what_could_not_be_read_is_not_written() {
    let (_temporary, folder) = cassette_folder();
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let problem = said(record(&folder, &Tape { request: request(deep), ..tape() }), &folder);
    let expected =
        "`0001-00-00.json` was not written, because it could not be read: it is not a cassette: recursion limit";
    assert!(problem.starts_with(expected), "{problem}");
    let problem = said(record(&folder, &Tape { url: "nowhere".to_owned(), ..tape() }), &folder);
    assert_eq!(problem, "`0001-00-00.json` was not written: its address is not a URL with a host");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_replay_gives_each_tape_once() {
    let (_temporary, folder) = cassette_folder();
    let recorder = Recorder::open(&folder, Vec::new()).unwrap();
    let later = CallSlot { run: 2, effect: 1 };
    recorder.write(SLOT, 0, &tape()).unwrap();
    recorder.write(SLOT, 1, &tape()).unwrap();
    recorder.write(later, 0, &tape()).unwrap();
    fs::write(folder.join("README.md"), "recorded by hand").unwrap();
    let replayer = Replayer::open(&folder).unwrap();
    assert_eq!(replayer.unused(), ["0001-00-00.json", "0001-00-01.json", "0002-01-00.json"]);
    let elsewhere = "http://127.0.0.1:1/messages";
    let played = replayer.take(SLOT, 1, elsewhere, &tape().request).unwrap();
    let mut expected = tape();
    expected.head.as_mut().unwrap().headers.remove(1);
    assert_eq!(played, expected);
    assert_eq!(replayer.unused(), ["0001-00-00.json", "0002-01-00.json"]);
    let again = "the cassette `DIR/0001-00-01.json` was requested twice, but recorded once; record again";
    assert_eq!(said(replayer.take(SLOT, 1, URL, &tape().request), &folder), again);
    for (slot, attempt, expected) in [
        (SLOT, 2, "`0001-00-02.json`; its cassettes of this call are `0001-00-00.json`, `0001-00-01.json`"),
        (
            CallSlot { run: 3, effect: 0 },
            0,
            "`0003-00-00.json`; its cassettes are `0001-00-00.json`, `0001-00-01.json`, `0002-01-00.json`",
        ),
    ] {
        let expected = format!("the folder `DIR` holds no cassette {expected}; record again if the change is intended");
        assert_eq!(said(replayer.take(slot, attempt, URL, &tape().request), &folder), expected);
    }
}

#[test]
fn another_request_is_shown_as_a_difference() {
    let (_temporary, folder) = cassette_folder();
    record(&folder, &tape()).unwrap();
    let replayer = Replayer::open(&folder).unwrap();
    let content = "one\nTWO \u{1b}[31m";
    let mut other = request(json!({ "model": "m", "messages": [{ "role": "user", "content": content }] }));
    other.headers[0].1 = "2024".to_owned();
    other.headers.push(("x-api-key", "not compared".to_owned()));
    let problem = said(replayer.take(SLOT, 0, URL, &other), &folder);
    let (first, difference) = problem.split_once('\n').unwrap();
    let expected = "the cassette `DIR/0001-00-00.json` holds another request (- recorded, + to be sent); \
                    record again if the change is intended";
    assert_eq!(first, expected);
    let expected = r#"  @@ -1,12 +1,12 @@
   POST /messages
  -anthropic-version: 2023-06-01
  +anthropic-version: 2024
   content-type: application/json
   
   {
     "messages": [
       {
         "content": "one\\n
  -two",
  +TWO \\u001b[31m",
         "role": "user"
       }
     ],"#;
    assert_eq!(difference, expected);
    let elsewhere = WireRequest { path: "/chat/completions", ..tape().request };
    assert!(
        said(replayer.take(SLOT, 0, URL, &elsewhere), &folder)
            .contains("\n  -POST /messages\n  +POST /chat/completions\n")
    );
    let long = request(Json::from((0..500).collect::<Vec<_>>()));
    let difference = said(replayer.take(SLOT, 0, URL, &long), &folder);
    assert_eq!(difference.lines().count(), 61);
    assert!(difference.lines().last().unwrap().ends_with(" more lines"), "{difference}");
    // None of that used it up.
    replayer.take(SLOT, 0, URL, &tape().request).unwrap();
}

#[test]
fn files_that_are_no_cassettes() {
    let (_temporary, folder) = cassette_folder();
    record(&folder, &tape()).unwrap();
    let path = folder.join("0001-00-00.json");
    let good = fs::read_to_string(&path).unwrap();
    let cut = &good[..good.len() / 2];
    for (text, expected) in [
        (cut.to_owned(), "it was cut off: EOF while parsing"),
        (String::new(), "it was cut off: EOF while parsing a value at line 1 column 0"),
        ("hello".to_owned(), "it is not a cassette: expected value at line 1 column 1"),
        ("{}".to_owned(), "it is not a cassette: it has no `format`"),
        (good.replace("\"format\": 1", "\"format\": 2"), "its format is `2`, and only `1` is known; record again"),
        (
            good.replace("\"status\": 200", "\"status\": \"x\""),
            "it is not a cassette: invalid type: string \"x\", expected u16 at line 43 column 17",
        ),
        (good.replace("\"url\"", "\"cookie\""), "it is not a cassette: unknown field `cookie`"),
        (good.replace("7 1x3", "7 1x4"), "its chunks are longer than its body of 10 bytes"),
        (good.replace("7 1x3", "7 1"), "2 of the 10 bytes of its body are in no chunk"),
        (good.replace("7 1x3", "seven"), "`seven` is not a valid chunk length"),
        (good.replace("7 1x3", "0x99999999999"), "it has more than 67108864 chunks"),
        (good.replace("\"text\": \"data", "\"base64\": \"data"), "its body is not base64: "),
    ] {
        fs::write(&path, &text).unwrap();
        let problem = said(Replayer::open(&folder), &folder);
        let problem = problem.strip_prefix("the cassette `DIR/0001-00-00.json` can't be read: ").unwrap();
        assert!(problem.starts_with(expected), "{problem}\n{expected}");
    }
    fs::rename(&path, folder.join("package.json")).unwrap();
    let expected =
        "`DIR/package.json` does not have the name of a cassette, such as `0001-00-00.json`; move it out of the folder";
    assert_eq!(said(Replayer::open(&folder), &folder), expected);
    assert_eq!(said(Recorder::open(&folder, Vec::new()), &folder), expected);
    fs::remove_file(folder.join("package.json")).unwrap();
    assert_eq!(said(Replayer::open(&folder), &folder), "the folder `DIR` holds no cassettes; record into it first");
    let missing = said(Replayer::open(&folder.join("x")), &folder);
    assert!(missing.starts_with("the folder `DIR/x` can't be read: "), "{missing}");
}

const KEPT: [&str; 10] = [
    "content-type",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "date",
    "request-id",
    "x-request-id",
    "openai-processing-ms",
    "anthropic-ratelimit-tokens-remaining",
    "x-ratelimit-reset-requests",
];

fn header_name() -> impl Strategy<Value = String> {
    let others =
        ["set-cookie", "authorization", "x-api-key", "content-type2", "x-ratelimit", "Content-Type", "expires"];
    prop_oneof![
        select(KEPT.to_vec()).prop_map(str::to_owned),
        select(others.to_vec()).prop_map(str::to_owned),
        "[a-z-]{1,20}"
    ]
}

fn body() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        ".*".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Json::from),
            vec((".{0,5}", inner), 0..5).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn tape_end() -> impl Strategy<Value = TapeEnd> {
    let kinds = vec![FailureKind::Cut, FailureKind::TimedOut, FailureKind::TooLarge];
    prop_oneof![
        Just(TapeEnd::Whole),
        Just(TapeEnd::Stopped),
        (select(kinds), ".*").prop_map(|(kind, message)| TapeEnd::Broken { kind, message }),
    ]
}

prop_compose! {
    fn tapes()(
        body in body(), head in option::of((100u16..600, vec((header_name(), "[ -~é]{0,20}"), 0..8))),
        chunks in vec(prop_oneof![vec(any::<u8>(), 0..20), "[a-zé日]{0,9}".prop_map(String::into_bytes)], 0..12),
        end in tape_end(),
    ) -> Tape {
        let head = head.map(|(status, headers)| ResponseHead { status, headers });
        Tape { url: URL.to_owned(), request: request(body), head, chunks, end }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_replayed(tape in tapes(), attempt in 0u32..3) {
        let (_temporary, folder) = cassette_folder();
        let slot = CallSlot { run: 7, effect: 3 };
        Recorder::open(&folder, Vec::new()).unwrap().write(slot, attempt, &tape).unwrap();
        let played = Replayer::open(&folder).unwrap().take(slot, attempt, URL, &tape.request).unwrap();
        let mut expected = tape;
        if let Some(head) = &mut expected.head {
            let kept = |name: &str| {
                let prefixes = ["anthropic-ratelimit-", "x-ratelimit-"];
                KEPT[..8].contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
            };
            head.headers.retain(|(name, _)| kept(name));
        }
        prop_assert_eq!(played, expected);
    }

    #[test]
    fn no_header_outside_the_list_survives(
        name in header_name(), value in "[a-z]{30}",
        sent in select(vec!["authorization", "x-api-key", "cookie", "user-agent"]),
    ) {
        let (_temporary, folder) = cassette_folder();
        let mut tape = tape();
        tape.head.as_mut().unwrap().headers = vec![(name.clone(), value.clone())];
        tape.request.headers.push((sent, "sent-value-that-is-not-kept".to_owned()));
        record(&folder, &tape).unwrap();
        let text = fs::read_to_string(folder.join("0001-00-00.json")).unwrap();
        let prefixes = ["anthropic-ratelimit-", "x-ratelimit-"];
        let is_kept = KEPT.contains(&name.as_str()) || prefixes.iter().any(|prefix| name.starts_with(prefix));
        prop_assert_eq!(text.contains(&value), is_kept, "{}", name);
        prop_assert!(!text.contains("sent-value-that-is-not-kept"));
    }

    #[test]
    fn a_changed_body_is_never_replayed(one in body(), other in body()) {
        let (_temporary, folder) = cassette_folder();
        record(&folder, &Tape { request: request(one.clone()), ..tape() }).unwrap();
        let replayer = Replayer::open(&folder).unwrap();
        let taken = replayer.take(SLOT, 0, URL, &request(other.clone()));
        // Values as they are sent: 0.0 and -0.0 are equal, but not the same bytes.
        prop_assert_eq!(taken.is_ok(), compact(&one) == compact(&other));
        prop_assert!(replayer.take(SLOT, 0, URL, &request(one)).is_ok() || taken.is_ok());
    }
}
