//! Reading histories: of friendly, odd, incomplete and hostile repositories.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use proem_risk::history::{History, Mends, ObjectId};
use proem_risk::path::RepoPath;
use proem_runtime::Error;
use proem_runtime::git::{GitLimits, GitProgram, Repository, discover_repository_around};
use proem_runtime::history::{HistoryReading, HistoryWanted, read_repository_history};

use fixture::Fixture;

const NOW: i64 = 1_750_000_000;

/// A repository with ways to read it.
struct Scene {
    fixture: Fixture,
    git: GitProgram,
    cache: PathBuf,
}

impl Scene {
    fn new(fixture: Fixture) -> Self {
        let git = fixture.program();
        let cache = fixture.base.join("cache");
        Self { fixture, git, cache }
    }

    /// A repository that `git fast-import` made of a stream.
    fn imported(stream: &[u8]) -> Self {
        let fixture = Fixture::unborn();
        let mut command = Command::new("git");
        command.current_dir(&fixture.repo).args(["fast-import", "--quiet"]).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stream).unwrap();
        assert!(child.wait().unwrap().success());
        Self::new(fixture)
    }

    fn repository(&self) -> Repository {
        discover_repository_around(&self.git, &self.fixture.repo, Duration::from_mins(1)).unwrap().unwrap()
    }

    fn id(&self, revision: &str) -> ObjectId {
        ObjectId::parse(self.fixture.git(&["rev-parse", revision]).trim().as_bytes()).unwrap()
    }

    fn wanted(&self, revision: &str) -> HistoryWanted {
        let tip = self.id(revision);
        HistoryWanted { tips: vec![tip], base: Some(tip), now: NOW, ..HistoryWanted::default() }
    }

    fn try_read(&self, wanted: &HistoryWanted) -> Result<HistoryReading, Error> {
        read_repository_history(&self.git, &self.repository(), wanted, None, &|_| ())
    }

    fn read(&self, revision: &str) -> History {
        self.try_read(&self.wanted(revision)).unwrap().history
    }

    fn read_cached(&self, revision: &str) -> HistoryReading {
        read_repository_history(&self.git, &self.repository(), &self.wanted(revision), Some(&self.cache), &|_| ())
            .unwrap()
    }

    /// The only kept history.
    fn kept(&self) -> PathBuf {
        let mut files: Vec<PathBuf> = fs::read_dir(&self.cache).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

/// Each commit, oldest first: subject, touched paths.
fn history_lines(history: &History) -> Vec<String> {
    let touch = |touch: &proem_risk::history::Touch| {
        let from = touch.from.map(|from| format!("{}=>", history.path(from).to_text())).unwrap_or_default();
        format!(" {:?}:{from}{}", touch.status, history.path(touch.path).to_text())
    };
    let commit = |at| {
        let touches: String = history.touches(at).iter().map(touch).collect();
        format!("{}{touches}", history.subject(at))
    };
    (0..history.commits().len())
        .map(|at| commit(proem_risk::history::CommitIndex(u32::try_from(at).unwrap())))
        .collect()
}

fn grown() -> Scene {
    let fixture = Fixture::committed();
    fixture.write("src/b.rs", "1\n2\n3\n");
    fixture.commit("fix: add b");
    fixture.git(&["mv", "src/b.rs", "src/c.rs"]);
    fixture.commit("move it");
    fixture.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    fixture.write("side.txt", "x\n");
    fixture.commit("a side");
    fixture.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    fixture.write("other.txt", "x\n");
    fixture.commit("another side");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.git(&["merge", "-q", "-m", "an octopus", "side", "other"]);
    fixture.git(&["rm", "-q", "a.txt"]);
    fixture.commit("Revert \"first\"\n\nThis reverts commit 1.");
    Scene::new(fixture)
}

#[test]
fn all_of_a_history_is_read() {
    let scene = grown();
    let history = scene.read("HEAD");
    let mut lines = history_lines(&history);
    lines[2..5].sort();
    assert_eq!(
        lines,
        [
            "first Added:a.txt",
            "fix: add b Added:src/b.rs",
            "a side Added:side.txt",
            "another side Added:other.txt",
            "move it Renamed:src/b.rs=>src/c.rs",
            "an octopus",
            "Revert \"first\" Deleted:a.txt",
        ]
    );
    let mends: Vec<Mends> = history.commits().iter().map(|commit| commit.mends).collect();
    assert_eq!((mends[1], mends[6]), (Mends::Fix, Mends::Revert));
    let octopus = history.find(&scene.id("HEAD~1")).unwrap();
    assert_eq!(history.parents(octopus).len(), 3);
    let past = history.past(history.find(&scene.id("HEAD")).unwrap());
    assert!(past.file(&RepoPath::new("src/b.rs")).is_none() && past.file(&RepoPath::new("src/c.rs")).is_some());
    assert_eq!(past.left_out().merges, 1);
}

#[test]
fn along_first_parents_a_merge_stands_for_what_it_brought() {
    let scene = grown();
    let read = scene.try_read(&HistoryWanted { first_parent: true, ..scene.wanted("HEAD") }).unwrap();
    assert_eq!(
        history_lines(&read.history)[3..],
        ["an octopus Added:other.txt Added:side.txt".to_owned(), "Revert \"first\" Deleted:a.txt".to_owned()]
    );
    assert_eq!(read.history.commits().len(), 5);
}

#[test]
fn names_are_bytes_and_people_may_be_called_anything() {
    let mut stream = Vec::new();
    let who = "Ann \u{1} |x| <A@Example.ORG> 1700000000 +0000";
    let message = "\n\n :100644 subject\x01\n\nbody\n";
    write!(stream, "commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {}\n{message}", message.len()).unwrap();
    for name in [&br#""a\nb""#[..], br#""\377\376""#, br#"":100644 x""#, br#""tab\there""#, b"plain", br#""\001""#] {
        stream.extend_from_slice(b"\nM 100644 inline ");
        stream.extend_from_slice(name);
        stream.extend_from_slice(b"\ndata 2\nx\n");
    }
    write!(stream, "\ncommit refs/heads/main\ncommitter <> 1700000100 +0000\ndata 0\nM 120000 inline link\ndata 1\na")
        .unwrap();
    let history = Scene::imported(&stream).read("main");
    let names: Vec<&[u8]> = history
        .touches(proem_risk::history::CommitIndex(0))
        .iter()
        .map(|touch| history.path(touch.path).as_bytes())
        .collect();
    assert_eq!(names, [&b"\x01"[..], b":100644 x", b"a\nb", b"plain", b"tab\there", b"\xff\xfe"]);
    assert_eq!(history.subject(proem_risk::history::CommitIndex(0)), ":100644 subject\u{1}");
    let ann = history.person_with("a@example.org").unwrap();
    assert_eq!(history.by(ann).len(), 1);
    assert_eq!(history_lines(&history)[1], " Added:link");
}

#[test]
fn dates_that_cannot_be_true_are_corrected_and_end_nothing() {
    let mut stream = String::new();
    for (number, at) in
        [1_600_000_000_i64, 0, 1_600_000_200, 4_294_967_296, 1_600_000_100, 1_600_000_300].iter().enumerate()
    {
        stream += &format!(
            "commit refs/heads/main\nmark :{}\ncommitter A <a@x> {at} +0000\ndata 1\n{number}\nM 100644 inline f\ndata 2\n{number}\n\n",
            number + 1
        );
    }
    let scene = Scene::imported(stream.as_bytes());
    let history = scene.read("main");
    let dates: Vec<i64> = history.commits().iter().map(|commit| commit.at - 1_600_000_000).collect();
    assert_eq!(dates, [0, 0, 200, 200, 100, 300]);
    assert_eq!(history.missing().misdated, 2);
    let window = scene.try_read(&HistoryWanted { since: Some(1_600_000_150), ..scene.wanted("main") }).unwrap().history;
    assert_eq!((window.commits().len(), window.missing().since), (3, Some(1_600_000_150)));
}

#[test]
fn settings_of_the_repository_change_nothing() {
    let scene = grown();
    let plain = scene.read("HEAD");
    for (key, value) in [
        ("log.showRoot", "false"),
        ("log.showSignature", "true"),
        ("log.decorate", "full"),
        ("log.follow", "true"),
        ("log.diffMerges", "separate"),
        ("diff.renames", "copies"),
        ("diff.renameLimit", "1"),
        ("diff.relative", "true"),
        ("diff.ignoreSubmodules", "all"),
        ("diff.orderFile", "a.txt"),
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
        ("i18n.logOutputEncoding", "UTF-16"),
        ("format.pretty", "email"),
        ("format.notes", "true"),
        ("core.quotePath", "true"),
        ("core.commitGraph", "true"),
        ("mailmap.file", "a.txt"),
    ] {
        scene.fixture.git(&["config", key, value]);
    }
    scene.fixture.write(".gitattributes", "* -diff\n");
    assert_eq!(history_lines(&scene.read("HEAD")), history_lines(&plain));
    assert_eq!(scene.read("HEAD"), plain);
}

#[test]
fn replacements_and_grafts_are_not_believed() {
    let scene = grown();
    let plain = scene.read("HEAD");
    let (second, first) = (scene.id("HEAD~2"), scene.id("HEAD~3"));
    scene.fixture.git(&["replace", &scene.id("HEAD").to_string(), &first.to_string()]);
    scene.fixture.write(".git/info/grafts", format!("{second}\n"));
    let repository = scene.repository();
    let tip = plain.commits().last().unwrap().id;
    let wanted = HistoryWanted { tips: vec![tip], now: NOW, ..HistoryWanted::default() };
    assert_eq!(read_repository_history(&scene.git, &repository, &wanted, None, &|_| ()).unwrap().history, plain);
}

#[test]
fn a_kept_history_never_changes_the_answer() {
    let scene = grown();
    let counts = |read: &HistoryReading| (read.cached, read.new);
    assert_eq!(counts(&scene.read_cached("HEAD~2")), (0, 3));
    let next = scene.read_cached("HEAD");
    assert_eq!((counts(&next), next.history == scene.read("HEAD")), ((3, 4), true));
    let warm = scene.read_cached("HEAD");
    assert_eq!((counts(&warm), warm.history == next.history, warm.notes.len()), ((7, 0), true, 0));
    // An older commit, another branch, and a history that was rewritten.
    let older = scene.read_cached("HEAD~1");
    assert_eq!((counts(&older), older.history == scene.read("HEAD~1")), ((6, 0), true));
    let branch = scene.read_cached("side");
    assert_eq!((counts(&branch), branch.history == scene.read("side")), ((3, 0), true));
    assert_eq!(counts(&scene.read_cached("HEAD")), (7, 0));
    scene.fixture.git(&["commit", "-q", "--amend", "-m", "said differently"]);
    let amended = scene.read_cached("HEAD");
    assert_eq!((counts(&amended), amended.history == scene.read("HEAD")), ((6, 1), true));
}

#[test]
fn a_damaged_or_foreign_kept_history_is_read_anew() {
    let scene = grown();
    let whole = scene.read_cached("HEAD").history;
    let bytes = fs::read(scene.kept()).unwrap();
    let damaged = (0..bytes.len()).step_by(bytes.len() / 40).map(|at| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        damaged
    });
    let foreign = [Vec::new(), b"proem history 0\n".to_vec(), bytes[..bytes.len() / 2].to_vec()];
    for bytes in damaged.chain(foreign) {
        fs::write(scene.kept(), &bytes).unwrap();
        let read = scene.read_cached("HEAD");
        assert!(read.history == whole);
        assert_eq!((read.new, read.notes.len()), (7, 1), "{:?}", read.notes);
    }
    assert_eq!(scene.read_cached("HEAD").notes, [""; 0]);
    // A history kept by an earlier Proem is read anew without a word.
    for before in [&b"proem history 1\n"[..], b"proem history 2\nmore"] {
        fs::write(scene.kept(), before).unwrap();
        let read = scene.read_cached("HEAD");
        assert_eq!((read.new, read.notes.len(), read.history == whole), (7, 0, true));
    }
    // A commit that is gone, as after a collection of garbage.
    fs::remove_file(scene.kept()).unwrap();
    fs::create_dir(scene.kept_name()).unwrap();
    let read = scene.read_cached("HEAD");
    assert!(read.history == whole && read.notes.len() == 2, "{:?}", read.notes);
}

