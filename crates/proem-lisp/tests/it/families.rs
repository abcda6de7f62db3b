//! The functions without a counterpart in Clojure: dates and JSON; and the refusals of regular expressions and JSON.

use crate::support::{check, run, run_with};
use proem_lisp::{Inputs, Limits, Meter, print_readable, read_json};
use proptest::prelude::*;

#[test]
fn dates_are_read_in_all_their_forms() {
    for (text, expected) in [
        ("2024-02-29", "\"2024-02-29\""),
        ("20240131T101530,5+0530", "\"2024-01-31T10:15:30.5+05:30\""),
        ("2024-01-31T10:15:30.123456789-08:00", "\"2024-01-31T10:15:30.123456789-08:00\""),
        ("2024-01-31t10:15z", "\"2024-01-31T10:15:00Z\""),
        ("2024-01-31 10:15:30+02", "\"2024-01-31T10:15:30+02:00\""),
        ("0000-01-01", "\"0000-01-01\""),
        ("2023-02-29", "nil"),
        ("1900-02-29", "nil"),
        ("2024-13-01", "nil"),
        ("2024-1-1", "nil"),
        ("2024-0131", "nil"),
        ("2024-01-31T1015", "nil"),
        ("2024-01-31T24:00:00Z", "nil"),
        ("2024-01-31T10:15:30.Z", "nil"),
        ("2024-01-31T10:15:30.1234567890Z", "nil"),
        ("2024-01-31T10:00:00Zfoo", "nil"),
        (" 2024-01-31", "nil"),
        ("２０２４-01-31", "nil"),
        ("tomorrow", "nil"),
        ("", "nil"),
    ] {
        assert_eq!(run(&format!("(date/parse \"{text}\")")), expected, "{text}");
    }
}

#[test]
fn dates_are_counted_and_ordered() {
    check(&[
        ("(map date/weekday [\"1970-01-01\" \"2024-12-31\" \"0000-01-01\" \"9999-12-31\"])", "(4 2 6 5)"),
        ("(date/plus-days \"2024-12-31T23:59:59Z\" 1)", "\"2025-01-01T23:59:59Z\""),
        ("(date/plus-days \"1970-01-01\" -719528)", "\"0000-01-01\""),
        ("(date/plus-days \"1970-01-01\" -719529)", "nil"),
        ("(date/plus-days \"9999-12-31\" 1)", "nil"),
        ("(date/plus-days \"2024-01-01\" 9223372036854775807)", "nil"),
        ("(date/plus-days nil 1)", "nil"),
        ("(date/days-between \"2024-01-01\" \"2025-01-01\")", "366"),
        ("(date/days-between \"2024-01-02T11:59:59Z\" \"2024-01-01T12:00:00Z\")", "0"),
        ("(date/days-between \"2024-01-01\" \"2024-01-02T23:00:00-05:00\")", "2"),
        ("(date/days-between \"2024-01-01\" \"soon\")", "nil"),
        ("(date/seconds-between \"2024-01-01T00:00:02.1Z\" \"2024-01-01T00:00:00.9Z\")", "-1"),
        ("(date/before? \"2024-01-01T00:00:00Z\" \"2024-01-01T00:00:00.5Z\")", "true"),
        ("(date/after? \"2024-01-01T01:00:00+01:00\" \"2024-01-01T00:00:00Z\")", "false"),
        ("(date/before? \"2024-01-01\" \"soon\")", "nil"),
        ("(date/hour \"2024-01-01\")", "nil"),
        // Every day of three thousand years, there and back.
        (
            "(let [days (range 0 1100000 37)] (= days (map #(date/days-between \"0000-03-01\" (date/plus-days \"0000-03-01\" %)) days)))",
            "true",
        ),
    ]);
    assert!(run("(date/year 2024)").starts_with("type_error: `date/year` takes a string"));
    assert!(run("(date/plus-days \"2024-01-01\" 1.5)").starts_with("type_error"));
}

