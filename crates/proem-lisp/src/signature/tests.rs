//! Signatures as readers, printers and checkers see them.

use super::*;
use crate::{
    limits::{Limits, Meter},
    read_json, resolve_source, write_json,
};
use alloc::{format, string::ToString as _};
use proptest::prelude::*;

fn signature(text: &str) -> Signature {
    Signature::parse(text, &Limits::default()).unwrap()
}

fn data(source: &str) -> Value {
    let program = resolve_source(&format!("'{source}"), &crate::Names::default(), &Limits::default()).unwrap();
    match crate::Machine::new(Arc::new(program), crate::Inputs::default(), Limits::default()).run(u64::MAX) {
        crate::Outcome::Done(value) => value,
        end => panic!("{end:?}"),
    }
}

fn json(text: &str) -> Value {
    read_json(text, &mut Meter::unlimited()).unwrap()
}

fn json_text(value: &Value) -> String {
    write_json(value, &mut Meter::unlimited()).unwrap()
}

fn lines(problems: &[SignatureProblem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_way_of_writing_a_signature_prints_the_same() {
    let cases = [
        ("f(a :int, b :string?) -> {c [:any]}", "f(a :int, b :string?) -> {c [:any]}"),
        ("f(a :int b :string?)->{c [:any]}", "f(a :int, b :string?) -> {c [:any]}"),
        ("f({:id :int :name :string})", ""),
        ("(q {:id :int :name :string}) -> :map", "(q {id :int, name :string}) -> :map"),
        ("()", "() -> :any"),
        ("f () -> [{id :int, tags [:keyword]?}]?", "f() -> [{id :int, tags [:keyword]?}]?"),
        (
            "f(s (:open|:closed)?, t (:a | \"in progress\")) -> :bool",
            "f(s (:open | :closed)?, t (:a | \"in progress\")) -> :bool",
        ),
        (
            "f(_key :string, \"first name\" :string) -> :datetime",
            "f(_key :string, \"first name\" :string) -> :datetime",
        ),
        ("f(a {}) -> :float", "f(a {}) -> :float"),
        ("f(id:int) -> :number", "f(id :int) -> :number"),
    ];
    for (text, printed) in cases {
        let read = Signature::parse(text, &Limits::default());
        match read {
            Ok(read) => {
                assert_eq!(read.to_string(), printed, "{text}");
                assert_eq!(signature(printed).to_string(), printed);
            }
            Err(_) => assert_eq!(printed, "", "{text}"),
        }
    }
}

#[test]
fn what_is_wrong_with_a_signature_is_said_with_its_place_and_a_remedy() {
    let problem = |text: &str| {
        let problems = Signature::parse(text, &Limits::default()).unwrap_err();
        problems.iter().map(|problem| problem.render("s", text)).collect::<String>()
    };
    let all: Vec<String> = [
        "f(a :integer, b :stirng) -> :str",
        "f(a :int, a :int)",
        "f(user-id :int, user_id :int) -> :any",
        "f(a [:int :string])",
        "f(a {b :int)",
        "f(a (:x :y))",
        "f(a (:x | :x))",
        "f(a) -> :int",
        "f(a :int) :int",
        "f(a :int) -> :int :int",
        "f",
        "f(a \"b) -> :int",
        "f(a :int,, b\\c :int)",
    ]
    .iter()
    .map(|text| problem(text))
    .collect();
    check_golden("messages.txt", &all.join("\n"));
}

/// Compares a text with a file of this folder; with `UPDATE_GOLDEN=1` the file is written anew.
#[track_caller]
fn check_golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/signature/tests").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, text).unwrap();
    } else {
        assert_eq!(text, std::fs::read_to_string(path).unwrap());
    }
}

