use alloc::vec;

use proptest::prelude::*;

use super::*;

/// An ordinary change: a small fix by somebody who knows the code.
fn ordinary() -> ChangeFeatures {
    ChangeFeatures {
        ns: Some(1.0),
        nd: Some(1.0),
        nf: Some(2.0),
        entropy: Some(0.8),
        la: Some(12.0),
        ld: Some(5.0),
        lt: Some(900.0),
        fix: Some(true),
        ndev: Some(9.0),
        age: Some(40.0),
        nuc: Some(60.0),
        exp: Some(400.0),
        rexp: Some(60.0),
        sexp: Some(90.0),
    }
}

/// A project of 200 commits whose authors' experience is 1 to 200.
fn project() -> Scale {
    let sample: Vec<ChangeFeatures> = (1..=200)
        .map(|n| ChangeFeatures {
            exp: Some(f64::from(n)),
            rexp: Some(f64::from(n)),
            sexp: Some(f64::from(n)),
            ..ordinary()
        })
        .collect();
    Scale::of(&sample)
}

fn shipped() -> RiskModel {
    RiskModel::shipped().unwrap()
}

/// A model with one tree over lines added and being a fix.
fn one_tree() -> RiskModelParts {
    let test = |name: &str, above: f64| Test { input: Input::named(name).unwrap(), above };
    let tree = DecisionTree {
        tests: vec![test("la", 10.0), test("fix", 0.5)],
        cover: vec![40, 20, 10, 30],
        leaves: vec![-1.0, 0.5, 0.0, 2.0],
    };
    RiskModelParts {
        projects: vec!["one".into()],
        commits: 100,
        bugs: 30,
        calibration_error: 0.1,
        importance: [1.0; Feature::ALL.len()],
        all: Forest { intercept: -1.0, trees: vec![tree] },
        size: Forest { intercept: -0.5, trees: vec![] },
    }
}

fn of(scored: &RiskScore, feature: Feature) -> f64 {
    scored.contributions.iter().find(|one| one.feature == feature).unwrap().log_odds
}

#[test]
fn contributions_are_the_shapley_values_of_the_tree() {
    let model = RiskModel::new(one_tree()).unwrap();
    let scored = model.score(&ordinary(), &Scale::default());
    // Worth of nothing, of `la`, of `fix` and of both, each weighted by the commits in the leaves.
    let none = (-40.0 + 10.0 + 60.0) / 100.0;
    let (la, fix, both) = ((10.0 + 60.0) / 50.0, 60.0 / 40.0, 2.0);
    assert!((scored.intercept - (none - 1.0)).abs() < 1e-12);
    assert!((of(&scored, Feature::La) - ((la - none) + (both - fix)) / 2.0).abs() < 1e-12, "{scored:?}");
    assert!((of(&scored, Feature::Fix) - ((fix - none) + (both - la)) / 2.0).abs() < 1e-12, "{scored:?}");
    assert!((scored.log_odds - 1.0).abs() < 1e-12);
    assert_eq!(scored.given_size, Some(scored.log_odds + 0.5));
}

#[test]
fn an_unknown_metric_takes_both_branches() {
    let model = RiskModel::new(one_tree()).unwrap();
    let scored = model.score(&ChangeFeatures { la: None, ..ordinary() }, &Scale::default());
    assert!((scored.log_odds - (60.0 / 40.0 - 1.0)).abs() < 1e-12, "{scored:?}");
    assert_eq!((of(&scored, Feature::La), scored.given_size), (0.0, None));
    assert_eq!(scored.unknown, [Feature::La, Feature::Exp, Feature::Rexp, Feature::Sexp]);
    let nothing = model.score(&ChangeFeatures::default(), &Scale::default());
    assert_eq!(nothing.log_odds, nothing.intercept);
    assert_eq!((nothing.unknown.as_slice(), nothing.known), (Feature::ALL.as_slice(), 0.0));
}

