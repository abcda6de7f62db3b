//! The output of `proem assemble --json`: a stable core and the full account beside it.

use std::collections::BTreeMap;

use proem_engine::report::Report;
use proem_engine::section::Layer;
use proem_guard::{Untrusted, show};
use proem_select::catalogue::{Approval, CatalogueEntryKind};
use proem_select::mode::Mode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::place_facts::{DiffStat, Gap, Git, GitHead, PlaceFacts};
use super::selecting::{CapabilityCandidate, CapabilitySelection};
use super::task_context::{FoundAccount, TaskContext};
use super::{AssemblyAccount, Task, memory};
use crate::screen::ScreeningNote;

/// The answer of `proem assemble --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssembleOutput {
    /// How the task is to be worked on.
    pub mode: Mode,
    /// Why it is that mode.
    pub mode_reason: String,
    /// The task as it was given.
    pub task: String,
    /// The tools that are named: base tools, sorted, then selected ones, the likeliest first.
    pub tools: Vec<String>,
    /// The skills that are named: default skills, sorted, then selected ones, the likeliest first.
    pub skills: Vec<String>,
    /// The selection. Null without a catalogue.
    pub selection: Option<SelectionOut>,
    /// The known facts about the place.
    pub context: ContextOut,
    /// The files found for the task in its repository. Null if nothing was searched.
    pub found: Option<FoundOut>,
    /// Sizes and counts.
    pub metrics: Metrics,
    /// Whether something was done with less than it needs, such as selection without embeddings.
    pub degraded: bool,
    /// Why. Empty if nothing was.
    pub degraded_reasons: Vec<String>,
    /// The parts left out as configured, such as tools over `max_tools`.
    pub left_out: Vec<String>,
    /// The deviations from the configuration, such as a file that is missing.
    pub notes: Vec<String>,
    /// The request, message by message.
    pub messages: Vec<MessageOut>,
    /// The account of every token.
    pub report: Report,
    /// The forecast of the provider's cache for this request. Null without a known model.
    pub cache: Option<Json>,
    /// Project files that this user has not approved, and what that changed.
    pub untrusted_files: Vec<UntrustedFile>,
    /// Texts from outside that the guard marked or kept out.
    pub guard: Vec<NotedOut>,
    /// The gaps and cuts.
    pub gaps: Vec<GapOut>,
}

/// A text from outside that the guard marked or kept out.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotedOut {
    /// The text's name, for messages.
    pub what: String,
    /// `flag`: it is in the prompt with a mark at each word. `quarantine` or `block`: it is not.
    pub verdict: String,
    /// The rules that decided, sorted. None if only the score did.
    pub rules: Vec<String>,
    /// How much of it is left, 0 to 1. Null if nothing was cut out of it.
    pub content_preserved_ratio: Option<f64>,
}

/// The known facts about the place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Context")]
pub struct ContextOut {
    /// The repository. Null outside one.
    pub git: Option<GitOut>,
    /// The machine and folder.
    pub env: Option<EnvOut>,
    /// How the repository says that it is built and tested.
    pub commands: Vec<CommandOut>,
    /// Its folders with counts.
    pub outline: Vec<String>,
    /// Remembered things that were put in, the nearest first, then the newest.
    pub memories: Vec<String>,
    /// Events that were put in, the nearest first, then the newest.
    pub activity: Vec<String>,
    /// Entries left out because their kind claims to instruct, or because the guard kept them out.
    pub filtered_count: usize,
    /// Entries that the guard finds suspicious, put in with marks or left out for another reason.
    pub flagged_count: usize,
    /// Entries left out because they have nothing to do with the task.
    pub unrelated_count: usize,
    /// Related entries left out by the cap.
    pub over_cap_count: usize,
}

/// A command of the repository's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandOut {
    /// `build`, `test`, `lint` or `format`.
    pub purpose: String,
    /// The shell command to run.
    pub command: String,
    /// The file and line that say it.
    pub place: String,
}