#[test]
fn all_problems_of_a_value_are_listed_with_their_paths() {
    let search = signature(
        "search(q :string) -> {results [{customer {id :int, state (:new | :old)}, tags [:string]?}], total :int}",
    );
    let result = data(
        "{:results [{:customer {:id \"abc\" :state :mid} :tags [\"x\" 3]} {:customer {:id 1 :state \"new\"} :extra 1} 7] :totl 1}",
    );
    assert_eq!(
        lines(&search.check_result(&result)),
        [
            "results[0].customer.id: expected int, got string \"abc\"",
            "results[0].customer.state: expected (:new | :old), got keyword :mid",
            "results[0].tags[1]: expected string, got int 3",
            "results[1].*: expected no other name, got keyword :extra",
            "results[2]: expected map, got int 7",
            "*: expected no other name; did you mean `total`?, got keyword :totl",
            "total: expected int, got nothing",
        ]
    );
    assert_eq!(lines(&search.check_result(&data("[1]"))), ["the value: expected map, got list"]);
    assert_eq!(lines(&search.check_result(&data("{:results nil \"total\" 1}"))), ["results: expected list, got nil"]);
    let good = data("{\"results\" [{\"customer\" {:id 1 :state :new}}] :total 3}");
    assert_eq!(lines(&search.check_result(&good)), [""; 0]);
}

#[test]
fn outside_values_are_at_most_eighty_bytes_and_many_problems_are_counted() {
    let numbers = signature("() -> [:int]");
    let long = Value::vector((0..50).map(|_| Value::from("ä\u{1b}[31m".repeat(100))).collect());
    let problems = numbers.check_result(&long);
    assert_eq!(problems.len(), 21);
    for problem in &problems[..20] {
        let found = problem.found.as_deref().unwrap();
        assert!(found.len() <= 80 && !found.contains('\u{1b}'), "{found}");
    }
    assert_eq!(problems[20].to_string(), "the value: 30 more problems");
}

#[test]
fn inputs_are_corrected_where_nothing_is_lost_and_only_there() {
    let types = ["int", "float", "number", "bool", "keyword", "string", "datetime", "(:a | :b)"];
    let values = [
        "\"42\"",
        "\"042\"",
        "\" 42\"",
        "\"42.0\"",
        "\"1.50\"",
        "\"1.5\"",
        "3.0",
        "3.5",
        "1e300",
        "9007199254740993",
        "\"true\"",
        "\"yes\"",
        "\"a\"",
        ":a",
        "\"two words\"",
        "\"2024-02-30\"",
        "\"2024-02-29T10:00:00Z\"",
        "\"NaN\"",
        "7",
        "true",
    ];
    let mut table = String::new();
    for kind in types {
        let kind = if kind.starts_with('(') { String::from(kind) } else { format!(":{kind}") };
        let of = signature(&format!("(x {kind}) -> :any"));
        table.push_str(&format!("{kind}\n"));
        for value in values {
            let input = data(&format!("{{:x {value}}}"));
            let line = match of.coerce_inputs(&input) {
                Ok(coerced) if coerced.warnings.is_empty() => {
                    assert_eq!(coerced.value, input);
                    continue;
                }
                Ok(coerced) => format!("{:?}", coerced.value.field("x").unwrap()),
                Err(_) => continue,
            };
            table.push_str(&format!("  {value} -> {line}\n"));
        }
    }
    check_golden("coerced.txt", &table);
}

#[test]
fn corrected_inputs_keep_everything_else_and_their_names() {
    let of = signature("(rows [{user_id :int, tag :keyword?}], limit :int?) -> :any");
    let input =
        json("{\"rows\": [{\"user-id\": \"7\", \"tag\": \"x\"}, {\"user_id\": 8, \"more\": 1}], \"other\": [1]}");
    let coerced = of.coerce_inputs(&input).unwrap();
    assert_eq!(
        format!("{:?}", coerced.value),
        "{\"rows\" [{\"user_id\" 7 \"tag\" :x} {\"user_id\" 8 \"more\" 1}] \"other\" [1]}"
    );
    assert_eq!(
        lines(&coerced.warnings),
        [
            "rows[0].user_id: renamed to `user_id`, got string \"user-id\"",
            "rows[0].user_id: became int 7, got string \"7\"",
            "rows[0].tag: became keyword :x, got string \"x\"",
            "rows[1].*: no parameter or field has this name, got string \"more\"",
            "*: no parameter or field has this name, got string \"other\"",
        ]
    );
}

