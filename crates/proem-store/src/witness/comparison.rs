//! Holds the records against their witness.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use proem_guard::InstallationKey;

use super::account::WitnessAccount;
use super::file::mark_name;
use super::home::{RecordsHome, records_home};
use crate::sql::{SqlFault, SqlResult, Tables};

/// The trouble between records and witness. Each kind parks effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WitnessTrouble {
    /// There is none, and these records have had effects.
    Missing,
    /// It is a link, a pipe or whatever else no witness is.
    Unfit(String),
    /// A line is none, or was changed.
    Damaged(u64),
    /// It belongs to other records.
    OtherRecords,
    /// It was made elsewhere: this is a copy.
    Copied,
    /// The server's database is not where it was.
    Moved,
    /// It knows of effects that the records don't.
    KnowsMore(usize),
    /// It lacks effects that the records know of.
    KnowsLess(usize),
}

impl WitnessTrouble {
    /// Whether all effects that there were are in the witness or in the records, though something is wrong now, or was
    /// noted before.
    pub(crate) fn leaves_whole_account(trouble: Option<&Self>, noted: Option<&String>, home: RecordsHome) -> bool {
        match trouble {
            // Other machines may have sent what neither knows.
            _ if home != RecordsHome::File => false,
            Some(trouble) => matches!(trouble, Self::KnowsMore(_)),
            // The trouble is gone, and with it the lines that would have told of it.
            None => noted.is_none(),
        }
    }
}

impl fmt::Display for WitnessTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("these records have had effects, and their witness is gone"),
            Self::Unfit(why) => write!(f, "the witness of effects can't be read: {why}"),
            Self::Damaged(line) => write!(f, "line {line} of the witness of effects is damaged"),
            Self::OtherRecords => f.write_str("the witness of effects belongs to other records"),
            Self::Moved => {
                f.write_str("the database was restored, copied or promoted since a person looked at its effects")
            }
            Self::Copied => f.write_str("these records are a copy: the witness of effects was made in another place"),
            Self::KnowsMore(1) => f.write_str("the witness knows of an effect that these records lack"),
            Self::KnowsMore(count) => write!(f, "the witness knows of {count} effects that these records lack"),
            Self::KnowsLess(1) => f.write_str("the witness lacks an effect that these records know of"),
            Self::KnowsLess(count) => write!(f, "the witness lacks {count} effects that these records know of"),
        }
    }
}

/// An action's key with the version that a taking up made.
pub(crate) type TakenUp = (String, u64);

/// The effects that the records know.
#[derive(Debug, Default)]
pub(crate) struct RecordedEffects {
    /// The records' own id.
    pub(crate) store: String,
    /// Every taking up, and every effect that was taken over from a witness.
    pub(crate) taken: BTreeSet<TakenUp>,
    /// Those that a receiver was asked to take, with what became of it as an event.
    pub(crate) performed: BTreeMap<TakenUp, String>,
    /// Those of which nobody knows whether the receiver was asked.
    doubtful: BTreeSet<TakenUp>,
    /// Actions whose transitions a purge took, with their last version.
    pub(crate) purged: BTreeMap<String, u64>,
    /// Whether a witness was seen.
    has_mark: bool,
    /// Where they are.
    pub(crate) home: RecordsHome,
}

