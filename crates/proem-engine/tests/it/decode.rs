//! The reading of answers as models send them.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_engine::contract::Contract;
use proem_engine::decode::{DecodeFailure, MAX_CANDIDATES, MAX_DEPTH, MAX_REPAIRS, RepairKind, decode_value};
use serde_json::{Value as Json, json};

/// The properties that most cases are about.
const ANY: &str = r#"{"a":"integer","b":"string","c":["open","done"],"d":"boolean","e":"number","n":"integer?",
    "l":{"list":"integer"},"t":{"list":"string"},"o":{"object":{"x":"integer","y":"string"}}}"#;

/// A schema from a short one: a type, with `?` if null is permitted. A list of words. A list or an object of short
/// ones. Anything else is a schema already.
fn schema(short: &Json) -> Json {
    match short {
        Json::String(name) => match name.strip_suffix('?') {
            Some(name) => json!({"type": [name, "null"]}),
            None => json!({"type": name}),
        },
        Json::Array(words) => json!({"enum": words}),
        Json::Object(parts) if parts.contains_key("list") => json!({"type": "array", "items": schema(&parts["list"])}),
        Json::Object(parts) if parts.contains_key("object") => object(&parts["object"]),
        Json::Object(parts) if parts.contains_key("any") => {
            json!({"anyOf": parts["any"].as_array().unwrap().iter().map(schema).collect::<Vec<_>>()})
        }
        other => other.clone(),
    }
}

fn object(properties: &Json) -> Json {
    let properties = properties.as_object().unwrap().iter().map(|(name, short)| (name.clone(), schema(short)));
    json!({"type": "object", "properties": Json::Object(properties.collect())})
}

fn contract(schema: Json) -> Contract {
    Contract::bounded("answer", "", schema).unwrap().0
}

/// The value and the repairs, as in `{"a":1} fence prose`. A text that can't be read, as in `! no-value`.
fn decoded_text(input: &str, contract: &Contract) -> String {
    match decode_value(input, contract) {
        Ok(decoded) => {
            let mut words = vec![decoded.value.to_string()];
            for repair in decoded.repairs {
                assert!(input.get(repair.span.start..repair.span.end).is_some(), "{input}: {repair:?}");
                words.push(repair.kind.as_str().to_owned());
            }
            words.join(" ")
        }
        Err(unreadable) => format!("! {}", unreadable.as_str()),
    }
}

