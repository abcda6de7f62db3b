//! The first look at a large repository: the same bytes each time, what it finds, and what goes on after it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::fixture::Fixture;

/// How many sources are more than a first look reads whole.
const MANY: usize = 700;

/// A repository that is too large to be read at once. One file alone has the word `marzipan`, in a body.
fn large() -> Fixture {
    let fixture = Fixture::folder().unborn();
    for n in 0..MANY {
        let word = if n == 613 { "marzipan" } else { "flour" };
        let text = format!(
            "/// Bakes cake {n}.\npub fn bake_{n}(oven: &Oven) {{\n    oven.heat();\n    let _ = \"{word}\";\n}}\n"
        );
        fixture.write(&format!("src/shelf{}/cake{n}.rs", n % 20), text);
    }
    fixture.commit("a bakery");
    fixture
}

const TASK: &str = "the marzipan is missing when a cake leaves the oven";

/// The folder in which what is read of the repository is kept.
fn cache_folder(fixture: &Fixture) -> Option<PathBuf> {
    let folder = fs::read_dir(fixture.base.join("cache/proem/context")).ok()?.next()?.ok()?;
    Some(folder.path())
}

/// Waits until what a process reads beside the others is kept.
fn wait_until_kept(fixture: &Fixture) {
    let began = Instant::now();
    let is_kept = || {
        let folder = cache_folder(fixture)?;
        (folder.join("context-6.bin").exists() && !folder.join("index-failure.txt").exists()).then_some(())
    };
    while is_kept().is_none() {
        assert!(began.elapsed() < Duration::from_mins(5), "nothing was kept");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Lets no process keep anything.
fn keeping_nothing(fixture: &mut Fixture) {
    let file = fixture.base.join("no-folder");
    fs::write(&file, "").unwrap();
    fixture.set("XDG_CACHE_HOME", file);
}

#[test]
fn first_looks_give_the_same_bytes_and_find_what_one_file_alone_says() {
    let mut fixture = large();
    keeping_nothing(&mut fixture);
    let look = || fixture.proem(&["find", TASK, "--json"]);
    let (first, second) = (look(), look());
    assert_eq!(first.stdout(), second.stdout());
    let found = first.json();
    assert_eq!(found["files"][0]["path"], "src/shelf13/cake613.rs", "{found}");
    assert_eq!(found["files"][0]["symbols"][0]["name"], "bake_613");
    assert!(
        first.stderr().contains("this is a first look: the task's words were counted in 700 files"),
        "{}",
        first.stderr()
    );
    let prompt = || fixture.proem(&["assemble", TASK]).stdout().to_owned();
    assert_eq!(prompt(), prompt());
}

#[test]
fn the_rest_is_read_beside_the_answer_and_then_all_is_known() {
    let fixture = large();
    let first = fixture.proem(&["find", TASK, "--json"]);
    assert!(first.stderr().contains("first look"), "{}", first.stderr());
    wait_until_kept(&fixture);
    let second = fixture.proem(&["find", TASK, "--json"]);
    assert_eq!(second.stderr(), "");
    let mut waited = large();
    waited.set("XDG_CACHE_HOME", waited.base.join("other"));
    let whole = waited.proem(&["find", TASK, "--json", "--wait"]);
    let without_count =
        |text: &str| text.lines().filter(|line| !line.contains("\"read\"")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_count(second.stdout()), without_count(whole.stdout()));
    let order = |text: &str| {
        let found: serde_json::Value = serde_json::from_str(text).unwrap();
        found["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(order(first.stdout()).first(), order(second.stdout()).first());
}

#[test]
fn what_is_read_at_once_gives_the_same_bytes_when_it_is_kept() {
    let fixture = Fixture::folder().committed();
    let look = || fixture.proem(&["find", "tell the time at noon"]).transcript();
    assert_eq!(look(), look());
    let prompt = || fixture.proem(&["assemble", "tell the time at noon"]).stdout().to_owned();
    assert_eq!(prompt(), prompt());
    assert!(!cache_folder(&fixture).unwrap().join("index.lock").exists(), "there was nothing to go on with");
}

#[test]
fn nothing_goes_on_where_nothing_can_be_kept_or_nothing_is_to_be_recorded() {
    let mut fixture = large();
    fixture.proem(&["assemble", TASK, "--no-record"]);
    assert!(cache_folder(&fixture).is_none_or(|folder| !folder.join("index.lock").exists()));
    keeping_nothing(&mut fixture);
    let run = fixture.proem(&["find", TASK]);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert!(!run.stderr().contains("go on"), "{}", run.stderr());
}

#[test]
fn a_process_that_failed_is_named_by_doctor_and_not_started_again_at_once() {
    let fixture = large();
    assert_eq!(fixture.proem(&["index"]).code(), 0);
    let folder = cache_folder(&fixture).unwrap();
    assert!(!fixture.proem(&["doctor"]).stdout().contains("whole repository"));
    fs::remove_file(folder.join("context-6.bin")).unwrap();
    fs::write(folder.join("index-failure.txt"), "the disk\x1b[2J is full").unwrap();
    let doctor = fixture.proem(&["doctor"]).stdout().to_owned();
    assert!(doctor.contains("the whole repository could not be read and kept: the disk"), "{doctor}");
    assert!(!doctor.contains('\x1b'), "{doctor}");
    fixture.proem(&["find", TASK]);
    assert!(folder.join("index-failure.txt").exists(), "it rests");
    // With `--wait` the reading is done, and the note ends when the process has finished.
    assert_eq!(fixture.proem(&["find", TASK, "--wait"]).code(), 0);
    assert_eq!(fixture.proem(&["index"]).code(), 0);
    assert!(!folder.join("index-failure.txt").exists());
}

#[test]
fn a_second_process_ends_at_once_and_a_planted_link_is_not_locked() {
    let fixture = large();
    assert_eq!(fixture.proem(&["index"]).code(), 0);
    let folder = cache_folder(&fixture).unwrap();
    fs::remove_file(folder.join("context-6.bin")).unwrap();
    let lock = fs::File::open(folder.join("index.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(fixture.proem(&["index"]).code(), 0);
    assert!(!folder.join("context-6.bin").exists(), "the other one is at it");
    drop(lock);
    fs::remove_file(folder.join("index.lock")).unwrap();
    std::os::unix::fs::symlink(fixture.base.join("elsewhere"), folder.join("index.lock")).unwrap();
    assert_eq!(fixture.proem(&["find", TASK]).code(), 0);
    assert_eq!(fixture.proem(&["index"]).code(), 3);
    assert!(!fixture.base.join("elsewhere").exists() && !folder.join("context-6.bin").exists());
}

#[test]
fn a_flood_of_a_tasks_words_in_one_file_does_not_bury_the_others() {
    let mut fixture = large();
    keeping_nothing(&mut fixture);
    fixture.write("src/flood.rs", format!("// {}\n", "marzipan cake oven leaves ".repeat(20_000)));
    fixture.commit("a flood");
    let found = fixture.proem(&["find", TASK, "--json"]).json();
    let paths: Vec<_> = found["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert!(paths.iter().take(2).any(|path| *path == "src/shelf13/cake613.rs"), "{paths:?}");
}

#[test]
fn a_first_look_reads_a_task_in_another_language() {
    let mut fixture = large();
    keeping_nothing(&mut fixture);
    fixture.write(
        "src/discount.rs",
        "/// Takes a discount off.\npub fn apply_discount(total: u64) -> u64 {\n    total\n}\n",
    );
    fixture.commit("discounts");
    let found = fixture.proem(&["find", "Der Rabatt im Warenkorb ist zu hoch", "--json"]).json();
    assert_eq!(found["files"][0]["path"], "src/discount.rs", "{found}");
}
