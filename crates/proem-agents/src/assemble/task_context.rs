//! The files found for a task in its repository, and their way into the prompt.
//!
//! Files, differences, commits and the rule files of folders come as data, text from outside throughout. Here the guard
//! looks at each rendering that may be shown: a suspicious one is replaced by less of the same file, because a mark at
//! each word would leave code that nobody can read. The rest climbs its ladder in the engine.
//!
//! Invariants: nothing here is trusted but counts and shares. No rendering is offered that the guard didn't clear. No
//! more is offered than the configured depth.

use proem_engine::report::Report;
use proem_engine::section::Rung;
use proem_engine::workers;
use proem_guard::{LabelTree, LanguageFamily, Untrusted, Verdict};

use super::AssemblyRequest;
use super::place_facts::{Gap, RuleFile, RuleText};
use super::places::TaskPlace;
use super::rule_text;
use super::settings::ContextDepth;
use crate::screen::{Screen, SourceLook};

/// Everything that was found for one task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskContext {
    /// Files, the likeliest first.
    pub files: Vec<FoundFile>,
    /// Commits about the same, the nearest first.
    pub commits: Vec<Untrusted<String>>,
    /// The change that the task is about, file by file.
    pub change: Option<FoundChange>,
    /// Rule files of the folders on the way to what was found, outermost first.
    pub folder_rules: Vec<RuleFile>,
    /// The gaps and cuts, in the order met.
    pub gaps: Vec<Gap>,
    /// Why the files are hardly to be relied on, in our words: the prompt says so. It is among the gaps, too.
    pub weak_evidence: Option<String>,
}

/// A file that bears on the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path below the root.
    pub path: Untrusted<String>,
    /// How likely the task needs it, in percent.
    pub likely: u8,
    /// The evidence for it, in words, strongest first. The prompt shows the first: a model reads the file itself.
    pub evidence: Vec<Untrusted<String>>,
    /// Its kind, such as `Rust` or `a test`, in our words.
    pub kind: &'static str,
    /// How its comments are marked. `None` is prose, or not known.
    pub syntax: Option<LanguageFamily>,
    /// All of it.
    pub full: Option<Untrusted<String>>,
    /// The parts of it that matter.
    pub parts: Option<Untrusted<String>>,
    /// The few lines of it that matter most.
    pub excerpt: Option<Untrusted<String>>,
    /// Its definitions.
    pub outline: Option<Untrusted<String>>,
}

impl FoundFile {
    /// All that speaks for it, in one line.
    #[must_use]
    pub fn why(&self) -> Untrusted<String> {
        Untrusted::join(&self.evidence.iter().collect::<Vec<_>>(), "; ").0
    }

    /// Its kind, and the strongest evidence for it.
    fn about(&self) -> LabelTree {
        let kind = self.kind;
        self.evidence.first().map_or_else(|| kind.into(), |why| why.clone().map(|why| format!("{kind}; {why}")).into())
    }
}

/// The change that a task is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundChange {
    /// Its subject, in our words: `what is not committed`.
    pub of: String,
    /// Its files, in the order of their paths.
    pub files: Vec<ChangedFile>,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path below the root.
    pub path: Untrusted<String>,
    /// How many lines were added and removed, in our words.
    pub size: String,
    /// The difference, lines of it if it is long. `None` of a binary file.
    pub difference: Option<Untrusted<String>>,
    /// Its first lines.
    pub begun: Option<Untrusted<String>>,
}

/// Why less of a file is shown than was offered: the budget, or its part for files, has no room.
pub const OVER_BUDGET: &str = "over budget";

/// The account of a file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAccount {
    /// Its place among the files that were found.
    pub index: usize,
    /// How much of it is in the prompt. `None` if it is not there at all.
    pub shown: Option<Rung>,
    /// The most that could have been.
    pub offered: Rung,
    /// Why it is less, in our words.
    pub reason: Option<&'static str>,
}

/// The part of a file that the guard cleared.
#[derive(Debug, Clone, Default)]
pub(super) struct Offer {
    /// The rungs on which it may be, best first. Empty if not even its path may be named.
    rungs: Vec<Rung>,
    /// The replacement of its own text on a rung: the text without the lines in which the guard suspects something.
    instead: Option<(Rung, Untrusted<String>)>,
    withheld: bool,
}

