//! A person ranks tools for tasks: one, a file of them, a stream, and what nobody meant.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Run};

/// Twelve tools and a skill in one line each. Two of them have examples in other languages.
const TOOLS: &str = r#"{"name": "create_issue", "description": "Opens a new issue in the bug tracker.", "examples": ["abre um chamado para este erro", "melde diesen Fehler als Ticket"]}
{"name": "merge.pull/request", "description": "Merges a pull request into its base branch."}
{"name": "get_weather", "description": "Returns the weather forecast for a city.", "examples": ["quel temps fait-il à Lyon", "va a llover mañana"]}
{"name": "send_email", "description": "Sends an e-mail with a subject and a body to a recipient."}
{"name": "convert_currency", "description": "Converts an amount of money from one currency to another at today's rate."}
{"name": "play_music", "description": "Plays a song, an album or a playlist."}
{"name": "book_flight", "description": "Searches and books flights between two airports."}
{"name": "translate_text", "description": "Translates text from one language into another."}
{"name": "resize_image", "description": "Scales a picture to a given width and height."}
{"name": "query_database", "description": "Runs an SQL query against the database and returns rows."}
{"name": "set_alarm", "description": "Sets an alarm clock for a time of day."}
{"name": "поиск", "description": "Searches the archive of documents."}
{"name": "release-notes", "kind": "skill", "description": "Writes release notes from merged commits."}
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::folder();
    fixture.write("tools.jsonl", TOOLS);
    fixture
}

fn queries(queries: &[&str]) -> String {
    queries.iter().map(|query| format!("{}\n", json!({ "query": query, "id": 7 }))).collect()
}

/// One JSON value for each line of standard output.
fn answers(run: &Run) -> Vec<Value> {
    run.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(answer: &Value) -> Vec<&str> {
    answer["ranked"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

/// Scores, and which word tells most, change with every training. All else is said as it is.
fn without_scores(text: &str) -> String {
    let sorted = |line: &str| match line.strip_prefix("      shares ") {
        Some(words) => {
            let mut words: Vec<&str> = words.split(", ").collect();
            words.sort_unstable();
            format!("      shares {}\n", words.join(", "))
        }
        None => format!("{line}\n"),
    };
    let text: String = text.lines().map(sorted).collect();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = ["0.", "1."].iter().filter_map(|start| rest.find(start)).min() {
        let (before, number) = rest.split_at(at);
        let digits = number.chars().skip(2).take_while(char::is_ascii_digit).count();
        let (number, after) = number.split_at(2 + digits);
        out.push_str(before);
        out.push_str(if digits == 2 { "#.##" } else { number });
        rest = after;
    }
    out + rest
}

#[test]
fn the_right_tool_comes_first_in_five_languages() {
    let fixture = fixture();
    let cases = [
        ("open a bug report", "create_issue"),
        ("merge the pull request of Ann", "merge.pull/request"),
        ("Abre um chamado sobre a falha no login", "create_issue"),
        ("quel temps fait-il à Paris demain ?", "get_weather"),
        ("¿va a llover en Madrid?", "get_weather"),
        ("Melde bitte diesen Fehler", "create_issue"),
        ("write the release notes", "release-notes"),
    ];
    fixture.write("q.jsonl", queries(&cases.map(|(query, _)| query)));
    let run = fixture.proem(&["select", "--catalogue", "tools.jsonl", "--queries", "q.jsonl", "--json"]);
    assert_eq!((run.code(), run.stderr()), (0, ""));
    let answers = answers(&run);
    assert_eq!(answers.len(), cases.len());
    for ((query, first), answer) in cases.iter().zip(&answers) {
        assert_eq!((answer["query"].as_str().unwrap(), names(answer)[0]), (*query, *first));
        let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["abstained", "query", "ranked"]);
        let scores: Vec<f64> =
            answer["ranked"].as_array().unwrap().iter().map(|e| e["score"].as_f64().unwrap()).collect();
        assert!(scores.len() == 5 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score) && (score * 1e6).fract().abs() < 1e-3));
    }
    assert_eq!(answers[0]["abstained"], false);
}

