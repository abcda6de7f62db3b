//! What a prompt learns: its own results and what the caller wishes, as a profile.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use jiff::tz::TimeZone;
use proem_agents::adapt::{Lessons, TaughtBy};
use proem_engine::assembly::PromptId;
use proem_engine::profile::{
    Adapted, Ageing, Derived, Format, Profile, Profiles, Recorded, Registry, Signals, Wishes, derive, grounded,
    known_risks,
};
use proem_engine::prompt::loaded::Prompt;
use proem_engine::run::Time;
use proem_store::query::RunDetail;
use proem_store::{Access, Store};

use super::{open, owner, zone};
use crate::args::records::Wishes as WishesArgs;
use crate::config::AdaptFile;
use crate::failure::Failure;
use crate::places::Places;
use crate::project::Project;
use crate::{ui, when};

/// Where failures are looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum History<'h> {
    /// In these records.
    Open(&'h Store),
    /// In the records that there may be.
    Closed,
    /// In records that can't be written, which was said already.
    Unusable,
    /// Nowhere: a cassette is asked for the same in every process.
    Fixed,
}

/// What a prompt shows of what was learned and is wished for.
#[derive(Debug, Clone)]
pub(crate) struct Taught {
    pub(crate) adapted: Adapted,
    /// What of it was learned; `None` if nothing was.
    pub(crate) lessons: Option<Lessons>,
    /// The same in one line.
    pub(crate) said: Option<String>,
}

impl Taught {
    /// What a prompt of a recorded run showed.
    pub(crate) fn again(profile: Profile) -> Self {
        let (rules, signals) = (profile.rules(), Signals::default());
        Self { adapted: Adapted { profile, signals, rules, notes: Vec::new() }, lessons: None, said: None }
    }

    /// What is shown of it where nothing is said of an empty profile.
    pub(crate) fn shown(&self) -> Option<&Adapted> {
        Some(&self.adapted).filter(|adapted| !adapted.profile.is_empty())
    }

    /// Says what of it was learned, if anything was: nobody finds learned words in a request unawares.
    pub(crate) fn say(&self) {
        if let Some(said) = &self.said {
            ui::aside(&format!("{said}\n"));
        }
    }
}

/// Says that a run which goes on shows what was learned before it began.
pub(crate) fn say_recorded(run: &RunDetail) {
    let Some(profiles) = &run.profiles else { return };
    let lines = profiles.all().map(|(_, profile)| profile.learned()).sum::<usize>();
    if lines > 0 {
        let (lines, id) = (ui::counted(lines as u64, "line"), run.row.id.short());
        ui::aside(&format!("learned: {lines}, as when run {id} began; see proem runs show {id}\n"));
    }
}

/// The profile that a prompt shows; `None` where nothing is adapted.
///
/// # Errors
///
/// If a wish is none. Records that can't be read are noted and count as empty: they only advise.
pub(crate) async fn taught(
    (places, project): (&Places, &Project),
    prompt: &Prompt,
    args: &WishesArgs,
    history: History<'_>,
) -> Result<Option<Taught>, Failure> {
    let config = &project.config.adapt;
    let wishes = wishes(args, config)?;
    let is_asked = args.time_sensitive || args.compliance_required || args.preferred_format.is_some();
    let is_off = config.enabled == Some(false);
    if args.no_adapt || (is_off && !is_asked) {
        return Ok(None);
    }
    let now = when::now();
    let ageing = ageing(config);
    let name = name(&prompt.id);
    let mut unread = None;
    let recorded = match history {
        _ if is_off => Vec::new(),
        History::Fixed => Vec::new(),
        History::Open(store) => recorded(store, project, &name).await,
        History::Closed | History::Unusable if !places.records().exists() => Vec::new(),
        History::Closed | History::Unusable => match open(places, project, Access::Read).await {
            Ok(opened) => recorded(&opened.store, project, &name).await,
            Err(error) => {
                let left_out = "what the prompt learned is left out";
                match history {
                    History::Unusable => unread = Some(format!("{left_out}: the records can't be read")),
                    _ => ui::note(&format!("{left_out}: {error}")),
                }
                Vec::new()
            }
        },
    };
    let agents: BTreeSet<String> = project.book()?.prompts();
    let derived = derive(&recorded, wishes, ageing, now);
    let baseline = prompt.file.strict.baseline;
    let mut adapted = grounded(&derived.signals, &Registry::Closed(agents), &known_risks(), baseline);
    adapted.notes.splice(0..0, unread.into_iter().chain(derived.notes.iter().cloned()));
    let lessons = lessons(&name, &derived, (&adapted.profile, ageing));
    let said = match (&lessons, derived.until(ageing)) {
        (Some(lessons), Some(until)) => Some(in_words(lessons, until, &zone(&project.config.budget)?)),
        _ => None,
    };
    Ok(Some(Taught { adapted, lessons, said }))
}

