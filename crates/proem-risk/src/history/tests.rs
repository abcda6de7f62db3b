use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// 2020-01-01.
const START: i64 = 1_577_836_800;
const DAY: i64 = 86_400;
const NOW: i64 = START + 1000 * DAY;

fn id(number: u32) -> ObjectId {
    ObjectId::parse(format!("{number:040x}").as_bytes()).unwrap()
}

/// A commit made on `day` by `author`. Touches are words such as `A:new`, `M:changed`, `D:gone`, `R:old:new`.
fn commit(number: u32, parents: &[u32], day: i64, author: &str, touches: &str) -> ListedCommit {
    let touch = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        let (path, from, status) = match *parts {
            ["A", path] => (path, None, FileStatus::Added),
            ["M", path] => (path, None, FileStatus::Modified),
            ["D", path] => (path, None, FileStatus::Deleted),
            ["R", from, path] => (path, Some(RepoPath::new(from)), FileStatus::Renamed),
            _ => panic!("{word}"),
        };
        ListedTouch { path: RepoPath::new(path), from, status }
    };
    ListedCommit {
        id: id(number),
        parents: parents.iter().map(|&parent| id(parent)).collect(),
        at: START + day * DAY,
        author: Person { mail: format!("{author}@x"), name: author.to_string() },
        subject: format!("commit {number}"),
        mends: if number.is_multiple_of(3) { Mends::Fix } else { Mends::Nothing },
        touches: touches.split_whitespace().map(touch).collect(),
    }
}

/// Commits in a row, a day apart, with the touches given.
fn row(touches: &[&str]) -> History {
    let parents = |number: u32| if number == 0 { vec![] } else { vec![number - 1] };
    let commits =
        (0..).zip(touches).map(|(number, touches)| commit(number, &parents(number), i64::from(number), "ann", touches));
    History::of(commits.collect(), NOW)
}

/// The paths that each file had, in the order of its touches, file by file.
fn files(history: &History) -> Vec<String> {
    let names = |file| {
        let touches = history.touching(file).iter().flat_map(|&commit| history.touches(commit));
        let names = touches.filter(|touch| touch.file == file).map(|touch| history.path(touch.path).to_text());
        names.collect::<Vec<_>>().join(" ")
    };
    (0..history.files()).map(|file| names(FileId(file))).collect()
}

#[test]
fn a_file_is_one_through_exact_renames() {
    for (touches, expected) in [
        (&["A:a", "M:a", "M:a"][..], &["a a a"][..]),
        (&["A:a", "R:a:b", "M:b"], &["a b b"]),
        (&["A:a", "R:a:b", "R:b:a", "M:a"], &["a b a a"]),
        (&["A:a A:b", "R:a:b R:b:a", "M:a"], &["a b", "b a a"]),
        (&["A:a", "R:a:b A:a", "M:a", "M:b"], &["a b b", "a a"]),
        (&["A:a", "R:a:b", "A:a"], &["a b", "a"]),
        (&["A:a", "D:a", "A:a"], &["a a a"]),
        // Its beginning is missing, as in a shallow clone.
        (&["R:a:b", "M:b"], &["b b"]),
        (&["M:a", "D:a"], &["a a"]),
        // A folder moves.
        (&["A:d/x A:d/y", "R:d/x:e/x R:d/y:e/y", "M:e/x"], &["d/x e/x e/x", "d/y e/y"]),
    ] {
        assert_eq!(files(&row(touches)), expected, "{touches:?}");
    }
}

#[test]
fn a_branch_that_goes_on_with_the_old_name_means_the_renamed_file() {
    let commits = vec![
        commit(0, &[], 0, "ann", "A:a"),
        commit(1, &[0], 1, "ann", "R:a:b"),
        commit(2, &[0], 2, "bob", "M:a"),
        commit(3, &[1, 2], 3, "ann", ""),
        commit(4, &[3], 4, "ann", "M:b"),
    ];
    let history = History::of(commits, NOW);
    assert_eq!(files(&history), ["a b a b"]);
    assert_eq!(history.last_path(FileId(0)).to_text(), "b");
    let merged = history.past(history.find(&id(3)).unwrap());
    assert_eq!(merged.file(&RepoPath::new("b")), Some(FileId(0)));
    assert_eq!(merged.left_out(), UncountedCommits { merges: 1, bots: 0, ignored: 0 });
}