impl Offer {
    /// The text of a rung, as the guard left it.
    fn text(&self, rung: Rung, own: Option<&Untrusted<String>>) -> Option<Untrusted<String>> {
        match &self.instead {
            Some((of, text)) if *of == rung => Some(text.clone()),
            _ => own.cloned(),
        }
    }
}

/// The offers for everything that was found.
#[derive(Debug, Default)]
pub(super) struct Offers {
    files: Vec<Offer>,
    changed: Vec<Offer>,
}

/// A file, or its difference, that may be shown.
struct Candidate<'c> {
    what: String,
    named: TaskPlace,
    /// Its name.
    about: Untrusted<String>,
    place: TaskPlace,
    /// Its renderings, the largest first.
    texts: Vec<(Rung, &'c Untrusted<String>)>,
    syntax: Option<LanguageFamily>,
}

/// The guard's results for a candidate: for its name, and unless that is suspicious, for each rendering.
struct CandidateLooks {
    name: SourceLook,
    texts: Vec<SourceLook>,
}

impl Candidate<'_> {
    fn looks(&self, screen: &Screen<'_, TaskPlace>) -> CandidateLooks {
        let name = screen.clears(&self.named, &self.about, None);
        let texts = if name.verdict > Verdict::Allow { &[][..] } else { &self.texts };
        let texts = texts.iter().map(|(_, text)| screen.clears(&self.place, text, self.syntax)).collect();
        CandidateLooks { name, texts }
    }
}

fn found_file_candidates(context: &TaskContext, depth: ContextDepth) -> Vec<Candidate<'_>> {
    let candidates = context.files.iter().enumerate().map(|(index, file)| {
        let of = [
            (Rung::Full, &file.full),
            (Rung::Parts, &file.parts),
            (Rung::Excerpt, &file.excerpt),
            (Rung::Outline, &file.outline),
        ];
        let of = of.into_iter().filter(|(rung, _)| allows(depth, *rung));
        Candidate {
            what: format!("found file {}", index.saturating_add(1)),
            named: TaskPlace::FoundFile(index),
            about: Untrusted::join(&[&file.path].into_iter().chain(file.evidence.first()).collect::<Vec<_>>(), " ").0,
            place: TaskPlace::FoundText(index),
            texts: of.filter_map(|(rung, text)| Some((rung, text.as_ref()?))).collect(),
            syntax: file.syntax,
        }
    });
    candidates.collect()
}

fn change_candidates(context: &TaskContext) -> Vec<Candidate<'_>> {
    let files = context.change.iter().flat_map(|change| &change.files);
    let candidates = files.enumerate().map(|(index, file)| {
        let of = [(Rung::Full, &file.difference), (Rung::Parts, &file.begun)];
        Candidate {
            what: format!("difference {}", index.saturating_add(1)),
            named: TaskPlace::ChangedFile(index),
            about: file.path.clone(),
            place: TaskPlace::Difference(index),
            texts: of.into_iter().filter_map(|(rung, text)| Some((rung, text.as_ref()?))).collect(),
            syntax: Some(LanguageFamily::Plain),
        }
    });
    candidates.collect()
}

/// Puts everything that was found before the guard.
pub(super) fn admit(
    context: &TaskContext,
    request: &AssemblyRequest<'_>,
    screen: &mut Screen<'_, TaskPlace>,
) -> Offers {
    let (depth, workers) = (request.settings.context, request.workers);
    let mut offered = |candidates: &[Candidate<'_>]| -> Vec<Offer> {
        let looker = &*screen;
        let looks = workers::map_with_workers(workers, candidates, |candidate| candidate.looks(looker));
        candidates.iter().zip(looks).map(|(candidate, looks)| offer_candidate(candidate, looks, screen)).collect()
    };
    let offers = Offers {
        files: offered(&found_file_candidates(context, depth)),
        changed: offered(&change_candidates(context)),
    };
    for (index, commit) in context.commits.iter().enumerate() {
        screen.admit(TaskPlace::Commit(index), &format!("commit {}", index.saturating_add(1)), commit, None);
    }
    for (index, file) in context.folder_rules.iter().enumerate() {
        if let RuleText::Outside(text) = &file.text {
            let what = format!("rule file {} of a folder", index.saturating_add(1));
            screen.admit(TaskPlace::FolderRules(index), &what, text, None);
        }
    }
    offers
}

