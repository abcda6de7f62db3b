//! Queries against rows that are written by plain SQL.

use proem_engine::ledger::{Cap, CapBalance, CapPeriod, CapScope, CapUnit};
use proem_engine::run::Time;
use rusqlite::Connection;

use super::values::ReadFault;
use super::{
    CostsWanted, CountedFigure, RunScope, RunState, RunsWanted, StatisticsWanted, costs, detail, learning, runs,
    statistics,
};
use crate::record::{CallState, Project, RunId, RunOutcome};
use crate::sql::Tables;

const SCHEMA: &str = concat!(
    include_str!("../../migrations/0001.sql"),
    include_str!("../../migrations/0002.sql"),
    include_str!("../../migrations/0003.sql"),
    include_str!("../../migrations/0004.sql"),
    include_str!("../../migrations/0007.sql"),
    include_str!("../../migrations/0011.sql"),
    include_str!("../../migrations/0012.sql")
);

/// Two epochs, one over. Five runs of `/p` and one of `/q`; what the third run sent.
const ROWS: &str = r#"
INSERT INTO epochs VALUES ('alive', '/p', 'person:a@pipe', 1, NULL, NULL), ('gone', '/p', 'person:a@pipe', 1, 2, 'dead');
INSERT INTO meta VALUES ('last_seen', '1763800000000');
INSERT INTO runs (id, project, actor, epoch, kind, agent, prompt, version, closure, role, model, endpoint, started,
    ended, state, outcome, files, inputs, settings, profile, replayable, input_tokens, nanos, numbers)
SELECT printf('%08x%08x', n / 3, n), iif(n = 6, '/q', '/p'), 'person:a@pipe', iif(n = 2, 'gone', 'alive'), 'prompt',
    'reviews', iif(n = 4, 'strict', 'triage'), '1.0.0', 'c', iif(n = 4, 'large', 'small'), 'm', 'e', n * 1000,
    iif(n < 3, NULL, n * 1000 + 5), iif(n < 3, 'running', 'ended'),
    CASE n WHEN 3 THEN 'answered' WHEN 4 THEN 'fell-back' WHEN 5 THEN 'refused' WHEN 6 THEN 'assembled' END,
    '{"f":"h"}', 'i', '{}', 'null', iif(n = 3, 'yes', 'it is a test'), NULL, NULL,
    iif(n = 3, '{"assembledUs":1500,"scanned":4,"threats":1,"filtered":1,"escalated":false}', '{}')
FROM (WITH RECURSIVE k (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < 6) SELECT n FROM k);
INSERT INTO assemblies SELECT id, 0, project, actor, started, '[]', 100, 40, iif(started = 3000, 400, NULL), 'c', '{}', 'r'
    FROM runs WHERE started IN (1000, 2000, 3000, 4000, 5000, 6000);
INSERT INTO calls (run, effect, project, actor, at, agent, prompt, version, closure, model, endpoint, tool, body, pieces,
    state, problems, repairs)
    SELECT id, 0, project, actor, started, agent, prompt, version, closure, 'm', 'e', 'triage', 'b', '{}', iif(started = 3000, 'answered', 'pending'),
    '[]', iif(started = 3000, '["a","b"]', '[]') FROM runs WHERE started < 6000;
INSERT INTO attempts SELECT started / 1000, id, 0, 0, project, actor, epoch, started, '2025-11-22', 500, 70,
    iif(started = 3000, 'reported', 'open') FROM runs WHERE started <= 3000;
INSERT INTO attempts SELECT 9, id, 0, 1, project, actor, epoch, started, '2025-11-22', NULL, 70, 'unknown'
    FROM runs WHERE started = 3000;
INSERT INTO usage VALUES (3, '/p', 'x', 3001, 200, NULL, 10, 120, 0, 80, 60, 0, 20, '{"input":80,"cacheRead":60,"cacheWrites":[],"output":20}', 300, 100);
INSERT INTO usage VALUES (9, '/p', 'x', 3001, NULL, 'connection', 0, 20, 0, NULL, NULL, NULL, NULL, NULL, NULL, 70);
INSERT INTO corrections (attempt, project, actor, at, nanos, why) VALUES (3, '/p', 'x', 1, 250, 'w'), (3, '/p', 'x', 2, 260, 'w');
INSERT INTO spend VALUES ('/p', '2025-11-22', 'm', 'e', 'reviews', 'triage', 2, 260, 170, 1, 1),
    ('/p', '2025-11-01', 'm', '', 'reviews', 'triage', 1, 40, 7, 0, 0), ('/p', '2025-10-31', 'm', 'e', 'reviews', 'triage', 1, 1000, 7, 0, 0),
    ('/q', '2025-11-22', 'm', 'f', 'reviews', 'triage', 1, 5, 9, 0, 0);
