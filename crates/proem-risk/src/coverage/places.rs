//! Paths that can be found by their end.

use alloc::vec::Vec;

/// Paths, sorted, with their parts also from the last to the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SuffixIndex {
    paths: Vec<Vec<u8>>,
    /// The parts of each path from the last to the first, each with a `/` behind it, and the path's number. Sorted.
    backwards: Vec<(Vec<u8>, u32)>,
}

impl SuffixIndex {
    /// `paths` are sorted and distinct.
    pub(super) fn new(paths: Vec<Vec<u8>>) -> Self {
        let mut backwards: Vec<(Vec<u8>, u32)> =
            paths.iter().zip(0_u32..).map(|(path, number)| (backwards(path), number)).collect();
        backwards.sort_unstable();
        Self { paths, backwards }
    }

    pub(super) fn paths(&self) -> &[Vec<u8>] {
        &self.paths
    }

    /// The number of a path.
    pub(super) fn exact(&self, path: &[u8]) -> Option<u32> {
        let at = self.paths.binary_search_by(|known| known.as_slice().cmp(path)).ok()?;
        u32::try_from(at).ok()
    }

    /// The path with the longest common end, where one of the two is the whole end of the other. `None` if several have
    /// it, or if some end with it while it ends with another.
    pub(super) fn find(&self, path: &[u8]) -> Option<u32> {
        if let Some(exact) = self.exact(path) {
            return Some(exact);
        }
        let key = backwards(path);
        let longer = self.beginning_with(&key);
        let shorter = self.longest_beginning_of(&key);
        match (longer, shorter) {
            ([(_, only)], None) => Some(*only),
            ([], shorter) => shorter,
            _ => None,
        }
    }

    fn beginning_with(&self, key: &[u8]) -> &[(Vec<u8>, u32)] {
        let start = self.backwards.partition_point(|(known, _)| known.as_slice() < key);
        let rest = self.backwards.get(start..).unwrap_or_default();
        let count = rest.partition_point(|(known, _)| known.starts_with(key));
        rest.get(..count).unwrap_or_default()
    }

    fn longest_beginning_of(&self, key: &[u8]) -> Option<u32> {
        let ends = key.iter().zip(1_usize..).filter(|(byte, _)| **byte == b'/').map(|(_, end)| end);
        let mut longest = None;
        for end in ends {
            let Some(part) = key.get(..end) else { break };
            // If nothing begins with this part, nothing does with more of the key.
            let Some((first, number)) = self.beginning_with(part).first() else { break };
            if first == part {
                longest = Some(*number);
            }
        }
        longest
    }
}

fn backwards(path: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(path.len().saturating_add(1));
    for part in path.rsplit(|&byte| byte == b'/') {
        key.extend_from_slice(part);
        key.push(b'/');
    }
    key
}
