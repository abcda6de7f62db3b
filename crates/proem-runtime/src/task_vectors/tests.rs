use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use proptest::prelude::*;
use tempfile::TempDir;

use proem_engine::ErrorKind;

use super::*;

type Answer = fn(&ModelId, &[&str]) -> Result<Vec<Option<Vector>>, EngineError>;

/// An embedder that counts its calls and answers what it is told to.
struct Counting {
    model: ModelId,
    calls: Cell<usize>,
    answer: Answer,
}

impl Embedder for Counting {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EngineError> {
        self.calls.set(self.calls.get() + 1);
        (self.answer)(&self.model, texts)
    }
}

fn model(id: &str) -> ModelId {
    ModelId::new(id).unwrap()
}

fn embedder(id: &str) -> Counting {
    Counting { model: model(id), calls: Cell::new(0), answer: by_bytes }
}

/// A direction of 32 dimensions from a text's bytes. An empty text has none.
fn by_bytes(model: &ModelId, texts: &[&str]) -> Result<Vec<Option<Vector>>, EngineError> {
    let vector = |text: &&str| {
        let values = (0..32)
            .map(|at| text.bytes().map(|byte| f32::from(byte) * ((at + 1) as f32).sqrt()).sum::<f32>() + at as f32);
        (!text.is_empty()).then(|| Vector::new(model, values.collect())).transpose()
    };
    texts.iter().map(vector).collect()
}

fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cache/proem/task-vectors.json");
    (folder, path)
}

/// Opens a file that must be readable or missing.
#[track_caller]
fn open(path: &Path) -> TaskVectors {
    let (tasks, note) = TaskVectors::open(path.to_path_buf());
    assert_eq!(note, None);
    tasks
}

fn bits(vectors: &[Option<Vector>]) -> Vec<Option<Vec<u32>>> {
    let bits = |vector: &Vector| vector.values().iter().map(|value| value.to_bits()).collect();
    vectors.iter().map(|vector| vector.as_ref().map(bits)).collect()
}

const TASK: &str = "Open an issue. Tell the team.";
const TEXTS: [&str; 3] = ["open issue tell team", "open issue", ""];

#[test]
fn the_first_time_is_one_call_and_every_later_time_none() {
    let (_folder, path) = place();
    let embedder = embedder("m");
    let mut tasks = open(&path);
    let (first, calls) = tasks.embed_task(&embedder, &TEXTS, TASK).unwrap();
    assert_eq!((calls, first.len(), first[2].is_none()), (1, 3, true));
    let (again, calls) = tasks.embed_task(&embedder, &TEXTS, TASK).unwrap();
    assert_eq!((calls, bits(&again)), (0, bits(&first)));
    tasks.save().unwrap();
    let (reopened, calls) = open(&path).embed_task(&embedder, &TEXTS, "Open  an\tissue. Tell the ｔｅａｍ.").unwrap();
    assert_eq!((calls, bits(&reopened)), (0, bits(&first)));
}

#[test]
fn another_model_task_or_cut_of_it_is_embedded() {
    let (_folder, path) = place();
    let mut tasks = open(&path);
    let first = embedder("m");
    tasks.embed_task(&first, &TEXTS, TASK).unwrap();
    for (id, texts, task) in [
        ("n", &TEXTS[..], TASK),
        ("m", &TEXTS[..2], TASK),
        ("m", &["open issue tell", "team open issue", ""], TASK),
        ("m", &TEXTS, "open an issue. Tell the team."),
    ] {
        let mut tasks = tasks.clone();
        let (vectors, calls) = tasks.embed_task(&embedder(id), texts, task).unwrap();
        assert_eq!((calls, vectors.len()), (1, texts.len()), "{id} {texts:?} {task}");
        assert!(vectors.iter().flatten().all(|vector| vector.model().as_str() == id));
    }
    assert_eq!(tasks.embed_task(&first, &[], "").unwrap(), (Vec::new(), 0));
    assert_eq!(first.calls.get(), 1);
}

