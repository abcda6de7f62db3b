//! What the command line answers where raw data is missing.

use std::process::Command;

#[test]
fn a_folder_without_data_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_proem-lab"))
        .args(["pack", "embed", "--to", "x", "--from"])
        .arg(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3));
    assert!(error.starts_with("error: could not read `") && error.contains("table-256-int8.npy"), "{error}");
}