INSERT INTO outcomes (run, source, project, actor, at, agent, kind, quality, completeness, risks)
    SELECT id, 'answer', project, actor, started, 'reviews/triage', 'reviews', iif(started = 3000, 'high', 'low'),
    'complete', '[]' FROM runs WHERE started IN (3000, 4000, 5000);
INSERT INTO failures (run, project, actor, at, agent, kind, issue, cleared)
    SELECT id, project, actor, started, 'reviews/triage', 'reviews', '{"quality":"low","completeness":"complete","risks":[]}',
    iif(started = 4000, 9, NULL) FROM runs WHERE started IN (4000, 5000);
INSERT INTO feedback (run, project, actor, at, verdict, note) SELECT id, project, actor, 1, 'good', '' FROM runs WHERE started = 3000;
INSERT INTO approvals (run, project, actor, at, step, question, options, answer)
    SELECT id, project, actor, 1, 2, 'Which?', '["a","b"]', 1 FROM runs WHERE started = 3000;
"#;

fn memory(rows: &str) -> Tables {
    let memory = Tables::new(Connection::open_in_memory().unwrap(), "memory".into());
    memory.script(SCHEMA).unwrap();
    memory.script(rows).unwrap();
    memory
}

fn project() -> Project {
    Project("/p".to_owned())
}

fn third() -> RunId {
    RunId("0000000100000003".to_owned())
}

#[test]
fn lists_are_narrowed_and_the_newest_come_first() {
    let memory = memory(ROWS);
    let all = RunsWanted { project: Some(project()), ..RunsWanted::default() };
    for (wanted, expected) in [
        (all.clone(), "5 4 3 2 1"),
        (RunsWanted::default(), "6 5 4 3 2 1"),
        (RunsWanted { limit: Some(2), ..all.clone() }, "5 4"),
        (RunsWanted { since: Some(Time(4000)), ..all.clone() }, "5 4"),
        (RunsWanted { since: Some(Time(4001)), project: None, ..all.clone() }, "6 5"),
        (RunsWanted { prompt: Some("reviews/strict".to_owned()), ..all.clone() }, "4"),
        (RunsWanted { prompt: Some("reviews".to_owned()), limit: Some(1), ..all.clone() }, "5"),
        (RunsWanted { prompt: Some("other".to_owned()), ..all.clone() }, ""),
        (RunsWanted { outcome: Some(RunOutcome::FellBack), ..all.clone() }, "4"),
        (RunsWanted { outcome: Some(RunOutcome::Assembled), ..all.clone() }, ""),
        (RunsWanted { outcome: Some(RunOutcome::Assembled), ..RunsWanted::default() }, "6"),
        (RunsWanted { listed: RunScope::Acted, ..RunsWanted::default() }, "5 4 3 2 1"),
        (RunsWanted { listed: RunScope::Acted, limit: Some(2), ..all.clone() }, "5 4"),
        (RunsWanted { listed: RunScope::Unfinished, ..RunsWanted::default() }, "2 1"),
    ] {
        let found = runs::list_runs(&memory, &wanted, &|_| true).unwrap();
        let found: Vec<String> = found.iter().map(|run| (run.started.0 / 1000).to_string()).collect();
        assert_eq!(found.join(" "), expected, "{wanted:?}");
    }
    memory.execute("UPDATE runs SET input_tokens = 0, nanos = 0", []).unwrap();
    let found = runs::list_runs(&memory, &all, &|_| true).unwrap();
    let known: Vec<bool> = found.iter().map(|run| run.cost.is_some() && run.input_tokens.is_some()).collect();
    assert_eq!(known, [true, true, true, false, false], "an open attempt is no zero");
    let states: Vec<RunState> =
        runs::list_runs(&memory, &all, &|_| true).unwrap().iter().rev().map(|run| run.state).collect();
    let ended = |outcome| RunState::Ended(outcome);
    let expected = [
        RunState::Running,
        RunState::Interrupted,
        ended(RunOutcome::Answered),
        ended(RunOutcome::FellBack),
        ended(RunOutcome::Refused),
    ];
    assert_eq!(states, expected);
}

