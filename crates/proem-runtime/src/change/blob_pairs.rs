//! Compares pairs of blobs, which one process reads for all.
//!
//! A blob that several pairs in a row have is read once, so pairs that follow each other in a file's past belong side by
//! side. At most two contents are held at a time.

use proem_risk::history::ObjectId;

use super::blobs::{Blobs, ObjectType, read_each_object};
use super::line_difference::{LineDifference, compare_versions};
use crate::{Error, git::Session};

/// Two versions of a file. `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlobPair {
    pub(super) old: Option<ObjectId>,
    pub(super) new: Option<ObjectId>,
}

/// A step of the reading: the next blob, and the pair that it completes.
struct PairStep {
    blob: ObjectId,
    completed: Option<(usize, PairSide)>,
}

/// The version that completes a pair.
#[derive(Debug, Clone, Copy)]
enum PairSide {
    /// The newer version, behind the content that is held.
    NewAfterHeld,
    /// The newer version of a file that was not there.
    NewAlone,
    /// The older version of a file that is gone.
    OldAlone,
    /// A version that both sides have.
    Both,
}

/// Hands over the newer version of each pair and how the versions differ, by its place. Nothing for a pair that has a blob which is not here,
/// is too large or binary.
pub(super) fn compare_pairs(
    session: &Session<'_>,
    blobs: &Blobs,
    pairs: &[BlobPair],
    take: &mut dyn FnMut(usize, &[u8], LineDifference),
) -> Result<(), Error> {
    let steps = pair_steps(blobs, pairs);
    let mut coming = steps.iter();
    let mut held: Vec<u8> = Vec::new();
    let mut is_answered = true;
    read_each_object(session, ObjectType::Blob, steps.iter().map(|step| &step.blob), &mut |id, content| {
        // Git answers in the order in which it is asked.
        let Some(step) = coming.next().filter(|step| step.blob == id) else {
            is_answered = false;
            return;
        };
        if let Some((pair, side)) = step.completed {
            let (old, new): (&[u8], &[u8]) = match side {
                PairSide::NewAfterHeld => (&held, content),
                PairSide::NewAlone => (&[], content),
                PairSide::OldAlone => (content, &[]),
                PairSide::Both => (content, content),
            };
            compare_versions(old, new).into_iter().for_each(|difference| take(pair, new, difference));
        }
        held.clear();
        held.extend_from_slice(content);
    })?;
    if is_answered && coming.next().is_none() { Ok(()) } else { Err(Error::GitAnswer { command: "cat-file" }) }
}

fn pair_steps(blobs: &Blobs, pairs: &[BlobPair]) -> Vec<PairStep> {
    let mut steps: Vec<PairStep> = Vec::new();
    for (place, BlobPair { old, new }) in pairs.iter().enumerate() {
        if [old, new].into_iter().flatten().any(|id| !blobs.is_read(id)) {
            continue;
        }
        let held = steps.last().map(|step| step.blob);
        let (blob, side) = match (*old, *new) {
            (Some(old), Some(new)) if old == new => (old, PairSide::Both),
            (Some(old), Some(new)) => {
                if held != Some(old) {
                    steps.push(PairStep { blob: old, completed: None });
                }
                (new, PairSide::NewAfterHeld)
            }
            (None, Some(new)) => (new, PairSide::NewAlone),
            (Some(old), None) => (old, PairSide::OldAlone),
            (None, None) => continue,
        };
        steps.push(PairStep { blob, completed: Some((place, side)) });
    }
    steps
}