#[test]
fn the_least_recently_used_goes_first() {
    let (_folder, path) = place();
    let embedder = embedder("m");
    let calls = |tasks: &mut TaskVectors, number: usize| {
        let task = format!("task {number}");
        tasks.embed_task(&embedder, &[&task], &task).unwrap().1
    };
    let mut tasks = open(&path);
    (0..MAX_TASKS).for_each(|number| assert_eq!(calls(&mut tasks, number), 1));
    tasks.save().unwrap();
    // The order of use survives, and being asked again counts as use.
    let mut tasks = open(&path);
    assert_eq!(calls(&mut tasks, 0), 0);
    tasks.save().unwrap();
    let mut tasks = open(&path);
    assert_eq!(calls(&mut tasks, 1000), 1);
    assert_eq!((tasks.len(), tasks.is_empty()), (MAX_TASKS, false));
    assert_eq!((calls(&mut tasks, 0), calls(&mut tasks, 2), calls(&mut tasks, 1)), (0, 0, 1));
    tasks.save().unwrap();
    assert_eq!(open(&path).len(), MAX_TASKS);
}

#[test]
fn the_file_is_private_and_holds_no_word_of_a_task() {
    let (_folder, path) = place();
    let mut tasks = open(&path);
    tasks.save().unwrap();
    assert!(!path.exists(), "nothing changed, nothing is written");
    tasks.embed_task(&embedder("secret-model"), &TEXTS, TASK).unwrap();
    tasks.save().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for word in ["issue", "Open", "team", "secret-model"] {
        assert!(!text.contains(word), "{word}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    // An entry that was already the last used is no reason to write.
    fs::remove_file(&path).unwrap();
    let mut tasks = TaskVectors { changed: false, ..tasks };
    assert_eq!(tasks.embed_task(&embedder("secret-model"), &TEXTS, TASK).unwrap().1, 0);
    tasks.save().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_failure_passes_through_and_is_not_kept() {
    let (_folder, path) = place();
    let mut tasks = open(&path);
    let other = |_: &ModelId, texts: &[&str]| by_bytes(&model("other"), texts);
    let sizes = |model: &ModelId, _: &[&str]| {
        Ok(vec![Some(Vector::new(model, vec![1.0])?), Some(Vector::new(model, vec![0.0, 1.0])?), None])
    };
    for (answer, expected) in [
        ((|_, _| Err(EngineError::new(ErrorKind::Embedding, "it is asleep"))) as Answer, "it is asleep"),
        (|_, _| Ok(Vec::new()), "model `m` gave 0 vectors for 3 texts"),
        (other, "model `m` gave a vector of `other`"),
        (sizes, "model `m` gave vectors of 1 and of 2 dimensions"),
        (
            |model, _| Vector::new(model, vec![f32::NAN]).map(|v| vec![Some(v)]),
            "model `m` gave a vector with a number that is not finite",
        ),
    ] {
        let embedder = Counting { model: model("m"), calls: Cell::new(0), answer };
        let error = tasks.embed_task(&embedder, &TEXTS, TASK).unwrap_err();
        assert_eq!((error.to_string().as_str(), tasks.len()), (expected, 0));
    }
    assert_eq!(tasks.embed_task(&embedder("m"), &TEXTS, TASK).unwrap().1, 1);
}

#[test]
fn what_would_come_back_otherwise_is_not_kept() {
    let (_folder, path) = place();
    let mut tasks = open(&path);
    let vector = |id: &str, size: usize| Some(Vector::new(&model(id), vec![1.0; size]).unwrap());
    for vectors in
        [vec![vector("n", 2)], vec![vector("m", 2), vector("m", 2)], vec![vector("m", MAX_DIMENSION + 1)], vec![]]
    {
        tasks.put(&model("m"), TASK, &["a"], &vectors);
        assert!(tasks.is_empty(), "{vectors:?}");
    }
    tasks.put(&model("m"), TASK, &["a", "b"], &[vector("m", 2), vector("m", 3)]);
    tasks.put(&model("m"), TASK, &["a"; MAX_PARTS + 1], &vec![vector("m", 2); MAX_PARTS + 1]);
    assert!(tasks.is_empty());
    tasks.put(&model("m"), TASK, &["a"; MAX_PARTS], &vec![None; MAX_PARTS]);
    assert_eq!(tasks.get(&model("m"), TASK, &["a"; MAX_PARTS]), Some(vec![None; MAX_PARTS]));
}

#[test]
fn a_file_that_is_something_else_is_made_anew() {
    let (_folder, path) = place();
    let embedder = embedder("m");
    let mut tasks = open(&path);
    tasks.embed_task(&embedder, &TEXTS, TASK).unwrap();
    tasks.save().unwrap();
    let good = fs::read_to_string(&path).unwrap();
    let zero = "0".repeat(64);
    let with = |entry: &str| format!("{{\"version\":1,\"tasks\":{{\"{zero}\":{entry}}}}}");
    let kept = |used: &str, parts: &str| with(&format!("{{\"used\":{used},\"texts\":\"{zero}\",\"parts\":{parts}}}"));
    let many: Vec<String> = (0..=MAX_TASKS)
        .map(|at| format!("\"{at:064x}\":{{\"used\":1,\"texts\":\"{zero}\",\"parts\":[null]}}"))
        .collect();
    for (text, why) in [
        (String::new(), "are not valid JSON"),
        ("\0\u{1b}[2J".into(), "are not valid JSON"),
        (good.get(..good.len() / 2).unwrap().into(), "are not valid JSON"),
        ("[".repeat(100_000), "are not valid JSON"),
        ("[]".into(), "were written by another version of Proem"),
        (good.replace("\"version\":1", "\"version\":2"), "were written by another version of Proem"),
        ("{\"version\":1,\"tasks\":[]}".into(), "are damaged"),
        (good.replace("\"used\":1", "\"used\":-1"), "are damaged"),
        (kept("1", "[]"), "are damaged"),
        (kept("1", "[\"\"]"), "are damaged"),
        (kept("1", "[\"7fc00000\"]"), "are damaged"),
        (kept("1", "[\"3f80000\"]"), "are damaged"),
        (kept("1", "[\"+f800000\"]"), "are damaged"),
        (kept("1", "[\"3f800000\",\"3f8000003f800000\"]"), "are damaged"),
        (kept("1", &format!("[\"{}\"]", "3f800000".repeat(MAX_DIMENSION + 1))), "are damaged"),
        (kept("1", &format!("[{}null]", "null,".repeat(MAX_PARTS))), "are damaged"),
        (with("{}").replace(&zero, "short"), "are damaged"),
        (format!("{{\"version\":1,\"tasks\":{{{}}}}}", many.join(",")), "are too many"),
        (" ".repeat(MAX_FILE_BYTES + 1), "are too many"),
    ] {
        fs::write(&path, &text).unwrap();
        let (mut tasks, note) = TaskVectors::open(path.clone());
        let shown: String = text.chars().take(80).collect();
        assert_eq!(note, Some(format!("the stored task vectors {why} and are computed again")), "{shown}");
        assert_eq!(tasks.embed_task(&embedder, &TEXTS, TASK).unwrap().1, 1);
        tasks.save().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), good, "{shown}");
    }
    // Coordinates that are no vector's miss. The greatest number of uses leaves room for more.
    for parts in ["[\"00000000\"]", "[\"3f800000\"]"] {
        fs::write(&path, kept(&u64::MAX.to_string(), parts)).unwrap();
        let mut tasks = open(&path);
        assert_eq!(tasks.embed_task(&embedder, &["a"], TASK).unwrap().1, 1);
        assert_eq!(tasks.embed_task(&embedder, &["a"], TASK).unwrap().1, 0);
    }
}

#[test]
fn a_link_is_neither_read_nor_written_through() {
    let (folder, path) = place();
    let embedder = embedder("m");
    let target = folder.path().join("theirs");
    fs::write(&target, "theirs").unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for target in [target.clone(), folder.path().join("nothing")] {
        symlink(&target, &path).unwrap();
        let (mut tasks, note) = TaskVectors::open(path.clone());
        assert!(note.is_some_and(|note| note.contains("is a symbolic link")));
        assert_eq!(tasks.embed_task(&embedder, &TEXTS, TASK).unwrap().1, 1);
        assert!(matches!(tasks.save(), Err(Error::Link { .. })));
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(fs::read_to_string(target).unwrap(), "theirs");
    assert!(!folder.path().join("nothing").exists());
    let (mut tasks, _) = TaskVectors::open(PathBuf::from("/"));
    tasks.embed_task(&embedder, &TEXTS, TASK).unwrap();
    assert!(matches!(tasks.save(), Err(Error::NotBeneath { .. })));
}

proptest! {
    // Each case writes a file to the disk.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_comes_back_is_what_was_put(values in prop::collection::vec(-1.0e30_f32..1.0e30, 1..40)) {
        let model = model("m");
        let Ok(vector) = Vector::new(&model, values) else { return Ok(()) };
        let (_folder, path) = place();
        let mut tasks = open(&path);
        let put = [Some(vector), None];
        tasks.put(&model, TASK, &["a", "b"], &put);
        tasks.save().unwrap();
        // One of very few dimensions may not be kept, but it never comes back as another.
        if let Some(back) = open(&path).get(&model, TASK, &["a", "b"]) {
            prop_assert_eq!(bits(&back), bits(&put));
        }
    }
}
