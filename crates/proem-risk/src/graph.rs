//! The files that each file depends on.
//!
//! Files are numbered by the caller. Fan-in counts importers in product code: test code and
//! generated code never count, and a module that declares another as its part imports nothing by
//! that. Everything here is iterative and linear in the number of edges at most, cycles or not.

use alloc::{collections::BTreeSet, vec, vec::Vec};

/// How one file depends on another, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// A file names the other in an import statement.
    Import,
    /// It imports types of it, of which nothing is left when the program runs.
    TypeOnly,
    /// Test code inside it imports it.
    Test,
    /// It declares it to be a part of its module.
    Ownership,
}

/// A dependency of one file on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The file that imports, by its place in the tree.
    pub from: u32,
    /// The imported file.
    pub to: u32,
    /// How the one depends on the other.
    pub kind: EdgeKind,
    /// How many calls in the importer name something of the imported file. `None` if that is not known.
    pub calls: Option<u32>,
}

/// The other end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Importer {
    /// The neighbour, by its place in the tree.
    pub file: u32,
    /// How it depends, or is depended on.
    pub kind: EdgeKind,
    /// How many calls in the importer name something of the imported file. `None` if that is not known.
    pub calls: Option<u32>,
}

/// How many files import one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FanIn {
    /// Distinct files, those that import types alone among them.
    pub importers: u32,
    /// Those of them that import types alone.
    pub type_only: u32,
    /// Calls in them that name something of the file. `None` if that is not known of one of them.
    pub calls: Option<u32>,
}

impl FanIn {
    /// The importers with those of types alone at half their weight, rounded up.
    ///
    /// A change of behaviour can't break an importer that keeps nothing but a type, a change of shape
    /// can: the weight between none and all is a choice, not a measurement.
    #[must_use]
    pub const fn weighted(self) -> u32 {
        self.importers.saturating_sub(self.type_only / 2)
    }
}

/// How far around a file is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourLimits {
    /// The imports between the file and the last of its neighbours, at most.
    pub hops: u32,
    /// How many of the nearest are named, at most. All of them are counted.
    pub named: usize,
}

/// The neighbours of a file: those that feel a change of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    /// Files that import it.
    pub direct: u32,
    /// Files that import those, up to the limit of imports.
    pub transitive: u32,
    /// The mean distance of all of them, in imports. `None` if there are none.
    pub mean_distance: Option<f64>,
    /// The nearest of them, nearest first and by number, as many as are to be named.
    pub nearest: Vec<u32>,
}

/// The dependencies of numbered files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    files: u32,
    imported: Adjacency,
    importers: Adjacency,
}

/// Edges by one of their ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Adjacency {
    /// The start of each file's edges. One more than there are files.
    starts: Vec<usize>,
    ends: Vec<Importer>,
}

impl Adjacency {
    /// From edges that are sorted by their first end and distinct.
    fn new(files: u32, edges: &[(u32, Importer)]) -> Self {
        let mut starts = Vec::new();
        let mut at = 0;
        for file in 0..files {
            starts.push(at);
            at = edges.partition_point(|(end, _)| *end <= file);
        }
        starts.push(at);
        Self { starts, ends: edges.iter().map(|(_, end)| *end).collect() }
    }

    fn of(&self, file: u32) -> &[Importer] {
        let bounds = usize::try_from(file)
            .ok()
            .and_then(|file| Some((*self.starts.get(file)?, *self.starts.get(file.checked_add(1)?)?)));
        bounds.and_then(|(start, end)| self.ends.get(start..end)).unwrap_or_default()
    }
}

impl Graph {
    /// The graph of `files` files, numbered from zero.
    ///
    /// Of several edges between two files in one direction, the strongest kind stays, with the most calls known of any.
    /// An edge from a file to itself, or to none of the files, is left out.
    #[must_use]
    pub fn new(files: u32, edges: impl IntoIterator<Item = Edge>) -> Self {
        let inside = |edge: &Edge| edge.from != edge.to && edge.from < files && edge.to < files;
        let mut edges: Vec<Edge> = edges.into_iter().filter(inside).collect();
        edges.sort_by_key(|edge| (edge.from, edge.to, edge.kind, core::cmp::Reverse(edge.calls)));
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        let end = |file: u32, edge: &Edge| Importer { file, kind: edge.kind, calls: edge.calls };
        let imported: Vec<_> = edges.iter().map(|edge| (edge.from, end(edge.to, edge))).collect();
        let mut importers: Vec<_> = edges.iter().map(|edge| (edge.to, end(edge.from, edge))).collect();
        importers.sort_unstable();
        Self { files, imported: Adjacency::new(files, &imported), importers: Adjacency::new(files, &importers) }
    }

