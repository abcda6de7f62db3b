//! The tests of a promptfoo configuration, in YAML and CSV.

use proem_text::{BareQuotes, CsvError, OrderedMap, read_csv};

use super::super::document::{items, mapping_entries, parse_document, scalar_text};
use super::super::source::{ImportReader, SourceFile, declare, input_name};
use super::super::{ImportedCase, ImportedExpectation, ImportedPrompt, TextPiece};
use super::assertions::{add_field, read_assertions};
use crate::ordered_json::OrderedJson;
use crate::prompt::yaml::{MappingKey, YamlNode, YamlValue};

/// The most cases of one configuration. Lists of values multiply.
const MAX_CASES: usize = 500;

/// The values that `defaultTest` sets for every test.
struct TestDefaults {
    /// The configuration itself, which holds templates of assertions.
    root: YamlNode,
    /// The variables. A list of values makes a set of each.
    sets: Vec<OrderedMap<OrderedJson>>,
    expected: ImportedExpectation,
}

/// Reads `tests` on top of what `defaultTest` sets for each.
pub(super) fn read_tests(root: &YamlNode, reader: &mut ImportReader<'_>) -> Vec<ImportedCase> {
    let file = reader.file;
    let mut defaults = TestDefaults {
        root: root.clone(),
        sets: vec![OrderedMap::default()],
        expected: ImportedExpectation::default(),
    };
    if let Some(test) = root.get("defaultTest") {
        if test.as_str().is_some() {
            reader.refuse_check(file, test.span.start, "`defaultTest` in a file of its own is not imported");
        }
        defaults.sets = read_variables(test.get("vars"), file, defaults.sets, reader);
        read_assertions(test, root, file, &mut defaults.expected, reader);
        read_other_keys(test, file, reader);
    }
    let mut cases = Vec::new();
    let tests = root.get("tests");
    if let Some(node) = tests.filter(|tests| matches!(tests.data, YamlValue::Map(_))) {
        reader.refuse_check(file, node.span.start, "tests that a program makes are not imported");
    }
    let one = tests.cloned().filter(|node| node.as_str().is_some());
    for test in items(tests).iter().chain(one.iter()) {
        match test.as_str() {
            Some(path) => read_test_file(path, test.span.start, &defaults, &mut cases, reader),
            None => read_test(test, file, &defaults, &mut cases, reader),
        }
    }
    if cases.is_empty() && defaults.sets.iter().any(|vars| vars.iter().len() > 0) {
        let TestDefaults { sets, expected, .. } = defaults;
        cases.extend(sets.into_iter().map(|inputs| ImportedCase {
            inputs,
            expected: expected.clone(),
            ..ImportedCase::default()
        }));
    }
    if cases.len() > MAX_CASES {
        let text = format!("{} of {} tests are left out", cases.len().saturating_sub(MAX_CASES), cases.len());
        reader.leave_out(file, tests.map_or(0, |node| node.span.start), text);
        cases.truncate(MAX_CASES);
    }
    cases
}

/// Adds the cases that give what a prompt reads, under names that differ.
pub(super) fn add_cases(prompt: &mut ImportedPrompt, cases: &[ImportedCase]) {
    let mut read: OrderedMap<()> = OrderedMap::default();
    for piece in prompt.turns.iter().flat_map(|turn| &turn.pieces) {
        if let TextPiece::Input(path) = piece {
            read.insert(input_name(path.first().map_or("", String::as_str)), ());
        }
    }
    let mut names: OrderedMap<()> = OrderedMap::default();
    for (index, case) in cases.iter().enumerate() {
        // promptfoo renders a variable that is missing as nothing. A case of ours has all of them.
        let mut inputs: OrderedMap<OrderedJson> = OrderedMap::default();
        for (name, ()) in read.iter() {
            let value = case.inputs.get(name).cloned().unwrap_or_else(|| OrderedJson::from(""));
            inputs.insert(name, value);
        }
        let base = if case.name.is_empty() { format!("test {}", index.saturating_add(1)) } else { case.name.clone() };
        let name = if names.get(&base).is_some() { format!("{base} ({})", index.saturating_add(1)) } else { base };
        names.insert(name.clone(), ());
        prompt.cases.push(ImportedCase { name, inputs, expected: case.expected.clone() });
    }
    for (name, ()) in read.iter() {
        let is_object = cases.iter().any(|case| matches!(case.inputs.get(name), Some(OrderedJson::Map(_))));
        if !is_object {
            declare(&mut prompt.inputs, &[name.to_owned()]);
        }
    }
}

