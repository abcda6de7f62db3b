//! The prompts that are part of the program.

use proem_engine::prompt::book::BookLayer;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;

/// Every file of `book/` but checklists, by its path in that folder.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/book.rs"));

/// The book that is part of the program.
#[must_use]
pub fn embedded_book() -> BookLayer {
    let files = FILES.iter().map(|(path, text)| ((*path).to_owned(), PartialText::Template((*text).to_owned())));
    BookLayer { origin: Origin::Embedded, files: files.collect() }
}
