//! The views of runs, spending, figures and the file that holds them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use proem_llm::scripted::{
    AnswerBlock, Delivery, ModelAnswer, RawReply, Reply, ReplyContent, ScriptedFinish, ScriptedServer, ScriptedUsage,
};
use rusqlite::Connection;
use serde_json::{Value as Json, json};
use unicode_width::UnicodeWidthStr as _;

use crate::fixture::{Fixture, Run};
use crate::run::{fixture, low, start};
use crate::skipped::skip;

/// A good answer that used so much, much of it from the cache.
fn cached_reply() -> Reply {
    let value = AnswerBlock::Value(json!({ "severity": "low", "reason": "It only looks bad." }));
    let usage = Some(ScriptedUsage { input: 2_000, cache_read: 1_500, output: 40, ..ScriptedUsage::default() });
    let answer = ModelAnswer { content: vec![value], finish: ScriptedFinish::Natural, usage };
    Reply { say: ReplyContent::Answer(answer), how: Delivery::default() }
}

fn wrong_reply() -> Reply {
    Reply::value(json!({ "severity": "worst" }))
}

fn run_prompt(fixture: &Fixture, prompt: &str, title: &str) -> Run {
    fixture.proem(&["run", prompt, "--set", &format!("title={title}")])
}

/// Three runs: answered from the cache, answered at the second try, and fallen back.
fn recorded(server: &ScriptedServer) -> Fixture {
    let fixture = fixture(server, "attempts = 1\n");
    run_prompt(&fixture, "reviews/strict", "It crashes").answer();
    run_prompt(&fixture, "reviews/strict", "It hangs").answer();
    assert_eq!(run_prompt(&fixture, "reviews/triage", "It burns").code(), 3, "a value that is not the model's");
    fixture
}

fn replies() -> Vec<Reply> {
    vec![cached_reply(), wrong_reply(), low(), wrong_reply(), wrong_reply()]
}

/// Adds to the user's configuration.
fn configure_more(fixture: &Fixture, more: &str) {
    let path = fixture.base.join("config/proem/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{text}\n{more}")).unwrap();
}

/// Has SQLite do something to the records.
pub(crate) fn execute_sql(fixture: &Fixture, statement: &str) {
    let connection = Connection::open(fixture.base.join("state/proem/records.db")).unwrap();
    connection.execute_batch(statement).unwrap();
}

/// Blanks what fits `pattern`, in which `#` is any digit.
fn blank(text: &str, pattern: &str, blanked: &str) -> String {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let mut out = String::new();
    let mut at = 0;
    while at < text.len() {
        let fits = |(found, wanted): (&char, &char)| found == wanted || (*wanted == '#' && found.is_ascii_digit());
        if text.len() - at >= pattern.len() && text[at..].iter().zip(&pattern).all(fits) {
            out.push_str(blanked);
            at += pattern.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

/// Blanks ids and hashes: runs of hexadecimal digits as long as those are.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut run = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_digit() || ('a'..='f').contains(&c) {
            run.push(c);
            continue;
        }
        let is_id = matches!(run.len(), 8 | 12 | 16 | 64);
        out.push_str(&if is_id { "x".repeat(run.len().min(16)) } else { run.clone() });
        run.clear();
        out.push(c);
    }
    out.pop();
    out
}

/// Blanks how long something took, with what is drawn of it.
fn without_durations(line: &str) -> String {
    if !line.contains(" ms") {
        return line.to_owned();
    }
    let mut out = String::new();
    let mut words = line.split(' ').filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        let is_time = words.peek().is_some_and(|next| next.starts_with("ms"));
        // A bar of no length is not drawn.
        if word.chars().any(|c| ('\u{2580}'..='\u{259f}').contains(&c)) {
            continue;
        }
        out.push_str(if is_time { "N" } else { word });
        out.push(' ');
    }
    out
}

/// A command's output, without the parts that differ between runs.
fn seen(run: &Run) -> String {
    let text =
        run.redacted(&format!("{}── standard error\n{}── exit code {}\n", run.stdout(), run.stderr(), run.code()));
    settled(&text)
}