/// The files found for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundOut {
    /// Files, the likeliest first, those too that are not in the prompt.
    pub files: Vec<FoundFileOut>,
    /// The change that the task is about. Null if it is about none.
    pub change: Option<FoundChangeOut>,
    /// Commits about the same.
    pub commits: Vec<String>,
    /// The gaps and cuts.
    pub gaps: Vec<GapOut>,
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundFileOut {
    /// Its path below the root.
    pub path: String,
    /// How likely the task needs it, in percent.
    pub likely: u8,
    /// Its subject.
    pub kind: String,
    /// The evidence for it.
    pub why: String,
    /// How much of it is in the prompt: `full`, `parts`, `excerpt`, `outline` or `named`. Null if it is not.
    pub shown: Option<String>,
    /// The most that could have been.
    pub offered: String,
    /// Why it is less. Null if it isn't.
    pub reason: Option<String>,
}

/// The change that a task is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundChangeOut {
    /// Its subject.
    pub of: String,
    /// Its files' paths.
    pub files: Vec<String>,
}

/// The repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitOut {
    /// The branch's name. Empty when none is checked out.
    pub branch: String,
    /// The uncommitted changes, in one line. Says so if they are unknown.
    pub summary: String,
}

/// The machine and folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvOut {
    /// The folder that the prompt is for.
    pub cwd: String,
    /// The operating system.
    pub os: String,
}

/// Sizes and counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// The request's tokens. The report says how they were counted.
    pub estimated_tokens: usize,
    /// Calls of an embedding model for this assembly: one for a new task, none for a known one.
    pub embedding_calls: usize,
    /// Tokens of all definitions in the catalogue. Null if they were not counted.
    pub catalogue_tokens: Option<usize>,
    /// Tokens of the sections that name tools and skills.
    pub capability_tokens: usize,
}

/// The selection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectionOut {
    /// Entries of the catalogue.
    pub entries: usize,
    /// Whether nothing of it fits the task.
    pub abstained: bool,
    /// The probability below which an entry doesn't fit.
    pub threshold: f64,
    /// Chosen entries and the best of the others, the likeliest first.
    pub candidates: Vec<CandidateOut>,
}

/// One entry that selection looked at.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateOut {
    /// Its name.
    pub name: String,
    /// `tool` or `skill`.
    pub kind: String,
    /// Whether a person approved its definition.
    pub approved: bool,
    /// How likely the task needs it, 0 to 1.
    pub score: f64,
    /// Whether it is named in the prompt.
    pub chosen: bool,
    /// Why not. Null if it is.
    pub reason: Option<String>,
    /// The task's words that it has too, the most telling first.
    pub words: Vec<String>,
    /// The example of its own that is nearest. Null without one.
    pub example: Option<String>,
    /// Each kind of evidence, 0 to about 1.
    pub evidence: BTreeMap<String, f64>,
}

/// One message of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageOut {
    /// The speaker.
    pub role: String,
    /// Its sections in order.
    pub sections: Vec<SectionOut>,
}

/// One section of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionOut {
    /// Its name in the prompt file.
    pub name: String,
    /// Its text. Text from outside stands contained in it.
    pub text: String,
}

/// A project file that this user has not approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UntrustedFile {
    /// Its path, relative to the repository's root.
    pub path: String,
    /// The effect of its being untrusted.
    pub effect: String,
}

/// Something that could not be found out, or was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GapOut {
    /// The missing part.
    pub what: String,
    /// Why, and what to do about it.
    pub why: String,
    /// The path or text it concerns. Null if it concerns none.
    pub about: Option<String>,
}

/// Facts that only the caller knows.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// The forecast of the provider's cache for the request, as JSON. `None` without a plan.
    pub cache: Option<Json>,
    /// Project files that this user has not approved.
    pub untrusted_files: Vec<UntrustedFile>,
    /// The deviations from the configuration, such as a file that is missing.
    pub notes: Vec<String>,
    /// Why something was done with less than it needs.
    pub degraded: Vec<String>,
    /// Calls of an embedding model for this assembly.
    pub embedding_calls: usize,
    /// Tokens of all definitions in the catalogue.
    pub catalogue_tokens: Option<usize>,
    /// The files found for the task.
    pub found: Option<TaskContext>,
}

