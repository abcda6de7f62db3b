//! `proem adapt`: the profile that a prompt shows, or that a history and signals give.

mod prompt;
mod values;

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use proem_agents::adapt::{self as files, quoted};
use proem_engine::profile::{Adapted, Format, Recorded, Registry, Rule, adapt, derive, known_risks};
use proem_engine::run::Time;
use proem_guard::show;

use crate::args::records::Adapt;
use crate::failure::Failure;
use crate::ui::{self, BOLD, DIM, styled};
use proem_app::places::Places;
use proem_app::project::{Project, Reading};
use proem_app::records;
use proem_app::records::learning::{CallerWishes, ageing};
use proem_app::when;

/// The most bytes of a file of failures, signals or names. A hundred thousand failures are some twenty MiB.
const MOST_BYTES: u64 = 64 << 20;

/// How many names that are only counted are shown.
const NAMED: usize = 5;

pub(super) fn run(args: &Adapt) -> Result<ExitCode, Failure> {
    let places = crate::places()?;
    let project = Project::open(&args.root, &places, Reading::Trusted)?;
    ui::notes(&project.all_notes());
    if let Some(name) = &args.prompt {
        return prompt::run(args, name, (&places, &project));
    }
    let now = match &args.now {
        None => when::now(),
        Some(text) => values::moment(text)
            .ok_or_else(|| Failure::usage(format!("`{text}` is not a time; write one such as 2026-11-22T10:00:00Z")))?,
    };
    let files = [&args.history, &args.signals, &args.registry];
    if files.iter().filter(|file| file.as_deref() == Some(Path::new("-"))).count() > 1 {
        return Err(Failure::usage(
            "standard input can be read only once; write `-` for one file, and name the others",
        ));
    }
    let mut notes = Vec::new();
    let history = match &args.history {
        Some(file) => {
            let read = files::history(&text_of(file)?, &values::timestamp)?;
            notes.extend(read.notes);
            read.value
        }
        None => records::blocking(recorded(&places, &project, args.agent.as_deref()))?,
    };
    if let Some(agent) = args.agent.as_deref().filter(|_| history.is_empty()) {
        notes.push(format!(
            "no result of {} is recorded for this project; `proem failures list` lists the agents",
            quoted(agent)
        ));
    }
    let derived =
        derive(&history, CallerWishes::default().over(&project.config.adapt)?, ageing(&project.config.adapt), now);
    notes.extend(derived.notes);
    let signals = match &args.signals {
        Some(file) => {
            let read = files::signals(&text_of(file)?, derived.signals)?;
            notes.extend(read.notes);
            read.value
        }
        None => derived.signals,
    };
    let (agents, risks) = match (&args.registry, &args.history) {
        (Some(file), _) => files::registry(&text_of(file)?)?,
        (None, Some(_)) => (Registry::Vouched, Registry::Vouched),
        (None, None) => (Registry::Closed(project.book()?.prompts()), known_risks()),
    };
    let adapted = adapt(&signals, &agents, &risks);
    notes.extend(adapted.notes.iter().cloned());
    notes.extend(not_shown("agent", &signals.last_failure_subagents, &agents));
    notes.extend(not_shown("risk", &signals.risk_tags, &risks));
    if args.json {
        // The members stand in the order in which the interface lists them.
        let json =
            serde_json::to_string_pretty(&adapted.profile).map_err(|e| Failure::bug("could not write JSON", e))?;
        ui::document(&json)?;
    } else {
        ui::listing(&account(&adapted))?;
    }
    notes.iter().for_each(|note| ui::note(note));
    Ok(ExitCode::SUCCESS)
}

/// What this project's runs left behind.
async fn recorded(places: &Places, project: &Project, agent: Option<&str>) -> Result<Vec<Recorded>, Failure> {
    let store = crate::ui::tell(records::look(places, project).await?);
    let owner = records::owner(project);
    let agents = match agent {
        Some(agent) => vec![agent.to_owned()],
        None => {
            let failures = store.failures(&owner, None).await?;
            let mut agents: Vec<String> = failures.into_iter().map(|row| row.recorded.agent).collect();
            agents.sort();
            agents.dedup();
            agents
        }
    };
    let mut history = Vec::new();
    for agent in agents {
        // What is too old is left out by the rules, which say so.
        history.extend(store.history(&owner, &agent, Time(0)).await?);
    }
    Ok(history)
}

/// A file's text, or standard input for `-`.
fn text_of(file: &Path) -> Result<String, Failure> {
    let shown = show::terminal_str(&file.display().to_string());
    let failed = |error: std::io::Error| Failure::usage(format!("could not read `{shown}`: {error}"));
    let text = if file == Path::new("-") {
        capped(std::io::stdin().lock())
    } else {
        proem_runtime::files::open(file).and_then(capped)
    };
    text.map_err(failed)?.ok_or_else(|| {
        Failure::usage(format!("`{shown}` has more than {} MiB; leave out what is old", MOST_BYTES >> 20))
    })
}

/// A text of at most [`MOST_BYTES`]; `None` if it is longer.
fn capped(from: impl Read) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if u64::try_from(from.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes)?).is_ok_and(|n| n <= MOST_BYTES) {
        return String::from_utf8(bytes).map(Some).map_err(|_| std::io::Error::other("it is not UTF-8"));
    }
    Ok(None)
}

/// Which names are only counted, by their beginnings.
fn not_shown(what: &str, names: &[String], registry: &Registry) -> Option<String> {
    let mut unknown: Vec<&String> = names.iter().filter(|name| !registry.admits(name)).collect();
    unknown.dedup();
    if unknown.is_empty() {
        return None;
    }
    let more = unknown.len().saturating_sub(NAMED);
    let shown: Vec<String> = unknown.iter().take(NAMED).map(|name| quoted(name)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("not in the registry as {what}, so only counted: {}{more}", shown.join(", ")))
}

/// The profile with what it was made from.
fn account(adapted: &Adapted) -> String {
    let profile = &adapted.profile;
    let mut out = String::new();
    for (title, lines) in [
        ("instructions", &profile.instructions),
        ("constraints", &profile.constraints),
        ("examples", &profile.examples),
    ] {
        out.push_str(&format!("{}\n", styled(BOLD, title)));
        for line in lines {
            out.push_str(&format!("  - {line}\n"));
        }
        if lines.is_empty() {
            out.push_str(&format!("  {}\n", styled(DIM, "none")));
        }
    }
    let rules: Vec<&str> = adapted.rules.iter().copied().map(Rule::as_str).collect();
    out.push_str(&format!("\n{} {}\n", styled(BOLD, "rules:"), rules.join(", ")));
    out.push_str(&format!("{} {}\n", styled(BOLD, "signals:"), signals_in_words(adapted)));
    out
}

fn signals_in_words(adapted: &Adapted) -> String {
    let signals = &adapted.signals;
    let names = |names: &[String]| match names {
        [] => String::from("none"),
        names => names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
    };
    let yes = |is_so: bool| if is_so { "yes" } else { "no" };
    format!(
        "needs_retry {}, risk_tags {}, recent_failure_count {}, last_failure_subagents {}, time_sensitive {}, \
         compliance_required {}, preferred_format {}",
        yes(signals.needs_retry),
        names(&signals.risk_tags),
        signals.recent_failure_count,
        names(&signals.last_failure_subagents),
        yes(signals.time_sensitive),
        yes(signals.compliance_required),
        signals.preferred_format.map_or("none", Format::as_str)
    )
}
