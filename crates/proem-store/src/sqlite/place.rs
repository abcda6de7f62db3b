//! The place of a store: its folder, its file, and the kind of file system.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Unusable};
use crate::file::{OpenMode, open_plain_file};

/// Network file systems by the number that `statfs(2)` gives in `f_type`. From `linux/magic.h` and, for those outside
/// the kernel's tree, the table of `stat` in GNU coreutils.
const NETWORK: [(u32, &str); 14] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "kAFS"),
    (0x7375_7245, "Coda"),
    (0x564C, "NCP"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x4750_4653, "GPFS"),
];

/// The name of a network file system with that number. `None` for a local or unknown one. FUSE is unknown, for what is
/// behind it can be either.
fn network(magic: u32) -> Option<&'static str> {
    NETWORK.iter().find(|(known, _)| *known == magic).map(|(_, kind)| *kind)
}

/// Local file systems on which locks and syncs are known to hold, by the same number.
const LOCAL: [(u32, &str); 6] = [
    (0xEF53, "ext"),
    (0x5846_5342, "XFS"),
    (0x9123_683E, "btrfs"),
    (0x0102_1994, "tmpfs"),
    (0x2FC1_2FC1, "ZFS"),
    (0x794C_7630, "overlay"),
];

/// On what kind of file system something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystemKind {
    /// On a local one, with its name.
    Local(&'static str),
    /// On one that other machines use as well, with its name.
    Network(&'static str),
    /// On one that is not known to be local. Effects are not performed from there.
    Unknown,
}

impl FileSystemKind {
    fn of_magic(magic: u32) -> Self {
        let local = LOCAL.iter().find(|(known, _)| *known == magic).map(|(_, kind)| Self::Local(kind));
        local.or_else(|| network(magic).map(Self::Network)).unwrap_or(Self::Unknown)
    }
}

/// On what kind of file system a path is.
pub(crate) fn file_system(path: &Path) -> FileSystemKind {
    magic(path).map_or(FileSystemKind::Unknown, FileSystemKind::of_magic)
}

/// The number that the system has for the file system of a path. It has 32 bits. How wide the field is depends on the
/// architecture.
fn magic(path: &Path) -> Option<u32> {
    let found = rustix::fs::statfs(path).ok()?;
    u32::try_from(i128::from(found.f_type) & i128::from(u32::MAX)).ok()
}

/// A system error about a path, as an error of the store.
pub(crate) fn unwritable_path(path: &Path, error: &io::Error) -> Error {
    Unusable::Unwritable { path: path.to_owned(), why: error.to_string() }.into()
}

/// Refuses a network file system. `path` is there.
fn local(path: &Path) -> Result<(), Error> {
    match magic(path).and_then(network) {
        Some(kind) => Err(Unusable::Network { path: path.to_owned(), kind: kind.to_owned() }.into()),
        None => Ok(()),
    }
}

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum There {
    /// There is no file.
    Nothing,
    /// A file without a byte.
    Empty,
    File,
}

/// The path of a file beside the database, such as its log `-wal`.
pub(crate) fn path_beside_database(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// The bytes of a file; 0 if it isn't there.
pub(crate) fn file_size(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |found| found.len())
}

/// The ends of the names that SQLite gives the files beside a database.
const SQLITES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The end of the name of the file that says that there is a store, and which: what is left of an emptied one.
const MADE: &str = ".store";

/// Looks at what is there: a file, no link and nothing else, on a local disk, whole with its log.
pub(crate) fn look_at_place(path: &Path) -> Result<There, Error> {
    for beside in SQLITES.map(|end| path_beside_database(path, end)) {
        a_file(&beside)?;
    }
    let Some(found) = a_file(path)? else { return Ok(There::Nothing) };
    local(path)?;
    if found.len() > 0 {
        return Ok(There::File);
    }
    // SQLite deletes the log of an empty database: what is in it would be lost.
    if file_size(&path_beside_database(path, "-wal")) > 0 {
        let why = "the file is empty, but its log is not".to_owned();
        return Err(Unusable::Corrupt { path: path.to_owned(), why }.into());
    }
    // Between making the file and its tables a process may have died: nothing says yet that there is a store.
    if a_file(&path_beside_database(path, MADE))?.is_some() {
        return Err(Unusable::Emptied { path: path.to_owned() }.into());
    }
    Ok(There::Empty)
}

/// The system's metadata of the file at a path. `None` if there is nothing.
fn a_file(path: &Path) -> Result<Option<fs::Metadata>, Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(Some(found)),
        Ok(_) => {
            let why =
                "it is a link or not a regular file; remove it, or set XDG_STATE_HOME to another folder".to_owned();
            Err(Unusable::Other { path: path.to_owned(), why }.into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unwritable_path(path, &error)),
    }
}

