//! Reads `git status --porcelain=v2 -z --branch`.
//!
//! The form is described in git-status(1), "Porcelain Format Version 2": records end in NUL,
//! paths are raw bytes and may hold anything but NUL.

use crate::Extent;

/// The contents of a status listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusListing {
    /// The branch's upstream.
    pub upstream: Upstream,
    /// The changed paths, in git's order.
    pub entries: Vec<StatusEntry>,
    /// Whether the listing could be read to its end; if not, it was read to the first record that isn't one.
    pub extent: Extent,
}

/// The upstream of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    /// The branch follows no other.
    None,
    /// A branch that isn't here.
    Gone,
    /// A branch with so many commits of its own.
    Apart {
        /// Commits on HEAD only.
        ahead: u64,
        /// Commits on the upstream only.
        behind: u64,
    },
}

/// One path that git has something to say about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusEntry {
    /// The kind of change.
    pub kind: StatusKind,
    /// Its bytes, as whoever made the repository chose them.
    pub path: Vec<u8>,
    /// Its path before it was renamed or copied.
    pub from: Option<Vec<u8>>,
}

/// The change of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusKind {
    /// Tracked. One letter of git's for HEAD to index, one for index to work tree, `.` for no change.
    Tracked {
        /// The letter for what happened from HEAD to the index.
        staged: u8,
        /// The letter for what happened from the index to the work tree.
        unstaged: u8,
    },
    /// In conflict: a merge left it to be resolved.
    Unmerged,
    /// Git doesn't track it, although it may.
    Untracked,
    /// An ignore rule covers it.
    Ignored,
}

/// Reads a status listing as far as it can be read.
#[must_use]
pub fn parse_status(bytes: &[u8]) -> StatusListing {
    let mut listing = StatusListing { upstream: Upstream::None, entries: Vec::new(), extent: Extent::Whole };
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(after) = status_record(rest, &mut listing) else {
            listing.extent = Extent::Cut;
            break;
        };
        rest = after;
    }
    listing
}

/// Reads one record into `listing` and returns what follows it.
fn status_record<'a>(bytes: &'a [u8], listing: &mut StatusListing) -> Option<&'a [u8]> {
    let (line, rest) = nul_field(bytes)?;
    let (kind, fields) = split_at_byte(line, b' ')?;
    if kind == b"#" {
        listing.upstream = branch_header(fields, listing.upstream)?;
        return Some(rest);
    }
    let (kind, path, renamed) = match kind {
        b"1" => (status_letters(fields)?, nth_field(fields, 7)?, false),
        b"2" => (status_letters(fields)?, nth_field(fields, 8)?, true),
        b"u" => (StatusKind::Unmerged, nth_field(fields, 9)?, false),
        b"?" => (StatusKind::Untracked, fields, false),
        b"!" => (StatusKind::Ignored, fields, false),
        _ => return None,
    };
    let (from, rest) = if renamed { nul_field(rest).map(|(from, rest)| (Some(from), rest))? } else { (None, rest) };
    if path.is_empty() || from.is_some_and(<[u8]>::is_empty) {
        return None;
    }
    listing.entries.push(StatusEntry { kind, path: path.to_vec(), from: from.map(<[u8]>::to_vec) });
    Some(rest)
}

fn branch_header(line: &[u8], before: Upstream) -> Option<Upstream> {
    let Some((name, value)) = split_at_byte(line, b' ') else { return Some(before) };
    match name {
        b"branch.upstream" => Some(Upstream::Gone),
        b"branch.ab" => {
            let (ahead, behind) = split_at_byte(value, b' ')?;
            let ahead = decimal_number(ahead.strip_prefix(b"+")?)?;
            Some(Upstream::Apart { ahead, behind: decimal_number(behind.strip_prefix(b"-")?)? })
        }
        _ => Some(before),
    }
}

fn status_letters(fields: &[u8]) -> Option<StatusKind> {
    let known = |letter: u8| b".MTADRC".contains(&letter);
    match fields {
        [staged, unstaged, b' ', ..] if known(*staged) && known(*unstaged) => {
            Some(StatusKind::Tracked { staged: *staged, unstaged: *unstaged })
        }
        _ => None,
    }
}

/// The text behind `count` fields. The last part of a record may hold spaces.
fn nth_field(fields: &[u8], count: usize) -> Option<&[u8]> {
    fields.splitn(count.checked_add(1)?, |&byte| byte == b' ').nth(count)
}

/// A field that ends in NUL, and what follows it.
pub(crate) fn nul_field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    split_at_byte(bytes, 0)
}

/// The bytes before and after the first `separator`.
pub(crate) fn split_at_byte(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&byte| byte == separator)?;
    let (before, after) = bytes.split_at_checked(at)?;
    Some((before, after.get(1..)?))
}

/// A number in decimal digits. More than a `u64` holds is none.
pub(crate) fn decimal_number(digits: &[u8]) -> Option<u64> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}
