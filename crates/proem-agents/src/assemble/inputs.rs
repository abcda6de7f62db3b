//! Turns what is known into the prompt's inputs.

use std::collections::BTreeSet;

use proem_engine::input::Inputs;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_guard::{LabelTree, Untrusted};
use proem_select::mode::Mode;
use proem_text::character::{is_control, is_line_break};
use proem_text::{Label, Source};

use super::memory::{MemorySelection, PickedMemory, memory_line};
use super::place_facts::{ChangedPath, DiffStat, Git, GitHead, PlaceFacts, RuleFile, RuleText};
use super::places::{REQUEST, TaskPlace};
use super::rule_names::RULE_FILES;
use super::task_context::{Offers, TaskContext, rule_items};
use super::{AssemblyRequest, Task, rule_text, selecting};
use crate::screen::Screen;

/// Digits of a commit's id that are shown.
const SHORT_COMMIT: usize = 12;

/// The inputs that selection fills.
pub(super) const SELECTION: [&str; 4] = ["core", "selected", "found", "nothing_fits"];

/// The inputs that hold what was found for a task, and what is known of a repository beside its state.
const CONTEXT: [&str; 10] = [
    "commands",
    "outline",
    "nearer_rules",
    "folder_rules",
    "rule_sections",
    "diff_of",
    "diff",
    "code",
    "commits",
    "rule_files",
];

/// Whether a prompt has a place for what was found for a task.
pub(super) fn knows_context(prompt: &Prompt) -> bool {
    CONTEXT.iter().all(|name| prompt.file.has_input(name))
}

/// Whether a prompt has a place for selected tools and skills.
pub(super) fn knows_selection(prompt: &Prompt) -> bool {
    SELECTION.iter().all(|name| prompt.file.has_input(name))
}

/// The capabilities named in the prompt.
pub(super) struct PromptCapabilities<'a> {
    /// Base tools of the mode, sorted.
    pub(super) tools: &'a [String],
    /// Default skills of the mode, sorted.
    pub(super) skills: &'a [String],
    /// The capabilities that selection adds.
    pub(super) selected: Option<&'a selecting::CapabilitySelection>,
}

/// The files found for the task, as far as they may be shown.
pub(super) struct PromptContext<'a> {
    /// The files. `None` if nothing was searched.
    pub(super) found: Option<&'a TaskContext>,
    /// The offers that the guard cleared.
    pub(super) offers: &'a Offers,
    /// The file of each section of rule files that bears on the task.
    pub(super) rule_sections: &'a [usize],
    /// The items of the section `code`.
    pub(super) files: Vec<LabelTree>,
}

pub(super) struct PromptMemories<'a> {
    /// Facts that bear on the task.
    pub(super) memories: &'a MemorySelection,
    /// Events that bear on it.
    pub(super) activity: &'a MemorySelection,
}

