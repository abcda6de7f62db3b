//! The generated part of the page on effects, compared with what is committed.
//!
//! `cargo xtask docs` runs this with `PROEM_UPDATE_REFERENCE=1`, which writes it instead.

#![expect(clippy::disallowed_methods, reason = "a test may read and write the page that it compares")]

use std::{fs, path::PathBuf};

use proem_engine::effect::document::{BEGIN, END, markdown};

#[test]
fn transitions() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/design/0014-effects.md");
    let committed = fs::read_to_string(&path).unwrap();
    let (head, rest) = committed.split_once(BEGIN).expect("the page has a mark where the generated part begins");
    let (_, tail) = rest.split_once(END).expect("the page has a mark where the generated part ends");
    let generated = format!("{head}{BEGIN}\n\n{}\n{END}{tail}", markdown());
    if std::env::var_os("PROEM_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        fs::write(&path, generated).unwrap();
        return;
    }
    assert!(committed == generated, "docs/design/0014-effects.md is out of date; run `cargo xtask docs`");
}
