//! The facts of paths and persons in a change's base, remembered for the changes of a command.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use proem_risk::history::ObjectId;
use proem_risk::identity::Mailmap;
use proem_risk::path::GitAttributes;

use super::listing::RawDiffEntry;
use crate::{Error, git::Session};

/// The attributes and the mailmap of one commit.
#[derive(Debug, Clone, Default)]
pub(crate) struct BaseFacts {
    pub(crate) attributes: Arc<GitAttributes>,
    pub(crate) mailmap: Arc<Mailmap>,
}

/// The facts of the bases that were read.
#[derive(Debug, Default)]
pub(crate) struct BaseFactsMemory(Mutex<BTreeMap<ObjectId, BaseFacts>>);

impl BaseFactsMemory {
    /// The facts of a commit. Nothing without one.
    ///
    /// # Errors
    ///
    /// If git can't list the files of the commit.
    pub(crate) fn of(&self, session: &Session<'_>, base: Option<&ObjectId>) -> Result<BaseFacts, Error> {
        let Some(id) = base else { return Ok(BaseFacts::default()) };
        if let Some(facts) = self.find(id) {
            return Ok(facts);
        }
        let mailmap = crate::history::file_at(session, id, ".mailmap", &mut Vec::new())?;
        let attributes = Arc::new(super::attributes_of(session, base)?);
        let facts = BaseFacts { attributes, mailmap: Arc::new(Mailmap::read(&mailmap)) };
        self.remember(*id, facts.clone());
        Ok(facts)
    }

    /// Takes over the facts of a commit for its parent, if the commit changes none of their files.
    pub(super) fn take_over(&self, commit: &ObjectId, parent: &ObjectId, entries: &[RawDiffEntry]) {
        let paths = entries.iter().flat_map(|entry| [Some(&entry.path), entry.from.as_ref()]).flatten();
        let is_source = |path: &[u8]| path == b".mailmap" || path.ends_with(b".gitattributes");
        if let Some(facts) = self.find(commit).filter(|_| paths.into_iter().all(|path| !is_source(path.as_bytes()))) {
            self.remember(*parent, facts);
        }
    }

    fn find(&self, id: &ObjectId) -> Option<BaseFacts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn remember(&self, id: ObjectId, facts: BaseFacts) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_insert(facts);
    }
}
