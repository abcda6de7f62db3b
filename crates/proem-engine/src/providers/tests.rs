use super::*;
use crate::tokens::Exactness;

const SMALL: &str = r#"version = "1"
[roles]
small = "m"
[caching.c]
provider = "anthropic"
mode = "explicit"
lifetimes = []
sources = []
[tokenisers.t]
base = "o200k"
sources = []
[models.m]
caching = "c"
tokeniser = "t"
sources = []
"#;

#[test]
fn the_built_in_file_is_well_formed() {
    let providers = Providers::load().unwrap();
    assert_eq!(providers.version(), "2026-11");
    assert_eq!(providers.model("small").unwrap().name, "claude-haiku-4-5");
    for model in providers.models() {
        assert!(!model.sources.is_empty(), "{}", model.name);
        assert!(!model.caching.sources.is_empty(), "{}", model.name);
        assert_eq!(model.caching.lifetimes.is_empty(), model.caching.mode == CacheControl::Never, "{}", model.name);
        assert_eq!(
            model.caching.max_breakpoints.is_some(),
            model.caching.mode == CacheControl::Explicit,
            "{}",
            model.name
        );
    }
}

#[test]
fn writes_cost_what_the_provider_says() {
    for model in Providers::load().unwrap().models() {
        for prices in &model.prices {
            for write in &prices.cache_writes {
                let mut lifetimes = model.caching.lifetimes.iter();
                let lifetime = lifetimes.find(|lifetime| lifetime.seconds == Some(write.seconds)).unwrap();
                let expected = prices.input.get() * u64::from(lifetime.write_percent.get()) / 100;
                assert_eq!(write.price.get(), expected, "{}", model.name);
            }
            assert!(prices.cache_read.is_none_or(|read| read < prices.input), "{}", model.name);
        }
    }
}

#[test]
fn counters_say_how_exact_they_are() {
    let providers = Providers::load().unwrap();
    for (name, counter, exactness) in [
        ("claude-haiku-4-5", "o200k × 1.30", Exactness::Estimate),
        ("claude-haiku-5-5", "o200k × 1.76", Exactness::Estimate),
        ("gpt-4o", "o200k", Exactness::Exact),
        // OpenAI's table, `tiktoken/model.py`, has these three under cl100k.
        ("gpt-4", "cl100k", Exactness::Exact),
        ("gpt-4-turbo", "cl100k", Exactness::Exact),
        ("gpt-3.5-turbo", "cl100k", Exactness::Exact),
    ] {
        let model = providers.model(name).unwrap();
        assert_eq!((model.counter().name(), model.counter().exactness()), (counter, exactness), "{name}");
    }
}

#[test]
fn prices_depend_on_the_prompt() {
    let providers = Providers::load().unwrap();
    for (name, tokens, input) in [
        ("claude-haiku-5-5", 100_000, Some(100)),
        ("claude-haiku-5-5", 100_001, Some(500)),
        ("claude-haiku-4-5", 150_000, Some(1_000)),
        ("gpt-6-sol", 272_001, None),
    ] {
        let prices = providers.model(name).unwrap().prices_for(tokens);
        assert_eq!(prices.map(|prices| prices.input.get()), input, "{name} {tokens}");
    }
}

#[test]
fn an_unknown_model_is_answered_with_the_known_ones() {
    let text = SMALL.replace("models.m", "models.claude-one").replace("\"m\"", "\"claude-one\"");
    let providers = Providers::parse(&text).unwrap();
    let known = "\n  roles: small (claude-one)\n  models: claude-one";
    for (name, expected) in [
        ("claude-ome", format!("no model or role `claude-ome`; did you mean `claude-one`?{known}")),
        ("smal", format!("no model or role `smal`; did you mean `small`?{known}")),
        ("llama", format!("no model or role `llama`{known}")),
    ] {
        let error = providers.model(name).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::UnknownModel, expected));
    }
}

#[test]
fn problems_name_key_and_line() {
    for (old, new, expected) in [
        (
            "small = \"m\"",
            "small = \"n\"",
            "role `small` is set to `n`, which is not a known model\n --> providers.toml:3:9",
        ),
        (
            "tokeniser = \"t\"",
            "tokeniser = \"u\"",
            "`tokeniser` of `m` is `u`, which is not under `tokenisers`\n  --> providers.toml:12:9",
        ),
        (
            "base = \"o200k\"",
            "base = \"o200k\"\npercent = 20",
            "`percent` of tokeniser `t` is 20, expected 100 to 200\n  --> providers.toml:13:9",
        ),
        (
            "[models.m]",
            "[models.m]\noutput_tokens = 0",
            "invalid value: integer `0`, expected a nonzero usize\n  --> providers.toml:13:17",
        ),
        ("base = \"o200k\"\n", "", "missing field `base`\n --> providers.toml:9:1"),
        ("mode = \"explicit\"", "mood = 1", "unknown field `mood`, expected one of `provider`"),
    ] {
        let error = Providers::parse(&SMALL.replace(old, new)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidFile);
        assert!(error.to_string().starts_with(&format!("error: {expected}")), "{error}");
    }
}

#[test]
fn all_problems_are_reported() {
    let text = SMALL.replace("caching = \"c\"", "caching = \"d\"").replace("tokeniser = \"t\"", "tokeniser = \"u\"");
    assert_eq!(Providers::parse(&text).unwrap_err().problems().len(), 2);
}

#[test]
fn a_model_is_made_to_call_tools_as_far_as_it_can_be() {
    let providers = Providers::load().unwrap();
    let listed = |name: &str| providers.models().find(|model| model.name == name).unwrap().calls();
    assert_eq!(listed("claude-haiku-4-5"), CallEnforcement::Forced);
    assert_eq!(listed("claude-haiku-5-5"), CallEnforcement::Forced);
    assert_eq!(listed("claude-sonnet-5-5"), CallEnforcement::Demanded);
    assert_eq!(listed("gpt-4o"), CallEnforcement::Forced);
    let mut unlisted = providers.unlisted("llama3.1", Provider::OpenAi);
    for (answers, expected) in [
        (SchemaEnforcement::Tool, CallEnforcement::Forced),
        (SchemaEnforcement::Schema, CallEnforcement::Object),
        (SchemaEnforcement::Object, CallEnforcement::Object),
        (SchemaEnforcement::Text, CallEnforcement::Object),
    ] {
        unlisted.answers = answers;
        assert_eq!(unlisted.calls(), expected, "{answers:?}");
    }
}
