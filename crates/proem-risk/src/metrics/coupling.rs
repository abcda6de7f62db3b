//! Structural coupling: how many files import a file.
//!
//! Fan-in counts distinct files of product code. A file that imports types alone weighs half
//! ([`crate::graph::FanIn::weighted`]). Files of the same family of languages whose imports could not be read may hide
//! importers: the count is then a lower bound and says so. It is unknown where a low value can't be told from a hidden
//! one: at zero, and where the hidden ones together would exceed LOW.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::words::{count_words, file_count_words};
use super::{DETAILS, Survey};
use crate::change::FileStatus;
use crate::graph::{EdgeKind, FanIn};
use crate::metric::{Exclusion, Metric, MetricName, PercentileRank, Sentence, SentencePart, Signal};
use crate::path::{FileRole, Language};
use crate::tree::{FileTree, Imports};

/// The files that could hide importers, for a family of languages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HiddenImporters {
    /// Files whose imports were not read.
    files: u32,
    /// Imports that lead nowhere, though they should.
    imports: u32,
}

/// Languages whose files import each other.
const FAMILIES: [(&str, &[&str]); 3] = [
    ("JavaScript", &["JavaScript", "JSX", "TypeScript", "TSX", "Vue", "Svelte", "Astro"]),
    ("Java", &["Java", "Kotlin", "Scala", "Groovy"]),
    ("C", &["C", "C++", "Objective-C", "Objective-C++", "CUDA"]),
];

fn family(language: &Language) -> &str {
    let name = language.0.as_str();
    FAMILIES.iter().find(|(_, members)| members.contains(&name)).map_or(name, |(family, _)| family)
}

/// Counts what could hide importers, by family.
pub(super) fn hidden_importers(tree: &FileTree) -> BTreeMap<&str, HiddenImporters> {
    let mut all: BTreeMap<&str, HiddenImporters> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.class.role == FileRole::Code) {
        let Some(language) = &file.class.language else { continue };
        let hidden = all.entry(family(language)).or_default();
        match file.imports {
            Imports::Read { unresolved, .. } => hidden.imports = hidden.imports.saturating_add(unresolved),
            Imports::NoParser | Imports::Unread => hidden.files = hidden.files.saturating_add(1),
            Imports::None => {}
        }
    }
    all
}

/// The fan-in of each file of product code whose imports were read, ascending.
pub(super) fn fan_ins(survey: &Survey<'_>) -> Vec<u32> {
    let Some(tree) = survey.facts().tree else { return Vec::new() };
    let read = (0..)
        .zip(&tree.files)
        .filter(|(_, file)| file.class.role == FileRole::Code && matches!(file.imports, Imports::Read { .. }));
    let mut all: Vec<u32> = read
        .map(|(index, _): (u32, _)| tree.graph.fan_in(index, |other| survey.is_product(other)).weighted())
        .collect();
    all.sort_unstable();
    all
}