#[test]
fn secret_fields_are_never_shown_and_their_underscore_is_never_folded() {
    let of = signature("(_key :int, name :int) -> {_token {inner [:int]}}");
    let problems = of.coerce_inputs(&data("{:_key \"sk-secret\" :name \"x\"}")).unwrap_err();
    assert_eq!(lines(&problems), ["_key: expected int, got string [Hidden]", "name: expected int, got string \"x\""]);
    let problems = of.coerce_inputs(&data("{:-key 1 :name 1}")).unwrap_err();
    assert_eq!(lines(&problems), ["_key: expected int, got nothing"]);
    let problems = of.check_result(&data("{:_token {:inner [1 \"sk-secret\"]}}"));
    assert_eq!(lines(&problems), ["_token.inner[1]: expected int, got string [Hidden]"]);
    let warnings = of.coerce_inputs(&data("{:_key \"42\" :name 1}")).unwrap().warnings;
    assert_eq!(lines(&warnings), ["_key: was corrected, got string"]);
}

#[test]
fn one_field_under_two_names_is_a_problem() {
    let of = signature("(user_id :int) -> :any");
    let doubled = data("{:user_id 1 \"user_id\" 2 :user-id 3}");
    let problems = lines(&of.check_arguments(&doubled));
    assert_eq!(problems.len(), 2);
    assert!(problems[0].starts_with("user_id: expected one entry of this name"), "{problems:?}");
}

#[test]
fn endless_sequences_and_functions_are_no_values_of_a_result() {
    let of = signature("() -> [:int]");
    let ranges = |source: &str| {
        let program = resolve_source(source, &crate::Names::default(), &Limits::default()).unwrap();
        match crate::Machine::new(Arc::new(program), crate::Inputs::default(), Limits::default()).run(u64::MAX) {
            crate::Outcome::Done(value) => lines(&of.check_result(&value)),
            end => panic!("{end:?}"),
        }
    };
    assert_eq!(ranges("(range 3)"), [""; 0]);
    assert_eq!(ranges("(range)"), ["the value: expected list, got list"]);
    assert_eq!(ranges("(iterate inc 1)"), ["the value: expected list, got list"]);
    assert_eq!(ranges("[inc]"), ["[0]: expected int, got function inc"]);
    assert_eq!(ranges("#{1}"), ["the value: expected list, got set"]);
}

#[test]
fn schemas_of_signatures_have_a_maximum_for_everything() {
    let of =
        signature("f(q :string, n :int?, tags [:keyword], extra :map?, any :any) -> [{at :datetime, s (:a | :b)?}]");
    let parameters = of.parameters_schema();
    assert_eq!(
        json_text(&parameters.schema),
        "{\"additionalProperties\":false,\"properties\":{\"any\":{\"additionalProperties\":{\"maxLength\":10000,\"type\":[\"boolean\",\"null\",\"number\",\"string\"]},\"items\":{\"maxLength\":10000,\"type\":[\"boolean\",\"null\",\"number\",\"string\"]},\"maxItems\":1000,\"maxLength\":10000,\"maxProperties\":1000,\"propertyNames\":{\"maxLength\":200},\"type\":[\"array\",\"boolean\",\"null\",\"number\",\"object\",\"string\"]},\"extra\":{\"additionalProperties\":{\"maxLength\":10000,\"type\":[\"boolean\",\"null\",\"number\",\"string\"]},\"maxProperties\":1000,\"propertyNames\":{\"maxLength\":200},\"type\":[\"null\",\"object\"]},\"n\":{\"type\":[\"integer\",\"null\"]},\"q\":{\"maxLength\":10000,\"type\":\"string\"},\"tags\":{\"items\":{\"maxLength\":200,\"type\":\"string\"},\"maxItems\":1000,\"type\":\"array\"}},\"required\":[\"q\",\"tags\",\"any\"],\"type\":\"object\"}"
    );
    assert_eq!(
        parameters.filled,
        [
            "/properties/any/type",
            "/properties/extra/additionalProperties",
            "/properties/extra/maxProperties",
            "/properties/extra/propertyNames/maxLength",
            "/properties/q/maxLength",
            "/properties/tags/items/maxLength",
            "/properties/tags/maxItems",
        ]
    );
}

