//! Agents' files: what they define, what fails closed, and every problem with its place.

use std::collections::BTreeSet;

use proem_agents::lisp::{AGENT_SCHEMA, ToolKind, agent_findings, agent_sources, parse_agent};
use proem_engine::run::ToolPower;

const WHOLE: &str = r#"
version = 1
name = "orders"
mission = "Sum the open orders of {{day}}"
signature = "(day :string, book [:string]) -> {total :number}"
trusted_inputs = ["book"]
turns = { max_turns = 4 }
prompt = { list_sample = 2, omit_reference = true }
limits = { tool_calls = 7 }
catalogue = { later = "(a :int) -> :int" }

[tools.find-orders]
signature = "(day :string) -> [{id :int}]"
description = "The orders of a day"
effect = false
retries = 2
recorded = { file = "orders.json" }

[tools.send]
signature = "send(to :string, text :string) -> :bool"
description = "Send a message"
idempotent = true
triggered_by = ["tool/find-orders"]
parameters.to = { one_of = "ctx/book", accepts = ["ctx/day"] }
command = { argv = ["send", "--to={to}", "{ok: 1}"], environment = ["PATH"], secrets = { TOKEN = "mail" } }

[tools.ask]
signature = "(id :int) -> :any"
description = "Ask a server"
http = { url = "https://example.org/orders/{id}", result = "/items" }
"#;

/// All problems of a file in TOML, in order.
fn problems(text: &str) -> String {
    parse_agent("a.agent.toml", text).map_or_else(|error| error.problems().join("\n"), |_| String::new())
}

#[test]
fn a_file_says_what_an_agent_is_and_what_it_leaves_open_fails_closed() {
    let agent = parse_agent("orders.agent.toml", WHOLE).unwrap();
    assert_eq!((agent.name.as_str(), agent.turns.max_turns, agent.turns.retry_turns), ("orders", 4, 1));
    assert!(agent.prompt.omit_reference && agent.prompt.list_sample == 2 && agent.prompt.string_truncate == 500);
    assert_eq!(agent.narrow_limits(proem_lisp::Limits::default()).tool_calls, 7);
    let powers: Vec<_> = agent.tools.iter().map(|(name, tool)| (name.as_str(), tool.power)).collect();
    assert_eq!(
        powers,
        [("ask", ToolPower::Effectful), ("find-orders", ToolPower::Free), ("send", ToolPower::Idempotent)]
    );
    let (name, send) = agent.tool("send").unwrap();
    assert_eq!((name, send.terms.takes_secrets, send.timeout_seconds), ("send", false, 30));
    assert!(!send.label.is_trusted(), "results are from outside unless the file says otherwise");
    assert_eq!(agent.tool("find_orders").map(|(name, _)| name), Some("find-orders"));
    let ToolKind::Command(command) = &send.kind else { panic!("{send:?}") };
    assert_eq!(command.argv[2], "{ok: 1}", "a brace that names no parameter is a brace");
    assert!(agent.input_label("day").sources() != agent.input_label("book").sources());
    assert!(agent.input_label("_token").is_secret());
}

#[test]
fn json_of_the_same_form_is_the_same_agent() {
    let json = r#"{"version": 1, "name": "a", "signature": "(day :string) -> :int", "tools": {"lines":
        {"signature": "() -> :int", "description": "Count", "effect": false, "command": {"argv": ["count"]}}}}"#;
    let agent = parse_agent("a.agent.json", json).unwrap();
    assert_eq!(agent.tools["lines"].power, ToolPower::Free);
    let typo = json.replace("\"effect\"", "\"efect\"");
    let error = parse_agent("a.agent.json", &typo).unwrap_err();
    assert!(error.problems()[0].contains("unknown key `efect`"), "{error}");
    assert!(error.problems()[0].contains("a.agent.json:2:61"), "{error}");
}

#[test]
fn every_problem_is_found_with_its_line_its_key_and_a_caret() {
    let text = r#"version = 1
name = "orders"
sginature = "() -> :int"
signature = "(day :strin) -> :int"
trusted_inputs = ["book"]

[tools.map]
signature = "() -> :int"
description = "shadows the language"
command = { argv = ["x"] }

[tools.get-x]
signature = "(a :int) -> :int"
description = "twice"
command = { argv = ["x", "{b}"] }
parameters.c = { accepts = ["No Source"] }

[tools.get_x]
signature = "other() -> :int"
description = "twice"
efect = false
http = { url = "https://example.org" }
recorded = { file = "x.json" }

[tools.m]
signature = "() -> :int"
description = "a model"
model = { role = "small" }

[tools."a b"]
description = "no signature"
timeout_seconds = 0
mcp = { server = "github", name = "create_issue" }
"#;
    let found = problems(text);
    for (problem, place) in [
        ("unknown key `sginature`", ":3:1"),
        ("there is no type `:strin`", ":4:19"),
        ("`{b}` is no parameter of the signature", ":12:8"),
        ("`c` is no parameter of the tool `get-x`", ":16:12"),
        ("`No Source` is no source", ":16:29"),
        ("there is another tool `get_x`", ":18:8"),
        ("the signature of `get_x` is named `other`", ":19:13"),
        ("unknown key `efect`", ":21:1"),
        ("the tool `get_x` has http and recorded; keep one", ":18:8"),
        ("unknown key `role`", ":28:11"),
        ("a model needs one question", ":28:9"),
        ("`a b` is no name of a tool", ":30:8"),
        ("the tool `a b` has no signature", ":30:8"),
        ("a tool needs at least 1 second", ":32:19"),
        ("unknown key `name`", ":33:28"),
        ("no `tool`; write", ":33:7"),
    ] {
        let at = found.split("error: ").find(|one| one.contains(problem));
        let at = at.unwrap_or_else(|| panic!("{problem} is missing:\n{found}"));
        assert!(at.contains(&format!("a.agent.toml{place}\n")) && at.contains('^'), "{problem}: {at}");
    }
}

