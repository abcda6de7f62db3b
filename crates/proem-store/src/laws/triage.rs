//! Laws about what triage keeps.

#![expect(clippy::panic, reason = "a law panics where it does not hold")]

use proem_engine::effect::key::SignalRevision;
use proem_engine::profile::Quality;
use proem_engine::run::Time;
use proem_guard::Verdict;
use serde_json::json;

use super::samples::{Backend, LawSamples, query_number};
use crate::record::{
    Actor, ActorKind, ArtefactEdit, CycleFinish, HandledSignal, HashedContent, NewArtefactVersion, NewQuarantine,
    NewSignal, NewTriageProject, Project, QuarantineId, QuarantineReview, QuarantineState, SignalIntake,
    SignalJudgement, SignalStanding,
};
use crate::{
    ActionPurge, ArtefactAnswer, CycleAnswer, Error, IntakeAnswer, JudgementAnswer, Purge, Store, SyncEnd,
    SyncProgress, TriagePurge,
};

/// Makes what is written in a law about triage.
#[derive(Debug, Clone, Copy)]
pub struct LawSignals;

impl LawSignals {
    /// A signal's id in a revision.
    #[must_use]
    pub fn id(self, signal: u8, revision: u8) -> SignalRevision {
        SignalRevision { id: format!("jira:{signal}"), revision: format!("r{revision}") }
    }

    /// Signal number `signal` with content number `revision`.
    #[must_use]
    pub fn signal(self, signal: u8, revision: u8) -> NewSignal {
        NewSignal {
            id: self.id(signal, revision),
            source: "jira".to_owned(),
            kind: "ticket-updated".to_owned(),
            time: Some(Time(i64::from(revision))),
            text: HashedContent::new(format!("words of signal {signal} in revision {revision}")),
            standing: SignalStanding::Open,
        }
    }

    /// Signals that come at a time.
    #[must_use]
    pub fn intake(self, at: i64, signals: &[(u8, u8)]) -> SignalIntake {
        SignalIntake {
            project: LawSamples.project(),
            actor: system_actor(),
            at: Time(at),
            signals: signals.iter().map(|(signal, revision)| self.signal(*signal, *revision)).collect(),
        }
    }

    /// The end of a cycle that makes a version of the RAID log from signals.
    #[must_use]
    pub fn finish(self, at: i64, version: u64, signals: &[(u8, u8)]) -> CycleFinish {
        let causes: Vec<SignalRevision> =
            signals.iter().map(|(signal, revision)| self.id(*signal, *revision)).collect();
        CycleFinish {
            project: LawSamples.project(),
            actor: system_actor(),
            began: Time(at),
            at: Time(at),
            artefacts: vec![self.version(version, &causes)],
            handled: causes
                .iter()
                .map(|id| HandledSignal { id: id.clone(), outcome: json!({ "importance": "low" }) })
                .collect(),
            counts: json!({ "signals": causes.len() }),
        }
    }

    /// A version of the RAID log.
    #[must_use]
    pub fn version(self, version: u64, causes: &[SignalRevision]) -> NewArtefactVersion {
        NewArtefactVersion {
            kind: "raid_log".to_owned(),
            version,
            content: HashedContent::new(format!("the log in version {version}")),
            entry: HashedContent::new(format!("what version {version} changed")),
            causes: causes.to_vec(),
        }
    }
}

fn system_actor() -> Actor {
    Actor { kind: ActorKind::System, ..LawSamples.actor() }
}

async fn take_in(store: &Store, intake: SignalIntake) -> Vec<IntakeAnswer> {
    match store.take_signals(intake).await {
        Ok(answers) => answers,
        Err(error) => panic!("{error}"),
    }
}

async fn end_cycle(store: &Store, finish: CycleFinish) -> CycleAnswer {
    match store.finish_cycle(finish).await {
        Ok(answer) => answer,
        Err(error) => panic!("{error}"),
    }
}

