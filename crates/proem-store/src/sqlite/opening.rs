//! Opening a store: whose it is, of which form, and whether it can be used.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proem_engine::run::Time;
use proem_guard::Key;
use proem_text::hex;
use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::memory::{Basis, Memory};
use super::place::{self, There};
use super::script::{Link, SUPPOSITIONS, Script, unusable};
use super::writer::{Writer, Writing};
use super::{How, Reading, Sqlite};
use crate::epoch::{self, Epoch};
use crate::error::{Error, Unusable};
use crate::failpoint;
use crate::store::{Access, Opened, Opening, Origin, Store};

/// The forms of the tables, each as the statements that make it from the one before.
const FORMS: [&str; 4] = [
    include_str!("../../migrations/0001.sql"),
    include_str!("../../migrations/0002.sql"),
    include_str!("../../migrations/0003.sql"),
    include_str!("../../migrations/0004.sql"),
];

/// Lets a store of an older form be read as one of the newest: what is not there is made of what is, by views
/// of this connection's that stand before the tables. A column that the file has meanwhile comes first.
const READABLE: &str = "CREATE TEMP VIEW calls AS SELECT c.*, \
    (SELECT agent FROM main.runs WHERE id = c.run) AS agent, (SELECT prompt FROM main.runs WHERE id = c.run) AS prompt, \
    (SELECT version FROM main.runs WHERE id = c.run) AS version, \
    (SELECT closure FROM main.runs WHERE id = c.run) AS closure FROM main.calls c;
    CREATE TEMP VIEW spend AS SELECT s.*, '' AS endpoint FROM main.spend s;
    CREATE TEMP VIEW outcomes AS SELECT run, agent, 'answer' AS source, project, actor, at, kind, quality, completeness, \
    risks FROM main.outcomes o WHERE (quality, completeness, risks) = ('high', 'complete', '[]') \
    OR 'answered' = (SELECT c.state FROM calls c WHERE c.run = o.run AND c.agent || '/' || c.prompt = o.agent \
    ORDER BY c.effect DESC LIMIT 1) \
    UNION SELECT o.run, c.agent || '/' || c.prompt, 'answer', o.project, o.actor, o.at, o.kind, o.quality, o.completeness, \
    o.risks FROM main.outcomes o JOIN calls c ON c.run = o.run \
    WHERE (o.quality, o.completeness, o.risks) = ('high', 'complete', '[]') AND c.state = 'answered';
    CREATE TEMP VIEW failures AS SELECT f.*, 'answer' AS source FROM main.failures f \
    WHERE EXISTS (SELECT 1 FROM outcomes o WHERE o.run = f.run AND o.agent = f.agent)";

/// How long it is waited for another process's transaction.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How far the clock may be behind the last time that was seen before that is said, in milliseconds:
/// clocks of one machine are set by less.
const BEHIND: i64 = 60_000;

/// What is said where a process was at work of which nothing is written.
const LOST: &str = "a process that is gone was at work with these records, and nothing of it is in them: it died at \
    once, or their log (`-wal`) was cut or removed; what it spent is not counted, so look at the provider's account";

/// A store that is open for writing.
pub(super) struct Begun {
    pub(super) writing: Writing,
    pub(super) notes: Vec<String>,
}

/// The newest form.
fn newest() -> i64 {
    i64::try_from(FORMS.len()).unwrap_or(i64::MAX)
}

/// Opens a store.
pub(super) async fn open(mut opening: Opening) -> Result<Opened, Error> {
    opening.path = std::path::absolute(&opening.path).map_err(|error| place::unwritable(&opening.path, &error))?;
    let path = opening.path.clone();
    match opening.access {
        Access::Write => {
            let zone = opening.zone.clone();
            let (writer, origin, notes) = Writer::start(opening).await?;
            let reading = Arc::new(Reading { path, zone, how: How::Shared });
            Ok(Opened { store: Store { sqlite: Sqlite { reading, writer: Some(writer) } }, origin, notes })
        }
        Access::Read => {
            let reading = Reading { how: how(&path)?, path, zone: opening.zone.clone() };
            let mut link = Link::new(connect(&reading).await?, reading.path.clone());
            let origin = match reading.how {
                How::Nothing => Origin::Own,
                How::Shared | How::Immutable => origin(&mut link, &opening.key).await?,
            };
            close(link.connection, &reading.path).await?;
            let sqlite = Sqlite { reading: Arc::new(reading), writer: None };
            Ok(Opened { store: Store { sqlite }, origin, notes: Vec::new() })
        }
    }
}