#[test]
fn unknown_is_not_zero() {
    let model = shipped();
    for feature in [Feature::La, Feature::Nuc, Feature::Lt] {
        let with = |value: Option<f64>| {
            let mut features = ordinary();
            match feature {
                Feature::La => features.la = value,
                Feature::Nuc => features.nuc = value,
                _ => features.lt = value,
            }
            model.score(&features, &project())
        };
        let (unknown, zero) = (with(None), with(Some(0.0)));
        assert_ne!(unknown.log_odds, zero.log_odds, "{feature:?}");
        assert_eq!((unknown.unknown, zero.unknown.len()), (vec![feature], 0));
    }
}

#[test]
fn what_is_no_count_is_unknown() {
    let model = shipped();
    let expected = model.score(&ChangeFeatures { age: None, ..ordinary() }, &project());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
        assert_eq!(model.score(&ChangeFeatures { age: Some(bad), ..ordinary() }, &project()), expected, "{bad}");
    }
    let huge = ChangeFeatures { la: Some(f64::MAX), ld: Some(f64::MAX), lt: Some(f64::MAX), ..ordinary() };
    let scored = model.score(&huge, &project());
    assert!(scored.probability > 0.0 && scored.probability < 1.0, "{scored:?}");
}

#[test]
fn experience_needs_a_project() {
    let commits = |count: usize| vec![ordinary(); count];
    assert_eq!(Scale::of(&commits(Scale::FEWEST - 1)), Scale::default());
    assert!(!Scale::of(&commits(Scale::FEWEST)).lacks(Feature::Exp));
    assert!(Scale::default().lacks(Feature::Sexp) && !Scale::default().lacks(Feature::La));
    let scale = project();
    let place = |value: f64| scale.place(Feature::Exp, value);
    assert_eq!([place(0.0), place(1.0), place(100.5), place(1e9)], [Some(0.0), Some(0.0025), Some(0.5), Some(1.0)]);
    assert_eq!(scale.place(Feature::La, 1.0), None);
}

#[test]
fn size_raises_the_shipped_score_and_what_is_beyond_it_stays_apart() {
    let model = shipped();
    let score = |la: f64| model.score(&ChangeFeatures { la: Some(la), ..ordinary() }, &project());
    let (small, large) = (score(1.0), score(300.0));
    assert!(large.probability > small.probability + 0.1, "{small:?} {large:?}");
    let beyond = |scored: &RiskScore| scored.given_size.unwrap();
    assert!((beyond(&large) - beyond(&small)).abs() < large.log_odds - small.log_odds);
}

#[test]
fn the_shipped_scores_are_these() {
    let model = shipped();
    let of = |features: ChangeFeatures, scale: &Scale| {
        let scored = model.score(&features, scale);
        alloc::format!("{:.4} {:+.4}", scored.probability, scored.given_size.unwrap())
    };
    let large = ChangeFeatures { la: Some(400.0), nf: Some(20.0), fix: Some(false), ..ordinary() };
    let rested = ChangeFeatures { la: Some(1.0), ld: Some(0.0), age: Some(900.0), nuc: Some(4.0), ..ordinary() };
    let scores =
        [of(ordinary(), &project()), of(ordinary(), &Scale::default()), of(large, &project()), of(rested, &project())];
    assert_eq!(scores, ["0.3919 +0.5514", "0.4099 +0.6263", "0.6778 -0.1606", "0.0862 -0.4753"]);
}

#[test]
fn the_shipped_model_says_where_it_comes_from() {
    let model = shipped();
    assert_eq!(model.projects(), ["jdt", "openstack", "platform", "qt"]);
    let (commits, bugs) = model.learned_from();
    assert!(bugs > 0 && bugs < commits);
    let error = model.expected_calibration_error();
    assert!(error > 0.0 && error < 0.5, "{error}");
    let total: f64 = Feature::ALL.into_iter().map(|feature| model.importance(feature)).sum();
    assert!((total - 1.0).abs() < 1e-12);
    assert_eq!(RiskModel::read(&model.write()).unwrap(), model);
    assert_eq!(model.write(), include_str!("../../data/score-1.json"));
}

