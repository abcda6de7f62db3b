//! The records' notes about their witness: that both agree up to a mark, or why effects are parked.

use serde_json::json;

use super::event::StoreEvent;
use crate::clock;
use crate::error::Error;
use crate::record::{Actor, ActorKind};
use crate::sql::{Tables, Transaction, Write};
use crate::witness::mark_name;

/// The finding of a comparison of records and witness.
#[derive(Debug)]
pub(crate) struct WitnessFinding {
    /// Why effects are parked. `None` where both agree.
    pub(crate) parked: Option<String>,
    /// The end of the witness, where both agree.
    pub(crate) mark: Option<String>,
}

impl Write for WitnessFinding {
    type Answer = ();
    const NAME: &'static str = "witness-finding";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        if let Some(mark) = &self.mark {
            set_meta(to.tables, &mark_name(to.tables, &to.opening.key, &to.opening.path), mark)?;
        }
        let Some(why) = &self.parked else { return Ok(()) };
        if parking_reason(to.tables)?.is_some() {
            return Ok(());
        }
        set_meta(to.tables, "parked", why)?;
        let at = to.at(clock::system_now());
        let actor = Actor { kind: ActorKind::System, ..to.opening.actor.clone() };
        let details = json!({ "why": why });
        StoreEvent { project: &to.opening.project, actor: &actor, at, what: "effects-parked", details }.write(to.tables)
    }
}

/// Why effects are parked, as it is noted.
pub(super) fn parking_reason(tables: &Tables) -> Result<Option<String>, Error> {
    tables.row("SELECT value FROM meta WHERE key = 'parked'", [], |row| row.get(0))
}

/// Sets what the records say of themselves under a name.
pub(crate) fn set_meta(tables: &Tables, name: &str, value: &str) -> Result<(), Error> {
    let into = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    tables.execute(into, (name, value)).map(drop)
}
