//! Writing: a file is written beside its place and put there as a whole.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use proem_store::failpoint;

use crate::{
    Error,
    files::{FILE, MissingFolder, Walked, file_type_name, unexpected_file_type, walk_folders},
};

/// The readers of a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// The user alone: mode 0600, new folders 0700.
    Private,
    /// Everybody: mode 0644, new folders 0755, both less the user's umask.
    Shared,
}

impl FileAccess {
    const fn file_mode(self) -> u32 {
        match self {
            Self::Private => 0o600,
            Self::Shared => 0o644,
        }
    }

    const fn folder_mode(self) -> u32 {
        match self {
            Self::Private => 0o700,
            Self::Shared => 0o755,
        }
    }
}

/// Writes a file that must not exist yet to `relative` below `root`. Missing folders are created.
///
/// Of several processes that do so at once, one succeeds.
///
/// # Errors
///
/// [`Error::Exists`] if there is something. [`Error::Link`] or [`Error::NotRegular`] if a folder on the way is
/// something else. [`Error::NotBeneath`] or [`Error::Io`].
pub fn write_new(root: &Path, relative: &Path, bytes: &[u8], access: FileAccess) -> Result<(), Error> {
    write_in_stages(root, relative, bytes, access).map_err(|failure| match failure {
        NewFileFailure::Unseen(error) | NewFileFailure::Seen(error) => error,
    })
}

/// How far a new file came.
#[derive(Debug)]
pub(crate) enum NewFileFailure {
    /// Nobody can have seen it under its name.
    Unseen(Error),
    /// It is under its name, and a crash may take it away again.
    Seen(Error),
}

/// As [`write_new`], with an error that says how far the file came.
pub(crate) fn write_in_stages(
    root: &Path,
    relative: &Path,
    bytes: &[u8],
    access: FileAccess,
) -> Result<(), NewFileFailure> {
    use NewFileFailure::{Seen, Unseen};
    let walked = prepare_replacement(root, relative, access).map_err(Unseen)?;
    let temporary = Temporary::write(&walked, bytes, access).map_err(Unseen)?;
    failpoint::pass("new-file-written");
    match fs::hard_link(&temporary.0, &walked.path) {
        Ok(()) => {
            failpoint::pass("new-file-linked");
            sync_folder(&walked.folder).map_err(Seen)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Unseen(Error::Exists { path: walked.path })),
        Err(error) => Err(Unseen(Error::io("create", &walked.path)(error))),
    }
}

/// Opens the file at a path that the caller named, to lock it. It is made if it isn't there, for the user alone, and
/// keeps what it holds. No link is followed.
pub(crate) fn open_to_lock(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = options.open(path)?;
    let found = file.metadata()?.file_type();
    if found.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other(format!("it is {}, not {FILE}", file_type_name(found))))
    }
}

/// Writes a file to `relative` below `root`, in place of one that may be there.
///
/// A reader sees the old bytes or the new ones, never a part. Missing folders are created.
///
/// # Errors
///
/// [`Error::Link`] or [`Error::NotRegular`] if there, or on the way, is something else. [`Error::NotBeneath`] or
/// [`Error::Io`].
pub fn replace_file(root: &Path, relative: &Path, bytes: &[u8], access: FileAccess) -> Result<(), Error> {
    let walked = prepare_replacement(root, relative, access)?;
    match walked.path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => {
            return Err(unexpected_file_type(&walked.path, metadata.file_type(), FILE));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("look at", &walked.path)(error)),
        _ => {}
    }
    let temporary = Temporary::write(&walked, bytes, access)?;
    fs::rename(&temporary.0, &walked.path).map_err(Error::io("replace", &walked.path))?;
    sync_folder(&walked.folder)
}

/// Makes an empty file at a path that the caller named, in place of a file that may be there, to write and read it. No
/// link is followed.
///
/// # Errors
///
/// The system's error. An error that names the kind of an existing entry that is no file.
pub fn create(path: &Path) -> io::Result<File> {
    match path.symlink_metadata() {
        Ok(there) if !there.is_file() => {
            let found = if there.is_symlink() { "a link" } else { file_type_name(there.file_type()) };
            return Err(io::Error::other(format!("{found} is in the way; remove it")));
        }
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

fn prepare_replacement(root: &Path, relative: &Path, access: FileAccess) -> Result<Walked, Error> {
    let create = |path: &Path| DirBuilder::new().mode(access.folder_mode()).create(path);
    let walked = walk_folders(root, relative, &MissingFolder::Create(&create))?;
    walked.ok_or_else(|| Error::NotBeneath { path: relative.to_path_buf() })
}

pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("save", folder))
}

/// A file under a name of its own, removed in the end if it is still there.
struct Temporary(PathBuf);

impl Temporary {
    fn write(walked: &Walked, bytes: &[u8], access: FileAccess) -> Result<Self, Error> {
        let path = walked.folder.join(temporary_name()?);
        let opened = OpenOptions::new().write(true).create_new(true).mode(access.file_mode()).open(&path);
        let mut file = opened.map_err(Error::io("create", &path))?;
        let temporary = Self(path);
        let room = failpoint::full(failpoint::NEW_FILE);
        let written = room.and_then(|()| file.write_all(bytes)).and_then(|()| file.sync_all());
        written.map_err(Error::io("write", &temporary.0))?;
        Ok(temporary)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        let _ = fs::remove_file(&self.0);
    }
}

fn temporary_name() -> Result<String, Error> {
    let number = getrandom::u64().map_err(Error::Random)?;
    Ok(format!(".proem-{number:016x}.tmp"))
}