/// Whether a depth shows a rung.
const fn allows(depth: ContextDepth, rung: Rung) -> bool {
    match depth {
        ContextDepth::None | ContextDepth::Paths => false,
        ContextDepth::Outline => matches!(rung, Rung::Outline),
        ContextDepth::Parts => matches!(rung, Rung::Parts | Rung::Excerpt | Rung::Outline),
        ContextDepth::Full => true,
    }
}

/// The offer of a file: the renderings that the guard clears, and its name.
fn offer_candidate(candidate: &Candidate<'_>, looks: CandidateLooks, screen: &mut Screen<'_, TaskPlace>) -> Offer {
    let Candidate { what, named, about, place, texts, syntax } = candidate;
    screen.looked(looks.texts.len().saturating_add(1));
    if looks.name.verdict > Verdict::Allow {
        screen.note_instead(what, looks.name, None);
        return Offer { withheld: true, ..Offer::default() };
    }
    screen.keep_cleared(*named, what, about);
    let mut rungs = Vec::new();
    let (mut suspicious, mut instead) = (None, None);
    for ((rung, text), look) in texts.iter().zip(looks.texts) {
        if look.verdict == Verdict::Allow {
            if rungs.is_empty() {
                screen.keep_cleared(*place, what, text);
            }
            rungs.push(*rung);
            continue;
        }
        // A sentence that is like an attack is no reason to hide all of a file. One that is an attack is.
        let is_doubtful = look.verdict == Verdict::Flag && rungs.is_empty();
        if let Some(rest) = is_doubtful.then(|| screen.without_lines(place, text, *syntax)).flatten() {
            screen.keep_cleared(*place, what, &rest);
            rungs.push(*rung);
            instead = Some((*rung, rest));
        }
        suspicious = suspicious.or(Some(look));
    }
    let withheld = suspicious.is_some();
    if let Some(look) = suspicious {
        let instead = match rungs.first() {
            Some(_) if instead.is_some() => "the rest of it",
            Some(Rung::Outline) => "its outline",
            Some(_) => "another part of it",
            None => "its path",
        };
        screen.note_instead(what, look, Some(instead));
    }
    rungs.push(Rung::Named);
    Offer { rungs, instead, withheld }
}

impl Offers {
    /// The rungs of a text, once all texts were looked at together.
    fn rungs<'o>(&'o self, of: &'o Offer, text: &TaskPlace, screen: &Screen<'_, TaskPlace>) -> &'o [Rung] {
        let named = of.rungs.len().saturating_sub(1);
        if screen.keeps(text) { &of.rungs } else { of.rungs.get(named..).unwrap_or_default() }
    }

    /// The items of the section `code`, and for each the place of its file.
    pub(super) fn files(&self, context: &TaskContext, screen: &Screen<'_, TaskPlace>) -> Vec<(usize, LabelTree)> {
        let found = context.files.iter().zip(&self.files).enumerate();
        let shown = found.filter(|(index, _)| screen.keeps(&TaskPlace::FoundFile(*index)));
        shown
            .map(|(index, (file, offer))| {
                let rungs = self.rungs(offer, &TaskPlace::FoundText(index), screen);
                let own = |rung: Rung| match rung {
                    Rung::Full => file.full.as_ref(),
                    Rung::Parts => file.parts.as_ref(),
                    Rung::Excerpt => file.excerpt.as_ref(),
                    Rung::Outline => file.outline.as_ref(),
                    _ => None,
                };
                let of = |rung: Rung| offer.text(rung, own(rung));
                let fields = [
                    ("path", file.path.clone().into()),
                    ("about", file.about()),
                    ("share", priority_share(file.likely).into()),
                ];
                (index, LabelTree::map(fields.into_iter().chain(cleared_renderings(rungs, of))))
            })
            .collect()
    }

    /// The items of the section `diff`.
    pub(super) fn changed(&self, context: &TaskContext, screen: &Screen<'_, TaskPlace>) -> Vec<LabelTree> {
        let files = context.change.iter().flat_map(|change| &change.files);
        let shown = files.zip(&self.changed).enumerate();
        let shown = shown.filter(|(index, _)| screen.keeps(&TaskPlace::ChangedFile(*index)));
        shown
            .map(|(index, (file, offer))| {
                let rungs = self.rungs(offer, &TaskPlace::Difference(index), screen);
                let own = |rung: Rung| match rung {
                    Rung::Full => file.difference.as_ref(),
                    Rung::Parts => file.begun.as_ref(),
                    _ => None,
                };
                let of = |rung: Rung| offer.text(rung, own(rung));
                let fields = [("path", file.path.clone().into()), ("size", file.size.as_str().into())];
                LabelTree::map(fields.into_iter().chain(cleared_renderings(rungs, of)))
            })
            .collect()
    }

    /// The account of each file: its offer, the part that the fit left of it, and the reason.
    pub(super) fn account(&self, items: &[usize], report: &Report) -> Vec<FoundAccount> {
        let section = report.sections.iter().find(|section| section.name == "code");
        let is_there = section.is_some_and(|section| section.range.is_some());
        let lower = |item: usize| {
            let shrunk = section.into_iter().flat_map(|section| &section.shrunk);
            shrunk.filter(|shrunk| shrunk.input == "code").find(|shrunk| shrunk.item == Some(item)).map(|s| s.rung)
        };
        let account = |(index, offer): (usize, &Offer)| {
            let offered = offer.rungs.first().copied().unwrap_or(Rung::Omitted);
            let item = items.iter().position(|of| *of == index);
            let stands = item.map(|item| lower(item).unwrap_or(offered)).filter(|_| is_there);
            let shown = stands.filter(|rung| !matches!(rung, Rung::Count | Rung::Omitted));
            let reason = match shown {
                _ if offer.withheld => Some("the guard keeps a part of it out"),
                Some(rung) if rung == offered => None,
                _ => Some(OVER_BUDGET),
            };
            FoundAccount { index, shown, offered, reason }
        };
        self.files.iter().enumerate().map(account).collect()
    }
}

