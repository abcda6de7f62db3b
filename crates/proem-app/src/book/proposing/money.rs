//! The money that a change of a prompt's text costs or saves, by the price table.

use std::collections::BTreeMap;

use proem_engine::call::{NanoDollars, Usage, call_cost};
use proem_engine::ledger::Pricing;
use proem_engine::prompt::book::Book;
use proem_guard::show;

use super::super::diff::BookDifference;
use super::super::test::{AssemblyState, suites};
use crate::agents::access::ModelAccess;
use crate::calling::WantedModel;
use crate::project::OpenProject;

/// How many calls the cost is of.
const CALLS: u64 = 1_000;

/// The cost of calls with both versions, in words: of the requests of the cases that both have, or of the sections' own
/// text. It says why, if the cost is unknown.
#[must_use]
pub fn cost_in_words(project: &OpenProject, book: &Book, difference: &BookDifference) -> String {
    match costs_of_calls(project, book, difference) {
        Ok(words) => words,
        Err(why) => format!("cost unknown: {why}"),
    }
}

fn costs_of_calls(project: &OpenProject, book: &Book, difference: &BookDifference) -> Result<String, String> {
    let problem = |error: &dyn std::fmt::Display| {
        let first = error.to_string();
        show::terminal_str(first.lines().next().unwrap_or_default()).into_string()
    };
    let (name, version) = difference.second.split_once('@').unwrap_or((&difference.second, ""));
    let prompt = book.as_it_is(name, version).map_err(|error| problem(&error))?;
    let wanted = WantedModel { model: None, provider: None, prompt: prompt.file.header.model.as_deref() };
    let (asked, _) = ModelAccess::located(&wanted, project).map_err(|error| problem(&error))?;
    let model = show::terminal_str(&asked.model.name).into_string();
    if asked.priced() == Pricing::Free {
        return Ok(format!("calls of `{model}` cost nothing"));
    }
    let (tokens, basis) = compared_tokens(book, difference);
    let cost = |tokens: &[u64]| -> Option<NanoDollars> {
        let one = |input: &u64| {
            let usage = Usage { input: Some(*input), cache_read: Some(0), output: Some(0), ..Usage::default() };
            call_cost(&usage, &asked.model)
        };
        let sum = tokens.iter().try_fold(0_u64, |sum, input| sum.checked_add(one(input)?.0))?;
        let of_calls = sum.checked_mul(CALLS)?.checked_div(u64::try_from(tokens.len()).ok()?)?;
        // Below a thousandth of a cent per thousand calls, digits only distract.
        Some(NanoDollars(of_calls.checked_div(1_000)?.checked_mul(1_000)?))
    };
    let Some((before, after)) = cost(&tokens.0).zip(cost(&tokens.1)) else {
        let provider = show::terminal_str(&asked.endpoint.name).into_string();
        return Err(format!(
            "`{model}` of `{provider}` has no price; set `input_price` and `output_price` under \
             `[providers.{provider}.models.\"{model}\"]`"
        ));
    };
    Ok(format!("{CALLS} calls of `{model}`: {before} → {after}, {basis}; nothing cached, answers come on top"))
}

/// The tokens of both versions, of one request each, and what they are of.
fn compared_tokens(book: &Book, difference: &BookDifference) -> ((Vec<u64>, Vec<u64>), String) {
    let (first, second) = (request_tokens(book, &difference.first), request_tokens(book, &difference.second));
    let pairs: (Vec<u64>, Vec<u64>) =
        first.iter().filter_map(|(case, tokens)| Some((*tokens, *second.get(case)?))).unzip();
    match pairs.0.len() {
        0 => {
            let (before, after) = difference.own_tokens();
            let count = |tokens: usize| vec![u64::try_from(tokens).unwrap_or(u64::MAX)];
            ((count(before), count(after)), "for the sections' own text; inputs come on top".to_owned())
        }
        1 => (pairs, "for the request of 1 case".to_owned()),
        cases => (pairs, format!("for the requests of {cases} cases")),
    }
}

/// The tokens of the request of each case. None for a prompt without cases that can be read.
fn request_tokens(book: &Book, version: &str) -> BTreeMap<String, u64> {
    let tested = suites(book, Some(version)).and_then(|(suites, _)| {
        let bench = AssemblyState::new()?;
        suites.iter().map(|suite| suite.test(&bench)).collect::<Result<Vec<_>, _>>()
    });
    let cases = tested.into_iter().flatten().flatten();
    cases.filter_map(|case| Some((case.case, u64::try_from(case.tokens?).ok()?))).collect()
}