#[test]
fn what_only_a_schema_can_say_is_checked_and_listed() {
    let schema = json(
        r##"{"type": "object", "required": ["id", "name"], "additionalProperties": false, "properties": {
            "id": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 2},
            "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
            "kind": {"enum": ["a", "b c", null]},
            "level": {"enum": [1, 2]},
            "who": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}]},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "either": {"type": ["string", "integer"]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/part"}, "minItems": 1, "uniqueItems": true},
            "when": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "format": "email"},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1}
        }, "$defs": {"part": {"type": "boolean"}}}"##,
    );
    let SchemaSignature { signature: of, dropped } = Signature::of_schema("f", &schema, None).unwrap();
    assert_eq!(
        of.to_string(),
        "f(id :int, name :string, kind (:a | \"b c\")?, level :any?, who :any?, maybe :string?, either :any?, list [:bool]?, when :datetime?, mail :string?, map :map?) -> :any"
    );
    assert_eq!(
        dropped,
        [
            "/properties/either/type",
            "/properties/id/exclusiveMaximum",
            "/properties/id/minimum",
            "/properties/id/multipleOf",
            "/properties/level/enum",
            "/properties/list/minItems",
            "/properties/list/uniqueItems",
            "/properties/mail/format",
            "/properties/map/maxProperties",
            "/properties/name/maxLength",
            "/properties/name/pattern",
            "/properties/who/oneOf",
        ]
    );
    let check = |more: &str| lines(&of.check_arguments(&data(&format!("{{:id 4 :name \"abc\" {more}}}"))));
    assert_eq!(check(""), [""; 0]);
    assert_eq!(check(":kind \"b c\" :level 2 :who {:id 1} :maybe nil :either 3 :list [true] :map {:a 1}"), [""; 0]);
    assert_eq!(check(":level 3"), ["level: expected one of 1, 2, got int 3"]);
    assert_eq!(check(":who 3"), ["who: expected exactly one of the alternatives, got int 3"]);
    assert_eq!(check(":either true"), ["either: expected one of the types string, integer, got bool true"]);
    assert_eq!(check(":list []"), ["list: expected at least 1 elements, got list"]);
    assert_eq!(check(":list [true true]"), ["list: expected no element twice, got list"]);
    assert_eq!(
        check(":map {:a 1 :b \"x\"}"),
        ["map: expected at most 1 entries, got map", "map.*: expected int, got string \"x\""]
    );
    assert_eq!(
        lines(&of.check_arguments(&data("{:id 11 :name \"A\"}"))),
        [
            "id: expected less than 10, got int 11",
            "id: expected a multiple of 2, got int 11",
            "name: expected a match of \"^[a-z]+$\", got string \"A\""
        ]
    );
}

#[test]
fn schemas_that_cannot_be_checked_are_refused() {
    let cases = [
        ("{\"type\": \"string\"}", "the schema isn't an object"),
        ("{\"type\": \"object\", \"properties\": {\"a\": {\"not\": {}}}}", "`/properties/a/not` can't be checked"),
        (
            "{\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": \"http://x/y\"}}}",
            "`/properties/a/$ref` refers to something outside",
        ),
        (
            "{\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": \"#/$defs/x\"}}}",
            "`/properties/a/$ref` refers to a definition that is missing",
        ),
        (
            "{\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": \"#/$defs/x\"}}, \"$defs\": {\"x\": {\"items\": {\"$ref\": \"#/$defs/x\"}}}}",
            "`/properties/a/items/$ref` is recursive",
        ),
        ("{\"$ref\": \"#/$defs/x\", \"$defs\": {\"x\": {\"$ref\": \"#/$defs/x\"}}}", "`/$ref` is recursive"),
        ("{\"type\": \"object\", \"properties\": {\"a-b\": {}, \"a_b\": {}}}", "`/properties` is there twice"),
        ("{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"text\"}}}", "`/properties/a/type` is none of"),
        (
            "{\"type\": \"object\", \"properties\": {\"a\": {\"pattern\": \"(?=x)\"}}}",
            "`/properties/a/pattern` can't be checked here",
        ),
        ("{\"type\": \"object\", \"properties\": {\"a\": false}}", "`/properties/a` takes no value"),
    ];
    for (schema, start) in cases {
        let problems = Signature::of_schema("f", &json(schema), None).unwrap_err();
        assert!(problems.iter().any(|problem| problem.starts_with(start)), "{schema}: {problems:?}");
    }
}