fn read_test(
    test: &YamlNode,
    file: SourceFile<'_>,
    defaults: &TestDefaults,
    cases: &mut Vec<ImportedCase>,
    reader: &mut ImportReader<'_>,
) {
    let name = test.get("description").and_then(YamlNode::as_str).unwrap_or_default().to_owned();
    let mut expected = defaults.expected.clone();
    read_assertions(test, &defaults.root, file, &mut expected, reader);
    read_other_keys(test, file, reader);
    for inputs in read_variables(test.get("vars"), file, defaults.sets.clone(), reader) {
        if cases.len() <= MAX_CASES {
            cases.push(ImportedCase { name: name.clone(), inputs, expected: expected.clone() });
        }
    }
}

/// Refuses or lists the keys of a test that are neither its variables nor its assertions.
fn read_other_keys(test: &YamlNode, file: SourceFile<'_>, reader: &mut ImportReader<'_>) {
    for (key, value) in mapping_entries(Some(test)) {
        let at = key.span.start;
        match key.name.as_str() {
            "vars" | "assert" | "description" => {}
            "options" => mapping_entries(Some(value)).iter().for_each(|(key, _)| read_option(key, file, reader)),
            "metadata" | "provider" => reader.leave_out(file, at, format!("`{}` of a test is left out", key.name)),
            "transform" => {
                reader.refuse(file, at, "`transform` is code, which is not imported", "take it out");
            }
            "assertScoringFunction" => {
                reader.refuse_check(file, at, "`assertScoringFunction` is code, which is not imported");
            }
            other => reader.refuse_check(file, at, &format!("`{other}` of a test is not imported")),
        }
    }
}

fn read_option(key: &MappingKey, file: SourceFile<'_>, reader: &mut ImportReader<'_>) {
    let at = key.span.start;
    match key.name.as_str() {
        "provider" | "repeat" | "runSerially" => {
            reader.leave_out(file, at, format!("`options.{}` of a test is left out", key.name));
        }
        "transform" | "postprocess" | "transformVars" => {
            reader.refuse(file, at, &format!("`{}` is code, which is not imported", key.name), "take it out");
        }
        "prefix" | "suffix" => {
            let message = format!("`options.{}` changes what the model reads, and is not imported", key.name);
            reader.refuse(file, at, &message, "write it into the prompt");
        }
        other => reader.refuse_check(file, at, &format!("`options.{other}` of a test is not imported")),
    }
}

/// The variables on top of those that hold. A list of values makes a case of each.
fn read_variables(
    node: Option<&YamlNode>,
    file: SourceFile<'_>,
    mut sets: Vec<OrderedMap<OrderedJson>>,
    reader: &mut ImportReader<'_>,
) -> Vec<OrderedMap<OrderedJson>> {
    if let Some(node) = node.filter(|node| !matches!(node.data, YamlValue::Map(_))) {
        reader.refuse(
            file,
            node.span.start,
            "variables in files of their own are not imported",
            "write them under `vars`",
        );
    }
    for (key, value) in mapping_entries(node) {
        let name = input_name(&key.name);
        let values: Vec<OrderedJson> = match &value.data {
            YamlValue::List(items) => items.iter().filter_map(variable).collect(),
            _ => variable(value).into_iter().collect(),
        };
        let paths = values.iter().filter_map(|value| match value {
            OrderedJson::Text(text) => text.strip_prefix("file://").map(str::to_owned),
            _ => None,
        });
        for path in paths.collect::<Vec<_>>() {
            let message = format!("the value of `{name}` is the file `{path}`, which is not read");
            reader.refuse(file, value.span.start, &message, "put its text into the configuration");
        }
        if values.is_empty() {
            reader.leave_out(file, key.span.start, format!("the variable `{name}` has no value that a case can give"));
            continue;
        }
        let next = sets.iter().flat_map(|set| {
            values.iter().map(|value| {
                let mut set = set.clone();
                set.insert(name.as_str(), value.clone());
                set
            })
        });
        sets = next.take(MAX_CASES.saturating_add(1)).collect();
    }
    sets
}

