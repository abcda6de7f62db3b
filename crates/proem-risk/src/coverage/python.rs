//! The JSON of coverage.py (`coverage json`), formats 1 to 3.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::{Drafts, LineRun, unreadable_coverage};
use crate::Error;

#[derive(Deserialize)]
struct PythonCoverage {
    files: BTreeMap<String, PythonFile>,
}

#[derive(Deserialize)]
struct PythonFile {
    executed_lines: Vec<u32>,
    missing_lines: Vec<u32>,
}

pub(super) fn read_coverage_py(text: &[u8]) -> Result<Drafts, Error> {
    let report: PythonCoverage = serde_json::from_slice(text).map_err(|error| {
        let what = if error.is_data() {
            "expected `files` with `executed_lines` and `missing_lines`, as `coverage json` writes them"
        } else {
            "not JSON, or incomplete; generate the report again with `coverage json`"
        };
        unreadable_coverage(error.line(), &format!("{what} (column {})", error.column()))
    })?;
    let mut drafts = Drafts::default();
    for (path, file) in report.files {
        let draft = drafts.file(path.as_bytes());
        draft.lines.extend(file.executed_lines.into_iter().map(|line| (line, LineRun::Yes)));
        draft.lines.extend(file.missing_lines.into_iter().map(|line| (line, LineRun::No)));
    }
    Ok(drafts)
}
