//! `proem assemble`

use std::io::{IsTerminal as _, Read as _};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use proem_agents::adapt::Lessons;
use proem_agents::assemble::gathered::{Gathered, RuleText};
use proem_agents::assemble::output::{Extra, Output, capability_tokens, degraded, output};
use proem_agents::assemble::{Assembled, PROMPT, Request, Task, assemble, text};
use proem_agents::screen::{Noted, Screening};
use proem_engine::cache::{CachePlan, plan};
use proem_engine::profile::Profiles;
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::{Model, Provider, Providers};
use proem_engine::tokens::Counts;
use proem_engine::versions::Versions;
use proem_guard::{Untrusted, Verdict};
use proem_runtime::records::{Start, assembled as recorded_assembly};
use proem_runtime::{Environment, GatherOptions, gather, installation_key};
use proem_select::mode::{Basis, GitChanges, Hints, Interaction, Mode};
use proem_store::record::Numbers;
use proem_text::json as text_json;
use proem_text::{Label, Source};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::catalogue;
use super::explain::{Account, SelectionAccount, explain};
use super::run::made::of_assembly;
use super::run::output::ProfileOut;
use crate::args::{Assemble, Format, GitChangesArg, ModeArg};
use crate::failure::Failure;
use crate::hints;
use crate::ui;
use proem_app::calling;
use proem_app::factors::Factors;
use proem_app::guarding::{Guarding, tools};
use proem_app::places::Places;
use proem_app::project::{Project, Reading};
use proem_app::records;
use proem_app::records::learning::{Taught, taught};
use proem_app::records::writing::{Asking, Record, Writing};
use proem_app::selecting::Prepared;

/// How a person chooses another mode than the one that nothing chose.
pub(super) const OTHERWISE: &str = "choose another mode with --mode act or --mode review";

/// The longest task, in bytes; a longer one is a file, not a task.
const MAX_TASK_BYTES: u64 = 1024 * 1024;

