//! `proem assemble`

use std::io::{IsTerminal as _, Read as _};
use std::num::NonZeroUsize;
use std::process::ExitCode;

use proem_agents::assemble::gathered::{Gathered, RuleText};
use proem_agents::assemble::output::{Extra, Output, output};
use proem_agents::assemble::{Assembled, PROMPT, Request, Task, assemble, text};
use proem_agents::screen::{Noted, Screening};
use proem_engine::cache::{CachePlan, plan};
use proem_engine::mode::{GitChanges, Hints, Interaction, Mode};
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::{Model, Provider, Providers};
use proem_engine::tokens::Counts;
use proem_guard::Untrusted;
use proem_runtime::{Environment, GatherOptions, gather, installation_key};
use proem_text::{Label, Source, json};
use serde_json::Value as Json;

use super::catalogue;
use super::explain::{Account, SelectionAccount, explain};
use super::selecting::Prepared;
use crate::args::{Assemble, Format, GitChangesArg, ModeArg};
use crate::failure::Failure;
use crate::guarding::{Guarding, tools};
use crate::places::Places;
use crate::project::{Project, Reading};
use crate::ui;

/// The longest task, in bytes; a longer one is a file, not a task.
const MAX_TASK_BYTES: u64 = 1024 * 1024;

pub(super) fn run(args: &Assemble) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    let mut project = Project::open(&args.root, &places, Reading::Trusted)?;
    let printed = print(args, &places, &mut project);
    // What was not trusted may be why it failed.
    project.say();
    match printed? {
        Printed::Explained(account) => ui::aside(&account),
        Printed::Short(notes) => notes.iter().for_each(|text| ui::note(text)),
    }
    Ok(ExitCode::SUCCESS)
}

/// What is left to say after the prompt is printed.
enum Printed {
    Explained(String),
    Short(Vec<String>),
}

fn print(args: &Assemble, places: &Places, project: &mut Project) -> Result<Printed, Failure> {
    let task = task(args)?;
    let prompt = project.book()?.prompt(PROMPT, args.prompt_version.as_deref())?;
    let providers = Providers::load()?;
    let format = if args.json { Format::Json } else { args.format };
    let model = model(&providers, project, &prompt, args, format)?;
    let mut options = GatherOptions::new(Environment::inherited());
    options.trusted = project.trusted_rules();
    let gathered = gather(&args.root, &options)?;
    let outside = gathered.rule_files.iter().filter(|file| matches!(file.text, RuleText::Outside(_)));
    outside.for_each(|file| project.distrust(file.name, "context for reference, not rules".into()));
    let key = installation_key(&places.key())?;
    let counter = model.counter();
    let mut counts = Counts::new(counter.as_ref());
    let prepared = Prepared::new(project, places, &task, &gathered)?;
    project.notes.extend(prepared.notes.iter().cloned());
    let guarding = Guarding::load(places, &tools(prepared.catalogue()))?;
    project.notes.extend(guarding.notes.iter().cloned());
    let (selecting, entries) = (prepared.selecting(), prepared.entries());
    let monolithic = project.baseline.as_deref().map(|baseline| counts.count(baseline));
    let request = Request {
        task: &task,
        gathered: &gathered,
        settings: &project.config.assemble,
        hints: hints(args),
        prompt: &prompt,
        key: &key,
        input_tokens: input_tokens(args, model, project, &prompt),
        monolithic,
        selecting: selecting.as_ref(),
        entries: entries.as_ref(),
        screening: Screening { guard: &guarding.guard, policy: &guarding.policy },
        mode_examples: prepared.mode_examples(),
    };
    let assembled = assemble(&request, &mut counts)?;
    let cache = plan(&assembled.assembly, model, counter.exactness());
    match format {
        Format::Text => ui::data(&text::text(&assembled.assembly))?,
        Format::Anthropic | Format::Openai => {
            let body = proem_llm::request(&assembled.assembly, model, &cache)?;
            ui::data(&format!("{}\n", json::pretty(&body)))?;
        }
        Format::Json => {
            let degraded = prepared.degraded.clone();
            let extra = Extra {
                degraded,
                embedding_calls: prepared.calls,
                catalogue_tokens: catalogue_tokens(&prepared),
                ..extra(project, &cache)?
            };
            ui::data(&as_json(output(&task, &gathered, &assembled, extra))?)?;
        }
    }
    if args.explain {
        let account = Account {
            assembled: &assembled,
            gathered: &gathered,
            model,
            cache: &cache,
            untrusted: &project.untrusted,
            selection: SelectionAccount {
                embedding_calls: prepared.calls,
                degraded: &prepared.degraded,
                catalogue_tokens: catalogue_tokens(&prepared),
            },
        };
        Ok(Printed::Explained(explain(&account)))
    } else {
        Ok(Printed::Short(shortfalls(&assembled, &gathered)))
    }
}

