//! The cost that recording adds to a call: intent, settlement and end, beside the disk's own cost.
//!
//! `cargo bench -p proem-store --bench recording [CALLS] [FOLDER] [CASE]`. The folder should be on the disk that is
//! asked about, and a case is given by its name.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench reads the clock and prints")]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use proem_engine::profile::Quality;
use proem_engine::run::{EffectId, Time};
use proem_guard::InstallationKey;
use proem_store::laws::LawSamples;
use proem_store::record::{AttemptId, HashedContent, Intent, NewStep, RunFinish, SectionRow, Settlement, Snapshot};
use proem_store::{Store, StoreAccess, StoreOptions};
use rusqlite::Connection;

/// How many calls, unless the first argument says.
const CALLS: usize = 1_000;

/// How many calls a run makes, where it makes several.
const CHAINED: u32 = 8;

/// The case of a call behind another one of its run.
const BEHIND: &str = "one text of ten is new, behind another call";

/// How many calls are made at the same time, where that is asked.
const TOGETHER: usize = 64;

/// The bytes of a text of 2,200 tokens, at four bytes a token.
const TEXT: usize = 8_800;

/// How long a provider takes, where that is asked.
const ANSWERED: Duration = Duration::from_millis(20);

/// The bytes of a state.
const STATE: usize = 100_000;

fn show(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default().as_micros();
    println!("{name:<52} p50 {:>6} µs, p90 {:>6} µs, p99 {:>6} µs", at(50), at(90), at(99));
}

/// The texts of a call's ten that are its own.
#[derive(Debug, Clone, Copy)]
enum Texts {
    /// One: the task.
    One,
    /// All.
    All,
}

/// The size and shape of one call.
#[derive(Debug, Clone, Copy)]
struct Case {
    texts: Texts,
    /// The bytes of its state.
    state: Option<usize>,
    /// How long the provider takes. Meanwhile every thread goes to sleep, as it does in real runs.
    answered_after: Duration,
}

impl Case {
    const fn new(texts: Texts) -> Self {
        Self { texts, state: None, answered_after: Duration::ZERO }
    }
}

/// An intent with ten sections of 22,000 tokens together.
fn run_intent(run: u64, texts: Texts, state: Option<usize>) -> Intent {
    let mut intent = LawSamples.intent(run, 0, 40, &[LawSamples.cap(u64::MAX)]);
    let own = |section: u64| section == 9 || matches!(texts, Texts::All);
    let contents: Vec<HashedContent> = (0..10)
        .map(|section| {
            let head =
                if own(section) { format!("section {section} of {run} ") } else { format!("section {section} ") };
            HashedContent::new(head.repeat(TEXT / head.len()))
        })
        .collect();
    if let Some(call) = &mut intent.call {
        let row = call.assembly.sections.first().cloned().unwrap();
        call.assembly.sections =
            contents.iter().map(|text| SectionRow { text: text.hash.clone(), ..row.clone() }).collect();
        call.assembly.texts.clone_from(&contents);
    }
    intent.snapshot = state.map(|bytes| Snapshot { step: 1, at: Time(1_000), sealed: vec![7; bytes], parts: vec![] });
    intent
}

/// The intent of a run's call behind another one, whose answer it writes down as well. Numbers up to the next
/// run's are its calls': texts and reports of one are not those of another.
fn intent_behind(run: u64, effect: u32, attempt: AttemptId) -> Intent {
    let mut intent = run_intent(run + u64::from(effect), Texts::One, None);
    intent.run = LawSamples.id(run);
    intent.begins = None;
    intent.attempt.effect = EffectId(effect);
    if let Some(call) = &mut intent.call {
        call.effect = EffectId(effect);
    }
    let event = |name: &str| HashedContent::new(format!("{name} {effect} of {run}"));
    let step = |step: u32, name: &str| NewStep { step, at: Time(1_000), event: event(name) };
    intent.steps = vec![step(2 * effect, "answered"), step(2 * effect + 1, "asked")];
    intent.settles = Some(Box::new(settled(attempt)));
    intent
}

/// The settlement of an attempt with the provider's report.
fn settled(attempt: AttemptId) -> Settlement {
    LawSamples.settlement(attempt, LawSamples.reported(5))
}

/// One run of several calls: how long the store kept each one behind the first, the end of the one before
/// included.
async fn chain(store: &Store, run: u64) -> Vec<Duration> {
    let mut attempt = LawSamples.booked(store, run_intent(run, Texts::One, None)).await;
    let mut times = Vec::new();
    for effect in 1..CHAINED {
        let intent = intent_behind(run, effect, attempt);
        let start = Instant::now();
        attempt = LawSamples.booked(store, intent).await;
        times.push(start.elapsed());
    }
    let finish = RunFinish { settles: Some(Box::new(settled(attempt))), ..LawSamples.finish(run, Quality::High) };
    store.finish(finish).await.unwrap();
    times
}

