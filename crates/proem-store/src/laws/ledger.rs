//! Laws of the ledger.

use proem_engine::call::{NanoDollars, Usage, UsageEstimate};
use proem_engine::ledger::{Cap, CapBalance, CapPeriod, CapScope, CapUnit, Refusal};
use proem_engine::profile::Quality;
use proem_engine::run::Time;

use super::samples::{Backend, LawSamples, query_number};
use crate::query::Spender;
use crate::record::{AttemptId, AttemptUsage};
use crate::{BookingOutcome, Correction, Store};

/// The sum of all bookings: settled and open.
const BOOKED: &str = "SELECT (SELECT coalesce(sum(tokens), 0) FROM spend) + \
                      (SELECT coalesce(sum(most_tokens), 0) FROM attempts WHERE state = 'open')";

/// The same, from the lines of usage.
const USED: &str = "SELECT (SELECT coalesce(sum(tokens), 0) FROM usage) + \
                    (SELECT coalesce(sum(most_tokens), 0) FROM attempts WHERE state = 'open')";

/// How many attempts are open.
const OPEN: &str = "SELECT count(*) FROM attempts WHERE state = 'open'";

/// Something that happens to one of several stores.
#[derive(Debug, Clone, Copy)]
pub enum Move {
    /// A store books an attempt of at most so many tokens.
    Book(usize, u64),
    /// The attempt with that place among those that were booked is settled for so many hundredths.
    Settle(usize, u64),
    /// It is settled, and nobody knows for how much.
    Unknown(usize),
    /// It is settled, and was never sent.
    Unsent(usize),
    /// A store dies, and another takes its place.
    Kill(usize),
    /// A store closes, and another takes its place.
    Close(usize),
    /// A store buries the dead.
    Bury(usize),
}

/// An attempt, as the model knows it.
#[derive(Debug, Clone, Copy)]
struct Modelled {
    id: AttemptId,
    store: usize,
    bound: u64,
    /// The settled amount. `None` while it is open.
    settled: Option<u64>,
}

/// In any order of events, settled and open amounts stay within the cap, an attempt is booked if and only if there is
/// room for it, and the sums equal those of the lines.
///
/// # Panics
///
/// If not.
pub async fn no_cap_is_exceeded(backend: &impl Backend, most: u64, moves: &[Move]) {
    let stores = vec![backend.open().await, backend.open().await, backend.open().await];
    let mut game = Game { stores, model: Vec::new(), most };
    for (turn, step) in (0_u64..).zip(moves) {
        game.play(backend, turn, *step).await;
        let expected: u64 = game.model.iter().map(|attempt| attempt.settled.unwrap_or(attempt.bound)).sum();
        assert!(expected <= most, "the model is above the cap after {step:?}");
        for sql in [BOOKED, USED] {
            let booked = u64::try_from(query_number(backend, sql).await);
            assert_eq!(booked, Ok(expected), "after {step:?}: {sql}");
        }
    }
    for store in game.stores {
        store.close().await;
    }
    assert_eq!(query_number(backend, OPEN).await, 0, "nothing is open when all have closed");
}

/// Stores that move in turns, and what is expected of them.
struct Game {
    stores: Vec<Store>,
    model: Vec<Modelled>,
    most: u64,
}

impl Game {
    /// Makes a move. Its turn is the number of its run.
    async fn play(&mut self, backend: &impl Backend, turn: u64, step: Move) {
        let places = self.stores.len().max(1);
        match step {
            Move::Book(place, bound) => self.book(turn, place % places, bound).await,
            Move::Settle(which, percent) => {
                let used = |bound| (LawSamples.reported(bound * percent / 100), bound * percent / 100);
                self.settle(which, used).await;
            }
            Move::Unknown(which) => self.settle(which, |bound| (AttemptUsage::Unknown, bound)).await,
            Move::Unsent(which) => self.settle(which, |_| (AttemptUsage::Nothing, 0)).await,
            Move::Kill(place) => self.replace(backend, place % places, Store::abandon).await,
            Move::Close(place) => self.replace(backend, place % places, Store::close).await,
            Move::Bury(place) => {
                let Some(store) = self.stores.get(place % places) else { return };
                assert!(matches!(store.bury(Time(1_500)).await, Ok(0)), "every opening buries the dead");
            }
        }
    }