async fn close(connection: SqliteConnection, path: &Path) -> Result<(), Error> {
    connection.close().await.map_err(|error| unusable(path, &error))
}

/// How a file is read that nobody here writes.
fn how(path: &Path) -> Result<How, Error> {
    if place::look(path)? != There::File {
        return Ok(How::Nothing);
    }
    let writable = path.parent().is_some_and(|folder| rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok());
    // Without a log and with a folder in which none can be made, nobody can be writing.
    if !writable && place::size(&place::beside(path, "-wal")) == 0 { Ok(How::Immutable) } else { Ok(How::Shared) }
}

/// What the writing connection keeps of the file in memory: 16 MiB, as SQLite writes it.
const CACHE: &str = "-16384";

/// How many rows a reader may lag behind SQLite's thread, so that neither waits for the other all the time.
const ROWS: usize = 4_096;

/// How many statements stay prepared: scripts differ in how many contents they have.
const STATEMENTS: usize = 400;

/// What every connection is told.
fn options() -> SqliteConnectOptions {
    SqliteConnectOptions::new().busy_timeout(PATIENCE).foreign_keys(true).disable_statement_logging()
}

/// A connection that only reads, and finds the newest form.
async fn connect(reading: &Reading) -> Result<SqliteConnection, Error> {
    let failed = |error: sqlx::Error| unusable(&reading.path, &error);
    let options = match reading.how {
        How::Shared => options().filename(&reading.path).read_only(true),
        How::Immutable => options().filename(&reading.path).read_only(true).immutable(true),
        How::Nothing => {
            let connection = options().filename(":memory:").in_memory(true).connect().await.map_err(failed)?;
            let mut link = Link::new(connection, reading.path.clone());
            make_tables(&mut link, 0).await?;
            make_meta(&mut link, None).await?;
            return Ok(link.connection);
        }
    };
    let connection = options.row_buffer_size(ROWS).connect().await.map_err(failed)?;
    let mut link = Link::new(connection, reading.path.clone());
    if check_form(&mut link).await? < newest() {
        let mut script = Script::new();
        script.add(READABLE);
        link.run(script).await?;
    }
    Ok(link.connection)
}

/// A connection that only reads, and finds the newest form.
pub(super) async fn reader(reading: &Reading) -> Result<SqliteConnection, Error> {
    connect(reading).await
}

