//! A history as bytes, for a cache: a mark with a version, a checksum, then columns of little-endian numbers.

use alloc::string::String;
use alloc::vec::Vec;

use super::table::{JaggedTable, index_to_u32, index_to_usize};
use super::{Commit, CommitIndex, HistoryGaps, HistoryRecord, Mends, ObjectId, PathId, PersonId, UnlinkedTouch};
use crate::change::FileStatus;
use crate::identity::Person;
use crate::path::RepoPath;
use crate::{Error, ErrorKind};

/// The mark of this form. Another form has another last digit.
const MARK: &[u8; 8] = b"proemh03";

/// The mark of a missing path.
const NONE: u32 = u32::MAX;

const STATUSES: [FileStatus; 5] =
    [FileStatus::Added, FileStatus::Modified, FileStatus::Deleted, FileStatus::Renamed, FileStatus::TypeChanged];
const MENDS: [Mends; 3] = [Mends::Nothing, Mends::Fix, Mends::Revert];

pub(super) fn write_history(kept: &HistoryRecord) -> Vec<u8> {
    let mut out = Vec::with_capacity(kept.commits.len() * 128 + kept.touched.items() * 9);
    out.extend_from_slice(MARK);
    out.extend_from_slice(&[0; 8]);
    write_count(&mut out, kept.commits.len());
    for ((commit, date), identity) in kept.commits.iter().zip(&kept.dates).zip(&kept.identity_of) {
        let id = commit.id.as_bytes();
        let mends = MENDS.iter().position(|&mends| mends == commit.mends).unwrap_or_default();
        let flags = [u8::from(commit.is_merge), u8::from(commit.is_ignored), low(mends), low(id.len())];
        out.extend_from_slice(&flags);
        out.extend_from_slice(id);
        out.extend_from_slice(&commit.at.to_le_bytes());
        out.extend_from_slice(&date.to_le_bytes());
        out.extend_from_slice(&identity.to_le_bytes());
    }
    write_rows(&mut out, &kept.parents, |out, parent| out.extend_from_slice(&parent.0.to_le_bytes()));
    write_rows(&mut out, &kept.touched, |out, touch| {
        out.extend_from_slice(&touch.path.0.to_le_bytes());
        out.extend_from_slice(&touch.from.map_or(NONE, |from| from.0).to_le_bytes());
        out.push(low(STATUSES.iter().position(|&status| status == touch.status).unwrap_or_default()));
    });
    write_count(&mut out, kept.paths.len());
    kept.paths.iter().for_each(|path| write_bytes(&mut out, path.as_bytes()));
    write_count(&mut out, kept.identities.len());
    for identity in &kept.identities {
        write_bytes(&mut out, identity.mail.as_bytes());
        write_bytes(&mut out, identity.name.as_bytes());
    }
    kept.subjects.iter().for_each(|subject| write_bytes(&mut out, subject));
    let HistoryGaps { shallow, partial, capped, since, misdated } = kept.missing;
    out.extend_from_slice(&[shallow, partial, capped, since.is_some()].map(u8::from));
    out.extend_from_slice(&since.unwrap_or_default().to_le_bytes());
    out.extend_from_slice(&misdated.to_le_bytes());
    let sum = history_checksum(out.get(16..).unwrap_or_default());
    out.iter_mut().skip(8).zip(sum.to_le_bytes()).for_each(|(place, byte)| *place = byte);
    out
}