fn settled(text: &str) -> String {
    let text = blank(&without_ids(text), "####-##-##", "YYYY-MM-DD");
    let text = blank(&blank(&text, "##:##:##", "HH:MM:SS"), "##-## ##:##", "MM-DD HH:MM");
    // Pages of the file's log, which depend on what was written back when.
    let text = blank(&text, "###,### bytes", "N bytes");
    text.lines().map(|line| format!("{}\n", without_durations(line).trim_end())).collect()
}

#[test]
fn runs_are_listed() {
    let server = start(replies());
    let fixture = recorded(&server);
    snapshot!("runs_are_listed", seen(&fixture.proem(&["runs", "list"])));
    let list = fixture.proem(&["runs", "list", "--outcome", "fell-back", "--json"]).json();
    let one = &list[0];
    assert_eq!((list.as_array().map(Vec::len), one["prompt"].as_str()), (Some(1), Some("reviews/triage")));
    assert_eq!((one["state"].as_str(), one["outcome"].as_str()), (Some("ended"), Some("fell-back")));
    assert_eq!(one["id"].as_str().map(str::len), Some(16));
    for (args, expected) in [
        (vec!["--limit", "2"], 2),
        (vec!["--prompt", "reviews/strict"], 2),
        (vec!["--prompt", "reviews"], 3),
        (vec!["--since", "1h", "--all"], 3),
        (vec!["--since", "0h"], 0),
    ] {
        let list = fixture.proem(&[vec!["runs", "list", "--json"], args.clone()].concat()).json();
        assert_eq!(list.as_array().map(Vec::len), Some(expected), "{args:?}");
    }
    let lines = fixture.proem(&["runs", "list"]).answer().lines().map(|line| line.chars().count()).max();
    assert!(lines.unwrap() <= 100, "{lines:?}");
}