#[test]
fn json_is_read_strictly() {
    check(&[
        (
            "(json/parse \"[1, -0, 0.5, 1e3, true, null, \\\"\\\\u00e9\\\\ud83d\\\\ude00\\\\n\\\"]\")",
            "[1 0 0.5 1000.0 true nil \"é😀\\n\"]",
        ),
        ("(json/parse \" \\r\\n{ \\\"a\\\" : { } , \\\"b\\\" : [ [ ] ] } \")", "{\"a\" {} \"b\" [[]]}"),
        ("(json/parse \"123456789012345678901234567890\")", "123456789012345678901234567890"),
        ("(json/parse \"\\uFEFF[1]\")", "[1]"),
        ("(json/parse nil)", "nil"),
    ]);
    for (text, line) in [
        ("{\"a\":1,\"b\":2,\"a\":3}", "the name \"a\" is in this object twice"),
        ("[1e999]", "this number is too large for a float"),
        ("[-1e999]", "this number is too large for a float"),
        ("01", "this isn't a JSON number"),
        ("1.", "this isn't a JSON number"),
        ("-", "this isn't a JSON number"),
        (".5", "this isn't a JSON value"),
        ("NaN", "this isn't a JSON value"),
        ("nul", "this isn't a JSON value"),
        ("[1,]", "this isn't a JSON value"),
        ("{\"a\":1,}", "a name in double quotes is missing here"),
        ("{1:2}", "a name in double quotes is missing here"),
        ("{\"a\" 1}", "`:` is missing here"),
        ("[1 2]", "`,` or `]` is missing here"),
        ("[1}", "`,` or `]` is missing here"),
        ("1 2", "the text goes on after its value"),
        ("", "the text ends where a value is missing"),
        ("\"abc", "this string is never closed"),
        ("\"a\tb\"", "a string has a control character"),
        ("\"\\ud800\"", "this escape isn't a character"),
        ("\"\\ud800\\u0041\"", "this escape isn't a character"),
        ("\"\\u+123\"", "this escape isn't a character"),
        ("\"\\x\"", "this escape isn't a character"),
    ] {
        let problem = read_json(text, &mut Meter::unlimited()).unwrap_err();
        assert_eq!(problem.diagnostic.message, line, "{text}");
        assert_eq!(
            run(&format!("(json/parse {})", print_readable(&text.into(), &mut Meter::unlimited()).unwrap())),
            "nil"
        );
    }
}

#[test]
fn a_problem_in_json_shows_its_place() {
    let text = "{\n  \"a\": 1,\n  \"a\": 2\n}";
    let problem = read_json(text, &mut Meter::unlimited()).unwrap_err();
    assert_eq!(
        problem.render("data.json", text),
        "error: the name \"a\" is in this object twice\n --> data.json:3:3\n  |\n3 |   \"a\": 2\n  |   ^^^\n  = help: leave one of them out\n"
    );
}

#[test]
fn limits_of_json_are_problems_with_their_setting() {
    let limits = Limits { nesting: 3, digits: 20, ..Limits::default() };
    for (text, setting) in [("[[[[1]]]]", "nesting"), ("123456789012345678901", "digits")] {
        let problem = read_json(text, &mut Meter::new(limits)).unwrap_err();
        assert!(problem.diagnostic.help.unwrap().contains(&format!("`lisp.{setting}`")), "{text}");
    }
    assert!(read_json("[[[1]]]", &mut Meter::new(limits)).is_ok());
}

#[test]
fn json_is_written_in_one_way() {
    check(&[
        (
            "(json/write {:b 1 :a [1.0 1e21 nil true :k/x \"q\\\"\\n\\u0001é\"] \"c\" #{1} :d '(1 2) :e {} :f []})",
            "\"{\\\"a\\\":[1.0,1e21,null,true,\\\"k/x\\\",\\\"q\\\\\\\"\\\\n\\\\u0001é\\\"],\\\"b\\\":1,\\\"c\\\":[1],\\\"d\\\":[1,2],\\\"e\\\":{},\\\"f\\\":[]}\"",
        ),
        ("(= (json/write {:a 1 :b 2}) (json/write {:b 2 :a 1}))", "true"),
        ("(json/write {1 2 true 3 1.5 4})", "\"{\\\"1\\\":2,\\\"1.5\\\":4,\\\"true\\\":3}\""),
        ("(json/write (range 3))", "\"[0,1,2]\""),
        ("(let [v {\"a\" [1 {\"b\" nil} \"é\\u2028\"]}] (= v (json/parse (json/write v))))", "true"),
    ]);
    for source in ["{:a 1 \"a\" 2}", "##NaN", "##-Inf", "inc", "#\"a\"", "{[1] 2}", "{nil 1}"] {
        let result = run(&format!("(json/write {source})"));
        assert!(result.starts_with("eval_error: ") || result.starts_with("type_error: "), "{source}: {result}");
    }
}

#[test]
fn regular_expressions_refuse_by_name() {
    for (pattern, message) in [
        ("a(?=b)", "regular expressions here have no look-around"),
        ("(?<!a)b", "regular expressions here have no look-around"),
        ("(a)\\\\1", "regular expressions here have no back-references"),
        ("(?<x>a)\\\\k<x>", "regular expressions here have no back-references"),
        ("a*+", "regular expressions here have no possessive quantifiers"),
        ("(?>a)", "regular expressions here have no atomic groups"),
        ("(", "this isn't a regular expression: unclosed group"),
        ("[a", "this isn't a regular expression: unclosed character class"),
        ("a{", "this isn't a regular expression: `{` is never closed"),
        ("\\\\y", "this isn't a regular expression: `\\y` isn't an escape that is known here"),
    ] {
        let result = run(&format!("(re-pattern \"{pattern}\")"));
        assert!(result.starts_with(&format!("eval_error: {message} (")), "{pattern}: {result}");
    }
}