#[test]
fn one_task_is_one_line_and_the_same_in_every_way_of_asking() {
    let fixture = fixture();
    let task = "open a bug report";
    let one = fixture.proem(&["select", task, "--catalogue", "tools.jsonl", "--json"]);
    let line = queries(&[task]);
    let piped =
        fixture.proem_with(&["select", "--catalogue", "tools.jsonl", "--queries", "-", "--json"], line.as_bytes());
    assert_eq!(one.answer(), piped.answer());
    // A saved answer to `tools/list`, in any of its forms, ranks the same tools.
    let tools: Vec<Value> = TOOLS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } });
    fixture.write("pretty.json", serde_json::to_string_pretty(&list).unwrap());
    fixture.write("bare.json", serde_json::to_string(&tools).unwrap());
    fixture.write("plain.json", format!("\u{feff}{}", json!({ "tools": tools })));
    for file in ["pretty.json", "bare.json", "plain.json"] {
        let run = fixture.proem(&["select", task, "--catalogue", file, "--json", "--top", "10000"]);
        let answer: Value = serde_json::from_str(run.answer()).unwrap();
        let mut all = names(&answer);
        assert_eq!((all[0], all.len()), ("create_issue", 13), "{file}");
        all.sort_unstable();
        assert!(all.contains(&"merge.pull/request") && all.contains(&"поиск"), "{all:?}");
    }
}

#[test]
fn for_people() {
    let fixture = fixture();
    fixture.write(
        ".proem/catalogue/github.json",
        json!({ "tools": [
        { "name": "create_issue", "description": "Opens an issue." },
        { "name": "play\u{1b}[2J", "description": "Plays a song." }] })
        .to_string(),
    );
    fixture.configure(
        "catalogue.toml",
        "[[tool]]\nname = 'deploy'\ndescription = 'Deploys a branch to staging.'\nexamples = ['ship it to staging']\n",
    );
    let two = [("deploy", "Deploys a branch to staging."), ("x\u{202e}", "Über, ñ.")];
    let two = two.map(|(name, text)| format!("{}\n", json!({ "name": name, "description": text })));
    fixture.write("two.jsonl", two.concat());
    fixture.write("q.jsonl", queries(&["quel temps fait-il à Paris ?", "\u{1b}[2Jmerge the pull request \u{202e}"]));
    let mut said = String::new();
    for args in [
        &["select", "open an issue", "--top", "1"][..],
        &["select", "play a song", "--top", "1"],
        &["select", "deploy this branch to staging", "--top", "1"],
        // Nothing speaks for the second.
        &["select", "deploy this branch to staging", "--catalogue", "two.jsonl"],
        &["select", "--queries", "q.jsonl", "--catalogue", "tools.jsonl", "--top", "1"],
        &["select", "open a bug report", "--catalogue", "tools.jsonl", "--top", "1", "--no-embedding"],
    ] {
        said.push_str(&fixture.proem(args).transcript());
        said.push('\n');
    }
    assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
    snapshot!(without_scores(&said));
}

#[test]
fn nothing_fits() {
    let fixture = fixture();
    let run = fixture.proem(&["select", "zzzz qqqq xxxx", "--catalogue", "tools.jsonl"]);
    let first = run.answer().lines().next().unwrap();
    let (best, least) = first.strip_prefix("nothing fits (best: ").unwrap().split_once(", below ").unwrap();
    let best: f64 = best.rsplit_once(" at ").unwrap().1.parse().unwrap();
    assert!(best < least.strip_suffix(')').unwrap().parse().unwrap(), "{first}");
    let json = fixture.proem(&["select", "zzzz qqqq xxxx", "--catalogue", "tools.jsonl", "--json"]).json();
    assert_eq!((&json["abstained"], names(&json).len()), (&Value::Bool(true), 5));
    fixture.write("empty.jsonl", "\n \n");
    let empty = fixture.proem(&["select", "anything", "--catalogue", "empty.jsonl", "--json"]);
    assert_eq!(empty.json(), json!({ "query": "anything", "ranked": [], "abstained": true }));
    assert_eq!(empty.stderr(), "note: the catalogue is empty\n");
    assert_eq!(fixture.proem(&["select", "anything", "--catalogue", "empty.jsonl"]).answer(), "nothing fits\n");
}