#[test]
fn prompts_that_nobody_was_asked_with_are_listed_where_that_is_said() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "");
    fixture.proem(&["assemble", "explain the parser"]).answer();
    let none = fixture.proem(&["runs", "list"]);
    assert_eq!((none.code(), none.stdout()), (0, ""));
    assert!(none.stderr().contains("`--any` lists them"), "{}", none.stderr());
    let missing = fixture.proem(&["runs", "show", "last"]);
    assert!(missing.stderr().contains("`proem runs list --any` lists what else is recorded"), "{}", missing.stderr());
    run_prompt(&fixture, "reviews/strict", "It crashes").answer();
    fixture.proem(&["assemble", "explain the lexer"]).answer();
    let prompts = |args: &[&str]| -> Vec<String> {
        let list = fixture.proem(&[&["runs", "list", "--json"], args].concat()).json();
        list.as_array().unwrap().iter().map(|run| run["prompt"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(prompts(&[]), ["reviews/strict"]);
    assert_eq!(prompts(&["--any"]), ["assemble/task", "reviews/strict", "assemble/task"]);
    assert_eq!(prompts(&["--outcome", "assembled"]), ["assemble/task", "assemble/task"]);
    let last = fixture.proem(&["runs", "show", "last", "--json"]).json();
    assert_eq!(last["run"]["prompt"].as_str(), Some("reviews/strict"), "as the list counts");
    let all = fixture.proem(&["runs", "show", "last", "--all", "--json"]).json();
    assert_eq!(all["run"]["id"], last["run"]["id"]);
    // A judgement of a prompt may be about the one that was just assembled.
    let judged = fixture.proem(&["runs", "feedback", "last", "bad", "--json"]).json();
    assert_ne!(judged["run"], last["run"]["id"]);
}

#[test]
fn a_run_is_shown() {
    let server = start(replies());
    let fixture = recorded(&server);
    fixture.proem(&["runs", "feedback", "last~1", "bad", "--note", "missed the deadlock"]).answer();
    snapshot!("a_run_that_asked_twice", seen(&fixture.proem(&["runs", "show", "last~1"])));
    snapshot!("a_run_that_fell_back", seen(&fixture.proem(&["runs", "show"])));
    let json = fixture.proem(&["runs", "show", "last~1", "--json"]).json();
    assert_eq!(json["calls"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["calls"][0]["problems"][0]["rule"], "enum");
    assert_eq!(json["value"]["severity"], "low");
    assert!(json["calls"][0]["sections"][0]["text"].is_string());
    assert_eq!(json["feedback"][0]["note"], "missed the deadlock");
}

/// An answer that ended like this.
fn ended(finish: ScriptedFinish) -> Reply {
    let value = AnswerBlock::Value(json!({ "severity": "low" }));
    let usage = Some(ScriptedUsage { input: 100, output: 10, ..ScriptedUsage::default() });
    Reply { say: ReplyContent::Answer(ModelAnswer { content: vec![value], finish, usage }), how: Delivery::default() }
}

#[test]
fn what_came_back_is_shown() {
    let body = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "come\u{1b}[2J back" } });
    let said = RawReply { status: 503, headers: Vec::new(), body: body.to_string().into_bytes() };
    let server = start(vec![
        wrong_reply(),
        Reply::value(json!({ "severity": "worse" })),
        Reply::text("It burns.\n$ proem trust\n"),
        Reply { say: ReplyContent::Raw(said), how: Delivery::default() },
    ]);
    let fixture = fixture(&server, "attempts = 1\n");
    let check = |prompt: &str, expected: &[&str]| {
        run_prompt(&fixture, prompt, "It burns");
        let shown = fixture.proem(&["runs", "show"]);
        for expected in expected {
            assert!(shown.answer().contains(expected), "{expected}\n{}", shown.stdout());
        }
    };
    check("reviews/strict", &["answered, calls\n  │ {\"severity\":\"worst\"}\n", "\n  │ {\"severity\":\"worse\"}\n"]);
    check("reviews/free", &["answered, stop\n  │ It burns.\n  │ $ proem trust\n"]);
    check("reviews/strict", &["failed\n  │ provider `anthropic` ", "  the provider said:\n  │ come\\u{1b}[2J back\n"]);
}

#[test]
fn of_what_is_kept_as_hashes_the_broken_rule_is_shown() {
    let server = start(vec![wrong_reply(), low()]);
    let fixture = fixture(&server, "attempts = 1\n");
    configure_more(&fixture, "[records]\nkeep = \"hashes\"\n");
    run_prompt(&fixture, "reviews/strict", "It hangs").answer();
    let shown = fixture.proem(&["runs", "show"]);
    let says =
        "answered, calls\n  (the answer is not kept)\n  wrong: a value violates `enum`; the value itself is not kept\n";
    assert!(shown.answer().contains(says), "{}", shown.stdout());
}

#[test]
fn an_answer_that_met_no_contract_was_not_right() {
    let server = start(vec![low(), ended(ScriptedFinish::Filter), ended(ScriptedFinish::Length), wrong_reply(), low()]);
    let fixture = fixture(&server, "attempts = 1\n");
    for _ in 0..4 {
        run_prompt(&fixture, "reviews/triage", "It burns");
    }
    let all = fixture.proem(&["stats", "--json"]).json()["all"].clone();
    assert_eq!(all["successRate"], json!({ "value": 0.4, "n": 5 }), "{all}");
    assert_eq!(all["schemaFailures"], json!({ "value": 1.0, "n": 5 }), "a refusal breaks no contract");
    assert_eq!(all["fallbackRate"], json!({ "value": 0.5, "n": 4 }));
    fixture.proem(&["assemble", "mend the clock"]).answer();
    let stats = fixture.proem(&["stats", "--json"]).json();
    assert_eq!(stats["all"]["runs"], 5);
    for rate in ["fallbackRate", "escalationRate"] {
        assert_eq!(stats["all"][rate]["n"], 4, "what asks nobody can't fall back or escalate: {rate}");
        assert_eq!(stats["prompts"][0][rate], json!({ "value": null, "n": 0 }), "{stats}");
    }
}

