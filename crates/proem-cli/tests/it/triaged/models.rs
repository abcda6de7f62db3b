//! Triage with models: what is sent, what is taken of the answers, and what happens without one.

use proem_app::triage::normalise::NormaliseOptions;
use proem_engine::run::Time;
use proem_llm::scripted::{AnswerBlock, Reply, ScriptedServer, ScriptedUsage};
use serde_json::{Value as Json, json};

use super::project;
use crate::approvals::scene::answered;
use crate::effects::scene::variable_number;
use crate::fixture::{Fixture, Run};
use crate::records::sql;
use crate::run::{set_up, start};
use crate::triage_signals::comment;

const PROJECT: &str = "0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f";

/// A project at a level, with a provider that is the server and models asked for. `more` is configured besides.
pub(super) fn with_models(level: &str, server: &ScriptedServer, more: &str) -> Fixture {
    let mut fixture = project(level);
    set_up(&mut fixture, server, "");
    let address = server.address();
    fixture.configure(
        "config.toml",
        &format!(
            "[providers.anthropic]\nbase_url = \"http://{address}\"\nkey = \"ANTHROPIC_API_KEY\"\n\n\
             [triage]\nmodels = true\nretries = 0\n\n{more}"
        ),
    );
    fixture
}

/// The id of a comment, which is a hash of what came and the same in every project.
pub(super) fn comment_id(number: u32, text: &str) -> String {
    let options = NormaliseOptions { now: Time(0), mail_servers: Vec::new(), audiences: Vec::new() };
    let read = options.read_stream(comment(number, text).to_string().as_bytes()).unwrap();
    read.signals[0].id.clone()
}

pub(super) fn calls_reply(calls: Vec<(&str, Json)>) -> Reply {
    let block = |(name, arguments): (&str, Json)| AnswerBlock::Call { name: name.to_owned(), arguments };
    Reply::answer(calls.into_iter().map(block).collect())
}

pub(super) fn sanitised(id: &str, content: &str) -> (&'static str, Json) {
    let arguments = json!({
        "signal_id": id, "original_source": "jira", "original_type": "comment_created", "sanitised_content": content,
        "threat_detected": false, "threats_found": [], "content_preserved_ratio": 1.0, "confidence_score": 0.9,
        "requires_human_review": false,
    });
    ("sanitise_signal", arguments)
}

pub(super) fn classified(id: &str, category: &str, action: &str) -> (&'static str, Json) {
    let arguments = json!({
        "signal_id": id, "importance": "medium", "category": category, "recommended_action": action,
        "action_rationale": "a person asks", "requires_sonnet": false, "time_sensitivity": "this_week",
        "confidence": 0.8, "artefacts_affected": ["raid_log"],
    });
    ("classify_signal", arguments)
}

pub(super) fn drafted_call(id: &str, to: &str) -> (&'static str, Json) {
    let arguments = json!({
        "project_id": PROJECT, "communication_type": "follow_up",
        "recipient": { "email": to, "name": "Sam Okoro", "is_external": false }, "subject": "Refunds",
        "body": "The refunds are in review. Please name a day for the release.", "tone": "professional",
        "urgency": "normal", "context": "asked", "requires_approval": false, "signals_referenced": [id],
    });
    ("draft_communication", arguments)
}

pub(super) const TEXT: &str = "Sam asks where the refunds stand and when they are released.";

pub(super) fn run(fixture: &Fixture, args: &[&str]) -> Run {
    let mut all = vec!["triage", "run", "one.json"];
    all.extend(args);
    fixture.proem(&all)
}

/// A project with one comment.
pub(super) fn one_comment(level: &str, server: &ScriptedServer) -> Fixture {
    let fixture = with_models(level, server, "");
    fixture.write("one.json", comment(1, TEXT).to_string());
    fixture
}

/// A project with one comment, and what the stages answer about it where a server has no tools.
pub(crate) fn one_local_comment() -> (Fixture, Vec<String>) {
    let (fixture, id) = (one_comment("tactical", &start(Vec::new())), comment_id(1, TEXT));
    let object =
        |(name, arguments): (&str, Json)| json!({ "calls": [{ "name": name, "arguments": arguments }] }).to_string();
    let sanitised = sanitised(&id, &format!("Vendor certification\n{TEXT}"));
    let classified = classified(&id, "stakeholder", "draft_communication");
    let drafted = drafted_call(&id, "sam@corp.example");
    (fixture, [sanitised, classified, drafted].map(object).to_vec())
}