/// Opens a store for writing, on the thread that writes.
pub(super) async fn begin(opening: Opening) -> Result<Begun, Error> {
    let path = opening.path.clone();
    let failed = |error: std::io::Error| place::unwritable(&path, &error);
    place::make_folder(&path)?;
    let there = place::look(&path)?;
    // Processes that open the store at the same time do so one after the other.
    let turn = epoch::opening(&path).map_err(failed)?;
    place::make_file(&path)?;
    let options = options()
        .filename(&path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // What is deleted in passing, sealed states, is overwritten where that costs no writing; a purge
        // overwrites all.
        .pragma("secure_delete", "FAST")
        .pragma("cache_size", CACHE)
        .statement_cache_capacity(STATEMENTS)
        .pragma("trusted_schema", "OFF");
    let options = match there {
        // It counts before there are tables; later it only costs a transaction.
        There::Nothing | There::Empty => options.auto_vacuum(SqliteAutoVacuum::Incremental),
        There::File => options,
    };
    let connection = options.connect().await.map_err(|error| unusable(&path, &error))?;
    let mut link = Link::new(connection, path.clone());
    let form = form(&mut link).await?;
    if form == 0 && there == There::File && !is_empty(&mut link).await? {
        let why = "it is a database of something else".to_owned();
        return Err(Unusable::Corrupt { path, why }.into());
    }
    if form == 0 {
        begin_immediate(&mut link).await?;
        make_tables(&mut link, form).await?;
        make_meta(&mut link, Some(&opening.key)).await?;
        commit(&mut link).await?;
    }
    let form = check_form(&mut link).await?;
    let origin = origin(&mut link, &opening.key).await?;
    mark(&mut link, &origin).await?;
    let mut notes = Vec::new();
    if form < newest() && origin == Origin::Own {
        upgrade(&mut link).await?;
        let to = newest();
        notes.push(format!("the records were brought from form {form} to form {to}, which an older Proem refuses"));
    }
    let mut script = Script::new();
    script.add(SUPPOSITIONS);
    link.run(script).await?;
    let memory = Memory::default();
    let mut writing =
        Writing { link, opening, origin, epoch: None, seen: 0, buried: Vec::new(), basis: Basis::File, memory };
    if writing.origin == Origin::Own {
        let before = writing.begin(Basis::File).await?;
        let now = clock();
        if before > now.0.saturating_add(BEHIND) {
            let (seen, now) = (words(Time(before)), words(now));
            notes.push(format!(
                "the clock says {now}, but the records have seen {seen}; spending is booked to the later time until \
                 the clock is there, or until `proem store reset-clock`"
            ));
        }
        let now = Time(now.0.max(before));
        if writing.sweep().await? > 0 {
            notes.push(LOST.to_owned());
        }
        writing.begin_epoch()?;
        let outcome = async {
            writing.write_epoch(now).await?;
            let settled = writing.bury_at(now).await?;
            writing.commit(before).await?;
            Ok::<u64, Error>(settled)
        };
        let settled = outcome.await?;
        if settled > 0 {
            let (attempts, were, they) =
                if settled == 1 { ("attempt", "was", "it") } else { ("attempts", "were", "they") };
            notes.push(format!(
                "{settled} {attempts} of processes that are gone {were} booked in full, for nobody knows what {they} used"
            ));
        }
    }
    drop(turn);
    Ok(Begun { writing, notes })
}

impl Writing {
    /// Begins an epoch of this process.
    pub(super) fn begin_epoch(&mut self) -> Result<(), Error> {
        let id = random(self.path())?;
        let epoch = Epoch::begin(self.path(), id).map_err(|error| place::unwritable(self.path(), &error))?;
        self.epoch = Some(epoch);
        Ok(())
    }

    /// Writes its line.
    pub(super) async fn write_epoch(&mut self, now: Time) -> Result<(), Error> {
        let (id, actor) = (self.epoch_id(), self.opening.actor.to_string());
        let mut script = Script::new();
        script.add("INSERT INTO epochs (id, project, actor, began) VALUES (?, ?, ?, ?)");
        script.with(&id).with(&self.opening.project.0).with(&actor).with(now);
        self.link.run(script).await.map(drop)
    }

    /// Removes locks without an epoch; how many.
    async fn sweep(&mut self) -> Result<usize, Error> {
        let mut script = Script::new();
        script.add("SELECT id FROM epochs WHERE ended IS NULL");
        let rows = self.link.run(script).await?;
        let known: Vec<String> = rows.iter().map(|row| self.link.get(row, 0)).collect::<Result<_, Error>>()?;
        Ok(epoch::sweep(self.path(), &known))
    }
}

/// The time on this machine.
pub(super) fn clock() -> Time {
    Time(jiff::Timestamp::now().as_millisecond())
}

/// A time as it is shown.
fn words(time: Time) -> String {
    jiff::Timestamp::from_millisecond(time.0).map_or_else(|_| time.0.to_string(), |time| format!("{time:.0}"))
}

/// Sixteen random hexadecimal digits.
fn random(path: &Path) -> Result<String, Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Unusable::Other { path: path.to_owned(), why: format!("no random bytes: {error}") })?;
    Ok(hex::encode(bytes))
}

async fn begin_immediate(link: &mut Link) -> Result<(), Error> {
    let mut script = Script::new();
    script.add("BEGIN IMMEDIATE");
    link.run(script).await.map(drop)
}

async fn commit(link: &mut Link) -> Result<(), Error> {
    let mut script = Script::new();
    script.add("COMMIT");
    link.run(script).await.map(drop)
}

/// The form that a file says it has; 0 where it says none.
async fn form(link: &mut Link) -> Result<i64, Error> {
    let mut script = Script::new();
    script.add("PRAGMA user_version");
    let rows = link.run(script).await?;
    rows.first().map_or(Ok(0), |row| link.get(row, 0))
}

