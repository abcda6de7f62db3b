//! Which requests are compared: a run and its calls, as people write them.

use proem_store::query::{CallRow, RunDetail};

use super::run_call::{RunCall, call_prompt_name};
use crate::error::Error;
use crate::message::Hint;
use crate::words::cut_to_width;

/// The most calls that are listed where one is not there.
const LISTED: usize = 12;

/// A run, and perhaps one of its calls: `3f2a9c01`, `last:2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallReference<'n> {
    pub(super) run: &'n str,
    pub(super) call: Option<usize>,
}

impl<'n> CallReference<'n> {
    /// # Errors
    ///
    /// If what is behind a colon is no number.
    pub(super) fn parse(text: &'n str) -> Result<Self, Error> {
        let Some((run, call)) = text.rsplit_once(':') else { return Ok(Self { run: text, call: None }) };
        let wrong = || {
            let text = cut_to_width(text, 40);
            Error::invalid(format!(
                "`{text}` is not a call; write the number of the call after the run, such as `last:1`"
            ))
        };
        let number = call.bytes().all(|byte| byte.is_ascii_digit()).then(|| call.parse().ok()).flatten();
        Ok(Self { run, call: Some(number.ok_or_else(wrong)?) })
    }
}

/// A call of a run by its number, from 0.
///
/// # Errors
///
/// If it is not there. The message says which are.
pub(super) fn numbered_call(detail: &RunDetail, number: usize) -> Result<RunCall<'_>, Error> {
    let id = detail.row.id.short();
    if detail.calls.is_empty() {
        return Err(Error::invalid(format!("run `{id}` has no request to compare")).hinting(Hint::NameRun));
    }
    let row = detail.calls.get(number).ok_or_else(|| {
        let one =
            |(number, call): (usize, &CallRow)| format!("{number} ({})", cut_to_width(&call_prompt_name(call), 40));
        let mut listed: Vec<String> = detail.calls.iter().enumerate().map(one).take(LISTED).collect();
        let more = detail.calls.len().saturating_sub(LISTED);
        if more > 0 {
            listed.push(format!("and {more} more"));
        }
        Error::invalid(format!("run `{id}` has no call {number}; it has {}", listed.join(", ")))
    })?;
    Ok(RunCall { run: detail, number, row })
}

/// A call with the one that its cache could have been written by: the one before it that was made from the
/// same prompt and sent, or else the one before it.
///
/// # Errors
///
/// If there is no such call, or none before it.
pub(super) fn with_the_one_before(detail: &RunDetail, number: usize) -> Result<(RunCall<'_>, RunCall<'_>), Error> {
    let second = numbered_call(detail, number)?;
    let Some(before) = number.checked_sub(1) else {
        let id = detail.row.id.short();
        return Err(Error::invalid(format!("call 0 of run `{id}` is its first")).hinting(Hint::CompareRuns));
    };
    let earlier = || (0..number).rev().filter_map(|number| numbered_call(detail, number).ok());
    let same = earlier().find(|call| call.is_sent() && call_prompt_name(call.row) == call_prompt_name(second.row));
    Ok((same.map_or_else(|| numbered_call(detail, before), Ok)?, second))
}

/// Every call of a run but the first, each [`with_the_one_before`].
///
/// # Errors
///
/// If it has fewer than two.
pub(super) fn consecutive_calls(detail: &RunDetail) -> Result<Vec<(RunCall<'_>, RunCall<'_>)>, Error> {
    if detail.calls.len() == 1 {
        let id = detail.row.id.short();
        return Err(Error::invalid(format!("run `{id}` has one call")).hinting(Hint::CompareRuns));
    }
    // A run without calls has no call 0 either, which says so.
    numbered_call(detail, 0)?;
    (1..detail.calls.len()).map(|number| with_the_one_before(detail, number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_stands_behind_its_run() {
        #[track_caller]
        fn check(text: &str, expected: Option<(&str, Option<usize>)>) {
            let found = CallReference::parse(text).ok().map(|named| (named.run, named.call));
            assert_eq!(found, expected, "{text:?}");
        }
        check("last", Some(("last", None)));
        check("last~1:2", Some(("last~1", Some(2))));
        check("3f2a:0", Some(("3f2a", Some(0))));
        check("3f2a:", None);
        check("3f2a:+1", None);
        check("3f2a:x", None);
        check("3f2a:99999999999999999999999", None);
    }
}