    /// Has a store book an attempt.
    async fn book(&mut self, run: u64, store: usize, bound: u64) {
        let most = self.most;
        let Some(books) = self.stores.get(store) else { return };
        let booked = books.intend(LawSamples.intent(run, 0, bound, &[LawSamples.cap(most)])).await;
        let before: u64 = self.model.iter().map(|attempt| attempt.settled.unwrap_or(attempt.bound)).sum();
        match booked {
            Ok(BookingOutcome::Yes(id)) => {
                assert!(before + bound <= most, "{bound} more than the cap has room for were booked");
                self.model.push(Modelled { id, store, bound, settled: None });
            }
            Ok(BookingOutcome::Wait(_) | BookingOutcome::No(Refusal::Short(_))) => {
                assert!(before + bound > most, "there was room for {bound}");
            }
            other => assert!(other.is_err(), "an answer that is none: {other:?}"),
        }
    }

    /// Settles an attempt; what is settled already stays as it is.
    async fn settle(&mut self, which: usize, used: impl Fn(u64) -> (AttemptUsage, u64)) {
        let count = self.model.len().max(1);
        let Some(attempt) = self.model.get_mut(which % count) else { return };
        let Some(store) = self.stores.get(attempt.store) else { return };
        let (used, tokens) = used(attempt.bound);
        LawSamples.settled(store, attempt.id, used).await;
        attempt.settled.get_or_insert(tokens);
    }

    /// Ends a store one way or the other, and opens another in its place: what was open is settled in full.
    async fn replace<E: Future<Output = ()>>(
        &mut self,
        backend: &impl Backend,
        place: usize,
        end: impl Fn(Store) -> E,
    ) {
        let Some(store) = self.stores.get_mut(place) else { return };
        end(store.clone()).await;
        *store = backend.open().await;
        for attempt in self.model.iter_mut().filter(|attempt| attempt.store == place) {
            attempt.settled.get_or_insert(attempt.bound);
        }
    }
}

/// An attempt of which nobody knows what it used is booked in full, never as nothing.
///
/// # Panics
///
/// If not.
pub async fn unknown_settles_in_full(backend: &impl Backend) {
    let store = backend.open().await;
    let attempt = LawSamples.booked(&store, LawSamples.intent(1, 0, 40, &[])).await;
    LawSamples.settled(&store, attempt, AttemptUsage::Unknown).await;
    assert_eq!(query_number(backend, "SELECT tokens FROM spend").await, 40);
    assert_eq!(query_number(backend, "SELECT nanos FROM spend").await, 40_000);
    assert_eq!(query_number(backend, "SELECT unknown FROM spend").await, 1);
    assert_eq!(query_number(backend, "SELECT nanos FROM runs").await, -1, "a run's own sum says that it is not known");
    store.close().await;
}

/// The cost of a call is booked under its own prompt, whatever prompt the run was started with. The same holds for a
/// correction.
///
/// # Panics
///
/// If not.
pub async fn a_call_is_booked_under_its_own_prompt(backend: &impl Backend) {
    let store = backend.open().await;
    LawSamples.whole(&store, 1, Quality::High).await;
    let first = LawSamples.booked(&store, LawSamples.intent(2, 0, 40, &[])).await;
    let mut intent = LawSamples.second(2, 50);
    intent.settles = Some(Box::new(LawSamples.settlement(first, LawSamples.reported(7))));
    let second = LawSamples.booked(&store, intent).await;
    LawSamples.settled(&store, second, AttemptUsage::Unknown).await;
    let (tokens, nanos) = (
        async |prompt: &str| booked_sum(backend, "tokens", prompt).await,
        async |prompt: &str| booked_sum(backend, "nanos", prompt).await,
    );
    assert_eq!((tokens("change").await, tokens("summary").await), (12, 50));
    assert_eq!((nanos("change").await, nanos("summary").await), (12_000, 50_000));
    let correction = Correction {
        attempt: second,
        nanos: NanoDollars(3),
        why: "the invoice says so".to_owned(),
        actor: LawSamples.actor(),
        at: Time(5_000),
    };
    assert!(store.correct(correction).await.is_ok());
    assert_eq!((nanos("change").await, nanos("summary").await), (12_000, 3));
    assert_eq!(
        (booked_sum(backend, "unknown", "change").await, booked_sum(backend, "unknown", "summary").await),
        (0, 0)
    );
    store.close().await;
}

