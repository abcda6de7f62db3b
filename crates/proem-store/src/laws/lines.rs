//! Laws about the lines themselves.

use std::collections::BTreeSet;

use proem_engine::profile::{Completeness, Issue, Quality};
use proem_engine::run::Time;

use super::samples::{Backend, LawSamples, query_number};
use crate::query::{RunPosition, RunsWanted};
use crate::record::{AttemptUsage, Evaluation, NewApproval, NewFeedback, RunFinish};
use crate::{Clearing, ClearingWay, Correction, Purge, Store};

/// Events are only added, one at least with everything that is written. Usage is never changed.
///
/// # Panics
///
/// If not.
pub async fn events_are_only_added(backend: &impl Backend) {
    let store = backend.open().await;
    let mut before = query_number(backend, "SELECT count(*) FROM events").await;
    let mut grown = async |what: &str| {
        let after = query_number(backend, "SELECT count(*) FROM events").await;
        assert!(after > before, "no event for {what}");
        before = after;
    };
    let attempt = LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    grown("an intent").await;
    LawSamples.settled(&store, attempt, LawSamples.reported(7)).await;
    grown("a settlement").await;
    assert!(store.finish(LawSamples.finish(1, Quality::Low)).await.is_ok());
    grown("an end").await;
    assert!(store.feedback(LawSamples.feedback(1)).await.is_ok());
    grown("feedback").await;
    assert!(store.approve(vec![LawSamples.approval(1)]).await.is_ok());
    grown("an approval").await;
    for sql in ["UPDATE events SET what = 'nothing'", "DELETE FROM events", "UPDATE usage SET tokens = 0"] {
        assert!(backend.execute(sql).await.is_err(), "`{sql}` was done");
    }
    store.close().await;
}

/// An answer is kept with the hash of what was shown, and with what the person said to it.
///
/// # Panics
///
/// If it is not.
pub async fn an_answer_keeps_what_was_shown_and_said(backend: &impl Backend) {
    let store = backend.open().await;
    LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    let answered = LawSamples.approval(1);
    let nobody = NewApproval { answer: None, shown: None, words: None, ..answered.clone() };
    assert!(store.approve(vec![answered.clone(), nobody]).await.is_ok());
    let kept = store.run(&answered.run).await.map(|run| run.approvals);
    let kept = kept.unwrap_or_default().into_iter().map(|row| (row.answer, row.shown, row.words));
    let expected = [(answered.answer, answered.shown, answered.words), (None, None, None)];
    assert_eq!(kept.collect::<Vec<_>>(), expected);
    store.close().await;
}

/// Pages of runs with their calls are the list of runs from its end, with each run once, whatever their size.
///
/// # Panics
///
/// If a run is missing, is there twice or has the calls of another.
pub async fn pages_of_runs_miss_none(backend: &impl Backend) {
    let store = backend.open().await;
    for run in 1..=5 {
        LawSamples.whole(&store, run, Quality::Low).await;
    }
    let project = Some(LawSamples.project());
    for (limit, project) in [(Some(1), None), (Some(2), project.clone()), (Some(5), project), (None, None)] {
        let wanted = RunsWanted { limit, project, ..RunsWanted::default() };
        let (mut pages, mut behind) = (Vec::new(), Some(RunPosition::default()));
        while let Some(place) = behind {
            let page = store.run_calls(&wanted, place).await;
            assert!(page.is_ok(), "{page:?}");
            let Ok(page) = page else { break };
            let most = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
            assert!(page.runs.len() <= most, "{limit:?}");
            pages.extend(page.runs);
            behind = page.next;
        }
        let all = RunsWanted { limit: None, ..wanted };
        let mut listed = store.runs(&all).await.unwrap_or_default();
        listed.reverse();
        assert!(listed.len() >= 5 && pages.iter().map(|(row, _)| row).eq(&listed), "{limit:?}");
        for (row, calls) in pages {
            assert_eq!(store.run(&row.id).await.map(|run| run.calls).unwrap_or_default(), calls);
        }
    }
    store.close().await;
}

