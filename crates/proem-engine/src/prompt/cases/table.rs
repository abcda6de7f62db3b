//! Cases as comma-separated values: a row each, by the names of the first row.
//!
//! The columns are the prompt's inputs, read as a batch reads them. `expect` (or `__expected`) says what the answer
//! must be, `name` (or `__description`) what the case is called. An input of the same name comes first.

use std::collections::BTreeSet;

use proem_text::span::Span;
use proem_text::{BareQuotes, CsvError, CsvRow, read_csv};
use serde_json::Value as Json;

use super::{
    ANSWER_CHECKS, AnswerCheck, AnswerExpectation, AnswerRule, Case, Cases, LetterCase, RequestExpectation, RuleSense,
    SIMILAR_PERCENT,
};
use crate::error::{Error, error_at};
use crate::prompt::config::nearest_key;
use crate::prompt::header::Diagnostics;
use crate::prompt::rows::{check_column_names, row_inputs};

/// The columns that are no inputs.
const EXPECTED: [&str; 2] = ["expect", "__expected"];
const NAMED: [&str; 2] = ["name", "__description"];

/// The most cases of a table.
const MAX_CASES: usize = 10_000;

/// The most problems that are listed.
const MAX_PROBLEMS: usize = 50;

/// The checks that a field can hold in words, `WORD: TEXT`.
const IN_WORDS: [&str; 8] =
    ["equals", "not-equals", "contains", "not-contains", "regex", "not-regex", "similar", "not-similar"];

/// The meaning of each column.
struct Columns {
    inputs: Vec<String>,
    /// The places of the input columns.
    input_places: Vec<usize>,
    expected: Option<usize>,
    name: Option<usize>,
}

/// Reads a table of cases for a prompt whose inputs have this schema.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`](crate::ErrorKind::InvalidFile) with the line of every problem.
pub(super) fn parse_table(name: &str, text: &str, schema: &Json) -> Result<Cases, Error> {
    let mut problems = Diagnostics::new();
    let cases = read_table(text, schema, &mut problems);
    if problems.is_empty() { Ok(Cases { kind: None, cases }) } else { Err(Error::in_file(name, text, &problems)) }
}

fn read_table(text: &str, schema: &Json, problems: &mut Diagnostics) -> Vec<Case> {
    let mut say = |line: usize, message: String| problems.push(error_at(message, line_span(text, line)));
    let rows = match read_csv(text.as_bytes(), BareQuotes::Refused) {
        Ok(rows) => rows,
        Err(CsvError { line, expected }) => {
            say(line, expected.to_owned());
            return Vec::new();
        }
    };
    let Some((header, rows)) = rows.split_first() else {
        say(1, "the first row, with the names of the inputs, is missing".to_owned());
        return Vec::new();
    };
    if let Err(problem) = check_column_names(&header.fields) {
        say(header.line, problem);
        return Vec::new();
    }
    let columns = match find_columns(&header.fields, schema) {
        Ok(columns) => columns,
        Err(problem) => {
            say(header.line, problem);
            return Vec::new();
        }
    };
    if rows.is_empty() || rows.len() > MAX_CASES {
        say(header.line, format!("it has {} cases; it takes 1 to {MAX_CASES}", rows.len()));
        return Vec::new();
    }
    let mut cases: Vec<Case> = Vec::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut wrong = 0_usize;
    for row in rows {
        let problem = match read_row(row, header.fields.len(), &columns, schema) {
            Ok(case) if !names.insert(case.name.clone()) => {
                format!("two cases are called `{}`; rename one", case.name)
            }
            Ok(case) => {
                cases.push(case);
                continue;
            }
            Err(problem) => problem,
        };
        say(row.line, problem);
        wrong = wrong.saturating_add(1);
        if wrong >= MAX_PROBLEMS {
            break;
        }
    }
    cases
}

/// The inputs among the columns, and what else is there. A column that is neither is refused: a misspelt input would be a
/// case without it.
fn find_columns(names: &[String], schema: &Json) -> Result<Columns, String> {
    let declared = schema.get("properties").and_then(Json::as_object);
    let mut columns = Columns { inputs: Vec::new(), input_places: Vec::new(), expected: None, name: None };
    for (place, name) in names.iter().enumerate() {
        let is_input = declared.is_some_and(|declared| declared.contains_key(name));
        if is_input {
            columns.inputs.push(name.clone());
            columns.input_places.push(place);
        } else if EXPECTED.contains(&name.as_str()) && columns.expected.is_none() {
            columns.expected = Some(place);
        } else if NAMED.contains(&name.as_str()) && columns.name.is_none() {
            columns.name = Some(place);
        } else {
            let known: Vec<&str> =
                declared.into_iter().flat_map(|declared| declared.keys().map(String::as_str)).collect();
            let meant = nearest_key(name, &known).map_or(String::new(), |near| format!("did you mean `{near}`? "));
            let known = known.join(", ");
            return Err(format!(
                "the column `{name}` is no input of the prompt; {meant}inputs: {known}; beside them `expect` and `name` are \
                 known"
            ));
        }
    }
    Ok(columns)
}

