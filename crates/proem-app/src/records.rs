//! The records as commands use them: where they are, who writes them, what configuration says.

pub mod booking;
pub mod copying;
pub mod failures;
pub mod file;
pub mod learning;
pub mod location;
pub mod served_calls;
pub mod work;
pub mod writing;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use proem_engine::call::NanoDollars;
use proem_engine::ledger::{Cap, CapPeriod, CapScope, CapUnit, LadderPlace, LadderStep, SpendLadder};
use proem_engine::run::Time;
use proem_runtime::{Environment, installation_key};
use proem_store::query::Spender;
use proem_store::record::{Actor, ActorKind, Project as Owner};
use proem_store::{OpenedStore, Store, StoreAccess, StoreCreator, StoreOptions};

use self::location::RecordsLocation;
use crate::config::{AgentBudget, BudgetFile, SpendLimits};
use crate::error::Error;
use crate::message::{Note, NoteKind, WithNotes};
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

/// The runtime for asynchronous work of the store.
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

/// The scope of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This project's.
    Project,
    /// Everybody's that are recorded here.
    All,
}

impl Whose {
    /// The project whose runs are meant. `None` for all.
    #[must_use]
    pub fn owner(self, project: &OpenProject) -> Option<Owner> {
        match self {
            Self::Project => Some(records_owner(project)),
            Self::All => None,
        }
    }
}

/// The owner of a project's records: the name that the user's configuration gives the project there, or else its
/// repository.
pub fn records_owner(project: &OpenProject) -> Owner {
    let repository = Path::new(&project.key);
    let named =
        |(folder, _): &(&PathBuf, &String)| project.root.as_deref() == Some(folder.as_path()) || folder == &repository;
    let name = project.config.store.projects.iter().find(named).map(|(_, name)| name);
    Owner(name.unwrap_or(&project.key).clone())
}

/// The name of a project's folder. The key of a repository is the folder that git keeps in it.
pub fn records_folder_name(project: &Owner) -> &str {
    let path = Path::new(&project.0);
    let path = if path.ends_with(".git") { path.parent().unwrap_or(path) } else { path };
    path.file_name().and_then(OsStr::to_str).unwrap_or("/")
}

/// The person at this machine: the user, and the channel through which Proem is used.
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

/// The zone by which days are booked. UTC where none is declared.
///
/// # Errors
///
/// If the configured zone is unknown.
pub fn booking_zone(budget: &BudgetFile) -> Result<jiff::tz::TimeZone, Error> {
    match budget.zone.as_deref() {
        None => Ok(jiff::tz::TimeZone::UTC),
        Some(name) => jiff::tz::TimeZone::get(name)
            .map_err(|_| Error::invalid(format!("no time zone `{name}`; write `budget.zone` like \"Europe/Berlin\""))),
    }
}

/// The agent that ships with a budget of its own.
pub const BUDGETED: &str = "triage";

/// The caps that hold for whoever asks.
pub fn budget_caps(budget: &BudgetFile) -> Vec<Cap> {
    [caps_of(CapScope::User, &budget.user), caps_of(CapScope::Project, &budget.project)].concat()
}

fn caps_of(scope: CapScope, limits: &SpendLimits) -> Vec<Cap> {
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
    money.chain(tokens).collect()
}

/// The budget of an agent in one project: the configured one, or else the one that ships with it.
///
/// # Errors
///
/// Never, but for a bug.
pub fn agent_budget(budget: &BudgetFile, agent: &str) -> Result<AgentBudget, Error> {
    let configured = budget.agent.get(agent).cloned().unwrap_or_default();
    if agent != BUDGETED {
        return Ok(configured);
    }
    let usual = toml::from_str(proem_triage::BUDGET)
        .map_err(|error| Error::bug("the budget that ships with triage can't be read", error))?;
    Ok(configured.or(usual))
}

/// The caps that hold for calls with an agent's prompts beside [`budget_caps`].
///
/// # Errors
///
/// As [`agent_budget`].
pub fn agent_caps(budget: &BudgetFile, agent: &str) -> Result<Vec<Cap>, Error> {
    Ok(caps_of(CapScope::Agent, &agent_budget(budget, agent)?.limits()))
}

/// An agent's place on the ladder of its budget in this project.
///
/// # Errors
///
/// If the steps that are configured are none, or the records are unreadable.
pub async fn ladder_place(store: &Store, project: &OpenProject, agent: &str, now: Time) -> Result<LadderPlace, Error> {
    let budget = agent_budget(&project.config.budget, agent)?;
    let steps = budget.steps.iter().flatten().map(|step| LadderStep {
        from: step.from.0,
        models: step.models,
        every_minutes: step.every_minutes,
    });
    let ladder = SpendLadder::new(steps.collect())?;
    let whose = Spender { project: records_owner(project), agent: Some(agent.to_owned()) };
    // Today's spending counts with or without a cap for the day.
    let today = Cap { scope: CapScope::Agent, period: CapPeriod::Day, unit: CapUnit::NanoDollars, most: u64::MAX };
    let mut caps = vec![today];
    caps.extend(caps_of(CapScope::Agent, &budget.limits()));
    let all = store.caps(&whose, &caps, now).await?;
    let spent = all.first().map_or(0, |now| now.spent.settled.saturating_add(now.spent.open));
    let caps: Vec<_> = all.iter().skip(1).map(|now| (now.cap, now.spent)).collect();
    Ok(ladder.place(NanoDollars(spent), &caps))
}

