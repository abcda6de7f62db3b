//! Answers that are no objects, the place of the answer's form in a prompt, and what cases check of answers.

use std::fs;
use std::path::Path;

use proem_engine::prompt::cases::ANSWER_CHECKS;
use proem_llm::scripted::{Reply, ScriptedServer};
use serde_json::{Value as Json, json};

use crate::fixture::Fixture;
use crate::guide;
use crate::run::start;

/// A prompt with an answer of this schema, and more lines of its front matter.
fn sorting_prompt(schema: &str, more: &str) -> String {
    format!(
        "---\nmodel: small\ninput:\n  schema: {{ title: string }}\n{schema}proem:\n  version: 1.0.0\n{more}  sections:\n    - {{ name: role, trust: constitution }}\n    - {{ name: report, trust: untrusted, cache: never, keep: required }}\n---\n{{{{role \"system\"}}}}{{{{section \"role\"}}}}\nYou sort mails. You must say what one is.\n{{{{role \"user\"}}}}{{{{section \"report\"}}}}\n{{{{title}}}}\n"
    )
}

/// The answer as an enumeration.
const LISTED: &str = "output:\n  schema: { type: string, enum: [spam, ham] }\n";

/// A user with the prompt `mails/sort` and a server as each provider.
fn user(server: &ScriptedServer, prompt: &str) -> Fixture {
    let mut fixture = Fixture::folder();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    let address = server.address();
    fixture.configure(
        "config.toml",
        &format!(
            "[providers.anthropic]\nbase_url = \"http://{address}\"\nkey = \"ANTHROPIC_API_KEY\"\n\
             [providers.local]\nbase_url = \"http://{address}/v1\"\nanswers = \"text\"\nattempts = 1\n"
        ),
    );
    fixture.configure("book/mails/sort/1.0.0.prompt", prompt);
    fixture
}

const RUN: [&str; 6] = ["run", "mails/sort", "--model", "claude-haiku-4-5", "--set", "title=Buy now"];
const LOCAL: [&str; 8] = ["run", "mails/sort", "--provider", "local", "--model", "qwen", "--set", "title=Buy now"];

#[test]
fn an_answer_without_a_wrapper_is_asked_for_in_an_object_and_given_bare() {
    let value = |value: &str| Reply::value(json!({ "value": value }));
    let server = start(vec![value("spam"), value("ham")]);
    let fixture = user(&server, &sorting_prompt(LISTED, ""));
    assert_eq!(fixture.proem(&RUN).answer(), "spam\n");
    let json = fixture.proem(&[&RUN[..], &["--json"]].concat()).json();
    assert_eq!(json["value"], "ham", "{json}");
    let sent = server.requests()[0].json().unwrap();
    let schema = &sent["tools"][0]["input_schema"];
    assert_eq!((&schema["type"], &schema["properties"]["value"]["enum"]), (&json!("object"), &json!(["spam", "ham"])));
    // The record holds what was answered, and a replay comes to the same.
    let shown = fixture.proem(&["runs", "show", "last", "--json"]).stdout().to_owned();
    assert!(!shown.contains("{\\\"value\\\":\\\"ham\\\"}") || shown.contains("\"ham\""), "{shown}");
    fixture.replay_last();
}

#[test]
fn a_model_that_is_held_to_nothing_may_answer_bare() {
    for (said, expected) in [
        ("ham", Ok("ham\n")),
        ("{\"value\": \"ham\"}", Ok("ham\n")),
        (" spam\n", Ok("spam\n")),
        ("eggs", Err(())),
        ("ham\nspam", Err(())),
        ("ham or spam", Err(())),
    ] {
        let server = start(vec![Reply::text(said), Reply::text(said)]);
        let run = user(&server, &sorting_prompt(LISTED, "")).proem(&LOCAL);
        match expected {
            Ok(expected) => assert_eq!(run.answer(), expected, "{said}"),
            Err(()) => assert_ne!(run.code(), 0, "{}", run.transcript()),
        }
    }
}

#[test]
fn numbers_booleans_and_lists_are_answers_too_and_fallbacks_are_bare() {
    for (schema, answer, printed) in [
        ("{ type: integer, minimum: 0 }", json!(7), "7\n"),
        ("{ type: boolean }", json!(true), "true\n"),
        ("{ type: array, items: { type: string } }", json!(["a", "b"]), "[\n  \"a\",\n  \"b\"\n]\n"),
    ] {
        let server = start(vec![Reply::value(json!({ "value": answer }))]);
        let fixture = user(&server, &sorting_prompt(&format!("output:\n  schema: {schema}\n"), ""));
        let run = fixture.proem(&RUN);
        let (found, wanted): (Json, Json) =
            (serde_json::from_str(run.answer()).unwrap(), serde_json::from_str(printed).unwrap());
        assert_eq!(found, wanted, "{schema}");
    }
    let server = start(vec![Reply::refusal("no")]);
    let fixture = user(&server, &sorting_prompt(LISTED, "  fallback: ham\n"));
    let checked = fixture.proem(&["book", "check"]);
    assert_eq!(checked.code(), 0, "{}", checked.transcript());
    let run = fixture.proem(&[&RUN[..], &["--fallback"]].concat());
    assert_eq!(run.stdout(), "ham\n", "{}", run.transcript());
    let wrong = user(&server, &sorting_prompt(LISTED, "  fallback: eggs\n")).proem(&["book", "check"]);
    assert!(wrong.code() == 1 && wrong.transcript().contains("the value: expected"), "{}", wrong.transcript());
}