#[test]
fn runs_are_named_by_their_beginning_or_by_how_long_ago() {
    let memory = memory(ROWS);
    for (id, expected) in [
        ("last", "0000000100000005"),
        ("last~0", "0000000100000005"),
        ("last~4", "0000000000000001"),
        ("0000000100000003", "0000000100000003"),
        ("00000002", "0000000200000006"),
        ("last~5", "there is no `last~5`, because there are fewer runs of this project"),
        ("last~x", "`last~x` is not a run; write the beginning of an id, `last`, or `last~1`"),
        ("", "`` is not a run; write the beginning of an id, `last`, or `last~1`"),
        ("%", "`%` is not a run; write the beginning of an id, `last`, or `last~1`"),
        ("\u{1b}[2J", r"`\u{1b}[2J` is not a run; write the beginning of an id, `last`, or `last~1`"),
        ("ff", "no run id begins with `ff`"),
        ("00000000", "several run ids begin with `00000000`: `0000000000000001`, `0000000000000002`; give more digits"),
        (
            "0",
            "several run ids begin with `0`: `0000000000000001`, `0000000000000002`, `0000000100000003`, \
             `0000000100000004`, `0000000100000005` and others; give more digits",
        ),
    ] {
        let found = match runs::find_run_id(&memory, Some(&project()), RunScope::Any, id) {
            Ok(id) => id.0,
            Err(ReadFault::Missing(absence)) => absence.what,
            Err(other) => format!("{other:?}"),
        };
        assert_eq!(found, expected, "{id}");
    }
}

#[test]
fn how_long_ago_counts_as_the_list_does() {
    let memory = memory(ROWS);
    let (own, other) = (project(), Project("/nobody".to_owned()));
    for (project, listed, id, expected) in [
        (None, RunScope::Any, "last", "0000000200000006"),
        (None, RunScope::Acted, "last", "0000000100000005"),
        (None, RunScope::Acted, "last~1", "0000000100000004"),
        (Some(&own), RunScope::Acted, "last", "0000000100000005"),
        (Some(&other), RunScope::Any, "last", "no run of this project is recorded"),
        (Some(&other), RunScope::Acted, "last", "no run of this project asked a model"),
        (None, RunScope::Acted, "last~9", "there is no `last~9`, because there are fewer runs"),
    ] {
        let found = match runs::find_run_id(&memory, project, listed, id) {
            Ok(id) => id.0,
            Err(ReadFault::Missing(absence)) => absence.what,
            Err(other) => format!("{other:?}"),
        };
        assert_eq!(found, expected, "{id}");
    }
}

#[test]
fn a_run_is_read_whole() {
    let memory = memory(ROWS);
    let run = detail::read_run_detail(&memory, &third(), &|epoch| epoch == "alive").unwrap();
    let [call] = run.calls.as_slice() else { panic!("{:?}", run.calls) };
    assert_eq!((call.state, call.tokens, call.monolithic_tokens), (CallState::Answered, 100, Some(400)));
    let [first, second] = call.attempts.as_slice() else { panic!("{:?}", call.attempts) };
    assert_eq!(first.booked.map(|nanos| nanos.0), Some(260), "the last correction counts");
    assert_eq!(first.usage.as_ref().and_then(|usage| usage.cache_read), Some(60));
    assert_eq!((second.booked, second.most, second.status), (None, None, None), "unknown is no zero");
    assert_eq!(run.approvals.first().and_then(|approval| approval.answer), Some(1));
    assert_eq!((run.feedback.len(), run.resumable, run.steps.len()), (1, false, 0));
}

#[test]
fn what_is_under_way_is_unknown_when_its_process_is_gone() {
    let memory = memory(ROWS);
    for (id, expected) in [
        ("0000000000000001", CallState::Pending),
        ("0000000000000002", CallState::Unknown),
        ("0000000100000003", CallState::Answered),
        ("0000000100000005", CallState::Failed),
        ("0000000200000006", CallState::Failed),
    ] {
        let run = detail::read_run_detail(&memory, &RunId(id.to_owned()), &|epoch| epoch == "alive").unwrap();
        assert_eq!(run.calls.first().map(|call| call.state), Some(expected), "{id}");
    }
}

#[test]
fn the_run_before_is_one_that_called() {
    let memory = memory(ROWS);
    for (id, expected) in [
        ("0000000100000005", Some("0000000100000003")),
        ("0000000100000004", None),
        ("0000000000000001", None),
        ("0000000200000006", None),
    ] {
        let found = runs::run_before(&memory, &RunId(id.to_owned())).unwrap();
        assert_eq!(found.as_ref().map(|id| id.0.as_str()), expected, "{id}");
    }
}

