//! The cost of a turn of a program agent, as ratios that one run measures.
//!
//! - The fifth turn beside the first, with records on: from the arrival of its request at the provider, who answers at
//!   once, to that of the next one. Each turn calls a tool, and keeps and prints the sum of a hundred orders.
//! - Fifty agents at once in one process, each with six turns and a run of its own in the records, beside the time
//!   that the provider takes for them.
//!
//! `cargo bench -p proem-app --bench turns`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench reads the clock and prints"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use proem_agents::lisp::turns::record::MissionEnd;
use proem_app::Error;
use proem_app::agents::RunResult;
use proem_app::agents::running::start_run;
use proem_app::lisp::agent::load_agent;
use proem_app::lisp::mission::{Mission, MissionInput, MissionOptions, MissionReport};
use proem_app::places::{Channel, Places};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;
use proem_app::records::booking::Booking;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_engine::run::{Question, QuestionAnswer};
use proem_lisp::{Limits, Meter, Value, read_json};
use proem_llm::scripted::{Reply, ScriptedServer};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// How many turns a mission takes.
const TURNS: usize = 6;
/// How often a mission is run alone.
const ROUNDS: usize = 10;
/// How many agents run at once.
const AT_ONCE: usize = 50;
/// How long the provider takes for a turn of one of them, in milliseconds.
const ANSWERED_MS: u64 = 1_000;

