//! Whether records are where they were: a server's database has a seal of its place, which a restored one does not fit.

use proem_guard::InstallationKey;
use proem_text::hex;

use super::comparison::meta_value;
use crate::sql::{DatabaseKind, SqlResult, Tables};

/// The note with the seal of the place.
pub(crate) const HOME: &str = "home";

/// The place of a database: the server, its timeline, which a promotion and a recovery to a moment begin anew, the
/// database, and the table of notes, which a restored dump makes anew. A standby has none: nothing is sent from there.
const PLACE: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE concat_ws(' ', \
    (SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8), \
    (SELECT oid FROM pg_database WHERE datname = current_database()), 'proem.meta'::regclass::oid) END";

/// The place of records, as far as it decides about effects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RecordsHome {
    /// In a file, whose witness knows every effect.
    #[default]
    File,
    /// In a server's database, in its place. Other machines have witnesses of their own.
    Server,
    /// In a server's database that was restored, copied or promoted since its seal was written.
    Moved,
}

/// Where records are.
pub(crate) fn records_home(tables: &Tables, key: &InstallationKey) -> SqlResult<RecordsHome> {
    match tables.kind() {
        DatabaseKind::File => Ok(RecordsHome::File),
        DatabaseKind::Server => {
            let seal = home_seal(tables, key)?;
            let is_same = seal.is_some() && seal == meta_value(tables, HOME)?;
            Ok(if is_same { RecordsHome::Server } else { RecordsHome::Moved })
        }
    }
}

/// The seal of a database's place. `None` for a file, and for a standby.
pub(crate) fn home_seal(tables: &Tables, key: &InstallationKey) -> SqlResult<Option<String>> {
    match tables.kind() {
        DatabaseKind::File => Ok(None),
        DatabaseKind::Server => {
            let place: Option<Option<String>> = tables.first_row(PLACE, [], |row| row.get(0))?;
            Ok(place.flatten().map(|place| hex::encode_hex(key.seal("proem records home", place.as_bytes()))))
        }
    }
}
