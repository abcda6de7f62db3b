//! A section of a prompt file.

use std::collections::BTreeSet;

use super::markers::MediaMarker;
use crate::message::Role;
use crate::prompt::template::Template;
use crate::section::SectionSpec;

/// One section of a strict prompt, ready to render.
#[derive(Debug, Clone)]
pub struct Section {
    /// The file's declaration of it.
    pub spec: SectionSpec,
    /// The role of its message.
    pub role: Role,
    /// The inputs that its template reads.
    pub inputs: BTreeSet<String>,
    pub(crate) template: Template,
    /// The pictures and files that it brings. Then it has no text.
    pub(crate) media: Vec<MediaMarker>,
}

impl Section {
    pub(super) const fn new(spec: SectionSpec, role: Role) -> Self {
        Self { spec, role, inputs: BTreeSet::new(), template: Template::EMPTY, media: Vec::new() }
    }
}
