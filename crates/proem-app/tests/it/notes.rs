//! The order and the kinds of notes that use cases hand over.

use proem_app::NoteKind;

use crate::Home;

#[test]
fn notes_come_in_the_order_in_which_a_project_is_read() {
    let home = Home::with("baseline = \"gone.md\"\n\n[assemble.paths]\nrules = \"gone.md\"\n");
    let notes = home.project().all_notes();
    let kinds: Vec<NoteKind> = notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::Trust, NoteKind::Configuration], "{notes:?}");
    assert_eq!(home.project().all_notes(), notes, "the second reading says the same");
}

#[test]
fn each_kind_has_a_word_of_its_own() {
    for kind in NoteKind::ALL {
        assert_eq!(NoteKind::parse(kind.as_str()), Some(kind));
    }
}
