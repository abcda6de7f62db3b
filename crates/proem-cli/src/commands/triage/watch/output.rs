//! The events of a watcher, for programs.

use std::path::Path;

use proem_app::triage::IntakeCounts;
use proem_app::triage::output::{IntakeCountsOutput, TriageOutput};
use proem_app::triage::watch::{SweepAccount, WatchEvent, WatchWork};
use proem_runtime::schedule::inbox::LeftAlone;
use proem_triage::MalformedSignal;
use schemars::JsonSchema;
use serde::Serialize;

/// A line of a watcher.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WatchLineOutput<'e> {
    /// When it happened.
    pub(super) at: String,
    #[serde(flatten)]
    pub(super) event: WatchEventOutput<'e>,
}

/// Something that a watcher did or met.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum WatchEventOutput<'e> {
    /// The watcher began.
    Began {
        /// The project's name.
        project: &'e str,
    },
    /// The signals of a file were taken in.
    Taken(TakenFileOutput),
    /// A file is still being written.
    Unfinished { file: String },
    /// A file can't be read.
    Unread { file: String, error: String },
    /// A file or folder is left alone.
    Left {
        file: String,
        /// `link`, `no-file`, `other-ending` or `too-many`.
        why: &'static str,
    },
    /// A cycle ended.
    Cycle {
        /// The number of cycles that would have begun while another ran.
        missed: u64,
        /// Its time.
        milliseconds: u64,
        report: Box<TriageOutput>,
    },
    /// Due actions were performed, or the obstacles to them changed.
    Swept(&'e SweepAccount),
    /// A part of the work could not be done.
    Problem {
        /// `look`, `cycle` or `sweep`.
        work: &'static str,
        error: String,
    },
    /// The watcher ended.
    Ended {
        /// The id of the process that still performs actions. Null if there is none.
        still_performing: Option<u32>,
    },
}

/// A file whose signals were taken in.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TakenFileOutput {
    file: String,
    #[serde(flatten)]
    counts: IntakeCountsOutput,
    /// The signals that could not be read.
    reasons: Vec<MalformedOutput>,
}

/// A signal that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
struct MalformedOutput {
    /// Its line or page.
    place: String,
    /// Why.
    reason: String,
}

impl<'e> WatchEventOutput<'e> {
    /// The event for a line. None for notes, which go to standard error.
    pub(super) fn new(event: &WatchEvent<'e>) -> Option<Self> {
        let name = |file: &Path| file.to_string_lossy().into_owned();
        Some(match event {
            WatchEvent::Noted(_) => return None,
            WatchEvent::Began { project } => Self::Began { project },
            WatchEvent::Taken { file, counts, malformed } => {
                Self::Taken(TakenFileOutput::new(name(file), *counts, malformed))
            }
            WatchEvent::Unfinished { file } => Self::Unfinished { file: name(file) },
            WatchEvent::Unread { file, error } => Self::Unread { file: name(file), error: error.to_string() },
            WatchEvent::Left { path, why } => Self::Left { file: name(path), why: why_name(*why) },
            WatchEvent::Cycle { report, missed, took } => Self::Cycle {
                missed: *missed,
                milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                report: Box::new(TriageOutput::new(None, report)),
            },
            WatchEvent::Swept(account) => Self::Swept(account),
            WatchEvent::Problem { work, error } => {
                let work = match work {
                    WatchWork::Look => "look",
                    WatchWork::Cycle => "cycle",
                    WatchWork::Sweep => "sweep",
                };
                Self::Problem { work, error: error.to_string() }
            }
            WatchEvent::Ended { still_performing } => Self::Ended { still_performing: *still_performing },
        })
    }
}

impl TakenFileOutput {
    fn new(file: String, counts: IntakeCounts, malformed: &[MalformedSignal]) -> Self {
        let reason = |malformed: &MalformedSignal| MalformedOutput {
            place: malformed.place.to_string(),
            reason: malformed.reason.clone(),
        };
        Self { file, counts: counts.into(), reasons: malformed.iter().map(reason).collect() }
    }
}

const fn why_name(why: LeftAlone) -> &'static str {
    match why {
        LeftAlone::Link => "link",
        LeftAlone::NoFile => "no-file",
        LeftAlone::OtherEnding => "other-ending",
        LeftAlone::TooMany => "too-many",
    }
}
