//! The concerns that a person should know about before approving an entry.

use std::collections::{BTreeMap, BTreeSet};

use proem_guard::{ContainmentPart, FindingKind as Noticed, Guard, InstallationKey, Severity, Tag, Untrusted, contain};
use serde_json::Value as Json;

use super::Catalogue;
use super::capability::Capability;
use super::name::{CatalogueName, JOINER};

/// One thing about one entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryConcern {
    /// The entry that it is about.
    pub name: CatalogueName,
    /// Its kind.
    pub kind: EntryConcernKind,
}

/// The kind of concern about an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryConcernKind {
    /// It was approved, and says something else since.
    Changed,
    /// Hidden characters, or markup that imitates the structure of a prompt.
    Markup {
        /// Where: `description`, `parameters` or `examples`.
        place: &'static str,
        /// The finding there.
        kind: Noticed,
        /// How often.
        count: usize,
    },
    /// Words that try to steer whoever reads them.
    Steering {
        /// Where: `description`, `parameters` or `examples`.
        place: &'static str,
        /// The attempt of the words.
        kind: Noticed,
        /// The guard's rule that found it.
        rule: &'static str,
    },
    /// Its description names a tool of another server.
    NamesAnother {
        /// That tool.
        other: CatalogueName,
    },
    /// It has no server, and its name begins like the tools of one.
    ImitatesServer {
        /// That server.
        server: CatalogueName,
    },
    /// Another entry wants its name.
    Collides,
    /// Its name in its file holds characters that a name can't, or is too long.
    NameDoesNotFit,
    /// It doesn't say what it does.
    NoDescription,
    /// It is larger than a limit, and was cut.
    OverLimit {
        /// The part that was cut.
        what: &'static str,
    },
}

impl EntryConcernKind {
    /// The word used in JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Markup { .. } => "markup",
            Self::Steering { .. } => "steering",
            Self::NamesAnother { .. } => "names-another",
            Self::ImitatesServer { .. } => "imitates-server",
            Self::Collides => "collides",
            Self::NameDoesNotFit => "name-does-not-fit",
            Self::NoDescription => "no-description",
            Self::OverLimit { .. } => "over-limit",
        }
    }

    /// The finding in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Changed => "it has changed since it was approved".into(),
            Self::Markup { place, kind, count } => {
                let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
                format!("{} in its {place}, {times}", kind.in_words())
            }
            Self::Steering { place, kind, rule } => format!("{} in its {place} ({rule})", kind.in_words()),
            Self::NamesAnother { other } => format!("its description names `{other}`, a tool of another server"),
            Self::ImitatesServer { server } => format!("its name has the prefix of the tools of server `{server}`"),
            Self::Collides => "another entry has the same name".into(),
            Self::NameDoesNotFit => "its name contained invalid characters, and was changed".into(),
            Self::NoDescription => "it has no description".into(),
            Self::OverLimit { what } => format!("over the limit, so something was cut: its {what}"),
        }
    }
}

/// Looks at every entry. By name, the gravest first. Without a guard, words are not looked at.
#[must_use]
pub fn findings(catalogue: &Catalogue, guard: Option<&Guard>) -> Vec<EntryConcern> {
    let others = Others::of(catalogue);
    let mut all: Vec<EntryConcern> = Vec::new();
    for entry in catalogue.entries() {
        let mut kinds: Vec<EntryConcernKind> = Vec::new();
        let mut add = |is: bool, kind: EntryConcernKind| {
            if is {
                kinds.push(kind);
            }
        };
        add(entry.changed(), EntryConcernKind::Changed);
        add(entry.collided(), EntryConcernKind::Collides);
        add(entry.renamed(), EntryConcernKind::NameDoesNotFit);
        let empty = entry.definition().description.measure(|text| text.trim().is_empty());
        add(empty, EntryConcernKind::NoDescription);
        kinds.extend(entry.cut().iter().map(|what| EntryConcernKind::OverLimit { what }));
        kinds.extend(markup(entry));
        kinds.extend(guard.into_iter().flat_map(|guard| steering(entry, guard)));
        kinds.extend(others.named_by(entry));
        kinds.extend(others.imitated_by(entry));
        kinds.sort();
        all.extend(kinds.into_iter().map(|kind| EntryConcern { name: entry.name().clone(), kind }));
    }
    all
}