#[test]
fn words_only_says_so_and_usage_helps() {
    let fixture = fixture();
    let args = ["select", "put some jazz on", "--catalogue", "tools.jsonl", "--json"];
    let json = fixture.proem(&[&args[..], &["--no-embedding"]].concat()).json();
    assert_eq!(json["degraded"], "`--no-embedding`: ranked by shared words");
    let used = |name: &str| {
        let usage: String = ["put some blues on", "put this record on", "some jazz please"]
            .iter()
            .map(|query| format!("{}\n", json!({ "query": query, "tools": [name], "when": 1 })))
            .collect();
        fixture
            .write("used.jsonl", format!("{usage}{{\"query\": 1}}\n{}\n", json!({ "query": "a", "tools": ["gone"] })));
        let run = fixture.proem(&[&args[..], &["--usage", "used.jsonl"]].concat());
        let score = run.json()["ranked"].as_array().unwrap().iter().position(|entry| entry["name"] == name);
        (score, run.stderr().to_owned())
    };
    // The tool that the tasks used comes first.
    for name in ["play_music", "set_alarm", "поиск"] {
        let (place, notes) = used(name);
        assert_eq!(place, Some(0), "{name}");
        assert_eq!(
            notes,
            "note: `used.jsonl`, line 4: `query` is not a string; write `{\"query\": \"…\"}` on each line\n\
             note: `used.jsonl` names tools that are not in the catalogue (1 ×)\n"
        );
    }
}

#[test]
fn what_is_no_query_is_named_and_the_others_are_answered() {
    let fixture = fixture();
    let long = format!("{{\"query\": \"{}\"}}", "x".repeat(4 * 1024 * 1024));
    let input = [
        b"{\"query\": \"open a bug report\"}\n\n{\"query\": \"a\n[1]\n{\"task\": \"a\"}\n{\"query\": \"\xff\"}\n"
            .to_vec(),
        format!("{long}\n{{\"query\": null}}\n{{\"query\": \"set an alarm\"}}").into_bytes(),
    ]
    .concat();
    let args = ["select", "--catalogue", "tools.jsonl", "--queries", "-", "--json", "--top", "1"];
    let run = fixture.proem_with(&args, &input);
    assert_eq!(run.code(), 2);
    assert_eq!(answers(&run).iter().map(|answer| names(answer)[0]).collect::<Vec<_>>(), ["create_issue", "set_alarm"]);
    snapshot!(run.stderr());
}

#[test]
fn files_that_are_not_there_or_something_else() {
    let fixture = fixture();
    fixture.write("broken.jsonl", "# a catalogue\nname: x\n");
    fixture.write("half.jsonl", format!("{{\"name\": 7}}\n{{\n{TOOLS}"));
    fixture.write("page.json", "{\"tools\": [");
    fixture.write("bytes.jsonl", b"\xff\xfe");
    fixture.write("none.jsonl", "");
    let mut said = String::new();
    for args in [
        &["select"][..],
        &["select", "a", "--queries", "none.jsonl", "--catalogue", "tools.jsonl"],
        &["select", "a", "--catalogue", "nothing.jsonl"],
        &["select", "a", "--catalogue", "."],
        &["select", "a", "--catalogue", "broken.jsonl"],
        &["select", "a", "--catalogue", "page.json"],
        &["select", "a", "--catalogue", "bytes.jsonl"],
        &["select", "open a bug report", "--catalogue", "half.jsonl", "--top", "1"],
        &["select", "--catalogue", "tools.jsonl", "--queries", "nothing.jsonl"],
        &["select", "--catalogue", "tools.jsonl", "--queries", "none.jsonl"],
        &["select", "a", "--catalogue", "tools.jsonl", "--usage", "nothing.jsonl"],
        &["select", "a", "--catalogue", "tools.jsonl", "--top", "0"],
        &["select", "a", "--catalogue", "tools.jsonl", "--top", "10001"],
    ] {
        said.push_str(&fixture.proem(args).transcript());
        said.push('\n');
    }
    snapshot!(without_scores(&said));
}