/// The traces of runs are what a look at each run shows, and what waits behind a place is counted once: as dropped, or as
/// waiting.
///
/// # Panics
///
/// If a part of a run is missing, or a count is wrong.
pub async fn traces_are_whole_and_a_backlog_is_counted(backend: &impl Backend) {
    let store = backend.open().await;
    for run in 1..=4 {
        LawSamples.whole(&store, run, Quality::Low).await;
    }
    let (project, wanted) = (LawSamples.project(), RunsWanted { limit: Some(3), ..RunsWanted::default() });
    let page = store.run_traces(&wanted, RunPosition::default()).await;
    assert!(page.is_ok(), "{page:?}");
    let Ok(page) = page else { return };
    assert_eq!((page.runs.len(), page.next), (3, Some(page.last)));
    let ids: Vec<_> = page.runs.iter().map(|trace| trace.row.id.clone()).collect();
    let again = store.run_traces_of(&ids).await;
    assert!(again.is_ok_and(|again| again == page.runs), "by their ids");
    for trace in &page.runs {
        let whole = store.run(&trace.row.id).await;
        assert!(whole.is_ok(), "{whole:?}");
        let Ok(whole) = whole else { return };
        assert_eq!((&whole.calls, &whole.tools, &trace.root), (&trace.calls, &trace.tools, &trace.row.id));
    }
    let started = page.runs.iter().map(|trace| trace.row.started).collect::<Vec<_>>();
    let second = started.get(1).copied().unwrap_or(Time(0));
    let first = u64::try_from(started.iter().filter(|time| **time < second).count()).unwrap_or(0);
    for (behind, oldest, most, expected) in [
        (RunPosition::default(), Time(i64::MIN), u64::MAX, (0, 4)),
        (RunPosition::default(), second, u64::MAX, (first, 4_u64.saturating_sub(first))),
        (RunPosition::default(), Time(i64::MIN), 1, (3, 1)),
        (RunPosition::default(), Time(i64::MAX), 2, (4, 0)),
        (page.last, Time(i64::MIN), 9, (0, 1)),
    ] {
        let found = store.run_backlog(&project, behind, oldest, most).await;
        assert!(found.is_ok(), "{found:?}");
        let Ok(found) = found else { return };
        assert_eq!((found.dropped, found.waiting), expected, "{behind:?} {oldest:?} {most}");
    }
    store.close().await;
}

/// Writes something into every table.
async fn fill_every_table(backend: &impl Backend) -> Store {
    let store = backend.open().await;
    LawSamples.whole(&store, 1, Quality::Low).await;
    let attempt = LawSamples.booked(&store, LawSamples.intent(2, 0, 40, &[])).await;
    LawSamples.settled(&store, attempt, AttemptUsage::Unknown).await;
    let correction = Correction {
        attempt,
        nanos: proem_engine::call::NanoDollars(3),
        why: "the invoice says so".to_owned(),
        actor: LawSamples.actor(),
        at: Time(5_000),
    };
    assert!(store.correct(correction).await.is_ok());
    assert!(store.feedback(LawSamples.feedback(1)).await.is_ok());
    assert!(store.approve(vec![LawSamples.approval(2)]).await.is_ok());
    store
}

/// Every line says in which project it was written and by whom.
///
/// # Panics
///
/// If not.
pub async fn every_line_has_project_and_actor(backend: &impl Backend) {
    let store = fill_every_table(backend).await;
    let tables = [
        "epochs",
        "runs",
        "steps",
        "snapshots",
        "assemblies",
        "calls",
        "attempts",
        "usage",
        "corrections",
        "outcomes",
        "failures",
        "feedback",
        "approvals",
        "events",
    ];
    for table in tables {
        let all = query_number(backend, &format!("SELECT count(*) FROM {table}")).await;
        let named = "project = '/home/ada/engine' AND actor = 'person:ada@terminal'";
        let with = query_number(backend, &format!("SELECT count(*) FROM {table} WHERE {named}")).await;
        assert!(all > 0, "{table} is empty");
        assert_eq!(with, all, "{table}");
    }
    assert_eq!(query_number(backend, "SELECT count(*) FROM spend WHERE project = '/home/ada/engine'").await, 1);
    store.close().await;
}

/// A purge takes a run with all that belongs to it, the contents that nothing else refers to, and
/// nothing more; what was spent stays.
///
/// # Panics
///
/// If not.
pub async fn a_purge_takes_what_belongs_to_its_runs(backend: &impl Backend) {
    let store = fill_every_table(backend).await;
    LawSamples.whole(&store, 3, Quality::High).await;
    LawSamples.booked(&store, LawSamples.intent(4, 0, 40, &[])).await;
    let spent = query_number(backend, "SELECT sum(tokens) FROM spend").await;
    let contents = query_number(backend, "SELECT count(*) FROM contents").await;
    let purge = |runs: &[u64]| Purge {
        project: Some(LawSamples.project()),
        before: None,
        runs: runs.iter().map(|run| LawSamples.id(*run)).collect(),
        actor: LawSamples.actor(),
        at: Time(6_000),
    };
    let purged = store.purge(purge(&[1])).await;
    // The inputs, the task, the report, two events, the answer and the value were its own.
    assert!(matches!(&purged, Ok(purged) if purged.runs == 1 && purged.contents == 7), "{purged:?}");
    assert_eq!(query_number(backend, "SELECT count(*) FROM contents").await, contents - 7);
    for table in ["steps", "assemblies", "calls", "attempts", "outcomes", "failures", "feedback", "events"] {
        let sql = format!("SELECT count(*) FROM {table} WHERE run = '0000000000000001'");
        assert_eq!(query_number(backend, &sql).await, 0, "{table}");
        let sql = format!("SELECT count(DISTINCT run) FROM {table}");
        let left = match table {
            "failures" | "feedback" => 0,
            "outcomes" => 1,
            _ => 3,
        };
        assert_eq!(query_number(backend, &sql).await, left, "{table}");
    }
    assert_eq!(query_number(backend, "SELECT count(*) FROM events WHERE what = 'purged'").await, 1);
    assert_eq!(query_number(backend, "SELECT sum(tokens) FROM spend").await, spent);
    assert!(backend.execute("DELETE FROM events").await.is_err(), "the door is closed again");
    // Runs in progress stay.
    let purged = store.purge(purge(&[])).await;
    assert!(matches!(&purged, Ok(purged) if purged.runs == 1), "{purged:?}");
    assert_eq!(query_number(backend, "SELECT count(*) FROM runs").await, 2);
    let unknown = store.purge(purge(&[9])).await;
    assert!(matches!(&unknown, Ok(purged) if purged.runs == 0 && purged.contents == 0), "{unknown:?}");
    store.close().await;
}