async fn open_ids(store: &Store) -> Vec<SignalRevision> {
    let open = store.open_signals(&LawSamples.project(), 100).await.unwrap_or_default();
    open.into_iter().map(|signal| signal.id).collect()
}

/// A signal in one revision is there once, whoever takes it in how often. Another revision is another.
///
/// # Panics
///
/// If not.
pub async fn a_signal_is_taken_in_once(backend: &impl Backend) {
    let stores = [backend.open().await, backend.open().await];
    let all = [(1, 1), (2, 1), (1, 2), (1, 1)];
    let answers = take_in(&stores[0], LawSignals.intake(1, &all)).await;
    assert_eq!(answers, [IntakeAnswer::New, IntakeAnswer::New, IntakeAnswer::Revised, IntakeAnswer::Same]);
    let again = take_in(&stores[1], LawSignals.intake(2, &all)).await;
    assert_eq!(again, [IntakeAnswer::Same; 4]);
    let (one, two) = futures_pair(
        take_in(&stores[0], LawSignals.intake(3, &[(3, 1)])),
        take_in(&stores[1], LawSignals.intake(3, &[(3, 1)])),
    )
    .await;
    let new = [one, two].concat().into_iter().filter(|answer| *answer == IntakeAnswer::New).count();
    assert_eq!(new, 1, "of two that take it in at once, one does");
    let ids = [(1, 1), (2, 1), (1, 2), (3, 1)].map(|(signal, revision)| LawSignals.id(signal, revision));
    assert_eq!(open_ids(&stores[0]).await, ids, "in the order in which they came");
    let project = LawSamples.project();
    let text = async |signal, revision| {
        let row = stores[1].signal(&project, &LawSignals.id(signal, revision)).await;
        row.ok().flatten().and_then(|row| row.text)
    };
    assert_eq!(text(1, 2).await.as_deref(), Some("words of signal 1 in revision 2"), "each revision has its own");
    assert_eq!(text(1, 3).await, None, "nobody took it in");
    let mut handled = LawSignals.intake(4, &[(4, 1), (5, 1)]);
    handled.signals.iter_mut().skip(1).for_each(|signal| signal.standing = SignalStanding::Handled);
    let refused = stores[0].take_signals(handled).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert_eq!(open_ids(&stores[0]).await, ids, "all of an intake, or nothing");
    let named = [(3, 1), (9, 1), (1, 2)].map(|(signal, revision)| LawSignals.id(signal, revision));
    let found = stores[0].signals_named(&LawSamples.project(), &named).await.unwrap_or_default();
    let found: Vec<_> = found.into_iter().map(|row| row.id).collect();
    assert_eq!(found, [LawSignals.id(1, 2), LawSignals.id(3, 1)], "in this revision alone");
    for store in stores {
        store.close().await;
    }
}

/// Signals that wait for the writer at the same time are answered and kept as if each had come alone, and one that is
/// refused takes none along.
///
/// # Panics
///
/// If not.
pub async fn signals_that_come_together_are_as_if_each_came_alone(backend: &impl Backend) {
    let store = backend.open().await;
    let other_project = Project("elsewhere".to_owned());
    let signals: Vec<(u8, u8)> = (0..90).map(|number| (number % 40, number / 80)).collect();
    let intakes = signals.iter().flat_map(|signal| {
        let own = LawSignals.intake(1, &[*signal]);
        [own.clone(), SignalIntake { project: other_project.clone(), ..own }]
    });
    let answers = futures_util::future::join_all(intakes.map(|intake| take_in(&store, intake))).await;
    let count = |wanted| answers.iter().filter(|answers| answers.as_slice() == [wanted]).count();
    let counts = [IntakeAnswer::New, IntakeAnswer::Revised, IntakeAnswer::Same].map(count);
    assert_eq!(counts, [80, 20, 80], "in each project forty are new, ten came changed, and forty twice");
    let mut refused = LawSignals.intake(2, &[(51, 1)]);
    refused.signals.iter_mut().for_each(|signal| signal.standing = SignalStanding::Handled);
    let around = [LawSignals.intake(2, &[(0, 0)]), refused, LawSignals.intake(2, &[(0, 1)])];
    let answers = futures_util::future::join_all(around.map(|intake| store.take_signals(intake))).await;
    let [Ok(before), Err(Error::Conflict(_)), Ok(after)] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!([before, after], [&[IntakeAnswer::Same]; 2]);
    for project in [LawSamples.project(), other_project] {
        let kept = store.signals(&project, 0, 100).await.unwrap_or_default();
        assert_eq!(kept.len(), 50, "{project:?}");
        assert!(kept.iter().all(|signal| signal.text.is_some()), "each has its words");
        let work = store.work(Some(&project)).await.unwrap_or_default();
        assert_eq!(work.len(), 1, "a cycle of {project:?} is wanted");
    }
    store.close().await;
}

