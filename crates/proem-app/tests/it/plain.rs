//! A program without a runtime.

use proem_app::records;
use proem_app::records::Whose;
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::RunSetting;
use proem_app::runs::feedback::{RunFeedback, write_feedback};
use proem_app::shipped_agents;
use proem_app::{ErrorKind, Hint};
use proem_engine::profile::Judgement;
use serde_json::json;

use crate::Home;

#[test]
fn a_request_is_looked_at_without_a_runtime() {
    let home = Home::with("");
    home.book("me/ask/1.0.0.prompt", crate::asynchronous::ASK);
    let mut project = home.project();
    let options = RunOptions { carriage: Carriage::Nobody, ..RunOptions::of("me/ask".to_owned()) };
    let setting = RunSetting::new(&options, &mut project).unwrap();
    let request = setting.request(&json!({ "question": "Why?" }).into()).unwrap();
    assert_eq!(request.notes, []);
    assert!(request.value["body"].to_string().contains("Why?"), "{}", request.value);
}

#[test]
fn an_error_says_its_kind_and_what_could_be_done() {
    let home = Home::with("model = \"nobody-has-this\"\n");
    home.book("me/ask/1.0.0.prompt", crate::asynchronous::ASK);
    let mut project = home.project();
    let error = RunSetting::new(&RunOptions::of("me/ask".to_owned()), &mut project).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(matches!(error.hint(), Some(Hint::NameProvider(_))), "{error:?}");
    // No text below the command line names a flag or a command of it.
    assert!(!error.to_string().contains("--"), "{error}");

    let opinion = RunFeedback { run: "last", whose: Whose::Project, judgement: Judgement::Good, note: "" };
    let error = records::blocking(write_feedback(&shipped_agents::agents(), &project, opinion)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(std::error::Error::source(&error).is_some(), "what it came from is kept");
}
