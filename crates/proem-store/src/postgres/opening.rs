//! Connections to a database, with its tables looked at or made.

use proem_guard::InstallationKey;

use super::address::DatabaseAddress;
use super::form;
use crate::error::Error;
use crate::sql::Tables;
use crate::sqlite::form::newest_form;

/// A connection that writes. Its tables have the newest form from then on. The older form that they had, if they had one.
pub(crate) fn connect_for_writing(
    address: &DatabaseAddress,
    key: &InstallationKey,
) -> Result<(Tables, Option<i64>), Error> {
    let tables = Tables::of_server(address.options(), address.to_string().into())?;
    form::check_server(&tables)?;
    // One that loses its power forgets what it said was written, unless it waits for its disk.
    tables.script(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
    )?;
    let found = tables.atomically(|| form::prepare(&tables, key))?;
    Ok((tables, found.filter(|form| *form < newest_form())))
}

/// A connection that reads. `None` if there are no tables yet.
pub(crate) fn connect_for_reading(address: &DatabaseAddress) -> Result<Option<Tables>, Error> {
    let tables = Tables::of_server(address.options(), address.to_string().into())?;
    let Some(found) = form::stored_server_form(&tables)? else { return Ok(None) };
    form::check_server_form(&tables, found, newest_form())?;
    Ok(Some(tables))
}