#[test]
fn what_was_cleared_counts_no_more() {
    let memory = memory(ROWS);
    let failures = learning::failures(&memory, &project(), Some("reviews/triage")).unwrap();
    let seen: Vec<(i64, bool)> = failures.iter().map(|row| (row.recorded.at.0, row.cleared.is_some())).collect();
    assert_eq!(seen, [(5000, false), (4000, true)]);
    assert!(learning::failures(&memory, &project(), Some("other")).unwrap().is_empty());
    let history = learning::read_history(&memory, &project(), "reviews/triage", Time(3000)).unwrap();
    let seen: Vec<(i64, bool)> = history.iter().map(|recorded| (recorded.at.0, recorded.issue.is_none())).collect();
    assert_eq!(seen, [(3000, true), (5000, false)]);
}

#[test]
fn spending_and_caps_add_up() {
    let memory = memory(ROWS);
    let wanted = CostsWanted { project: Some(project()), since: Some("2025-11-01".to_owned()) };
    let found = costs::read_costs(&memory, &wanted).unwrap();
    let lines: Vec<(&str, u64, u64)> =
        found.lines.iter().map(|line| (line.day.as_str(), line.cost.0, line.unpriced)).collect();
    assert_eq!(lines, [("2025-11-01", 40, 0), ("2025-11-22", 260, 1)]);
    assert_eq!((found.open, found.reserved.0), (2, 1000));
    // 1763800000000 is 2025-11-22T08:26:40Z, which a clock that runs behind does not change.
    for (scope, period, unit, settled, open) in [
        (CapScope::Project, CapPeriod::Day, CapUnit::NanoDollars, 260, 1000),
        (CapScope::Project, CapPeriod::Month, CapUnit::NanoDollars, 300, 1000),
        (CapScope::User, CapPeriod::Day, CapUnit::NanoDollars, 265, 1000),
        (CapScope::User, CapPeriod::Month, CapUnit::Tokens, 186, 140),
        (CapScope::Project, CapPeriod::Run, CapUnit::Tokens, 0, 0),
        (CapScope::Agent, CapPeriod::Day, CapUnit::NanoDollars, 0, 0),
    ] {
        let cap = Cap { scope, period, unit, most: 1 };
        let zone = jiff::tz::TimeZone::UTC;
        let whose = costs::Spender { project: project(), agent: None };
        let found = costs::against(&memory, &whose, &[cap], &costs::Clock { now: Time(0), zone: &zone }).unwrap();
        assert_eq!(found.first().map(|now| now.spent), Some(CapBalance { settled, open }), "{cap:?}");
    }
}

#[test]
fn spending_is_told_apart_by_endpoint_where_that_is_known() {
    let memory = memory(ROWS);
    let found = costs::read_costs(&memory, &CostsWanted::default()).unwrap();
    let line =
        |line: &costs::SpendLine| format!("{}@{} {}", line.model, line.endpoint.as_deref().unwrap_or("?"), line.cost.0);
    assert_eq!(found.lines.iter().map(line).collect::<Vec<_>>(), ["m@e 1000", "m@? 40", "m@e 260", "m@f 5"]);
}

#[test]
fn estimates_are_of_first_attempts_that_were_answered() {
    let memory = memory(ROWS);
    let found = costs::estimates(&memory).unwrap();
    let seen: Vec<(u64, u64, u64)> = found.iter().map(|one| (one.calls, one.counted, one.reported)).collect();
    assert_eq!(seen, [(1, 100, 80)]);
}

#[test]
fn every_figure_says_how_many_it_is_of() {
    let memory = memory(ROWS);
    let wanted = StatisticsWanted { project: Some(project()), since: None, agent: None };
    let found = statistics::statistics(&memory, &wanted).unwrap();
    let summary = |value, n| CountedFigure { value: Some(value), n };
    let all = &found.all;
    assert_eq!((all.runs, all.calls), (5, 3));
    assert_eq!(all.input_tokens, summary(80.0, 1));
    assert_eq!(all.cache_hit_rate, summary(0.75, 1));
    assert_eq!(all.success_rate, summary(1.0, 1));
    assert_eq!(all.repairs, summary(2.0, 1));
    assert_eq!(all.fallback_rate, summary(1.0 / 3.0, 3));
    assert_eq!((all.latency_p50_ms, all.latency_p95_ms), (summary(120.0, 1), summary(120.0, 1)));
    assert_eq!(all.assembly_p50_ms, summary(1.5, 1));
    assert_eq!(all.saved_rate, summary(0.75, 1));
    assert_eq!(all.embedding_calls, CountedFigure::default(), "nobody said");
    assert_eq!(all.threat_rate, summary(0.25, 4));
    assert_eq!(all.cost, summary(0.000_000_26, 1), "what has no price is not in it");
    assert_eq!(all.approval_rate, summary(1.0, 1));
    let names = |groups: &[super::RunGroup]| groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found.prompts), ["reviews/strict@1.0.0", "reviews/triage@1.0.0"]);
    assert_eq!(
        (names(&found.tools), names(&found.roles)),
        (vec!["triage".to_owned()], vec!["large".into(), "small".into()])
    );
    assert_eq!(found.tools.first().map(|tool| (tool.runs, tool.calls)), Some((5, 3)));
    assert_eq!(found.days, [("2025-11-22".to_owned(), 3)]);
}

