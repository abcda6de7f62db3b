//! `proem book experiment` as a person meets it: a stop that is killed, the page in a browser, and the version that each
//! change and each line of a batch meets.

use std::collections::BTreeMap;
use std::process::Stdio;

use proem_llm::scripted::{ReceivedRequest, Reply, ScriptedServer};
use serde_json::{Value as Json, json};

use crate::browser::browsed_page;
use crate::fixture::Fixture;
use crate::records::sql;
use crate::risk::scene::shop;
use crate::risk::synthesis;

const PROMPT: &str = "---
model: small
input:
  schema: { question: string }
proem:
  version: 1.0.0
  sections:
    - { name: task, trust: task }
  inputs:
    question: { trust: trusted }
---
{{role \"user\"}}{{section \"task\"}}
{{question}}
";

fn declaration(prompt: &str, [base, other]: [&str; 2]) -> String {
    format!(
        "[current]\n\"{prompt}\" = \"{base}\"\n\n[experiments.brief]\nprompt = \"{prompt}\"\n\
         versions = {{ \"{base}\" = 0.5, \"{other}\" = 0.5 }}\noutcome = \"first-attempt\"\nbetter = \"higher\"\n\
         smallest_difference = 0.02\nguardrails = [{{ outcome = \"feedback\", worse_by = 0.05 }}]\n"
    )
}

/// A person with two versions of a prompt that share its work, and a model.
fn started(server: &ScriptedServer) -> Fixture {
    let fixture = Fixture::folder();
    let address = server.address();
    fixture.configure("config.toml", &format!("[providers.local]\nbase_url = \"http://{address}/v1\"\n"));
    fixture.configure("book/reviews/ask/1.0.0.prompt", PROMPT);
    let other = PROMPT.replace("1.0.0", "1.1.0").replace("{{question}}", "Be brief. {{question}}");
    fixture.configure("book/reviews/ask/1.1.0.prompt", &other);
    fixture.configure("book/book.toml", &declaration("reviews/ask", ["1.0.0", "1.1.0"]));
    fixture.proem(&["book", "lock"]).answer();
    fixture.proem(&["book", "experiment", "start", "brief"]).answer();
    fixture
}

fn because(_: &ReceivedRequest) -> Reply {
    Reply::text("Because.")
}

const MODEL: [&str; 4] = ["--provider", "local", "--model", "llama3.1"];

#[test]
fn a_stop_that_is_killed_leaves_the_experiment_running_or_stopped_and_nothing_between() {
    let server = ScriptedServer::answering(because).unwrap();
    let stop = ["book", "experiment", "stop", "brief", "--because", "enough"];
    for (place, runs_on) in [("experiment-stop-decided", true), ("experiment-stopped", false)] {
        let fixture = started(&server);
        let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
        command.args(stop).env("PROEM_FAILPOINT", place).stdout(Stdio::null()).stderr(Stdio::null());
        assert_eq!(command.status().unwrap().code(), None, "{place} was not passed");
        let list = fixture.proem(&["book", "experiment", "list", "--json"]).json();
        let state = list[0]["state"].as_str().unwrap();
        assert_eq!(state.starts_with("runs, started on"), runs_on, "{place}: {state}");
        let assigned = |question: &str| {
            let asked = format!("question={question}");
            fixture.proem(&[&["run", "reviews/ask", "--set", &asked][..], &MODEL].concat()).answer();
            sql(&fixture, "SELECT CAST(count(*) AS TEXT) FROM assignments")[0].clone()
        };
        assert_eq!(assigned("Why?"), if runs_on { "1" } else { "0" }, "{place}");
        let again = fixture.proem(&stop);
        assert_eq!(again.code(), if runs_on { 0 } else { 2 }, "{place}: {}", again.transcript());
        assert_eq!(assigned("How?"), if runs_on { "1" } else { "0" }, "{place}: it is over");
    }
}

#[test]
fn the_page_of_an_experiment_draws_the_interval_in_a_browser_and_fits_a_telephone() {
    let server = ScriptedServer::answering(because).unwrap();
    let fixture = started(&server);
    fixture.write("lines.csv", (0..12).fold("question\n".to_owned(), |lines, n| format!("{lines}Why {n}?\n")));
    let batch = ["run", "reviews/ask", "--batch", "lines.csv", "--subject-field", "question"];
    fixture.proem(&[&batch[..], &MODEL].concat()).answer();
    fixture.proem(&["book", "experiment", "status", "brief", "--html", "page.html"]).answer();
    let page = std::fs::read_to_string(fixture.repo.join("page.html")).unwrap();
    for width in [1200, 360] {
        let Some(seen) = browsed_page(&page, width) else { return };
        assert_eq!((&seen["foreign"], &seen["fetched"]), (&json!(0), &json!(0)), "{seen}");
        assert!(seen["content"].as_u64() <= seen["width"].as_u64(), "it scrolls sideways: {seen}");
        let text = seen["text"].as_str().unwrap();
        assert!(text.contains("1.1.0 beside 1.0.0") && text.contains("12 subjects"), "{text}");
    }
}

#[test]
fn each_line_of_a_batch_is_a_subject_and_shows_up_in_the_figures() {
    let server = ScriptedServer::answering(because).unwrap();
    let fixture = started(&server);
    fixture.write(
        "lines.jsonl",
        (0..12).map(|n| format!("{}\n", json!({ "question": format!("Why {n}?") }))).collect::<String>(),
    );
    fixture.proem(&[&["run", "reviews/ask", "--batch", "lines.jsonl"][..], &MODEL].concat()).answer();
    assert_eq!(
        sql(&fixture, "SELECT count(DISTINCT subject) || ' ' || count(DISTINCT version) FROM assignments"),
        ["12 2"]
    );
    let stats = fixture.proem(&["book", "stats", "reviews/ask", "--json"]).json();
    let count = |title: &str| {
        let figures = stats.as_array().unwrap().iter().flat_map(|version| version["figures"].as_array().unwrap());
        figures.filter(|figure| figure["name"] == title).map(|figure| figure["n"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(["success", "contract failures", "repairs", "false positives"].map(count), [12, 12, 12, 0]);
    let success = &stats[0]["figures"].as_array().unwrap().iter().find(|figure| figure["name"] == "success").unwrap();
    assert!(success["low"].as_f64() < Some(1.0) && success["mean"] == json!(1.0), "{success}");
    fixture.write("bad.jsonl", "{\"question\": \"\"}\n");
    let bad = ["run", "reviews/ask", "--batch", "bad.jsonl", "--subject-field", "question"];
    let bad = fixture.proem(&[&bad[..], &MODEL].concat());
    assert!(
        bad.code() == 2 && bad.stderr().contains("which names the subject of each run, is neither"),
        "{}",
        bad.transcript()
    );
}

/// A model that ends each investigation at once.
fn investigator(request: &ReceivedRequest) -> Reply {
    let body = String::from_utf8_lossy(&request.body);
    if body.contains("CALCULATE_METRIC") {
        let reasoning = "Nothing else would change the result.";
        Reply::value(json!({ "action": "FINALIZE", "reasoning": reasoning, "target": null }))
    } else {
        synthesis("HIGH", &[("E1", "Twelve pages import the permission check.")])
    }
}

#[test]
fn each_change_meets_the_version_that_it_would_meet_alone() {
    let server = ScriptedServer::answering(investigator).unwrap();
    let mut fixture = shop().repository();
    crate::risk::with_model(&mut fixture, &server);
    let file = include_str!("../../../proem-agents/book/risk/synthesis/1.2.0.prompt");
    let other = file.replace("version: 1.2.0", "version: 1.3.0");
    fixture.configure("book/risk/synthesis/1.3.0.prompt", &other);
    fixture.configure("book/book.toml", &declaration("risk/synthesis", ["1.2.0", "1.3.0"]));
    fixture.proem(&["book", "lock"]).answer();
    let start = fixture.proem(&["book", "experiment", "start", "brief"]);
    assert_eq!(start.code(), 0, "{}", start.transcript());
    fixture.proem(&["risk", "HEAD~12..HEAD", "--each"]);
    let versions = |fixture: &Fixture| -> BTreeMap<String, String> {
        let rows = sql(fixture, "SELECT DISTINCT subject || ' ' || version FROM assignments");
        rows.iter()
            .map(|row| row.split_once(' ').unwrap())
            .map(|(of, version)| (of.to_owned(), version.to_owned()))
            .collect()
    };
    let together = versions(&fixture);
    assert!(together.len() >= 2, "one subject for each investigated change: {together:?}");
    fixture.proem(&["risk", "HEAD"]);
    assert_eq!(versions(&fixture), together, "alone, a change meets the same version");
    let shown = fixture.proem(&["runs", "show", "last"]);
    assert!(shown.stdout().contains("brief"), "{}", shown.transcript());
    let status: Json = fixture.proem(&["book", "experiment", "status", "brief", "--json"]).json();
    let runs = status["base"]["runs"].as_u64().unwrap() + status["others"][0]["of"]["runs"].as_u64().unwrap();
    assert_eq!(runs, together.len() as u64 + 1, "{status}");
}