#[test]
fn a_past_knows_a_file_by_the_name_that_it_had_then() {
    let history = row(&["A:a A:z", "R:a:b", "M:b D:z", "A:a"]);
    for (before, path, expected) in [
        (0, "a", None),
        (1, "a", Some(0)),
        (1, "b", None),
        (2, "a", None),
        (2, "b", Some(0)),
        (2, "z", Some(1)),
        (3, "z", None),
        (4, "a", Some(2)),
        (4, "nothing", None),
    ] {
        let past = history.before(CommitIndex(before));
        assert_eq!(past.file(&RepoPath::new(path)), expected.map(FileId), "{path} before {before}");
    }
    assert_eq!(history.nothing().commits().count(), 0);
    assert_eq!(history.past(CommitIndex(9)).commits().count(), 0);
}

#[test]
fn a_date_that_cannot_be_true_is_that_of_the_newest_parent() {
    let late = (NOW + 2 * DAY - START) / DAY;
    let early = -START / DAY;
    for (days, expected, misdated) in [
        (&[5, 6, 7][..], &[5, 6, 7][..], 0),
        (&[5, early, 7], &[5, 5, 7], 1),
        (&[5, late, late], &[5, 5, 5], 2),
        // 2106, and a root without any parent to go by.
        (&[early, 6, 50_000], &[6, 6, 6], 2),
        // Skew that may well be true stays.
        (&[5, 3, 4], &[5, 3, 4], 0),
    ] {
        let parents = |n: u32| if n == 0 { vec![] } else { vec![n - 1] };
        let commits = (0..).zip(days).map(|(n, &day)| commit(n, &parents(n), day, "ann", "M:a"));
        let history = History::of(commits.collect(), NOW);
        let days: Vec<i64> = history.commits().iter().map(|commit| (commit.at - START) / DAY).collect();
        assert_eq!((days.as_slice(), history.missing().misdated), (expected, misdated));
    }
    let hopeless = History::of(vec![commit(0, &[], early, "ann", "")], NOW);
    assert_eq!(hopeless.commits().first().unwrap().at, 0);
}

#[test]
fn what_no_metric_counts_is_left_out_and_counted() {
    let mut bot = commit(3, &[2], 3, "dependabot[bot]", "M:a");
    bot.author.name = "dependabot[bot]".to_string();
    let commits =
        [commit(0, &[], 0, "ann", "A:a"), commit(1, &[0], 1, "ann", "M:a"), commit(2, &[0, 1], 2, "ann", ""), bot];
    let mut builder = HistoryBuilder::new(None);
    commits.into_iter().for_each(|commit| builder.add(commit));
    let history = builder.finish(NOW, &[id(1), id(77)], HistoryGaps::default()).unwrap();
    let past = history.past(CommitIndex(3));
    assert_eq!(past.left_out(), UncountedCommits { merges: 1, bots: 1, ignored: 1 });
    assert_eq!(past.commits().map(|(index, _)| index).collect::<Vec<_>>(), [CommitIndex(0)]);
    assert_eq!(past.touching(FileId(0)).count(), 1);
    assert_eq!(history.touching(FileId(0)).len(), 3);
    let bot = history.person_with("dependabot[bot]@x").unwrap();
    assert!(history.is_bot(bot) && history.by(bot) == [CommitIndex(3)]);
}

#[test]
fn a_history_can_be_cut_to_the_newest() {
    let commits = || (0..10).map(|n: u32| commit(n, &[n.saturating_sub(1)], i64::from(n), "ann", &format!("A:f{n}")));
    let build = |builder: HistoryBuilder| {
        let mut builder = builder;
        commits().skip(1).for_each(|commit| builder.add(commit));
        builder.finish(NOW, &[], HistoryGaps::default()).unwrap()
    };
    let most = build(HistoryBuilder::new(None).most(3));
    assert_eq!((most.commits().len(), most.missing().capped, most.files()), (3, true, 3));
    assert_eq!(most.subject(CommitIndex(0)), "commit 7");
    let since = build(HistoryBuilder::new(None).since(START + 5 * DAY));
    assert_eq!((since.commits().len(), since.missing().since), (5, Some(START + 5 * DAY)));
    assert!(!build(HistoryBuilder::new(None).most(9)).missing().capped);
    let tip = build(HistoryBuilder::new(None).tips(vec![id(4)]));
    assert_eq!((tip.commits().len(), tip.files(), tip.missing().capped), (4, 4, false));
    assert!(build(HistoryBuilder::new(None).tips(vec![id(99)])).commits().is_empty());
}