/// The entry's texts by place.
fn texts_by_place(entry: &Capability) -> [(&'static str, Vec<Untrusted<String>>); 3] {
    let definition = entry.definition();
    let schema = definition.parameters.clone().map(|schema| schema.map(|schema| schema_texts(&schema)));
    [
        ("description", vec![definition.description.clone()]),
        ("parameters", schema.into_iter().collect()),
        ("examples", definition.examples.clone()),
    ]
}

/// The rules' findings in the entry's texts. A description of a tool speaks about using it, so requests for tools count
/// for nothing here, and neither does a learned score of prose.
fn steering(entry: &Capability, guard: &Guard) -> BTreeSet<EntryConcernKind> {
    let mut found = BTreeSet::new();
    for (place, texts) in texts_by_place(entry) {
        for scan in texts.iter().map(|text| guard.scan(text)) {
            let steers = |kind: Noticed| {
                use Noticed::{Encoded, Exfiltration, Extraction, Override, Persona, SocialEngineering};
                matches!(kind, Encoded | Exfiltration | Extraction | Override | Persona | SocialEngineering)
            };
            let grave = scan.findings.iter().filter(|found| found.severity > Severity::Low && steers(found.kind));
            found.extend(grave.map(|found| EntryConcernKind::Steering { place, kind: found.kind, rule: found.rule }));
        }
    }
    found
}

/// The parts of the entry's texts that containment would have to neutralise.
fn markup(entry: &Capability) -> Vec<EntryConcernKind> {
    let mut found = Vec::new();
    for (place, texts) in texts_by_place(entry) {
        let mut counts: BTreeMap<Noticed, usize> = BTreeMap::new();
        for text in texts.iter().filter(|text| !text.is_empty()) {
            for kind in noticed_in(text) {
                let count = counts.entry(kind).or_default();
                *count = count.saturating_add(1);
            }
        }
        found.extend(counts.into_iter().map(|(kind, count)| EntryConcernKind::Markup { place, kind, count }));
    }
    found
}

fn noticed_in(text: &Untrusted<String>) -> Vec<Noticed> {
    // Only what is found matters. The result is thrown away, so any key does.
    let Some(tag) = Tag::new("catalogue") else { return Vec::new() };
    let contained = contain(&[ContainmentPart::Outside(text)], &tag, &InstallationKey::new([0; 32]));
    contained.findings().iter().map(|finding| finding.kind).collect()
}

/// Every text of a schema, keys included, one on each line.
fn schema_texts(schema: &Json) -> String {
    let schema = proem_engine::ordered_json::OrderedJson::from(schema.clone());
    let mut texts = Vec::new();
    proem_engine::input::collect_ordered(&schema, &mut texts);
    texts.join("\n")
}

/// The names that entries of other servers have.
struct Others<'c> {
    /// The servers by name.
    servers: BTreeSet<&'c str>,
    /// Full names, and own names that are no ordinary word, with one entry of each server.
    names: BTreeMap<String, Vec<&'c Capability>>,
}

impl<'c> Others<'c> {
    fn of(catalogue: &'c Catalogue) -> Self {
        let mut names: BTreeMap<String, Vec<&Capability>> = BTreeMap::new();
        let tools = catalogue.entries().iter().filter(|entry| entry.server().is_some());
        for entry in tools.clone() {
            let full = entry.name().as_str();
            let own = full.split_once(JOINER).map(|(_, own)| own).filter(|own| is_compound(own));
            for name in [Some(full), own].into_iter().flatten() {
                let owners = names.entry(name.to_owned()).or_default();
                // The tools of a server stand side by side, so the last one is enough to compare with.
                if owners.last().is_none_or(|last| last.server() != entry.server()) {
                    owners.push(entry);
                }
            }
        }
        Self { servers: tools.filter_map(Capability::server).map(CatalogueName::as_str).collect(), names }
    }

    /// The first other server's tool that the description names.
    fn named_by(&self, entry: &Capability) -> Option<EntryConcernKind> {
        let server = entry.server();
        let mut other: Option<&Capability> = None;
        entry.definition().description.measure(|text| {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
            other = words.filter_map(|word| self.names.get(word)).find_map(|owners| {
                let is_own = owners.iter().any(|owner| owner.server() == server || owner.name() == entry.name());
                if is_own { None } else { owners.first().copied() }
            });
        });
        other.map(|other| EntryConcernKind::NamesAnother { other: other.name().clone() })
    }

    fn imitated_by(&self, entry: &Capability) -> Option<EntryConcernKind> {
        let server = entry.name().server_part().filter(|_| entry.server().is_none())?;
        let server = CatalogueName::new(server).filter(|server| self.servers.contains(server.as_str()))?;
        Some(EntryConcernKind::ImitatesServer { server })
    }
}

/// Whether a name is more than an ordinary word: `create_issue`, `createIssue`, not `search`.
fn is_compound(name: &str) -> bool {
    let inner_upper = name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    name.contains('_') || (name.contains('-') && name.len() > 8) || inner_upper
}