#[test]
fn steps_of_a_regular_expression_are_those_of_all_its_matches() {
    let limits = Limits { regex_steps: 10_000, ..Limits::default() };
    // Each search looks to the end of the text, which no search of its own would show.
    let far = "(count (re-seq #\"[^z]*z|a\" (.repeat \"a\" 500)))";
    let result = run_with(far, Inputs::default(), limits);
    assert!(result.contains("took more than 10000 steps (raise `lisp.regex_steps`"), "{result}");
    // Matches that stay where they are cost what the text costs.
    let near = "(count (re-seq #\"a\" (.repeat \"a\" 500)))";
    assert_eq!(run_with(near, Inputs::default(), limits), "500");
}

#[test]
fn texts_are_cut_between_graphemes() {
    check(&[
        ("(subs \"👩‍👧é\" 1)", "\"é\""),
        ("(str/index-of \"👩‍👧xé\" \"é\")", "2"),
        ("(str/last-index-of \"éxé\" \"é\")", "2"),
        ("(str/last-index-of \"éxé\" \"é\" 1)", "0"),
        ("(str/reverse \"a👩‍👧\")", "\"👩‍👧a\""),
        ("(format \"%3s|%-3s|%.1s\" \"👩‍👧\" \"é\" \"👩‍👧x\")", "\"  👩‍👧|é  |👩‍👧\""),
        ("(str/split \"日本語\" #\"\")", "[\"日\" \"本\" \"語\"]"),
        ("(.charAt \"a👩‍👧b\" 1)", "\"👩‍👧\""),
    ]);
}

fn quote(text: &str) -> String {
    print_readable(&text.into(), &mut Meter::unlimited()).unwrap()
}

/// Patterns whose syntax Java and `regex` share.
fn any_pattern() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        Just(String::from("a")),
        Just(String::from("b")),
        Just(String::from("é")),
        Just(String::from("[ab]")),
        Just(String::from("[^a]")),
        Just(String::from("(?-u:\\b)")),
        Just(String::from("\\A")),
        Just(String::from("\\z")),
    ];
    atom.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}|{b})")),
            (inner.clone(), prop::sample::select(vec!["*", "+", "?", "*?", "+?", "??", "{1,2}"]))
                .prop_map(|(part, count)| format!("(?:{part}){count}")),
            inner.prop_map(|part| format!("({part})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn searches_find_what_another_engine_finds(pattern in any_pattern(), text in "[abé ]{0,12}") {
        let theirs = regex::Regex::new(&pattern).unwrap();
        let found = theirs.captures(&text).map(|captures| {
            let groups = captures.iter().map(|group| group.map_or_else(|| String::from("nil"), |text| quote(text.as_str())));
            groups.collect::<Vec<_>>()
        });
        let expected = match found {
            None => String::from("nil"),
            Some(groups) if groups.len() == 1 => groups.concat(),
            Some(groups) => format!("[{}]", groups.join(" ")),
        };
        let ours = pattern.replace("(?-u:\\b)", "\\b");
        let source = format!("(re-find (re-pattern {}) {})", quote(&ours), quote(&text));
        prop_assert_eq!(run(&source), expected, "{}", source);
    }

    #[test]
    fn no_pattern_panics(pattern in "[-ab()\\[\\]{}|*+?.^$\\\\&:<>!=,0-9pQE#~]{0,24}", text in "[ab\r\n]{0,8}") {
        let source = format!("(re-seq (re-pattern {}) {})", quote(&pattern), quote(&text));
        let result = run_with(&source, Inputs::default(), Limits { fuel: 200_000, ..Limits::default() });
        prop_assert!(!result.is_empty());
    }

    #[test]
    fn no_template_panics(template in "[-%0-9.,+ (<$#sdfxegbcn]{0,16}", number in any::<f64>(), int in any::<i64>()) {
        for argument in [number.to_string(), int.to_string()] {
            let source = format!("(format {} {argument} {argument})", quote(&template));
            prop_assert!(!run(&source).is_empty());
        }
    }

    #[test]
    fn fixed_digits_are_the_nearest(number in -1.0e9..1.0e9_f64, places in 0_usize..6) {
        let printed = run(&format!("(format \"%.{places}f\" {number:?})"));
        let shown: f64 = printed.trim_matches('"').parse().unwrap();
        let unit = 10_f64.powi(-i32::try_from(places).unwrap());
        // The subtraction's own rounding is not the template's.
        prop_assert!((shown - number).abs() <= unit * 0.500_001 + number.abs() * f64::EPSILON, "{} {}", printed, number);
    }

    #[test]
    fn no_json_panics(text in "[-\\[\\]{}\",:0-9eE+.\\\\utrfalsn ]{0,40}") {
        let mut meter = Meter::unlimited();
        if let Ok(value) = read_json(&text, &mut meter) {
            let theirs = run(&format!("(json/parse {})", quote(&text)));
            prop_assert_eq!(print_readable(&value, &mut meter).unwrap(), theirs);
        }
    }

    #[test]
    fn json_that_is_written_is_read_again(value in crate::laws::any_value()) {
        let printed = print_readable(&value, &mut Meter::unlimited()).unwrap();
        let written = run(&format!("(json/write '{printed})"));
        if written.starts_with('"') {
            let again = run(&format!("(json/write (json/parse {written}))"));
            prop_assert_eq!(again, written);
        }
    }
}
