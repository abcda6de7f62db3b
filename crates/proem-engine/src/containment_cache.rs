//! Containments that were made before: most of a prompt stays the same from task to task.
//!
//! Containing is a pure function of its parts, tag and key, so that what is remembered is what
//! would be computed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use proem_guard::contain::ContainmentMode;
use proem_guard::{ContainedText, ContainmentPart, InstallationKey, Tag, Untrusted, contain};

use crate::input::RenderPiece;

/// How many containments are remembered of one section: one for each rung, and some.
const MAX_EACH: usize = 6;

/// The most bytes of contained text that are remembered.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Containments by section.
#[derive(Debug, Default)]
pub(crate) struct ContainmentCache {
    /// The key's hash of nothing, to notice another key.
    key: String,
    sections: BTreeMap<String, VecDeque<CachedContainment>>,
    bytes: usize,
}

#[derive(Debug)]
struct CachedContainment {
    pieces: Vec<Owned>,
    tag: Tag,
    contained: Arc<ContainedText>,
}

#[derive(Debug)]
enum Owned {
    Ours(String),
    Outside(Untrusted<String>, ContainmentMode),
}

impl Owned {
    fn is(&self, piece: &RenderPiece<'_>) -> bool {
        match (self, piece) {
            (Self::Ours(own), RenderPiece::Ours(text)) => own == text,
            (Self::Outside(own, as_own), RenderPiece::Outside(text, mode)) => as_own == mode && own == *text,
            _ => false,
        }
    }
}

impl ContainmentCache {
    /// Forgets everything if `key` is another than before.
    pub(crate) fn under(&mut self, key: &InstallationKey) {
        let probe = contain(&[], &Tag::UNTRUSTED_CONTEXT, key);
        if self.key != probe.id() {
            *self = Self { key: probe.id().to_owned(), ..Self::default() };
        }
    }

    /// Contains the pieces of `section`, or recalls that it did.
    pub(crate) fn contain(
        &mut self,
        section: &str,
        pieces: &[RenderPiece<'_>],
        tag: &Tag,
        key: &InstallationKey,
    ) -> Arc<ContainedText> {
        let same = |made: &&CachedContainment| {
            made.tag == *tag
                && made.pieces.len() == pieces.len()
                && made.pieces.iter().zip(pieces).all(|(own, piece)| own.is(piece))
        };
        if let Some(made) = self.sections.get(section).and_then(|all| all.iter().find(same)) {
            return Arc::clone(&made.contained);
        }
        let parts: Vec<ContainmentPart<'_>> = pieces
            .iter()
            .map(|piece| match piece {
                RenderPiece::Ours(text) => ContainmentPart::Ours(text),
                RenderPiece::Outside(text, mode) => ContainmentPart::Kept(text, *mode),
            })
            .collect();
        let contained = Arc::new(contain(&parts, tag, key));
        self.bytes = self.bytes.saturating_add(contained.text().len());
        if self.bytes > MAX_BYTES {
            self.sections.clear();
            self.bytes = contained.text().len();
        }
        let own = |piece: &RenderPiece<'_>| match piece {
            RenderPiece::Ours(text) => Owned::Ours((*text).to_owned()),
            RenderPiece::Outside(text, mode) => Owned::Outside((*text).clone(), *mode),
        };
        let made = CachedContainment {
            pieces: pieces.iter().map(own).collect(),
            tag: tag.clone(),
            contained: Arc::clone(&contained),
        };
        let all = self.sections.entry(section.to_owned()).or_default();
        if all.len() >= MAX_EACH {
            all.pop_front();
        }
        all.push_back(made);
        contained
    }
}