/// A cap of an agent counts what is asked with that agent's prompts in that project, settled and open, and nothing else;
/// who asks how full it is is told the same.
///
/// # Panics
///
/// If not.
pub async fn a_cap_of_an_agent_counts_its_own_spending(backend: &impl Backend) {
    let store = backend.open().await;
    let cap = Cap { scope: CapScope::Agent, period: CapPeriod::Day, unit: CapUnit::Tokens, most: 100 };
    // A call with another agent's prompt is that agent's, whatever run it belongs to.
    let mut other = LawSamples.intent(1, 0, 90, &[cap]);
    if let Some(call) = &mut other.call {
        call.prompt.agent = "other".to_owned();
    }
    LawSamples.booked(&store, other).await;
    let first = LawSamples.booked(&store, LawSamples.intent(2, 0, 60, &[cap])).await;
    let waits = store.intend(LawSamples.intent(3, 0, 50, &[cap])).await;
    assert!(matches!(waits, Ok(BookingOutcome::Wait(_))), "{waits:?}");
    LawSamples.settled(&store, first, LawSamples.reported(30)).await;
    LawSamples.booked(&store, LawSamples.intent(3, 0, 50, &[cap])).await;
    let refused = store.intend(LawSamples.intent(4, 0, 71, &[cap])).await;
    assert!(matches!(refused, Ok(BookingOutcome::No(Refusal::Short(_)))), "{refused:?}");
    for (agent, spent) in [
        (Some("assess"), CapBalance { settled: 30, open: 50 }),
        (Some("other"), CapBalance { settled: 0, open: 90 }),
        (Some("nobody"), CapBalance::default()),
        (None, CapBalance::default()),
    ] {
        let whose = Spender { project: LawSamples.project(), agent: agent.map(str::to_owned) };
        let now = store.caps(&whose, &[cap], Time(1_000)).await;
        assert_eq!(now.ok().and_then(|now| now.first().map(|now| now.spent)), Some(spent), "{agent:?}");
    }
    let elsewhere =
        Spender { project: crate::record::Project("/elsewhere".to_owned()), agent: Some("assess".to_owned()) };
    let now = store.caps(&elsewhere, &[cap], Time(1_000)).await;
    assert_eq!(now.ok().and_then(|now| now.first().map(|now| now.spent)), Some(CapBalance::default()));
    store.close().await;
}

/// A sum of what is booked under a prompt.
async fn booked_sum(backend: &impl Backend, column: &str, prompt: &str) -> i64 {
    query_number(backend, &format!("SELECT sum({column}) FROM spend WHERE agent = 'assess' AND prompt = '{prompt}'"))
        .await
}

/// Amounts that a dead process left open are booked in full, once. Its calls are unknown.
///
/// # Panics
///
/// If not.
pub async fn a_dead_epoch_settles_in_full(backend: &impl Backend) {
    let dead = backend.open().await;
    let other = backend.open().await;
    LawSamples.booked(&dead, LawSamples.intent(1, 0, 40, &[])).await;
    LawSamples.booked(&dead, LawSamples.intent(2, 0, 2, &[])).await;
    dead.abandon().await;
    // A booking that would have to wait for the dead buries them instead.
    let booked = other.intend(LawSamples.intent(3, 0, 58, &[LawSamples.cap(100)])).await;
    assert!(matches!(booked, Ok(BookingOutcome::Yes(_))), "{booked:?}");
    let refused = other.intend(LawSamples.intent(4, 0, 59, &[LawSamples.cap(100)])).await;
    assert!(matches!(refused, Ok(BookingOutcome::No(_))), "{refused:?}");
    assert!(matches!(other.bury(Time(1_500)).await, Ok(0)), "they are buried once");
    assert_eq!(query_number(backend, "SELECT sum(tokens) FROM spend").await, 42);
    assert_eq!(query_number(backend, "SELECT count(*) FROM attempts WHERE state = 'unknown'").await, 2);
    assert_eq!(query_number(backend, "SELECT count(*) FROM calls WHERE state = 'unknown'").await, 2);
    assert_eq!(query_number(backend, "SELECT count(*) FROM epochs WHERE how = 'dead'").await, 1);
    other.close().await;
}