#[test]
fn a_schema_that_is_only_string_asks_for_a_text() {
    let server = start(vec![Reply::text("Hello.")]);
    let fixture = user(&server, &sorting_prompt("output:\n  schema: string\n", ""));
    assert_eq!(fixture.proem(&RUN).answer(), "Hello.\n");
    assert!(server.requests()[0].json().unwrap().get("tools").is_none());
}

/// A prompt that says where the form of its answer is.
fn prompt_with_place(place: &str) -> String {
    sorting_prompt(LISTED, "")
        .replace("You must say what one is.\n", &format!("You must say what one is.\n{place}\nThat is all.\n"))
}

/// Everything that a request says.
fn words(server: &ScriptedServer) -> String {
    let sent = server.requests().last().unwrap().json().unwrap();
    let messages = sent["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn the_form_of_the_answer_stands_where_the_author_puts_it_and_nowhere_else() {
    let server = start(vec![Reply::text("ham"), Reply::text("ham")]);
    let run = user(&server, &prompt_with_place("{{output_format}}")).proem(&LOCAL);
    assert_eq!(run.answer(), "ham\n");
    let text = words(&server);
    assert_eq!(text.matches("The answer is one JSON").count(), 1, "{text}");
    let (form, end) = (text.find("The answer is one JSON").unwrap(), text.find("That is all.").unwrap());
    assert!(form < end, "{text}");
    // Without the helper it is at the end.
    user(&server, &prompt_with_place("")).proem(&LOCAL).answer();
    let text = words(&server);
    assert!(text.find("The answer is one JSON").unwrap() > text.find("That is all.").unwrap(), "{text}");
}

#[test]
fn the_form_helper_has_its_errors_and_yields_to_an_input_of_its_name() {
    let server = start(Vec::new());
    let check = |prompt: &str| user(&server, prompt).proem(&["book", "check"]).transcript();
    let without = prompt_with_place("{{output_format}}").replace(LISTED, "");
    assert!(check(&without).contains("`{{output_format}}` prints nothing"), "{}", check(&without));
    let inside = sorting_prompt(LISTED, "")
        .replace("{{title}}", "{{title}}{{#each list}}{{output_format}}{{/each}}")
        .replace("title: string", "title: string, list(array): string");
    assert!(check(&inside).contains("can't be printed inside #each"), "{}", check(&inside));
    let named = sorting_prompt(LISTED, "").replace("title", "output_format");
    let prepared = user(&server, &named).proem(&[
        "run",
        "mails/sort",
        "--set",
        "output_format=MINE",
        "--dry-run",
        "--model",
        "claude-haiku-4-5",
    ]);
    assert!(prepared.answer().contains("MINE"), "{}", prepared.transcript());
}

#[test]
fn an_input_that_names_the_helper_prints_no_form() {
    let server = start(vec![Reply::text("ham")]);
    let fixture = user(&server, &sorting_prompt(LISTED, ""));
    let set = "title={{output_format}}";
    fixture.proem(&[&LOCAL[..6], &["--set", set]].concat()).answer();
    let text = words(&server);
    assert!(text.contains("{{output_format}}") && text.matches("The answer is one JSON").count() == 1, "{text}");
}

#[test]
fn a_live_case_holds_an_answer_against_each_check() {
    let cases = "cases:\n  - name: a\n    inputs: { title: Buy now }\n    live:\n      checks:\n        - { equals: SPAM, ignore-case: true }\n        - { not-contains: [ham] }\n        - { regex: '^s' }\n        - { similar: spam, least: 100 }\n";
    let server = start(vec![Reply::value(json!({ "value": "spam" })), Reply::value(json!({ "value": "ham" }))]);
    let fixture =
        user(&server, &sorting_prompt(LISTED, "  cases: c.yaml\n").replace("model: small", "model: claude-haiku-4-5"));
    fixture.configure("book/mails/sort/c.yaml", cases);
    let live = ["book", "test", "mails/sort", "--live", "--times", "1", "--no-record"];
    assert_eq!(fixture.proem(&live).code(), 0);
    let failed = fixture.proem(&live);
    let text = failed.transcript();
    assert_eq!(failed.code(), 1, "{text}");
    for words in ["equal \"SPAM\"", "do not contain `ham`", "match `^s`", "share 100 % of their words with `spam`"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_misspelt_check_is_named_with_the_nearest_one() {
    let server = start(Vec::new());
    let fixture = user(&server, &sorting_prompt(LISTED, "  cases: c.yaml\n"));
    let live = "    live:\n      checks:\n        - { contains-al: [a] }\n        - { regex: '(' }\n        - { contains: a, at: a.b }\n        - { least: 3 }\n";
    fixture.configure("book/mails/sort/c.yaml", &format!("cases:\n  - name: a\n    inputs: {{ title: x }}\n{live}"));
    let text = fixture.proem(&["book", "check"]).transcript();
    for words in
        ["did you mean `contains-all`?", "c.yaml:6:", "no regular expression", "write `/a/b`", "a check has 0 rules"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn cases_can_be_a_table_with_an_expected_answer() {
    let server = start(vec![Reply::value(json!({ "value": "spam" })), Reply::value(json!({ "value": "spam" }))]);
    let prompt = sorting_prompt(LISTED, "  cases: cases.csv\n").replace("model: small", "model: claude-haiku-4-5");
    let fixture = user(&server, &prompt);
    fixture.configure("book/mails/sort/cases.csv", "title,expect,name\n\"Buy, now\",spam,an offer\nHello,ham,\n");
    let test = fixture.proem(&["book", "test", "mails/sort"]);
    assert!(test.answer().contains("an offer") && test.stdout().contains("line 3"), "{}", test.transcript());
    let live = fixture.proem(&["book", "test", "mails/sort", "--live", "--times", "1", "--no-record", "--json"]);
    let tests: Json = serde_json::from_str(live.stdout()).unwrap();
    assert_eq!((&tests["tests"][0]["passed"], &tests["tests"][1]["passed"]), (&json!(true), &json!(false)), "{tests}");
    fixture.configure("book/mails/sort/cases.csv", "title,name\na,\u{1b}]0;evil\u{7}::error::x\n");
    let named = fixture.proem(&["book", "test", "mails/sort"]);
    assert!(!named.stdout().contains('\u{1b}') && named.stdout().contains("error"), "{}", named.transcript());
    fixture.configure("book/mails/sort/cases.csv", "titel,expect\na,spam\n");
    let broken = fixture.proem(&["book", "check"]);
    assert!(broken.code() == 1 && broken.transcript().contains("did you mean `title`?"), "{}", broken.transcript());
}

#[test]
fn a_table_of_cases_in_a_project_has_to_be_trusted_like_its_prompt() {
    let fixture = Fixture::folder().committed();
    fixture.write(".proem/book/mails/sort/1.0.0.prompt", sorting_prompt(LISTED, "  cases: cases.csv\n"));
    fixture.write(".proem/book/mails/sort/cases.csv", "title\nx\n");
    let states = fixture.proem(&["trust", "list", "--json"]).json();
    let files = states["files"].as_array().unwrap();
    let table = files.iter().find(|file| file["path"] == ".proem/book/mails/sort/cases.csv");
    assert_eq!(table.unwrap()["state"], "untrusted", "{states}");
}

#[test]
fn a_case_can_expect_what_limits_leave_out() {
    let case = |state: &str| {
        format!(
            "cases:\n  - name: a\n    inputs: {{ title: '{}' }}\n    expect: {{ sections: {{ report: {{ state: {state} }} }} }}\n",
            "word ".repeat(400).trim()
        )
    };
    let prompt = sorting_prompt("", "  cases: c.yaml\n  budget: { input: 120 }\n")
        .replace("cache: never, keep: required", "cache: never, priority: 10, ladder: { title: [full, omitted] }");
    for (state, code) in [("dropped", 0), ("kept", 1)] {
        let server = start(Vec::new());
        let fixture = user(&server, &prompt);
        fixture.configure("book/mails/sort/c.yaml", &case(state));
        let run = fixture.proem(&["book", "test", "mails/sort"]);
        assert_eq!(run.code(), code, "{}", run.transcript());
        if code == 1 {
            assert!(run.transcript().contains("section `report` is "), "{}", run.transcript());
        }
    }
}

#[test]
fn the_guide_to_cases_runs_and_lists_every_check() {
    let server = start(Vec::new());
    let tried = guide::run(&user(&server, &sorting_prompt(LISTED, "")), "cases.md", &[]);
    assert!(tried.files >= 2 && tried.sessions == 1, "{tried:?}");
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/cases.md")).unwrap();
    for (word, meaning) in ANSWER_CHECKS {
        assert!(text.contains(&format!("| `{word}` | {meaning} |\n")), "{word}");
    }
}