/// The place of a changed file in the graph, or the reason that it has none.
fn graph_place<'f>(survey: &Survey<'f>, file: u32) -> Result<(&'f FileTree, u32), &'static str> {
    let tree = survey.facts().tree.ok_or("the files of the repository could not be read")?;
    if survey.file(file).is_some_and(|file| file.status == FileStatus::Deleted) {
        return Err("the file is gone, so who imported it can't be counted after the change");
    }
    let index = survey.tree_index(file).ok_or("the file is not among those that could be read")?;
    let imports = usize::try_from(index).ok().and_then(|index| tree.files.get(index)).map(|file| file.imports);
    match imports {
        Some(Imports::Read { .. }) => Ok((tree, index)),
        Some(Imports::Unread) => Err("the file is too large, took too long to read or is no text"),
        Some(Imports::NoParser) => Err("imports of its language can't be read"),
        Some(Imports::None) | None => Err("files of its kind have no imports"),
    }
}

/// The metric of a file of the change.
pub(super) fn coupling(survey: &Survey<'_>, file: u32) -> Metric {
    let (tree, index) = match graph_place(survey, file) {
        Ok(place) => place,
        Err(because) => return Metric::unknown(MetricName::Coupling, Sentence::ours(because)),
    };
    let fan_in = tree.graph.fan_in(index, |other| survey.is_product(other));
    let value = fan_in.weighted();
    let language = survey.class(index).and_then(|class| class.language.as_ref());
    let hidden = language.map(|language| survey.hidden(family(language))).unwrap_or_default();
    let thresholds = survey.facts().thresholds;
    let signal = thresholds.signal(MetricName::Coupling, f64::from(value));
    let most = thresholds.signal(MetricName::Coupling, f64::from(value.saturating_add(hidden.files)));
    if signal == Signal::Low && hidden.files > 0 && (value == 0 || most != Signal::Low) {
        return Metric::unknown(MetricName::Coupling, hidden_importer_sentence(value, hidden));
    }
    let all = tree.graph.importers(index);
    let details = all.iter().filter(|importer| counts_as_import(importer.kind) && survey.is_product(importer.file));
    let path = |index: u32| {
        usize::try_from(index).ok().and_then(|index| tree.files.get(index)).map(|file| file.path.to_text())
    };
    let details =
        details.filter_map(|importer| path(importer.file).map(|path| Sentence(alloc::vec![SentencePart::Path(path)])));
    Metric {
        rank: PercentileRank::among(survey.fan_ins(), value),
        signal,
        excluded: fan_in_exclusions(survey, tree, index),
        evidence: fan_in_sentence(survey, index, fan_in, hidden),
        details: details.take(DETAILS).collect(),
        total: Some(fan_in.importers),
        ..Metric::of(MetricName::Coupling, f64::from(value))
    }
}

fn counts_as_import(kind: EdgeKind) -> bool {
    matches!(kind, EdgeKind::Import | EdgeKind::TypeOnly)
}

fn hidden_importer_sentence(value: u32, hidden: HiddenImporters) -> Sentence {
    let known = if value == 0 {
        "no file is known to import it".to_string()
    } else {
        format!("{} import it", file_count_words(value))
    };
    Sentence::ours(format!("{known}, but {} of its language could not be read", file_count_words(hidden.files)))
}

fn fan_in_sentence(survey: &Survey<'_>, index: u32, fan_in: FanIn, hidden: HiddenImporters) -> Sentence {
    let mut words = match fan_in.importers {
        0 => "no file imports it".to_string(),
        1 => "1 file imports it".to_string(),
        many => format!("{many} files import it"),
    };
    if fan_in.type_only > 0 {
        words.push_str(&format!(", {} of them types alone, which weigh half", fan_in.type_only));
    }
    let framework = survey.class(index).and_then(|class| class.framework.as_ref());
    if let Some(framework) = framework {
        words.push_str(&format!("; {} couples such files by design", framework.0));
    }
    match (hidden.files, hidden.imports) {
        (0, 0) => {}
        (0, imports) => {
            let imports = count_words(imports, "import", "imports");
            words.push_str(&format!("; a lower bound: {imports} in its language could not be traced to a file"));
        }
        (unread, _) => {
            words.push_str(&format!("; a lower bound: {} of its language could not be read", file_count_words(unread)));
        }
    }
    Sentence::ours(words)
}

fn fan_in_exclusions(survey: &Survey<'_>, tree: &FileTree, index: u32) -> Vec<Exclusion> {
    let importers = tree.graph.importers(index).iter();
    let tests = importers.filter(|importer| {
        importer.kind == EdgeKind::Test || (counts_as_import(importer.kind) && !survey.is_product(importer.file))
    });
    let count = u64::from(super::words::saturating_u32(tests.count()));
    let what = "importers that are tests, generated or vendored".to_string();
    if count > 0 { alloc::vec![Exclusion { what, count }] } else { Vec::new() }
}

/// Files that reach a file of the change over imports.
pub(super) fn transitive(survey: &Survey<'_>, file: u32) -> Metric {
    match graph_place(survey, file) {
        Err(because) => Metric::unknown(MetricName::TransitiveCoupling, Sentence::ours(because)),
        Ok((tree, index)) => {
            let reached = tree.graph.transitive(index, |other| survey.is_product(other));
            let verb = if reached == 1 { "reaches" } else { "reach" };
            Metric {
                evidence: Sentence::ours(format!(
                    "{} {verb} it over imports, directly or not",
                    file_count_words(reached)
                )),
                ..Metric::of(MetricName::TransitiveCoupling, f64::from(reached))
            }
        }
    }
}

/// Calls in the importers of a file of the change.
pub(super) fn call_sites(survey: &Survey<'_>, file: u32) -> Metric {
    let calls = graph_place(survey, file).and_then(|(tree, index)| {
        let fan_in = tree.graph.fan_in(index, |other| survey.is_product(other));
        fan_in.calls.ok_or("calls can't be counted in one of its importers")
    });
    match calls {
        Err(because) => Metric::unknown(MetricName::CallSites, Sentence::ours(because)),
        Ok(calls) => Metric {
            evidence: Sentence::ours(format!("its importers call it in {}", count_words(calls, "place", "places"))),
            ..Metric::of(MetricName::CallSites, f64::from(calls))
        },
    }
}