pub(super) fn assembly_request_inputs(
    request: &AssemblyRequest<'_>,
    mode: Mode,
    named: &PromptCapabilities<'_>,
    (remembered, context): (&PromptMemories<'_>, PromptContext<'_>),
    screen: &Screen<'_, TaskPlace>,
) -> Inputs {
    let PromptCapabilities { tools, skills, selected } = named;
    let PromptMemories { memories, activity } = remembered;
    let gathered = request.gathered;
    let git = gathered.git.as_ref();
    let mut inputs = Inputs::new();
    let mut put = |name: &str, value: LabelTree| inputs.insert(name.to_owned(), value);
    put("mode", mode.as_str().into());
    put("tools", LabelTree::list(tools.iter().map(String::as_str)));
    put("skills", LabelTree::list(skills.iter().map(String::as_str)));
    put("os", gathered.env.os.as_str().into());
    let as_it_is = |text| text;
    put("cwd", screen.value(&TaskPlace::Folder, as_it_is).unwrap_or_else(|| WITHHELD.into()));
    put("project_rules", LabelTree::list(trusted_rules(gathered)));
    let weak = context.found.and_then(|found| found.weak_evidence.as_ref());
    let weak = weak.map(|why| format!("files for the task: {why}"));
    if knows_context(request.prompt) {
        put_context(gathered, context, screen, &mut put);
    } else {
        put("rule_files", LabelTree::list(outside_rules(gathered, screen)));
    }
    let gaps = gathered.gaps.iter().map(|gap| format!("{}: {}", gap.what, gap.why));
    put("gaps", LabelTree::list(gaps.chain(weak)));
    let entry =
        |place: TaskPlace, kept: &PickedMemory, file: &str| screen.value(&place, |text| memory_line(kept, file, text));
    let kept = memories.kept.iter();
    put("memories", LabelTree::list(kept.filter_map(|kept| entry(TaskPlace::Memory(kept.line), kept, "memory"))));
    let kept = activity.kept.iter();
    put("activity", LabelTree::list(kept.filter_map(|kept| entry(TaskPlace::Event(kept.line), kept, "activity"))));
    let base: BTreeSet<&str> = tools.iter().chain(*skills).map(String::as_str).collect();
    match (request.selecting, selected) {
        (Some(selecting), Some(selected)) => {
            put("core", selecting::core(selecting.catalogue, &base));
            put("selected", selecting::approved_entries(selecting.catalogue, selected));
            let found = 0..selecting::unapproved_entries(selecting.catalogue, selected).len();
            put("found", LabelTree::list(found.filter_map(|index| screen.value(&TaskPlace::Found(index), as_it_is))));
            put("nothing_fits", LabelTree::Bool(selected.abstained && selected.entries > 0));
        }
        _ => {
            ["core", "selected", "found"]
                .into_iter()
                .for_each(|name| drop(put(name, LabelTree::list(Vec::<LabelTree>::new()))));
            put("nothing_fits", LabelTree::Bool(false));
        }
    }
    let changes = git.and_then(|git| git.work_tree.as_ref()).and_then(|tree| tree.changes.as_deref());
    let changes = 0..changes.map_or(0, <[ChangedPath]>::len);
    put("changes", LabelTree::list(changes.filter_map(|index| screen.value(&TaskPlace::Change(index), as_it_is))));
    if let Some(git) = git {
        put("repository", repository_block(git));
        if matches!(git.head, GitHead::Branch(_) | GitHead::Unborn(_)) {
            put("branch", screen.value(&TaskPlace::Branch, as_it_is).unwrap_or_else(|| WITHHELD.into()));
        }
    }
    match request.task {
        Task::Caller(text) => put("task", text.as_str().into()),
        Task::Outside(_) => screen.value(&TaskPlace::Request, as_it_is).and_then(|request| put("request", request)),
    };
    // An older version of the prompt, or a book of the user's own, may not know of selection.
    inputs.retain(|name, _| !SELECTION.contains(&name.as_str()) || request.prompt.file.has_input(name));
    inputs
}

/// The known facts about the repository beside its state, and the files found for the task.
fn put_context(
    gathered: &PlaceFacts,
    context: PromptContext<'_>,
    screen: &Screen<'_, TaskPlace>,
    put: &mut impl FnMut(&str, LabelTree) -> Option<LabelTree>,
) {
    let as_it_is = |text| text;
    let shown = |place: fn(usize) -> TaskPlace, count: usize| {
        LabelTree::list((0..count).filter_map(|index| screen.value(&place(index), as_it_is)).collect::<Vec<_>>())
    };
    put("commands", shown(TaskPlace::Command, gathered.commands.len()));
    put("outline", shown(TaskPlace::Outline, gathered.outline.len()));
    let outside = |files: &[RuleFile], place: fn(usize) -> TaskPlace| {
        let files = files.iter().enumerate();
        rule_items(
            files.filter_map(|(index, file)| Some((untrusted_rule_name(file), screen.value(&place(index), as_it_is)?))),
        )
    };
    put("rule_files", outside(&gathered.rule_files, TaskPlace::Rules));
    let nothing = TaskContext::default();
    let found = context.found.unwrap_or(&nothing);
    put("folder_rules", outside(&found.folder_rules, TaskPlace::FolderRules));
    put("nearer_rules", LabelTree::list(trusted_rule_trees(&found.folder_rules)));
    let sections = context.rule_sections.iter().enumerate().filter_map(|(index, file)| {
        let name = untrusted_rule_name(gathered.rule_files.get(*file)?);
        let text = screen.value(&TaskPlace::RuleSection(index), as_it_is)?;
        Some(LabelTree::from([("name", name.into()), ("text", text)]))
    });
    put("rule_sections", LabelTree::list(sections.collect::<Vec<_>>()));
    if let Some(change) = &found.change {
        put("diff_of", change.of.as_str().into());
    }
    put("diff", LabelTree::list(context.offers.changed(found, screen)));
    put("code", LabelTree::list(context.files));
    put("commits", shown(TaskPlace::Commit, found.commits.len()));
}

