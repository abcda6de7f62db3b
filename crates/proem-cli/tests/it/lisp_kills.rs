//! Programs killed with `kill -9` at any moment, and gone on with: the server under test control knows what was called.
//!
//! A few kills each time. `PROEM_KILLS=100 cargo test -p proem-cli --test it lisp_kills` makes a hundred.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, Run};
use crate::lisp_tools::{Oracle, RUN, SUM, fixture};

/// Kills in a usual run of the tests, half of them with tools that may be called twice.
const USUAL: u64 = 8;
const SEED: u64 = 0x5EED_0F4B;

/// Random numbers by splitmix64 (<https://prng.di.unimi.it/splitmix64.c>).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn spawn(fixture: &Fixture, args: &[&str]) -> Child {
    let mut command = fixture.command(&fixture.binary);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Kills a process a moment after the server has seen so many numbers. It may have ended before.
fn kill_after(mut child: Child, oracle: &Oracle, (numbers, moment): (usize, Duration)) {
    let began = Instant::now();
    while oracle.counts().len() < numbers && child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "it makes no calls");
        std::thread::sleep(Duration::from_micros(200));
    }
    std::thread::sleep(moment);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// How a program ended.
#[derive(PartialEq)]
enum End {
    /// With the answer.
    Answer,
    /// With a call that may have happened, as nobody is there to ask.
    Doubt,
}

/// Goes on with what was killed, and kills that, too, one time in three. How it ended, and what showed that.
fn gone_on_with(fixture: &Fixture, oracle: &Oracle, dice: &mut Dice) -> (End, Run) {
    if dice.below(3) == 0 {
        let more = usize::try_from(dice.below(6)).unwrap();
        let moment = Duration::from_micros(dice.below(20_000));
        kill_after(spawn(fixture, &["runs", "resume", "last"]), oracle, (oracle.counts().len() + more, moment));
    }
    let resumed = fixture.proem(&["runs", "resume", "last"]);
    let run = match resumed.code() {
        // It was killed before its first intent, so that there is no run, or one without a call.
        2 if oracle.counts().is_empty() => fixture.proem(&RUN),
        // It was killed behind its end, so that all is recorded.
        2 => fixture.proem(&["runs", "show", "last"]),
        _ => resumed,
    };
    let said = format!("{}{}", run.stdout(), run.stderr());
    if run.code() == 0 && said.contains(SUM.trim()) {
        return (End::Answer, run);
    }
    assert!(said.contains("may have happened"), "exit code {}: {said}", run.code());
    (End::Doubt, run)
}

#[test]
fn a_program_killed_at_any_moment_makes_no_call_twice_and_ends_with_the_same_answer_or_a_question() {
    let kills = std::env::var("PROEM_KILLS").map_or(USUAL, |kills| kills.parse().unwrap());
    let mut dice = Dice(SEED);
    let (mut doubts, mut answers) = (0, 0);
    for kill in 0..kills {
        let is_idempotent = kill % 2 == 0;
        let oracle = Oracle::new();
        let fixture = fixture(&oracle, if is_idempotent { "idempotent = true" } else { "" });
        let numbers = usize::try_from(dice.below(21)).unwrap();
        let moment = Duration::from_micros(dice.below(20_000));
        kill_after(spawn(&fixture, &RUN), &oracle, (numbers, moment));
        let (end, run) = gone_on_with(&fixture, &oracle, &mut dice);
        let counts = oracle.counts();
        let place = format!("kill {kill} after {numbers} calls and {moment:?}: {counts:?}: {}", run.stderr());
        assert!(counts.iter().all(|(_, keys)| *keys == 1), "{place}");
        // Between intent and outcome of a tool that may not be called twice nobody knows.
        assert!(end == End::Answer || !is_idempotent, "{place}");
        assert!(is_idempotent || counts.iter().all(|(times, _)| *times == 1), "{place}");
        assert!(end == End::Doubt || counts.len() == 20, "{place}");
        match end {
            End::Answer => answers += 1,
            End::Doubt => doubts += 1,
        }
    }
    eprintln!("{kills} kills: {answers} answers, {doubts} doubts");
    assert!(answers > 0, "{kills} kills");
}