const AGENT: &str = "version = 1
name = \"orders\"
mission = \"Add the orders of the days {{days}}\"
signature = \"(days [:string]) -> :number\"
shows = [\"tool/orders-of\"]
turns = { max_turns = 6, turn_budget = 20 }
[tools.orders-of]
signature = \"(n :int) -> [{id :int, total :number, note :string}]\"
description = \"The orders of a day\"
effect = false
recorded = { file = \"orders.json\" }
";

fn main() {
    let runtime = records::runtime().unwrap();
    let at_once = ScriptedServer::answering(|request| answer(&request.body)).unwrap();
    let mut spans: [Vec<Duration>; TURNS - 1] = Default::default();
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let project = project(folder.path(), &at_once);
    for _ in 0..=ROUNDS {
        let seen = at_once.requests().len();
        runtime.block_on(async {
            let (missions, booking) = missions(&project, 1).await;
            run_mission(&missions[0], &booking).await;
            booking.end().await;
        });
        let arrived: Vec<Instant> = at_once.requests()[seen..].iter().map(|request| request.at).collect();
        assert_eq!(arrived.len(), TURNS);
        for (turn, pair) in arrived.windows(2).enumerate() {
            spans[turn].push(pair[1] - pair[0]);
        }
    }
    for (turn, spans) in spans.iter_mut().enumerate() {
        // The first round fills caches.
        spans.remove(0);
        println!("turn {}: median {} µs", turn + 1, median(spans).as_micros());
    }
    let ratio = median(&spans[4]).as_secs_f64() / median(&spans[0]).as_secs_f64();
    println!("turn 5: {ratio:.2} times turn 1");

    let slow = ScriptedServer::answering(|request| answer(&request.body).delayed(ANSWERED_MS)).unwrap();
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let project = self::project(folder.path(), &slow);
    let provider = Duration::from_millis(ANSWERED_MS) * u32::try_from(TURNS).unwrap();
    for count in [1, AT_ONCE] {
        let (took, worked) = runtime.block_on(async {
            let (missions, booking) = missions(&project, count).await;
            let (began, worked) = (Instant::now(), processor());
            join_all(missions.iter().map(|mission| run_mission(mission, &booking))).await;
            let spent = (began.elapsed(), processor() - worked);
            booking.end().await;
            spent
        });
        let more = (took.as_secs_f64() / provider.as_secs_f64() - 1.0) * 100.0;
        println!(
            "{count} at once: {} ms, {more:.1} % more than the provider's {} ms; {} ms of the processor, the provider's \
             among them",
            took.as_millis(),
            provider.as_millis(),
            worked.as_millis()
        );
    }
}

fn median(spans: &[Duration]) -> Duration {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// How long the processor has worked for this process: of `/proc/self/stat`, in hundredths of a second (proc(5)).
fn processor() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// The program of a turn, by how many turns the request tells of.
fn answer(body: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(body);
    let turn = text.matches("(def total-").count();
    let program = match turn + 1 {
        TURNS => format!("(return (+ {}))", (0..turn).map(|n| format!("total-{n}")).collect::<Vec<_>>().join(" ")),
        _ => format!("(def total-{turn} (sum-by :total (tool/orders-of {{:n {turn}}})))\n(println total-{turn})"),
    };
    Reply::text(format!("```clojure\n{program}\n```"))
}

/// Missions that are about to start, with the records that they share.
async fn missions(project: &OpenProject, count: usize) -> (Vec<Mission>, Booking) {
    let root = project.root.as_deref().unwrap_or(Path::new("."));
    let mut project = OpenProject::open(root, &project.places, BookReading::Trusted).unwrap();
    let agent = load_agent(&project, &project.places.config.join("orders.agent.toml")).unwrap();
    let context = read_json("{\"days\": [\"monday\"]}", &mut Meter::new(Limits::default())).unwrap();
    let mut missions = Vec::new();
    for _ in 0..count {
        let input = MissionInput { context: context.clone(), memory: Value::map([]) };
        missions.push(Mission::new(&mut project, &agent, input, &MissionOptions::default()).unwrap());
    }
    let (record, adapting) = (RecordChoice::AsConfigured, Adapting::default());
    let booking = missions[0].begin(&project, &adapting, record, &mut Vec::new()).await.unwrap();
    assert!(booking.records().is_some());
    (missions, booking)
}

/// One mission from its first event to its recorded end.
async fn run_mission(mission: &Mission, booking: &Booking) {
    let ran: Result<RunResult, Error> = start_run(mission, 1, booking, nobody, &CancellationToken::new()).await;
    let report = ran.unwrap().output.downcast::<MissionReport>().unwrap();
    assert!(matches!(report.outcome.end, MissionEnd::Return { is_fallback: false, .. }), "{:?}", report.outcome.end);
    assert_eq!(report.trouble, None);
}

async fn nobody(_run: &str, asked: &[Question]) -> Result<Vec<QuestionAnswer>, Error> {
    Err(Error::outside(format!("it asks {} questions", asked.len())))
}

/// A user with the agent and a provider on this machine.
fn project(base: &Path, server: &ScriptedServer) -> OpenProject {
    let base = base.canonicalize().unwrap();
    let [config, state, cache, work] = ["config", "state", "cache", "work"].map(|name| base.join(name));
    for folder in [&config, &state, &cache, &work] {
        fs::create_dir(folder).unwrap();
    }
    // A repository of its own, so that the agent is the user's and not this project's.
    assert!(std::process::Command::new("git").arg("init").arg("-q").arg(&work).status().unwrap().success());
    let settings = format!(
        "model = \"local/llama3.1\"\n[lisp]\nmodel = \"local/llama3.1\"\n[providers.local]\nbase_url = {:?}\n\
         concurrency = {AT_ONCE}\n",
        server.base_url()
    );
    fs::write(config.join("config.toml"), settings).unwrap();
    fs::write(config.join("orders.agent.toml"), AGENT).unwrap();
    let order =
        |n: usize, id: usize| format!("{{\"id\": {id}, \"total\": {n}.5, \"note\": \"order {id} of day {n}\"}}");
    let orders = |n: usize| (0..100).map(|id| order(n, id)).collect::<Vec<_>>().join(",");
    let results: Vec<String> =
        (0..TURNS).map(|n| format!("{{\"arguments\": {{\"n\": {n}}}, \"result\": [{}]}}", orders(n))).collect();
    fs::write(config.join("orders.json"), format!("[{}]", results.join(","))).unwrap();
    let places = Places { config, state, cache, home: base.clone(), programs: base, channel: Channel::Pipe };
    OpenProject::open(&work, &places, BookReading::Trusted).unwrap()
}