/// A value as promptfoo prints it. Objects stay, for their fields are read.
fn variable(node: &YamlNode) -> Option<OrderedJson> {
    match &node.data {
        YamlValue::Map(_) => Some(node.to_ordered()),
        _ => scalar_text(node).map(|text| OrderedJson::Text(text.into())),
    }
}

fn read_test_file(
    path: &str,
    at: usize,
    defaults: &TestDefaults,
    cases: &mut Vec<ImportedCase>,
    reader: &mut ImportReader<'_>,
) {
    let file = reader.file;
    let path = path.strip_prefix("file://").unwrap_or(path);
    let Some(beside) = reader.beside(path) else {
        let is_service = path.contains("://");
        let why = if is_service { "is not on this machine" } else { "is not there" };
        return reader.refuse(file, at, &format!("the test file `{path}` {why}"), "put it beside the configuration");
    };
    if path.ends_with(".csv") {
        return read_test_rows(beside, defaults, cases, reader);
    }
    if !path.ends_with(".yaml") && !path.ends_with(".yml") && !path.ends_with(".json") {
        return reader.refuse(file, at, &format!("tests in `{path}` are not imported"), "known: .csv, .yaml, .json");
    }
    match parse_document(beside) {
        Ok(root) => items(Some(&root)).iter().for_each(|test| read_test(test, beside, defaults, cases, reader)),
        Err(problem) => reader.refuse_whole(problem),
    }
}

/// Tests as rows: a column for each variable, and columns that begin with `__`.
fn read_test_rows(
    file: SourceFile<'_>,
    defaults: &TestDefaults,
    cases: &mut Vec<ImportedCase>,
    reader: &mut ImportReader<'_>,
) {
    let offset = |line: usize| file.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rows = match read_csv(file.text.as_bytes(), BareQuotes::Kept) {
        Ok(rows) => rows,
        Err(CsvError { line, expected }) => return reader.refuse(file, offset(line), expected, ""),
    };
    let Some((header, rows)) = rows.split_first() else { return };
    let columns: Vec<String> = header.fields.iter().map(|name| name.trim().to_owned()).collect();
    for (index, row) in rows.iter().enumerate() {
        if cases.len() >= MAX_CASES {
            let text = format!("{} tests from here on are left out", rows.len().saturating_sub(index));
            return reader.leave_out(file, offset(row.line), text);
        }
        if row.fields.len() > columns.len() {
            reader.refuse(
                file,
                offset(row.line),
                "this row has more fields than the header",
                "put the field in quotes",
            );
            continue;
        }
        let mut case = ImportedCase {
            name: String::new(),
            inputs: defaults.sets.first().cloned().unwrap_or_default(),
            expected: defaults.expected.clone(),
        };
        for (column, field) in columns.iter().zip(&row.fields) {
            match column.strip_prefix("__") {
                None => case.inputs.insert(input_name(column), OrderedJson::Text(field.as_str().into())),
                Some("description") => case.name.clone_from(field),
                Some(column) if column.starts_with("expected") && !field.trim().is_empty() => {
                    add_field(field.trim(), offset(row.line), file, &mut case.expected, reader);
                }
                Some(_) if field.is_empty() => {}
                Some(column) if column == "metric" || column.starts_with("metadata") => {
                    reader.leave_out(file, offset(row.line), format!("the column `__{column}` is left out"));
                }
                Some(column @ ("prefix" | "suffix")) => {
                    let message = format!("the column `__{column}` changes what the model reads, and is not imported");
                    reader.refuse(file, offset(row.line), &message, "write it into the prompt");
                }
                Some(column) => {
                    reader.refuse_check(file, offset(row.line), &format!("the column `__{column}` is not imported"));
                }
            }
        }
        cases.push(case);
    }
}