/// Writes down beside a database that it is the store with this id, unless that is there.
pub(crate) fn mark_store_id(path: &Path, id: &str) -> Result<(), Error> {
    let path = path_beside_database(path, MADE);
    let failed = |error: io::Error| unwritable_path(&path, &error);
    let mut file = open_plain_file(&path, OpenMode::Write).map_err(failed)?;
    let mut found = Vec::new();
    (&file).take(64).read_to_end(&mut found).map_err(failed)?;
    if found == id.as_bytes() {
        return Ok(());
    }
    file.set_len(0).map_err(failed)?;
    io::Seek::rewind(&mut file).map_err(failed)?;
    file.write_all(id.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}

/// Makes the folder, for this user only.
pub(crate) fn make_private_folder(path: &Path) -> Result<(), Error> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| unwritable_path(path, &error))?;
    local(folder)
}

/// Makes the file, or sees that an existing one is this user's only. SQLite gives its other files the
/// same mode.
pub(crate) fn make_file(path: &Path) -> Result<(), Error> {
    let failed = |error: io::Error| unwritable_path(path, &error);
    let file = open_plain_file(path, OpenMode::Write).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_pipe(path: &Path) {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn network_file_systems_are_known() {
        let check = |magic: u32, expected: Option<&str>| assert_eq!(network(magic), expected, "{magic:x}");
        check(0x6969, Some("NFS"));
        check(0xFF53_4D42, Some("CIFS"));
        check(0x0102_1997, Some("9p"));
        check(0xEF53, None); // ext4
        check(0x5846_5342, None); // XFS
        check(0x9123_683E, None); // btrfs
        check(0x0102_1994, None); // tmpfs
        check(0x6573_5546, None); // FUSE
    }

    #[test]
    fn only_what_is_known_to_be_local_is_local() {
        let check = |magic: u32, expected| assert_eq!(FileSystemKind::of_magic(magic), expected, "{magic:x}");
        check(0xEF53, FileSystemKind::Local("ext"));
        check(0x794C_7630, FileSystemKind::Local("overlay"));
        check(0x6969, FileSystemKind::Network("NFS"));
        check(0x6573_5546, FileSystemKind::Unknown); // FUSE
        check(0, FileSystemKind::Unknown);
        assert_eq!(file_system(Path::new("/nowhere/at/all")), FileSystemKind::Unknown);
    }

    #[test]
    fn an_empty_file_with_a_log_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        assert_eq!(look_at_place(&path).unwrap(), There::Nothing);
        make_file(&path).unwrap();
        assert_eq!(look_at_place(&path).unwrap(), There::Empty);
        fs::write(path_beside_database(&path, "-wal"), "frames").unwrap();
        assert!(matches!(look_at_place(&path), Err(Error::Unusable(Unusable::Corrupt { .. }))));
    }

    #[test]
    fn an_empty_file_where_a_store_was_is_no_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        make_file(&path).unwrap();
        mark_store_id(&path, "00aa").unwrap();
        assert!(matches!(look_at_place(&path), Err(Error::Unusable(Unusable::Emptied { .. }))));
        mark_store_id(&path, "0b").unwrap();
        assert_eq!(fs::read_to_string(path_beside_database(&path, MADE)).unwrap(), "0b");
        // Removing it means that a new one is wanted.
        fs::remove_file(&path).unwrap();
        assert_eq!(look_at_place(&path).unwrap(), There::Nothing);
    }

    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_used() {
        for end in ["", "-wal", "-shm", "-journal", MADE] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("records.db");
            if !end.is_empty() {
                make_file(&path).unwrap();
            }
            make_pipe(&path_beside_database(&path, end));
            assert!(matches!(look_at_place(&path), Err(Error::Unusable(Unusable::Other { .. }))), "{end}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        make_pipe(&path_beside_database(&path, MADE));
        assert!(mark_store_id(&path, "00aa").is_err());
    }

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("records.db"), folder.path().join("target"));
        fs::write(&target, "x").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(matches!(look_at_place(&path), Err(Error::Unusable(Unusable::Other { .. }))));
        assert!(make_file(&path).is_err());
    }

    #[test]
    fn files_are_this_users_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/proem/records.db");
        make_private_folder(&path).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        make_file(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }
}