impl Scene {
    /// The path of the kept history, whatever is there.
    fn kept_name(&self) -> PathBuf {
        let other = self.fixture.base.join("elsewhere");
        read_repository_history(&self.git, &self.repository(), &self.wanted("HEAD"), Some(&other), &|_| ()).unwrap();
        let name = fs::read_dir(&other).unwrap().next().unwrap().unwrap().file_name();
        self.cache.join(name)
    }
}

#[test]
fn readers_at_once_disturb_nobody() {
    let scene = grown();
    let whole = scene.read("HEAD");
    std::thread::scope(|scope| {
        for revision in ["HEAD", "HEAD~1", "HEAD", "side", "HEAD", "other"] {
            let (scene, whole) = (&scene, &whole);
            scope.spawn(move || {
                let read = scene.read_cached(revision);
                assert!(revision != "HEAD" || read.history == *whole);
                assert_eq!(read.notes, [""; 0]);
            });
        }
    });
    assert!(scene.read_cached("HEAD").history == whole);
}

#[test]
fn mailmap_and_ignored_commits_are_those_of_the_base() {
    let scene = grown();
    scene.read_cached("HEAD");
    let ignored = scene.id("HEAD~2");
    scene.fixture.write(".mailmap", "Ann Other <ann@other.org> <ann@example.org>\n");
    scene.fixture.write(".git-blame-ignore-revs", format!("# moved\n{ignored} # it\n12345\n"));
    scene.fixture.commit("say who is who");
    let read = scene.read_cached("HEAD");
    assert!(
        read.history.person_with("ann@other.org").is_some() && read.history.person_with("ann@example.org").is_none()
    );
    let index = read.history.find(&ignored).unwrap();
    assert!(read.history.commit(index).unwrap().is_ignored);
    assert_eq!(read.history.commits().iter().filter(|commit| commit.is_ignored).count(), 1);
    assert_eq!((read.cached, read.new, read.notes.len()), (7, 1, 0), "{:?}", read.notes);
    // The change itself brings them: its base doesn't know them.
    let wanted = HistoryWanted { base: Some(scene.id("HEAD~1")), ..scene.wanted("HEAD") };
    let history = scene.try_read(&wanted).unwrap().history;
    assert!(history.person_with("ann@example.org").is_some());
    assert!(history.commits().iter().all(|commit| !commit.is_ignored));
    // A link is not followed.
    fs::remove_file(scene.fixture.repo.join(".mailmap")).unwrap();
    fixture::link("a", scene.fixture.repo.join(".mailmap"));
    scene.fixture.commit("a link");
    let read = scene.try_read(&scene.wanted("HEAD")).unwrap();
    assert_eq!(read.notes, ["`.mailmap` is not a regular file and was not read"]);
}

