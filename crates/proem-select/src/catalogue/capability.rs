//! One entry of the catalogue.

use std::collections::BTreeSet;

use proem_guard::{Untrusted, show};
use proem_text::json;
use serde_json::Value as Json;

use super::Approvals;
use super::collide::NamedEntry;
use super::entry::{CatalogueEntryKind, Definition, EntryLocation, Overlay, SourceTrust};
use super::hash::{Sha256Hash, text_hash};
use super::modes::Modes;
use super::name::CatalogueName;
use super::signature::parameter_signature;
use super::{MAX_EXAMPLES, MAX_TAGS};

/// Whether an entry's definition may be in the prefix as a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approval {
    /// It is the user's own, trusted, or a person approved its hash.
    Approved,
    /// Nobody vouched for it: its name and signature may be shown, contained.
    Outside,
}

/// A tool or skill that may be selected.
#[derive(Debug, Clone, PartialEq)]
pub struct Capability {
    name: CatalogueName,
    kind: CatalogueEntryKind,
    server: Option<CatalogueName>,
    own_name: Untrusted<String>,
    definition: Definition,
    origin: EntryLocation,
    standing: SourceTrust,
    written: Untrusted<String>,
    hash: Sha256Hash,
    approval: Approval,
    collided: bool,
    renamed: bool,
    changed: bool,
    cut: BTreeSet<&'static str>,
}

/// A definition that a person approved: text that may be where ours does.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedDefinition {
    /// The entry's description.
    pub description: String,
    /// The JSON schema of its parameters.
    pub parameters: Option<Json>,
    /// Its name with the names and types of its parameters.
    pub signature: String,
}

impl Capability {
    pub(super) fn new(named: NamedEntry, approvals: &Approvals) -> Self {
        let NamedEntry { name, entry, collided } = named;
        let written = entry.written(name.as_str());
        let hash = text_hash(&written);
        let vouched = entry.standing > SourceTrust::Outside || approvals.covers(name.as_str(), &hash);
        let renamed = !entry.own_name.measure(|own| CatalogueName::new(own).is_some());
        Self {
            kind: entry.kind,
            server: entry.server.as_deref().map(CatalogueName::server),
            own_name: entry.own_name,
            definition: entry.definition,
            origin: entry.origin,
            standing: entry.standing,
            written,
            hash,
            approval: if vouched { Approval::Approved } else { Approval::Outside },
            collided,
            renamed,
            changed: !vouched && approvals.knows(name.as_str()),
            cut: entry.cut.into_iter().collect(),
            name,
        }
    }

    /// Its name in the catalogue, unique there.
    #[must_use]
    pub const fn name(&self) -> &CatalogueName {
        &self.name
    }

    /// Tool, skill, agent and so on.
    #[must_use]
    pub const fn kind(&self) -> CatalogueEntryKind {
        self.kind
    }

    /// The server it belongs to, reduced to a name.
    #[must_use]
    pub const fn server(&self) -> Option<&CatalogueName> {
        self.server.as_ref()
    }

    /// Its name in the file it was read from.
    #[must_use]
    pub const fn own_name(&self) -> &Untrusted<String> {
        &self.own_name
    }

    /// Its own definition, with the additions of overlays.
    #[must_use]
    pub const fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The place it was read from.
    #[must_use]
    pub const fn origin(&self) -> &EntryLocation {
        &self.origin
    }

    /// The trust in its words.
    #[must_use]
    pub const fn standing(&self) -> SourceTrust {
        self.standing
    }

    /// All that its author wrote, as canonical JSON on many lines. Overlays are not part of it.
    #[must_use]
    pub const fn written(&self) -> &Untrusted<String> {
        &self.written
    }

    /// The SHA-256 of [`Self::written`].
    #[must_use]
    pub const fn hash(&self) -> &Sha256Hash {
        &self.hash
    }

    /// Whether its definition may be in the prefix.
    #[must_use]
    pub const fn approval(&self) -> Approval {
        self.approval
    }

    /// Whether another entry wanted the same name.
    #[must_use]
    pub const fn collided(&self) -> bool {
        self.collided
    }

    /// Whether its own name doesn't match the rule for names.
    #[must_use]
    pub const fn renamed(&self) -> bool {
        self.renamed
    }

    /// Whether another definition was approved under its name, and this one wasn't.
    #[must_use]
    pub const fn changed(&self) -> bool {
        self.changed
    }

    /// The limits that cut it: `description`, `parameters`, `examples`, `tags`.
    #[must_use]
    pub const fn cut(&self) -> &BTreeSet<&'static str> {
        &self.cut
    }

    /// The definition as plain text. `None` unless it is approved.
    ///
    /// This is the one way in which a definition stops being untrusted.
    #[must_use]
    pub fn approved(&self) -> Option<ApprovedDefinition> {
        if self.approval != Approval::Approved {
            return None;
        }
        let text = |text: &Untrusted<String>| show::exact_json(text).as_str().unwrap_or_default().to_owned();
        let parameters = self.definition.parameters.clone().map(|schema| schema.map(|schema| json::compact(&schema)));
        Some(ApprovedDefinition {
            description: text(&self.definition.description),
            parameters: parameters.and_then(|schema| serde_json::from_str(&text(&schema)).ok()),
            signature: text(&signature(self)),
        })
    }

    /// The parameters as canonical JSON on one line, untrusted like the schema itself.
    #[must_use]
    pub fn parameters_text(&self) -> Option<Untrusted<String>> {
        self.definition.parameters.clone().map(|schema| schema.map(|schema| json::compact(&schema)))
    }

    /// Lays an overlay over it; what somebody else wrote may only restrict.
    pub(super) fn apply(&mut self, overlay: Overlay) {
        let Overlay { modes, tags, examples, standing, .. } = overlay;
        if standing == SourceTrust::Outside {
            self.definition.modes = self.definition.modes.and(modes.unwrap_or(Modes::ANY));
            return;
        }
        self.definition.modes = modes.unwrap_or(self.definition.modes);
        self.definition.tags.extend(tags);
        self.definition.tags.sort();
        self.definition.tags.dedup();
        self.definition.tags.truncate(MAX_TAGS);
        self.definition.examples.extend(examples);
        self.definition.examples.truncate(MAX_EXAMPLES);
    }
}

/// The entry's name with the names and types of its parameters, such as
/// `github__create_issue(title: string, body?: string, labels?: string[])`.
///
/// Descriptions, allowed values and defaults never get into it. Required parameters come first, then by name. `?` marks
/// optional ones. Parameters whose name is no identifier of at most 64 characters, and those beyond twelve, are
/// counted: `+3 more`. A skill's signature is its name. It stays untrusted, since its author chose the names.
#[must_use]
pub fn signature(capability: &Capability) -> Untrusted<String> {
    let name = capability.name().as_str().to_owned();
    match (&capability.definition().parameters, capability.kind()) {
        (Some(schema), _) => schema.clone().map(|schema| format!("{name}({})", parameter_signature(&schema))),
        (None, CatalogueEntryKind::Tool) => capability.own_name().clone().map(|_| format!("{name}()")),
        (None, CatalogueEntryKind::Skill) => capability.own_name().clone().map(|_| name),
    }
}
