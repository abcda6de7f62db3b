//! The place of a store, and the connections to it.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;
use proem_guard::InstallationKey;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::form;
use super::place::{self, There};
use crate::error::{Error, Unusable};
use crate::sql::{Tables, sqlite_unusable};

/// How long it is waited for another process's transaction.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A store as everybody in this process reads it.
#[derive(Debug)]
pub(crate) struct Site {
    /// The file.
    pub(crate) path: PathBuf,
    /// The zone by which days are booked.
    pub(crate) zone: TimeZone,
    /// The installation's key, which says whose the store is.
    pub(crate) key: InstallationKey,
    sight: Sight,
    #[cfg(feature = "postgres")]
    address: Option<crate::postgres::DatabaseAddress>,
    /// Connections that nobody reads from at the moment. `None` where none is kept.
    idle: Mutex<Option<Vec<Tables>>>,
}

/// A connection that reads.
#[derive(Debug)]
pub(crate) struct SiteConnection {
    pub(crate) tables: Tables,
    /// Whether it is an empty store in memory, because there is no file or no table in it.
    pub(crate) is_blank: bool,
    /// The form that the file had when it was connected to.
    form: i64,
}

/// The source of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// The file, which others may write meanwhile.
    Shared,
    /// The file, closed to writers: its folder is read-only and the log is missing.
    Immutable,
    /// There is no file: an empty store in memory.
    Nothing,
    /// A server's database.
    #[cfg(feature = "postgres")]
    Server,
}

impl Site {
    /// That of a store that is written here.
    ///
    /// Its process has the file open anyway, so connections are kept from one read to the next until [`Self::retire`].
    pub(crate) const fn written(path: PathBuf, zone: TimeZone, key: InstallationKey) -> Self {
        Self {
            path,
            zone,
            key,
            sight: Sight::Shared,
            #[cfg(feature = "postgres")]
            address: None,
            idle: Mutex::new(Some(Vec::new())),
        }
    }

    /// That of one that is only read here. It keeps no connection: one that idles would keep a writer elsewhere from
    /// taking its log away when it ends.
    pub(crate) fn read(path: PathBuf, zone: TimeZone, key: InstallationKey) -> Result<Self, Error> {
        let sight = sight(&path)?;
        Ok(Self {
            path,
            zone,
            key,
            sight,
            #[cfg(feature = "postgres")]
            address: None,
            idle: Mutex::new(None),
        })
    }

    /// That of a server's database. Connections are kept until [`Self::retire`].
    #[cfg(feature = "postgres")]
    pub(crate) const fn on_server(
        path: PathBuf,
        zone: TimeZone,
        key: InstallationKey,
        address: crate::postgres::DatabaseAddress,
    ) -> Self {
        Self { path, zone, key, sight: Sight::Server, address: Some(address), idle: Mutex::new(Some(Vec::new())) }
    }

    /// Reads over a connection that an earlier read left, else over a new one, which it leaves.
    ///
    /// One that a read failed on is left to nobody, nor one for which an older form is dressed up as the newest: the
    /// file may become the newest meanwhile.
    pub(crate) fn reading<T>(&self, read: impl FnOnce(&Tables) -> Result<T, Error>) -> Result<T, Error> {
        let kept = self.idle().as_mut().and_then(Vec::pop);
        let SiteConnection { tables, form, is_blank } = match kept {
            Some(tables) => SiteConnection { tables, is_blank: false, form: form::newest_form() },
            None => self.connect()?,
        };
        let found = read(&tables)?;
        if let Some(idle) = self.idle().as_mut()
            && form == form::newest_form()
            && !is_blank
        {
            idle.push(tables);
        }
        Ok(found)
    }