#[test]
fn branches_with_other_mailmaps_read_no_commit_twice() {
    let scene = grown();
    scene.read_cached("HEAD");
    for (branch, mail) in [("one", "ann@one.org"), ("two", "ann@two.org")] {
        scene.fixture.git(&["checkout", "-q", "-b", branch, "main"]);
        scene.fixture.write(".mailmap", format!("Ann <{mail}> <ann@example.org>\n"));
        scene.fixture.commit("say who is who");
    }
    for (branch, mail, new) in [("one", "ann@one.org", 1), ("two", "ann@two.org", 1), ("two", "ann@two.org", 0)] {
        let read = scene.read_cached(branch);
        assert_eq!((read.new, read.notes), (new, vec![]), "{branch}");
        assert!(read.history.person_with(mail).is_some() && read.history == scene.read(branch), "{branch}");
    }
    // The same commits, with the mailmap of another base.
    let wanted = HistoryWanted { base: Some(scene.id("main")), ..scene.wanted("two") };
    let read = read_repository_history(&scene.git, &scene.repository(), &wanted, Some(&scene.cache), &|_| ()).unwrap();
    assert_eq!((read.new, read.notes), (0, vec![]));
    assert!(read.history.person_with("ann@example.org").is_some());
}

#[test]
fn the_number_of_commits_is_limited_and_that_is_said() {
    let scene = grown();
    let read = |most_commits| scene.try_read(&HistoryWanted { most_commits, ..scene.wanted("HEAD") }).unwrap().history;
    assert_eq!((read(3).commits().len(), read(3).missing().capped), (3, true));
    assert_eq!((read(7).commits().len(), read(7).missing().capped), (7, false));
    let wanted = |revision| HistoryWanted { most_commits: 3, ..scene.wanted(revision) };
    let cached = |revision| {
        read_repository_history(&scene.git, &scene.repository(), &wanted(revision), Some(&scene.cache), &|_| ())
            .unwrap()
    };
    cached("HEAD~1");
    let read = cached("HEAD");
    assert_eq!((read.history.commits().len(), read.history.missing().capped, read.new), (3, true, 1));
}