pub(super) fn run(args: &Assemble) -> Result<ExitCode, Failure> {
    let places = crate::places()?;
    let mut project = Project::open(&args.root, &places, Reading::Trusted)?;
    let printed = print(args, &places, &mut project);
    // What was not trusted may be why it failed.
    ui::notes(&project.all_notes());
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
    let (mut model, role) = model(&providers, project, &prompt, args, format)?;
    Factors::load(places)?.apply(&mut model);
    let model = &model;
    let mut options = GatherOptions::new(Environment::inherited());
    options.trusted = project.trusted_rules();
    options.set_up = project.set_up();
    options.limits = options.limits.with_git(project.config.git.limits());
    let gathered = gather(&args.root, &options)?;
    let runtime = records::runtime()?;
    let (records, taught) = runtime.block_on(begin(args, places, project, &prompt))?;
    let outside = gathered.rule_files.iter().filter(|file| matches!(file.text, RuleText::Outside(_)));
    outside.for_each(|file| project.distrust(file.name, "used as reference, not as instructions".into()));
    let key = installation_key(&places.key())?;
    let counter = model.counter();
    let mut counts = Counts::new(counter.as_ref());
    let hints = hints(args);
    let prepared = Prepared::new(project, places, (&task, &hints), &gathered)?;
    project.notes.extend(prepared.notes.iter().cloned());
    let guarding = Guarding::load(places, &tools(prepared.catalogue()))?;
    project.notes.extend(guarding.notes.iter().cloned());
    let (selecting, entries) = (prepared.selecting(), prepared.entries());
    let monolithic = project.baseline.as_deref().map(|baseline| counts.count(baseline));
    let request = Request {
        task: &task,
        gathered: &gathered,
        settings: &project.config.assemble,
        hints,
        prompt: &prompt,
        key: &key,
        input_tokens: input_tokens(args, model, project, &prompt),
        monolithic,
        profile: taught.as_ref().map(|taught| &taught.adapted.profile),
        selecting: selecting.as_ref(),
        entries: entries.as_ref(),
        screening: Screening { guard: &guarding.guard, policy: &guarding.policy },
        mode_examples: prepared.mode_examples(),
    };
    let began = Instant::now();
    let assembled = assemble(&request, &mut counts)?;
    let took = began.elapsed();
    let cache = plan(&assembled.assembly, model, counter.exactness());
    let answer = Answer {
        task: &task,
        gathered: &gathered,
        assembled: &assembled,
        model,
        cache: &cache,
        prepared: &prepared,
        taught: taught.as_ref(),
    };
    put(format, project, &answer)?;
    if let Some(records) = records {
        let written = Written { prompt: &prompt, role: &role, guard: &guarding, answer: &answer, took };
        runtime.block_on(write(args, (places, project), records, &written));
    }
    if args.explain {
        let account = Account {
            assembled: &assembled,
            gathered: &gathered,
            model,
            cache: &cache,
            untrusted: &project.untrusted,
            adapted: taught.as_ref().map(|taught| &taught.adapted),
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

/// An assembly with what it was made from.
struct Answer<'a> {
    task: &'a Task,
    gathered: &'a Gathered,
    assembled: &'a Assembled,
    model: &'a Model,
    cache: &'a CachePlan,
    prepared: &'a Prepared,
    taught: Option<&'a Taught>,
}

/// Prints the prompt.
fn put(format: Format, project: &Project, answer: &Answer<'_>) -> Result<(), Failure> {
    let Answer { assembled, prepared, .. } = answer;
    match format {
        Format::Text => ui::data(&text::text(&assembled.assembly)),
        Format::Anthropic | Format::Openai => {
            let body = proem_llm::request(&assembled.assembly, answer.model, answer.cache)?;
            ui::document(&text_json::pretty(&body))
        }
        Format::Json => {
            let extra = Extra {
                degraded: prepared.degraded.clone(),
                embedding_calls: prepared.calls,
                catalogue_tokens: catalogue_tokens(prepared),
                ..extra(project, answer.cache)?
            };
            let output = output(answer.task, answer.gathered, assembled, extra);
            let profile = answer.taught.and_then(Taught::shown).map(Into::into);
            let learned = answer.taught.and_then(|taught| taught.lessons.clone());
            ui::document(&as_json(WithProfile { output, profile, learned })?)
        }
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
    let mode = &assembled.mode;
    let open =
        (mode.basis == Basis::Default).then(|| format!("mode {}: {}; {}", mode.mode.as_str(), mode.reason, OTHERWISE));
    open.into_iter().chain(unknown).chain(guarded).chain(cut).chain(assembled.left_out.iter().cloned()).collect()
}

fn extra(project: &Project, cache: &CachePlan) -> Result<Extra, Failure> {
    let mut plan = serde_json::to_value(cache).map_err(|e| Failure::bug("could not write JSON", e))?;
    if let Some(plan) = plan.as_object_mut() {
        plan.insert("sentence".into(), Json::String(cache.sentence()));
    }
    Ok(Extra {
        cache: Some(plan),
        untrusted_files: project.untrusted.clone(),
        notes: project.notes.iter().map(hints::of_note).collect(),
        ..Extra::default()
    })
}

/// What `--json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WithProfile {
    #[serde(flatten)]
    output: Output,
    /// What the prompt shows of what was learned and is wished for; absent where it shows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileOut>,
    /// What of that was learned, and from which results; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    learned: Option<Lessons>,
}

/// Opens the records, and looks up what the prompt learned.
async fn begin(
    args: &Assemble,
    places: &Places,
    project: &Project,
    prompt: &Prompt,
) -> Result<(Option<Writing>, Option<Taught>), Failure> {
    let record = if args.no_record { Record::No } else { Record::AsConfigured };
    // Nothing is spent, so no cap binds; texts are sent where a provider embeds them.
    let asking = project.config.embedding.provider.is_some().then(Asking::free);
    let records = crate::ui::tell(Writing::begin(places, project, record, asking).await?);
    let history = Writing::history(records.as_ref(), record, project);
    let taught = crate::ui::tell(taught((places, project), prompt, &args.wishes.adapting(), history).await?);
    if let Some(taught) = &taught {
        crate::ui::notes(&taught.said);
    }
    Ok((records, taught))
}

/// What is written down of an assembly.
struct Written<'w> {
    prompt: &'w Prompt,
    role: &'w str,
    guard: &'w Guarding,
    answer: &'w Answer<'w>,
    took: Duration,
}

/// Records an assembly; that it could not be is only noted, since nothing depends on it.
async fn write(args: &Assemble, (places, project): (&Places, &Project), records: Writing, written: &Written<'_>) {
    if let Err(failure) = kept(args, project, &records, written).await {
        ui::note(&format!("the assembly is not recorded: {failure}"));
    }
    crate::ui::notes(&records.end(places).await);
}

async fn kept(args: &Assemble, project: &Project, records: &Writing, written: &Written<'_>) -> Result<(), Failure> {
    let Answer { assembled, model, prepared, taught, .. } = written.answer;
    let noted = |least| assembled.noted.iter().filter(|noted| noted.verdict >= least).count() as u64;
    let numbers = Numbers {
        took_ms: u64::try_from(written.took.as_millis()).ok(),
        assembled_us: u64::try_from(written.took.as_micros()).ok(),
        embedding_calls: u64::try_from(prepared.calls).ok(),
        scanned: u64::try_from(assembled.scanned).ok(),
        threats: Some(noted(Verdict::Flag)),
        filtered: Some(noted(Verdict::Quarantine)),
        degraded: !degraded(assembled, &prepared.degraded).is_empty(),
        ..Numbers::default()
    };
    let start = Start {
        id: Writing::id()?,
        parent: None,
        kind: "assemble",
        prompt: &written.prompt.id,
        role: written.role,
        model: &model.name,
        endpoint: "",
        line: None,
        files: &of_assembly(&project.book()?, written.prompt, &written.guard.files),
        inputs: &json!({ "task": args.task }).into(),
        settings: &json!({
            "proem": env!("CARGO_PKG_VERSION"),
            "versions": Versions::TODAY,
            "mode": assembled.mode.mode.as_str(),
        }),
        policy: &written.guard.rules,
        profiles: taught.map(|taught| Profiles::Same(taught.adapted.profile.clone())),
        report: Some(&assembled.report),
        monolithic_tokens: monolithic(assembled, prepared),
        steps: 0,
    };
    let finish = recorded_assembly(&records.kept(), &start, &assembled.assembly, numbers);
    match finish {
        Some(finish) => Ok(records.store().finish(finish).await?),
        None => Ok(()),
    }
}

fn as_json(out: WithProfile) -> Result<String, Failure> {
    let json = serde_json::to_value(out).map_err(|e| Failure::bug("could not write JSON", e))?;
    Ok(text_json::pretty(&json))
}

/// The tokens of the prompt that lists everything: of the one that Proem's replaces, or of this one with
/// every definition of the catalogue in the place of what was chosen.
fn monolithic(assembled: &Assembled, prepared: &Prepared) -> Option<u64> {
    let totals = &assembled.report.totals;
    let all = totals.monolithic.or_else(|| {
        let rest = totals.tokens.saturating_sub(capability_tokens(assembled));
        Some(rest.saturating_add(catalogue_tokens(prepared)?))
    });
    u64::try_from(all?).ok()
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
            "the task has more than {MAX_TASK_BYTES} bytes; put the details into a file and refer to it in the task"
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
    }
}

