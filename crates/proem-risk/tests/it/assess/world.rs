//! A repository made up for a test: commits by their age in days, files by their paths.

use std::collections::BTreeMap;

use proem_risk::assess::{Assessment, Depth, assess_change};
use proem_risk::change::{Change, ChangeKind, ChangedFile, FileKind, FileStatus, LineCounts};
use proem_risk::coverage::Coverage;
use proem_risk::finding::{CalledFunction, FindingFacts};
use proem_risk::graph::{Edge, EdgeKind, Graph};
use proem_risk::history::{
    History, HistoryBuilder, HistoryGaps, ListedCommit, ListedTouch, Mends, ObjectId, Past, Touch,
};
use proem_risk::identity::Person;
use proem_risk::incident::{Corpus, Incident};
use proem_risk::level::{LevelRules, Thresholds};
use proem_risk::metric::{Metric, MetricName, Sentence, SentencePart};
use proem_risk::metrics::{AssessmentFacts, WINDOW_DAYS, measure_metric};
use proem_risk::patch::{FilePatch, Hunk, UnchangedLine};
use proem_risk::path::{FileRole, Language, PathClass, RepoPath, Sensitive};
use proem_risk::sample::{Sample, SampledCommit};
use proem_risk::score::{ChangeFeatures, RiskModel};
use proem_risk::signal::{KnownFiles, Lessons, PatchedCommit, PatchedFile};
use proem_risk::tree::{FileTree, Imports, TreeFile};

pub(crate) const DAY: i64 = 86_400;
pub(crate) const NOW: i64 = 1_700_000_000;

/// A repository with a change on top.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) listed: Vec<ListedCommit>,
    pub(crate) change: Change,
    pub(crate) files: Vec<TreeFile>,
    pub(crate) edges: Vec<(String, String)>,
    pub(crate) incidents: Vec<Incident>,
    pub(crate) sample: Sample,
    pub(crate) missing: HistoryGaps,
    pub(crate) coverage: Option<String>,
    pub(crate) has_tree: bool,
    pub(crate) rules: LevelRules,
    /// The lines of commits, by their number: taken away and added.
    pub(crate) lines: BTreeMap<usize, (Vec<String>, Vec<String>)>,
    /// The files before the change.
    pub(crate) base: Option<Box<Self>>,
    pub(crate) called: Vec<CalledFunction>,
}

/// A patch of one hunk.
fn patch(path: &str, removed: &[String], added: &[String]) -> FilePatch {
    let bytes = |lines: &[String]| lines.iter().map(|line| line.clone().into_bytes()).collect();
    let hunk = Hunk { old_start: 5, removed: bytes(removed), new_start: 7, added: bytes(added) };
    FilePatch { path: RepoPath::new(path), hunks: vec![hunk], ..FilePatch::default() }
}

pub(crate) fn id(number: usize) -> ObjectId {
    ObjectId::parse(format!("{:040x}", number + 0x1000_0000).as_bytes()).unwrap()
}

pub(crate) fn person(name: &str) -> Person {
    Person { mail: format!("{name}@example.org"), name: name.to_owned() }
}

/// The class of a file, by its path in these tests only.
pub(crate) fn class(path: &str) -> PathClass {
    let role = match path {
        path if path.contains("test") => FileRole::Test,
        path if path.ends_with(".md") => FileRole::Documentation,
        path if path.contains("generated") => FileRole::Generated,
        path if path.ends_with(".lock") => FileRole::Lock,
        path if path.ends_with(".yml") => FileRole::Configuration,
        _ => FileRole::Code,
    };
    let languages = [(".py", "Python"), (".java", "Java"), (".kt", "Kotlin")];
    let language = languages.iter().find(|(extension, _)| path.ends_with(extension));
    let language = language.map(|(_, name)| Language((*name).to_owned()));
    let sensitive = path.contains("auth").then_some(Sensitive::Security);
    PathClass { language, role, sensitive, framework: None }
}

pub(crate) fn text(sentence: &Sentence) -> String {
    let piece = |piece: &SentencePart| match piece {
        SentencePart::Ours(text) => text.clone(),
        SentencePart::Path(text) | SentencePart::Person(text) | SentencePart::Message(text) => format!("‹{text}›"),
    };
    sentence.0.iter().map(piece).collect()
}