/// A clone of a grown repository with an option.
fn clone(option: &str) -> Scene {
    let mut fixture = grown().fixture;
    fixture.git(&["config", "uploadpack.allowFilter", "true"]);
    let (from, to) = (format!("file://{}", fixture.repo.display()), fixture.base.join("clone"));
    fixture.git(&["clone", "-q", "--no-checkout", option, &from, to.to_str().unwrap()]);
    fixture.repo = to;
    Scene::new(fixture)
}

#[test]
fn incomplete_clones_are_labelled() {
    let shallow = clone("--depth=2").read("HEAD");
    assert!(shallow.missing().shallow && !shallow.missing().partial);
    // The files of the oldest commits are unknown: git compares them with nothing.
    assert_eq!(history_lines(&shallow), ["an octopus", "Revert \"first\" Deleted:a.txt"]);
    assert!(history_lines(&clone("--depth=3").read("HEAD")).iter().take(3).all(|commit| !commit.contains(':')));
    let partial = clone("--filter=blob:none");
    let history = partial.read("HEAD");
    assert!(history.missing().partial && !history.missing().shallow);
    assert_eq!(history_lines(&history), history_lines(&grown().read("HEAD")));
    assert_eq!(grown().read("HEAD").missing(), proem_risk::history::HistoryGaps::default());
}