#[test]
fn a_hidden_parameter_is_no_word_and_no_address() {
    let text = |kind: &str| {
        format!(
            "version = 1\nname = \"a\"\n[tools.x]\nsignature = \"(_key :string) -> :any\"\ndescription = \"x\"\n{kind}\n"
        )
    };
    for kind in ["command = { argv = [\"x\", \"{_key}\"] }", "http = { url = \"https://example.org/{_key}\" }"] {
        assert!(problems(&text(kind)).contains("is hidden"), "{kind}: {}", problems(&text(kind)));
    }
    assert_eq!(problems(&text("command = { argv = [\"x\"] }")), "");
}

#[test]
fn a_list_of_the_agents_own_input_vouches_for_nothing_unless_it_is_trusted() {
    let untrusted = WHOLE.replace("trusted_inputs = [\"book\"]\n", "");
    assert!(problems(&untrusted).contains("`ctx/book` vouches for nothing"), "{}", problems(&untrusted));
    let folder = WHOLE.replace("environment = [\"PATH\"]", "folder = \"../up\"");
    assert!(problems(&folder).contains("a folder is relative to the project"), "{}", problems(&folder));
    let program = WHOLE.replace("[\"send\", \"--to={to}\"", "[\"{to}\", \"x\"");
    assert!(problems(&program).contains("no parameter replaces it"), "{}", problems(&program));
}

#[test]
fn a_command_that_prints_text_has_a_signature_of_text() {
    let text = |result: &str| {
        format!(
            "version = 1\nname = \"a\"\n[tools.log]\nsignature = \"() -> {result}\"\ndescription = \"x\"\n\
             command = {{ argv = [\"git\", \"log\"], output = \"lines\" }}\n"
        )
    };
    assert_eq!(problems(&text("[:string]")) + &problems(&text(":any")), "");
    let found = problems(&text("[{id :int}]"));
    assert!(found.contains("this `output` makes the result [:string], and the signature says [{id :int}]"), "{found}");
    let found = problems(&text("[:string]").replace("\"lines\"", "\"line\""));
    assert!(found.contains("unknown word `line`; write one of `json`, `text`, `lines`"), "{found}");
}

#[test]
fn the_schema_takes_what_the_reader_takes() {
    let schema: serde_json::Value = serde_json::from_str(AGENT_SCHEMA).unwrap();
    let keys = |pointer: &str| -> Vec<String> {
        schema.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect()
    };
    // A file with every key of the schema has no unknown one, and one more is unknown.
    for (table, pointer) in [("", "/properties"), ("[tools.x]\n", "/$defs/tool/properties")] {
        for key in keys(pointer) {
            let text = format!("{table}{key} = 1\n");
            assert!(!problems(&text).contains("unknown key"), "{key}: {}", problems(&text));
        }
        assert!(problems(&format!("{table}more = 1\n")).contains("unknown key `more`"));
    }
    for (kind, inner) in [("command", "argv"), ("http", "url"), ("recorded", "file")] {
        for key in keys(&format!("/$defs/tool/properties/{kind}/properties")) {
            let text = format!("[tools.x]\n{kind} = {{ {key} = 1, {inner}x = 1 }}\n");
            let found = problems(&text);
            assert!(!found.contains(&format!("unknown key `{key}`")), "{kind}.{key}: {found}");
            assert!(found.contains(&format!("unknown key `{inner}x`")), "{kind}: {found}");
        }
    }
}