/// One call: how long the store kept it before it was sent, and after its answer.
async fn call(store: &Store, run: u64, case: Case) -> [Duration; 2] {
    let Case { texts, state, answered_after } = case;
    let intent = run_intent(run, texts, state);
    let start = Instant::now();
    let attempt = LawSamples.booked(store, intent).await;
    let before = start.elapsed();
    if !answered_after.is_zero() {
        tokio::time::sleep(answered_after).await;
    }
    let finish = RunFinish { settles: Some(Box::new(settled(attempt))), ..LawSamples.finish(run, Quality::High) };
    let start = Instant::now();
    store.finish(finish).await.unwrap();
    [before, start.elapsed()]
}

/// Shows what calls took: before, after, and both.
fn show_calls(name: &str, times: &[[Duration; 2]]) {
    show(&format!("{name}: before"), times.iter().map(|[before, _]| *before).collect());
    show(&format!("{name}: after"), times.iter().map(|[_, after]| *after).collect());
    show(name, times.iter().map(|[before, after]| *before + *after).collect());
}

/// The disk alone: 4 kB at a file's end, and a sync.
fn disk(folder: &Path, calls: usize) -> Vec<Duration> {
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join("disk")).unwrap();
    let page = [7; 4096];
    let once = |_| {
        let start = Instant::now();
        file.write_all(&page).unwrap();
        file.sync_data().unwrap();
        start.elapsed()
    };
    (0..calls).map(once).collect()
}

/// The peer: one line with one statement of SQLite's, as durable as here.
fn peer_times(folder: &Path, calls: usize) -> Vec<Duration> {
    let connection = Connection::open(folder.join("peer.db")).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE lines (text TEXT)")
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO lines (text) VALUES (?)").unwrap();
    let once = |line: usize| {
        let start = Instant::now();
        insert.execute([line.to_string()]).unwrap();
        start.elapsed()
    };
    (0..calls).map(once).collect()
}

async fn open(folder: &Path) -> Store {
    let opening = StoreOptions {
        path: folder.join("records.db"),
        key: InstallationKey::new([7; 32]),
        access: StoreAccess::Write,
        project: LawSamples.project(),
        actor: LawSamples.actor(),
        zone: jiff::tz::TimeZone::UTC,
    };
    Store::open(opening).await.unwrap().store
}

#[tokio::main]
async fn main() {
    let numbers = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let parent =
        std::env::args().skip(1).find(|argument| Path::new(argument).is_dir()).unwrap_or_else(|| ".".to_owned());
    let calls: usize = numbers.unwrap_or(CALLS);
    let wanted = std::env::args().skip(1).find(|argument| argument.contains(' ') && !Path::new(argument).is_dir());
    let folder = tempfile::tempdir_in(parent).unwrap();
    let folder = folder.path();
    println!("{calls} calls; intent is one transaction, settlement and end another, each with a sync");
    show("the disk alone: 4 kB and a sync", disk(folder, calls));
    show("the peer: one line with rusqlite", peer_times(folder, calls));
    let store = open(folder).await;
    let mut run = 0;
    let one = Case::new(Texts::One);
    let all = Case::new(Texts::All);
    let cases = [
        ("one text of ten is new", one),
        ("one text of ten is new, answered after 20 ms", Case { answered_after: ANSWERED, ..one }),
        ("one text of ten is new, 100 kB of state", Case { state: Some(STATE), ..one }),
        ("all ten are new", all),
        ("all ten are new, 100 kB of state", Case { state: Some(STATE), ..all }),
    ];
    for (name, case) in cases.into_iter().filter(|(name, _)| wanted.as_ref().is_none_or(|wanted| name == wanted)) {
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            run += 1;
            times.push(call(&store, run, case).await);
        }
        show_calls(name, &times);
    }
    if wanted.as_ref().is_none_or(|wanted| wanted == BEHIND) {
        let mut times = Vec::with_capacity(calls);
        while times.len() < calls {
            run += u64::from(CHAINED);
            times.extend(chain(&store, run).await);
        }
        show(BEHIND, times);
    }
    if wanted.is_none() {
        together(&store, run + u64::from(CHAINED), calls).await;
    }
    store.close().await;
}

/// Many calls at the same time.
async fn together(store: &Store, mut run: u64, calls: usize) {
    let start = Instant::now();
    let mut times = Vec::with_capacity(calls);
    let mut made = 0_u32;
    while times.len() < calls {
        let first = run + 1;
        run += u64::try_from(TOGETHER).unwrap();
        times.extend(
            futures_util::future::join_all((first..=run).map(|run| call(store, run, Case::new(Texts::One)))).await,
        );
        made += u32::try_from(TOGETHER).unwrap();
    }
    let each = start.elapsed() / made;
    show_calls("64 calls at a time", &times);
    println!("64 calls at a time, all of them by their number: {} µs each", each.as_micros());
}
