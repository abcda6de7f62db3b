//! Texts as inputs of a prompt, of one run and of each line of a batch.

use std::cell::RefCell;

use proem_app::Error;
use proem_app::run::batch::{Batch, batch_requests};
use proem_app::run::input::{InputForm, InputReading, Source, single_run_inputs};
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::{OpenRun, RunSetting};

use crate::Home;

/// A prompt whose one input is a text.
const ABOUT: &str = "---
model: small
input:
  schema: { text: string }
proem:
  version: 1.0.0
  sections:
    - { name: role, trust: constitution }
    - { name: text, trust: untrusted, cache: never, keep: required }
---
{{role \"system\"}}{{section \"role\"}}
Say what the text is about.
{{role \"user\"}}{{section \"text\"}}
{{text}}
";

/// The way that a text takes into a request.
#[derive(Debug, Clone, Copy)]
enum Route {
    Single,
    Batch,
}

/// The user's words in the request that a text becomes.
fn sent_words(run: &OpenRun, text: &str, route: Route, reading: InputReading) -> Result<String, Error> {
    let setting = run.setting();
    let form = InputForm::of(&setting.prompt, reading)?;
    let from = Source::Reader("standard input", Box::new(text.as_bytes()));
    let requests = RefCell::new(Vec::new());
    match route {
        Route::Single => {
            let inputs = single_run_inputs(Some(from), &form, &[])?;
            requests.borrow_mut().push(setting.request(&inputs)?.value);
        }
        Route::Batch => {
            let batch = Batch { from, form: &form, texts: &[], out: None };
            batch_requests(run, batch, &|request| {
                requests.borrow_mut().push(request.value);
                Ok(())
            })?;
        }
    }
    let requests = requests.into_inner();
    assert_eq!(requests.len(), 1, "{text} by {route:?}");
    Ok(requests[0]["body"]["messages"][0]["content"][0]["text"].as_str().unwrap().to_owned())
}

/// A run that sends nothing.
fn opened_run(options: &RunOptions, home: &Home) -> OpenRun {
    let mut project = home.project();
    let setting = RunSetting::new(options, &mut project).unwrap();
    let mut notes = Vec::new();
    let opened = async {
        let booking = setting.book(options, &project, &mut notes).await.unwrap();
        setting.begin(booking, options, &project, &mut notes).await.unwrap()
    };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(opened)
}

#[test]
fn json_is_never_sent_as_text_unasked() {
    let home = Home::with("");
    home.book("reviews/about/1.0.0.prompt", ABOUT);
    let options = RunOptions { carriage: Carriage::Nobody, ..RunOptions::of("reviews/about".to_owned()) };
    let run = opened_run(&options, &home);
    for (text, expected) in [
        (r#"{"text": "a complaint"}"#, "a complaint"),
        (" \u{feff}{\"text\": \"a complaint\"}", "a complaint"),
        ("plain words", "plain words"),
        ("{{x}} is a template", "{{x}} is a template"),
        ("{ int x; }", "{ int x; }"),
        ("[draft] a title", "[draft] a title"),
        ("42", "42"),
    ] {
        for route in [Route::Single, Route::Batch] {
            let sent = sent_words(&run, text, route, InputReading::Detected).unwrap();
            assert!(sent.contains(expected) && !sent.contains("{\"text\""), "{text} by {route:?}: {sent}");
        }
    }
    for text in [
        r#"{"complaint": "a"}"#,
        r#"{"text": "a", "id": 3}"#,
        r#"{"text": "a", "text": "b"}"#,
        r#"{"text": "cut of"#,
        r#"{"text": "a"} {"text": "b"}"#,
        "{}",
        r#"["a", "b"]"#,
        r#""a quoted text""#,
    ] {
        for route in [Route::Single, Route::Batch] {
            let refused = sent_words(&run, text, route, InputReading::Detected).unwrap_err().to_string();
            let both = refused.contains("could be the text of `text`, or the prompt's inputs by name");
            assert!(both, "{text} by {route:?}: {refused}");
            let sent = sent_words(&run, text, route, InputReading::Text).unwrap();
            // A text that the guard flags has a sign for each space.
            assert!(sent.replace('ˆ', " ").contains(text), "{text} by {route:?}: {sent}");
        }
    }
}
