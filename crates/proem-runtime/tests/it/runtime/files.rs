//! Reading and writing where links and other things may be in the way.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use proem_runtime::{
    Error,
    files::{FileAccess, FileContent, read_beneath, read_regular, replace_file, write_new},
};
use tempfile::TempDir;

use crate::fixture::link;

fn file_mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn reading_stops_at_the_cap() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "abc").unwrap();
    for (cap, expected) in [
        (4, FileContent::Whole(b"abc".to_vec())),
        (3, FileContent::Whole(b"abc".to_vec())),
        (2, FileContent::Cut(b"ab".to_vec())),
        (0, FileContent::Cut(Vec::new())),
    ] {
        assert_eq!(read_regular(&path, cap).unwrap(), Some(expected), "{cap}");
    }
    assert_eq!(read_regular(&folder.path().join("nothing"), 1).unwrap(), None);
    assert_eq!(read_beneath(folder.path(), Path::new("no/thing"), 1).unwrap(), None);
    let device = read_regular(Path::new("/dev/zero"), 1).unwrap_err();
    assert_eq!(device.to_string(), "`/dev/zero` is a device, not a regular file; move it elsewhere");
}

#[test]
fn a_new_file_is_whole_private_and_alone() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    write_new(root, Path::new("a/b/f"), b"one", FileAccess::Private).unwrap();
    assert_eq!(fs::read(root.join("a/b/f")).unwrap(), b"one");
    assert_eq!(
        (file_mode(&root.join("a/b/f")), file_mode(&root.join("a/b")), file_mode(&root.join("a"))),
        (0o600, 0o700, 0o700)
    );
    assert_eq!(names(&root.join("a/b")), ["f"]);
    let again = write_new(root, Path::new("a/b/f"), b"two", FileAccess::Private).unwrap_err();
    assert!(matches!(again, Error::Exists { .. }));
    assert_eq!(fs::read(root.join("a/b/f")).unwrap(), b"one");
    assert_eq!(names(&root.join("a/b")), ["f"]);
    write_new(root, Path::new("s"), b"", FileAccess::Shared).unwrap();
    assert_eq!(file_mode(&root.join("s")) & !0o022, 0o644 & !0o022);
}

#[test]
fn replacing_leaves_the_old_or_the_new() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    for text in ["one", "two"] {
        replace_file(root, Path::new("a/f"), text.as_bytes(), FileAccess::Private).unwrap();
        assert_eq!(fs::read_to_string(root.join("a/f")).unwrap(), text);
    }
    assert_eq!((names(&root.join("a")), file_mode(&root.join("a/f"))), (vec!["f".to_owned()], 0o600));
    fs::create_dir(root.join("a/d")).unwrap();
    assert!(matches!(replace_file(root, Path::new("a/d"), b"", FileAccess::Shared), Err(Error::NotRegular { .. })));
}

#[test]
fn no_link_is_followed_in_any_component() {
    let folder = TempDir::new().unwrap();
    let [root, outside] = ["root", "outside"].map(|name| folder.path().join(name));
    fs::create_dir_all(root.join("d")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "theirs").unwrap();
    link(&outside, root.join("folder"));
    link(outside.join("f"), root.join("d/file"));
    link(outside.join("new"), root.join("d/dangling"));
    link("loop", root.join("loop"));
    for path in ["folder/f", "folder/new", "folder/deep/new", "d/file", "d/dangling", "loop", "loop/f"] {
        let path = Path::new(path);
        let refused = |result: Result<(), Error>| match result {
            Err(Error::Link { .. }) => true,
            // A path that a new file can't be written to need not be a link.
            Err(Error::Exists { .. }) => path.parent() != Some(Path::new("folder")),
            _ => false,
        };
        assert!(refused(read_beneath(&root, path, 9).map(drop)), "read {}", path.display());
        assert!(refused(replace_file(&root, path, b"ours", FileAccess::Shared)), "replace {}", path.display());
        assert!(refused(write_new(&root, path, b"ours", FileAccess::Shared)), "new {}", path.display());
    }
    assert_eq!(
        (names(&outside), fs::read_to_string(outside.join("f")).unwrap()),
        (vec!["f".to_owned()], "theirs".to_owned())
    );
    assert_eq!(names(&root.join("d")), ["dangling", "file"]);
}

#[test]
fn a_path_stays_below_its_root() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    for path in ["", "..", "../f", "a/../../f", "/f", "./../f"] {
        let path = Path::new(path);
        assert!(matches!(write_new(&root, path, b"", FileAccess::Shared), Err(Error::NotBeneath { .. })), "{path:?}");
        assert!(!matches!(read_beneath(&root, path, 1), Ok(Some(_))), "{path:?}");
    }
    assert_eq!(names(folder.path()), ["root"]);
}
