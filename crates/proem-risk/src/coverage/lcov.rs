//! Tracefiles of lcov, as geninfo(1) describes them.

use alloc::vec::Vec;

use super::{CoverageCount, Drafts, LineRun, unreadable_coverage};
use crate::Error;

/// The parts of a record that are not read here: names, functions, branches, conditions.
const PASSED_OVER: &[&str] =
    &["TN", "VER", "FN", "FNDA", "FNF", "FNH", "FNL", "FNA", "BRDA", "BRF", "BRH", "MCDC", "MCF", "MCH", "MRF", "MRH"];

/// A file's record.
#[derive(Default)]
struct LcovRecord<'t> {
    path: &'t [u8],
    lines: Vec<(u32, LineRun)>,
    found: Option<u32>,
    hit: Option<u32>,
}

pub(super) fn read_lcov(text: &[u8]) -> Result<Drafts, Error> {
    let mut drafts = Drafts::default();
    let mut record: Option<LcovRecord<'_>> = None;
    let mut last = 1;
    let mut is_report = false;
    for (line, number) in text.split(|&byte| byte == b'\n').zip(1_usize..) {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        last = number;
        if line == b"end_of_record" {
            let ended =
                record.take().ok_or_else(|| unreadable_coverage(number, "`end_of_record` without `SF:` before it"))?;
            ended.end(&mut drafts).ok_or_else(|| unreadable_coverage(number, "`LH` is greater than `LF`"))?;
            continue;
        }
        let field = LcovField::read(line).ok_or_else(|| unreadable_coverage(number, EXPECTED))?;
        match (field, &mut record) {
            (LcovField::File(_), Some(_)) => {
                return Err(unreadable_coverage(number, "a record must end with `end_of_record`"));
            }
            (LcovField::File(path), None) => {
                record = Some(LcovRecord { path, ..LcovRecord::default() });
                is_report = true;
            }
            (LcovField::Other, _) => {}
            (LcovField::Line(line, run), Some(record)) => record.lines.push((line, run)),
            (LcovField::Found(lines), Some(record)) => record.found = Some(lines),
            (LcovField::Hit(lines), Some(record)) => record.hit = Some(lines),
            (_, None) => return Err(unreadable_coverage(number, "lines need a file: write `SF:PATH` before them")),
        }
    }
    if record.is_some() {
        return Err(unreadable_coverage(
            last,
            "the last record has no `end_of_record`; the report is incomplete; generate it again",
        ));
    }
    if is_report { Ok(drafts) } else { Err(unreadable_coverage(last, EXPECTED)) }
}

const EXPECTED: &str = "expected lcov, the XML of Cobertura or the JSON of coverage.py; \
                        write the report in one of these formats";

impl LcovRecord<'_> {
    fn end(self, drafts: &mut Drafts) -> Option<()> {
        let draft = drafts.file(self.path);
        draft.lines.extend(self.lines);
        if let (Some(lines), Some(covered)) = (self.found, self.hit) {
            if covered > lines {
                return None;
            }
            draft.sums = Some(CoverageCount { covered, lines });
        }
        Some(())
    }
}

enum LcovField<'t> {
    File(&'t [u8]),
    Line(u32, LineRun),
    Found(u32),
    Hit(u32),
    Other,
}

impl<'t> LcovField<'t> {
    fn read(line: &'t [u8]) -> Option<Self> {
        let at = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = (core::str::from_utf8(line.get(..at)?).ok()?, line.get(at.saturating_add(1)..)?);
        let number = |text: &[u8]| core::str::from_utf8(text).ok()?.trim().parse::<u32>().ok();
        Some(match name {
            "SF" if !value.is_empty() => Self::File(value),
            "DA" => {
                let mut parts = value.split(|&byte| byte == b',');
                Self::Line(number(parts.next()?)?, parse_hits(parts.next()?)?)
            }
            "LF" => Self::Found(number(value)?),
            "LH" => Self::Hit(number(value)?),
            _ if PASSED_OVER.contains(&name) => Self::Other,
            _ => return None,
        })
    }
}

/// Whether a count of runs is above zero. Gcov has written negative ones for overflows.
pub(super) fn parse_hits(text: &[u8]) -> Option<LineRun> {
    let text = text.trim_ascii();
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let is_run = digits.len() == text.len() && digits.iter().any(|&digit| digit != b'0');
    Some(if is_run { LineRun::Yes } else { LineRun::No })
}