/// An estimate is booked in tokens as it is, never above what was reserved, and the money in full.
///
/// # Panics
///
/// If not.
pub async fn an_estimate_bounds_tokens_and_not_money(backend: &impl Backend) {
    let store = backend.open().await;
    let estimated = |input, output| {
        let estimate = Some(UsageEstimate { input, output });
        AttemptUsage::Estimated(Usage { estimate, ..Usage::default() })
    };
    for (run, used) in [(1, estimated(7, 2)), (2, estimated(u64::MAX, 1))] {
        let attempt = LawSamples.booked(&store, LawSamples.intent(run, 0, 40, &[])).await;
        LawSamples.settled(&store, attempt, used).await;
    }
    assert_eq!(query_number(backend, "SELECT sum(tokens) FROM spend").await, 9 + 40);
    let in_full = "SELECT count(*) FROM usage JOIN attempts ON attempts.id = usage.attempt \
                   WHERE usage.nanos = attempts.most_nanos AND attempts.state = 'unknown'";
    assert_eq!(query_number(backend, in_full).await, 2);
    // An unreported figure is no figure of its run.
    assert_eq!(
        query_number(backend, "SELECT count(*) FROM runs WHERE input_tokens IS NULL AND nanos IS NULL").await,
        2
    );
    store.close().await;
}

/// No process settles the open amounts of a live one, not even within the same process.
///
/// # Panics
///
/// If it is.
pub async fn a_live_epoch_is_left_alone(backend: &impl Backend) {
    let live = backend.open().await;
    let attempt = LawSamples.booked(&live, LawSamples.intent(1, 0, 40, &[])).await;
    let other = backend.open().await;
    assert!(matches!(other.bury(Time(1_500)).await, Ok(0)));
    assert!(matches!(live.bury(Time(1_500)).await, Ok(0)));
    let waits = other.intend(LawSamples.intent(2, 0, 10, &[LawSamples.cap(45)])).await;
    assert!(matches!(waits, Ok(BookingOutcome::Wait(_))), "{waits:?}");
    LawSamples.settled(&live, attempt, LawSamples.reported(30)).await;
    let booked = other.intend(LawSamples.intent(2, 0, 10, &[LawSamples.cap(45)])).await;
    assert!(matches!(booked, Ok(BookingOutcome::Yes(_))), "{booked:?}");
    other.close().await;
    live.close().await;
}

/// An attempt that is refused leaves its run and call, and no attempt.
///
/// # Panics
///
/// If not.
pub async fn a_refusal_leaves_no_attempt(backend: &impl Backend) {
    let store = backend.open().await;
    let refused = store.intend(LawSamples.intent(1, 0, 40, &[LawSamples.cap(39)])).await;
    assert!(matches!(refused, Ok(BookingOutcome::No(Refusal::Short(_)))), "{refused:?}");
    for (table, expected) in [("runs", 1), ("calls", 1), ("assemblies", 1), ("attempts", 0), ("spend", 0)] {
        assert_eq!(query_number(backend, &format!("SELECT count(*) FROM {table}")).await, expected, "{table}");
    }
    store.close().await;
}

/// A clock that goes back does not take the ledger back: no attempt is booked to an earlier day.
///
/// # Panics
///
/// If it does.
pub async fn the_ledgers_time_never_goes_back(backend: &impl Backend) {
    const DAY: i64 = 86_400_000;
    let store = backend.open().await;
    for (run, at) in [(1, 20 * DAY), (2, 19 * DAY), (3, 0), (4, 21 * DAY)] {
        let mut intent = LawSamples.intent(run, 0, 1, &[]);
        intent.attempt.at = Time(at);
        LawSamples.booked(&store, intent).await;
    }
    let times = backend.numbers("SELECT at FROM attempts ORDER BY id").await;
    assert_eq!(times, [20 * DAY, 20 * DAY, 20 * DAY, 21 * DAY]);
    let day = "SELECT count(*) FROM attempts WHERE day = '1970-01-21'";
    assert_eq!(query_number(backend, day).await, 3);
    assert!(store.reset_clock(LawSamples.actor(), Time(DAY)).await.is_ok());
    assert_eq!(
        query_number(backend, "SELECT count(*) FROM meta WHERE key = 'last_seen' AND value = '86400000'").await,
        1
    );
    store.close().await;
}
