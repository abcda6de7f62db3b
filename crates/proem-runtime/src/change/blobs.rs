//! Looks blobs up, counts their lines and reads them, each with one process for all.

use std::collections::{BTreeMap, BTreeSet};

use proem_risk::history::ObjectId;

use crate::{
    Error,
    git::{Session, status::decimal_number},
};

/// The largest blob that is read, in bytes: git itself takes larger ones for binary
/// (`core.bigFileThreshold` is set to it).
pub(super) const LARGEST: u64 = 32 << 20;

/// The largest blob that is read as a text of settings, in bytes.
pub(super) const TEXT: u64 = 1 << 20;

/// How much of a blob is looked at to tell whether it is binary, as git does (`FIRST_FEW_BYTES`).
const FIRST: usize = 8000;

/// The blobs of a change, and whether they are here.
#[derive(Debug, Default)]
pub(super) struct Blobs {
    /// The size of each. `None` for one that is not here.
    sizes: BTreeMap<ObjectId, Option<u64>>,
}

impl Blobs {
    /// Looks blobs up.
    pub(super) fn look(session: &Session<'_>, ids: impl Iterator<Item = ObjectId>) -> Result<Self, Error> {
        let wanted: BTreeSet<ObjectId> = ids.collect();
        let mut blobs = Self::default();
        if wanted.is_empty() {
            return Ok(blobs);
        }
        let answer = session.answer(&["cat-file", "--batch-check"], &[], input(wanted.iter()))?;
        for line in answer.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let mut words = line.split(|&byte| byte == b' ');
            let id = words.next().and_then(ObjectId::parse).ok_or(UNREADABLE)?;
            let size = words.next().filter(|&kind| kind == b"blob").and_then(|_| words.next()).and_then(decimal_number);
            blobs.sizes.insert(id, size);
        }
        // An answer for each, or some would count as looked up and be nowhere.
        if blobs.sizes.len() == wanted.len() { Ok(blobs) } else { Err(UNREADABLE) }
    }

    /// Whether all of these are commits that are here.
    pub(super) fn are_commits(session: &Session<'_>, ids: &[ObjectId]) -> Result<bool, Error> {
        let answer = session.answer(&["cat-file", "--batch-check=%(objecttype)"], &[], input(ids.iter()))?;
        Ok(answer.split(|&byte| byte == b'\n').filter(|&line| line == b"commit").count() == ids.len())
    }

    /// Whether some of them are not here.
    pub(super) fn any_missing(&self) -> bool {
        self.sizes.values().any(Option::is_none)
    }

    /// Whether a blob was looked up and is here.
    pub(super) fn has(&self, id: &ObjectId) -> bool {
        self.size(id).is_some()
    }

    /// Whether a blob is here and small enough to be read.
    pub(super) fn is_read(&self, id: &ObjectId) -> bool {
        self.size(id).is_some_and(|size| size <= LARGEST)
    }

    fn size(&self, id: &ObjectId) -> Option<u64> {
        self.sizes.get(id).copied().flatten()
    }

    /// The lines of those that are here, small enough and text. `None` for binary ones, nothing for the others.
    pub(super) fn count_lines(
        &self,
        session: &Session<'_>,
        ids: impl Iterator<Item = ObjectId>,
    ) -> Result<BTreeMap<ObjectId, Option<u32>>, Error> {
        let wanted: BTreeSet<ObjectId> = ids.filter(|id| self.is_read(id)).collect();
        let mut counted = BTreeMap::new();
        read_each_object(session, ObjectType::Blob, wanted.iter(), &mut |id, content| {
            counted.insert(id, count_lines(content));
        })?;
        Ok(counted)
    }

    /// The contents of those that are here and not larger than `largest`.
    pub(super) fn read(
        &self,
        session: &Session<'_>,
        ids: impl Iterator<Item = ObjectId>,
        largest: u64,
    ) -> Result<BTreeMap<ObjectId, Vec<u8>>, Error> {
        let wanted: BTreeSet<ObjectId> = ids.filter(|id| self.size(id).is_some_and(|size| size <= largest)).collect();
        let mut read = BTreeMap::new();
        read_each_object(session, ObjectType::Blob, wanted.iter(), &mut |id, content| {
            read.insert(id, content.to_vec());
        })?;
        Ok(read)
    }
}

