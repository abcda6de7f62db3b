use std::ffi::OsString;

use proem_engine::providers::SchemaEnforcement;

use super::*;

const CONFIG: &str = r#"
[roles]
small = "ollama/llama3.1"
large = "claude-sonnet-4-6"

[providers.ollama]
base_url = "http://127.0.0.1:11434/v1/"
answers = "object"
call_seconds = 600
[providers.ollama.models."llama3.1"]
context_tokens = 8192

[providers.gateway]
base_url = "https://gateway.example/v1"
key = "GATEWAY_KEY"
stream = false
[providers.gateway.models.special]
input_price = 100
output_price = 200

[providers.anthropic]
concurrency = 2
"#;

fn chosen_endpoint(
    config: &str,
    wanted: &str,
    provider: Option<&str>,
    variables: &[(&str, &str)],
) -> Result<ModelEndpoint, String> {
    let config = Config::parse("config.toml", config).unwrap();
    let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
    let environment: Environment = variables.iter().map(pair).collect();
    let wanted = WantedModel { model: Some(wanted), provider, prompt: None };
    wanted_endpoint(&config, &Providers::load().unwrap(), &wanted, &environment).map_err(|failure| {
        match failure.hint() {
            Some(hint) => format!("{failure}; {hint:?}"),
            None => failure.to_string(),
        }
    })
}

/// `PROVIDER/MODEL at ADDRESS, KEY`.
#[track_caller]
fn check(config: &str, wanted: &str, provider: Option<&str>, expected: &str) {
    let found = chosen_endpoint(config, wanted, provider, &[("ANTHROPIC_API_KEY", "sk-ant")]).map(|asked| {
        let key = match &asked.endpoint.key {
            EndpointKey::None => "no key".to_owned(),
            EndpointKey::Missing { variable } => format!("{variable} is missing"),
            EndpointKey::Loaded { variable, .. } => variable.clone(),
        };
        format!("{}/{} at {}, {key}", asked.endpoint.name, asked.model.name, asked.endpoint.base_url)
    });
    let found = found.unwrap_or_else(|problem| problem);
    assert!(found.starts_with(expected), "{wanted} {provider:?}: {found}");
}

#[test]
fn a_model_is_asked_where_it_is() {
    check("", "small", None, "anthropic/claude-haiku-4-5 at https://api.anthropic.com, ANTHROPIC_API_KEY");
    check("", "gpt-4o", None, "openai/gpt-4o at https://api.openai.com/v1, OPENAI_API_KEY is missing");
    check(CONFIG, "small", None, "ollama/llama3.1 at http://127.0.0.1:11434/v1, no key");
    check(CONFIG, "large", None, "anthropic/claude-sonnet-4-6 at https://api.anthropic.com, ANTHROPIC_API_KEY");
    check(CONFIG, "llama3.1", None, "ollama/llama3.1 at");
    check(CONFIG, "qwen3", Some("ollama"), "ollama/qwen3 at");
    check(CONFIG, "ollama/qwen3", None, "ollama/qwen3 at");
    // A slash belongs to the model's name where the provider is given.
    check(
        CONFIG,
        "meta/llama-4",
        Some("gateway"),
        "gateway/meta/llama-4 at https://gateway.example/v1, GATEWAY_KEY is missing",
    );
    check("", "claude-next", Some("anthropic"), "anthropic/claude-next at https://api.anthropic.com");
}

#[test]
fn a_role_says_who_and_which_and_the_command_line_who_else() {
    check(CONFIG, "small", Some("gateway"), "gateway/llama3.1 at https://gateway.example/v1");
    check(CONFIG, "large", Some("gateway"), "gateway/claude-sonnet-4-6 at https://gateway.example/v1");
    let own = "[providers.claude]\nprotocol = \"anthropic\"\nbase_url = \"http://127.0.0.1:8000\"\n";
    check(own, "small", Some("claude"), "claude/claude-haiku-4-5 at http://127.0.0.1:8000");
    check(
        "[providers.local]\nbase_url = \"http://127.0.0.1:8000/v1\"\n",
        "small",
        Some("local"),
        "role `small` means claude-haiku-4-5, which `local` does not have; NameModel { or_set: \"`small = \\\"local/MODEL\\\"` \
         under `[roles]`\" }",
    );
}