/// What is missing from the prompt, where nobody asked for the whole account.
fn shortfalls(assembled: &Assembled, gathered: &Gathered) -> Vec<String> {
    let cut = assembled.report.sections.iter().filter_map(|section| {
        let reason = section.reason.as_deref()?;
        (section.full_tokens > section.tokens).then(|| format!("`{}` {reason}", section.name))
    });
    let unknown = gathered.gaps.iter().map(|gap| format!("{}: {}", gap.what, gap.why));
    let guarded = assembled.noted.iter().map(Noted::in_words);
    unknown.chain(guarded).chain(cut).chain(assembled.left_out.iter().cloned()).collect()
}

fn extra(project: &Project, cache: &CachePlan) -> Result<Extra, Failure> {
    let mut plan = serde_json::to_value(cache).map_err(|e| Failure::bug("could not write JSON", e))?;
    if let Some(plan) = plan.as_object_mut() {
        plan.insert("sentence".into(), Json::String(cache.sentence()));
    }
    Ok(Extra {
        cache: Some(plan),
        untrusted_files: project.untrusted.clone(),
        notes: project.notes.clone(),
        ..Extra::default()
    })
}

fn as_json(out: Output) -> Result<String, Failure> {
    let json = serde_json::to_value(out).map_err(|e| Failure::bug("could not write JSON", e))?;
    Ok(format!("{}\n", json::pretty(&json)))
}

/// The tokens of all definitions in the catalogue: what a prompt with every tool would hold.
fn catalogue_tokens(prepared: &Prepared) -> Option<usize> {
    let entries = prepared.catalogue().entries();
    (!entries.is_empty())
        .then(|| entries.iter().fold(0_usize, |sum, entry| sum.saturating_add(catalogue::tokens(entry))))
}

fn task(args: &Assemble) -> Result<Task, Failure> {
    let text = if args.task == "-" {
        if std::io::stdin().is_terminal() {
            ui::note("reading the task from the terminal; end it with Ctrl-D");
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_TASK_BYTES.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| Failure::outside(format!("could not read the task from standard input: {e}")))?;
        String::from_utf8(bytes).map_err(|_| Failure::usage("the task on standard input is not UTF-8; convert it"))?
    } else {
        args.task.clone()
    };
    if text.len() as u64 > MAX_TASK_BYTES {
        return Err(Failure::usage(format!(
            "the task has more than {MAX_TASK_BYTES} bytes; name a file in it instead"
        )));
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("the task is empty; say what is to be done"));
    }
    Ok(if args.task_untrusted {
        Task::Outside(Untrusted::new(text, Label::from_source(Source::named("task"))))
    } else {
        Task::Caller(text)
    })
}

fn hints(args: &Assemble) -> Hints {
    Hints {
        explicit: match args.mode {
            ModeArg::Auto => None,
            ModeArg::Plan => Some(Mode::Plan),
            ModeArg::Act => Some(Mode::Act),
            ModeArg::Review => Some(Mode::Review),
        },
        interaction: if args.interactive { Interaction::Interactive } else { Interaction::Unknown },
        git_changes: match args.git_changes {
            GitChangesArg::Auto => GitChanges::Auto,
            GitChangesArg::Yes => GitChanges::Yes,
            GitChangesArg::No => GitChanges::No,
        },
        detected: None,
    }
}

/// The model that is asked for, configured, or named by the prompt; it must speak the format.
fn model<'p>(
    providers: &'p Providers,
    project: &Project,
    prompt: &Prompt,
    args: &Assemble,
    format: Format,
) -> Result<&'p Model, Failure> {
    let wanted = args.model.as_deref().or(project.config.model.as_deref());
    let wanted = wanted.or(prompt.file.header.model.as_deref()).unwrap_or("small");
    let model = providers.model(wanted)?;
    let provider = match format {
        Format::Anthropic => Provider::Anthropic,
        Format::Openai => Provider::OpenAi,
        Format::Text | Format::Json => return Ok(model),
    };
    if model.provider() == provider {
        return Ok(model);
    }
    let others: Vec<&str> = providers.models().filter(|m| m.provider() == provider).map(|m| m.name.as_str()).collect();
    let (format, own) = if format == Format::Anthropic { ("anthropic", "openai") } else { ("openai", "anthropic") };
    let role = if wanted == model.name { String::new() } else { format!(" is {}, which", model.name) };
    Err(Failure::usage(format!(
        "`{wanted}`{role} takes --format {own}; for --format {format} choose --model from {}",
        others.join(", ")
    )))
}

/// What fits: the command line's budget, and the model's window less the answer.
fn input_tokens(args: &Assemble, model: &Model, project: &Project, prompt: &Prompt) -> Option<usize> {
    let answer = project.config.assemble.output_tokens.or(prompt.file.strict.output_budget).unwrap_or(0);
    let window = model.context_tokens.map(NonZeroUsize::get).map(|tokens| tokens.saturating_sub(answer));
    match (args.budget, window) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