/// What of a profile was learned, and from which results.
fn lessons(prompt: &str, derived: &Derived, (profile, ageing): (&Profile, Ageing)) -> Option<Lessons> {
    let taught_by = |recorded: &Recorded| TaughtBy {
        run: recorded.run.clone(),
        at: when::rfc3339(recorded.at),
        risks: recorded.issue.risks.iter().cloned().collect(),
    };
    let until = when::rfc3339(derived.until(ageing)?);
    let results = derived.counted.iter().map(taught_by).collect();
    Some(Lessons { prompt: prompt.to_owned(), lines: profile.learned(), results, until })
}

/// `learned: 2 lines from 1 result of me/ask, until 29 Nov; see proem adapt me/ask`.
fn in_words(lessons: &Lessons, until: Time, zone: &TimeZone) -> String {
    let (lines, results) =
        (ui::counted(lessons.lines as u64, "line"), ui::counted(lessons.results.len() as u64, "result"));
    let (prompt, day) = (&lessons.prompt, when::day(until, zone));
    format!("learned: {lines} from {results} of {prompt}, until {day}; see proem adapt {prompt}")
}

/// A prompt's name, under which its results are recorded.
fn name(id: &PromptId) -> String {
    format!("{}/{}", id.agent, id.name)
}

/// What is recorded of a prompt; what is too old is left out by the rules, which say so.
async fn recorded(store: &Store, project: &Project, prompt: &str) -> Vec<Recorded> {
    store.history(&owner(project), prompt, Time(0)).await.unwrap_or_else(|error| {
        ui::note(&format!("what the prompt learned is left out: {error}"));
        Vec::new()
    })
}

/// How failures age, by configuration.
pub(crate) fn ageing(config: &AdaptFile) -> Ageing {
    let usual = Ageing::default();
    Ageing {
        days: config.days.map_or(usual.days, NonZeroU32::get),
        records: config.failures.map_or(usual.records, NonZeroU32::get),
        retries: config.retries.unwrap_or(usual.retries),
    }
}

/// What the caller wishes, flags over configuration.
pub(crate) fn wishes(args: &WishesArgs, config: &AdaptFile) -> Result<Wishes, Failure> {
    let (name, by) = match (&args.preferred_format, &config.preferred_format) {
        (Some(name), _) => (Some(name), "--preferred-format"),
        (None, name) => (name.as_ref(), "adapt.preferred_format"),
    };
    let format = name.map(|name| {
        name.parse::<Format>().map_err(|why| Failure::usage(format!("{by}: {}", proem_guard::show::terminal_str(&why))))
    });
    Ok(Wishes {
        time_sensitive: args.time_sensitive || config.time_sensitive,
        compliance_required: args.compliance_required || config.compliance_required,
        preferred_format: format.transpose()?,
    })
}

/// What one prompt, or all of a run, show, as a record keeps it.
pub(crate) fn profiles<'t>(all: impl IntoIterator<Item = (&'t PromptId, Option<&'t Taught>)>) -> Option<Profiles> {
    let profile = |(id, taught): (&PromptId, Option<&Taught>)| Some((name(id), taught?.adapted.profile.clone()));
    let prompts = all.into_iter().map(profile).collect::<Option<_>>()?;
    Some(Profiles::Each { prompts })
}