#[test]
fn no_line_of_a_run_is_wider_than_a_terminal() {
    let wide = "木漢字かな 한글 👩🏽‍🚀 🇩🇪 e\u{301}\u{301} ⸻ ".repeat(12);
    let server = start(vec![wrong_reply(), Reply::text(wide.clone())]);
    let fixture = fixture(&server, "attempts = 1\n");
    fixture.proem(&["run", "reviews/free", "--set", &format!("title={wide}")]).answer();
    run_prompt(&fixture, "reviews/triage", &wide);
    fixture.proem(&["runs", "feedback", "last", "bad", "--note", &wide]).answer();
    for args in [vec!["last"], vec!["last", "--full"], vec!["last~1"], vec!["last~1", "--full"]] {
        let shown = fixture.proem(&[vec!["runs", "show"], args.clone()].concat());
        for line in shown.answer().lines() {
            assert!(line.width() <= 80, "{args:?}: {} cells: {line}", line.width());
        }
        assert!(shown.stdout().contains("木漢字かな"), "{args:?}: {}", shown.stdout());
    }
    for args in [["last~1", "last"], ["last~1:0", "last:1"]] {
        let compared = fixture.proem(&[&["runs", "diff"][..], &args].concat());
        let (said, table) = compared.answer().trim_end().rsplit_once('\n').map(|(table, said)| (said, table)).unwrap();
        assert!(table.lines().all(|line| line.width() <= 80), "{table}");
        assert!(said.contains("cache"), "the sentence goes on as a terminal has it: {said}");
    }
}

#[test]
fn a_body_is_what_was_sent_to_the_byte() {
    let server = start(replies());
    let fixture = recorded(&server);
    let sent: Vec<Vec<u8>> = server.requests().into_iter().map(|request| request.body).collect();
    let shown = fixture.proem(&["runs", "show", "last~1", "--body", "--call", "1"]);
    assert_eq!(shown.answer().as_bytes(), sent[2]);
    assert_eq!(shown.stderr(), "");
    let wrong = fixture.proem(&["runs", "show", "last~2", "--body", "--call", "1"]);
    assert_eq!(wrong.code(), 2, "{}", wrong.stderr());
    execute_sql(&fixture, "UPDATE calls SET body = '00' || substr(body, 3)");
    snapshot!("a_body_that_was_changed", seen(&fixture.proem(&["runs", "show", "last~2", "--body"])));
}

/// An answer whose prompt wrote so much to the cache, and read so much from it.
fn wrote(value: Json, write: u64, read: u64) -> Reply {
    let usage =
        ScriptedUsage { input: 7_000, cache_read: read, cache_write: write, output: 60, ..ScriptedUsage::default() };
    Reply::value(value).using(Some(usage))
}

/// A prompt whose prefix is long enough for a cache.
fn write_long_run(fixture: &Fixture) {
    let path = fixture.base.join("config/proem/book/reviews/strict/1.0.0.prompt");
    let rules: String = (0..600).map(|n| format!("Rule {n}: look twice before you judge a report.\n")).collect();
    let prompt = fs::read_to_string(&path).unwrap().replace("input: 2000", "input: 20000");
    fs::write(path, prompt.replace("one reported problem.\n", &format!("one reported problem.\n{rules}"))).unwrap();
}

