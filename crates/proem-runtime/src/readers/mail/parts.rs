//! Tells the parts of a multipart body apart (RFC 2046, section 5.1.1).

/// Bytes of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk<'a> {
    pub(super) bytes: &'a [u8],
    /// Their offset in the file. `None` if they were decoded.
    pub(super) at: Option<usize>,
}

impl<'a> Chunk<'a> {
    /// A whole file.
    pub(super) const fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, at: Some(0) }
    }

    /// The chunk behind the first `count` bytes.
    pub(super) fn after(self, count: usize) -> Self {
        self.between(count, self.bytes.len())
    }

    /// The bytes from `start` to `end`.
    pub(super) fn between(self, start: usize, end: usize) -> Self {
        let bytes = self.bytes.get(start..end.max(start)).unwrap_or_default();
        Self { bytes, at: self.at.map(|at| at.saturating_add(start)) }
    }
}

/// The parts of a body, and what is around them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MultipartBody<'a> {
    pub(super) preamble: Chunk<'a>,
    pub(super) parts: Vec<Chunk<'a>>,
    /// The chunk behind the closing boundary. More parts under the same boundary may be in it.
    pub(super) epilogue: Chunk<'a>,
    /// How many bytes of parts there are after as many parts as were wanted.
    pub(super) left_out: usize,
}

impl<'a> MultipartBody<'a> {
    /// At most `most` parts. None if the boundary is empty or never there.
    pub(super) fn split(body: Chunk<'a>, boundary: &[u8], most: usize) -> Self {
        let mut split = Self { preamble: body, parts: Vec::new(), epilogue: body.after(body.bytes.len()), left_out: 0 };
        if boundary.is_empty() {
            return split;
        }
        // The start of the current part. None before the first boundary.
        let mut start: Option<usize> = None;
        let mut line_start = 0_usize;
        for line in body.bytes.split_inclusive(|byte| *byte == b'\n') {
            let next = line_start.saturating_add(line.len());
            if let Some(rest) = line.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary)) {
                let end = without_line_break(body.bytes, line_start);
                match start {
                    None => split.preamble = body.between(0, end),
                    Some(start) => split.parts.push(body.between(start, end)),
                }
                if rest.starts_with(b"--") {
                    split.epilogue = body.after(next);
                    return split;
                }
                if split.parts.len() >= most {
                    split.left_out = body.bytes.len().saturating_sub(next);
                    return split;
                }
                start = Some(next);
            }
            line_start = next;
        }
        if let Some(start) = start {
            split.parts.push(body.after(start));
        }
        split
    }
}

/// The line break before a boundary belongs to the boundary.
fn without_line_break(bytes: &[u8], end: usize) -> usize {
    let before = bytes.get(..end).unwrap_or_default();
    let before = before.strip_suffix(b"\n").map_or(before, |line| line.strip_suffix(b"\r").unwrap_or(line));
    before.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, boundary: &str, expected: (&str, &[&str], &str, usize)) {
        let split = MultipartBody::split(Chunk::whole(body.as_bytes()), boundary.as_bytes(), 3);
        let text = |chunk: &Chunk<'_>| {
            let at = chunk.at.unwrap();
            assert_eq!(&body.as_bytes()[at..at + chunk.bytes.len()], chunk.bytes);
            String::from_utf8(chunk.bytes.to_vec()).unwrap()
        };
        let parts: Vec<String> = split.parts.iter().map(text).collect();
        let (preamble, parts_expected, epilogue, left_out) = expected;
        assert_eq!((text(&split.preamble).as_str(), text(&split.epilogue).as_str()), (preamble, epilogue), "{body:?}");
        assert_eq!((parts, split.left_out), (parts_expected.iter().map(|&part| part.to_owned()).collect(), left_out));
    }

    #[test]
    fn parts_stand_between_boundaries() {
        check(
            "pre\r\n--b\r\none\r\n--b\r\n\r\ntwo\r\n\r\n--b--\r\npost",
            "b",
            ("pre", &["one", "\r\ntwo\r\n"], "post", 0),
        );
        check("--b\none\n--b--", "b", ("", &["one"], "", 0));
        check("--b\none\n--bc\ntwo", "b", ("", &["one", "two"], "", 0));
        check("--b\n--b\n", "b", ("", &["", ""], "", 0));
        check(" --b\nx--b\n", "b", (" --b\nx--b\n", &[], "", 0));
        check("x", "", ("x", &[], "", 0));
        check("--b\n1\n--b\n2\n--b\n3\n--b\n4\n--b--", "b", ("", &["1", "2", "3"], "", 7));
    }
}
