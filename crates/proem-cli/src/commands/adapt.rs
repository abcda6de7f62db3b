//! `proem adapt`: the profile that a prompt shows, or that a history and signals give.

mod prompt;

use std::path::Path;
use std::process::ExitCode;

use proem_agents::adapt::quoted;
use proem_engine::profile::{Adaptation, Format, ProfileRule};

use crate::args::records::Adapt;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, styled};
use proem_app::adapt::{AdaptOptions, adapted, moment, text_from, text_of};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;
use proem_app::when;

pub(super) fn run(args: &Adapt) -> Result<ExitCode, CommandFailure> {
    let places = crate::places()?;
    let project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    ui::notes(&project.all_notes());
    if let Some(name) = &args.prompt {
        return prompt::run(args, name, &project);
    }
    let now = match &args.now {
        None => when::now(),
        Some(text) => moment(text).ok_or_else(|| {
            CommandFailure::usage(format!("`{text}` is not a time; write one such as 2026-11-22T10:00:00Z"))
        })?,
    };
    let files = [&args.history, &args.signals, &args.registry];
    if files.iter().filter(|file| file.as_deref() == Some(Path::new("-"))).count() > 1 {
        return Err(CommandFailure::usage(
            "standard input can be read only once; write `-` for one file, and name the others",
        ));
    }
    let options = AdaptOptions {
        history: args.history.clone(),
        signals: args.signals.clone(),
        registry: args.registry.clone(),
        agent: args.agent.clone(),
        now,
    };
    let read = |file: &Path| {
        if file == Path::new("-") { text_from(file, std::io::stdin().lock()) } else { text_of(file) }
    };
    let mut said = Vec::new();
    let adapted = records::blocking(adapted(&options, &project, &read, &mut said));
    ui::notes(&said);
    let adapted = adapted?;
    if args.json {
        // The members stand in the order in which the interface lists them.
        let json = serde_json::to_string_pretty(&adapted.value.profile)
            .map_err(|e| CommandFailure::bug("could not write JSON", e))?;
        ui::document(&json)?;
    } else {
        ui::listing(&account(&adapted.value))?;
    }
    ui::notes(&adapted.notes);
    Ok(ExitCode::SUCCESS)
}

/// The profile with what it was made from.
fn account(adapted: &Adaptation) -> String {
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
    let rules: Vec<&str> = adapted.rules.iter().copied().map(ProfileRule::as_str).collect();
    out.push_str(&format!("\n{} {}\n", styled(BOLD, "rules:"), rules.join(", ")));
    out.push_str(&format!("{} {}\n", styled(BOLD, "signals:"), signals_in_words(adapted)));
    out
}

fn signals_in_words(adapted: &Adaptation) -> String {
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
