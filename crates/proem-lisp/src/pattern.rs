//! Regular expressions as values: linear in the text, without look-around and back-references.

use crate::{
    error::{Fault, Reason},
    limits::{Meter, cost},
};
use alloc::{format, string::String};
use regex::{Regex, RegexBuilder};

/// The largest compiled expression, in bytes: what `regex` itself allows by default for a tenth of it.
const MOST_BYTES: usize = 1 << 20;

/// A compiled regular expression with the text it was made of.
#[derive(Debug, Clone)]
pub struct Regexp {
    source: String,
    regex: Regex,
}

impl Regexp {
    /// Compiles an expression.
    ///
    /// # Errors
    ///
    /// It isn't one, or is too large when compiled.
    pub(crate) fn compile(source: &str, meter: &mut Meter) -> Result<Self, Fault> {
        meter.work(u64::try_from(source.len()).unwrap_or(u64::MAX).saturating_mul(cost::REGEX_STEPS))?;
        meter.allocate(MOST_BYTES / 64)?;
        match RegexBuilder::new(source).size_limit(MOST_BYTES).dfa_size_limit(MOST_BYTES).build() {
            Ok(regex) => Ok(Self { source: String::from(source), regex }),
            Err(regex::Error::CompiledTooBig(_)) => Err(Fault::new(
                Reason::MemoryExceeded,
                format!("the regular expression is larger than {MOST_BYTES} bytes"),
            )
            .help("use smaller repetitions")),
            Err(_) => Err(Fault::eval("this isn't a regular expression that works here")
                .help("look-around and back-references don't exist here; capture a group and test it")),
        }
    }

    /// The text that it was made of.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The compiled expression.
    #[expect(dead_code, reason = "the family of regular expressions is the one that searches")]
    pub(crate) const fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Bytes for counting what is alive.
    pub(crate) fn bytes(&self) -> usize {
        self.source.len().saturating_add(MOST_BYTES / 64)
    }
}
