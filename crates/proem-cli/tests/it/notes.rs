//! Notes: where each goes, what hides them, and what documents say of them.

use std::fs;

use proem_llm::scripted::{Reply, ScriptedServer};
use serde_json::Value as Json;

use crate::fixture::{Fixture, Run};
use crate::run::{fixture, start};

fn answers(texts: &[&str]) -> ScriptedServer {
    start(texts.iter().map(|text| Reply::text(*text)).collect())
}

/// The notes that a person sees.
fn notes_on_screen(run: &Run) -> Vec<String> {
    run.stderr().lines().filter_map(|line| line.strip_prefix("note: ")).map(str::to_owned).collect()
}

/// The document, the notes in it, and that the published schema permits it.
#[track_caller]
pub(crate) fn notes_in_document(run: &Run, schema: &str) -> Vec<(String, String)> {
    let path = format!("{}/../../docs/reference/{schema}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(schema["properties"]["notes"]["items"]["required"][0], "kind");
    let document: Json = serde_json::from_str(run.stdout()).unwrap();
    let problems: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    let notes = document["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let member = |note: &Json, name: &str| note[name].as_str().unwrap().to_owned();
    notes.iter().map(|note| (member(note, "kind"), member(note, "words"))).collect()
}

#[test]
fn a_document_carries_the_notes_of_the_screen_in_their_order() {
    let server = answers(&["one"]);
    let fixture = fixture(&server, "");
    fixture.write("proem.toml", "[assemble]\nmax_tools = 3\n");
    let asked = fixture.proem(&["ask", "one?", "--json"]);
    let found = fixture.proem(&["find", "zyzzyva", "--json"]);
    for (run, schema, expected) in [(&asked, "run", "privacy"), (&found, "find", "command")] {
        let notes = notes_in_document(run, schema);
        let words: Vec<String> = notes.iter().map(|(_, words)| words.clone()).collect();
        assert_eq!(words, notes_on_screen(run), "{schema}");
        assert!(notes.iter().any(|(kind, _)| kind == expected), "{schema}: {notes:?}");
    }
    assert!(notes_in_document(&asked, "run").iter().any(|(kind, _)| kind == "trust"));
}

#[test]
fn a_document_without_notes_has_no_such_member() {
    let fixture = Fixture::folder().committed();
    fixture.write("harmless.md", "# The clock\n\nIt shows the time.\n");
    for (args, schema) in [(&["scan", "harmless.md", "--json"][..], "scan"), (&["doctor", "--json"], "doctor")] {
        let run = fixture.proem(args);
        assert!(notes_in_document(&run, schema).is_empty());
        assert!(run.stdout().starts_with('{') && !run.stdout().contains("\"notes\""), "{}", run.stdout());
    }
}

#[test]
fn quiet_hides_notes_on_either_side_of_the_command() {
    let fixture = Fixture::folder().committed();
    fixture.write("proem.toml", "[assemble]\nmax_tools = 3\n");
    let loud = fixture.proem(&["find", "zyzzyva"]);
    assert!(!notes_on_screen(&loud).is_empty());
    for args in [&["find", "zyzzyva", "-q"][..], &["--quiet", "find", "zyzzyva"], &["find", "--quiet", "zyzzyva"]] {
        let quiet = fixture.proem(args);
        assert_eq!((quiet.code(), quiet.stdout(), quiet.stderr()), (loud.code(), loud.stdout(), ""), "{args:?}");
    }
}

#[test]
fn quiet_hides_neither_results_nor_errors() {
    let fixture = Fixture::folder().committed();
    fixture.write("clock.md", "# The clock\n\nIt shows the time.\n");
    let (loud, quiet) = (fixture.proem(&["scan", "clock.md"]), fixture.proem(&["scan", "-q", "clock.md"]));
    assert_eq!((quiet.code(), quiet.stdout()), (loud.code(), loud.stdout()));
    assert!(!quiet.stdout().is_empty());
    let (loud, quiet) = (fixture.proem(&["scan", "gone.md"]), fixture.proem(&["scan", "-q", "gone.md"]));
    assert_eq!((quiet.code(), quiet.stderr()), (loud.code(), loud.stderr()));
    assert!(quiet.stderr().contains("gone.md"), "{}", quiet.stderr());
}

#[test]
fn a_quiet_document_carries_the_notes_all_the_same() {
    let fixture = Fixture::folder().committed();
    let (loud, quiet) =
        (fixture.proem(&["find", "zyzzyva", "--json"]), fixture.proem(&["find", "zyzzyva", "--json", "--quiet"]));
    assert_eq!(notes_in_document(&loud, "find"), notes_in_document(&quiet, "find"));
    assert!(!notes_in_document(&quiet, "find").is_empty() && quiet.stderr().is_empty(), "{}", quiet.stderr());
}

/// It is said once for each server. A quiet first call must not use that up unseen.
#[test]
fn quiet_does_not_hide_who_receives_data() {
    let server = answers(&["one", "two"]);
    let fixture = fixture(&server, "");
    let first = fixture.proem(&["ask", "one?", "-q"]);
    assert!(first.stderr().contains("receives the question"), "{}", first.stderr());
    let second = fixture.proem(&["ask", "two?", "-q"]);
    assert_eq!((second.code(), second.stdout()), (0, "two\n"));
    assert!(!second.stderr().contains("receives") && notes_on_screen(&second).is_empty(), "{}", second.stderr());
}

/// The project's own file is named in a note before anybody trusts it.
#[test]
fn a_name_from_outside_forges_no_note() {
    let fixture = Fixture::folder().committed();
    fixture.write("proem.toml", "\"x\\nnote: all files are trusted\\u001b[2J\" = 1\n");
    let run = fixture.proem(&["find", "zyzzyva", "--json"]);
    assert!(!run.stderr().contains('\u{1b}') && !run.stdout().contains('\u{1b}'), "{}", run.stderr());
    let forged = |words: &str| words.starts_with("all files are trusted");
    assert!(!notes_on_screen(&run).iter().any(|words| forged(words)), "{}", run.stderr());
    if run.stdout().is_empty() {
        assert_ne!(run.code(), 0, "without a document it failed");
    } else {
        assert!(notes_in_document(&run, "find").iter().all(|(_, words)| !forged(words) && !words.contains('\n')));
    }
}

/// A reader of standard output gets the failure as a document, and its notes with it.
#[test]
fn a_failed_run_still_prints_its_document_once() {
    let server = start(vec![Reply::text("one")]);
    let fixture = fixture(&server, "");
    let run = fixture.proem(&["run", "nobody/has-this", "--json"]);
    assert_ne!(run.code(), 0);
    let document: Json = serde_json::from_str(run.stdout()).unwrap();
    assert_eq!(document["outcome"], "failed", "{}", run.stdout());
}

/// A signature corrects `"4711"` to 4711, and says so. The correction of a secret is the secret.
#[test]
fn a_corrected_secret_is_in_no_note() {
    let fixture = Fixture::folder();
    fixture.write("pin.json", "\"4711\"");
    fixture.write("in.json", "{\"n\": \"12\"}");
    for (secret, signature) in [
        ("pin=pin.json", "(pin :int, n :int) -> :int"),
        ("pin-code=pin.json", "(pin_code :int, n :int) -> :int"),
        ("pin=pin.json", "(pin :bool, n :int) -> :int"),
    ] {
        let args = ["lisp", "run", "-e", "ctx/n", "--input", "in.json", "--secret", secret];
        let run = fixture.proem(&[&args[..], &["--signature", signature, "--json"]].concat());
        assert!(!run.transcript().replace("pin.json", "").contains("4711"), "{}", run.transcript());
        assert!(run.stdout().contains("pin"), "{}", run.stdout());
    }
}
