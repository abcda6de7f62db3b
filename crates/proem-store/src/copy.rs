//! Copies all records from one store to another, in whichever databases they are.
//!
//! Invariants: nobody reads or writes a target before every table of it has the hash that the source's has. A copy that
//! broke off goes on behind the last line that it committed. A target with other records is left as it is. The copy has
//! an id of its own, so that effects are off in it, and they are parked if the records have had any action.

mod rows;
mod tables;
mod target;

use std::path::PathBuf;

use proem_guard::InstallationKey;

use self::rows::{TableHash, hash_table, read_chunk};
use self::tables::{TableForm, table_forms};
pub(crate) use self::target::check_finished;
use crate::epoch;
use crate::error::{Absence, Error, Unusable};
use crate::open;
use crate::opening::StoreCreator;
use crate::sql::{SqlFault, Tables};
use crate::sqlite::origin;
use crate::sqlite::place::{self, There};

/// How many lines are written in one transaction.
const CHUNK: usize = 64;

/// The place of one of the two stores.
#[derive(Debug, Clone)]
pub enum StorePlace {
    /// A file on this machine.
    File(PathBuf),
    /// A server's database.
    #[cfg(feature = "postgres")]
    Server(crate::DatabaseAddress),
}

/// A copy of all records.
#[derive(Debug, Clone)]
pub struct StoreCopy {
    /// The records that are copied. They must be this installation's.
    pub from: StorePlace,
    /// The place that gets them: nothing is recorded there yet, or the beginning of the same copy.
    pub to: StorePlace,
    /// The installation's key, which seals the copy.
    pub key: InstallationKey,
}

/// How far a copy is in one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress<'t> {
    /// The name of the table.
    pub table: &'t str,
    /// The lines of it that are written, those of an earlier beginning included.
    pub written: u64,
    /// The lines that it has.
    pub all: u64,
}

/// A finished copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopySummary {
    /// The tables that have lines, with how many, in the order of their names.
    pub tables: Vec<(String, u64)>,
    /// The lines of all tables that an earlier beginning had written.
    pub continued: u64,
    /// Whether effects are parked in the copy, because there were actions.
    pub effects: CopiedEffects,
}

/// The state of effects in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopiedEffects {
    /// There never was an action.
    None,
    /// They are parked until a person adopts the records.
    Parked,
}

/// The state of a source that tells whether it was written meanwhile.
#[derive(Debug, PartialEq, Eq)]
struct SourceMark {
    epochs: i64,
    last_seen: String,
}

impl StoreCopy {
    /// Copies, and waits for it. Must not be called by a task of a runtime.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the target holds other records, or somebody uses one of the two. [`Error::Foreign`] if the
    /// source is another installation's. [`Error::Unusable`] if one of them can't be used, or was changed meanwhile.
    pub fn run(&self, progress: &mut dyn FnMut(CopyProgress<'_>)) -> Result<CopySummary, Error> {
        let source = self.open_source()?;
        refuse_in_use(&source)?;
        let target = self.open_target()?;
        let forms = table_forms()?;
        let source_id = origin::store_id(&source)?;
        let mark = source_mark(&source)?;
        target::begin_copy(&target, &forms, &source_id)?;
        let mut copying = Copying { source: &source, target: &target, forms: &forms, progress, continued: 0 };
        let hashes = copying.copy_and_verify()?;
        let continued = copying.continued;
        if source_mark(&source)? != mark {
            let why = "they were written to while they were copied; stop every other process that uses them, and \
                       repeat the copy"
                .to_owned();
            return Err(Unusable::Other { path: source.path().to_owned(), why }.into());
        }
        let effects = target::finish_copy(&source, &target, &forms)?;
        source.close()?;
        target.close()?;
        let tables = forms.iter().map(|form| form.name.clone()).zip(hashes.iter().map(|hash| hash.lines));
        Ok(CopySummary { tables: tables.filter(|(_, lines)| *lines > 0).collect(), continued, effects })
    }

    fn open_source(&self) -> Result<Tables, Error> {
        let tables = match &self.from {
            StorePlace::File(path) => {
                if place::look_at_place(path)? != There::File {
                    let what = format!("there are no records in `{}`", path.display());
                    return Err(Error::NotFound(Absence::from(what)));
                }
                open::open_file(path, &self.key)?.tables
            }
            #[cfg(feature = "postgres")]
            StorePlace::Server(address) => match crate::postgres::connect_for_reading(address)? {
                Some(tables) => tables,
                None => return Err(Error::NotFound(Absence::from(format!("there are no records in `{address}`")))),
            },
        };
        check_finished(&tables)?;
        match origin::creator_of_store(&tables, &self.key)? {
            StoreCreator::Own => Ok(tables),
            StoreCreator::Foreign => Err(Error::Foreign { path: tables.path().to_owned() }),
        }
    }

    fn open_target(&self) -> Result<Tables, Error> {
        match &self.to {
            StorePlace::File(path) => Ok(open::open_file(path, &self.key)?.tables),
            #[cfg(feature = "postgres")]
            StorePlace::Server(address) => Ok(crate::postgres::connect_for_writing(address, &self.key)?.0),
        }
    }
}

/// The two stores, while one is copied into the other.
struct Copying<'c> {
    source: &'c Tables,
    target: &'c Tables,
    forms: &'c [TableForm],
    progress: &'c mut dyn FnMut(CopyProgress<'_>),
    continued: u64,
}