async fn futures_pair<A>(one: impl Future<Output = A>, two: impl Future<Output = A>) -> (A, A) {
    tokio::join!(one, two)
}

/// Of two cycles that read the same, one ends. Of the other nothing is written. So it is with persons who edit.
///
/// # Panics
///
/// If not.
pub async fn a_cycle_ends_whole_or_not_at_all(backend: &impl Backend) {
    let stores = [backend.open().await, backend.open().await];
    take_in(&stores[0], LawSignals.intake(1, &[(1, 1), (2, 1)])).await;
    let (one, two) = futures_pair(
        end_cycle(&stores[0], LawSignals.finish(2, 1, &[(1, 1)])),
        end_cycle(&stores[1], LawSignals.finish(2, 1, &[(1, 1)])),
    )
    .await;
    let mut ends = [one, two];
    ends.sort_by_key(|end| *end == CycleAnswer::Overtaken);
    assert_eq!(ends, [CycleAnswer::Written { cycle: 1 }, CycleAnswer::Overtaken]);
    let project = LawSamples.project();

    // A version that is not the next one, or a signal that another cycle handled, takes everything along.
    let stale = end_cycle(&stores[1], LawSignals.finish(3, 1, &[(2, 1)])).await;
    let twice = end_cycle(&stores[1], LawSignals.finish(3, 2, &[(2, 1), (1, 1)])).await;
    assert_eq!([stale, twice], [CycleAnswer::Overtaken; 2]);
    assert_eq!(open_ids(&stores[0]).await, [LawSignals.id(2, 1)]);
    assert_eq!(query_number(backend, "SELECT count(*) FROM triage_cycles").await, 1);

    let edit = |version, actor| ArtefactEdit {
        project: project.clone(),
        actor,
        at: Time(4),
        version: LawSignals.version(version, &[]),
    };
    let by_system = stores[0].edit_artefact(edit(2, system_actor())).await;
    assert!(matches!(by_system, Err(Error::Conflict(_))), "{by_system:?}");
    let moved = stores[0].edit_artefact(edit(1, LawSamples.actor())).await;
    assert!(matches!(moved, Ok(ArtefactAnswer::Moved { newest: 1 })), "{moved:?}");
    let made = stores[0].edit_artefact(edit(2, LawSamples.actor())).await;
    assert!(matches!(made, Ok(ArtefactAnswer::Written)), "{made:?}");
    assert_eq!(end_cycle(&stores[1], LawSignals.finish(5, 3, &[(2, 1)])).await, CycleAnswer::Written { cycle: 2 });

    let versions = stores[0].artefact_versions(&project, "raid_log", 10).await.unwrap_or_default();
    let versions: Vec<_> = versions.iter().map(|row| (row.version, row.causes.len(), row.content.is_some())).collect();
    assert_eq!(versions, [(3, 1, true), (2, 0, true), (1, 1, true)]);
    let first = stores[0].artefact(&project, "raid_log", Some(1)).await;
    assert!(matches!(&first, Ok(Some(row)) if row.content.as_deref() == Some("the log in version 1")), "{first:?}");
    let newest = stores[0].artefact(&project, "raid_log", None).await;
    assert!(matches!(&newest, Ok(Some(row)) if row.version == 3), "{newest:?}");
    let none = stores[0].artefact(&project, "decision_log", None).await;
    assert!(matches!(none, Ok(None)), "{none:?}");
    let handled = stores[0].signals(&project, 0, 1).await.unwrap_or_default();
    let handled: Vec<_> = handled.iter().map(|row| (row.standing, row.cycle, row.outcome.clone())).collect();
    assert_eq!(handled, [(SignalStanding::Handled, Some(1), json!({ "importance": "low" }))]);
    let cycles = stores[1].cycles(&project, 10).await.unwrap_or_default();
    assert_eq!(cycles.iter().map(|row| row.cycle).collect::<Vec<_>>(), [2, 1]);
    for store in stores {
        store.close().await;
    }
}

