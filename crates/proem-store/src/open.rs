//! Opening a store and closing it: whose it is, of which form, whether it can be used, and who died with it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use proem_engine::run::Time;

use crate::clock;
use crate::copy::check_finished;
use crate::epoch;
use crate::error::Error;
use crate::opening::{StoreAccess, StoreCreator, StoreOptions};
use crate::sql::{Queue, Scribe, Tables, run_on_file_thread};
use crate::sqlite::place::{self, There};
use crate::sqlite::{Site, form, origin, writing};
use crate::store::Store;
use crate::write::epochs::{self, EpochEnd};

/// How far the clock may be behind the last time that was seen before that is said, in milliseconds:
/// clocks of one machine are set by less.
const BEHIND: i64 = 60_000;

/// The note about a process that was at work and left no record of its end.
const LOST: &str = "an earlier process that used these records left nothing in them: it crashed immediately, or the \
                    log file (`-wal`) was truncated or removed; its costs are not counted, so check your account at \
                    the provider";

/// A store that is open.
#[derive(Debug)]
pub struct OpenedStore {
    /// The store, ready to be asked.
    pub store: Store,
    /// The store's creator.
    pub origin: StoreCreator,
    /// Notes for the user, in our words: a clock behind the store's, attempts of dead processes that were settled in
    /// full.
    pub notes: Vec<String>,
    /// Whether there were no records to read, so that the store is an empty one in memory.
    pub is_blank: bool,
}

/// The findings of opening a store for writing.
#[derive(Debug)]
struct Found {
    origin: StoreCreator,
    notes: Vec<String>,
}

impl Store {
    /// Opens the store.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`], with what to do.
    pub async fn open(mut opening: StoreOptions) -> Result<OpenedStore, Error> {
        opening.path =
            std::path::absolute(&opening.path).map_err(|error| place::unwritable_path(&opening.path, &error))?;
        let (path, zone, key) = (opening.path.clone(), opening.zone.clone(), opening.key.clone());
        match opening.access {
            StoreAccess::Write => {
                let (queue, found) = Queue::start(&path.clone(), move || open_writer(opening)).await?;
                let Found { origin, notes } = found;
                let site = Arc::new(Site::written(path, zone, key));
                Ok(OpenedStore { store: Self { site, queue: Some(queue) }, origin, notes, is_blank: false })
            }
            StoreAccess::Read => {
                run_on_file_thread(&path.clone(), move || look_at_store(Site::read(path, zone, key)?)).await
            }
        }
    }

    /// Opens the store in a server's database. `opening.path` is the place of this machine's own files about it, such as
    /// the witness of effects.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`], with what to do.
    #[cfg(feature = "postgres")]
    pub async fn open_on_server(
        mut opening: StoreOptions,
        address: crate::DatabaseAddress,
    ) -> Result<OpenedStore, Error> {
        opening.path =
            std::path::absolute(&opening.path).map_err(|error| place::unwritable_path(&opening.path, &error))?;
        let (path, zone, key) = (opening.path.clone(), opening.zone.clone(), opening.key.clone());
        let site = Site::on_server(path.clone(), zone, key, address.clone());
        match opening.access {
            StoreAccess::Write => {
                let (queue, found) = Queue::start(&path, move || open_server_writer(opening, &address)).await?;
                let Found { origin, notes } = found;
                let store = Self { site: Arc::new(site), queue: Some(queue) };
                Ok(OpenedStore { store, origin, notes, is_blank: false })
            }
            StoreAccess::Read => run_on_file_thread(&path, move || look_at_store(site)).await,
        }
    }

    /// Ends this process's epoch and settles open attempts in full. If that fails, the next opening repairs it.
    pub async fn close(self) {
        self.site.retire();
        if let Some(queue) = &self.queue {
            _ = queue.close(EpochEnd { at: clock::system_now() }).await;
        }
    }

    /// Lets go of the file as a process does that dies: nothing more is written.
    #[cfg(feature = "laws")]
    pub async fn abandon(self) {
        self.site.retire();
        if let Some(queue) = &self.queue {
            queue.abandon().await;
        }
    }
}

/// Opens the store in a place that is only read.
fn look_at_store(site: Site) -> Result<OpenedStore, Error> {
    let connection = site.connect()?;
    let is_blank = connection.is_blank;
    check_finished(&connection.tables)?;
    let origin = if is_blank { StoreCreator::Own } else { origin::creator_of_store(&connection.tables, &site.key)? };
    connection.tables.close()?;
    Ok(OpenedStore { store: Store { site: Arc::new(site), queue: None }, origin, notes: Vec::new(), is_blank })
}

