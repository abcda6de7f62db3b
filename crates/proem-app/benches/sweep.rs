//! The time of a whole sweep of actions to the outbox, beside the syncs that it needs and nothing else.
//!
//! A sweep writes what became of an action with the next one's intent and exact bytes, and then the file. The loop
//! beside it does on the same disk what of that has to reach the disk: two pages added to a log and synced, a file
//! written, synced, linked and its folder synced, and the two lines of the witness, each synced. A second loop leaves
//! the witness out: that is what a sweep needed before there was one.
//!
//! An agent's text is held for five minutes at least, and the bench waits for that. `cargo bench -p proem-app --bench
//! sweep`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a bench reads the clock and prints"
)]

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use proem_app::effects::ActionDesk;
use proem_app::effects::propose::parse_action;
use proem_app::effects::sweep::{CredentialReading, SweepAttempt};
use proem_app::places::{Channel, Places};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;
use proem_app::when;
use proem_store::StoreAccess;
use proem_store::record::{Actor, ActorKind, EffectsPower, EffectsSwitch};
use serde_json::json;
use tempfile::TempDir;

/// How many actions are swept, few and many: what grows faster than they do is seen.
const ACTIONS: [usize; 2] = [200, 1_000];
/// How long the shortest hold of an outside text is, and a little.
const HOLD: Duration = Duration::from_secs(302);
/// The size of a page of the log, with its header.
const PAGE: usize = 4_096 + 24;
/// The lines that the witness has of an effect, and the bytes of one.
const WITNESSED: usize = 2;
const LINE: usize = 400;

fn main() {
    let runtime = records::runtime().unwrap();
    let folders = ACTIONS.map(|count| (count, TempDir::new_in(".").unwrap()));
    let homes = folders.each_ref().map(|(count, folder)| {
        let base = folder.path().canonicalize().unwrap();
        let project = project(&base);
        let proposing = runtime.block_on(propose(&project, *count));
        (*count, base, project, proposing)
    });
    std::thread::sleep(HOLD);
    for (count, base, project, proposing) in homes {
        let before = processor();
        let sweeping = runtime.block_on(time_sweep(&project, count));
        let worked = processor() - before;
        let before = processor();
        let syncs = syncs(&base.join("witnessed"), count, WITNESSED);
        let of_syncs = processor() - before;
        let unwitnessed = self::syncs(&base.join("unwitnessed"), count, 0);
        println!(
            "{count} actions: proposed in {} ms, swept in {} ms, {} ms of them the processor's; the syncs alone take \
             {} ms, {} ms of them the processor's, and {} ms without the witness",
            proposing.as_millis(),
            sweeping.as_millis(),
            worked.as_millis(),
            syncs.as_millis(),
            of_syncs.as_millis(),
            unwitnessed.as_millis()
        );
    }
}

/// How long the processor has worked for this process: of `/proc/self/stat`, in hundredths of a second (proc(5)).
fn processor() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// Proposes so many mails in a project that has nothing else.
async fn propose(project: &OpenProject, count: usize) -> Duration {
    let opened = records::open_records(project, StoreAccess::Write).await.unwrap();
    let actor = records::actor(&proem_runtime::Environment::inherited(), Channel::Pipe);
    let actor = Actor { kind: ActorKind::Person, ..actor };
    let switch = EffectsSwitch {
        project: records::records_owner(project),
        actor,
        at: when::time_now(),
        power: EffectsPower::On,
    };
    opened.store.switch_effects(switch).await.unwrap();
    opened.store.close().await;

    let begun = Instant::now();
    let desk = ActionDesk::open(project, StoreAccess::Write).await.unwrap().value;
    for number in 0..count {
        desk.propose(&parse_action(mail(number).as_bytes()).unwrap()).await.unwrap();
    }
    desk.close().await;
    begun.elapsed()
}

/// Sweeps them: the whole of what a process of its own does.
async fn time_sweep(project: &OpenProject, count: usize) -> Duration {
    let begun = Instant::now();
    let desk = ActionDesk::open(project, StoreAccess::Write).await.unwrap().value;
    let report = desk.sweep(CredentialReading::FilesAlone, &mut |_change| {}).await.unwrap();
    desk.close().await;
    let taken = begun.elapsed();
    let performed = report.changes.iter().filter(|change| change.attempt == SweepAttempt::Performed).count();
    assert_eq!(performed, count, "{:?} {:?}", report.obstacles, report.changes.first());
    taken
}

/// A user who sends mail to the outbox, and a folder that is no repository.
fn project(base: &Path) -> OpenProject {
    let [config, state, cache, work, outbox] =
        ["config", "state", "cache", "work", "outbox"].map(|name| base.join(name));
    for folder in [&config, &state, &cache, &work, &outbox] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
    }
    let settings = format!(
        "[effects]\noutbox = {:?}\n[effects.mail]\nfrom = \"proem@corp.example\"\n[records]\nkeep = \"content\"\n",
        outbox.display().to_string()
    );
    fs::write(config.join("config.toml"), settings).unwrap();
    let shipped = include_str!("../../proem-engine/data/policy.toml");
    let policy = shipped
        .replace("level = \"monitoring\"\n\n# Whose", "level = \"tactical\"\n\n# Whose")
        .replace("domains = []", "domains = [\"corp.example\"]")
        .replace("email_stakeholder = 30", "email_stakeholder = 5")
        .replace("first_hold = 30", "first_hold = 5");
    let policy = format!("{policy}\n[[recipients]]\nname = \"Sam\"\naddress = \"sam@corp.example\"\n");
    fs::write(config.join("policy.toml"), policy).unwrap();
    let places =
        Places { config, state, cache, home: base.to_owned(), programs: base.to_owned(), channel: Channel::Pipe };
    OpenProject::open(&work, &places, BookReading::Trusted).unwrap()
}

/// An action as an agent gives it.
fn mail(number: usize) -> String {
    json!({
        "action": "email_stakeholder",
        "target": "sam@corp.example",
        "fields": {
            "subject": format!("Build {number} is red"),
            "body": "A line of a mail as people write them.\n".repeat(20),
        },
        "causes": [{ "id": format!("signal-{number}"), "revision": "1" }],
    })
    .to_string()
}

/// The syncs that this many actions need, and nothing else.
fn syncs(base: &Path, count: usize, witnessed: usize) -> Duration {
    let folder = base.join("plain");
    fs::create_dir_all(&folder).unwrap();
    let mut witness = OpenOptions::new().create(true).append(true).open(base.join("witness")).unwrap();
    let mut log = OpenOptions::new().create(true).append(true).open(base.join("plain.log")).unwrap();
    let pages = [7; 2 * PAGE];
    let begun = Instant::now();
    for number in 0..count {
        log.write_all(&pages).unwrap();
        log.sync_data().unwrap();
        for _ in 0..witnessed {
            witness.write_all(&[7; LINE]).unwrap();
            witness.sync_data().unwrap();
        }
        let (beside, name) = (folder.join(format!(".{number}")), folder.join(format!("{number}.eml")));
        let mut file = File::create(&beside).unwrap();
        file.write_all(mail(number).as_bytes()).unwrap();
        file.sync_all().unwrap();
        fs::hard_link(&beside, &name).unwrap();
        fs::remove_file(&beside).unwrap();
        File::open(&folder).unwrap().sync_all().unwrap();
    }
    log.write_all(&pages).unwrap();
    log.sync_data().unwrap();
    begun.elapsed()
}