    /// Lets go of the connections that are kept, and keeps none from here on: the writer is about to close, and only
    /// the last connection takes the log away.
    pub(crate) fn retire(&self) {
        *self.idle() = None;
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Vec<Tables>>> {
        // Holders of the lock only take one out or put one in.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that only reads, and finds the newest form.
    ///
    /// A shared file needs room beside it even for reading. If there is none, as on a full disk, and nobody has it
    /// open, it is read as a file that doesn't change.
    pub(crate) fn connect(&self) -> Result<SiteConnection, Error> {
        match self.connect_as(self.sight) {
            Err(Error::Unusable(Unusable::Unwritable { .. })) if self.is_idle() => self.connect_as(Sight::Immutable),
            connected => connected,
        }
    }

    /// Whether nobody has the file open: what connections share is beside it as long as there are any.
    fn is_idle(&self) -> bool {
        let is_none = |ending| place::file_size(&place::path_beside_database(&self.path, ending)) == 0;
        self.sight == Sight::Shared && is_none("-wal") && is_none("-shm")
    }

    fn connect_as(&self, sight: Sight) -> Result<SiteConnection, Error> {
        #[cfg(feature = "postgres")]
        if let Some(address) = self.address.as_ref().filter(|_| sight == Sight::Server) {
            return match crate::postgres::connect_for_reading(address)? {
                Some(tables) => Ok(SiteConnection { tables, form: form::newest_form(), is_blank: false }),
                None => self.connect_as(Sight::Nothing),
            };
        }
        let tables = set_up_connection(open_to_read(&self.path, sight), &self.path)?;
        if sight == Sight::Nothing {
            form::make_tables(&tables, None)?;
            return Ok(SiteConnection { tables, form: form::newest_form(), is_blank: true });
        }
        // Its maker is about to make the tables, or died before.
        if form::stored_form(&tables)? == 0 && form::has_no_tables(&tables)? {
            tables.close()?;
            return self.connect_as(Sight::Nothing);
        }
        Ok(SiteConnection { form: form::make_readable(&tables)?, tables, is_blank: false })
    }
}

/// The connection that writes. The file is there.
pub(crate) fn writing(path: &Path, there: There) -> Result<Tables, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let tables = set_up_connection(Connection::open_with_flags(path, flags), path)?;
    match there {
        // It counts before there are tables, and before the log that the next line makes. Later it only costs a
        // transaction.
        There::Nothing | There::Empty => tables.script("PRAGMA auto_vacuum = INCREMENTAL")?,
        There::File => {}
    }
    // Sealed states that are deleted in passing are overwritten if that costs no extra write. A purge overwrites
    // everything. Up to 16 MiB of the file stay in memory.
    tables.script(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA secure_delete = FAST;
         PRAGMA cache_size = -16384;
         PRAGMA trusted_schema = OFF",
    )?;
    Ok(tables)
}

/// Settings that every connection gets.
fn set_up_connection(opened: rusqlite::Result<Connection>, path: &Path) -> Result<Tables, Error> {
    let connection = opened.map_err(|error| sqlite_unusable(path, &error))?;
    // A plan goes by no statement's values: otherwise some are planned anew for each value that is bound to them,
    // two of them with every call (<https://www.sqlite.org/queryplanner-ng.html#qpstab>).
    let told = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true);
    told.and_then(|_| connection.busy_timeout(PATIENCE)).map_err(|error| sqlite_unusable(path, &error))?;
    let tables = Tables::new(connection, path.to_owned());
    tables.script("PRAGMA foreign_keys = ON")?;
    Ok(tables)
}

/// A connection that only reads.
fn open_to_read(path: &Path, sight: Sight) -> rusqlite::Result<Connection> {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match sight {
        Sight::Shared => Connection::open_with_flags(path, read_only),
        Sight::Immutable => Connection::open_with_flags(immutable(path), read_only | OpenFlags::SQLITE_OPEN_URI),
        Sight::Nothing => Connection::open_in_memory(),
        #[cfg(feature = "postgres")]
        Sight::Server => Connection::open_in_memory(),
    }
}

/// How a file is read that nobody here writes.
fn sight(path: &Path) -> Result<Sight, Error> {
    if place::look_at_place(path)? != There::File {
        return Ok(Sight::Nothing);
    }
    let writable = path.parent().is_some_and(|folder| rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok());
    // If the log is missing and its folder is read-only, writers are impossible.
    let is_immutable = !writable && place::file_size(&place::path_beside_database(path, "-wal")) == 0;
    Ok(if is_immutable { Sight::Immutable } else { Sight::Shared })
}

/// The address of a file that doesn't change (<https://www.sqlite.org/uri.html>). Every byte that could have a meaning
/// in an address is written in digits.
fn immutable(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => address.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(*byte)),
            byte => _ = write!(address, "%{byte:02x}"),
        }
    }
    address.push_str("?immutable=1");
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        place::make_file(&path).unwrap();
        let tables = writing(&path, There::Empty).unwrap();
        let number = |sql| tables.row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(number("PRAGMA synchronous"), Some(2), "FULL");
    }

    #[test]
    fn a_file_whose_maker_died_before_its_tables_is_empty_and_another_programs_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        let key = || InstallationKey::new([7; 32]);
        place::make_file(&path).unwrap();
        let tables = writing(&path, There::Empty).unwrap();
        assert!(place::look_at_place(&path).unwrap() == There::File, "its log is made with its first page");
        let site = Site::read(path.clone(), TimeZone::UTC, key()).unwrap();
        assert!(site.connect().unwrap().is_blank);
        tables.script("CREATE TABLE other (a)").unwrap();
        assert!(site.connect().is_err(), "tables of another program");
    }

    #[test]
    fn a_file_is_read_where_there_is_no_room_beside_it_unless_somebody_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        let key = || InstallationKey::new([7; 32]);
        place::make_file(&path).unwrap();
        let tables = writing(&path, There::Empty).unwrap();
        form::make_tables(&tables, Some(&key())).unwrap();
        tables.close().unwrap();
        for ending in ["-shm", "-wal"] {
            let beside = place::path_beside_database(&path, ending);
            if beside.exists() {
                std::fs::remove_file(beside).unwrap();
            }
        }
        let site = Site::read(path.clone(), TimeZone::UTC, key()).unwrap();
        assert!(site.is_idle(), "nothing is beside it");
        let SiteConnection { tables, .. } = site.connect_as(Sight::Immutable).unwrap();
        let number = |sql| tables.row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert!(number("SELECT count(*) FROM sqlite_schema") > Some(0));
        assert!(site.is_idle(), "it was read without room");
        std::fs::write(place::path_beside_database(&path, "-wal"), "somebody wrote").unwrap();
        assert!(!site.is_idle(), "what is in the log would be missing");
    }

    #[test]
    fn a_path_stays_a_path_in_an_address() {
        let check = |path: &str, expected: &str| assert_eq!(immutable(Path::new(path)), expected);
        check("/state/records.db", "file:/state/records.db?immutable=1");
        check("/a b?mode=rw#x/%41/ä", "file:/a%20b%3fmode%3drw%23x/%2541/%c3%a4?immutable=1");
    }
}