#[test]
fn a_commit_that_is_its_own_ancestor_is_refused() {
    let mut builder = HistoryBuilder::new(None);
    builder.add(commit(1, &[2], 1, "ann", "A:a"));
    builder.add(commit(2, &[1], 2, "ann", "M:a"));
    let error = builder.finish(NOW, &[], HistoryGaps::default()).unwrap_err();
    assert_eq!(error.to_string(), "2 commits are their own ancestors");
}

#[test]
fn a_long_subject_is_cut_between_characters() {
    let mut long = commit(0, &[], 0, "ann", "");
    long.subject = "é".repeat(150) + "x";
    let history = History::of(vec![long], NOW);
    assert_eq!(history.subject(CommitIndex(0)), "é".repeat(100));
}

/// Up to 40 commits, each with up to three older parents, with dates of all kinds and names from a small set.
fn histories() -> impl Strategy<Value = Vec<ListedCommit>> {
    let day = prop_oneof![8 => 0_i64..100, 1 => Just(-20_000_i64), 1 => Just(60_000_i64)];
    let touch = (0_u8..4, "[a-d]", "[a-d]").prop_map(|(kind, one, other)| match kind {
        0 => format!("A:{one}"),
        1 => format!("M:{one}"),
        2 => format!("D:{one}"),
        _ => format!("R:{one}:{other}"),
    });
    let one =
        (prop::collection::vec(any::<prop::sample::Index>(), 0..3), day, "[a-c]", prop::collection::vec(touch, 0..4));
    prop::collection::vec(one, 1..40).prop_map(|all| {
        let mut commits = Vec::new();
        for (number, (parents, day, author, touches)) in (0_u32..).zip(all) {
            let mut parents: Vec<u32> = if number == 0 {
                vec![]
            } else {
                parents.iter().map(|p| u32::try_from(p.index(number as usize)).unwrap()).collect()
            };
            parents.dedup();
            commits.push(commit(number, &parents, day, &author, &touches.join(" ")));
        }
        commits
    })
}

/// The numbers of a commit and its ancestors, the slow way.
fn ancestors(commits: &[ListedCommit], tip: &ObjectId, found: &mut BTreeSet<ObjectId>) {
    if found.insert(*tip) {
        let commit = commits.iter().find(|commit| commit.id == *tip).unwrap();
        commit.parents.iter().for_each(|parent| ancestors(commits, parent, found));
    }
}

fn history_of_commits(kept: Option<History>, commits: impl Iterator<Item = ListedCommit>) -> History {
    let mut builder = HistoryBuilder::new(kept);
    commits.for_each(|commit| builder.add(commit));
    builder.finish(NOW, &[id(3)], HistoryGaps::default()).unwrap()
}

#[test]
fn a_history_holds_where_nothing_that_is_known_of_it_changed() {
    let history = row(&["A:a", "M:a", "D:a"]);
    assert!(history.holds_at(NOW, &[]) && history.holds_at(START + 2 * DAY, &[id(7)]));
    assert!(!history.holds_at(START, &[]), "its last commit would be of the future");
    assert!(!history.holds_at(NOW, &[id(1)]), "a commit would be ignored");
    let early = History::of(vec![commit(0, &[], 2000, "ann", "A:a")], NOW);
    assert!(!early.holds_at(NOW + 5000 * DAY, &[]), "its date was no date, and is one now");
}