pub(crate) fn features(lines: f64) -> ChangeFeatures {
    ChangeFeatures {
        ns: Some(1.0),
        nd: Some(1.0),
        nf: Some(1.0),
        la: Some(lines),
        ld: Some(1.0),
        ..ChangeFeatures::default()
    }
}

impl World {
    /// An empty history and a change of `paths`, ten lines each.
    pub(crate) fn new(paths: &[&str]) -> Self {
        let mut world = Self {
            listed: Vec::new(),
            change: Change {
                kind: ChangeKind::WorkTree,
                id: None,
                base: None,
                commits: 0,
                is_merge: false,
                at: NOW,
                author: Some(person("ann")),
                subject: String::new(),
                files: Vec::new(),
                identifiers: Vec::new(),
                patches: Vec::new(),
                gaps: Vec::new(),
            },
            files: Vec::new(),
            edges: Vec::new(),
            incidents: Vec::new(),
            sample: Sample { commits: Vec::new(), of: 0 },
            missing: HistoryGaps::default(),
            coverage: None,
            has_tree: true,
            rules: LevelRules::Rank,
            lines: BTreeMap::new(),
            base: None,
            called: Vec::new(),
        };
        for path in paths {
            world.change.files.push(ChangedFile {
                path: RepoPath::new(*path),
                before: None,
                status: FileStatus::Modified,
                kind: FileKind::Regular,
                class: class(path),
                lines: Some(LineCounts { added: 8, removed: 2 }),
                lines_before: Some(100),
                lines_after: Some(106),
            });
            world.file(path, 100);
        }
        world
    }

    /// A file of the tree with its lines. Its imports are read.
    pub(crate) fn file(&mut self, path: &str, lines: u32) -> &mut Self {
        let imports = Imports::Read { resolved: 0, unresolved: 0, external: 0 };
        self.files.retain(|file| file.path.as_bytes() != path.as_bytes());
        let path_of = RepoPath::new(path);
        self.files.push(TreeFile { path: path_of, class: class(path), lines: Some(lines), inline_tests: 0, imports });
        self
    }

    pub(crate) fn imports(&mut self, path: &str, imports: Imports) -> &mut Self {
        self.file(path, 10);
        self.files.last_mut().unwrap().imports = imports;
        self
    }

    /// `from` imports `to`.
    pub(crate) fn edge(&mut self, from: &str, to: &str) -> &mut Self {
        for path in [from, to] {
            if !self.files.iter().any(|file| file.path.as_bytes() == path.as_bytes()) {
                self.file(path, 10);
            }
        }
        self.edges.push((from.to_owned(), to.to_owned()));
        self
    }

    /// A commit this many days before the change.
    pub(crate) fn commit(&mut self, days: i64, author: &str, paths: &[&str]) -> &mut Self {
        self.says(days, author, paths, ("", Mends::Nothing))
    }

    pub(crate) fn says(&mut self, days: i64, author: &str, paths: &[&str], said: (&str, Mends)) -> &mut Self {
        let touch = |path: &&str| {
            let path = RepoPath::new(*path);
            ListedTouch { path, from: None, status: FileStatus::Modified }
        };
        let number = self.listed.len();
        self.change.base = Some(id(number));
        self.listed.push(ListedCommit {
            id: id(number),
            parents: number.checked_sub(1).map(id).into_iter().collect(),
            at: NOW.saturating_sub(days.saturating_mul(DAY)),
            author: person(author),
            subject: said.0.to_owned(),
            mends: said.1,
            touches: paths.iter().map(touch).collect(),
        });
        self
    }

    /// Past commits with few lines added: 1, 1, 1, 2, 2, 2, 2, 3 and so on.
    pub(crate) fn sampled(&mut self, commits: u32) -> &mut Self {
        let sampled = |number: u32| SampledCommit { features: features(f64::from(1 + number / 4)) };
        self.sample = Sample { commits: (1..=commits).map(sampled).collect(), of: commits };
        self
    }

    pub(crate) fn history(&self) -> History {
        let mut builder = HistoryBuilder::new(None);
        self.listed.iter().rev().for_each(|listed| builder.add(listed.clone()));
        builder.finish(NOW, &[], self.missing).unwrap()
    }