#[test]
fn huge_empty_and_foreign_queries() {
    let fixture = fixture();
    let huge = "open a bug report. ".repeat(120_000);
    let queries = queries(&[&huge, "😀🎉🚀", "", "バグを報告する", "\u{0}\u{202e}", "ᚠᛇᚻ ᛒᛦᚦ ᚠᚱᚩᚠᚢᚱ"]);
    let args = ["select", "--catalogue", "tools.jsonl", "--queries", "-", "--json"];
    let run = fixture.proem_with(&args, queries.as_bytes());
    assert_eq!((run.code(), run.stderr()), (0, "note: line 1: only the first 16,384 bytes were used\n"));
    let answers = answers(&run);
    assert_eq!((answers.len(), names(&answers[0])[0]), (6, "create_issue"));
    assert_eq!(answers[0]["query"].as_str().unwrap(), huge);
    for answer in &answers {
        assert_eq!(names(answer).len(), 5);
        assert!(answer["ranked"][0]["score"].is_f64());
    }
    assert_eq!([&answers[1], &answers[2], &answers[4]].map(|answer| answer["abstained"].clone()), [true, true, true]);
}

#[test]
fn ten_thousand_tools_with_one_name_and_tools_that_say_nothing() {
    let fixture = fixture();
    let tools: String = (0..10_000)
        .map(|at| format!("{}\n", json!({ "name": "a\u{1b}", "description": format!("tool {at}") })))
        .collect();
    fixture.write("many.jsonl", tools);
    let run = fixture.proem(&["select", "tool 77", "--catalogue", "many.jsonl", "--json", "--top", "10000"]);
    let json = run.json();
    assert_eq!((names(&json).len(), names(&json)[9_999]), (10_000, "a\u{1b}"));
    assert!(!run.stdout().contains('\u{1b}') && !run.stderr().contains('\u{1b}'));
    assert_eq!(run.stderr().lines().count(), 1, "{}", run.stderr());
    let silent: String = (0..20).map(|at| format!("{{\"name\": \"t{at:02}\", \"description\": \"\"}}\n")).collect();
    fixture.write("silent.jsonl", silent);
    let args = ["select", "weather", "--catalogue", "silent.jsonl", "--json"];
    let json = fixture.proem(&args).json();
    assert_eq!((names(&json).len(), &json["abstained"]), (5, &Value::Bool(true)));
    // Without evidence for any, they come by name.
    let json = fixture.proem(&[&args[..], &["--no-embedding"]].concat()).json();
    assert_eq!((names(&json), &json["abstained"]), (vec!["t00", "t01", "t02", "t03", "t04"], &Value::Bool(true)));
}

#[test]
fn a_stream_is_answered_line_by_line() {
    let fixture = fixture();
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    command.args(["select", "--catalogue", "tools.jsonl", "--queries", "-", "--json", "--top", "1"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for (query, first) in [("open a bug report", "create_issue"), ("set an alarm", "set_alarm")] {
        input.write_all(queries(&[query]).as_bytes()).unwrap();
        let mut line = String::new();
        // The answer comes while the input is still open.
        output.read_line(&mut line).unwrap();
        assert_eq!(names(&serde_json::from_str(&line).unwrap()), [first]);
    }
    // A reader that stops ends it, however many tasks are left.
    drop(output);
    while input.write_all(queries(&["one more"]).as_bytes()).is_ok() {}
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_projects_vectors_are_stored_and_change_nothing() {
    let fixture = Fixture::folder().committed();
    fixture.write(".proem/catalogue/server.json", format!("[{}]", TOOLS.lines().collect::<Vec<_>>().join(",")));
    let select = || fixture.proem(&["select", "open a bug report", "--json", "--top", "13"]).answer().to_owned();
    let before = select();
    assert_eq!(names(&serde_json::from_str(&before).unwrap())[0], "server__create_issue");
    assert!(fixture.proem(&["catalogue", "refresh"]).stderr().contains("; vectors computed for "));
    assert_eq!(select(), before);
}
