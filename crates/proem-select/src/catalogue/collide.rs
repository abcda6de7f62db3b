//! Gives every entry a name of its own.
//!
//! Of several entries that want one name, the one that is vouched for best keeps it, if it is the only one so. All
//! others get a part of their hash behind it. So what a project ships never takes the name of what the user wrote, and
//! of equals none takes the other's. The same entry in several files is one entry.

use std::collections::BTreeMap;

use super::MAX_ENTRIES;
use super::entry::{CatalogueEntry, SourceTrust};
use super::hash::Sha256Hash;
use super::name::CatalogueName;
use super::problem::{CatalogueProblem, FilePosition};

/// An entry with its name.
#[derive(Debug)]
pub(super) struct NamedEntry {
    pub(super) name: CatalogueName,
    pub(super) entry: CatalogueEntry,
    pub(super) collided: bool,
}

/// Names the entries; what that costs is a problem each, however many entries it concerns.
pub(super) fn resolve_name_collisions(
    entries: Vec<CatalogueEntry>,
    problems: &mut Vec<CatalogueProblem>,
) -> Vec<NamedEntry> {
    let mut wanted: BTreeMap<CatalogueName, Vec<(Sha256Hash, CatalogueEntry)>> = BTreeMap::new();
    for (hash, entry) in distinct_entries(entries, problems) {
        wanted.entry(entry.name.clone()).or_default().push((hash, entry));
    }
    let mut named: BTreeMap<CatalogueName, Vec<NamedEntry>> = BTreeMap::new();
    for (name, group) in wanted {
        if group.len() > 1 {
            problems.push(collision(&name, &group));
        }
        let collided = group.len() > 1;
        let winner = best_standing(group.iter().map(|(_, entry)| entry.standing));
        for (index, (hash, entry)) in group.into_iter().enumerate() {
            let own = if !collided || winner == Some(index) { name.clone() } else { name.suffixed(&hash) };
            named.entry(own.clone()).or_default().push(NamedEntry { name: own, entry, collided });
        }
    }
    limit_entries(named.into_iter().filter_map(|(name, group)| sole_entry(&name, group, problems)).collect(), problems)
}

/// The only one of the best standing.
fn best_standing(standings: impl Iterator<Item = SourceTrust> + Clone) -> Option<usize> {
    let most = standings.clone().max()?;
    let mut of_most = standings.enumerate().filter(|(_, standing)| *standing == most);
    let (index, _) = of_most.next()?;
    of_most.next().is_none().then_some(index)
}

/// Each entry once, by its hash, the best vouched for and then the first by place.
fn distinct_entries(
    entries: Vec<CatalogueEntry>,
    problems: &mut Vec<CatalogueProblem>,
) -> Vec<(Sha256Hash, CatalogueEntry)> {
    let mut sorted: Vec<(Sha256Hash, CatalogueEntry)> =
        entries.into_iter().map(|entry| (entry.hash(entry.server.as_deref().unwrap_or_default()), entry)).collect();
    sorted.sort_by(|(a, x), (b, y)| {
        let key = |entry: &CatalogueEntry| (std::cmp::Reverse(entry.standing), entry.server.clone());
        a.cmp(b).then_with(|| key(x).cmp(&key(y))).then_with(|| x.origin.cmp(&y.origin))
    });
    let mut repeated: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<(Sha256Hash, CatalogueEntry)> = Vec::new();
    for (hash, entry) in sorted {
        match kept.last() {
            Some((last, same)) if *last == hash && same.server == entry.server => {
                if same.origin.file == entry.origin.file {
                    let count = repeated.entry(entry.origin.file).or_default();
                    *count = count.saturating_add(1);
                }
            }
            _ => kept.push((hash, entry)),
        }
    }
    problems.extend(repeated.into_iter().map(|(file, count)| CatalogueProblem {
        file,
        at: FilePosition::Whole,
        message: format!("{count} entries repeat another one word for word; one of each is kept"),
        remedy: "remove the copies".into(),
    }));
    kept
}

fn collision(name: &CatalogueName, group: &[(Sha256Hash, CatalogueEntry)]) -> CatalogueProblem {
    let mut files: Vec<&str> = group.iter().map(|(_, entry)| entry.origin.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let more = files.len().saturating_sub(3);
    let shown = files.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    let and = if more > 0 { format!(" and {more} more files") } else { String::new() };
    let keeps = match best_standing(group.iter().map(|(_, entry)| entry.standing)) {
        Some(_) => "the approved one keeps the name, the others get a suffix",
        None => "each gets a suffix",
    };
    CatalogueProblem {
        file: files.first().map(|file| (*file).to_owned()).unwrap_or_default(),
        at: FilePosition::Whole,
        message: format!("{} different entries have the name `{name}` ({shown}{and}); {keeps}", group.len()),
        remedy: "rename or remove all but one".into(),
    }
}

/// The entry that has a name for itself. If a suffix meets a name that somebody chose, the best vouched for stays and
/// the others are left out.
fn sole_entry(
    name: &CatalogueName,
    mut group: Vec<NamedEntry>,
    problems: &mut Vec<CatalogueProblem>,
) -> Option<NamedEntry> {
    if group.len() == 1 {
        return group.pop();
    }
    let winner = best_standing(group.iter().map(|named| named.entry.standing));
    let lost = group.len().saturating_sub(usize::from(winner.is_some()));
    problems.push(CatalogueProblem {
        file: group.iter().map(|named| named.entry.origin.file.clone()).min().unwrap_or_default(),
        at: FilePosition::Whole,
        message: format!(
            "{lost} entries have the same name `{name}` as another entry even with a suffix, and are left out"
        ),
        remedy: "rename them".into(),
    });
    winner.and_then(|index| group.into_iter().nth(index))
}

/// At most [`MAX_ENTRIES`], the best vouched for first.
fn limit_entries(mut named: Vec<NamedEntry>, problems: &mut Vec<CatalogueProblem>) -> Vec<NamedEntry> {
    let over = named.len().saturating_sub(MAX_ENTRIES);
    if over == 0 {
        return named;
    }
    named.sort_by(|a, b| b.entry.standing.cmp(&a.entry.standing).then_with(|| a.name.cmp(&b.name)));
    named.truncate(MAX_ENTRIES);
    problems.push(CatalogueProblem {
        file: "the catalogue".into(),
        at: FilePosition::Whole,
        message: format!("{over} entries beyond {MAX_ENTRIES} are left out"),
        remedy: "split the catalogue by project, or remove unused entries".into(),
    });
    named
}