#[test]
fn the_command_line_comes_before_configuration_and_that_before_the_prompt() {
    let config = |text| Config::parse("config.toml", text).unwrap();
    let name = |model, config: &Config, prompt| WantedModel { model, provider: None, prompt }.name(config).to_owned();
    let own = config("model = \"gpt-4o\"\n");
    assert_eq!(name(Some("large"), &own, Some("small")), "large");
    assert_eq!(name(None, &own, Some("small")), "gpt-4o");
    assert_eq!(name(None, &config(""), Some("large")), "large");
    assert_eq!(name(None, &config(""), None), "small");
}

#[test]
fn what_is_wrong_names_what_is_known() {
    check("", "llama9", None, "no model or role `llama9`");
    let error = chosen_endpoint(CONFIG, "llama9", None, &[]).unwrap_err();
    assert!(
        error.ends_with(
            "\n  your roles: large (claude-sonnet-4-6), small (ollama/llama3.1); NameProvider([\"`anthropic`\", \
             \"`gateway`\", \"`ollama`\", \"`openai`\"])"
        ),
        "{error}"
    );
    check("", "small", Some("olama"), "no provider `olama`; known are `anthropic`, `openai`, and `[providers.olama]`");
    check("[providers.x]\n", "m", Some("x"), "provider `x` has no address; set `base_url` under `[providers.x]`");
    let twice = "[providers.a.models.m]\n[providers.b.models.m]\n";
    check(twice, "m", None, "`m` is a model of several providers; ChooseProvider([\"a\", \"b\"])");
    let clear = "[providers.x]\nbase_url = \"http://gateway.example/v1\"\nkey = \"K\"\n";
    check(clear, "m", Some("x"), "`providers.x.base_url` would send the key in `K` to `gateway.example` unencrypted");
}

#[test]
fn a_key_goes_to_its_own_address_only() {
    let moved = "[providers.anthropic]\nbase_url = \"https://gateway.example\"\n";
    check(moved, "small", None, "anthropic/claude-haiku-4-5 at https://gateway.example, no key");
    check(
        &format!("{moved}key = \"ANTHROPIC_API_KEY\"\n"),
        "small",
        None,
        "anthropic/claude-haiku-4-5 at https://gateway.example, ANTHROPIC_API_KEY",
    );
}

#[test]
fn configuration_says_what_a_model_costs_and_how_it_answers() {
    let llama = chosen_endpoint(CONFIG, "small", None, &[]).unwrap();
    assert_eq!((llama.model.answers, llama.arrival), (SchemaEnforcement::Object, Arrival::Streamed));
    assert_eq!(llama.model.context_tokens.map(|tokens| tokens.get()), Some(8192));
    assert_eq!(llama.endpoint.limits.call, Duration::from_secs(600));
    let usage =
        Usage { input: Some(10), cache_read: Some(0), cache_writes: Vec::new(), output: Some(1), ..Usage::default() };
    assert_eq!(llama.cost(&usage), Some(NanoDollars(0)));
    let special = chosen_endpoint(CONFIG, "special", None, &[]).unwrap();
    assert_eq!((special.cost(&usage), special.arrival), (Some(NanoDollars(1_200)), Arrival::Whole));
    // Another server may ask another price for a model that is listed.
    let other = chosen_endpoint(CONFIG, "gpt-4o", Some("gateway"), &[]).unwrap();
    assert_eq!(other.cost(&usage), None);
    let claude = chosen_endpoint(CONFIG, "large", None, &[]).unwrap();
    assert_eq!((claude.cost(&usage), claude.endpoint.limits.concurrency.get()), (Some(NanoDollars(45_000)), 2));
}

#[test]
fn an_empty_key_is_missing() {
    let asked = chosen_endpoint("", "small", None, &[("ANTHROPIC_API_KEY", " \n")]).unwrap();
    assert!(matches!(asked.endpoint.key, EndpointKey::Missing { .. }));
}
