use super::*;

#[test]
fn a_signal_raises_only_where_it_has_earned_it() {
    let check = |fixed: u64, commits: u64, base: (u64, u64), expected: bool| {
        let counts = BTreeMap::from([(SignalName::FixedLines, table::Base { fixed, commits })]);
        let table = SignalTable { base: table::Base { fixed: base.0, commits: base.1 }, counts };
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
fn the_clones_decide_where_a_history_is_short() {
    let trained = [TrainedSignal {
        signal: SignalName::FixedLines,
        with: table::Base { fixed: 60, commits: 100 },
        expected: 20.0,
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