/// The versions of one artefact in one cycle follow each other: a chain is written whole, and one with a gap or a
/// repetition not at all.
///
/// # Panics
///
/// If not.
pub async fn a_cycle_may_write_a_chain_of_versions(backend: &impl Backend) {
    let store = backend.open().await;
    take_in(&store, LawSignals.intake(1, &[(1, 1), (2, 1)])).await;
    let chain = |versions: &[u64]| CycleFinish {
        artefacts: versions.iter().map(|version| LawSignals.version(*version, &[LawSignals.id(1, 1)])).collect(),
        ..LawSignals.finish(2, 1, &[(1, 1)])
    };
    for broken in [&[1, 1][..], &[1, 3], &[2, 3], &[1, 2, 2]] {
        assert_eq!(end_cycle(&store, chain(broken)).await, CycleAnswer::Overtaken, "{broken:?}");
    }
    assert_eq!(query_number(backend, "SELECT count(*) FROM artefact_versions").await, 0);
    assert_eq!(end_cycle(&store, chain(&[1, 2, 3])).await, CycleAnswer::Written { cycle: 1 });
    let newest = store.artefact(&LawSamples.project(), "raid_log", None).await;
    assert!(matches!(&newest, Ok(Some(row)) if row.version == 3), "{newest:?}");
    store.close().await;
}

