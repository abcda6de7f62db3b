//! What is read of a tree's files, and what is left of it where time is short.

use std::fs;
use std::time::Duration;

use proem_runtime::Environment;
use proem_runtime::context::{ContextLimits, read_folder};
use tempfile::TempDir;

#[test]
fn what_was_cut_off_by_time_is_read_since() {
    let folder = TempDir::new().unwrap();
    let source = "/// Fits.\nfn fit() {}\n";
    fs::write(folder.path().join("budget.rs"), source).unwrap();
    fs::write(folder.path().join("image.png"), b"\x89PNG").unwrap();
    let none = ContextLimits { time: Some(Duration::ZERO), ..ContextLimits::default() };
    let read = |limits: &ContextLimits| read_folder(&Environment::inherited(), folder.path(), limits).unwrap();
    let (cut, whole) = (read(&none), read(&ContextLimits { time: None, ..none }));
    let place = |name: &str| whole.files.iter().position(|file| file.path == name).unwrap();
    let (code, image) = (place("budget.rs"), place("image.png"));
    assert!(cut.files[code].record.is_none() && cut.gaps[0].contains("were not read in time"), "{:?}", cut.gaps);
    let late = cut.late_record(code, source.as_bytes(), &none);
    assert_eq!(late, whole.files[code].record);
    assert_eq!(late.map(|record| record.symbols()[0].name.clone()).as_deref(), Some("fit"));
    assert_eq!(whole.late_record(code, source.as_bytes(), &none), None, "what was read in time stays as it is");
    assert_eq!(cut.late_record(image, b"\x89PNG", &none), None);
}