fn check_all(short: &str, cases: &[(&str, &str)]) {
    let contract = contract(object(&serde_json::from_str(short).unwrap()));
    let wrong: Vec<String> = cases
        .iter()
        .map(|(input, expected)| (input, expected, decoded_text(input, &contract)))
        .filter(|(_, expected, found)| *expected != found)
        .map(|(input, expected, found)| format!("{input:?}\n  expected {expected}\n  found    {found}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn json_is_json() {
    check_all(
        ANY,
        &[
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("\u{feff} \n{\"a\" : 1 , \"b\":\"\\u00e9\\n\"}\t", r#"{"a":1,"b":"é\n"}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2} duplicate-key left-out"#),
            (r#"{"a":1,"a":1}"#, r#"{"a":1} duplicate-key"#),
            (r#"{"b":"x","zz":[1,{"q":null}]}"#, r#"{"b":"x","zz":[1,{"q":null}]}"#),
            ("", "! empty"),
            (" \n\u{feff}", "! empty"),
            ("[1,2]", "[1,2]"),
            ("\"done\"", "\"done\""),
        ],
    );
}

#[test]
fn what_stands_around() {
    check_all(
        ANY,
        &[
            ("```json\n{\"a\": 1}\n```", r#"{"a":1} fence fence"#),
            ("```\n{\"a\": 1}\n```\n", r#"{"a":1} fence fence"#),
            ("~~~json\n{\"a\": 1}\n~~~", r#"{"a":1} fence fence"#),
            ("```json {\"a\": 1}```", r#"{"a":1} fence fence"#),
            ("```json\n{\"a\": 1}", r#"{"a":1} fence"#),
            ("`{\"a\": 1}`", r#"{"a":1} fence fence"#),
            ("Sure! Here is it:\n\n```json\n{\"a\": 1}\n```\nHope this helps!", r#"{"a":1} prose fence fence prose"#),
            ("The answer is {\"a\": 1}.", r#"{"a":1} prose prose"#),
            ("json\n{\"a\": 1}", r#"{"a":1} prose"#),
            ("<answer>{\"a\": 1}</answer>", r#"{"a":1} wrapper wrapper"#),
            ("<answer>\n```json\n{\"a\": 1}\n```\n</answer>", r#"{"a":1} wrapper fence fence wrapper"#),
            ("<think>Is it 2?</think>\n<result id=\"1\">{\"a\": 1}", r#"{"a":1} prose wrapper"#),
            ("Use {braces} and sets {x | x > 1}: {\"a\": 1}", r#"{"a":1} prose"#),
            ("See [the docs](https://a.b) and [1]: {\"a\": 1}", r#"{"a":1} prose candidates"#),
            ("[Note: the value is {\"a\": 1}]", r#"{"a":1} prose prose"#),
            ("I can't do that.", "! no-value"),
            ("Paris", "! no-value"),
            ("use {", "! no-value"),
        ],
    );
}

#[test]
fn what_is_written_carelessly() {
    check_all(
        ANY,
        &[
            (r#"{"a": 1,}"#, r#"{"a":1} extra-comma"#),
            (r#"{"l": [1, 2, ], }"#, r#"{"l":[1,2]} extra-comma extra-comma"#),
            (r#"{"a": 1,, "b": "x"}"#, r#"{"a":1,"b":"x"} extra-comma"#),
            ("{\"a\": 1\n \"b\": \"x\"\n}", r#"{"a":1,"b":"x"} missing-comma"#),
            ("{\"b\": \"x\"\n \"a\": 1}", r#"{"a":1,"b":"x"} missing-comma"#),
            (r#"{"b": "x" "a": 1}"#, r#"{"a":1,"b":"x"} missing-comma"#),
            ("{\"t\": [\"x\"\n\"y\"]}", r#"{"t":["x","y"]} missing-comma"#),
            (r#"{"t": ["x" "y"]}"#, r#"{"t":["x","y"]} missing-comma"#),
            ("{'a': 1, 'b': 'x'}", r#"{"a":1,"b":"x"} quotes quotes quotes"#),
            ("{'b': 'it's fine'}", r#"{"b":"it's fine"} quotes quotes inner-quote"#),
            ("{“a”: 1, “b”: ‘x’}", r#"{"a":1,"b":"x"} quotes quotes quotes"#),
            ("{„b“: «x»}", r#"{"b":"x"} quotes quotes"#),
            ("{\"a\": 1, // one\n \"b\": \"x\" /* two */}", r#"{"a":1,"b":"x"} comment comment"#),
            ("{\n# one\n\"a\": 1}", r#"{"a":1} comment"#),
            ("{\"b\": \"http://x.y/#z /* no */\"}", r#"{"b":"http://x.y/#z /* no */"}"#),
            ("{a: 1, b-c: \"x\"}", r#"{"a":1,"b-c":"x"} unquoted-key unquoted-key"#),
            ("{b: Paris}", r#"{"b":"Paris"} unquoted-key unquoted-text"#),
            ("{b: New York , a: 1}", r#"{"a":1,"b":"New York"} unquoted-key unquoted-text unquoted-key"#),
            ("{\"c\": DONE}", r#"{"c":"done"} unquoted-text"#),
            ("{\"t\": [x, y z]}", r#"{"t":["x","y z"]} unquoted-text unquoted-text"#),
            ("{\"d\": True, \"n\": None}", r#"{"d":true,"n":null} python-literal python-literal"#),
            ("{\"d\": False}", r#"{"d":false} python-literal"#),
            ("{\"b\": \"x\ny\tz\"}", r#"{"b":"x\ny\tz"} control-character control-character"#),
            (
                r#"{"b": "it\'s \_ \x41 \d"}"#,
                r#"{"b":"it's _ A \\d"} invalid-escape invalid-escape invalid-escape invalid-escape"#,
            ),
            (r#"{"b": "\xe9\u12"}"#, r#"{"b":"\\xe9\\u12"} invalid-escape invalid-escape"#),
            (r#"{"b": "\ud83d\ude00 \ud83d x"}"#, "{\"b\":\"😀 \u{fffd} x\"} lone-surrogate"),
            (r#"{"b": "\ude00"}"#, "{\"b\":\"\u{fffd}\"} lone-surrogate"),
            (r#"{"e": +1}"#, r#"{"e":1} number-spelling"#),
            (r#"{"e": .5}"#, r#"{"e":0.5} number-spelling"#),
            (r#"{"e": -.5}"#, r#"{"e":-0.5} number-spelling"#),
            (r#"{"a": 5.}"#, r#"{"a":5} number-spelling"#),
            (r#"{"b": "say "hi" now"}"#, r#"{"b":"say \"hi\" now"} inner-quote inner-quote"#),
            (r#"{"b": "say "hi""}"#, r#"{"b":"say \"hi\""} inner-quote inner-quote"#),
            (r#"{"o": {"x": [1}, "a": 2}"#, r#"{"a":2,"o":{"x":[1]}} missing-bracket"#),
            (r#"{"l": [1, 2}"#, r#"{"l":[1,2]} missing-bracket"#),
            (r#"{"a": 1]}"#, r#"{"a":1} stray"#),
            ("{\u{a0}\"a\":\u{a0}1}", r#"{"a":1}"#),
        ],
    );
}

#[test]
fn what_is_cut_off() {
    check_all(
        ANY,
        &[
            (r#"{"a": 1, "b": "hel"#, r#"{"a":1,"b":"hel"} open-text open-end"#),
            (r#"{"b": "x", "a": 12"#, r#"{"b":"x"} cut-off open-end"#),
            (r#"{"b": "x", "a": 12 "#, r#"{"a":12,"b":"x"} open-end"#),
            (r#"{"b": "x", "d": tru"#, r#"{"b":"x"} cut-off open-end"#),
            (r#"{"b": "x", "d": true"#, r#"{"b":"x","d":true} open-end"#),
            (r#"{"l": [1, 2, 3"#, r#"{"l":[1,2]} cut-off open-end"#),
            (r#"{"o": {"y": "x"#, r#"{"o":{"y":"x"}} open-text open-end"#),
            (r#"{"a": 1, "b"#, r#"{"a":1} cut-off open-end"#),
            (r#"{"a": 1, "b":"#, r#"{"a":1} cut-off open-end"#),
            (r#"{"a": 1, b"#, r#"{"a":1} cut-off open-end"#),
            (r#"{"b": "x\"#, r#"{"b":"x"} open-text open-end"#),
            (r#"{"b": "x\u00e"#, r#"{"b":"x"} open-text open-end"#),
            (r#"{"b": "x\ud83d\u"#, r#"{"b":"x"} open-text open-end"#),
            (r#"{"c": "do"#, "{} left-out open-text open-end"),
            ("```json\n{\"b\": \"x\n```\nThat's it.", r#"{"b":"x"} fence open-text open-end fence prose"#),
            ("```json\n{\"l\": [1, 2\n```", r#"{"l":[1,2]} fence cut-off open-end fence"#),
            ("<answer>{\"a\": 1, </answer>", r#"{"a":1} wrapper cut-off open-end wrapper"#),
        ],
    );
}

#[test]
fn what_has_no_one_reading_is_left_out() {
    check_all(
        ANY,
        &[
            (r#"{"a": 1, "e": NaN}"#, r#"{"a":1} left-out"#),
            (r#"{"a": 1, "e": -Infinity}"#, r#"{"a":1} left-out"#),
            (r#"{"a": 0x1F}"#, "{} left-out"),
            (r#"{"b": 0x1F}"#, r#"{"b":"0x1F"} unquoted-text"#),
            (r#"{"a": 1,000, "b": "x"}"#, r#"{"b":"x"} left-out stray"#),
            (r#"{"a": 1_000}"#, "{} left-out"),
            (r#"{"a": 007}"#, "{} left-out"),
            (r#"{"l": [1, NaN, 3], "a": 1}"#, r#"{"a":1} left-out"#),
            (r#"{"l": [1, ..., 9]}"#, "{} left-out"),
            (r#"{"l": [...]}"#, "{} left-out"),
            (r#"{"b": ..., "a": 1}"#, r#"{"a":1} left-out"#),
            (r#"{"a": 25227143063332189585438}"#, "{} left-out"),
            (r#"{"e": -25227143063332189585438}"#, "{} left-out"),
            (r#"{"a": "25227143063332189585438"}"#, r#"{"a":"25227143063332189585438"}"#),
            (r#"{"b": Paris, France, "a": 1}"#, r#"{"a":1} left-out stray"#),
            (r#"{"b": see: this, "a": 1}"#, r#"{"a":1} left-out"#),
            (r#"{"b": "say "hi", then go", "a": 1}"#, r#"{"a":1} left-out inner-quote stray"#),
            (r#"{"a": , "b": "x"}"#, r#"{"b":"x"} left-out"#),
            (r#"{"a": 1e999}"#, "{} left-out"),
            (r#"{"a": Paris}"#, "{} left-out"),
        ],
    );
}

#[test]
fn scalars_of_the_wrong_type() {
    check_all(
        ANY,
        &[
            (r#"{"a": "42"}"#, r#"{"a":42} number-from-text"#),
            (r#"{"a": "42.5"}"#, r#"{"a":"42.5"}"#),
            (r#"{"a": "forty"}"#, r#"{"a":"forty"}"#),
            (r#"{"e": " -1.5 "}"#, r#"{"e":-1.5} number-from-text"#),
            (r#"{"a": 3.0}"#, r#"{"a":3} whole-number"#),
            (r#"{"a": 3.5}"#, r#"{"a":3.5}"#),
            (r#"{"e": 3.0}"#, r#"{"e":3.0}"#),
            (r#"{"a": 1e300}"#, r#"{"a":1e+300}"#),
            (r#"{"l": ["1", 2.0]}"#, r#"{"l":[1,2]} number-from-text whole-number"#),
            (r#"{"b": 42}"#, r#"{"b":"42"} text-from-number"#),
            (r#"{"b": 1.50}"#, r#"{"b":"1.50"} text-from-number"#),
            (r#"{"b": true}"#, r#"{"b":true}"#),
            (r#"{"b": null}"#, r#"{"b":null}"#),
            (r#"{"d": "true"}"#, r#"{"d":true} boolean-from-text"#),
            (r#"{"d": 1}"#, r#"{"d":1}"#),
            (r#"{"n": "null"}"#, r#"{"n":null} null-from-text"#),
            (r#"{"n": ""}"#, r#"{"n":null} null-from-text"#),
            (r#"{"n": "7"}"#, r#"{"n":7} number-from-text"#),
            (r#"{"a": ""}"#, r#"{"a":""}"#),
            (r#"{"c": " Done "}"#, r#"{"c":"done"} enum-spelling"#),
            (r#"{"c": "closed"}"#, r#"{"c":"closed"}"#),
            (r#"{"a": "4"#, r#"{"a":"4"} open-text open-end"#),
            (r#"{"o": "{\"x\": \"1\"}"}"#, r#"{"o":{"x":1}} number-from-text encoded"#),
            (r#"{"o": "{\"x\": {\"y\": 2}}"}"#, r#"{"o":{"x":{"y":2}}} encoded"#),
            (r#"{"l": "[1, \"2\"]"}"#, r#"{"l":[1,2]} number-from-text encoded"#),
            (r#"{"o": "[1]"}"#, r#"{"o":"[1]"}"#),
            (r#""{\"a\": 1}""#, r#"{"a":1} encoded"#),
            (r#""{\"a\": 1""#, r#""{\"a\": 1""#),
            ("```json\n\"{\\\"a\\\": 1,}\"\n```", r#"{"a":1} fence extra-comma encoded fence"#),
            (r#""\"{\\\"a\\\": 1}\"""#, r#""\"{\\\"a\\\": 1}\"""#),
            (r#"[{"a": 1}]"#, r#"[{"a":1}]"#),
        ],
    );
    check_all(
        r#"{"x":{"any":["integer","null"]},"s":{"any":["string","null"]},"e":["Open","open"],
            "p":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"number"}},
            "m":{"type":"object","additionalProperties":{"type":"integer"}},
            "u":{"oneOf":[
                {"type":"object","properties":{"kind":{"const":"a"},"v":{"type":"integer"}},"required":["kind","v"]},
                {"type":"object","properties":{"kind":{"const":"b"},"v":{"type":"string"}},"required":["kind","v"]}]}}"#,
        &[
            (r#"{"x": "5"}"#, r#"{"x":5} number-from-text"#),
            (r#"{"x": "null"}"#, r#"{"x":null} null-from-text"#),
            (r#"{"s": "null"}"#, r#"{"s":"null"}"#),
            (r#"{"s": ""}"#, r#"{"s":""}"#),
            (r#"{"e": "OPEN"}"#, r#"{"e":"OPEN"}"#),
            (r#"{"p": ["1", 2, "3"]}"#, r#"{"p":[1,"2",3]} number-from-text text-from-number number-from-text"#),
            (r#"{"m": {"k": "1"}}"#, r#"{"m":{"k":1}} number-from-text"#),
            (r#"{"u": {"kind": "B", "v": 1}}"#, r#"{"u":{"kind":"b","v":"1"}} enum-spelling text-from-number"#),
            (r#"{"u": {"kind": "a", "v": "1"}}"#, r#"{"u":{"kind":"a","v":1}} number-from-text"#),
            (r#"{"u": {"kind": "c", "v": "1"}}"#, r#"{"u":{"kind":"c","v":"1"}}"#),
        ],
    );
    let referring = contract(json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/count"}},
        "allOf": [{"properties": {"a": {"$ref": "#/$defs/count"}}}], "$defs": {"count": {"type": "integer"}}}));
    assert_eq!(decoded_text(r#"{"a": "1"}"#, &referring), r#"{"a":1} number-from-text"#);
}

#[test]
fn of_several_values_the_best_is_taken() {
    let mut schema = object(&json!({"a": "integer", "b": "string"}));
    schema["required"] = json!(["a"]);
    let contract = contract(schema);
    for (input, expected) in [
        (r#"Draft {"a": 1}, final {"a": 2}"#, r#"{"a":2} prose candidates"#),
        ("```json\n{\"a\": 1}\n```\nor\n```json\n{\"a\": 2}\n```", "! ambiguous"),
        (r#"{"a": 1} or {"a": "2"}"#, "! ambiguous"),
        (r#"{"a": 1} or {"b": "x"}"#, r#"{"a":1} candidates prose"#),
        (r#"{"b": "x"} or {"a": "x"}"#, r#"{"a":"x"} prose candidates"#),
        (r#"{"b": "x"} or [1]"#, r#"{"b":"x"} candidates prose"#),
        ("{\"a\": 1}\n{\"a\": 2}", "! ambiguous"),
        ("{\"a\": 1}\n{\"a\": 1}", r#"{"a":1} prose candidates"#),
    ] {
        assert_eq!(decoded_text(input, &contract), expected, "{input}");
    }
    let many: String = (0..100).map(|at| format!("{{\"a\": {at}}} ")).collect();
    assert_eq!(decoded_text(&many, &contract), "! ambiguous");
    let many = format!("{many}final: {{\"a\": 100}}");
    assert_eq!(decoded_text(&many, &contract), r#"{"a":100} candidates-unread prose candidates"#);
    let decoded = decode_value(&many, &contract).unwrap();
    let unread = decoded.repairs.iter().find(|repair| repair.kind == RepairKind::CandidatesUnread).unwrap().span;
    assert_eq!(many.get(unread.start..unread.end).unwrap().matches('{').count(), 101 - MAX_CANDIDATES);
}

/// The code spans of a table's cell.
fn spans(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(|span| span.replace('⏎', "\n")).collect()
}

#[test]
fn the_page_is_right() {
    let page = include_str!("../../../../docs/concepts/decoding.md");
    let schema = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let contract = contract(serde_json::from_str(schema).unwrap());
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for row in &rows {
        let cells: Vec<Vec<String>> = row.trim_matches('|').split(" | ").map(spans).collect();
        let mut expected = cells[1].clone();
        expected.extend(cells.get(2).into_iter().flatten().cloned());
        assert_eq!(decoded_text(&cells[0][0], &contract), expected.join(" "), "{row}");
    }
    assert!(rows.len() > 30);
    for word in
        RepairKind::ALL.iter().map(|kind| kind.as_str()).chain(DecodeFailure::ALL.iter().map(|kind| kind.as_str()))
    {
        assert!(page.contains(&format!("`{word}`")) || page.contains(&format!("! {word}`")), "{word}");
    }
}

#[test]
fn nothing_is_too_deep_or_too_long() {
    let contract = contract(object(&serde_json::from_str(ANY).unwrap()));
    for (depth, expected) in [(MAX_DEPTH - 1, true), (MAX_DEPTH, true), (MAX_DEPTH + 1, false), (100_000, false)] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("{a:[", "]}")] {
            let levels = depth / (open.matches(['{', '[']).count());
            if levels * open.matches(['{', '[']).count() != depth {
                continue;
            }
            let text = format!("{}1{}", open.repeat(levels), close.repeat(levels));
            let read = decode_value(&text, &contract);
            // A list that ends with an unquoted key's list is fine. So is any other nesting.
            assert_eq!(read.is_ok(), expected, "{open} {depth}");
            assert!(expected || read == Err(DecodeFailure::TooDeep));
            let cut = decode_value(&open.repeat(levels), &contract);
            assert!(expected || cut == Err(DecodeFailure::TooDeep), "{open} {depth}");
        }
    }
    let long = 100_000;
    for piece in [
        "{",
        "[",
        "{}",
        "[]",
        "\"",
        "'",
        "{\"a\":",
        "[1,",
        ",",
        "{'",
        "{\"a",
        "\\",
        "\\u",
        "```",
        "```\n",
        "<a>",
        "</a>",
        "//",
        "/*",
        "#\n",
        "{a:'x' ",
        "[a {",
        "“",
        "\"\\\"",
        "x ",
        "[ ",
        "{a,",
        "{\"a\": \"x\" y\"",
        "]",
        "\u{feff}",
        "{\"a\": \"x\n```\n",
        "[\"a\n```\n",
        "<think></thought>",
        "[1]\n",
        "[1]",
        "{\"b\": [",
        "a\"\"]",
        "{\\\"a\\\": ",
        "`a",
        "Q:\n",
        "<|user|>",
        "Wait, {\"a\":1}\n",
    ] {
        let mut text = String::from("{\"a\": 1, ");
        for start in ["", "{\"b\": \"", "{\"a\": 1, ", "[1, ", "{b: "] {
            text.clear();
            text.push_str(start);
            text.push_str(&piece.repeat(long / piece.len()));
            if let Ok(decoded) = decode_value(&text, &contract) {
                assert!(decoded.repairs.len() <= 2 * MAX_REPAIRS, "{piece} {start}");
            }
        }
    }
}

#[test]
fn every_kind_has_a_word_and_a_sentence() {
    for kind in RepairKind::ALL {
        assert_eq!(json!(kind), json!(kind.as_str()));
        assert!(kind.in_words().len() > kind.as_str().len() && !kind.in_words().ends_with('.'));
    }
    for kind in DecodeFailure::ALL {
        assert_eq!(json!(kind), json!(kind.as_str()));
        assert!(kind.in_words().contains("; send "));
    }
    assert!(DecodeFailure::TooDeep.in_words().contains(&MAX_DEPTH.to_string()));
    let mut words: Vec<&str> = RepairKind::ALL.iter().map(|kind| kind.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), RepairKind::ALL.len());
}