/// The model that the prompt is counted, planned and encoded for, with what it was called; it must speak
/// the format.
fn model(
    providers: &Providers,
    project: &Project,
    prompt: &Prompt,
    args: &Assemble,
    format: Format,
) -> Result<(Model, String), Failure> {
    let wanted = calling::WantedModel {
        model: args.model.as_deref(),
        provider: args.provider.as_deref(),
        prompt: prompt.file.header.model.as_deref(),
    };
    let role = wanted.name(&project.config).to_owned();
    // Nothing is sent, so a missing key doesn't matter.
    let model = calling::ask(&project.config, providers, &wanted, &Environment::inherited())?.model;
    let provider = match format {
        Format::Anthropic => Provider::Anthropic,
        Format::Openai => Provider::OpenAi,
        Format::Text | Format::Json => return Ok((model, role)),
    };
    if model.provider() == provider {
        return Ok((model, role));
    }
    let others: Vec<&str> = providers.models().filter(|m| m.provider() == provider).map(|m| m.name.as_str()).collect();
    let (format, own) = if format == Format::Anthropic { ("anthropic", "openai") } else { ("openai", "anthropic") };
    let says_it = role == model.name || role.ends_with(&format!("/{}", model.name));
    let name = if says_it { String::new() } else { format!(" is {}, which", model.name) };
    Err(Failure::usage(format!(
        "`{role}`{name} needs --format {own}; for --format {format} choose --model from {}, or a model of your own \
         server as PROVIDER/MODEL",
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