#[test]
fn calls_of_one_run_are_compared() {
    let (bad, good) = (json!({ "severity": "worst" }), json!({ "severity": "low" }));
    let server = start(vec![wrote(bad.clone(), 7_000, 0), wrote(good.clone(), 0, 7_000), wrote(good, 7_000, 0)]);
    let fixture = fixture(&server, "attempts = 1\n");
    write_long_run(&fixture);
    run_prompt(&fixture, "reviews/strict", "It crashes").answer();
    run_prompt(&fixture, "reviews/strict", "It hangs").answer();
    let one = fixture.proem(&["runs", "diff", "last~1"]);
    snapshot!("calls_of_one_run_are_compared", seen(&one));
    assert_eq!(fixture.proem(&["runs", "diff", "last~1:1"]).answer(), one.answer());
    let json = fixture.proem(&["runs", "diff", "last~1", "--json"]).json();
    let compared = &json["comparisons"][0];
    assert_eq!((json["calls"].as_u64(), json["comparisons"].as_array().map(Vec::len)), (Some(2), Some(1)));
    assert_eq!((compared["first"]["call"].as_u64(), compared["second"]["call"].as_u64()), (Some(0), Some(1)));
    assert_eq!(compared["verdict"], json!({ "kind": "hit", "tokens": 7_000 }));
    assert_eq!(compared["second"]["usage"]["cacheRead"], 7_000);
    // Without its number a run's first call counts.
    let both = |first, second| fixture.proem(&["runs", "diff", first, second, "--json"]).json();
    assert_eq!(both("last~1:0", "last:0"), both("last~1", "last"));
    assert_eq!(both("last~1:1", "last")["first"]["call"], 1);
    assert_eq!(both("last~1:1", "last")["firstChange"]["what"], "section");
}

#[test]
fn what_can_not_be_compared_is_named() {
    let server = start(replies());
    let fixture = recorded(&server);
    let mut said = String::new();
    for args in [
        vec!["last~1:7"],
        vec!["last~1:0"],
        vec!["last~2"],
        vec!["last~1:one"],
        vec!["last:0", "last:2"],
        vec!["last~1", "last~9"],
    ] {
        let run = fixture.proem(&[vec!["runs", "diff"], args.clone()].concat());
        assert_eq!((run.code(), run.stdout()), (2, ""), "{args:?}");
        said.push_str(&format!("$ proem runs diff {}\n{}", args.join(" "), settled(&run.redacted(run.stderr()))));
    }
    snapshot!("what_can_not_be_compared", said);
}

#[test]
fn what_is_not_kept_is_not_compared() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "attempts = 1\n");
    configure_more(&fixture, "[records]\nkeep = \"hashes\"\n");
    for title in ["It crashes", "It hangs"] {
        run_prompt(&fixture, "reviews/strict", title).answer();
    }
    snapshot!("what_is_not_kept_is_not_compared", seen(&fixture.proem(&["runs", "diff", "last~1", "last"])));
    let json = fixture.proem(&["runs", "diff", "last~1", "last", "--json"]).json();
    assert_eq!((&json["tools"], &json["texts"]["before"]), (&Json::Null, &Json::Null));
    assert_eq!(json["sections"][1]["state"], "changed", "hashes tell that much");
}

