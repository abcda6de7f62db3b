//! The contract of a prompt, and what a check of the book says about it.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use proem_engine::ErrorKind;
use proem_engine::contract::AnswerContract;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::check::check_book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::tokens::OpenAi;
use serde_json::json;

/// A book of one prompt with this front matter, and its answer's schema beside it.
fn book(front: &str, proem: &str, schema: Option<&str>) -> Book {
    let prompt = format!(
        "---\n{front}input:\n  schema: {{ a: string }}\nproem:\n  version: 1.0.0\n  purpose: Decides what is next.\n{proem}  sections:\n    - {{ name: role, trust: constitution }}\n    - {{ name: evidence, trust: untrusted }}\n---\n{{{{role \"system\"}}}}{{{{section \"role\"}}}}\nYou are a judge. You must answer. Never guess.\n{{{{role \"user\"}}}}{{{{section \"evidence\"}}}}\n{{{{a}}}}\n"
    );
    let mut files = vec![("one/next step/1.0.0.prompt", prompt.as_str())];
    files.extend(schema.map(|schema| ("one/next step/answer.schema.json", schema)));
    let template = |text: &str| PartialText::Template(text.to_owned());
    let files = files.into_iter().map(|(path, text)| (path.to_owned(), template(text))).collect();
    Book::new(vec![BookLayer { origin: Origin::Embedded, files }]).unwrap()
}

fn prompt(book: &Book) -> Prompt {
    book.prompt("one/next step", None).unwrap()
}

const BESIDE: &str = "  output_schema: answer.schema.json\n";
const PICOSCHEMA: &str = "output:\n  schema:\n    reason: string, why\n    tags?(array): string\n";
const SCHEMA: &str =
    r#"{"type":"object","properties":{"reason":{"type":"string","maxLength":9}},"required":["reason"]}"#;

#[test]
fn a_schema_beside_the_prompt_is_its_contract() {
    let contract = prompt(&book(PICOSCHEMA, BESIDE, Some(SCHEMA))).contract().unwrap().into_value().unwrap();
    let tool = contract.tool();
    // The prompt's purpose is for its readers and no part of the question to a model.
    assert_eq!((tool.name.as_str(), tool.description.as_str()), ("next_step", ""));
    assert_eq!(tool.schema["properties"]["reason"]["maxLength"], 9);
}

#[test]
fn picoschema_is_bounded() {
    let contract = prompt(&book(PICOSCHEMA, "", None)).contract().unwrap().into_value().unwrap();
    let properties = &contract.schema()["properties"];
    assert_eq!(properties["reason"]["maxLength"], 10_000);
    assert_eq!(properties["tags"]["maxItems"], 1_000);
    assert!(contract.accepts(&json!({ "reason": "x", "tags": ["y"] })));
    assert!(!contract.accepts(&json!({ "tags": [] })));
}

#[test]
fn without_a_schema_the_answer_is_free_text() {
    assert!(matches!(prompt(&book("", "", None)).contract().unwrap(), AnswerContract::Text));
}