#[test]
fn a_damaged_file_is_refused() {
    let good = RiskModel::new(one_tree()).unwrap().write();
    let check = |from: &str, to: &str, kind: ErrorKind, problem: &str| {
        let error = RiskModel::read(&good.replace(from, to)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let expected = format!("the risk model can't be used: {problem}; train it again with `cargo lab train risk`");
        assert_eq!(error.to_string(), expected);
    };
    check("\"version\": 1", "\"version\": 2", ErrorKind::Version, "its file has version 2, this program reads 1");
    check("\"la\",10.0", "\"lines\",10.0", ErrorKind::UnknownInput, "`lines` is no input");
    check("[40,20,10,30]", "[0,0,0,0]", ErrorKind::Shape, "no commit reaches a tree");
    let wrong = "a tree of n questions has to have 2ⁿ leaves and as many counts";
    check("[40,20,10,30]", "[40,20,10]", ErrorKind::Shape, wrong);
    check(",[\"fix\",0.5]", "", ErrorKind::Shape, wrong);
    check("[\"la\",10.0],[\"fix\",0.5]", "", ErrorKind::Shape, "a tree has to ask one to three questions");
    check("-1.0,0.5", "-1e300,0.5", ErrorKind::Number, "a leaf or threshold is out of range");
    check("\"lt\":1.0,", "", ErrorKind::Shape, "the importance of `lt` is missing");
    check("\"lt\":1.0", "\"lt\":-1.0", ErrorKind::Number, "the importance of metrics is out of range");
    check(
        "\"calibration_error\": 0.1",
        "\"calibration_error\": 1.1",
        ErrorKind::Number,
        "the calibration error is out of range",
    );
    assert_eq!(RiskModel::read("{").unwrap_err().kind(), ErrorKind::Syntax);
    assert_eq!(RiskModel::read(&good.replace("\"bugs\"", "\"bugs2\"")).unwrap_err().kind(), ErrorKind::Syntax);
}

#[test]
fn names_are_read_back() {
    for input in Input::all() {
        assert_eq!(Input::named(input.name()), Some(input));
        assert!(matches!(input.sources().count(), 1 | 2), "{}", input.name());
    }
    for feature in Feature::ALL {
        let json = serde_json::to_string(&feature).unwrap();
        assert_eq!(json, format!("\"{}\"", feature.as_str()));
    }
    assert_eq!(Input::named(""), None);
}

fn any_features() -> impl Strategy<Value = ChangeFeatures> {
    let number = || {
        prop_oneof![
            3 => (0.0..5000.0_f64).prop_map(Some),
            1 => Just(None),
            1 => prop::num::f64::ANY.prop_map(Some),
        ]
    };
    (prop::array::uniform13(number()), prop::option::of(any::<bool>())).prop_map(|(values, fix)| {
        let [ns, nd, nf, entropy, la, ld, lt, ndev, age, nuc, exp, rexp, sexp] = values;
        ChangeFeatures { ns, nd, nf, entropy, la, ld, lt, fix, ndev, age, nuc, exp, rexp, sexp }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_score_is_a_probability_and_adds_up(features in any_features(), is_scaled in any::<bool>()) {
        let (model, scale) = (shipped(), if is_scaled { project() } else { Scale::default() });
        let scored = model.score(&features, &scale);
        prop_assert!((0.0..=1.0).contains(&scored.probability) && (0.0..=1.0).contains(&scored.known));
        let sum = scored.contributions.iter().fold(scored.intercept, |sum, one| sum + one.log_odds);
        prop_assert!((sum - scored.log_odds).abs() < 1e-9, "{} {}", sum, scored.log_odds);
        prop_assert_eq!(model.log_odds(&features, &scale), scored.log_odds);
        for unknown in &scored.unknown {
            prop_assert_eq!(scored.contributions.iter().find(|one| one.feature == *unknown).unwrap().log_odds, 0.0);
        }
    }
}
