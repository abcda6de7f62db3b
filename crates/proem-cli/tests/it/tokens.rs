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