#[test]
fn references_that_double_at_each_level_end() {
    let levels: Vec<String> =
        (0..40).map(|at: usize| format!("\"d{at}\": {{\"type\": \"object\", \"properties\": {{\"a\": {{\"$ref\": \"#/$defs/d{n}\"}}, \"b\": {{\"$ref\": \"#/$defs/d{n}\"}}}}}}", n = at.saturating_add(1))).collect();
    let schema =
        format!("{{\"$ref\": \"#/$defs/d0\", \"$defs\": {{{}, \"d40\": {{\"type\": \"string\"}}}}}}", levels.join(","));
    let problems = Signature::of_schema("f", &json(&schema), None).unwrap_err();
    assert!(problems[0].contains("more than 20000 types"), "{problems:?}");
}

#[test]
fn hostile_signatures_are_refused_in_little_time() {
    let limits = Limits::default();
    let deep = format!("f(a {}:int{})", "[".repeat(10_000), "]".repeat(10_000));
    assert!(Signature::parse(&deep, &limits).unwrap_err()[0].diagnostic.message.contains("200 levels"));
    let large = format!("f({})", "a :int ".repeat(200_000));
    assert!(Signature::parse(&large, &limits).unwrap_err()[0].diagnostic.message.contains("bytes"));
    let many = format!("f({})", "a:int ".repeat(40_000));
    assert!(!Signature::parse(&many, &limits).unwrap_err().is_empty());
    let wide: String = (0..15_000).map(|at| format!("a{at} :int ")).collect();
    let wide = signature(&format!("f({wide})"));
    let arguments = Value::map((0..15_000).map(|at| (Value::from(format!("a{at}")), Value::Int(at))));
    assert!(wide.check_arguments(&arguments).is_empty());
    let deep_schema = format!("{}{{}}{}", "{\"items\": ".repeat(150), "}".repeat(150));
    let deep_schema = format!("{{\"type\": \"object\", \"properties\": {{\"a\": {deep_schema}}}}}");
    assert!(Signature::of_schema("f", &json(&deep_schema), None).unwrap_err()[0].contains("too deep"));
}

/// Texts of types that JSON Schema can say.
fn type_text() -> impl Strategy<Value = String> {
    let atom = prop_oneof![":string", ":int", ":number", ":bool", ":datetime", ":any", ":map", "\\(:a \\| \"b c\"\\)"];
    atom.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|of| format!("[{of}]")),
            prop::collection::vec((inner, any::<bool>()), 1..4).prop_map(|fields| {
                let fields = fields.iter().enumerate();
                let fields =
                    fields.map(|(at, (of, is_optional))| format!("f{at} {of}{}", if *is_optional { "?" } else { "" }));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn printing_and_schemas_give_the_signature_again(parameters in prop::collection::vec(type_text(), 0..4), result in type_text()) {
        let parameters: Vec<String> = parameters.iter().enumerate().map(|(at, of)| format!("p{at} {of}")).collect();
        let text = format!("f({}) -> {result}", parameters.join(", "));
        let read = signature(&text);
        prop_assert_eq!(read.to_string(), text.clone());
        let (inputs, output) = (read.parameters_schema().schema, read.result_schema().schema);
        let again = Signature::of_schema("f", &inputs, Some(&output)).unwrap().signature;
        prop_assert_eq!(again.to_string(), text);
        prop_assert_eq!(json_text(&again.parameters_schema().schema), json_text(&inputs));
    }

    #[test]
    fn any_text_is_a_signature_or_refused_with_places_in_it(text in "[a-c:?|(){}\\[\\]\" ,>_-]{0,40}") {
        match Signature::parse(&text, &Limits::default()) {
            Ok(read) => prop_assert_eq!(signature(&read.to_string()).to_string(), read.to_string()),
            Err(problems) => {
                for problem in problems {
                    let span = problem.diagnostic.span.unwrap();
                    prop_assert!(text.get(span.start..span.end).is_some());
                }
            }
        }
    }
}