/// A file's name as text from outside: who wrote the repository named it.
fn untrusted_rule_name(file: &RuleFile) -> Untrusted<String> {
    let label = match &file.text {
        RuleText::Outside(text) => text.label().clone(),
        RuleText::Trusted(_) => Label::from_source(Source::named("repository/path")),
    };
    name_on_one_line(&Untrusted::new(file.name.clone(), label))
}

/// Puts the sections of long rule files, below what is shown of them, that bear on the task before the guard. The file
/// of each.
pub(super) fn admit_rule_sections(
    request: &AssemblyRequest<'_>,
    wanted: &str,
    screen: &mut Screen<'_, TaskPlace>,
) -> Vec<usize> {
    let mut files = Vec::new();
    if !knows_context(request.prompt) {
        return files;
    }
    for (file, rules) in request.gathered.rule_files.iter().enumerate() {
        let RuleText::Outside(text) = &rules.text else { continue };
        let sections = |text: &str| rule_text::sections_about(text, wanted);
        for index in 0..text.measure(|text| sections(text).len()) {
            let section = text.clone().map(|text| sections(&text).into_iter().nth(index).unwrap_or_default());
            let what = format!("a section of rule file {}", file.saturating_add(1));
            screen.admit(TaskPlace::RuleSection(files.len()), &what, &section, None);
            files.push(file);
        }
    }
    files
}

/// Puts every text from outside that the prompt may hold before the guard, memories and events
/// excepted, which are picked by it.
pub(super) fn admit_all(
    request: &AssemblyRequest<'_>,
    selected: Option<&selecting::CapabilitySelection>,
    screen: &mut Screen<'_, TaskPlace>,
) {
    let gathered = request.gathered;
    for (index, file) in gathered.rule_files.iter().enumerate() {
        if let RuleText::Outside(text) = &file.text {
            screen.admit(TaskPlace::Rules(index), &rule_file_name(file, index), text, None);
        }
    }
    if knows_context(request.prompt) {
        for (index, fact) in gathered.commands.iter().enumerate() {
            let purpose = fact.purpose.as_str();
            let text = Untrusted::join(&[&fact.command, &fact.place], "\n").0;
            let text = text.map(|text| match text.split_once('\n') {
                Some((command, place)) => format!("{purpose}: {command} ({place})"),
                None => text,
            });
            screen.admit(TaskPlace::Command(index), &format!("command {}", index.saturating_add(1)), &text, None);
        }
        for (index, line) in gathered.outline.iter().enumerate() {
            let what = format!("folder {} of the outline", index.saturating_add(1));
            screen.admit(TaskPlace::Outline(index), &what, &name_on_one_line(line), None);
        }
    }
    if let Some((selecting, selected)) = request.selecting.zip(selected) {
        for (index, text) in selecting::unapproved_entries(selecting.catalogue, selected).iter().enumerate() {
            screen.admit(TaskPlace::Found(index), &format!("signature {} found", index.saturating_add(1)), text, None);
        }
    }
    screen.admit(TaskPlace::Folder, "the folder's path", &name_on_one_line(&gathered.env.cwd), None);
    if let Some(git) = &gathered.git {
        if let GitHead::Branch(name) | GitHead::Unborn(name) = &git.head {
            screen.admit(TaskPlace::Branch, "the branch's name", &name_on_one_line(name), None);
        }
        let changes = git.work_tree.as_ref().and_then(|tree| tree.changes.as_deref()).unwrap_or_default();
        for (index, item) in changes.iter().enumerate() {
            screen.admit(
                TaskPlace::Change(index),
                &format!("changed path {}", index.saturating_add(1)),
                &changed_path_line(item),
                None,
            );
        }
    }
    if let Task::Outside(text) = request.task {
        screen.admit(TaskPlace::Request, REQUEST, text, None);
    }
}