/// Opens a store in a server's database for writing, on the thread that writes.
#[cfg(feature = "postgres")]
fn open_server_writer(opening: StoreOptions, address: &crate::DatabaseAddress) -> Result<(Scribe, Found), Error> {
    place::make_private_folder(&opening.path)?;
    let (tables, older) = crate::postgres::connect_for_writing(address, &opening.key)?;
    check_finished(&tables)?;
    let origin = origin::creator_of_store(&tables, &opening.key)?;
    let mut notes: Vec<String> = older.map(upgrade_note).into_iter().collect();
    let mut scribe = Scribe { tables, opening, epoch: None };
    if origin == StoreCreator::Own {
        notes.extend(enter(&mut scribe)?);
    }
    Ok((scribe, Found { origin, notes }))
}

/// Opens a store for writing, on the thread that writes.
fn open_writer(opening: StoreOptions) -> Result<(Scribe, Found), Error> {
    let OpenedFile { tables, origin, mut notes, turn } = open_file(&opening.path, &opening.key)?;
    check_finished(&tables)?;
    let mut scribe = Scribe { tables, opening, epoch: None };
    if origin == StoreCreator::Own {
        notes.extend(enter(&mut scribe)?);
    }
    drop(turn);
    Ok((scribe, Found { origin, notes }))
}

/// A file that is open for writing.
pub(crate) struct OpenedFile {
    pub(crate) tables: Tables,
    origin: StoreCreator,
    notes: Vec<String>,
    /// Keeps others from opening the store.
    turn: File,
}

/// Opens a file for writing, and sees that there are tables.
pub(crate) fn open_file(path: &Path, key: &proem_guard::InstallationKey) -> Result<OpenedFile, Error> {
    place::make_private_folder(path)?;
    let there = place::look_at_place(path)?;
    // Processes that open the store at the same time do so one after the other: who finds no tables makes them, and
    // who sweeps up locks meets none that is about to get its line.
    let turn = epoch::wait_to_open(path).map_err(|error| place::unwritable_path(path, &error))?;
    place::make_file(path)?;
    let tables = writing(path, there)?;
    let (origin, notes) = prepare_tables(&tables, there, key)?;
    Ok(OpenedFile { tables, origin, notes, turn })
}

/// Sees that there are tables of the newest form, as far as the store is this installation's. Says whose it is.
fn prepare_tables(
    tables: &Tables,
    there: There,
    key: &proem_guard::InstallationKey,
) -> Result<(StoreCreator, Vec<String>), Error> {
    if form::stored_form(tables)? == 0 {
        if there == There::File && !form::has_no_tables(tables)? {
            return Err(form::of_something_else(tables));
        }
        tables.atomically(|| form::make_tables(tables, Some(key)))?;
    }
    let form = form::check_form(tables)?;
    let origin = origin::creator_of_store(tables, key)?;
    let mut notes = Vec::new();
    if origin == StoreCreator::Own {
        origin::note_store_beside(tables)?;
        if form < form::newest_form() {
            form::upgrade(tables)?;
            notes.push(upgrade_note(form));
        }
    }
    Ok((origin, notes))
}

/// That the tables had an older form.
fn upgrade_note(form: i64) -> String {
    let to = form::newest_form();
    format!(
        "the records were upgraded from format version {form} to {to}; older versions of Proem can't open them any more"
    )
}

/// Begins this process's epoch, and buries the dead; what there is to say of that.
fn enter(scribe: &mut Scribe) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    let settled = scribe.transact(|to| {
        let (now, before) = (clock::system_now(), to.seen());
        if before.0 > now.0.saturating_add(BEHIND) {
            notes.push(clock_behind_note(before, now));
        }
        // The clock alone moves no time of the ledger: nothing is booked yet.
        let at = now.max(before);
        // Locks without a line go before this process's own is there, which has none either until it is written.
        if epochs::remove_unknown_locks(to)? > 0 {
            notes.push(LOST.to_owned());
        }
        epochs::begin_epoch(to, at)?;
        epochs::bury(to, at)
    })?;
    if settled > 0 {
        let (noun, were, they) = if settled == 1 { ("attempt", "was", "it") } else { ("attempts", "were", "they") };
        notes.push(format!(
            "{settled} {noun} of ended processes {were} charged in full, because the tokens that {they} used are \
             unknown"
        ));
    }
    Ok(notes)
}

/// That the clock is behind what the records have seen.
fn clock_behind_note(seen: Time, now: Time) -> String {
    let (seen, now) = (clock::ledger_time_words(seen), clock::ledger_time_words(now));
    format!(
        "the system clock shows {now}, but the newest record is from {seen}; costs count for that later time until \
         the clock reaches it; if the clock was wrong then, reset the recorded one"
    )
}
