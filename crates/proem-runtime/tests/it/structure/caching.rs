//! The records kept from one run to the next.

use std::fs;

use crate::fixture::Fixture;
use crate::structure::fixture::edges;

const FILES: [(&str, &str); 4] =
    [("a.py", "import b\n"), ("b.py", ""), ("native.zig", "int x;\n"), ("package.json", "{}")];

#[test]
fn what_did_not_change_is_not_read_again() {
    let fixture = Fixture::of_files(&FILES);
    // Project files are read each time: they are few.
    let (first, second) = (fixture.read_cached(), fixture.read_cached());
    assert_eq!((first.read, second.read), (4, 1));
    assert_eq!((edges(&first), &first.files), (edges(&second), &second.files));
    fixture.write("a.py", "import b, c\n");
    fixture.write("c.py", "");
    fixture.commit("next");
    let third = fixture.read_cached();
    // The empty file has the content of one that is known.
    assert_eq!((third.read, edges(&third)), (2, vec!["a.py -> b.py".to_owned(), "a.py -> c.py".to_owned()]));
    fixture.git(&["checkout", "-q", "HEAD~1"]);
    assert_eq!(fixture.read_cached().read, 1);
}

#[test]
fn content_that_moves_to_another_language_is_read_anew() {
    let fixture = Fixture::of_files(&[("a.js", "import './b'\n"), ("b.ts", "")]);
    assert_eq!(fixture.read_cached().read, 2);
    fixture.git(&["mv", "a.js", "a.ts"]);
    fixture.commit("next");
    let moved = fixture.read_cached();
    assert_eq!((moved.read, edges(&moved)), (1, vec!["a.ts -> b.ts".to_owned()]));
}

#[test]
fn a_damaged_cache_is_made_anew_and_said_to_be() {
    let fixture = Fixture::of_files(&FILES);
    let first = fixture.read_cached();
    let file = fixture.cache().join("structure-2.bin");
    let good = fs::read(&file).unwrap();
    let mut flipped = good.clone();
    flipped[20] ^= 1;
    for bytes in [&b""[..], b"junk", &good[..good.len() - 1], &flipped] {
        fs::write(&file, bytes).unwrap();
        let found = fixture.read_cached();
        assert_eq!((found.read, edges(&found)), (4, edges(&first)));
        assert_eq!(found.gaps, ["the cached imports were damaged; the sources are read again"]);
        assert_eq!((fixture.read_cached().read, fixture.read_cached().gaps), (1, Vec::new()));
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_a_note() {
    let fixture = Fixture::of_files(&FILES);
    fs::write(fixture.base.join("cache"), "in the way").unwrap();
    let found = fixture.read_cached();
    assert_eq!(edges(&found), ["a.py -> b.py"]);
    assert!(found.gaps.iter().any(|gap| gap.starts_with("the imports could not be stored: ")), "{:?}", found.gaps);
}
