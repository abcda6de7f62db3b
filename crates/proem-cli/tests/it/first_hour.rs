//! The guide through the first hour: what it shows is what a new user sees.

use proem_llm::scripted::Reply;
use serde_json::json;

use crate::guide;
use crate::risk::scene::shop;
use crate::run::start;

#[test]
fn the_first_hour_goes_as_the_guide_says() {
    let says = |word: &str| Reply::value(json!({ "severity": word }));
    let words = ["high", "urgent", "urgent", "high", "high", "low", "low"];
    let answer = Reply::text("All of them: they go from 500 to 559.");
    let server = start([answer].into_iter().chain(words.into_iter().map(says)).collect());
    let mut fixture = shop().repository();
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-api-0123456789abcdef");
    fixture.set("LANG", "C.UTF-8");
    let provider = format!("base_url = \"http://{}\"\nkey = \"ANTHROPIC_API_KEY\"\n", server.address());
    fixture.configure("config.toml", &format!("[providers.anthropic]\n{provider}"));
    let tried = guide::run(&fixture, "first-hour.md", &[]);
    assert_eq!((tried.files, tried.sessions), (5, 12));
    assert_eq!(server.requests().len(), words.len() + 1);
}