/// Puts an assembly into its JSON form.
#[must_use]
pub fn assemble_output(
    task: &Task,
    gathered: &PlaceFacts,
    assembled: &AssemblyAccount,
    extra: Extra,
) -> AssembleOutput {
    let exact = |text: &Untrusted<String>| match show::exact_json(text) {
        Json::String(text) => text,
        other => other.to_string(),
    };
    let (memories, activity) = (&assembled.memories, &assembled.activity);
    let mut messages: Vec<MessageOut> = Vec::new();
    for section in &assembled.assembly.sections {
        let out = SectionOut { name: section.name.clone(), text: section.text.clone() };
        match messages.last_mut().filter(|message| message.role == section.role.as_str()) {
            Some(message) => message.sections.push(out),
            None => messages.push(MessageOut { role: section.role.as_str().into(), sections: vec![out] }),
        }
    }
    let degraded = degraded_reasons(assembled, &extra.degraded);
    let named = |base: &[String], kind: CatalogueEntryKind| -> Vec<String> {
        let chosen = assembled.selected.iter().flat_map(|selected| selected.chosen(kind)).map(str::to_owned);
        base.iter().cloned().chain(chosen).collect()
    };
    AssembleOutput {
        mode: assembled.mode.mode,
        mode_reason: assembled.mode.reason.clone(),
        task: match task {
            Task::Caller(text) => text.clone(),
            Task::Outside(text) => exact(text),
        },
        tools: named(&assembled.tools, CatalogueEntryKind::Tool),
        skills: named(&assembled.skills, CatalogueEntryKind::Skill),
        selection: assembled.selected.as_ref().map(|selected| selection_output(selected, &exact)),
        context: ContextOut {
            git: gathered.git.as_ref().map(|git| GitOut { branch: branch(git, exact), summary: git_summary(git) }),
            env: Some(EnvOut { cwd: exact(&gathered.env.cwd), os: gathered.env.os.clone() }),
            commands: gathered
                .commands
                .iter()
                .map(|fact| CommandOut {
                    purpose: fact.purpose.as_str().to_owned(),
                    command: exact(&fact.command),
                    place: exact(&fact.place),
                })
                .collect(),
            outline: gathered.outline.iter().map(exact).collect(),
            memories: memories.kept.iter().map(|kept| exact(&kept.text)).collect(),
            activity: activity.kept.iter().map(|kept| exact(&kept.text)).collect(),
            filtered_count: filtered_memories(memories).saturating_add(filtered_memories(activity)),
            flagged_count: memories.flagged.saturating_add(activity.flagged),
            unrelated_count: memories.unrelated.saturating_add(activity.unrelated),
            over_cap_count: memories.over.saturating_add(activity.over),
        },
        found: extra.found.as_ref().map(|context| found_output(context, &assembled.found, &exact)),
        metrics: Metrics {
            estimated_tokens: assembled.report.totals.tokens,
            embedding_calls: extra.embedding_calls,
            catalogue_tokens: extra.catalogue_tokens,
            capability_tokens: capability_tokens(assembled),
        },
        degraded: !degraded.is_empty(),
        degraded_reasons: degraded,
        left_out: assembled.left_out.clone(),
        notes: extra.notes,
        messages,
        report: assembled.report.clone(),
        cache: extra.cache,
        untrusted_files: extra.untrusted_files,
        guard: assembled.noted.iter().map(noted_output).collect(),
        gaps: gap_outputs(&gathered.gaps, &exact),
    }
}

fn gap_outputs(gaps: &[Gap], exact: &impl Fn(&Untrusted<String>) -> String) -> Vec<GapOut> {
    let gap = |gap: &Gap| GapOut { what: gap.what.clone(), why: gap.why.clone(), about: gap.about.as_ref().map(exact) };
    gaps.iter().map(gap).collect()
}

fn found_output(
    context: &TaskContext,
    accounts: &[FoundAccount],
    exact: &impl Fn(&Untrusted<String>) -> String,
) -> FoundOut {
    let files = context.files.iter().enumerate().map(|(index, file)| {
        let account = accounts.iter().find(|account| account.index == index);
        FoundFileOut {
            path: exact(&file.path),
            likely: file.likely,
            kind: file.kind.to_owned(),
            why: exact(&file.why()),
            shown: account.and_then(|account| account.shown).map(|rung| rung.as_str().to_owned()),
            offered: account.map_or("omitted", |account| account.offered.as_str()).to_owned(),
            reason: account.and_then(|account| account.reason).map(str::to_owned),
        }
    });
    FoundOut {
        files: files.collect(),
        change: context.change.as_ref().map(|change| FoundChangeOut {
            of: change.of.clone(),
            files: change.files.iter().map(|file| exact(&file.path)).collect(),
        }),
        commits: context.commits.iter().map(exact).collect(),
        gaps: gap_outputs(&context.gaps, exact),
    }
}