/// A purge of triage takes texts and leaves ids; what is open, what something open is on and the newest versions stay.
/// Purges of runs and of actions take nothing of it.
///
/// # Panics
///
/// If not.
pub async fn a_purge_of_triage_leaves_what_is_open(backend: &impl Backend) {
    let store = backend.open().await;
    let project = LawSamples.project();
    let ids = [(1, 1), (2, 1), (3, 1), (4, 1)];
    take_in(&store, LawSignals.intake(1, &ids)).await;
    let quarantine =
        QuarantineId { signal: "jira:2".to_owned(), revision: "r1".to_owned(), field: "summary".to_owned() };
    let kept_out = NewQuarantine {
        id: quarantine.clone(),
        project: project.clone(),
        actor: system_actor(),
        at: Time(1),
        text: HashedContent::new("kept out"),
        findings: json!([]),
        verdict: Verdict::Quarantine,
        sender: "mallory".to_owned(),
    };
    assert!(store.quarantine(kept_out).await.is_ok());
    end_cycle(&store, LawSignals.finish(2, 1, &[(1, 1), (2, 1)])).await;
    end_cycle(&store, LawSignals.finish(3, 2, &[(3, 1)])).await;
    LawSamples.whole(&store, 1, Quality::High).await;
    let runs = Purge { project: None, before: None, runs: Vec::new(), actor: LawSamples.actor(), at: Time(4) };
    assert!(store.purge(runs).await.is_ok_and(|purged| purged.runs == 1));
    let actions = ActionPurge { project: None, before: Time(i64::MAX), actor: LawSamples.actor(), at: Time(5) };
    assert!(store.purge_actions(actions).await.is_ok_and(|purged| purged.is_nothing()));
    let texts = "SELECT count(*) FROM signals s JOIN contents c ON c.hash = s.text";
    let versions = "SELECT count(*) FROM artefact_versions v JOIN contents c ON c.hash IN (v.content, v.entry)";
    assert_eq!((query_number(backend, texts).await, query_number(backend, versions).await), (4, 4), "other purges");

    let purge = |at: i64| TriagePurge {
        project: project.clone(),
        before: Time(1_000),
        keep: vec![LawSignals.id(3, 1)],
        actor: LawSamples.actor(),
        at: Time(at),
    };
    let Ok(purged) = store.purge_triage(purge(6)).await else { panic!("a purge of triage") };
    // The first is purged. The second waits in quarantine, the third is kept, the fourth is open.
    assert_eq!((purged.signals, purged.versions, purged.cycles), (1, 1, 1));
    assert_eq!((query_number(backend, texts).await, query_number(backend, versions).await), (3, 2));
    let gone = "SELECT count(*) FROM contents WHERE CAST(bytes AS TEXT) LIKE '%signal 1 in%' \
                OR CAST(bytes AS TEXT) LIKE '%version 1%'";
    assert_eq!(query_number(backend, gone).await, 0);
    assert_eq!(take_in(&store, LawSignals.intake(7, &ids)).await, [IntakeAnswer::Same; 4], "nothing is taken in twice");
    let reviewed = QuarantineReview {
        id: quarantine,
        project: project.clone(),
        actor: LawSamples.actor(),
        at: Time(8),
        state: QuarantineState::Dismissed,
    };
    assert!(store.review_quarantine(reviewed).await.is_ok());
    assert!(store.purge_triage(purge(9)).await.is_ok_and(|purged| purged.signals == 1), "once it was looked at");
    assert!(store.purge_triage(purge(10)).await.is_ok_and(|purged| purged.is_nothing()));
    assert_eq!(end_cycle(&store, LawSignals.finish(11, 3, &[(4, 1)])).await, CycleAnswer::Written { cycle: 3 });
    store.close().await;
}

/// Everything that triage keeps says of which project it is and who wrote it.
///
/// # Panics
///
/// If not.
pub async fn every_line_of_triage_has_project_and_actor(backend: &impl Backend) {
    let store = backend.open().await;
    for name in ["Apollo", "Apollo 2"] {
        let project = NewTriageProject {
            project: LawSamples.project(),
            id: "5f0c".to_owned(),
            name: name.to_owned(),
            actor: system_actor(),
            at: Time(1),
        };
        assert!(store.register_triage_project(project).await.is_ok());
    }
    take_in(&store, LawSignals.intake(2, &[(1, 1)])).await;
    end_cycle(&store, LawSignals.finish(3, 1, &[(1, 1)])).await;
    for table in ["triage_projects", "signals", "artefact_versions", "triage_cycles"] {
        let sql = format!("SELECT count(*) FROM {table} WHERE project = '/home/ada/engine' AND actor LIKE 'system:%'");
        assert_eq!(query_number(backend, &sql).await, 1, "{table}");
    }
    store.close().await;
}