impl Copying<'_> {
    /// Copies until both have the same lines. A beginning that the source has changed since is thrown away once.
    fn copy_and_verify(&mut self) -> Result<Vec<TableHash>, Error> {
        for is_last in [false, true] {
            let (copied, kept) = self.copy_at_one_moment()?;
            let Some(place) = copied.iter().zip(&kept).position(|(copied, kept)| copied != kept) else {
                return Ok(kept);
            };
            if is_last || self.continued == 0 {
                let name = self.forms.get(place).map_or("", |form| &form.name);
                let why =
                    format!("the table `{name}` has other lines than the one it was copied from; repeat the copy");
                return Err(Unusable::Other { path: self.target.path().to_owned(), why }.into());
            }
            target::clear_copied_lines(self.target, self.forms)?;
            self.continued = 0;
        }
        Ok(Vec::new())
    }

    /// Copies the source as it is at one moment. The hashes of all its tables, and those of the target's.
    fn copy_at_one_moment(&mut self) -> Result<(Vec<TableHash>, Vec<TableHash>), Error> {
        let source = self.source;
        let copied = source.at_one_moment(|| {
            rows::keep_session(source)?;
            for form in self.forms {
                self.copy_table(form)?;
            }
            self.forms.iter().map(|form| hash_table(source, form)).collect::<Result<Vec<_>, CopyFault>>()
        });
        let copied = copied.map_err(|fault| fault.into_error(source))?;
        let target = self.target;
        let kept: Result<Vec<_>, CopyFault> = self.forms.iter().map(|form| hash_table(target, form)).collect();
        Ok((copied, kept.map_err(|fault| fault.into_error(target))?))
    }

    fn copy_table(&mut self, form: &TableForm) -> Result<(), CopyFault> {
        let all = rows::count_copied_lines(self.source, form)?;
        let mut written = rows::count_copied_lines(self.target, form)?;
        self.continued = self.continued.saturating_add(written);
        let mut last = rows::last_key(self.target, form)?;
        loop {
            let chunk = read_chunk(self.source, form, last.as_deref())?;
            let Some(end) = chunk.last() else { break };
            last = Some(form.key_of(end));
            let lines = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            self.target.atomically(|| rows::insert_lines(self.target, form, chunk))?;
            written = written.saturating_add(lines);
            (self.progress)(CopyProgress { table: &form.name, written, all });
        }
        Ok(())
    }
}

/// Why a copy stopped: a statement of the source failed, or something with its place in it.
#[derive(Debug)]
enum CopyFault {
    Source(SqlFault),
    Whole(Error),
}

impl From<SqlFault> for CopyFault {
    fn from(fault: SqlFault) -> Self {
        Self::Source(fault)
    }
}

impl From<Error> for CopyFault {
    fn from(error: Error) -> Self {
        Self::Whole(error)
    }
}

impl CopyFault {
    fn into_error(self, tables: &Tables) -> Error {
        match self {
            Self::Source(fault) => fault.into_error(tables.path()),
            Self::Whole(error) => error,
        }
    }
}

/// Refuses records that another process has open to write.
fn refuse_in_use(tables: &Tables) -> Result<(), Error> {
    let ids: Vec<String> = tables.rows("SELECT id FROM epochs WHERE ended IS NULL", [], |row| row.get(0))?;
    if ids.iter().any(|id| epoch::is_alive(tables, id)) {
        let place = tables.path().display();
        let why = format!("another process uses the records in `{place}`; stop it, and repeat the copy");
        return Err(Error::Conflict(why));
    }
    Ok(())
}

fn source_mark(source: &Tables) -> Result<SourceMark, Error> {
    let asked = "SELECT (SELECT count(*) FROM epochs), (SELECT value FROM meta WHERE key = 'last_seen')";
    let mark = source.row(asked, [], |row| Ok(SourceMark { epochs: row.get(0)?, last_seen: row.get(1)? }))?;
    Ok(mark.unwrap_or(SourceMark { epochs: 0, last_seen: String::new() }))
}