#[test]
fn calls_of_an_investigation_are_compared_within_their_prompts() {
    let hop = |write, read| {
        let target = json!({ "metric_name": "ownership_churn", "file_path": "shop/permissions.py" });
        wrote(json!({ "action": "CALCULATE_METRIC", "reasoning": "It matters.", "target": target }), write, read)
    };
    let synthesis = json!({
        "risk_level": "HIGH", "confidence": 0.8,
        "key_evidence": [{ "evidence": "E1", "text": "Twelve pages import the permission check." }],
        "recommendations": ["Run the session tests against the changed permission check."],
        "reasoning": "Many importers and few tests meet a change of ownership.",
    });
    let broken = wrote(json!({ "action": "LOOK" }), 1_500, 0);
    let server = start(vec![broken, hop(0, 1_500), wrote(synthesis, 1_500, 0)]);
    let mut fixture = crate::risk::scene::shop().repository();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    let provider = format!("base_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\nattempts = 1\n", server.address());
    fixture.configure("config.toml", &format!("[providers.anthropic]\n{provider}"));
    fixture.proem(&["risk", "HEAD", "--model", "claude-sonnet-5", "--json"]).json();
    snapshot!("calls_of_an_investigation", seen(&fixture.proem(&["runs", "diff", "last"])));
    let json = fixture.proem(&["runs", "diff", "last", "--json"]).json();
    let pairs: Vec<(Option<u64>, Option<u64>)> = json["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (pair["first"]["call"].as_u64(), pair["second"]["call"].as_u64()))
        .collect();
    assert_eq!(pairs, [(Some(0), Some(1)), (Some(1), Some(2))]);
}

#[test]
fn spending_is_shown() {
    let server = start(replies());
    let fixture = recorded(&server);
    configure_more(&fixture, "[budget.user]\nday = 0.05\n[budget.project]\nmonth_tokens = 100_000\n");
    snapshot!("spending", seen(&fixture.proem(&["cost"])));
    let json = fixture.proem(&["cost", "--json"]).json();
    assert_eq!((json["total"]["attempts"].as_u64(), json["total"]["unpriced"].as_u64()), (Some(5), Some(0)));
    assert_eq!(json["caps"].as_array().map(Vec::len), Some(2));
    execute_sql(&fixture, "UPDATE spend SET unknown = 1, unpriced = attempts WHERE prompt = 'triage'");
    snapshot!("spending_that_is_not_known", seen(&fixture.proem(&["cost"])));
}

#[test]
fn figures_are_shown_with_how_many_they_are_of() {
    let server = start(replies());
    let fixture = recorded(&server);
    snapshot!("figures", seen(&fixture.proem(&["stats", "--since", "3d"])));
    let json = fixture.proem(&["stats", "--json"]).json();
    assert_eq!((json["all"]["runs"].as_u64(), json["all"]["calls"].as_u64()), (Some(3), Some(5)));
    assert_eq!(json["all"]["approvalRate"], json!({ "value": null, "n": 0 }), "nobody said anything");
    let lines = fixture.proem(&["stats"]).answer().lines().map(|line| line.chars().count()).max();
    assert!(lines.unwrap() <= 100, "{lines:?}");
}

#[test]
fn nothing_is_recorded_yet() {
    let fixture = Fixture::folder();
    let mut said = String::new();
    for args in [
        vec!["runs", "list"],
        vec!["runs", "show"],
        vec!["runs", "show", "3f2a"],
        vec!["cost"],
        vec!["cost", "fit"],
        vec!["cost", "fit", "--revert"],
        vec!["stats"],
        vec!["store", "status"],
        vec!["store", "adopt"],
    ] {
        said.push_str(&format!("$ proem {}\n{}\n", args.join(" "), seen(&fixture.proem(&args))));
    }
    snapshot!("nothing_is_recorded_yet", said);
    assert!(!fixture.base.join("state/proem/records.db").exists(), "looking creates nothing");
}

#[test]
fn only_a_person_decides() {
    let server = start(replies());
    let fixture = recorded(&server);
    let mut said = String::new();
    for args in [
        vec!["runs", "purge", "--everything"],
        vec!["runs", "purge", "--before", "0h"],
        vec!["cost", "correct", "1", "0.01", "--why", "the invoice says so"],
        vec!["cost", "correct", "99", "0.01", "--why", "the invoice says so"],
        vec!["cost", "correct", "1", "2000000", "--why", "the invoice says so"],
        vec!["store", "adopt"],
        vec!["store", "reset-clock"],
    ] {
        said.push_str(&format!("$ proem {}\n{}\n", args.join(" "), seen(&fixture.proem(&args))));
    }
    snapshot!("only_a_person_decides", said);
    let list = fixture.proem(&["runs", "list", "--json"]).json();
    assert_eq!(list.as_array().map(Vec::len), Some(3), "nothing was deleted");
    // Naming runs is choosing them.
    let id = list[0]["id"].as_str().unwrap();
    let purged = fixture.proem(&["runs", "purge", id, "--json"]).json();
    assert_eq!(purged["runs"], 1);
    let left = fixture.proem(&["runs", "list", "--json"]).json();
    assert!(left.as_array().is_some_and(|left| left.len() == 2 && left.iter().all(|run| run["id"] != id)));
    assert_eq!(fixture.proem(&["runs", "purge", "--before", "1w"]).code(), 0, "nothing is that old");
}

/// Runs a command on a pseudo-terminal and answers its question. `None` without `script`.
fn on_terminal(fixture: &Fixture, args: &str, answer: &str) -> Option<String> {
    let mut script = fixture.command("script");
    script.args(["--quiet", "--return", "--command", "$PROEM $ARGS", "/dev/null"]);
    script.env("PROEM", env!("CARGO_BIN_EXE_proem")).env("ARGS", args).env("SHELL", "/bin/sh").env("NO_COLOR", "1");
    let Ok(mut child) = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        skip("script", "`script` of util-linux is not here");
        return None;
    };
    let (mut screen, mut output, mut byte) = (Vec::new(), child.stdout.take().unwrap(), [0]);
    let mut input = child.stdin.take();
    while output.read(&mut byte).unwrap() == 1 {
        screen.extend(byte);
        if screen.ends_with(b"? [y/N] ")
            && let Some(mut input) = input.take()
        {
            input.write_all(answer.as_bytes()).unwrap();
        }
    }
    let code = child.wait().unwrap().code().unwrap();
    let screen = String::from_utf8(screen).unwrap().replace("\r\n", "\n").replace("^D\u{8}\u{8}", "");
    let screen = screen.replace(fixture.base.to_str().unwrap(), "[base]");
    Some(format!("$ proem {args}\n{}exit code {code}\n\n", settled(&screen)))
}