    fn tree(&self) -> FileTree {
        let mut files = self.files.clone();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let find = |path: &str| {
            let at = files.iter().position(|file| file.path.as_bytes() == path.as_bytes()).unwrap();
            u32::try_from(at).unwrap()
        };
        let kind = EdgeKind::Import;
        let edge = |(from, to): &(String, String)| Edge { from: find(from), to: find(to), kind, calls: Some(2) };
        let graph = Graph::new(u32::try_from(files.len()).unwrap(), self.edges.iter().map(edge));
        FileTree { files, graph, gaps: Vec::new() }
    }

    /// The lessons of the commits of the history, each with these lines taken away and added in the files that it
    /// touches.
    fn lessons(&self, past: &Past<'_>, known: &KnownFiles) -> Lessons {
        let numbered = (0_usize..).zip(&self.listed);
        let patched = numbered.filter_map(|(number, listed)| {
            let commit = past.history().find(&listed.id)?;
            let lines = self.lines.get(&number);
            let file = |touch: &Touch| {
                let path = past.history().path(touch.path).to_text();
                let class = class(&path);
                PatchedFile {
                    file: touch.file,
                    role: class.role,
                    is_sensitive: class.sensitive.is_some(),
                    status: touch.status,
                    prints: lines.map(|(removed, added)| patch(&path, removed, added).prints()).unwrap_or_default(),
                }
            };
            let files = past.history().touches(commit).iter().map(file).collect();
            Some(PatchedCommit { commit, features: Some(features(10.0)), files })
        });
        let patched: Vec<PatchedCommit> = patched.collect();
        Lessons::learn(past, &patched.iter().collect::<Vec<_>>(), known, WINDOW_DAYS)
    }

    /// Gives the newest commit of the history its lines: taken away and added.
    pub(crate) fn with_lines(&mut self, removed: &[&str], added: &[&str]) -> &mut Self {
        let texts = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        self.lines.insert(self.listed.len() - 1, (texts(removed), texts(added)));
        self
    }

    /// Gives a file of the change its lines.
    pub(crate) fn changes(&mut self, path: &str, removed: &[&str], added: &[&str]) -> &mut Self {
        let texts = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
        self.change.patches.push(patch(path, &texts(removed), &texts(added)));
        self.change.patches.sort_by(|a, b| a.path.cmp(&b.path));
        self
    }

    /// A line around the changes of a file that stays as it is.
    pub(crate) fn around(&mut self, path: &str, line: u32, text: &str) -> &mut Self {
        let prints = patch(path, &[], &[text.to_owned()]).prints().added;
        let of_path = self.change.patches.iter_mut().filter(|patch| patch.path.as_bytes() == path.as_bytes());
        of_path.for_each(|patch| patch.around.extend(prints.iter().map(|&print| UnchangedLine { line, print })));
        self
    }

    /// Calls `look` with the facts.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&AssessmentFacts<'_>) -> T) -> T {
        let (history, tree) = (self.history(), self.tree());
        let tip = self.listed.last().and_then(|listed| history.find(&listed.id));
        let past = tip.map_or_else(|| history.nothing(), |tip| history.past(tip));
        let coverage = self.coverage.as_ref().map(|text| Coverage::read(text.as_bytes()).unwrap());
        let paths = self.listed.iter().flat_map(|listed| &listed.touches).map(|touch| &touch.path);
        let role = |path: &RepoPath| Some((past.file(path)?, class(&path.to_text()).role));
        let known = KnownFiles { roles: paths.filter_map(role).collect(), ..KnownFiles::default() };
        let lessons = self.lessons(&past, &known);
        look(&AssessmentFacts {
            change: &self.change,
            past: &past,
            tree: self.has_tree.then_some(&tree),
            coverage: coverage.as_ref(),
            incidents: &Corpus::new(self.incidents.clone()),
            sample: &self.sample,
            thresholds: &Thresholds::shipped().unwrap(),
            rules: self.rules,
            window_days: WINDOW_DAYS,
            finding: FindingFacts {
                lessons: Some(&lessons),
                known: Some(&known),
                base: self.base.as_deref().map(Self::tree).as_ref(),
                called: &self.called,
                trained: &[],
            },
        })
    }

    /// A metric of the first file of the change.
    pub(crate) fn measure(&self, name: MetricName) -> Metric {
        self.look(|facts| measure_metric(facts, 0, name)).unwrap()
    }

    pub(crate) fn assess(&self, depth: Depth) -> Assessment {
        let model = RiskModel::shipped().unwrap();
        self.look(|facts| assess_change(facts, &model, depth)).unwrap()
    }
}
