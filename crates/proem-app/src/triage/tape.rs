//! The parts of a cycle's requests that come from the cycle's surroundings, kept beside the cassettes that they are
//! written to.
//!
//! A cassette answers the same request alone, and a request says when it is made and leaves out what there is no money
//! for. A replay of signals in a project in the same state asks at the recorded moment, with the recorded models.

use std::path::PathBuf;

use proem_engine::ledger::ModelMix;
use proem_engine::run::Time;
use proem_guard::show;
use proem_runtime::files::{self, FileAccess};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::run::options::Carriage;

/// The most bytes that a file of one cycle has.
const CAP: usize = 4096;

/// The store of cycles' moments, or their source.
#[derive(Debug)]
pub(super) enum CycleTape {
    /// Nowhere: a cycle is of now.
    Off,
    /// They are written into a folder.
    Recorded(PathBuf),
    /// They are read from such a folder.
    Replayed(PathBuf),
}

/// The part of a cycle that is neither in its signals nor in its project.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CycleMoment {
    /// When it asks, in milliseconds since 1970.
    #[serde(with = "milliseconds")]
    pub(super) now: Time,
    /// The models that there is money for.
    pub(super) models: ModelMix,
}

impl CycleTape {
    /// The one that belongs to what carries requests.
    pub(super) fn of(carriage: &Carriage) -> Self {
        match carriage {
            Carriage::Network | Carriage::Nobody => Self::Off,
            Carriage::Recorder(folder) => Self::Recorded(folder.clone()),
            Carriage::Cassettes(folder) => Self::Replayed(folder.clone()),
        }
    }

    /// Whether answers come from a folder.
    pub(super) const fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }

    /// The moment at which the cycle with this place among those that ask is planned, too. `None` for the time that it
    /// is by then. `today` is what holds without a tape.
    ///
    /// # Errors
    ///
    /// If it can't be written, or the folder has none of this cycle.
    pub(super) fn moment(&self, place: u32, today: CycleMoment) -> Result<Option<CycleMoment>, Error> {
        let name = PathBuf::from(format!("cycle-{place:04}.moment"));
        match self {
            Self::Off => Ok(None),
            Self::Recorded(folder) => {
                let written =
                    serde_json::to_vec(&today).map_err(|error| Error::bug("a moment can't be written", error))?;
                files::write_new(folder, &name, &written, FileAccess::Private)?;
                Ok(Some(today))
            }
            Self::Replayed(folder) => {
                let path = folder.join(&name);
                let shown = show::terminal_str(&path.to_string_lossy()).into_string();
                let text = files::read_text(&path, CAP).map_err(|error| {
                    Error::invalid(format!(
                        "`{shown}` can't be read: {error}; the recorded command had no such cycle, so give the same \
                         signals to a project in the same state, or record it again"
                    ))
                })?;
                let moment = serde_json::from_str(&text).map_err(|error| {
                    Error::invalid(format!("`{shown}` holds no moment of a cycle: {error}; record it again"))
                })?;
                Ok(Some(moment))
            }
        }
    }
}

mod milliseconds {
    use proem_engine::run::Time;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(time.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        i64::deserialize(deserializer).map(Time)
    }
}