/// The placeholder for a name that stays out.
const WITHHELD: &str = "(withheld)";

/// A rule file's name in notes: its own if that is one of the known ones.
fn rule_file_name(file: &RuleFile, index: usize) -> String {
    if RULE_FILES.contains(&file.name.as_str()) {
        file.name.clone()
    } else {
        format!("rule file {}", index.saturating_add(1))
    }
}

fn trusted_rules(gathered: &PlaceFacts) -> Vec<LabelTree> {
    trusted_rule_trees(&gathered.rule_files)
}

fn trusted_rule_trees(files: &[RuleFile]) -> Vec<LabelTree> {
    let trusted = files.iter().filter_map(|file| match &file.text {
        RuleText::Trusted(text) => {
            Some(LabelTree::from([("name", file.name.as_str().into()), ("text", text.as_str().into())]))
        }
        RuleText::Outside(_) => None,
    });
    trusted.collect()
}

fn outside_rules(gathered: &PlaceFacts, screen: &Screen<'_, TaskPlace>) -> Vec<LabelTree> {
    let files = gathered.rule_files.iter().enumerate().filter_map(|(index, file)| {
        let text = screen.value(&TaskPlace::Rules(index), |text| text)?;
        Some(LabelTree::from([("name", untrusted_rule_name(file).into()), ("text", text)]))
    });
    files.collect()
}

fn repository_block(git: &Git) -> LabelTree {
    let state = match (&git.head, &git.work_tree) {
        (_, None) => "a bare repository",
        (GitHead::Branch(_), _) => "on a branch",
        (GitHead::Detached, _) => "no branch checked out (detached HEAD)",
        (GitHead::Unborn(_), _) => "on a branch without a commit",
    };
    let tree = git.work_tree.as_ref();
    let stat = |stat: Option<DiffStat>| match stat {
        Some(stat) if stat.files > 0 => diff_stat_summary(stat).into(),
        _ => LabelTree::Null,
    };
    LabelTree::from([
        ("state", state.into()),
        (
            "commit",
            git.commit.as_ref().map_or(LabelTree::Null, |id| id.chars().take(SHORT_COMMIT).collect::<String>().into()),
        ),
        (
            "upstream",
            git.upstream
                .map_or(LabelTree::Null, |d| LabelTree::from([("ahead", d.ahead.into()), ("behind", d.behind.into())])),
        ),
        ("staged", stat(tree.and_then(|tree| tree.staged))),
        ("unstaged", stat(tree.and_then(|tree| tree.unstaged))),
        ("untracked", tree.and_then(|tree| tree.untracked).map_or(LabelTree::Null, LabelTree::from)),
    ])
}

/// `2 files changed, 10 lines added, 3 removed`.
pub(crate) fn diff_stat_summary(stat: DiffStat) -> String {
    let s = |n: u64| if n == 1 { "" } else { "s" };
    let mut text = format!(
        "{} file{} changed, {} line{} added, {} removed",
        stat.files,
        s(stat.files),
        stat.insertions,
        s(stat.insertions),
        stat.deletions
    );
    if stat.binary > 0 {
        text.push_str(&format!(", {} binary", stat.binary));
    }
    text
}

/// The path with what happened to it. The line is as untrusted as the path.
pub(crate) fn changed_path_line(change: &ChangedPath) -> Untrusted<String> {
    let (status, lines) = (change.status.as_str(), change.lines);
    name_on_one_line(&change.path).map(|path| match lines {
        Some((added, removed)) => format!("{path} ({status}, +{added} −{removed})"),
        None => format!("{path} ({status})"),
    })
}

/// A name on one line: line breaks and other controls in it written as escapes.
fn name_on_one_line(name: &Untrusted<String>) -> Untrusted<String> {
    let escape = |c: char| match is_control(c) || is_line_break(c) || c == '\t' {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    name.clone().map(|name| name.chars().map(escape).collect())
}