impl RecordedEffects {
    /// Reads them. The witness is read before: what is written meanwhile must not look as if it were missing here.
    pub(crate) fn read(reader: &Tables, key: &InstallationKey, database: &Path) -> SqlResult<Self> {
        let mut recorded = Self {
            store: meta_value(reader, "store_id")?.unwrap_or_default(),
            has_mark: meta_value(reader, &mark_name(reader, key, database))?.is_some(),
            home: records_home(reader, key)?,
            ..Self::default()
        };
        let taken = reader.all_rows(
            "SELECT t.action, t.version, n.event FROM transitions t \
             LEFT JOIN transitions n ON n.action = t.action AND n.version = t.version + 1 WHERE t.event = 'take-up'",
            [],
            |row| Ok::<_, SqlFault>(((row.get(0)?, version_or_zero(row.get(1)?)), row.get::<_, Option<String>>(2)?)),
        )?;
        for (taken, event) in taken {
            match event.as_deref() {
                Some(event @ ("sent" | "fail" | "lose")) => {
                    _ = recorded.performed.insert(taken.clone(), event.to_owned());
                }
                None | Some("die") => _ = recorded.doubtful.insert(taken.clone()),
                Some(_) => {}
            }
            recorded.taken.insert(taken);
        }
        let pairs = |sql: &str| -> SqlResult<Vec<TakenUp>> {
            reader.all_rows(sql, [], |row| Ok((row.get(0)?, version_or_zero(row.get(1)?))))
        };
        recorded.taken.extend(pairs("SELECT action, version FROM witnessed")?);
        let purged = "SELECT key, version FROM actions WHERE purged IS NOT NULL AND state IN ('executed', 'failed')";
        recorded.purged.extend(pairs(purged)?);
        Ok(recorded)
    }

    /// Whether the records know of a taking up.
    pub(crate) fn know(&self, (action, version): &TakenUp) -> bool {
        self.taken.contains(&(action.clone(), *version)) || self.purged.get(action).is_some_and(|last| version <= last)
    }

    /// Whether this machine's witness must be there. On a server, effects may be those of other machines.
    fn need_witness(&self) -> bool {
        let are_any = !self.taken.is_empty() || !self.purged.is_empty();
        self.has_mark || (self.home == RecordsHome::File && are_any)
    }
}

fn version_or_zero(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// The records' own value under a name.
pub(super) fn meta_value(reader: &Tables, name: &str) -> SqlResult<Option<String>> {
    reader.first_row("SELECT value FROM meta WHERE key = ?", [name], |row| row.get(0))
}

/// A witness and where it is.
pub(super) struct FoundWitness<'a> {
    pub(super) account: &'a WitnessAccount,
    /// The seal of the place where the file is.
    pub(super) place: &'a str,
}

/// The trouble between them. None if both know the same effects.
pub(super) fn compare_effects(found: Option<&FoundWitness<'_>>, recorded: &RecordedEffects) -> Option<WitnessTrouble> {
    if recorded.home == RecordsHome::Moved {
        return Some(WitnessTrouble::Moved);
    }
    let Some(FoundWitness { account, place }) = found else {
        return recorded.need_witness().then_some(WitnessTrouble::Missing);
    };
    if let Some(line) = account.damaged {
        return Some(WitnessTrouble::Damaged(line));
    }
    if account.store != recorded.store {
        return Some(WitnessTrouble::OtherRecords);
    }
    if account.place != *place {
        return Some(WitnessTrouble::Copied);
    }
    let more = account.effects.keys().filter(|taken| !recorded.know(taken)).count();
    if more > 0 {
        return Some(WitnessTrouble::KnowsMore(more));
    }
    if let Some(torn) = &account.torn
        && !is_explained(torn, account, recorded)
    {
        return Some(WitnessTrouble::KnowsMore(1));
    }
    let less = lacking_effects(account, recorded).count();
    (less > 0).then_some(WitnessTrouble::KnowsLess(less))
}

/// The performed effects that are not in the witness. On a server, other machines may have performed them.
pub(super) fn lacking_effects<'r>(
    account: &'r WitnessAccount,
    recorded: &'r RecordedEffects,
) -> impl Iterator<Item = &'r TakenUp> {
    let is_alone = recorded.home == RecordsHome::File;
    recorded.performed.keys().filter(move |taken| is_alone && !account.effects.contains_key(*taken))
}

/// Whether a line that is cut off is one that broke off when its process died: the records are in doubt about an action
/// whose key begins so, and the witness does not say what became of it either.
fn is_explained(torn: &str, account: &WitnessAccount, recorded: &RecordedEffects) -> bool {
    recorded.doubtful.iter().any(|taken| {
        taken.0.starts_with(torn) && account.effects.get(taken).is_none_or(|effect| effect.outcome.is_none())
    })
}
