//! The findings of rules.

use std::fmt;

/// One broken rule: where, what and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TidyFinding {
    path: String,
    line: Option<usize>,
    problem: String,
    remedy: String,
}

impl TidyFinding {
    /// A finding about a whole file.
    pub(crate) fn in_file(path: &str, problem: String, remedy: &str) -> Self {
        Self { path: path.to_owned(), line: None, problem, remedy: remedy.to_owned() }
    }

    /// The same finding at a line, counted from 1.
    pub(crate) fn at(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}; {}", self.problem, self.remedy)
    }
}

/// The findings as lines, for tests.
#[cfg(test)]
pub(crate) fn finding_lines(findings: &[TidyFinding]) -> Vec<String> {
    findings.iter().map(TidyFinding::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_file_line_and_remedy() {
        let finding = TidyFinding::in_file("a.rs", "too long".to_owned(), "split it");
        assert_eq!(finding.to_string(), "a.rs: too long; split it");
        assert_eq!(finding.at(Some(7)).to_string(), "a.rs:7: too long; split it");
    }
}
