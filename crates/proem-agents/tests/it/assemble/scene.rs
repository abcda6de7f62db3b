//! A place with something in every field, and its assembly.

use std::sync::LazyLock;

use proem_agents::assemble::manifest::CommandPurpose;
use proem_agents::assemble::place_facts::{
    ChangedPath, CommandFact, DiffStat, Env, Gap, Git, GitHead, PathStatus, PlaceFacts, RememberedEntry, RuleFile,
    RuleText, WorkTree,
};
use proem_agents::assemble::selecting::SelectionTask;
use proem_agents::assemble::settings::AssembleSettings;
use proem_agents::assemble::task_context::TaskContext;
use proem_agents::assemble::{AssemblyAccount, AssemblyRequest, PROMPT, Task, assemble_task_prompt};
use proem_agents::book::embedded_book;
use proem_agents::screen::Screening;
use proem_engine::Error;
use proem_engine::budget::AnswerLength;
use proem_engine::profile::Profile;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_engine::workers::Sequential;
use proem_guard::{Guard, InstallationKey, Policy, Untrusted};
use proem_select::catalogue::Catalogue;
use proem_select::mode::{Hints, Mode};
use proem_select::select::{CatalogueIndex, Selector, UsageHistory};
use proem_text::{Label, Source};

static GUARD: LazyLock<Guard> = LazyLock::new(|| Guard::shipped(&[]).unwrap());
static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy::shipped().unwrap());
/// Lets everything through, so that containment is all that is left.
static LENIENT: LazyLock<Policy> = LazyLock::new(|| Policy::parse("*\t*\tallow\tallow\tallow\tallow\n").unwrap());

/// The guard's verdicts in a scene.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarded {
    AsShipped,
    LetsAllThrough,
}

/// Everything an assembly is made from, for a test to change.
pub(crate) struct Scene {
    pub(crate) task: Task,
    pub(crate) gathered: PlaceFacts,
    pub(crate) settings: AssembleSettings,
    pub(crate) mode: Option<Mode>,
    pub(crate) prompt: Prompt,
    pub(crate) input_tokens: Option<usize>,
    pub(crate) shelf: Option<Shelf>,
    pub(crate) guarded: Guarded,
    pub(crate) profile: Option<Profile>,
    pub(crate) context: Option<TaskContext>,
}

/// A catalogue, ranked by words.
pub(crate) struct Shelf {
    catalogue: Catalogue,
    index: CatalogueIndex,
    selector: Selector,
}

impl Shelf {
    pub(crate) fn new(catalogue: Catalogue) -> Self {
        let selector = Selector::shipped().unwrap();
        Self {
            index: CatalogueIndex::new(catalogue.entries(), &UsageHistory::default(), &selector),
            catalogue,
            selector,
        }
    }
}

pub(crate) fn outside(text: &str) -> Untrusted<String> {
    Untrusted::new(text.to_owned(), Label::from_source(Source::named("test")))
}

/// The shipped prompt with these files of the user's own over it.
pub(crate) fn prompt_with(files: &[(&str, &str)]) -> Prompt {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), PartialText::Template((*text).to_owned())));
    let user = BookLayer { origin: Origin::User, files: files.collect() };
    Book::new(vec![embedded_book(), user]).unwrap().prompt(PROMPT, None).unwrap()
}

impl Scene {
    /// A repository in which every text from outside is `text`.
    pub(crate) fn with(text: &str) -> Self {
        let change = |status| ChangedPath { path: outside(text), status, lines: Some((1, 2)) };
        let entry = |line| RememberedEntry { text: outside(text), time: None, kind: outside("note"), line };
        let stat = DiffStat { files: 2, insertions: 3, deletions: 4, binary: 0 };
        let tree = WorkTree {
            staged: Some(stat),
            unstaged: Some(stat),
            untracked: Some(1),
            changes: Some(vec![change(PathStatus::Modified), change(PathStatus::Untracked)]),
        };
        let git = Git {
            head: GitHead::Branch(outside(text)),
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            upstream: None,
            work_tree: Some(tree),
        };
        let rule_file =
            RuleFile { name: "AGENTS.md".to_owned(), hash: "0".repeat(64), text: RuleText::Outside(outside(text)) };
        let command = CommandFact { purpose: CommandPurpose::Test, command: outside(text), place: outside(text) };
        let gap = Gap { what: "upstream".to_owned(), why: "it is gone".to_owned(), about: Some(outside(text)) };
        Self {
            task: Task::Caller("mend the clock".to_owned()),
            gathered: PlaceFacts {
                git: Some(git),
                env: Env { cwd: outside(text), os: "linux".to_owned() },
                rule_files: vec![rule_file],
                commands: vec![command],
                outline: vec![outside(text)],
                memories: vec![entry(1), entry(2)],
                activity: vec![entry(1)],
                gaps: vec![gap],
            },
            settings: AssembleSettings { tools: vec!["read".to_owned()], ..AssembleSettings::default() },
            mode: Some(Mode::Act),
            prompt: prompt_with(&[]),
            input_tokens: None,
            shelf: None,
            guarded: Guarded::AsShipped,
            profile: None,
            context: None,
        }
    }

    pub(crate) fn try_assemble(&self) -> Result<AssemblyAccount, Error> {
        let task = match &self.task {
            Task::Caller(text) => text.clone(),
            Task::Outside(_) => String::new(),
        };
        let query = self.shelf.as_ref().map(|shelf| shelf.selector.query(&task));
        let selecting = self.shelf.as_ref().zip(query.as_ref()).map(|(shelf, query)| SelectionTask {
            catalogue: &shelf.catalogue,
            index: &shelf.index,
            selector: &shelf.selector,
            query,
            meant: None,
        });
        let policy: &Policy = match self.guarded {
            Guarded::AsShipped => &POLICY,
            Guarded::LetsAllThrough => &LENIENT,
        };
        let request = AssemblyRequest {
            task: &self.task,
            gathered: &self.gathered,
            settings: &self.settings,
            hints: Hints { explicit: self.mode, ..Hints::default() },
            prompt: &self.prompt,
            key: &InstallationKey::new([7; 32]),
            input_tokens: self.input_tokens,
            replaces_budget: false,
            window: None,
            output_tokens: AnswerLength::of(self.settings.output_tokens, &self.prompt).wanted(),
            monolithic: None,
            profile: self.profile.as_ref(),
            selecting: selecting.as_ref(),
            entries: None,
            screening: Screening { guard: &GUARD, policy },
            mode_examples: None,
            context: self.context.as_ref(),
            workers: &Sequential,
        };
        assemble_task_prompt(&request, &mut CachingCounter::new(&OpenAi::O200k))
    }

    pub(crate) fn assemble(&self) -> AssemblyAccount {
        self.try_assemble().unwrap()
    }
}

/// One section's text, empty if it is absent.
pub(crate) fn text_of<'a>(assembled: &'a AssemblyAccount, name: &str) -> &'a str {
    assembled.assembly.sections.iter().find(|section| section.name == name).map_or("", |section| section.text.as_str())
}

/// The names of sections whose text differs between two assemblies.
pub(crate) fn differing(one: &AssemblyAccount, other: &AssemblyAccount) -> Vec<String> {
    let names = one.report.sections.iter().map(|section| section.name.as_str());
    names.filter(|name| text_of(one, name) != text_of(other, name)).map(str::to_owned).collect()
}