/// Which share of the section's priority a file has, in percent, of one that is so likely: what is shown of it helps if
/// the task needs the file, and if it is what the task needs of it, which is as unsure.
fn priority_share(likely: u8) -> u64 {
    u64::from(likely).saturating_mul(u64::from(likely)).div_ceil(100)
}

fn cleared_renderings(
    rungs: &[Rung],
    of: impl Fn(Rung) -> Option<Untrusted<String>>,
) -> impl Iterator<Item = (&'static str, LabelTree)> {
    let rendering = move |rung: &Rung| match of(*rung) {
        Some(text) => (rung.as_str(), text.into()),
        // A name needs no more than what is there anyway.
        None => (rung.as_str(), "".into()),
    };
    rungs.iter().map(rendering).collect::<Vec<_>>().into_iter()
}

/// The items of a section of rule files, by their texts as the guard left them.
pub(super) fn rule_items(files: impl Iterator<Item = (Untrusted<String>, LabelTree)>) -> LabelTree {
    let item = |(name, text): (Untrusted<String>, LabelTree)| {
        let rungs = [("full", Cut::Full), ("parts", Cut::Parts), ("outline", Cut::Outline), ("named", Cut::Named)];
        let cuts = rungs.into_iter().filter_map(|(rung, cut)| Some((rung, cut.of(&text)?)));
        LabelTree::map([("name", LabelTree::from(name))].into_iter().chain(cuts))
    };
    LabelTree::list(files.map(item).collect::<Vec<_>>())
}

#[derive(Debug, Clone, Copy)]
enum Cut {
    Full,
    Parts,
    Outline,
    Named,
}

impl Cut {
    /// A text that was looked at, cut. A mark that the guard asks for stays.
    fn of(self, text: &LabelTree) -> Option<LabelTree> {
        let (LabelTree::Outside(whole) | LabelTree::Flagged(whole)) = text else { return None };
        let is_short = whole.measure(|whole| rule_text::rule_renderings(whole).full.is_some());
        if matches!(self, Self::Full) && !is_short {
            return None;
        }
        let cut = whole.clone().map(|whole| {
            let rendered = rule_text::rule_renderings(&whole);
            match self {
                Self::Full => whole,
                Self::Parts => rendered.parts,
                Self::Outline => rendered.outline,
                Self::Named => rendered.named,
            }
        });
        Some(text.with_outside(cut))
    }
}
