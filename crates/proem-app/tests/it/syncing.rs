//! Live sources: everything is read once whatever fails meanwhile.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use proem_app::triage::sync::{FeedCounts, SyncKeeping, SyncOptions, SyncReport};
use proem_engine::run::Time;
use proem_llm::client::once::HostLimits;
use proem_llm::retry::RetryPolicy;
use proem_runtime::fetch::FetchLimits;
use proem_triage::sync::{SyncAnswer, SyncObject, SyncPlan, SyncSystem, begin_walk};
use proem_triage::{SourceContext, normalise_value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use crate::Home;
use crate::source_server::{SourceFault, SourceServer};
use crate::source_worlds::{
    Asana, Graph, Jira, SourceWorld, event, issue, mail, minutes_ago, split_address, story, task,
};
use crate::triage_scene::TriageScene;
use crate::triage_signals::charter_text;

const CREDENTIAL: &str = "correct-horse-battery";

/// A project that reads one source from a server.
struct Office {
    _home: Home,
    scene: TriageScene,
    server: SourceServer,
}

impl Office {
    fn open(system: SyncSystem) -> Self {
        let server = match system {
            SyncSystem::Jira => SourceServer::start(|_| Jira::sample()),
            SyncSystem::Graph => SourceServer::start(Graph::sample),
            SyncSystem::Asana => SourceServer::start(|_| Asana::sample()),
        };
        let user = match system {
            SyncSystem::Jira => "user = \"bot@corp.example\"\n",
            SyncSystem::Graph => "user = \"pm@corp.example\"\n",
            SyncSystem::Asana => "",
        };
        Self::with(server, &format!("system = \"{}\"\n{user}", system.as_str()))
    }

    /// A source with these keys beside its address and credential.
    fn with(server: SourceServer, keys: &str) -> Self {
        let base = &server.base;
        let home = Home::with(&format!(
            "[effects.credentials]\nread = {{ file = \"read.txt\" }}\n\n[sources.s]\nurl = \"{base}\"\nprivate = true\n\
             credential = \"read\"\n{keys}"
        ));
        home.write_credential("read.txt", CREDENTIAL);
        let scene = home.triage();
        scene.trust_charter(&format!(
            "{}\n[[trackers]]\nsource = \"asana\"\nproject = \"1208\"\n",
            charter_text("artefact")
        ));
        Self { _home: home, scene, server }
    }

    fn sync(&self, options: &SyncOptions) -> SyncReport {
        let stop = CancellationToken::new();
        let mut pages = 0;
        let report = self.scene.at_triage(async |desk| desk.sync(options, &stop, &mut |_| pages += 1).await);
        assert_eq!(pages, report.feeds.iter().map(|feed| feed.pages).sum::<u64>(), "each page is told of");
        report
    }

    /// Reads until nothing fails.
    fn sync_to_the_end(&self) -> u32 {
        (1..20).find(|_| !self.sync(&quick(1)).has_failed()).unwrap()
    }

    fn stored(&self) -> Vec<String> {
        self.scene.first_column("SELECT id || ' ' || revision FROM signals ORDER BY 1")
    }
}

/// So many attempts without a pause between them, each of them short.
fn quick(attempts: u32) -> SyncOptions {
    let host = HostLimits { whole: Duration::from_millis(400), ..FetchLimits::default().host };
    let policy =
        RetryPolicy { first_backoff: Duration::ZERO, longest_backoff: Duration::ZERO, ..RetryPolicy::default() };
    let limits = FetchLimits { host, attempts: NonZeroU32::new(attempts).unwrap(), policy };
    SyncOptions { limits, ..SyncOptions::default() }
}

const SYSTEMS: [SyncSystem; 3] = [SyncSystem::Jira, SyncSystem::Graph, SyncSystem::Asana];

const FAULTS: [SourceFault; 18] = [
    SourceFault::Status(301, "location: http://127.0.0.1:9/elsewhere\r\n"),
    SourceFault::Status(302, "location: http://evil.example/\r\n"),
    SourceFault::Status(400, ""),
    SourceFault::Status(401, ""),
    SourceFault::Status(403, ""),
    SourceFault::Status(404, ""),
    SourceFault::Status(409, ""),
    SourceFault::Status(410, ""),
    SourceFault::Status(412, ""),
    SourceFault::Status(429, "retry-after: 0\r\n"),
    SourceFault::Status(500, ""),
    SourceFault::Status(503, "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
    SourceFault::Cut,
    SourceFault::Slow,
    SourceFault::Silent,
    SourceFault::Html,
    SourceFault::OtherForm,
    SourceFault::Repeated,
];

#[test]
fn a_source_is_read_once_and_then_what_is_new() {
    for system in SYSTEMS {
        let office = Office::open(system);
        let first = office.sync(&quick(1)).feeds.remove(0);
        assert_eq!((first.failure.clone(), first.counts.unchanged), (None, 0), "{first:?}");
        let stored = office.stored();
        let expected = match system {
            SyncSystem::Jira => 5,
            SyncSystem::Graph => 6,
            SyncSystem::Asana => 8,
        };
        assert_eq!((stored.len(), first.read), (expected, expected as u64), "{first:?}");
        assert_eq!(first.counts.deleted, u64::from(system == SyncSystem::Graph), "{first:?}");
        let again = office.sync(&quick(1)).feeds.remove(0);
        assert_eq!((again.counts.new, again.counts.changed, again.failure), (0, 0, None), "{}", system.as_str());
        assert_eq!(office.stored(), stored);
    }
}

/// Each fault at each request of a reading. Afterwards everything is there, as without a fault.
#[test]
fn whatever_fails_where_is_read_the_next_time() {
    for system in SYSTEMS {
        let whole = Office::open(system);
        whole.server.set_faults(&[]);
        whole.sync_to_the_end();
        let (expected, requests) = (whole.stored(), whole.server.requests().len());
        assert!(requests >= 3, "{requests}");
        for (place, fault) in FAULTS.into_iter().enumerate() {
            // Each fault at one place, so that all places have several.
            let at = 1 + place % requests;
            let office = Office::open(system);
            office.server.set_faults(&[(at, fault)]);
            let first = office.sync(&quick(1)).feeds.remove(0);
            if let Some(failure) = &first.failure {
                assert!(failure.starts_with("page "), "{failure}");
                assert!(!failure.contains(CREDENTIAL) && !failure.contains("evil"), "{failure}");
            }
            if first.counts.missing > 0 {
                // The server said that something is gone, which is believed and counted.
                assert!(first.failure.is_none() && matches!(fault, SourceFault::Status(403 | 404, _)), "{first:?}");
                continue;
            }
            office.server.set_faults(&[]);
            office.sync_to_the_end();
            assert_eq!(office.stored(), expected, "{} with {fault:?} at request {at}", system.as_str());
        }
    }
}

#[test]
fn what_passes_is_asked_for_again_at_once() {
    for fault in [
        SourceFault::Status(429, "retry-after: 0\r\n"),
        SourceFault::Status(503, ""),
        SourceFault::Cut,
        SourceFault::Slow,
        SourceFault::Silent,
    ] {
        let office = Office::open(SyncSystem::Jira);
        office.server.set_faults(&[(2, fault), (4, fault)]);
        let report = office.sync(&quick(3)).feeds.remove(0);
        assert_eq!((report.failure, report.read), (None, 5), "{fault:?}");
    }
    // A wait that is too long is not begun.
    let office = Office::open(SyncSystem::Jira);
    office.server.set_faults(&[(2, SourceFault::Status(429, "retry-after: 86400\r\n"))]);
    let failure = office.sync(&quick(3)).feeds.remove(0).failure.unwrap();
    assert!(failure.contains("asks to wait 86400 s"), "{failure}");
}

/// Page 3 of a reading fails: the two before it are there, and the next reading begins with the third.
#[test]
fn a_reading_goes_on_with_the_page_that_failed() {
    let office = Office::open(SyncSystem::Graph);
    office.server.set_faults(&[(3, SourceFault::Status(500, ""))]);
    let report = office.sync(&quick(1)).feeds.remove(0);
    assert_eq!((report.pages, report.read), (2, 4));
    assert_eq!(report.failure.as_deref(), Some("page 3 could not be read: the server failed (status 500) (1 attempt)"));
    office.server.set_faults(&[]);
    let report = office.sync(&quick(1)).feeds.remove(0);
    // The last change is that the first mail is gone.
    let FeedCounts { new, changed, unchanged, .. } = report.counts;
    assert_eq!((report.pages, new, changed, unchanged, report.failure), (1, 1, 1, 0, None));
}

#[test]
fn comments_are_read_in_full_whatever_their_total_says() {
    for lie in [0, 1, 3, 1_000_000] {
        let mut jira = Jira::sample();
        jira.lies.insert("102".to_owned(), lie);
        let office = Office::with(SourceServer::start(|_| jira), "system = \"jira\"\nuser = \"bot@corp.example\"\n");
        office.sync_to_the_end();
        let texts = office.scene.first_column("SELECT CAST(bytes AS TEXT) FROM contents");
        let there = (71..=73).filter(|id| texts.iter().any(|text| text.contains(&format!("Comment {id}")))).count();
        assert_eq!(there, 3, "a total of {lie}");
    }
}

#[test]
fn what_changes_while_it_is_read_is_not_lost() {
    let office = Office::open(SyncSystem::Jira);
    office.server.set_faults(&[(3, SourceFault::Status(500, ""))]);
    office.sync(&quick(1));
    // The first issue is edited, and one is made, before the reading goes on.
    let mut jira = Jira::sample();
    jira.issues[0] = issue(1, "Refund part 1, reworded", 0);
    jira.issues.push(issue(6, "Refund part 6", 0));
    office.server.set_world(jira);
    office.server.set_faults(&[]);
    office.sync_to_the_end();
    office.sync_to_the_end();
    let texts = office.scene.first_column("SELECT CAST(bytes AS TEXT) FROM contents").join("\n");
    for text in ["Refund part 1, reworded", "Refund part 6", "Refund part 5"] {
        assert!(texts.contains(text), "{text}");
    }
}

/// Tokens run out: 400 in Jira, 410 in Graph, 412 in Asana. What happened meanwhile is found, and nothing is there twice.
#[test]
fn a_cursor_that_is_too_old_costs_a_longer_reading() {
    for system in SYSTEMS {
        let office = Office::open(system);
        let at = match system {
            SyncSystem::Jira => 5,
            SyncSystem::Graph => 3,
            SyncSystem::Asana => 6,
        };
        office.server.set_faults(&[(at, SourceFault::Status(500, ""))]);
        office.sync(&quick(1));
        let before = office.stored().len();
        match system {
            SyncSystem::Jira => office.server.set_world(Jira { epoch: 1, ..Jira::sample() }),
            SyncSystem::Graph => {
                let mut graph = Graph { epoch: 1, ..Graph::sample(&office.server.base) };
                graph.changes.push(mail(6));
                office.server.set_world(graph);
            }
            SyncSystem::Asana => {
                let mut asana = Asana { epoch: 1, ..Asana::sample() };
                asana.tasks.push(task(6, "Shelf 6", 1));
                asana.stories.push(story(4, 6));
                office.server.set_world(asana);
            }
        }
        office.server.set_faults(&[]);
        office.sync_to_the_end();
        office.sync_to_the_end();
        let after = office.stored();
        let expected = match system {
            SyncSystem::Jira => 5,
            SyncSystem::Graph => 7,
            SyncSystem::Asana => 10,
        };
        assert!(before < after.len(), "{}", system.as_str());
        assert_eq!(after.len(), expected, "{}: {after:#?}", system.as_str());
    }
}

#[test]
fn events_of_asana_bring_what_they_name() {
    let office = Office::open(SyncSystem::Asana);
    office.sync_to_the_end();
    let mut asana = Asana::sample();
    asana.tasks[0] = task(1, "Shelf 1, renamed", 1);
    asana.stories.push(story(4, 1));
    asana.tasks.remove(4);
    asana.events = vec![
        event("changed", "task", "91", 1),
        event("added", "story", "74", 1),
        event("changed", "task", "95", 1),
        event("deleted", "task", "95", 0),
    ];
    office.server.set_world(asana);
    let report = office.sync(&quick(1)).feeds.remove(0);
    // Four events, the renamed task and the comment; the deleted task can't be read any more.
    assert_eq!(
        (report.read, report.counts.new, report.counts.changed, report.counts.deleted),
        (6, 5, 1, 1),
        "{report:?}"
    );
}

/// The same object, read live and from a file that somebody exported, is one signal.
#[test]
fn what_came_as_a_file_is_known() {
    for (system, page) in [
        (SyncSystem::Jira, json!({ "issues": [Jira::sample().issues[0]], "isLast": true })),
        (SyncSystem::Graph, json!({ "value": [mail(2)] })),
        (
            SyncSystem::Asana,
            json!({ "data": [Asana::sample().tasks[0], Asana::sample().stories[0]], "next_page": null }),
        ),
    ] {
        let office = Office::open(system);
        office.scene.take_signals(std::slice::from_ref(&page));
        let known = office.stored().len();
        let report = office.sync(&quick(1)).feeds.remove(0);
        assert_eq!(
            (report.counts.unchanged, report.counts.changed),
            (known as u64, u64::from(system == SyncSystem::Graph)),
            "{}: only the mailbox has an object that is gone meanwhile: {report:?}",
            system.as_str()
        );
    }
}

/// An object that a webhook names by its id is fetched, and is the signal that a reading finds.
#[test]
fn single_objects_are_fetched_by_their_ids() {
    for (system, object, id, gone) in [
        (SyncSystem::Jira, SyncObject::Ticket, "101", "999"),
        (SyncSystem::Graph, SyncObject::Message, "AAMk2", "AAMk9"),
        (SyncSystem::Asana, SyncObject::Ticket, "91", "999"),
        (SyncSystem::Asana, SyncObject::Comment, "71", "999"),
    ] {
        let office = Office::open(system);
        let ids = [id, gone, "../../../admin"].map(|id| (object, id.to_owned()));
        let stop = CancellationToken::new();
        let limits = quick(1).limits;
        let counts = office.scene.at_triage(async |desk| desk.sync_objects("s", &ids, limits, &stop).await);
        assert_eq!((counts.new, counts.same), (1, 0), "{}", system.as_str());
        let asked = office.server.requests();
        assert!(asked.iter().all(|(address, _)| !address.contains("/../")), "{asked:?}");
        let report = office.sync(&quick(1)).feeds.remove(0);
        let gone_since = u64::from(system == SyncSystem::Graph);
        let counts = (report.counts.unchanged, report.counts.changed);
        assert_eq!(counts, (1, gone_since), "{}: {report:?}", system.as_str());
    }
}

#[test]
fn nothing_is_kept_of_a_dry_run() {
    let office = Office::open(SyncSystem::Graph);
    let report = office.sync(&SyncOptions { keeping: SyncKeeping::Nothing, ..quick(1) }).feeds.remove(0);
    assert_eq!((report.read, report.counts.new), (6, 0));
    assert!(office.stored().is_empty());
    let first = office.sync(&quick(1)).feeds.remove(0);
    assert_eq!((first.counts.new, first.counts.changed), (5, 1), "it begins at the beginning");
}

#[test]
fn since_reads_again_from_a_time() {
    let office = Office::open(SyncSystem::Jira);
    office.sync_to_the_end();
    office.server.set_faults(&[]);
    // The overlap and a begun minute are 11 minutes.
    let since = Some(Time(crate::source_worlds::SERVER_NOW + 4 * 60_000));
    let report = office.sync(&SyncOptions { since, ..quick(1) }).feeds.remove(0);
    let addresses: Vec<String> = office.server.requests().into_iter().map(|(address, _)| address).collect();
    assert!(addresses[1].contains("updated%20%3E%3D%20%22-11m%22"), "{addresses:?}");
    assert_eq!((report.read, report.counts.unchanged), (5, 5), "{report:?} {}", minutes_ago(11));
}

/// A reading of newer objects does not skip those that a broken reading did not reach.
#[test]
fn a_reading_since_a_time_leaves_the_place_of_the_next_one() {
    let office = Office::open(SyncSystem::Jira);
    office.server.set_faults(&[(5, SourceFault::Status(500, ""))]);
    office.sync(&quick(1));
    office.server.set_faults(&[]);
    let since = Some(Time(crate::source_worlds::SERVER_NOW + 60_000_000));
    let mut jira = Jira::sample();
    jira.issues[4] = issue(5, "Refund part 5", 60);
    office.server.set_world(jira);
    assert!(!office.sync(&SyncOptions { since, ..quick(1) }).has_failed());
    assert_eq!(office.stored().len(), 4, "the fifth issue is older");
    office.sync_to_the_end();
    assert_eq!(office.stored().len(), 5);
}

#[test]
fn a_login_gives_tokens_and_its_next_credential_is_kept() {
    let server = SourceServer::start(Graph::sample);
    let login = format!(
        "system = \"graph\"\nuser = \"pm@corp.example\"\n[sources.s.login]\nurl = \"{}/token\"\nclient = \"c\"\n\
         permissions = \"offline_access Mail.Read\"\n",
        server.base
    );
    let office = Office::with(server, &login);
    // The third request is the second page: its token is refused, and a new one is asked for.
    office.server.set_faults(&[(3, SourceFault::Status(401, ""))]);
    let report = office.sync(&quick(1)).feeds.remove(0);
    assert_eq!((report.failure, report.read), (None, 6));
    let used: Vec<String> = office.server.requests().into_iter().map(|(_, credential)| credential).collect();
    assert!(used[0].is_empty() && used[1].starts_with("Bearer access-1-"), "{used:?}");
    assert!(used.iter().any(|credential| credential.starts_with("Bearer access-4-")), "{used:?}");
    let kept = std::fs::read_to_string(office.scene.places.config.join("read.txt")).unwrap();
    assert_eq!(kept, "refresh-of-the-next-time\n");
}

#[test]
fn a_link_to_another_server_is_not_followed() {
    let server = SourceServer::start(|_| Graph::sample("http://127.0.0.1:9"));
    let office = Office::with(server, "system = \"graph\"\nuser = \"pm@corp.example\"\n");
    let failure = office.sync(&quick(1)).feeds.remove(0).failure.unwrap();
    assert!(failure.contains("leads to another server, which is not asked"), "{failure}");
}

/// Reads a world by a walk until nothing fails, with `faults` in the place of answers. The signals, each as often as it
/// was stored.
fn walked(system: SyncSystem, world: &mut dyn SourceWorld, faults: &[Option<u16>]) -> BTreeSet<(String, String)> {
    let base = "https://source.example".to_owned();
    let part = match system {
        SyncSystem::Jira => "TES",
        SyncSystem::Graph => "pm@corp.example",
        SyncSystem::Asana => "1208",
    };
    let plan = SyncPlan { system, base: base.clone(), part: part.to_owned(), since: None };
    let context = SourceContext { now: Time(crate::source_worlds::SERVER_NOW), mail_servers: &[], audiences: &[] };
    let (mut cursor, mut stored, mut faults) = (None, BTreeSet::new(), faults.iter());
    let mut walks = 0;
    loop {
        walks += 1;
        assert!(walks < 200, "the faults ended, and the reading did not");
        let mut walk = begin_walk(&plan, cursor.as_ref());
        loop {
            let Some(request) = walk.request() else { return stored };
            let (path, query) = split_address(request.url.strip_prefix(&base).unwrap());
            let (status, body) = match faults.next() {
                Some(Some(status)) => (*status, Json::Null),
                _ => world.answer(&path, &query),
            };
            let Ok(page) = walk.take(SyncAnswer { status, body }) else { break };
            for value in page.values {
                let read = normalise_value(value, &context);
                assert!(read.malformed.is_empty(), "{:?}", read.malformed);
                stored.extend(read.signals.into_iter().map(|signal| (signal.id, signal.revision)));
            }
            cursor = page.cursor.or(cursor);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn faults_that_end_leave_the_signals_of_no_faults(
        faults in prop::collection::vec(
            prop::option::weighted(0.4, prop::sample::select(vec![200_u16, 204, 302, 400, 401, 409, 410, 412, 500])), 0..60),
    ) {
        for system in SYSTEMS {
            let world = || -> Box<dyn SourceWorld> {
                match system {
                    SyncSystem::Jira => Box::new(Jira::sample()),
                    SyncSystem::Graph => Box::new(Graph::sample("https://source.example")),
                    SyncSystem::Asana => Box::new(Asana::sample()),
                }
            };
            let whole = walked(system, world().as_mut(), &[]);
            prop_assert_eq!(walked(system, world().as_mut(), &faults), whole);
        }
    }
}
