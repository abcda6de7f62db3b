//! The common part of the benches: processor time, our machine, and other languages as warm processes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use proem_lisp::{Inputs, Limits, Machine, Names, Outcome, Program, Value, resolve_source};
use rustix::time::{ClockId, clock_gettime};

/// The processor's time of this thread while `work` runs, so that other programs on the machine change little.
pub fn processor_time(mut work: impl FnMut()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(u64::try_from(time.tv_sec).expect("a time"), u32::try_from(time.tv_nsec).expect("below a second"))
    };
    let start = now();
    work();
    now() - start
}

/// Limits that none of the benches reaches.
pub fn limits() -> Limits {
    Limits { fuel: u64::MAX, bytes: 4 << 30, collection_size: 10_000_000, ..Limits::default() }
}

pub fn program(source: &str, limits: &Limits) -> Arc<Program> {
    Arc::new(resolve_source(source, &Names::default(), limits).expect("a program"))
}

/// The value of a program.
pub fn value_of(program: &Arc<Program>, inputs: Inputs, limits: Limits) -> Value {
    match Machine::new(Arc::clone(program), inputs, limits).run(u64::MAX) {
        Outcome::Done(value) => value,
        other => panic!("{other:?}"),
    }
}

/// A process that reads `name count` and answers with the nanoseconds of its processor that `count` runs took.
pub struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// `None` if there is no such program on this machine.
    pub fn start(command: &str, script: &str) -> Option<Self> {
        let mut child =
            Command::new(command).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take()?;
        let output = BufReader::new(child.stdout.take()?);
        Some(Self { child, input, output })
    }

    pub fn time(&mut self, name: &str, count: u64) -> Duration {
        writeln!(self.input, "{name} {count}").expect("the peer reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the peer answers");
        Duration::from_nanos(line.trim().parse().expect("nanoseconds"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
