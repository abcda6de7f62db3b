use super::*;

#[test]
fn a_signal_raises_only_where_it_has_earned_it() {
    let check = |fixed: u64, commits: u64, base: (u64, u64), expected: bool| {
        let counts = BTreeMap::from([(SignalName::FixedLines, table::Base { fixed, commits })]);
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let by_size =
            BTreeMap::from([(SignalName::FixedLines, base.0 as f64 * commits as f64 / (base.1.max(1) as f64))]);
        let table = SignalTable { base: table::Base { fixed: base.0, commits: base.1 }, counts, by_size };
        assert_eq!(table.row(SignalName::FixedLines, &[]).raises, expected, "{fixed} of {commits}, base {base:?}");
    };
    check(20, 50, (80, 800), true);
    // 1.4 times is not enough, nor is a share whose interval reaches the base rate, nor are few commits.
    check(140, 1000, (80, 800), false);
    check(4, 25, (80, 800), false);
    check(10, 10, (80, 800), false);
    check(0, 0, (0, 0), false);
}

#[test]
fn a_signal_of_large_commits_alone_raises_nothing() {
    let counts = BTreeMap::from([(SignalName::HighCoupling, table::Base { fixed: 40, commits: 100 })]);
    let by_size = BTreeMap::from([(SignalName::HighCoupling, 35.0)]);
    let table = SignalTable { base: table::Base { fixed: 80, commits: 800 }, counts, by_size };
    let row = table.row(SignalName::HighCoupling, &[]);
    assert!(row.ratio.is_some_and(|ratio| ratio > 3.9) && !row.raises, "{row:?}");
}

#[test]
fn the_clones_decide_where_a_history_is_short() {
    let trained = [TrainedSignal {
        signal: SignalName::FixedLines,
        with: table::Base { fixed: 60, commits: 100 },
        expected: 20.0,
        expected_by_size: 30.0,
    }];
    let row = SignalTable::default().row(SignalName::FixedLines, &trained);
    assert_eq!((row.source, row.raises), (RowSource::Clones, true));
    let other = SignalTable::default().row(SignalName::ErrorPath, &trained);
    assert!(!other.raises);
    let unmeasured = SignalTable::default().row(SignalName::BrokenImporters, &trained);
    assert_eq!((unmeasured.source, unmeasured.raises), (RowSource::Unmeasured, false));
}

#[test]
fn the_shipped_figures_can_be_read() {
    let trained = TrainedSignal::shipped().unwrap();
    assert!(trained.iter().all(|one| one.with.fixed <= one.with.commits && one.signal.is_measured()));
}