#[test]
fn a_history_that_cannot_be_read_to_its_end_is_an_error() {
    let treeless = clone("--filter=tree:0");
    let error = treeless.try_read(&treeless.wanted("HEAD")).unwrap_err();
    assert!(matches!(error, Error::NotFetched { .. }), "{error}");
    assert!(error.to_string().contains("needs trees that this partial clone left out"), "{error}");
    assert!(
        error.to_string().contains("clone the repository again, without `--filter` or with `--filter=blob:none`"),
        "{error}"
    );
    let scene = grown();
    let gone = scene.id("HEAD~3").to_string();
    let (folder, name) = gone.split_at(2);
    fs::remove_file(scene.fixture.repo.join(".git/objects").join(folder).join(name)).unwrap();
    let error = scene.try_read(&scene.wanted("HEAD")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`git log` failed with exit code 128; `GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git \
         -c core.fsmonitor=false -c core.hooksPath=/dev/null fsck` finds the damage"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_commit_that_needs_more_memory_than_git_may_have_is_an_error() {
    let message = "x".repeat(48 << 20);
    let commit = format!(
        "commit refs/heads/main\ncommitter Ann <ann@example.org> 1700000000 +0000\ndata {}\n{message}\n\n",
        message.len()
    );
    let mut scene = Scene::imported(commit.as_bytes());
    assert_eq!(scene.read("main").commits().len(), 1);
    scene.git = scene.git.within(GitLimits { memory: 32 << 20, ..GitLimits::default() });
    match scene.try_read(&scene.wanted("main")).unwrap_err() {
        Error::GitFailed { said, .. } => assert!(said.measure(|said| said.contains("memory")), "{} bytes", said.len()),
        error => panic!("{error}"),
    }
}

#[test]
fn reading_a_history_ends_with_its_time() {
    let mut scene = grown();
    let wanted = scene.wanted("HEAD");
    let repository = scene.repository();
    scene.git = scene.git.within(GitLimits { history: Duration::ZERO, ..GitLimits::default() });
    let error = read_repository_history(&scene.git, &repository, &wanted, None, &|_| ()).unwrap_err();
    assert!(matches!(error, Error::TimedOut { limit: Duration::ZERO, .. }), "{error}");
}

#[test]
fn a_deepened_clone_is_read_anew() {
    let scene = clone("--depth=2");
    let before = scene.read_cached("HEAD").history.commits().len();
    scene.fixture.git(&["fetch", "-q", "--unshallow"]);
    let read = scene.read_cached("HEAD");
    assert!(before < 7 && read.history.commits().len() == 7 && !read.history.missing().shallow);
}

#[test]
fn ids_of_sha_256_are_read_and_kept() {
    let fixture = Fixture::unborn_sha256();
    fixture.write("a.txt", "1\n");
    fixture.commit("first");
    fixture.git(&["checkout", "-q", "-b", "side"]);
    fixture.git(&["mv", "a.txt", "b.txt"]);
    fixture.commit("Fix the name");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("c.txt", "1\n");
    fixture.commit("third");
    fixture.git(&["merge", "-q", "-m", "merged", "side"]);
    let ignored = fixture.git(&["rev-parse", "HEAD~1"]);
    fixture.write(".git-blame-ignore-revs", ignored);
    fixture.write(".mailmap", "Ann Example <ann.example@example.org> <ann@example.org>\n");
    fixture.commit("settings");
    let scene = Scene::new(fixture);
    let first = scene.read_cached("HEAD");
    let again = scene.read_cached("HEAD");
    assert_eq!((first.new, again.new, again.cached), (5, 0, 5));
    assert_eq!((first.notes, again.notes), (vec![], vec![]));
    assert_eq!(first.history, again.history);
    let history = again.history;
    let renamed = history.find_path(&RepoPath::new("b.txt")).unwrap();
    let names = |revision: &str| {
        let touches = history.touches(history.find(&scene.id(revision)).unwrap()).iter();
        touches.map(|touch| history.path(touch.path).to_text()).collect::<Vec<_>>()
    };
    assert_eq!(names("HEAD~1^2"), ["b.txt"]);
    assert_eq!(history.path(renamed).to_text(), "b.txt");
    let commit = |revision: &str| history.commit(history.find(&scene.id(revision)).unwrap()).unwrap();
    assert_eq!((commit("HEAD~1^2").mends, commit("HEAD~1").is_merge), (Mends::Fix, true));
    assert!(commit("HEAD~2").is_ignored && !commit("HEAD~1^2").is_ignored);
    assert!(
        history.person_with("ann.example@example.org").is_some() && history.person_with("ann@example.org").is_none()
    );
    assert_eq!(scene.read("HEAD~1").commits().len(), 4);
}
