//! What a prompt learns: the history of its agent and what the caller wishes, as a profile.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use proem_engine::assembly::PromptId;
use proem_engine::profile::{Adapted, Ageing, Format, Recorded, Registry, Wishes, derive, grounded, known_risks};
use proem_store::{Access, Store};

use super::{open, owner};
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

/// The profile that the prompts of an agent show; `None` where nothing is adapted.
///
/// # Errors
///
/// If a wish is none. Records that can't be read are noted and count as empty: they only advise.
pub(crate) async fn adapted(
    (places, project): (&Places, &Project),
    prompts: &[&PromptId],
    args: &WishesArgs,
    history: History<'_>,
) -> Result<Option<Adapted>, Failure> {
    let config = &project.config.adapt;
    let wishes = wishes(args, config)?;
    let is_asked = args.time_sensitive || args.compliance_required || args.preferred_format.is_some();
    let is_off = config.enabled == Some(false);
    if args.no_adapt || (is_off && !is_asked) {
        return Ok(None);
    }
    let now = when::now();
    let ageing = ageing(config);
    let mut unread = None;
    let recorded = match history {
        _ if is_off => Vec::new(),
        History::Fixed => Vec::new(),
        History::Open(store) => recorded(store, project, prompts, ageing).await?,
        History::Closed | History::Unusable if !places.records().exists() => Vec::new(),
        History::Closed | History::Unusable => match open(places, project, Access::Read).await {
            Ok(opened) => recorded(&opened.store, project, prompts, ageing).await?,
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
    let mut adapted = grounded(&derived.signals, &Registry::Closed(agents), &known_risks());
    adapted.notes.splice(0..0, unread.into_iter().chain(derived.notes));
    Ok(Some(adapted))
}

async fn recorded(
    store: &Store,
    project: &Project,
    prompts: &[&PromptId],
    ageing: Ageing,
) -> Result<Vec<Recorded>, Failure> {
    let since = when::now().0.saturating_sub(i64::from(ageing.days).saturating_mul(when::DAY));
    let mut found = Vec::new();
    for prompt in prompts {
        let agent = format!("{}/{}", prompt.agent, prompt.name);
        match store.history(&owner(project), &agent, proem_engine::run::Time(since)).await {
            Ok(history) => found.extend(history),
            Err(error) => ui::note(&format!("what the prompt learned is left out: {error}")),
        }
    }
    found.sort_by_key(|recorded| recorded.at);
    Ok(found)
}

/// How failures age, by configuration.
fn ageing(config: &AdaptFile) -> Ageing {
    let usual = Ageing::default();
    Ageing {
        days: config.days.map_or(usual.days, NonZeroU32::get),
        records: config.failures.map_or(usual.records, NonZeroU32::get),
        retries: config.retries.unwrap_or(usual.retries),
    }
}

/// What the caller wishes, flags over configuration.
fn wishes(args: &WishesArgs, config: &AdaptFile) -> Result<Wishes, Failure> {
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