#[test]
fn a_schema_that_is_none_is_an_error() {
    let error = |schema| prompt(&book("", BESIDE, schema)).contract().unwrap_err();
    let missing = error(None);
    assert_eq!(
        (missing.kind(), missing.to_string().as_str()),
        (
            ErrorKind::NotFound,
            "proem.output_schema names `answer.schema.json`, which is not in the folder of the prompt file"
        )
    );
    assert!(error(Some("{")).to_string().starts_with("answer.schema.json: not JSON: "));
    assert_eq!(
        error(Some(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#)).to_string(),
        "answer.schema.json: `/properties/a` is a string without a maximum length; add `maxLength`"
    );
}

/// The remarks of a check on the prompt.
#[track_caller]
fn says(front: &str, proem: &str, schema: Option<&str>, expected: &[&str]) {
    let remarks = check_book(&book(front, proem, schema), &OpenAi::O200k).unwrap();
    let found: Vec<String> = remarks.into_iter().map(|r| format!("{}: {}", r.severity.as_str(), r.text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_check_looks_at_the_contract_and_the_fallback() {
    says("", BESIDE, Some(SCHEMA), &[]);
    says("", &format!("{BESIDE}  fallback: {{ reason: none }}\n"), Some(SCHEMA), &[]);
    says(
        "",
        &format!("{BESIDE}  fallback: {{ reason: 3 }}\n"),
        Some(SCHEMA),
        &["error: proem.fallback does not meet the contract: /reason: expected a text (type)"],
    );
    says(
        "",
        &format!("{BESIDE}  fallback: none\n"),
        Some(SCHEMA),
        &["error: proem.fallback does not meet the contract: the value: expected an object (type)"],
    );
    says(
        "",
        BESIDE,
        Some(r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"null"}}}}"#),
        &[
            "error: answer.schema.json: `/properties/a` is a string without a maximum length; add `maxLength`",
            "error: answer.schema.json: `/properties/b` is a list without a maximum length; add `maxItems`",
        ],
    );
    says(
        "",
        BESIDE,
        None,
        &["error: proem.output_schema names `answer.schema.json`, which is not in the folder of the prompt file"],
    );
    says(
        PICOSCHEMA,
        "",
        None,
        &["warning: output.schema can't state maximum lengths, so defaults were used for \
             /properties/reason/maxLength, /properties/tags/maxItems, /properties/tags/items/maxLength; to set them, \
             put the schema into a file and name the file in proem.output_schema"],
    );
    says("", "  fallback: nothing is known\n", None, &[]);
    says(
        "",
        "  fallback: { reason: none }\n",
        None,
        &["error: proem.fallback is not a string, and no schema declares another type of answer; add `output.schema`"],
    );
}

/// A book whose prompt calls tools. The files beside it.
fn tools(list: &str, files: &[(&str, &str)]) -> Book {
    let lower = book("", &format!("  tools: {list}\n"), None);
    let mut layer = lower.layers().first().unwrap().clone();
    for (name, text) in files {
        layer.files.insert(format!("one/next step/{name}"), PartialText::Template((*text).to_owned()));
    }
    Book::new(vec![layer]).unwrap()
}

const LOOK: &str =
    r#"{"type":"object","description":"Looks.","properties":{"at":{"type":"string","maxLength":9}},"required":["at"]}"#;
const BOTH: [(&str, &str); 2] = [("look.schema.json", LOOK), ("answer.schema.json", SCHEMA)];

#[test]
fn tools_are_called_like_their_files() {
    let book = tools("[look.schema.json, answer.schema.json]", &BOTH);
    let AnswerContract::Calls(tools) = prompt(&book).contract().unwrap() else { panic!("calls are owed") };
    let told: Vec<_> =
        tools.contracts().iter().map(|c| (c.tool().name.as_str(), c.tool().description.as_str())).collect();
    assert_eq!(told, [("answer", ""), ("look", "Looks.")]);
    assert!(tools.contracts().iter().all(|contract| contract.schema().get("description").is_none()));
}

#[test]
fn a_tools_contract_belongs_to_what_is_locked() {
    let hash = |look: &str| {
        let files = [("look.schema.json", look), ("answer.schema.json", SCHEMA)];
        prompt(&tools("[look.schema.json, answer.schema.json]", &files)).id.closure
    };
    assert_eq!(hash(LOOK), hash(LOOK));
    assert_ne!(hash(LOOK), hash(&LOOK.replace("Looks", "Looks about")));
    assert_ne!(hash(LOOK), prompt(&tools("[look.schema.json]", &BOTH)).id.closure);
}

#[test]
fn a_check_looks_at_the_tools_and_their_fallback() {
    let says = |list: &str, files: &[(&str, &str)], expected: &[&str]| {
        let remarks = check_book(&tools(list, files), &OpenAi::O200k).unwrap();
        let found: Vec<String> = remarks.into_iter().map(|r| format!("{}: {}", r.severity.as_str(), r.text)).collect();
        let starts = found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected));
        assert!(starts && found.len() == expected.len(), "{found:?}");
    };
    says("[look.schema.json]", &BOTH, &[]);
    let call = |at: &str| {
        format!("[look.schema.json]\n  fallback: {{ calls: [{{ name: look, arguments: {{ at: {at} }} }}] }}")
    };
    says(&call("here"), &BOTH, &[]);
    says(
        &call("far too far away"),
        &BOTH,
        &["error: proem.fallback does not meet the contract: /calls/0/arguments/at"],
    );
    says(
        "[look.schema.json, see.schema.json]",
        &BOTH,
        &["error: proem.tools names `see.schema.json`, which is not in the folder of the prompt file"],
    );
    says("[look.schema.json]", &[("look.schema.json", "{")], &["error: look.schema.json: not JSON"]);
    says(
        "[look.json]",
        &BOTH,
        &[
            "error: proem.tools names `look.json`, which is not in the folder of the prompt file",
            "error: `look.json` is not the contract of a tool; expected a name such as `answer.schema.json`",
        ],
    );
    says("[]", &BOTH, &["error: proem.tools is empty; name a tool, or remove the key"]);
    says(
        "look.schema.json",
        &BOTH,
        &["error: proem.tools is not a list of files; write `tools: [answer.schema.json]`"],
    );
    says("[look.schema.json, look.schema.json]", &BOTH, &["error: proem.tools names `look.schema.json` twice"]);
    says(
        "[look.schema.json]\n  output_schema: answer.schema.json",
        &BOTH,
        &["error: proem.tools and proem.output_schema exclude each other; remove one"],
    );
}

#[test]
fn definitions_of_providers_are_tools_as_they_are() {
    let anthropic = r#"{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}"#;
    let openai = r#"{"type": "function", "function": {"name": "answer", "description": "Answers.", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}}"#;
    let files = [("look.schema.json", anthropic), ("answer.schema.json", openai)];
    let book = tools("[look.schema.json, answer.schema.json]", &files);
    let AnswerContract::Calls(contracts) = prompt(&book).contract().unwrap() else { panic!("calls are owed") };
    let found: Vec<(&str, &str)> =
        contracts.contracts().iter().map(|c| (c.tool().name.as_str(), c.tool().description.as_str())).collect();
    assert_eq!(found, [("answer", "Answers."), ("look", "Looks.")]);
    let remarks = check_book(&book, &OpenAi::O200k).unwrap();
    let filled = remarks.iter().find(|remark| remark.text.contains("no maximum lengths")).unwrap();
    assert!(filled.text.contains("look.schema.json/properties/path"), "{}", filled.text);
    let wrong = tools("[see.schema.json]", &[("see.schema.json", anthropic)]);
    let error = prompt(&wrong).contract().unwrap_err().to_string();
    assert_eq!(error, "see.schema.json: it defines the tool `look`; call the file `look.schema.json`");
}