/// Whether there is no table.
async fn is_empty(link: &mut Link) -> Result<bool, Error> {
    let mut script = Script::new();
    script.add("SELECT 1 FROM sqlite_schema LIMIT 1");
    Ok(link.run(script).await?.is_empty())
}

/// The form of a file; one that is not known here is refused.
async fn check_form(link: &mut Link) -> Result<i64, Error> {
    let (path, known) = (link.path.clone(), newest());
    match form(link).await? {
        found if found > known => Err(Unusable::Newer { path, found, known }.into()),
        found if found > 0 => Ok(found),
        _ => {
            let why = "it is a database of something else".to_owned();
            Err(Unusable::Corrupt { path, why }.into())
        }
    }
}

/// Brings an older form to the newest, in a transaction of its own.
async fn upgrade(link: &mut Link) -> Result<(), Error> {
    begin_immediate(link).await?;
    update_tables(link).await?;
    failpoint::pass(failpoint::UPGRADE);
    commit(link).await
}

/// Whether another process has the store open for writing.
async fn is_in_use(link: &mut Link) -> Result<bool, Error> {
    let mut script = Script::new();
    script.add("SELECT id FROM epochs WHERE ended IS NULL");
    let rows = link.run(script).await?;
    let ids: Vec<String> = rows.iter().map(|row| link.get(row, 0)).collect::<Result<_, Error>>()?;
    Ok(ids.iter().any(|id| epoch::is_alive(&link.path, id)))
}

/// Makes what is missing to the newest form, within a transaction. Who writes the older one must have ended:
/// its statements fail on the newer tables.
pub(super) async fn update_tables(link: &mut Link) -> Result<(), Error> {
    let from = check_form(link).await?;
    if from == newest() {
        return Ok(());
    }
    if is_in_use(link).await? {
        let why = "an older Proem has them open, and this one has to bring them to another form; end it, or wait \
                   until it has ended, and try again";
        return Err(Unusable::Other { path: link.path.clone(), why: why.to_owned() }.into());
    }
    make_tables(link, from).await
}

/// Makes the tables of the newest form from those of another, within a transaction.
async fn make_tables(link: &mut Link, from: i64) -> Result<(), Error> {
    for statements in FORMS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        let mut script = Script::new();
        script.add(statements);
        link.run(script).await?;
    }
    let mut script = Script::new();
    script.add(&format!("PRAGMA user_version = {}", newest()));
    link.run(script).await.map(drop)
}

/// Writes what a store knows of itself.
async fn make_meta(link: &mut Link, key: Option<&Key>) -> Result<(), Error> {
    let id = random(&link.path)?;
    let seal = key.map(|key| seal(key, &id)).unwrap_or_default();
    let created = clock().0.to_string();
    let mut script = Script::new();
    script.add("INSERT INTO meta (key, value) VALUES ('store_id', ?), ('seal', ?), ('created', ?), ('last_seen', '0')");
    script.with(&id).with(&seal).with(&created);
    link.run(script).await.map(drop)
}

/// What only the installation with this key can write about that store.
pub(super) fn seal(key: &Key, id: &str) -> String {
    hex::encode(key.seal("proem store", id.as_bytes()))
}

/// Writes down beside a store of this installation's own that it is there.
async fn mark(link: &mut Link, origin: &Origin) -> Result<(), Error> {
    if *origin == Origin::Foreign {
        return Ok(());
    }
    let mut script = Script::new();
    script.add("SELECT value FROM meta WHERE key = 'store_id'");
    let rows = link.run(script).await?;
    let id: String = rows.first().map_or(Ok(String::new()), |row| link.get(row, 0))?;
    place::mark(&link.path, &id)
}

/// Who created a store.
async fn origin(link: &mut Link, key: &Key) -> Result<Origin, Error> {
    let mut script = Script::new();
    script.add("SELECT (SELECT value FROM meta WHERE key = 'store_id'), (SELECT value FROM meta WHERE key = 'seal')");
    let rows = link.run(script).await?;
    let Some(row) = rows.first() else { return Ok(Origin::Foreign) };
    let (id, found): (Option<String>, Option<String>) = (link.get(row, 0)?, link.get(row, 1)?);
    let own = id.zip(found).is_some_and(|(id, found)| seal(key, &id) == found);
    Ok(if own { Origin::Own } else { Origin::Foreign })
}