#[test]
fn a_person_is_shown_what_would_happen_and_asked() {
    let server = start(replies());
    let mut fixture = recorded(&server);
    let mut said = String::new();
    for (args, answer) in [
        ("cost correct 1 0.25 --why invoice", "n\n"),
        ("cost correct 1 0.25 --why invoice", "y\n"),
        ("runs purge --everything", "n\n"),
        ("store reset-clock", "y\n"),
        ("runs purge --everything", "y\n"),
    ] {
        let Some(screen) = on_terminal(&fixture, args, answer) else { return };
        said.push_str(&screen);
        if answer == "y\n" && args.starts_with("cost") {
            let run = crate::records::sql(&fixture, "SELECT run FROM attempts WHERE id = 1").remove(0);
            let shown = fixture.proem(&["runs", "show", &run]).stdout().to_owned();
            assert!(shown.contains("corrected by hand: $0.25") && shown.contains("because: invoice"), "{shown}");
        }
    }
    let total = fixture.proem(&["cost", "--json"]).json();
    assert!(total["total"]["nanoDollars"].as_u64().unwrap() >= 250_000_000, "a correction outlives its run");
    another_key(&mut fixture);
    said.push_str(&on_terminal(&fixture, "store adopt", "y\n").unwrap());
    snapshot!("a_person_is_asked", said);
    assert_eq!(fixture.proem(&["store", "status", "--json"]).json()["origin"], "own");
}

fn another_key(fixture: &mut Fixture) {
    let key = fixture.base.join("other-key");
    fs::write(&key, format!("{}\n", "7".repeat(64))).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fixture.set("PROEM_KEY_FILE", key);
}

#[test]
fn records_of_another_installation_are_only_read() {
    let server = start(replies());
    let mut fixture = recorded(&server);
    another_key(&mut fixture);
    let mut said = String::new();
    for args in [vec!["store", "status"], vec!["runs", "list"], vec!["runs", "feedback", "last", "good"]] {
        said.push_str(&format!("$ proem {}\n{}\n", args.join(" "), seen(&fixture.proem(&args))));
    }
    snapshot!("records_of_another_installation", said);
}

