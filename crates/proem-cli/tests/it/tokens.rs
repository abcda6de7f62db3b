//! Counting files.

use crate::fixture::{Fixture, Run};

#[test]
fn tables_and_what_cannot_be_counted() {
    let fixture = Fixture::folder().committed();
    fixture.write("caf\u{e9}\n.md", "Ein Satz, der gezählt wird.\n");
    fixture.write("latin1.txt", b"caf\xe9\n");
    fixture.write("empty", "");
    let runs = [
        fixture.proem(&["tokens", "README.md", "src/main.rs", "caf\u{e9}\n.md", "empty"]),
        fixture.proem_with(&["tokens", "-", "--model", "gpt-5-mini"], b"hello world"),
        fixture.proem(&["tokens", "--model", "claude-haiku-4-5", "--json", "README.md"]),
        fixture.proem(&["tokens", "README.md", "gone", "latin1.txt", "src"]),
        fixture.proem(&["tokens", "gone", "--json"]),
        fixture.proem(&["tokens", "README.md", "--model", "abacus"]),
        fixture.proem(&["tokens"]),
    ];
    let sessions: Vec<String> = runs.iter().map(Run::transcript).collect();
    snapshot!(sessions.join("\n"));
}

#[test]
fn a_folder_is_counted_in_one_sum_and_says_what_it_left_out() {
    let fixture = Fixture::folder().committed();
    fixture.write("docs/a.md", "one two three\n");
    fixture.write("docs/b/c.md", "four five\n");
    fixture.write("docs/image.bin", b"\0\x01\xff");
    std::os::unix::fs::symlink("/etc/passwd", fixture.repo.join("docs/link")).unwrap();
    fixture.commit("docs");
    let json = fixture.proem(&["tokens", "--json", "docs"]).json();
    let folder = &json["files"][0];
    assert_eq!((&folder["files"], &folder["leftOut"], &folder["bytes"]), (&2.into(), &2.into(), &24.into()), "{json}");
    let one = |file: &str| fixture.proem(&["tokens", "--json", file]).json()["totals"]["o200k"].as_u64().unwrap();
    assert_eq!(folder["tokens"]["o200k"].as_u64().unwrap(), one("docs/a.md") + one("docs/b/c.md"));
    let run = fixture.proem(&["tokens", "docs"]);
    assert!(run.stdout().contains("docs (2 files)"), "{}", run.stdout());
    assert!(run.stderr().contains("2 paths of `docs` not counted"), "{}", run.stderr());
}