#[test]
fn an_answer_took_its_time_whether_it_said_what_it_used_or_not() {
    let memory = memory(ROWS);
    memory.script("UPDATE attempts SET state = 'unknown' WHERE id = 3").unwrap();
    let found = statistics::statistics(&memory, &StatisticsWanted::default()).unwrap();
    assert_eq!(found.all.latency_p50_ms, CountedFigure { value: Some(120.0), n: 1 });
}

#[test]
fn sums_that_can_not_be_are_refused() {
    for (numbers, expected) in [
        (r#"{"filtered":-3}"#, "Odd(\"`filtered` adds up to -2\")"),
        (r#"{"assembledUs":-1}"#, "Odd(\"`assembled` holds other JSON than it should"),
        ("{", "malformed JSON"),
    ] {
        let memory = memory(ROWS);
        let update = "UPDATE runs SET numbers = ? WHERE started = 5000";
        memory.execute(update, [numbers]).unwrap();
        let fault = statistics::statistics(&memory, &StatisticsWanted::default()).unwrap_err();
        assert!(format!("{fault:?}").contains(expected), "{numbers}: {fault:?}");
    }
}

/// A second call of the third run, with a prompt and a version of its own.
const SECOND: &str = r#"
INSERT INTO assemblies SELECT id, 1, project, actor, started, '[]', 30, 10, 60, 'c', '{}', 'r' FROM runs WHERE started = 3000;
INSERT INTO calls (run, effect, project, actor, at, agent, prompt, version, closure, model, endpoint, tool, body, pieces,
    state, problems, repairs)
    SELECT id, 1, project, actor, started, agent, 'summary', '2.0.0', 'd', 'm', 'e', 'summary', 'b', '{}', 'answered',
    '[{}]', '["a"]' FROM runs WHERE started = 3000;
INSERT INTO attempts SELECT 10, id, 1, 0, project, actor, epoch, started, '2025-11-22', 500, 70, 'reported'
    FROM runs WHERE started = 3000;
INSERT INTO usage VALUES (10, '/p', 'x', 3001, 200, NULL, 10, 700, 0, 30, 0, 0, 5, '{"input":30,"cacheRead":0,"cacheWrites":[],"output":5}', 900, 35);
"#;

#[test]
fn calls_count_by_their_own_prompt_and_runs_by_theirs() {
    let memory = memory(ROWS);
    memory.script(SECOND).unwrap();
    let run = detail::read_run_detail(&memory, &third(), &|_| false).unwrap();
    let named = |call: &super::CallRow| format!("{}@{}", call.prompt.name, call.prompt.version);
    assert_eq!(run.calls.iter().map(named).collect::<Vec<_>>(), ["triage@1.0.0", "summary@2.0.0"]);
    let wanted = StatisticsWanted { project: Some(project()), since: None, agent: None };
    let found = statistics::statistics(&memory, &wanted).unwrap();
    let of = |name: &str| found.prompts.iter().find(|group| group.name == name).unwrap();
    let summary = |value, n| CountedFigure { value: Some(value), n };
    let (first, second) = (of("reviews/triage@1.0.0"), of("reviews/summary@2.0.0"));
    assert_eq!((first.runs, first.calls, second.runs, second.calls), (4, 3, 0, 1));
    assert_eq!((first.input_tokens, second.input_tokens), (summary(80.0, 1), summary(30.0, 1)));
    assert_eq!((first.cache_hit_rate, second.cache_hit_rate), (summary(0.75, 1), summary(0.0, 1)));
    assert_eq!((first.schema_failures, second.schema_failures), (summary(0.0, 1), summary(1.0, 1)));
    assert_eq!((first.repairs, second.repairs), (summary(2.0, 1), summary(1.0, 1)));
    assert_eq!((first.latency_p95_ms, second.latency_p95_ms), (summary(120.0, 1), summary(700.0, 1)));
    assert_eq!((first.saved_rate, second.saved_rate), (summary(0.75, 1), summary(0.5, 1)));
    assert_eq!((first.cost, second.cost), (summary(0.000_000_26, 1), summary(0.000_000_9, 1)));
    assert_eq!((first.approval_rate, second.approval_rate), (summary(1.0, 1), CountedFigure::default()));
    assert_eq!((first.fallback_rate, second.fallback_rate), (summary(0.0, 2), CountedFigure::default()));
    assert_eq!((first.assembly_p50_ms, second.assembly_p50_ms), (summary(1.5, 1), CountedFigure::default()));
    // A person's feedback on a run counts for each tool that it called.
    let said: Vec<_> = found.tools.iter().map(|tool| (tool.name.as_str(), tool.approval_rate)).collect();
    assert_eq!(said, [("summary", summary(1.0, 1)), ("triage", summary(1.0, 1))]);
    // The sums over prompts are those over all.
    assert_eq!((found.all.runs, found.all.calls), (5, 4));
    assert_eq!((found.all.input_tokens, found.all.latency_p95_ms), (summary(110.0, 2), summary(700.0, 2)));
}

/// A hundred thousand runs of ten projects.
const MANY: &str = "
INSERT INTO epochs VALUES ('gone', '/p0', 'x', 1, 2, 'dead');
INSERT INTO runs (id, project, actor, epoch, kind, agent, prompt, version, closure, role, model, endpoint, started,
    state, outcome, files, inputs, settings, profile, replayable, numbers)
SELECT printf('%016x', n), '/p' || (n % 10), 'x', 'gone', 'prompt', 'reviews', 'triage' || (n % 1000 = 7), '1.0.0', 'c',
    'small', 'm', 'e', n, 'ended', iif(n % 5000 = 7, 'failed', 'answered'), printf('{\"f\":\"%.600c\"}', 'f'), 'i', '{}',
    'null', 'yes', '{}'
FROM (WITH RECURSIVE k (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < 100000) SELECT n FROM k);
ANALYZE;
";

/// The steps of SQLite's plan for a query, joined.
fn plan(memory: &Tables, listing: runs::Listing) -> String {
    let plan = format!("EXPLAIN QUERY PLAN {}", listing.sql);
    memory.rows(&plan, listing.values, |row| row.get::<_, String>("detail")).unwrap().join("\n")
}

#[test]
fn lists_of_a_hundred_thousand_runs_stay_in_an_index() {
    let memory = memory(MANY);
    let seventh = RunsWanted { project: Some(Project("/p7".to_owned())), limit: Some(20), ..RunsWanted::default() };
    for (wanted, expected) in [
        (seventh.clone(), 20),
        (RunsWanted { since: Some(Time(99_990)), ..seventh.clone() }, 1),
        (RunsWanted { prompt: Some("reviews/triage1".to_owned()), ..seventh.clone() }, 20),
        (RunsWanted { outcome: Some(RunOutcome::Failed), ..seventh.clone() }, 20),
        (RunsWanted { outcome: Some(RunOutcome::FellBack), ..seventh.clone() }, 0),
        (RunsWanted { outcome: Some(RunOutcome::Failed), project: None, ..seventh.clone() }, 20),
        (RunsWanted { project: None, ..seventh.clone() }, 20),
        (RunsWanted { listed: RunScope::Acted, ..seventh.clone() }, 20),
        (RunsWanted { listed: RunScope::Acted, project: None, ..seventh.clone() }, 20),
        (RunsWanted { listed: RunScope::Unfinished, ..seventh.clone() }, 0),
    ] {
        let plan = plan(&memory, runs::run_listing(&wanted, runs::ListingOrder::NewestFirst));
        let inner = plan
            .lines()
            .find(|line| line.ends_with("runs") || line.contains(" runs USING") || line.contains("SCAN runs"));
        let inner = inner.unwrap_or_default();
        let narrow = wanted.project.is_some() || wanted.outcome.is_some();
        assert!(!narrow || inner.contains("USING COVERING INDEX runs_by_project"), "{wanted:?}\n{plan}");
        assert_eq!(runs::list_runs(&memory, &wanted, &|_| true).unwrap().len(), expected, "{wanted:?}\n{plan}");
    }
}