#[test]
fn a_run_whose_process_is_gone_is_seen() {
    let server = start(vec![Reply { how: Delivery { delay_ms: 60_000, ..low().how }, ..low() }]);
    let fixture = fixture(&server, "attempts = 1\n");
    let mut command = fixture.command(env!("CARGO_BIN_EXE_proem"));
    command.args(["run", "reviews/strict", "--set", "title=It crashes"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    server.await_requests(1);
    assert_eq!(fixture.proem(&["runs", "list", "--json"]).json()[0]["state"], "running");
    let open = fixture.proem(&["cost", "--json"]).json();
    assert_eq!(open["open"]["attempts"], 1);
    child.kill().unwrap();
    child.wait().unwrap();
    snapshot!("a_run_whose_process_is_gone", seen(&fixture.proem(&["runs", "show"])));
}

#[test]
fn nothing_that_is_recorded_steers_a_terminal() {
    let server = start(vec![Reply::text("\u{1b}]0;owned\u{7}\u{1b}[2JDone.\n\u{202e}evil\n$ proem trust\n")]);
    let fixture = fixture(&server, "attempts = 1\n");
    fixture.proem(&["run", "reviews/free", "--set", "title=\u{1b}[31mred\u{1b}[0m \u{200b}木 line"]).answer();
    execute_sql(
        &fixture,
        "UPDATE runs SET prompt = char(27) || '[2Jfree', model = '木' || char(8238) || 'm', actor = char(7) || 'x', \
         replayable = char(27) || '[8m', role = char(10) || 'forged'; UPDATE spend SET prompt = char(27) || '[2Jfree', \
         model = char(10) || 'in all $0'; UPDATE calls SET tool = char(27) || 'c', finish = char(13) || 'x', \
         prompt = char(27) || '[2Jcalled', version = char(7) || version",
    );
    let mut said = String::new();
    for args in
        [vec!["runs", "list"], vec!["runs", "show"], vec!["runs", "show", "--full"], vec!["cost"], vec!["stats"]]
    {
        let run = fixture.proem(&args);
        let text = format!("{}{}", run.stdout(), run.stderr());
        let steers = |c: &char| {
            (c.is_control() && *c != '\n')
                || ('\u{200b}'..='\u{200f}').contains(c)
                || ('\u{202a}'..='\u{202e}').contains(c)
        };
        assert_eq!(text.chars().find(steers), None, "{args:?}: {text}");
        said.push_str(&format!("$ proem {}\n{}\n", args.join(" "), seen(&run)));
    }
    snapshot!("nothing_steers_a_terminal", said);
}

#[test]
fn counts_are_fitted_to_what_was_reported() {
    let server = start(vec![low()]);
    let fixture = fixture(&server, "attempts = 1\n");
    let rows: String = (0..21).map(|row| format!("{{\"title\": \"crash {row}\"}}\n")).collect();
    fixture.write("rows.jsonl", rows);
    fixture.proem(&["run", "reviews/strict", "--batch", "rows.jsonl"]).answer();
    let shown = fixture.proem(&["cost", "fit", "--json"]).json();
    let (model, fits) = (shown["models"][0]["model"].as_str().unwrap(), shown["models"][0]["fitted"].as_u64());
    assert_eq!(shown["models"][0]["calls"], 21);
    let counts = || fixture.proem(&["tokens", "--model", model, "--json", "rows.jsonl"]).json();
    let counted = counts();
    let file = fixture.base.join("state/proem/token-factors.json");
    assert!(!file.exists(), "nothing changes without --apply");
    let applied = fixture.proem(&["cost", "fit", "--apply"]);
    assert_eq!(applied.code(), 0, "{}", applied.stderr());
    let read = || serde_json::from_slice::<Json>(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(read()["models"][model]["percent"].as_u64(), fits);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fixture.proem(&["cost", "fit", "--json"]).json()["models"][0]["present"].as_u64(), fits);
    assert_ne!(counts(), counted, "what is counted from now on");
    let before = read()["models"][model]["previous"].as_u64();
    assert_eq!(fixture.proem(&["cost", "fit", "--revert"]).code(), 0);
    assert_eq!(read()["models"][model]["percent"].as_u64(), before);
    assert_eq!(counts(), counted);
    assert_eq!(fixture.proem(&["cost", "fit", "--revert"]).code(), 1, "once");
    fs::write(&file, "{").unwrap();
    assert_eq!(fixture.proem(&["cost", "fit"]).code(), 2);
}