/// A run may have a result of each of its prompts, each written once; what a person says of one is beside what code
/// found, and the last word counts.
///
/// # Panics
///
/// If not.
pub async fn each_prompt_has_its_own_results(backend: &impl Backend) {
    let store = backend.open().await;
    let of = |agent: &str, quality| Evaluation {
        agent: agent.to_owned(),
        kind: "assessment".to_owned(),
        issue: Issue { quality, completeness: Completeness::Complete, risks: BTreeSet::new() },
    };
    let evaluations = vec![of("assess/change", Quality::Low), of("assess/sum", Quality::High)];
    LawSamples.booked(&store, LawSamples.intent(1, 0, 10, &[])).await;
    let finish = RunFinish { evaluations: evaluations.clone(), ..LawSamples.finish(1, Quality::High) };
    for _ in 0..2 {
        let ended = store.finish(finish.clone()).await;
        assert!(ended.is_ok(), "{ended:?}");
    }
    let results = async |agent: &str| {
        let history = store.history(&LawSamples.project(), agent, Time(0)).await;
        assert!(history.is_ok(), "{history:?}");
        let history = history.unwrap_or_default();
        assert!(history.iter().all(|one| one.run.as_deref() == Some(&LawSamples.id(1).0)), "{history:?}");
        history.iter().map(|one| (one.at.0, one.issue.is_none())).collect::<Vec<_>>()
    };
    assert_eq!(results("assess/change").await, [(3_000, false)]);
    assert_eq!(results("assess/sum").await, [(3_000, true)]);
    let failures = async || query_number(backend, "SELECT count(*) FROM failures").await;
    for (quality, at, known) in [(Quality::Low, 4_000, 2), (Quality::Low, 5_000, 2), (Quality::High, 6_000, 1)] {
        let said = Some(of("assess/change", quality));
        let written = store.feedback(NewFeedback { at: Time(at), evaluation: said, ..LawSamples.feedback(1) }).await;
        assert!(written.is_ok(), "{written:?}");
        assert_eq!(results("assess/change").await, [(3_000, false), (at, quality == Quality::High)]);
        assert_eq!(failures().await, known);
    }
    // Clearing takes what code found, and leaves what a person says.
    let clearing = Clearing {
        project: LawSamples.project(),
        agent: None,
        way: ClearingWay::Clear,
        actor: LawSamples.actor(),
        at: Time(7_000),
    };
    assert!(matches!(store.clear_failures(clearing).await, Ok(1)));
    assert_eq!(results("assess/change").await, [(6_000, true)]);
    store.close().await;
}

/// Failures that were cleared count again after the clearing is undone, and only those of the last.
///
/// # Panics
///
/// If not.
pub async fn clearing_and_its_undo(backend: &impl Backend) {
    let store = backend.open().await;
    let clearing = |way, agent: Option<&str>| Clearing {
        project: LawSamples.project(),
        agent: agent.map(str::to_owned),
        way,
        actor: LawSamples.actor(),
        at: Time(5_000),
    };
    let cleared = async || query_number(backend, "SELECT count(*) FROM failures WHERE cleared IS NOT NULL").await;
    LawSamples.whole(&store, 1, Quality::Low).await;
    assert!(matches!(store.clear_failures(clearing(ClearingWay::Clear, None)).await, Ok(1)));
    LawSamples.whole(&store, 2, Quality::Low).await;
    assert!(matches!(store.clear_failures(clearing(ClearingWay::Clear, Some("other"))).await, Ok(0)));
    assert!(matches!(store.clear_failures(clearing(ClearingWay::Clear, Some("assess/change"))).await, Ok(1)));
    assert_eq!(cleared().await, 2);
    assert!(matches!(store.clear_failures(clearing(ClearingWay::Undo, None)).await, Ok(1)));
    assert_eq!(cleared().await, 1);
    assert!(matches!(store.clear_failures(clearing(ClearingWay::Undo, None)).await, Ok(1)));
    assert!(matches!(store.clear_failures(clearing(ClearingWay::Undo, None)).await, Ok(0)));
    assert_eq!(cleared().await, 0);
    LawSamples.whole(&store, 3, Quality::High).await;
    assert_eq!(query_number(backend, "SELECT count(*) FROM failures").await, 2, "a success is no failure");
    assert_eq!(query_number(backend, "SELECT count(*) FROM outcomes").await, 3);
    store.close().await;
}