/// A person's judgement opens a signal again, the last one counts beside what rules said first, and a purge takes its words.
///
/// # Panics
///
/// If not.
pub async fn a_judgement_opens_its_signal(backend: &impl Backend) {
    let store = backend.open().await;
    take_in(&store, LawSignals.intake(1, &[(1, 1), (2, 1)])).await;
    end_cycle(&store, LawSignals.finish(2, 1, &[(1, 1), (2, 1)])).await;
    let judgement = |signal: u8, importance: &'static str, before: &'static str| SignalJudgement {
        project: LawSamples.project(),
        actor: LawSamples.actor(),
        at: Time(3),
        id: LawSignals.id(signal, 1),
        importance,
        before,
        category: "administrative",
        sender: "sam@corp.example".to_owned(),
        note: Some("the board asked".to_owned()),
    };
    let nobody = SignalJudgement { actor: system_actor(), ..judgement(1, "high", "low") };
    assert!(matches!(store.judge_signal(nobody).await, Err(Error::Conflict(_))));
    assert_eq!(store.judge_signal(judgement(7, "high", "low")).await.ok(), Some(JudgementAnswer::Unknown));
    assert_eq!(open_ids(&store).await, []);
    assert_eq!(store.judge_signal(judgement(1, "medium", "low")).await.ok(), Some(JudgementAnswer::Open));
    assert_eq!(store.judge_signal(judgement(1, "high", "medium")).await.ok(), Some(JudgementAnswer::Open));
    assert_eq!(open_ids(&store).await, [LawSignals.id(1, 1)]);
    let rows = store.signal_judgements(&LawSamples.project()).await.unwrap_or_default();
    let said: Vec<_> = rows.iter().map(|row| (&*row.importance, &*row.before, row.note.as_deref())).collect();
    assert_eq!(said, [("high", "low", Some("the board asked"))]);
    end_cycle(&store, LawSignals.finish(4, 2, &[(1, 1)])).await;
    let purge = TriagePurge {
        project: LawSamples.project(),
        before: Time(9),
        keep: vec![],
        actor: LawSamples.actor(),
        at: Time(9),
    };
    assert!(store.purge_triage(purge).await.is_ok());
    let rows = store.signal_judgements(&LawSamples.project()).await.unwrap_or_default();
    assert_eq!(rows.iter().map(|row| (&*row.importance, row.note.as_deref())).collect::<Vec<_>>(), [("high", None)]);
    assert_eq!(store.judge_signal(judgement(2, "high", "low")).await.ok(), Some(JudgementAnswer::Purged));
}

/// A source goes on where it was left: the last cursor counts, a failure is known until the next success, the time of
/// the last whole reading stays, and another project's source of the same name is another one.
///
/// # Panics
///
/// If the law is broken.
pub async fn a_source_goes_on_where_it_was_left(backend: &impl Backend) {
    let store = backend.open().await;
    let mine = LawSamples.project();
    let keep = async |project: &Project, at: i64, cursor: &str, end: SyncEnd| {
        let progress = SyncProgress {
            project: project.clone(),
            source: "tickets".to_owned(),
            actor: system_actor(),
            at: Time(at),
            cursor: cursor.to_owned(),
            end,
        };
        assert_eq!(store.keep_sync_progress(progress).await.map_err(|error| error.to_string()), Ok(()));
    };
    let failed = || SyncEnd::Failed("cut".to_owned());
    for (at, cursor, end, expected) in [
        (1, "{\"a\":1}", SyncEnd::Open, (None, None)),
        (2, "{\"a\":2}", SyncEnd::Reached, (Some(Time(2)), None)),
        (3, "{\"a\":2}", failed(), (Some(Time(2)), Some("cut".to_owned()))),
        (4, "{\"a\":1}", SyncEnd::Open, (Some(Time(2)), None)),
    ] {
        keep(&mine, at, cursor, end).await;
        let rows = store.sync_sources(&mine).await.unwrap_or_default();
        let found = rows.first().map(|row| (row.cursor.as_str(), row.at, row.ended, row.failure.clone()));
        assert_eq!(found, Some((cursor, Time(at), expected.0, expected.1)), "after the reading at {at}");
        assert_eq!(rows.len(), 1, "one line for a source");
    }
    let other = Project("other".to_owned());
    keep(&other, 5, "{}", SyncEnd::Open).await;
    let rows = store.sync_sources(&mine).await.unwrap_or_default();
    assert_eq!(rows.first().map(|row| row.cursor.as_str()), Some("{\"a\":1}"), "another project's is another one");
}