fn low(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn write_count(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&index_to_u32(number).to_le_bytes());
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn write_rows<T>(out: &mut Vec<u8>, table: &JaggedTable<T>, item: impl Fn(&mut Vec<u8>, &T)) {
    for row in table.iter() {
        write_count(out, row.len());
        row.iter().for_each(|each| item(out, each));
    }
}

/// FNV-1a (Fowler, Noll and Vo) over words of eight bytes, the last filled up with its length. Each step is
/// a bijection of the sum, so that no change within one word goes unnoticed.
fn history_checksum(bytes: &[u8]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(PRIME).rotate_left(29);
    let mut words = bytes.chunks_exact(8);
    let sum = words
        .by_ref()
        .filter_map(|word| word.try_into().ok())
        .fold(START, |sum, word| step(sum, u64::from_le_bytes(word)));
    let rest = words.remainder();
    let last = rest.iter().fold(0_u64, |last, &byte| (last << 8) | u64::from(byte));
    step(step(sum, last), u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

pub(super) fn read_history_bytes(bytes: &[u8]) -> Result<HistoryRecord, Error> {
    let damaged = || Error::new(ErrorKind::Damaged, "the cached history is damaged or from another version; remove it");
    let mut reader = HistoryBytes(bytes);
    let kept = read_history_record(&mut reader).ok_or_else(damaged)?;
    if reader.0.is_empty() { Ok(kept) } else { Err(damaged()) }
}

fn read_history_record(reader: &mut HistoryBytes<'_>) -> Option<HistoryRecord> {
    if reader.array()? != *MARK || u64::from_le_bytes(reader.array()?) != history_checksum(reader.0) {
        return None;
    }
    let count = reader.count()?;
    let (mut commits, mut dates) = (reader.room(count, 44), reader.room(count, 44));
    let mut identity_of = reader.room(count, 44);
    for _ in 0..count {
        let (commit, date) = reader.commit()?;
        // Until the record is identified, its authors are identities.
        identity_of.push(commit.author.0);
        commits.push(commit);
        dates.push(date);
    }
    let parents = reader.rows(count, 4, |reader, child| {
        let parent = reader.number()?;
        (parent < child).then_some(CommitIndex(parent))
    })?;
    let touched = reader.rows(count, 9, |reader, _| reader.touched())?;
    let paths: Vec<RepoPath> = reader.list(|reader| Some(RepoPath::new(reader.bytes()?)))?;
    let identities: Vec<Person> = reader.list(|reader| Some(Person { mail: reader.text()?, name: reader.text()? }))?;
    let mut subjects = JaggedTable::with_capacity(index_to_usize(count), reader.0.len());
    for _ in 0..count {
        let subject = core::str::from_utf8(reader.bytes()?).ok()?;
        subject.bytes().for_each(|byte| subjects.push(byte));
        subjects.end();
    }
    let [shallow, partial, capped, has_since] = reader.array()?.map(|flag: u8| flag == 1);
    let since = reader.date()?;
    let missing =
        HistoryGaps { shallow, partial, capped, since: has_since.then_some(since), misdated: reader.number()? };
    let known = touched.iter().flatten().all(|touch| {
        [Some(touch.path), touch.from].into_iter().flatten().all(|path| index_to_usize(path.0) < paths.len())
    });
    let known = known && identity_of.iter().all(|&identity| index_to_usize(identity) < identities.len());
    let sorted = paths.is_sorted_by(|a, b| a < b) && identities.is_sorted_by(|a, b| a < b);
    (known && sorted).then_some(HistoryRecord {
        commits,
        dates,
        identity_of,
        parents,
        touched,
        paths,
        identities,
        subjects,
        missing,
    })
}

/// The rest to read.
struct HistoryBytes<'b>(&'b [u8]);

impl<'b> HistoryBytes<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn date(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn count(&mut self) -> Option<u32> {
        self.number()
    }

    /// Room for as many items as are promised and can still come, at `size` bytes each.
    fn room<T>(&self, count: u32, size: usize) -> Vec<T> {
        Vec::with_capacity(index_to_usize(count).min(self.0.len().checked_div(size).unwrap_or_default()))
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.count()?;
        self.take(index_to_usize(length))
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        let mut list = self.room(count, 4);
        for _ in 0..count {
            list.push(item(self)?);
        }
        Some(list)
    }

    fn rows<T>(
        &mut self,
        rows: u32,
        size: usize,
        item: impl Fn(&mut Self, u32) -> Option<T>,
    ) -> Option<JaggedTable<T>> {
        let mut table =
            JaggedTable::with_capacity(self.room::<u32>(rows, 4).capacity(), self.0.len().checked_div(size)?);
        for row in 0..rows {
            for _ in 0..self.count()? {
                table.push(item(self, row)?);
            }
            table.end();
        }
        Some(table)
    }

    fn commit(&mut self) -> Option<(Commit, i64)> {
        let [is_merge, is_ignored, mends, length] = self.array()?;
        let id = ObjectId::from_bytes(self.take(usize::from(length))?)?;
        let (at, date, author) = (self.date()?, self.date()?, PersonId(self.number()?));
        let mends = *MENDS.get(usize::from(mends))?;
        Some((Commit { id, at, author, is_merge: is_merge == 1, is_ignored: is_ignored == 1, mends }, date))
    }

    fn touched(&mut self) -> Option<UnlinkedTouch> {
        let (path, from) = (PathId(self.number()?), self.number()?);
        let [status] = self.array()?;
        let from = (from != NONE).then_some(PathId(from));
        Some(UnlinkedTouch { path, from, status: *STATUSES.get(usize::from(status))? })
    }
}