/// The cap of a caller on each of its runs.
pub(crate) const fn run_cap(most: NanoDollars) -> Cap {
    Cap { scope: CapScope::Project, period: CapPeriod::Run, unit: CapUnit::NanoDollars, most: most.0 }
}

/// Opens the records.
///
/// # Errors
///
/// If they are unusable: locked, damaged, of another installation, or without a key; or their place is not well
/// configured.
pub async fn open_records(project: &OpenProject, access: StoreAccess) -> Result<OpenedStore, Error> {
    let location = records_location(project)?;
    Ok(location.open(store_options(project, location.path(), access)?).await?)
}

/// The place of the records.
///
/// # Errors
///
/// If it is not well configured.
pub fn records_location(project: &OpenProject) -> Result<RecordsLocation, Error> {
    RecordsLocation::configured(&project.places, &project.config)
}

/// The options to open records with whose files are at a path.
fn store_options(project: &OpenProject, path: PathBuf, access: StoreAccess) -> Result<StoreOptions, Error> {
    let unusable = |why: String| {
        Error::from(proem_store::Error::Unusable(proem_store::Unusable::Other { path: path.clone(), why }))
    };
    let key = installation_key(&project.places.key()).map_err(|e| unusable(e.to_string()))?;
    let zone = booking_zone(&project.config.budget).map_err(|e| unusable(e.to_string()))?;
    let actor = actor(&Environment::inherited(), project.places.channel);
    Ok(StoreOptions { path, key, access, project: records_owner(project), actor, zone })
}

/// Opens the records to look at them.
///
/// # Errors
///
/// If they can't be read.
pub async fn look_at_records(project: &OpenProject) -> Result<WithNotes<Store>, Error> {
    let opened = open_records(project, StoreAccess::Read).await?;
    let mut notes: Vec<Note> = opened.notes.into_iter().map(|words| Note::new(NoteKind::Records, words)).collect();
    if opened.origin == StoreCreator::Foreign {
        notes.push(Note::new(
            NoteKind::Records,
            "these records were made by another installation, so they are read-only",
        ));
    }
    Ok(WithNotes { value: opened.store, notes })
}

#[cfg(test)]
mod tests {
    use proem_engine::ledger::ModelMix;

    use super::*;
    use crate::config::Config;

    fn budget(text: &str) -> BudgetFile {
        Config::parse("config.toml", text).unwrap().budget
    }

    #[test]
    fn triage_has_a_budget_of_its_own_of_which_single_keys_are_replaced() {
        let told = |text: &str| {
            let budget = agent_budget(&budget(text), BUDGETED).unwrap();
            let dollars = |amount: Option<crate::config::Dollars>| amount.map(String::from).unwrap_or_default();
            let steps = budget.steps.unwrap_or_default();
            let steps: Vec<(String, ModelMix, u32)> = steps
                .iter()
                .map(|step| (step.from.into(), step.models, step.every_minutes.map_or(0, core::num::NonZeroU32::get)))
                .collect();
            (dollars(budget.day), dollars(budget.month), steps)
        };
        let usual = vec![
            ("0.23".to_owned(), ModelMix::LargeIfDemanded, 0),
            ("0.27".to_owned(), ModelMix::LargeIfDemanded, 20),
            ("0.3".to_owned(), ModelMix::SmallOnly, 30),
        ];
        assert_eq!(told(""), ("0.4".to_owned(), "8".to_owned(), usual.clone()));
        assert_eq!(told("[budget.agent.triage]\nday = 1"), ("1".to_owned(), "8".to_owned(), usual));
        let own = "[budget.agent.triage]\nsteps = [{ from = 0.1, models = \"small-only\" }]";
        assert_eq!(told(own).2, [("0.1".to_owned(), ModelMix::SmallOnly, 0)]);
    }

    #[test]
    fn other_agents_have_the_caps_that_are_configured_and_no_other() {
        assert_eq!(agent_caps(&budget(""), "risk").unwrap(), []);
        let cap = Cap { scope: CapScope::Agent, period: CapPeriod::Day, unit: CapUnit::NanoDollars, most: 250_000_000 };
        assert_eq!(agent_caps(&budget("[budget.agent.risk]\nday = 0.25"), "risk").unwrap(), [cap]);
        assert_eq!(agent_caps(&budget(""), BUDGETED).unwrap().len(), 2);
        assert_eq!(budget_caps(&budget("[budget.agent.risk]\nday = 0.25")), []);
    }
}
