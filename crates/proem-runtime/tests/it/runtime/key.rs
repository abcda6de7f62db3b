//! The installation key.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Barrier,
    thread,
};

use proem_guard::InstallationKey;
use proem_runtime::{Error, installation_key};
use tempfile::TempDir;

use crate::fixture::link;

fn key_place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("state/proem/key");
    (folder, path)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn file_mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_first_use_makes_a_key_that_stays() {
    let (_folder, path) = key_place();
    let key = installation_key(&path).unwrap();
    assert_eq!((file_mode(&path), file_mode(path.parent().unwrap())), (0o600, 0o700));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!((text.len(), text.trim_end().bytes().all(|byte| byte.is_ascii_hexdigit())), (65, true));
    assert_eq!(installation_key(&path).unwrap().id(), key.id());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let (_other, other) = key_place();
    assert_ne!(installation_key(&other).unwrap().id(), key.id());
}

#[test]
fn the_file_holds_the_bytes_of_the_key() {
    let (_folder, path) = key_place();
    installation_key(&path).unwrap();
    fs::write(&path, "00ff".repeat(16) + "\n").unwrap();
    let bytes = std::array::from_fn(|n| if n % 2 == 0 { 0 } else { 0xff });
    assert_eq!(installation_key(&path).unwrap().id(), InstallationKey::new(bytes).id());
}

#[test]
fn all_who_start_at_once_get_one_key() {
    let (_folder, path) = key_place();
    let barrier = Barrier::new(8);
    let keys: Vec<String> = thread::scope(|scope| {
        let start = || {
            barrier.wait();
            installation_key(&path).unwrap().id()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_no_key_is_refused_and_kept() {
    for text in ["", "0123", &"0".repeat(64), &format!("{}\n\n", "0".repeat(64)), &format!("{}\n", "x".repeat(64))] {
        let (_folder, path) = key_place();
        installation_key(&path).unwrap();
        fs::write(&path, text).unwrap();
        let error = installation_key(&path).unwrap_err();
        assert!(matches!(error, Error::KeyForm { .. }), "{text:?}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_key_that_others_may_use_is_refused() {
    let (_folder, path) = key_place();
    installation_key(&path).unwrap();
    let shown = path.display();
    set_mode(&path, 0o640);
    let error = installation_key(&path).unwrap_err().to_string();
    assert_eq!(error, format!("other users can access `{shown}` (mode 640); run `chmod 600 {shown}`"));
    set_mode(&path, 0o400);
    assert!(installation_key(&path).is_ok());
    let folder = path.parent().unwrap();
    set_mode(folder, 0o770);
    let error = installation_key(&path).unwrap_err().to_string();
    let shown = folder.display();
    assert_eq!(error, format!("other users can access `{shown}` (mode 770); run `chmod 700 {shown}`"));
}

#[test]
fn a_link_is_no_key() {
    let (folder, path) = key_place();
    let other = folder.path().join("other");
    installation_key(&other).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    set_mode(path.parent().unwrap(), 0o700);
    for target in [other, folder.path().join("nothing")] {
        link(&target, &path);
        assert!(matches!(installation_key(&path), Err(Error::Link { .. })));
        fs::remove_file(&path).unwrap();
    }
}