proptest! {
    #[test]
    fn what_holds_is_what_would_be_put_together(
        commits in histories(),
        tip in any::<prop::sample::Index>(),
        day in prop_oneof![0_i64..120, Just(1000), Just(70_000)],
        ignored in prop::collection::vec(0_u32..9, 0..2),
    ) {
        let tips = vec![tip.get(&commits).id];
        let ignored: Vec<ObjectId> = ignored.into_iter().map(id).collect();
        let mut builder = HistoryBuilder::new(None).tips(tips.clone());
        commits.into_iter().for_each(|commit| builder.add(commit));
        let kept = builder.finish(NOW, &[id(3)], HistoryGaps::default()).unwrap();
        let (now, gaps) = (START + day * DAY, HistoryGaps { shallow: true, ..HistoryGaps::default() });
        if kept.holds_at(now, &ignored) {
            let anew = HistoryBuilder::new(Some(kept.clone())).tips(tips).most(100).finish(now, &ignored, gaps).unwrap();
            prop_assert_eq!(files(&kept), files(&anew));
            prop_assert_eq!(kept.with_gaps(gaps), anew);
        }
    }

    #[test]
    fn the_order_of_reading_does_not_matter(commits in histories(), cut in any::<prop::sample::Index>()) {
        let whole = history_of_commits(None, commits.iter().cloned());
        let newest_first = history_of_commits(None, commits.iter().rev().cloned());
        prop_assert_eq!(&whole, &newest_first);
        let (old, new) = commits.split_at(cut.index(commits.len()));
        let kept = history_of_commits(None, old.iter().cloned());
        let kept = History::from_bytes(&kept.to_bytes(), &Mailmap::default()).unwrap();
        let continued = history_of_commits(Some(kept), new.iter().rev().cloned());
        prop_assert_eq!(files(&whole), files(&continued));
        prop_assert_eq!(&whole, &continued);
        let twice = history_of_commits(Some(continued), old.iter().cloned());
        prop_assert_eq!(&whole, &twice);
    }

    #[test]
    fn a_past_is_the_ancestors(commits in histories(), tip in any::<prop::sample::Index>()) {
        let history = history_of_commits(None, commits.iter().cloned());
        for (index, commit) in (0..).map(CommitIndex).zip(history.commits()) {
            prop_assert!(history.parents(index).iter().all(|parent| parent < &index));
            prop_assert_eq!(history.find(&commit.id), Some(index));
        }
        let tip = tip.get(&commits).id;
        let mut expected = BTreeSet::new();
        ancestors(&commits, &tip, &mut expected);
        let past = history.past(history.find(&tip).unwrap());
        let found = (0..).map(CommitIndex).zip(history.commits()).filter(|(index, _)| past.contains(*index));
        prop_assert_eq!(found.map(|(_, commit)| commit.id).collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn bytes_come_back_and_damage_is_noticed(commits in histories(), at in any::<prop::sample::Index>(), by in 1_u8..) {
        let history = history_of_commits(None, commits.into_iter());
        let mut bytes = history.to_bytes();
        prop_assert_eq!(&History::from_bytes(&bytes, &Mailmap::default()).unwrap(), &history);
        prop_assert!(History::from_bytes(&bytes[..at.index(bytes.len())], &Mailmap::default()).is_err());
        let place = at.index(bytes.len());
        bytes[place] ^= by;
        prop_assert!(History::from_bytes(&bytes, &Mailmap::default()).is_err());
    }

    #[test]
    fn any_mailmap_finds_its_persons_in_what_another_kept(commits in histories(), cut in any::<prop::sample::Index>()) {
        let with = |text: &str, kept: Option<History>, commits: &[ListedCommit]| {
            let mut builder = HistoryBuilder::new(kept).mailmap(Mailmap::read(text.as_bytes()));
            commits.iter().cloned().for_each(|commit| builder.add(commit));
            builder.finish(NOW, &[], HistoryGaps::default()).unwrap()
        };
        let (one, other) = ("Ann B <ann@x> <b@x>\n", "<c@x> a <a@x>\nBo <b@x>\n");
        let (old, new) = commits.split_at(cut.index(commits.len()));
        let kept = History::from_bytes(&with(one, None, old).to_bytes(), &Mailmap::read(other.as_bytes())).unwrap();
        prop_assert_eq!(&kept, &with(other, None, old));
        prop_assert_eq!(with(other, Some(kept), new), with(other, None, &commits));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(History::from_bytes(&bytes, &Mailmap::default()).is_err());
        let mut reader = Vec::from(*b"proemh03");
        reader.extend(bytes);
        prop_assert!(History::from_bytes(&reader, &Mailmap::default()).is_err());
    }
}
