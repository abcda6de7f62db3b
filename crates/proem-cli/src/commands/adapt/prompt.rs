//! `proem adapt PROMPT`: exactly what one prompt shows at the moment, and from which runs.

use std::process::ExitCode;

use proem_agents::adapt::{Lessons, TaughtBy};
use proem_engine::profile::{Baseline, Profile, ProfileRule, Signals};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_guard::show;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::Adapt;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, count_with_noun, style_text};
use proem_app::project::OpenProject;
use proem_app::records;
use proem_app::records::learning::{Adapting, FailureHistory, PromptLessons, taught_profile};

/// How many digits of a run are shown.
const DIGITS: usize = 8;

pub(super) fn run_adapt_prompt(args: &Adapt, name: &str, project: &OpenProject) -> Result<ExitCode, CommandFailure> {
    let prompt = project.book()?.prompt(name, None)?;
    let taught = crate::ui::print_notes_of(records::blocking(taught_profile(
        project,
        &prompt,
        &Adapting::default(),
        FailureHistory::Closed,
    ))?);
    if args.json {
        let output = PromptAdaptationOutput::new(name, &prompt, taught.as_ref());
        ui::print_json_document(&json::pretty(&json!(output)))?;
    } else {
        ui::print_listing(&lessons_account(name, taught.as_ref(), project.config.adapt.enabled))?;
        let notes = taught.iter().flat_map(|taught| &taught.adapted.notes);
        notes.for_each(|note| ui::print_note(&show::terminal_str(note).into_string()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The profile of a prompt. All but the first three are null if no profile is made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptAdaptationOutput<'l> {
    /// `agent/name`.
    prompt: &'l str,
    /// The number of its version in use.
    version: &'l str,
    /// Whether the prompt wants a profile even if nothing was learned.
    asks_for_profile: bool,
    #[serde(flatten)]
    shown: ShownProfile<'l>,
    /// The results that it was learned from. Null if nothing was learned.
    learned: Option<&'l Lessons>,
}

/// A profile with what it was made from.
#[derive(Debug, Serialize, JsonSchema)]
struct ShownProfile<'l> {
    /// The section as it is in a request.
    text: Option<String>,
    profile: Option<&'l Profile>,
    /// The rules that made it.
    rules: Option<&'l [ProfileRule]>,
    /// The signals that shaped it.
    signals: Option<&'l Signals>,
    notes: Option<&'l [String]>,
}

impl<'l> PromptAdaptationOutput<'l> {
    fn new(name: &'l str, prompt: &'l Prompt, taught: Option<&'l PromptLessons>) -> Self {
        let adapted = taught.map(|taught| &taught.adapted);
        Self {
            prompt: name,
            version: &prompt.id.version,
            asks_for_profile: prompt.file.strict.baseline == Baseline::Wanted,
            shown: ShownProfile {
                text: adapted.map(|adapted| adapted.profile.text()),
                profile: adapted.map(|adapted| &adapted.profile),
                rules: adapted.map(|adapted| adapted.rules.as_slice()),
                signals: adapted.map(|adapted| &adapted.signals),
                notes: adapted.map(|adapted| adapted.notes.as_slice()),
            },
            learned: taught.and_then(|taught| taught.lessons.as_ref()),
        }
    }
}

/// The section as it is in a request, and what put it there.
fn lessons_account(name: &str, taught: Option<&PromptLessons>, enabled: Option<bool>) -> String {
    let name = show::terminal_str(name);
    let Some(taught) = taught else {
        return format!("{name} gets no profile, because `adapt.enabled` is false; set it to true to use one\n");
    };
    let profile = &taught.adapted.profile;
    if profile.is_empty() && enabled != Some(true) {
        return format!(
            "{name} gets no profile: to learn from failures, set `adapt.enabled = true`; no preference is configured under \
             `[adapt]`\n"
        );
    }
    if profile.is_empty() {
        return format!(
            "{name} gets no profile: it has learned nothing, and no preference is configured under `[adapt]`\n"
        );
    }
    let mut out = format!("{}\n\n", style_text(BOLD, &format!("{name} adds this to every request")));
    for line in profile.text().lines() {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
    let rules: Vec<&str> = taught.adapted.rules.iter().copied().map(ProfileRule::as_str).collect();
    out.push_str(&format!("\n{} {}\n", style_text(BOLD, "rules:"), rules.join(", ")));
    if let Some(lessons) = &taught.lessons {
        out.push_str(&learned_results(lessons));
    }
    out
}

/// The results behind it.
fn learned_results(lessons: &Lessons) -> String {
    let (lines, results) =
        (count_with_noun(lessons.lines as u64, "line"), count_with_noun(lessons.results.len() as u64, "result"));
    let until = to_the_second(&lessons.until);
    let mut out = format!("{} {lines} from {results}, valid until {until}\n", style_text(BOLD, "learned:"));
    for TaughtBy { run, at, risks } in &lessons.results {
        let at = to_the_second(at);
        let run = run.as_deref().map_or("", |run| run.get(..DIGITS).unwrap_or(run));
        let why = if risks.is_empty() { "rated bad by a person".to_owned() } else { risks.join(", ") };
        out.push_str(&format!("  {run}  {at}  {}\n", show::terminal_str(&why)));
    }
    let forget = format!("  `proem failures clear --agent {}` clears it", show::terminal_str(&lessons.prompt));
    out.push_str(&format!("{}\n", style_text(DIM, &forget)));
    out
}

/// A moment of RFC 3339 without the part of its second.
fn to_the_second(moment: &str) -> String {
    moment.parse::<jiff::Timestamp>().map_or_else(|_| moment.to_owned(), |moment| format!("{moment:.0}"))
}
