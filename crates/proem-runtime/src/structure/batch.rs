//! The answers of `git cat-file --batch`: a line for each object, followed by its content.

use crate::Error;

/// The longest line that can be an answer, in bytes: an id in hexadecimal digits, a type and a size.
const LINE: usize = 256;

/// Git's answer about one object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Object {
    /// A blob's content, as git stores it.
    Blob(Vec<u8>),
    /// It is longer than the cap, and was passed over.
    TooLarge,
    /// It isn't here, or is no blob.
    Missing,
}

/// Cuts git's output, however it comes in pieces, into objects.
#[derive(Debug)]
pub(super) struct ObjectCutter {
    /// The longest content that is kept, in bytes.
    cap: usize,
    at: CutterState,
}

#[derive(Debug)]
enum CutterState {
    Line(Vec<u8>),
    /// In a content, of which so many bytes are still to come, and then a line feed.
    Content {
        object: Object,
        left: u64,
    },
    End(Object),
}

impl ObjectCutter {
    pub(super) const fn new(cap: usize) -> Self {
        Self { cap, at: CutterState::Line(Vec::new()) }
    }

    /// Takes a piece of the output, and hands every object that ends in it to `take`.
    ///
    /// # Errors
    ///
    /// [`Error::GitAnswer`] for anything but such answers; what `take` reports.
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        take: &mut dyn FnMut(Object) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut rest = piece;
        while let Some((&first, after)) = rest.split_first() {
            match &mut self.at {
                CutterState::Line(line) => {
                    let end = rest.iter().position(|&byte| byte == b'\n');
                    let (head, tail) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
                    line.extend_from_slice(head);
                    rest = tail;
                    if line.len() > LINE {
                        return Err(unreadable_cat_file());
                    }
                    if end.is_some() {
                        rest = tail.get(1..).unwrap_or_default();
                        let line = std::mem::take(line);
                        self.answer(&line, take)?;
                    }
                }
                CutterState::Content { object, left } => {
                    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    let (head, tail) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                    if let Object::Blob(content) = object {
                        content.extend_from_slice(head);
                    }
                    *left = left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
                    rest = tail;
                    if *left == 0 {
                        self.at = CutterState::End(std::mem::replace(object, Object::Missing));
                    }
                }
                CutterState::End(object) => {
                    if first != b'\n' {
                        return Err(unreadable_cat_file());
                    }
                    rest = after;
                    let object = std::mem::replace(object, Object::Missing);
                    self.at = CutterState::Line(Vec::new());
                    take(object)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the output may end here.
    pub(super) fn is_between(&self) -> bool {
        matches!(&self.at, CutterState::Line(line) if line.is_empty())
    }

    fn answer(&mut self, line: &[u8], take: &mut dyn FnMut(Object) -> Result<(), Error>) -> Result<(), Error> {
        let line = std::str::from_utf8(line).map_err(|_| unreadable_cat_file())?;
        let mut fields = line.split(' ').skip(1);
        let kind = fields.next().ok_or_else(unreadable_cat_file)?;
        if kind == "missing" {
            return take(Object::Missing);
        }
        let left: u64 = fields.next().and_then(|size| size.parse().ok()).ok_or_else(unreadable_cat_file)?;
        let object = match usize::try_from(left) {
            _ if kind != "blob" => Object::Missing,
            Ok(length) if length <= self.cap => Object::Blob(Vec::with_capacity(length)),
            _ => Object::TooLarge,
        };
        self.at = if left == 0 { CutterState::End(object) } else { CutterState::Content { object, left } };
        Ok(())
    }
}

fn unreadable_cat_file() -> Error {
    Error::GitAnswer { command: "cat-file" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `bytes` in pieces of every length. Whether that went well to the end.
    fn check(bytes: &[u8], expected: &[Object], whole: bool) {
        for length in 1..=bytes.len().max(1) {
            let (mut batch, mut found) = (ObjectCutter::new(4), Vec::new());
            let mut take = |object| {
                found.push(object);
                Ok(())
            };
            let pushed = bytes.chunks(length).try_for_each(|piece| batch.push(piece, &mut take));
            let ended = pushed.is_ok() && batch.is_between();
            assert_eq!((found.as_slice(), ended), (expected, whole), "{} by {length}", bytes.escape_ascii());
        }
    }

    #[test]
    fn answers_are_cut_however_they_come() {
        let blob = |bytes: &[u8]| Object::Blob(bytes.to_vec());
        check(b"", &[], true);
        check(b"aa blob 2\na\n\nbb missing\ncc blob 0\n\n", &[blob(b"a\n"), Object::Missing, blob(b"")], true);
        check(b"aa blob 5\n12345\nbb blob 4\n1234\n", &[Object::TooLarge, blob(b"1234")], true);
        check(b"aa tree 3\nabc\nbb blob 1\nx\n", &[Object::Missing, blob(b"x")], true);
        check(b"aa blob 3\nab", &[], false);
        check(b"aa blob 9\nab", &[], false);
        check(b"aa blob 1\nab", &[], false);
        for bytes in [&b"aa"[..], b"aa\n", b"aa blob\n", b"aa blob x\n", b"aa blob -1\n", &[b'a'; 300]] {
            check(bytes, &[], false);
        }
    }
}
