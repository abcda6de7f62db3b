//! A run finds out how its server holds answers to a schema.

use super::*;

/// The ways of the requests, and whether each tells the model what its answer looks like.
fn ways(asked: &[Request]) -> Vec<(Option<SchemaEnforcement>, bool)> {
    let is_told =
        |request: &Request| request.assembly.sections.iter().filter(|s| s.name == FORMAT_SECTION).count() == 1;
    asked.iter().map(|request| (request.way, is_told(request))).collect()
}

#[test]
fn a_refused_way_is_followed_by_the_next_one_in_the_same_run() {
    use SchemaEnforcement::{Object, Schema, Text, Tool};
    let (contract, key) = (contract(), InstallationKey::new([7; 32]));
    let one = ExchangeLimits { attempts: NonZeroU32::MIN, tokens: None };
    let terms = terms(Some(&contract), None, &key, one);
    let check = |responses: &[&str], expected: &str, taken: &[SchemaEnforcement]| {
        let request = Request { way: Some(Schema), ..request(&terms) };
        let (ended, attempts, asked) = run_from(terms, request, responses);
        assert_eq!((ended.as_str(), attempts), (expected, responses.len()), "{responses:?}");
        let expected: Vec<_> = taken.iter().map(|way| (Some(*way), way.is_by_prompt())).collect();
        assert_eq!(ways(&asked), expected);
    };
    let (refused, low, value) = ("! mode-refused", r#"answered {"severity":"low"}"#, r#"text {"severity":"low"}"#);
    check(&[value], low, &[Schema]);
    check(&[refused, r#"call triage {"severity":"low"}"#], low, &[Schema, Tool]);
    check(&[refused, refused, value], low, &[Schema, Tool, Object]);
    check(&[refused, refused, refused, value], low, &[Schema, Tool, Object, Text]);
    // A server that refuses everything gets four requests and no more.
    let failed = "failed: the call failed (mode-refused)";
    check(&[refused, refused, refused, refused], failed, &[Schema, Tool, Object, Text]);
    // Only refusals are free: the one attempt is used up.
    check(&[refused, "text no"], "failed: no answer met the contract", &[Schema, Tool]);
    // If a configuration says how the model is held to a schema, a refusal is a failure.
    let known = run(terms, &[refused]);
    assert_eq!((known.0.as_str(), ways(&known.2)), (failed, vec![(None, false)]));
}

#[test]
fn a_way_that_the_server_ignores_is_left() {
    use SchemaEnforcement::{Object, Schema, Tool};
    let (contract, key) = (contract(), InstallationKey::new([7; 32]));
    let three = ExchangeLimits { attempts: NonZeroU32::MIN.saturating_add(2), tokens: None };
    let terms = terms(Some(&contract), None, &key, three);
    let check = |first: SchemaEnforcement, answer: &str, next: SchemaEnforcement| {
        let request = Request { way: Some(first), ..request(&terms) };
        let (_, _, asked) = run_from(terms, request, &[answer, r#"text {"severity":"low"}"#]);
        assert_eq!(asked.last().unwrap().way, Some(next), "{answer}");
    };
    // Words instead of a value, or a value of another shape, come from no server that writes by the schema.
    check(Schema, "text It is bad.", Tool);
    check(Schema, r#"text {"urgency":"low"}"#, Tool);
    // A bound that the provider's dialect can't state may be broken by one that does.
    check(Schema, r#"text {"severity":"low","note":"far more than twenty characters"}"#, Schema);
    check(Tool, "text It is bad.", Object);
    // Words up to the end of the window took the room of the answer. A value that is too long is another matter.
    check(Tool, "length It is bad. It is bad. It is bad.", Object);
    check(Schema, "length It is bad. It is bad. It is bad.", Tool);
    for (way, answer) in [(Schema, r#"length {"severity":"low","note":"It is"#), (Object, "length It is bad.")] {
        let request = Request { way: Some(way), ..request(&terms) };
        let ended = run_from(terms, request, &[answer]).0;
        assert_eq!(ended, "failed: the answer reached the most tokens that it may have", "{answer}");
    }
    check(Tool, r#"call triage {"severity":"none"}"#, Tool);
    check(Object, "text It is bad.", Object);
}

#[test]
fn refusals_take_no_tokens_of_the_limit_and_later_ways_keep_to_it() {
    let (contract, key) = (contract(), InstallationKey::new([7; 32]));
    let unlimited = terms(Some(&contract), None, &key, ExchangeLimits::default());
    let tried = |terms: &ExchangeTerms<'_>| Request { way: Some(SchemaEnforcement::Schema), ..request(terms) };
    let refused = ["! mode-refused", "! mode-refused", r#"text {"severity":"low"}"#];
    let asked = run_from(unlimited, tried(&unlimited), &refused).2;
    let longest = asked.iter().map(most_tokens).max().unwrap();
    let limited = |tokens| ExchangeTerms {
        limits: ExchangeLimits { tokens: Some(tokens), ..ExchangeLimits::default() },
        ..unlimited
    };
    assert_eq!(run_from(limited(longest), tried(&unlimited), &refused).0, r#"answered {"severity":"low"}"#);
    // The form would be too much: the way is not tried.
    let (ended, attempts, _) = run_from(limited(longest - 1), tried(&unlimited), &refused[..2]);
    assert_eq!((ended.as_str(), attempts), ("failed: the call failed (mode-refused)", 2));
}

#[test]
fn tools_that_a_server_refuses_become_one_object() {
    let key = InstallationKey::new([7; 32]);
    let tools = ToolContracts::new(vec![contract()]).unwrap();
    let owed = AnswerRequirement::Calls { tools: &tools, needed: CallRequirement::Some };
    let terms = ExchangeTerms { owed, ..terms(None, None, &key, ExchangeLimits::default()) };
    let forced =
        Request { way: Some(SchemaEnforcement::Tool), answer: tools.form(CallEnforcement::Forced), ..request(&terms) };
    let object = r#"text {"calls":[{"name":"triage","arguments":{"severity":"low"}}]}"#;
    let (ended, _, asked) = run_from(terms, forced, &["! mode-refused", object]);
    assert!(ended.starts_with("answered "), "{ended}");
    assert!(matches!(asked.last().unwrap().answer, AnswerForm::Value { .. }));
    assert_eq!(ways(&asked), [(Some(SchemaEnforcement::Tool), false), (Some(SchemaEnforcement::Object), true)]);
}

#[test]
fn a_copied_figure_is_asked_again_where_the_form_was_shown() {
    let schema = json!({ "type": "object", "properties": { "age": { "type": "integer" } }, "required": ["age"] });
    let (contract, key) = (Contract::new("person", "", schema).unwrap(), InstallationKey::new([7; 32]));
    let terms = terms(Some(&contract), None, &key, ExchangeLimits::default());
    let tried = |way| Request { way: Some(way), ..request(&terms) };
    let (copy, right) = (r#"text {"age": 17}"#, r#"text {"age": 41}"#);
    let refused = ["! mode-refused", "! mode-refused", copy, right];
    assert_eq!(run_from(terms, tried(SchemaEnforcement::Schema), &refused).0, r#"answered {"age":41}"#);
    let twice = ["! mode-refused", "! mode-refused", copy, copy];
    assert_eq!(run_from(terms, tried(SchemaEnforcement::Schema), &twice).0, "failed: no answer met the contract");
    // Nobody showed a form, so nothing was copied.
    assert_eq!(run_from(terms, tried(SchemaEnforcement::Schema), &[copy]).0, r#"answered {"age":17}"#);
}

#[test]
fn what_a_run_learned_shapes_its_next_requests() {
    use crate::providers::{Provider, Providers};
    let attempt = |way, came, window: Option<usize>| {
        let failure = CallFailure {
            window: window.and_then(core::num::NonZeroUsize::new),
            ..CallFailure::new(FailureKind::TooLong, "long")
        };
        Attempt {
            effect: EffectId(0),
            at: Time(0),
            tried: Some(TriedWay { way, came }),
            response: None,
            failure: window.map(|_| failure),
            usage: None,
            repairs: Vec::new(),
            problems: Vec::new(),
        }
    };
    let model = Providers::load().unwrap().unlisted("m", Provider::OpenAi);
    let found = |attempts: &[Attempt]| {
        let model = ServerFindings::of(attempts).apply_to(&model);
        (model.answers, model.context_tokens.map(core::num::NonZeroUsize::get))
    };
    use SchemaEnforcement::{Object, Schema, Tool};
    assert_eq!(found(&[]), (Schema, None));
    assert_eq!(found(&[attempt(Schema, WayResult::Taken, None)]), (Schema, None));
    assert_eq!(found(&[attempt(Schema, WayResult::Refused, None)]), (Tool, None));
    let long = [attempt(Tool, WayResult::Unheld, None), attempt(Object, WayResult::Taken, Some(2_048))];
    assert_eq!(found(&long), (Object, Some(2_048)));
    // A larger window that is named later does not widen the known one, and there is no third request.
    let twice = [long[1].clone(), attempt(Object, WayResult::Taken, Some(4_096))];
    assert_eq!(found(&twice), (Object, Some(2_048)));
    let findings = ServerFindings::of(&twice);
    assert!(!findings.permits_shorter(FailureKind::TooLong));
    assert!(ServerFindings::of(&long).permits_shorter(FailureKind::TooLong));
    assert!(!ServerFindings::of(&long).permits_shorter(FailureKind::Server));
    let mut known = model.clone();
    known.answers_by = crate::providers::EnforcementSource::Known;
    assert_eq!(ServerFindings::of(&long).apply_to(&known).answers, Schema);
}
