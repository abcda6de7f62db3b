//! Roles, models and providers, as configuration and callers name them.

use proem_app::calling::{WantedModel, wanted_endpoint};
use proem_engine::providers::Providers;
use proem_runtime::Environment;

use crate::Home;

/// The model of a server of the user's own that is meant. `top` and `more` are configured before and behind the server.
#[track_caller]
fn check((top, more): (&str, &str), model: Option<&str>, provider: Option<&str>, expected: &str) {
    let home = Home::with(&format!("{top}\n[providers.local]\nbase_url = \"http://127.0.0.1:9/v1\"\n{more}\n"));
    // Prompts that ship ask for the small model.
    let wanted = WantedModel { model, provider, prompt: Some("small") };
    let config = home.project().config;
    let found = wanted_endpoint(&config, &Providers::load().unwrap(), &wanted, &Environment::inherited()).unwrap();
    assert_eq!((found.model.name.as_str(), found.endpoint.name.as_str()), (expected, "local"), "{top} {more}");
}

#[test]
fn a_model_is_found_by_role_model_and_provider() {
    let role = ("", "[roles]\nsmall = \"local/my-model\"");
    check(role, None, None, "my-model");
    check(role, Some("small"), None, "my-model");
    check(("", "[roles]\nfast = \"local/my-model\""), Some("fast"), None, "my-model");
    check(("model = \"local/my-model\"", ""), None, None, "my-model");
    check(("", ""), Some("local/my-model"), None, "my-model");
    check(("", ""), Some("org/my-model"), Some("local"), "org/my-model");
    check(("", "[providers.local.models.my-model]"), Some("my-model"), None, "my-model");
    // The caller comes before configuration, and that before the prompt.
    check(("model = \"gpt-4o\"", role.1), Some("local/other"), None, "other");
    check(role, None, Some("local"), "my-model");
}
