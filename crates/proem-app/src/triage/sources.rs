//! The trackers of a project, what each of them last delivered, and which projects else signals named.
//!
//! Invariant: nothing is asked of any server; what is said comes from the project's file and from signals that were
//! taken in.

use std::collections::BTreeMap;
use std::path::Path;

use proem_engine::run::Time;
use proem_guard::{Untrusted, show};
use proem_runtime::files::{self, FileContent};
use proem_store::record::{SignalStanding, WHOLE_BACKLOG};
use proem_triage::{AsanaProject, ProjectSignal, asana_projects};

use super::desk::TriageDesk;
use super::status::TOGETHER;
use crate::error::Error;

/// The most bytes of an export that are looked through.
const MAX_EXPORT: usize = 64 << 20;
/// The most projects of others that are listed.
const MOST_OTHERS: usize = 50;

/// The delivery of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryCount {
    /// How many signals.
    pub signals: u64,
    /// When the last of them came, and what kind of signal it is.
    pub last: Option<(Time, String)>,
}

impl DeliveryCount {
    fn add(&mut self, at: Time, kind: &str) {
        self.signals = self.signals.saturating_add(1);
        if self.last.as_ref().is_none_or(|(last, _)| *last <= at) {
            self.last = Some((at, kind.to_owned()));
        }
    }
}

/// A tracker that the project's file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackerSource {
    /// The word of the system, such as `jira`.
    pub source: String,
    /// The system's name for the project.
    pub project: String,
    /// Its deliveries.
    pub delivered: DeliveryCount,
}

/// A project that signals named and the project's file does not.
#[derive(Debug, Clone)]
pub struct OtherProject {
    /// The word of the system.
    pub source: String,
    /// The system's name for it.
    pub project: Untrusted<String>,
    /// Its deliveries.
    pub delivered: DeliveryCount,
}

/// The sources of signals.
#[derive(Debug)]
pub struct TriageSources {
    /// The trackers of the project's file, in its order.
    pub trackers: Vec<TrackerSource>,
    /// Other deliveries, by the word of their system: mails, lines of other programs, and signals whose text is gone.
    pub beside: BTreeMap<String, DeliveryCount>,
    /// Projects of others, whose signals were set aside: those of most signals first.
    pub others: Vec<OtherProject>,
}

impl TriageDesk<'_> {
    /// The sources of signals, and the last delivery of each.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn sources(&self) -> Result<TriageSources, Error> {
        let own = [("jira".to_owned(), self.charter.key.clone())].into_iter();
        let further =
            self.charter.trackers.iter().map(|tracker| (tracker.source.clone(), tracker.project.trim().to_owned()));
        let mut trackers: Vec<TrackerSource> = own
            .chain(further)
            .map(|(source, project)| TrackerSource { source, project, delivered: DeliveryCount::default() })
            .collect();
        let mut beside: BTreeMap<String, DeliveryCount> = BTreeMap::new();
        let mut others: BTreeMap<(String, String), OtherProject> = BTreeMap::new();
        let mut after = 0;
        loop {
            let page = self.desk.store.signals(&self.desk.owner, after, TOGETHER).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for row in page.into_iter().filter(|row| row.kind != WHOLE_BACKLOG) {
                let signal = row.text.as_deref().and_then(|text| ProjectSignal::read(text).ok());
                let project = signal.and_then(|signal| signal.project);
                let named = project.as_ref().and_then(|project| show::exact_json(project).as_str().map(str::to_owned));
                let is_it = |tracker: &&mut TrackerSource| {
                    let is_named = named.as_ref().is_some_and(|named| named.eq_ignore_ascii_case(&tracker.project));
                    tracker.source == row.source && is_named
                };
                if let Some(tracker) = trackers.iter_mut().find(is_it) {
                    tracker.delivered.add(row.at, &row.kind);
                } else if let Some((named, project)) =
                    named.zip(project).filter(|_| row.standing == SignalStanding::SetAside)
                {
                    let (source, delivered) = (row.source.clone(), DeliveryCount::default());
                    let other = others.entry((row.source, named));
                    other.or_insert(OtherProject { source, project, delivered }).delivered.add(row.at, &row.kind);
                } else {
                    beside.entry(row.source).or_default().add(row.at, &row.kind);
                }
            }
        }
        let mut others: Vec<OtherProject> = others.into_values().collect();
        others.sort_by_key(|other| std::cmp::Reverse(other.delivered.signals));
        others.truncate(MOST_OTHERS);
        Ok(TriageSources { trackers, beside, others })
    }

    /// Whether the project's file names an Asana project.
    #[must_use]
    pub fn knows_asana(&self, gid: &str) -> bool {
        self.charter.trackers.iter().any(|tracker| tracker.source == "asana" && tracker.project.trim() == gid)
    }
}

/// The projects of Asana that an address or a file names. The file is an export, or the body of a webhook.
///
/// # Errors
///
/// If the file is unreadable or is too large, or nothing in it names a project.
pub fn find_asana_projects(given: &str) -> Result<Vec<AsanaProject>, Error> {
    let shown = show::terminal_str(given).into_string();
    let is_address = given.trim().starts_with("https://");
    let found = if is_address { asana_projects(given) } else { asana_projects(&read_export(given, &shown)?) };
    if !found.is_empty() {
        return Ok(found);
    }
    let remedy = if is_address {
        "the address of a project's page begins with `https://app.asana.com/0/` or has `/project/` in it"
    } else {
        "an export of tasks needs the field `memberships.project` or `projects`"
    };
    Err(Error::negative(format!("`{shown}` names no project of Asana; {remedy}")))
}

fn read_export(path: &str, shown: &str) -> Result<String, Error> {
    match files::read_regular(Path::new(path), MAX_EXPORT)? {
        Some(FileContent::Whole(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Some(FileContent::Cut(_)) => {
            Err(Error::invalid(format!("`{shown}` has more than {MAX_EXPORT} bytes; give a smaller export")))
        }
        None => Err(Error::invalid(format!("there is no file `{shown}`"))),
    }
}