/// Entries that stay out for what they say or claim to be.
const fn filtered_memories(selected: &memory::MemorySelection) -> usize {
    selected.instructing.saturating_add(selected.withheld)
}

fn noted_output(noted: &ScreeningNote) -> NotedOut {
    NotedOut {
        what: noted.what.clone(),
        verdict: noted.verdict.as_str().to_owned(),
        rules: noted.rules.iter().map(|rule| (*rule).to_owned()).collect(),
        content_preserved_ratio: noted.preserved,
    }
}

/// Why something was done with less than it needs. Empty if nothing was.
#[must_use]
pub fn degraded_reasons(assembled: &AssemblyAccount, known: &[String]) -> Vec<String> {
    let mut reasons = known.to_vec();
    reasons.extend(assembled.selected.as_ref().and_then(|selected| selected.degraded.clone()));
    let without = assembled.memories.without_vector.saturating_add(assembled.activity.without_vector);
    if without > 0 {
        let s = if without == 1 { "entry has" } else { "entries have" };
        reasons.push(format!("{without} {s} no stored vector, so shared words were compared instead"));
    }
    reasons.dedup();
    reasons
}

/// The tokens of the sections that name tools and skills.
#[must_use]
pub fn capability_tokens(assembled: &AssemblyAccount) -> usize {
    let sections = assembled.assembly.sections.iter().filter(|section| section.layer == Layer::Capabilities);
    sections.fold(0, |sum, section| sum.saturating_add(section.tokens))
}

fn selection_output(selected: &CapabilitySelection, exact: &impl Fn(&Untrusted<String>) -> String) -> SelectionOut {
    let candidate = |candidate: &CapabilityCandidate| CandidateOut {
        name: candidate.name.clone(),
        kind: candidate.kind.as_str().to_owned(),
        approved: candidate.approval == Approval::Approved,
        score: four_digits(candidate.score),
        chosen: candidate.cut.is_none(),
        reason: candidate.cut.map(|reason| reason.in_words().to_owned()),
        words: candidate.words.clone(),
        example: candidate.example.as_ref().map(exact),
        evidence: candidate.evidence.iter().map(|(name, value)| ((*name).to_owned(), four_digits(*value))).collect(),
    };
    SelectionOut {
        entries: selected.entries,
        abstained: selected.abstained,
        threshold: four_digits(selected.threshold),
        candidates: selected.candidates.iter().map(candidate).collect(),
    }
}

/// Four digits, which is more than a score can tell.
fn four_digits(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

fn branch(git: &Git, exact: impl Fn(&Untrusted<String>) -> String) -> String {
    match &git.head {
        GitHead::Branch(name) | GitHead::Unborn(name) => exact(name),
        GitHead::Detached => String::new(),
    }
}

/// `2 files changed` with what is not known said.
fn git_summary(git: &Git) -> String {
    let Some(tree) = &git.work_tree else { return "a bare repository".into() };
    let part = |name: &str, stat: Option<DiffStat>| match stat {
        Some(stat) if stat.files == 0 => None,
        Some(stat) => Some(format!("{} {name}", count_of_files(stat.files))),
        None => Some(format!("{name}: unknown")),
    };
    let untracked = match tree.untracked {
        Some(0) => None,
        Some(n) => Some(format!("{} untracked", count_of_files(n))),
        None => Some("untracked: unknown".to_owned()),
    };
    let parts: Vec<String> =
        [part("staged", tree.staged), part("changed", tree.unstaged), untracked].into_iter().flatten().collect();
    if parts.is_empty() { "no changes".into() } else { parts.join(", ") }
}

fn count_of_files(n: u64) -> String {
    format!("{n} file{}", if n == 1 { "" } else { "s" })
}