/// The stages' answers about the signal of this id.
pub(super) fn answers(id: &str) -> Vec<Reply> {
    vec![
        calls_reply(vec![sanitised(id, &format!("Vendor certification\n{TEXT}"))]),
        calls_reply(vec![classified(id, "stakeholder", "draft_communication")]),
        calls_reply(vec![drafted_call(id, "sam@corp.example")]),
    ]
}

/// The questions to the small and the large model are counted under each of them.
#[test]
fn statistics_keep_the_roles_apart() {
    let id = comment_id(1, TEXT);
    let server = start(answers(&id));
    let fixture = one_comment("tactical", &server);
    assert_eq!(run(&fixture, &["--json"]).code(), 0);
    let found = fixture.proem(&["stats", "--json"]).json();
    let roles = found["roles"].as_array().unwrap().iter();
    let roles: Vec<String> =
        roles.map(|role| format!("{} {}", role["name"].as_str().unwrap(), role["calls"])).collect();
    assert_eq!(roles, ["large 1", "small 2"], "{found}");
}

#[test]
fn a_signal_goes_through_the_stages_and_its_record_makes_them_anew() {
    let id = comment_id(1, TEXT);
    let server = start(answers(&id));
    let fixture = one_comment("tactical", &server);
    let done = run(&fixture, &["--json", "--explain", &id]);
    let report = done.json();
    assert_eq!(report["signals"][0]["id"], json!(id));
    assert_eq!(report["signals"][0]["outcome"], "drafted", "{}", done.transcript());
    assert_eq!((&report["degraded"], &report["signals"][0]["degraded"]), (&json!(false), &json!(false)));
    assert_eq!(report["actions"][0]["action"], "email_stakeholder", "{report}");
    let explained = done.stderr();
    assert!(explained.contains("large drafts a mail") && explained.contains("it says: a person asks"), "{explained}");
    let sent: Vec<Json> = server.requests().iter().map(|request| request.json().unwrap()).collect();
    assert_eq!(sent.len(), 3);
    assert_ne!(sent[0]["model"], sent[2]["model"], "reasoning asks the large model");
    assert_eq!(sent[0]["temperature"], json!(0.0), "{}", sent[0]["temperature"]);
    let tools: Vec<&str> =
        sent[0]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(tools, ["sanitise_signal"]);
    assert_eq!(sql(&fixture, "SELECT kind FROM runs"), ["triage"]);
    let replayed = fixture.proem(&["runs", "replay", "last"]);
    assert!(replayed.answer().contains('3'), "{}", replayed.transcript());
    // The same file once more asks nobody anything.
    assert_eq!(run(&fixture, &["--json"]).json()["signals"], json!([]));
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn figures_of_triage_say_how_many_values_they_are_of() {
    let id = comment_id(1, TEXT);
    let server = start(answers(&id));
    let fixture = one_comment("tactical", &server);
    let none = fixture.proem(&["stats", "--agent", "triage"]);
    assert!(none.stderr().contains("no run of the agent `triage` of this project"), "{}", none.transcript());
    run(&fixture, &[]);
    let figures = fixture.proem(&["stats", "--agent", "triage", "--json"]).json();
    let of = |value: &Json| (value["value"].clone(), value["n"].as_u64().unwrap());
    let third = json!(1.0 / 3.0);
    for (place, planned, (share, calls)) in
        [(0, 0.35, (&third, 1)), (1, 0.35, (&third, 1)), (2, 0.15, (&third, 1)), (3, 0.15, (&json!(0.0), 0))]
    {
        let stage = &figures["triage"]["stages"][place];
        assert_eq!((&of(&stage["share"]), &stage["planned"]), (&(share.clone(), 3), &json!(planned)), "{stage}");
        assert_eq!(stage["calls"], calls, "{stage}");
    }
    let rates = |name: &str| {
        figures["triage"]["stages"].as_array().unwrap().iter().map(|stage| of(&stage[name])).collect::<Vec<_>>()
    };
    let unknown = (Json::Null, 0);
    // The model left the text whole, and leaves nothing to a person.
    assert_eq!(rates("threatRate"), [(json!(0.0), 1), unknown.clone(), unknown.clone(), unknown.clone()]);
    assert_eq!(rates("escalationRate"), [unknown.clone(), (json!(0.0), 1), (json!(0.0), 1), unknown]);
    assert_eq!(of(&figures["triage"]["escalationRate"]), (json!(0.0), 1));
    assert_eq!(of(&figures["triage"]["threatRate"]).1, 1);
    let tools: Vec<&str> =
        figures["triage"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["tool"].as_str()).collect();
    assert_eq!(tools, ["classify_signal", "draft_communication", "sanitise_signal"]);
    let prompts: Vec<_> =
        figures["prompts"].as_array().unwrap().iter().map(|group| of(&group["inputTokens"])).collect();
    assert!(prompts.len() == 3 && prompts.iter().all(|(mean, n)| mean.as_f64() > Some(100.0) && *n == 1), "{figures}");
    assert_eq!(of(&figures["all"]["threatRate"]).1, 1, "{}", figures["all"]);
    let page = fixture.proem(&["stats", "--agent", "triage"]);
    assert!(page.answer().contains("planned 35% n=3  suspected 0.0% n=1"), "{}", page.transcript());
    assert_eq!(fixture.proem(&["stats", "--agent", "risk", "--json"]).json()["all"]["runs"], 0);
}

#[test]
fn a_provider_that_fails_leaves_everything_to_the_rules_and_says_so() {
    let down = || Reply::raw(400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#);
    let server = start((0..8).map(|_| down()).collect());
    let fixture = one_comment("tactical", &server);
    let report = run(&fixture, &["--json"]).json();
    assert_eq!((&report["degraded"], &report["signals"][0]["degraded"]), (&json!(true), &json!(true)), "{report}");
    let problems = report["problems"].to_string();
    assert!(problems.contains("sanitise: 1 signal is left to the rules: the call failed"), "{problems}");
}

/// `PROEM_LONG` comments of 100 kB: no request is longer than its model's prompt may be, and each signal has an end. Fifty have
/// been worked on by `PROEM_LONG=50 cargo test -p proem-cli --test it triaged::models::long`, in 100 s without optimisation.
#[test]
fn long_signals_are_asked_about_within_bounds() {
    let down = Reply::raw(400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#);
    let server = start(vec![down]);
    let fixture = with_models("tactical", &server, "");
    let count = u32::try_from(variable_number("PROEM_LONG", 4)).unwrap();
    let long = "The certification of the vendor is in review and its tests are green. ".repeat(1_450);
    let all: Vec<String> = (1..=count).map(|number| comment(number, &long).to_string()).collect();
    fixture.write("one.json", all.join("\n"));
    let done = run(&fixture, &["--json"]);
    let report = done.json();
    assert_eq!(report["signals"].as_array().unwrap().len(), usize::try_from(count).unwrap(), "{}", done.stderr());
    assert!(
        report["problems"].to_string().contains("its text is longer than an answer may be"),
        "{}",
        report["problems"]
    );
    let sent: Vec<usize> = server.requests().iter().map(|request| request.body.len()).collect();
    assert!(!sent.is_empty() && sent.iter().all(|bytes| *bytes < 400_000), "{sent:?}");
    assert_eq!(fixture.triage().status()["signals"], json!({ "handled": count }));
}

#[test]
fn nobody_is_asked_without_the_users_word_a_key_or_where_it_is_forbidden() {
    let server = start(Vec::new());
    let mut fixture = one_comment("tactical", &server);
    assert!(run(&fixture, &["--no-model", "--json"]).json()["degraded"].as_bool().unwrap());
    fixture.set("ANTHROPIC_API_KEY", "");
    let done = run(&fixture, &[]);
    assert!(done.stderr().contains("no model is asked: ANTHROPIC_API_KEY is not set"), "{}", done.transcript());
    fixture.configure("config.toml", "");
    let refused = run(&fixture, &["--dry-run"]);
    assert_eq!(refused.code(), 2);
    assert!(refused.stderr().contains("set `triage.models = true`"), "{}", refused.transcript());
    assert!(server.requests().is_empty());
}

#[test]
fn a_dry_run_shows_what_each_stage_would_send_and_changes_nothing() {
    let server = start(Vec::new());
    let (fixture, id) = (one_comment("tactical", &server), comment_id(1, TEXT));
    let shown = run(&fixture, &["--dry-run"]);
    let requests: Vec<Json> =
        serde_json::Deserializer::from_str(shown.stdout()).into_iter().collect::<Result<_, _>>().unwrap();
    let stages: Vec<&str> = requests.iter().filter_map(|request| request["stage"].as_str()).collect();
    assert_eq!(stages, ["sanitise", "classify", "reasoning"], "{}", shown.transcript());
    // No answer is there yet, so what is behind one says what it takes for granted.
    assert_eq!(requests[0]["assumes"], Json::Null);
    assert!(requests[2]["assumes"].as_str().unwrap().contains("what rules say"), "{}", requests[2]["assumes"]);
    assert_ne!(requests[0]["body"]["model"], requests[2]["body"]["model"], "reasoning would ask the large model");
    for (request, tool) in requests.iter().zip(["sanitise_signal", "classify_signal", "draft_communication"]) {
        let body = request["body"].to_string();
        assert!(body.contains(&id) && body.contains(tool) && request["callsOfStage"] == 1, "{body:.300}");
    }
    assert!(shown.stderr().contains("artefact-update would ask nobody"), "{}", shown.stderr());
    assert!(server.requests().is_empty());
    let status = fixture.triage().status();
    assert_eq!(status["signals"], json!({}), "{status}");
}

/// Scenario 8: the small model alone weighs, and it is said everywhere.
#[test]
fn a_day_that_is_nearly_spent_asks_the_small_model_alone_and_says_so() {
    let id = comment_id(1, TEXT);
    // 10,350 tokens of the large model are 3.1 cents.
    let dear = |reply: Reply, input| reply.using(Some(ScriptedUsage { input, output: 10, ..ScriptedUsage::default() }));
    let mut replies = answers(&id);
    replies[2] = dear(replies[2].clone(), 10_350);
    replies.extend(answers(&comment_id(2, TEXT)));
    let server = start(replies);
    // A tenth of the amounts that ship.
    let steps = "[budget.agent.triage]\nsteps = [\n{ from = 0.023, models = \"large-if-demanded\" },\n\
                 { from = 0.027, models = \"large-if-demanded\", every_minutes = 20 },\n\
                 { from = 0.030, models = \"small-only\", every_minutes = 30 },\n]\n";
    let fixture = with_models("tactical", &server, steps);
    fixture.write("one.json", comment(1, TEXT).to_string());
    let first = run(&fixture, &["--json"]).json();
    assert_eq!(first["budget"], Json::Null, "{first}");
    fixture.write("one.json", comment(2, TEXT).to_string());
    let second = run(&fixture, &["--json"]).json();
    let words = second["budget"].as_str().unwrap_or_default();
    assert!(words.starts_with("step 3 of 3 of the day's budget: the small model only"), "{second}");
    assert_eq!(second["signals"][0]["outcome"], "drafted", "{second}");
    let sent: Vec<Json> = server.requests().iter().map(|request| request.json().unwrap()).collect();
    assert_eq!(sent[3]["model"], sent[5]["model"], "the small model weighs as well");
    let inputs = sql(&fixture, "SELECT count(*) || '' FROM contents WHERE CAST(bytes AS TEXT) LIKE '%\"small-only\"%'");
    assert_eq!(inputs, ["1"], "what was asked with is recorded");
}

#[test]
fn a_cycle_says_that_a_server_reports_impossible_figures() {
    let id = comment_id(1, TEXT);
    let mut replies = answers(&id);
    let impossible = ScriptedUsage { input: 1, output: 1, ..ScriptedUsage::default() };
    replies[0] = replies[0].clone().using(Some(impossible));
    let server = start(replies);
    let fixture = one_comment("tactical", &server);
    let told = run(&fixture, &["--json"]).json();
    let problem = told["problems"][0].as_str().unwrap_or_default();
    assert!(problem.starts_with("the provider reports 1 tokens for a prompt of at least "), "{told}");
    assert_eq!(sql(&fixture, "SELECT state FROM attempts ORDER BY id"), ["unknown", "reported", "reported"]);
}

const SIMILAR: &str = "Could you say where the vendor certification stands?";

#[test]
fn what_came_of_a_similar_question_is_told_where_there_is_reasoning() {
    let server = start(answers(&comment_id(2, SIMILAR)));
    let fixture = with_models("tactical", &server, "");
    fixture.write("one.json", comment(1, "Could you tell me where the vendor certification stands?").to_string());
    let asked = fixture.triage().take_files(&["one.json"]);
    let question = asked["questions"][0]["id"].as_str().unwrap().to_owned();
    let decide = ["escalations", "decide", &question, "A", "--because", "Olivia calls the sponsor herself"];
    let Some((said, code)) = answered(&fixture, &decide, "y") else { return };
    assert_eq!(code, 0, "{said}");
    fixture.write("one.json", comment(2, SIMILAR).to_string());
    run(&fixture, &["--json"]).json();
    let sent: Vec<String> = server.requests().iter().map(|request| request.json().unwrap().to_string()).collect();
    let is_told = |body: &String| body.contains("Olivia calls the sponsor herself");
    assert_eq!(sent.iter().map(is_told).collect::<Vec<_>>(), [false, false, true], "{:.3000}", sent[2]);
    let replayed = fixture.proem(&["runs", "replay", "last"]);
    assert!(replayed.answer().contains('3'), "{}", replayed.transcript());
}