    /// How many files there are.
    #[must_use]
    pub const fn files(&self) -> u32 {
        self.files
    }

    /// The dependants of `file`, of every kind, by number.
    #[must_use]
    pub fn importers(&self, file: u32) -> &[Importer] {
        self.importers.of(file)
    }

    /// The dependencies of `file`, of every kind, by number.
    #[must_use]
    pub fn imported(&self, file: u32) -> &[Importer] {
        self.imported.of(file)
    }

    /// How many files import `file` in product code. `counted` says which files are product code.
    pub fn fan_in(&self, file: u32, counted: impl Fn(u32) -> bool) -> FanIn {
        let mut fan_in = FanIn { calls: Some(0), ..FanIn::default() };
        for importer in
            self.importers(file).iter().filter(|importer| is_import_edge(importer.kind) && counted(importer.file))
        {
            fan_in.importers = fan_in.importers.saturating_add(1);
            fan_in.type_only = fan_in.type_only.saturating_add(u32::from(importer.kind == EdgeKind::TypeOnly));
            fan_in.calls = fan_in.calls.zip(importer.calls).map(|(sum, calls)| sum.saturating_add(calls));
        }
        fan_in
    }

    /// How many files of product code reach `file` over imports, its direct importers among them.
    ///
    /// An import in a test or a generated file leads no further. A file that reaches itself over a
    /// cycle doesn't count for itself.
    pub fn transitive(&self, file: u32, counted: impl Fn(u32) -> bool) -> u32 {
        let mut seen = SeenFiles::new(self.files);
        seen.mark(file);
        let mut open = vec![file];
        let mut reached: u32 = 0;
        while let Some(at) = open.pop() {
            for importer in self.importers(at) {
                if is_import_edge(importer.kind) && counted(importer.file) && seen.mark(importer.file) {
                    reached = reached.saturating_add(1);
                    open.push(importer.file);
                }
            }
        }
        reached
    }

    /// Whether one of two files depends on the other, in any way: then that they change together is explained.
    #[must_use]
    pub fn imports_between(&self, one: u32, other: u32) -> bool {
        let depends = |from: u32, to: u32| self.imported(from).binary_search_by_key(&to, |end| end.file).is_ok();
        depends(one, other) || depends(other, one)
    }

    /// The importers of `file`, within limits.
    ///
    /// `counted` says which files are product code. A test leads nowhere. Nor does declaring a module.
    pub fn neighbours(&self, file: u32, limits: NeighbourLimits, counted: impl Fn(u32) -> bool) -> Neighbours {
        let mut seen = SeenFiles::new(self.files);
        seen.mark(file);
        let mut neighbours = Neighbours { direct: 0, transitive: 0, mean_distance: None, nearest: Vec::new() };
        let mut ring = BTreeSet::from([file]);
        let mut distances: u64 = 0;
        for distance in 1..=limits.hops {
            let ends = ring.iter().flat_map(|&at| self.importers(at));
            let ends = ends.filter(|end| is_import_edge(end.kind) && counted(end.file));
            ring = ends.map(|end| end.file).filter(|&end| seen.mark(end)).collect();
            let found = u32::try_from(ring.len()).unwrap_or(u32::MAX);
            if found == 0 {
                break;
            }
            let count = if distance == 1 { &mut neighbours.direct } else { &mut neighbours.transitive };
            *count = count.saturating_add(found);
            distances = distances.saturating_add(u64::from(distance).saturating_mul(u64::from(found)));
            let room = limits.named.saturating_sub(neighbours.nearest.len());
            neighbours.nearest.extend(ring.iter().take(room));
        }
        let all = neighbours.direct.saturating_add(neighbours.transitive);
        neighbours.mean_distance = (all > 0).then(|| mean_per_count(distances, all));
        neighbours
    }
}

const fn is_import_edge(kind: EdgeKind) -> bool {
    matches!(kind, EdgeKind::Import | EdgeKind::TypeOnly)
}

#[expect(clippy::cast_precision_loss, reason = "a sum of distances or ranks of at most 2^32 files is far below 2^53")]
fn mean_per_count(sum: u64, count: u32) -> f64 {
    sum as f64 / f64::from(count)
}

/// Marks the files that were seen.
struct SeenFiles(Vec<bool>);

impl SeenFiles {
    fn new(files: u32) -> Self {
        Self(vec![false; usize::try_from(files).unwrap_or(0)])
    }

    /// Marks a file. Whether it was there and not marked yet.
    fn mark(&mut self, file: u32) -> bool {
        let mark = usize::try_from(file).ok().and_then(|file| self.0.get_mut(file));
        mark.is_some_and(|mark| !core::mem::replace(mark, true))
    }
}

#[cfg(test)]
mod tests;
