//! The records as commands use them: where they are, who writes them, what configuration says.

pub mod failures;
pub mod file;
pub mod learning;
pub mod writing;

use std::ffi::OsStr;
use std::path::Path;

use proem_engine::call::NanoDollars;
use proem_engine::ledger::{Cap, CapPeriod, CapScope, CapUnit};
use proem_runtime::{Environment, installation_key};
use proem_store::record::{Actor, ActorKind, Project as Owner};
use proem_store::{OpenedStore, Store, StoreAccess, StoreCreator, StoreOptions};

use crate::config::{BudgetFile, SpendLimits};
use crate::error::Error;
use crate::message::{Note, Noted};
use crate::places::Channel;
use crate::project::OpenProject;

/// Runs asynchronous work of the store on this thread.
///
/// # Errors
///
/// Those of the work, or if the runtime can't be started.
pub fn blocking<T, E: From<Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    runtime()?.block_on(work)
}

/// What asynchronous work of the store runs on.
///
/// # Errors
///
/// If the system gives no resources for it.
pub fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::outside(format!("could not start the runtime: {e}")))
}

/// Whose runs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This project's.
    Project,
    /// Everybody's that are recorded here.
    All,
}

impl Whose {
    /// The project whose runs are meant; `None` for all.
    #[must_use]
    pub fn owner(self, project: &OpenProject) -> Option<Owner> {
        match self {
            Self::Project => Some(owner(project)),
            Self::All => None,
        }
    }
}

/// Whose records a project's are.
pub fn owner(project: &OpenProject) -> Owner {
    Owner(project.key.clone())
}

/// The name of a project's folder. The key of a repository is the folder that git keeps in it.
pub fn folder(project: &Owner) -> &str {
    let path = Path::new(&project.0);
    let path = if path.ends_with(".git") { path.parent().unwrap_or(path) } else { path };
    path.file_name().and_then(OsStr::to_str).unwrap_or("/")
}

/// Who sits here: the user, and by which channel Proem is used.
pub fn actor(environment: &Environment, channel: Channel) -> Actor {
    let user = ["USER", "LOGNAME"].into_iter().find_map(|name| environment.get(name)?.to_str());
    let id = plain_name(user.filter(|user| !user.is_empty()).unwrap_or("unknown"));
    Actor { kind: ActorKind::Person, id, channel: channel.as_str().to_owned() }
}

/// A user's name with nothing in it that means something to the records.
pub(crate) fn plain_name(user: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    user.chars().take(64).map(plain).collect()
}

/// The zone by which days are booked; UTC where none is declared.
///
/// # Errors
///
/// If the configured zone is unknown.
pub fn zone(budget: &BudgetFile) -> Result<jiff::tz::TimeZone, Error> {
    match budget.zone.as_deref() {
        None => Ok(jiff::tz::TimeZone::UTC),
        Some(name) => jiff::tz::TimeZone::get(name)
            .map_err(|_| Error::invalid(format!("no time zone `{name}`; write `budget.zone` like \"Europe/Berlin\""))),
    }
}

/// The caps that hold.
pub fn caps(budget: &BudgetFile) -> Vec<Cap> {
    let of = |scope: CapScope, limits: &SpendLimits| {
        let money = [(CapPeriod::Day, limits.day), (CapPeriod::Month, limits.month), (CapPeriod::Run, limits.run)];
        let tokens = [
            (CapPeriod::Day, limits.day_tokens),
            (CapPeriod::Month, limits.month_tokens),
            (CapPeriod::Run, limits.run_tokens),
        ];
        let money = money
            .into_iter()
            .filter_map(move |(period, most)| Some(Cap { scope, period, unit: CapUnit::NanoDollars, most: most?.0.0 }));
        let tokens = tokens
            .into_iter()
            .filter_map(move |(period, most)| Some(Cap { scope, period, unit: CapUnit::Tokens, most: most? }));
        money.chain(tokens).collect::<Vec<_>>()
    };
    [of(CapScope::User, &budget.user), of(CapScope::Project, &budget.project)].concat()
}

/// The cap of a caller on each of its runs.
pub(crate) const fn run_cap(most: NanoDollars) -> Cap {
    Cap { scope: CapScope::Project, period: CapPeriod::Run, unit: CapUnit::NanoDollars, most: most.0 }
}

/// Opens the records.
///
/// # Errors
///
/// If they can't be used: locked, damaged, of another installation, or without a key.
pub async fn open(project: &OpenProject, access: StoreAccess) -> Result<OpenedStore, proem_store::Error> {
    let environment = Environment::inherited();
    let unusable = |why: String| {
        proem_store::Error::Unusable(proem_store::Unusable::Other { path: project.places.records(), why })
    };
    let key = installation_key(&project.places.key()).map_err(|e| unusable(e.to_string()))?;
    let zone = zone(&project.config.budget).map_err(|e| unusable(e.to_string()))?;
    let path = project.places.records();
    let actor = actor(&environment, project.places.channel);
    Store::open(StoreOptions { path, key, access, project: owner(project), actor, zone }).await
}

/// Opens the records to look at them.
///
/// # Errors
///
/// If they can't be read.
pub async fn look(project: &OpenProject) -> Result<Noted<Store>, Error> {
    let opened = open(project, StoreAccess::Read).await?;
    let mut notes: Vec<Note> = opened.notes.into_iter().map(Note::from).collect();
    if opened.origin == StoreCreator::Foreign {
        notes.push("these records were made by another installation, so they are read-only".into());
    }
    Ok(Noted { value: opened.store, notes })
}
