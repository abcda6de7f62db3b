//! The tools and skills that a task may use, read from files that others wrote.
//!
//! Each kind of file has a reader ([`tools_list`], [`skill`], [`own`], [`lines`]), and [`servers`]
//! knows which MCP servers are configured. A reader answers with everything it could read and
//! with every problem: one broken entry never loses the others. [`Catalogue::new`] lays it all
//! together: it names entries, applies overlays and says what a person approved.
//!
//! Invariants: the result doesn't depend on the order of the files. Names are unique and match `[A-Za-z0-9_-]{1,64}`.
//! An entry that nobody vouched for never takes the name of one that somebody did. Nothing is left out without a
//! [`CatalogueProblem`]. A definition leaves its `Untrusted` only by [`Capability::approved`], and only if it is
//! approved. The commands, arguments, environments and headers of an MCP configuration are never read.

mod capability;
mod collide;
mod embedding;
mod entry;
pub mod finding;
mod hash;
mod jsonc;
pub mod lines;
pub mod manifest;
mod modes;
mod name;
pub mod own;
mod problem;
mod reading;
pub mod servers;
mod signature;
pub mod skill;
pub mod tools_list;

use std::collections::{BTreeMap, BTreeSet};

pub use capability::{Approval, ApprovedDefinition, Capability, signature};
pub use embedding::{EmbeddingScope, EmbeddingTally, embedded_texts, vectorise, vectorise_texts};
pub use entry::{
    CatalogueContents, CatalogueEntry, CatalogueEntryKind, Definition, EntryLocation, Overlay, SourceFile, SourceTrust,
};
pub use finding::{EntryConcern, EntryConcernKind, findings};
pub use hash::{Sha256Hash, text_hash};
pub use lines::parse_lines;
pub use manifest::Manifest;
pub use modes::Modes;
pub use name::{CatalogueName, JOINER};
pub use problem::{CatalogueProblem, FilePosition};

/// The most entries of a catalogue.
pub const MAX_ENTRIES: usize = 10_000;
/// The longest description, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 16 * 1024;
/// The largest JSON schema of parameters, in bytes of canonical JSON.
pub const MAX_PARAMETERS_BYTES: usize = 64 * 1024;
/// The most examples of one entry.
pub const MAX_EXAMPLES: usize = 32;
/// The longest example, in bytes.
pub const MAX_EXAMPLE_BYTES: usize = 1024;
/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 16 * 1024 * 1024;
/// The most tags of one entry.
pub const MAX_TAGS: usize = 16;
/// The longest name that an entry may have in its file, in bytes.
pub const MAX_OWN_NAME_BYTES: usize = 200;

/// The definitions that a person approved, by the entry's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals(BTreeMap<String, BTreeSet<Sha256Hash>>);

impl Approvals {
    /// Adds the hash of a definition that a person approved.
    pub fn insert(&mut self, name: &str, hash: Sha256Hash) {
        self.0.entry(name.to_owned()).or_default().insert(hash);
    }

    /// Whether exactly this definition was approved under this name.
    #[must_use]
    pub fn covers(&self, name: &str, hash: &Sha256Hash) -> bool {
        self.0.get(name).is_some_and(|hashes| hashes.contains(hash))
    }

    /// Whether any definition was ever approved under this name.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|hashes| !hashes.is_empty())
    }
}

/// Everything that may be selected, with every problem met on the way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    entries: Vec<Capability>,
    problems: Vec<CatalogueProblem>,
}

impl Catalogue {
    /// Names what was read, applies the overlays and marks what is approved.
    #[must_use]
    pub fn new(parsed: CatalogueContents, approvals: &Approvals) -> Self {
        let CatalogueContents { entries, overlays, mut problems, .. } = parsed;
        let named = collide::resolve_name_collisions(entries, &mut problems);
        let mut entries: BTreeMap<CatalogueName, Capability> =
            named.into_iter().map(|named| (named.name.clone(), Capability::new(named, approvals))).collect();
        own::overlay(&mut entries, overlays, &mut problems);
        Self { entries: entries.into_values().collect(), problems: problem::limit_problems(problems) }
    }

    /// The entries, by name.
    #[must_use]
    pub fn entries(&self) -> &[Capability] {
        &self.entries
    }

    /// The entry of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Capability> {
        let index = self.entries.binary_search_by(|entry| entry.name().as_str().cmp(name)).ok()?;
        self.entries.get(index)
    }

    /// The problems of the files, by file and place.
    #[must_use]
    pub fn problems(&self) -> &[CatalogueProblem] {
        &self.problems
    }
}
