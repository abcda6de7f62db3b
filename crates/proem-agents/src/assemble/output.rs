//! What `proem assemble --json` prints: a stable core and the full account beside it.

use proem_engine::mode::Mode;
use proem_engine::report::Report;
use proem_guard::{Untrusted, show};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::gathered::{DiffStat, Gathered, Git, Head};
use super::{Assembled, Task};

/// The answer of `proem assemble --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// How the task is to be worked on.
    pub mode: Mode,
    /// Why it is that mode.
    pub mode_reason: String,
    /// The task as it was given.
    pub task: String,
    /// The tools that are named, sorted.
    pub tools: Vec<String>,
    /// The skills that are named, sorted.
    pub skills: Vec<String>,
    /// What is known about the place.
    pub context: Context,
    /// Sizes and counts.
    pub metrics: Metrics,
    /// Whether something was done with less than it needs, such as selection without embeddings.
    pub degraded: bool,
    /// Why.
    pub degraded_reasons: Vec<String>,
    /// The request, message by message.
    pub messages: Vec<MessageOut>,
    /// The account of every token.
    pub report: Report,
    /// What the provider's cache can do with this request; null without a known model.
    pub cache: Option<Json>,
    /// Project files that this user has not approved, and what that changed.
    pub untrusted_files: Vec<UntrustedFile>,
    /// What could not be found out or was cut.
    pub gaps: Vec<GapOut>,
}

/// What is known about the place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The repository; null outside one.
    pub git: Option<GitOut>,
    /// The machine and folder.
    pub env: Option<EnvOut>,
    /// Remembered things that were put in, newest first.
    pub memories: Vec<String>,
    /// Events that were put in, newest first.
    pub activity: Vec<String>,
    /// Entries left out because their kind claims to instruct.
    pub filtered_count: usize,
    /// Entries left out because they share no word with the task.
    pub unrelated_count: usize,
    /// Related entries left out by the cap.
    pub over_cap_count: usize,
}

/// The repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitOut {
    /// The branch's name; empty when none is checked out.
    pub branch: String,
    /// What is uncommitted, in one line; says so where it is unknown.
    pub summary: String,
}

/// The machine and folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvOut {
    /// The folder.
    pub cwd: String,
    /// The operating system.
    pub os: String,
}

/// Sizes and counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// The request's tokens; the report says how they were counted.
    pub estimated_tokens: usize,
    /// Calls of an embedding model for this assembly.
    pub embedding_calls: usize,
}

/// One message of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageOut {
    /// Whose words it holds.
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
    /// Its text; text from outside stands contained in it.
    pub text: String,
}

/// A project file that this user has not approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UntrustedFile {
    /// Its path, relative to the repository's root.
    pub path: String,
    /// What its being untrusted changed.
    pub effect: String,
}

/// Something that could not be found out, or was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GapOut {
    /// What is missing.
    pub what: String,
    /// Why, and what to do about it.
    pub why: String,
    /// The path or text it concerns; null if it concerns none.
    pub about: Option<String>,
}

/// What only the caller knows.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// The cache plan.
    pub cache: Option<Json>,
    /// Project files that this user has not approved.
    pub untrusted_files: Vec<UntrustedFile>,
    /// What was done otherwise than configured, such as a file that is missing.
    pub notes: Vec<String>,
}

/// Puts an assembly into its JSON form.
#[must_use]
pub fn output(task: &Task, gathered: &Gathered, assembled: &Assembled, extra: Extra) -> Output {
    let exact = |text: &Untrusted<String>| match show::json(text) {
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
    let mut reasons = vec!["no embedding model: memories and events are picked by shared words".to_owned()];
    reasons.extend(assembled.left_out.iter().cloned());
    reasons.extend(extra.notes);
    Output {
        mode: assembled.mode.mode,
        mode_reason: assembled.mode.reason.clone(),
        task: match task {
            Task::Caller(text) => text.clone(),
            Task::Outside(text) => exact(text),
        },
        tools: assembled.tools.clone(),
        skills: assembled.skills.clone(),
        context: Context {
            git: gathered.git.as_ref().map(|git| GitOut { branch: branch(git, exact), summary: git_summary(git) }),
            env: Some(EnvOut { cwd: exact(&gathered.env.cwd), os: gathered.env.os.clone() }),
            memories: memories.kept.iter().map(exact).collect(),
            activity: activity.kept.iter().map(exact).collect(),
            filtered_count: memories.instructing.saturating_add(activity.instructing),
            unrelated_count: memories.unrelated.saturating_add(activity.unrelated),
            over_cap_count: memories.over.saturating_add(activity.over),
        },
        metrics: Metrics { estimated_tokens: assembled.report.totals.tokens, embedding_calls: 0 },
        degraded: true,
        degraded_reasons: reasons,
        messages,
        report: assembled.report.clone(),
        cache: extra.cache,
        untrusted_files: extra.untrusted_files,
        gaps: gathered
            .gaps
            .iter()
            .map(|gap| GapOut { what: gap.what.clone(), why: gap.why.clone(), about: gap.about.as_ref().map(exact) })
            .collect(),
    }
}

fn branch(git: &Git, exact: impl Fn(&Untrusted<String>) -> String) -> String {
    match &git.head {
        Head::Branch(name) | Head::Unborn(name) => exact(name),
        Head::Detached => String::new(),
    }
}

/// `2 files changed` with what is not known said.
fn git_summary(git: &Git) -> String {
    let Some(tree) = &git.work_tree else { return "a bare repository".into() };
    let part = |name: &str, stat: Option<DiffStat>| match stat {
        Some(stat) if stat.files == 0 => None,
        Some(stat) => Some(format!("{} {name}", files(stat.files))),
        None => Some(format!("{name}: unknown")),
    };
    let untracked = match tree.untracked {
        Some(0) => None,
        Some(n) => Some(format!("{} untracked", files(n))),
        None => Some("untracked: unknown".to_owned()),
    };
    let parts: Vec<String> =
        [part("staged", tree.staged), part("changed", tree.unstaged), untracked].into_iter().flatten().collect();
    if parts.is_empty() { "no changes".into() } else { parts.join(", ") }
}

fn files(n: u64) -> String {
    format!("{n} file{}", if n == 1 { "" } else { "s" })
}