const UNREADABLE: Error = Error::GitAnswer { command: "cat-file" };

/// Whether git takes a content for binary.
pub(super) fn is_binary(content: &[u8]) -> bool {
    content.iter().take(FIRST).any(|&byte| byte == 0)
}

/// How many line feeds a text has.
pub(super) fn count_line_ends(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

/// The lines of a text, a last one without an end included. `None` for what git takes for binary.
pub(super) fn count_lines(content: &[u8]) -> Option<u32> {
    if is_binary(content) {
        return None;
    }
    let ends = count_line_ends(content);
    let open = usize::from(content.last().is_some_and(|&last| last != b'\n'));
    u32::try_from(ends.saturating_add(open)).ok()
}

/// The ids as git reads them, a line each.
pub(super) fn input<'i>(ids: impl Iterator<Item = &'i ObjectId>) -> Vec<u8> {
    ids.flat_map(|id| format!("{id}\n").into_bytes()).collect()
}

/// The type of an object that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectType {
    Blob,
    Commit,
}

impl ObjectType {
    const fn word(self) -> &'static [u8] {
        match self {
            Self::Blob => b"blob",
            Self::Commit => b"commit",
        }
    }
}

/// Reads objects of one type one after the other, in the order of `ids`: a line `ID TYPE SIZE`, the content and a line
/// feed for each.
pub(super) fn read_each_object<'i>(
    session: &Session<'_>,
    kind: ObjectType,
    ids: impl Iterator<Item = &'i ObjectId>,
    take: &mut dyn FnMut(ObjectId, &[u8]),
) -> Result<(), Error> {
    let ids = input(ids);
    if ids.is_empty() {
        return Ok(());
    }
    let mut held: Vec<u8> = Vec::new();
    session.stream(&["cat-file", "--batch", "--buffer"], &[], ids, &mut |piece| {
        held.extend_from_slice(piece);
        let mut used = 0;
        while let Some((id, content, end)) = whole_object(held.get(used..).unwrap_or_default(), kind)? {
            take(id, content);
            used = used.saturating_add(end);
        }
        held.drain(..used);
        Ok(())
    })?;
    if held.is_empty() { Ok(()) } else { Err(UNREADABLE) }
}

/// An object's id, its content, and the bytes that its answer takes.
type RawObject<'b> = (ObjectId, &'b [u8], usize);

/// The first object of `bytes` and how many bytes it takes, if it has come in full.
fn whole_object(bytes: &[u8], expected: ObjectType) -> Result<Option<RawObject<'_>>, Error> {
    let Some(line) = bytes.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
    let mut words = bytes.get(..line).unwrap_or_default().split(|&byte| byte == b' ');
    let id = words.next().and_then(ObjectId::parse).ok_or(UNREADABLE)?;
    let size = words.next().filter(|&kind| kind == expected.word()).and_then(|_| words.next()).and_then(decimal_number);
    let size = size.and_then(|size| usize::try_from(size).ok()).ok_or(UNREADABLE)?;
    let start = line.saturating_add(1);
    let end = start.checked_add(size).ok_or(UNREADABLE)?;
    let Some(content) = bytes.get(start..end) else { return Ok(None) };
    // The line feed behind it belongs to the answer: without it the next one would begin with it.
    if bytes.get(end).is_none() {
        return Ok(None);
    }
    Ok(Some((id, content, end.saturating_add(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_an_editor_does() {
        for (content, expected) in [
            (&b""[..], Some(0)),
            (b"a", Some(1)),
            (b"a\n", Some(1)),
            (b"a\nb", Some(2)),
            (b"\n\n", Some(2)),
            (b"a\0b\n", None),
        ] {
            assert_eq!(count_lines(content), expected, "{content:?}");
        }
    }
}