fn read_row(row: &CsvRow, width: usize, columns: &Columns, schema: &Json) -> Result<Case, String> {
    if row.fields.len() != width {
        return Err(format!("it has {} fields, and the first row {width}", row.fields.len()));
    }
    let field = |place: Option<usize>| place.and_then(|place| row.fields.get(place)).map_or("", String::as_str);
    let given: Vec<String> = columns.input_places.iter().filter_map(|place| row.fields.get(*place)).cloned().collect();
    let inputs = row_inputs(&columns.inputs, &given, |name| schema.get("properties")?.get(name))?;
    let name = match field(columns.name).trim() {
        "" => format!("line {}", row.line),
        name => name.to_owned(),
    };
    let live = match field(columns.expected).trim() {
        "" => None,
        expected => Some(read_expected(expected)?),
    };
    Ok(Case { name, inputs: Some(inputs), given: None, expect: RequestExpectation::default(), live })
}

/// `WORD: TEXT` for a check. An object or list of JSON for fields of the answer. Anything else is the answer itself.
fn read_expected(field: &str) -> Result<AnswerExpectation, String> {
    if field.starts_with(['{', '[']) {
        let answer = serde_json::from_str(field);
        let answer =
            answer.map_err(|_| "the expected answer begins like JSON and is none; put it in quotes".to_owned())?;
        return Ok(AnswerExpectation { answer, ..AnswerExpectation::default() });
    }
    let word = field.split_once(':').filter(|(word, _)| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
    let Some((word, text)) = word else { return Ok(expect_check(equals(field))) };
    let text = text.trim();
    let sense = if word.starts_with("not-") { RuleSense::Fails } else { RuleSense::Holds };
    let rule = match word.strip_prefix("not-").unwrap_or(word) {
        "equals" => equals(text).rule,
        "contains" => AnswerRule::ContainsAll(vec![text.to_owned()]),
        "regex" => {
            super::check::compile_pattern(text, LetterCase::Kept)
                .map_err(|why| format!("`{text}` is no regular expression that can be used: {why}"))?;
            AnswerRule::Regex(text.to_owned())
        }
        "similar" => AnswerRule::Similar { text: text.to_owned(), least: SIMILAR_PERCENT },
        _ => {
            let known: Vec<&str> = ANSWER_CHECKS.iter().map(|(word, _)| *word).collect();
            return match nearest_key(word, &known) {
                None => Ok(expect_check(equals(field))),
                Some(near) => Err(format!(
                    "`{word}:` is no check; did you mean `{near}:`? A field can hold {}; for an answer that begins with \
                     `{word}:`, write `equals: {word}: …`",
                    IN_WORDS.join(", ")
                )),
            };
        }
    };
    if text.is_empty() {
        return Err(format!("`{word}:` has no text behind it"));
    }
    Ok(expect_check(AnswerCheck { sense, ..AnswerCheck::of(rule) }))
}

/// The answer itself.
fn equals(field: &str) -> AnswerCheck {
    AnswerCheck::of(AnswerRule::Equals(field.into()))
}

fn expect_check(check: AnswerCheck) -> AnswerExpectation {
    AnswerExpectation { checks: vec![check], ..AnswerExpectation::default() }
}

/// The bytes of a line.
fn line_span(text: &str, line: usize) -> Span {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let length = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default().len();
    Span::new(start, start.saturating_add(length))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Json {
        json!({ "type": "object", "properties": { "word": { "type": "string" }, "size": { "type": "integer" } } })
    }

    #[test]
    fn a_row_is_a_case_with_its_inputs_and_what_is_expected() {
        let text = "word,size,expect,name\n\"a, b\",3,contains: c,first\nx,,yes,\nx,1,\"{\"\"hour\"\": 12}\",\n";
        let cases = parse_table("cases.csv", text, &schema()).unwrap().cases;
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["first", "line 3", "line 4"]);
        let inputs = |case: usize| cases[case].inputs.as_ref().unwrap().to_json();
        assert_eq!(inputs(0), json!({ "word": "a, b", "size": 3 }));
        // An empty field of an input that is no text is left out, as in a batch.
        assert_eq!(inputs(1), json!({ "word": "x" }));
        let differences = |case: usize, answer: Json| cases[case].live.as_ref().unwrap().differences(&answer);
        assert_eq!(differences(0, json!("abc")), Vec::<String>::new());
        assert_eq!(differences(1, json!("yes, sir")), ["does not equal \"yes\""]);
        assert_eq!(differences(2, json!({ "hour": 12, "more": 1 })), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_table_of_cases_is_refused_by_its_line() {
        for (text, line, words) in [
            ("", 1, "the first row"),
            ("word,size\n", 1, "it has 0 cases"),
            ("wrod,size\na,1\n", 1, "did you mean `word`?"),
            ("word,word\na,1\n", 1, "two columns"),
            ("word,size\na\n", 2, "it has 1 fields, and the first row 2"),
            ("word,size\na,1\n\na,b\n", 4, "not JSON"),
            ("word,expect\na,contain: x\n", 2, "did you mean `contains:`?"),
            ("word,expect\na,regex: (\n", 2, "no regular expression"),
            ("word,expect\na,{x\n", 2, "begins like JSON"),
            ("word,name\na,b\nc,b\n", 3, "two cases are called `b`"),
            ("word\n\"a\n", 2, "quote"),
        ] {
            let error = parse_table("cases.csv", text, &schema()).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains(&format!("cases.csv:{line}:")), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_field_with_a_colon_is_an_answer_unless_it_names_a_check() {
        let read = |field: &str| read_expected(field).unwrap().checks.remove(0);
        assert_eq!(read("time: noon"), equals("time: noon"));
        assert_eq!(read("12").difference(&json!(12)), None);
        assert_eq!(read("equals: contains: x"), equals("contains: x"));
        assert_eq!(read("not-contains: x").sense, RuleSense::Fails);
    }
}