#[test]
fn a_tool_without_a_description_has_that_of_its_question_and_an_agent_its_purpose() {
    let text = "version = 1\nname = \"a\"\n[tools.judge]\nsignature = \"(mail :string) -> :bool\"\n\
                model = { prompt = \"Is {{mail}} urgent? Answer strictly.\" }\n[tools.own]\nsignature = \"() -> :int\"\n\
                description = \"As it says\"\nmodel = { prompt = \"Count. Then stop.\" }\n[tools.child]\n\
                signature = \"() -> :int\"\nagent = { file = \"b.agent.toml\" }\n";
    let mut agent = parse_agent("a.agent.toml", text).unwrap();
    let of = |agent: &proem_agents::lisp::AgentDefinition, name: &str| agent.tools[name].description.clone();
    assert_eq!([of(&agent, "judge"), of(&agent, "own")], ["Is `mail` urgent?", "As it says"]);
    assert_eq!(of(&agent, "child"), "", "its file says it");
    for (child, expected) in [
        ("purpose = \"Counts days\"\nmission = \"Count the days. Well.\"", "Counts days"),
        (
            "mission = \"# Task\\nCount the days of {{ month }}. Well.\"\nsignature = \"(month :int)\"",
            "Count the days of `month`.",
        ),
        ("", ""),
    ] {
        let child = parse_agent("b.agent.toml", &format!("version = 1\nname = \"b\"\n{child}\n")).unwrap();
        assert_eq!(child.description_as_tool(), expected);
    }
    agent.describe_tool("child", "Counts days");
    agent.describe_tool("own", "not asked for");
    assert_eq!([of(&agent, "child"), of(&agent, "own")], ["Counts days", "As it says"]);
    // Others say for themselves what they do.
    let none = problems("version = 1\nname = \"a\"\n[tools.x]\nsignature = \"()\"\ncommand = { argv = [\"x\"] }\n");
    assert!(none.contains("no `description`"), "{none}");
    let long = problems(&text.replace("As it says", &"x".repeat(2_000)));
    assert!(long.contains("a description has at most 1024 bytes"), "{long}");
}

const TYPOS: &str = r#"version = 1
name = "typos"
mission = """
Look at {{day}}, say why of {{note}}.
Call `tool/serch` or (call "send-mail" {}), not (call "search" {}).
"""
signature = "(day :string, note :string?) -> :any"
shows = ["ctx/dya", "tool/search", "tool/judge", "mail"]

[tools.search]
signature = "(q :string) -> [:string]"
description = "Search"
triggered_by = ["ctx/day", "agent/nobody"]
parameters.q = { accepts = ["tools/search"] }
recorded = { file = "x.json" }

[tools.judge]
signature = "(text :string) -> :bool"
model = { prompt = "Is it urgent?" }
"#;

#[test]
fn names_that_lead_nowhere_are_found_with_their_places_and_what_may_be_meant() {
    let agent = parse_agent("a.agent.toml", TYPOS).unwrap();
    let found = agent_findings("a.agent.toml", TYPOS, &agent, &BTreeSet::new());
    let expected = [
        ("`{{note}}`, and `note` may be missing", ":4:29", "make `note` required"),
        ("names the tool `serch`", ":5:12", "did you mean `search`?"),
        ("names the tool `send-mail`", ":5:29", "its tools are `judge`, `search`"),
        ("no source `ctx/dya`", ":8:10", "did you mean `ctx/day`?"),
        ("no source `tool/judge`", ":8:36", "did you mean `model/judge`?"),
        ("no source `agent/nobody`", ":13:28", "its sources are `ctx/day`, "),
        ("no source `tools/search`", ":14:29", "did you mean `tool/search`?"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (finding, (message, place, help)) in found.iter().zip(expected) {
        assert!(finding.starts_with("warning: ") && finding.contains('^'), "{finding}");
        assert!(finding.contains(message) && finding.contains(help), "{message}: {finding}");
        assert!(finding.contains(&format!("a.agent.toml{place}\n")), "{place}: {finding}");
    }
    // The sources of an agent that calls it.
    let caller = agent_sources(&agent);
    let child = TYPOS.replace("tool/judge", "tool/of-caller");
    let known: BTreeSet<String> = caller.into_iter().chain(["tool/of-caller".to_owned()]).collect();
    let found = agent_findings("a.agent.toml", &child, &agent, &known);
    assert!(!found.iter().any(|one| one.contains("source `tool/of-caller`")), "{found:?}");
    assert!(agent_findings("o.agent.toml", WHOLE, &parse_agent("o.agent.toml", WHOLE).unwrap(), &known).is_empty());
}

#[test]
fn a_placeholder_that_is_no_parameter_is_shown_where_it_is() {
    let wrong = TYPOS.replace("{{day}}", "{{ dya }} and {{weather.now}}");
    let found = problems(&wrong);
    assert!(found.contains("a.agent.toml:4:9\n") && found.contains("help: did you mean `day`?"), "{found}");
    assert!(found.contains("a.agent.toml:4:23\n") && found.contains("help: add `weather :string` to it"), "{found}");
    assert!(found.contains("| Look at {{ dya }} and"), "{found}");
    // Escapes move nothing: the same in JSON.
    let json = r#"{"version": 1, "name": "a", "mission": "a\n\u0022{{b}} {{c}}\u0022", "signature": "(b :int)"}"#;
    let error = parse_agent("a.agent.json", json).unwrap_err();
    assert!(error.problems()[0].contains("a.agent.json:1:56\n"), "{error}");
}
