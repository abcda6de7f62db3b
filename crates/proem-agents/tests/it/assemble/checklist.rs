//! The required content of the prompt, as the checklist beside it lists it.

use proem_agents::assemble::Task;
use proem_select::mode::Mode;
use serde::Deserialize;

use crate::assemble::scene::{Scene, outside, text_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checklist {
    must: Vec<Must>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Must {
    what: String,
    section: String,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    task: Option<Author>,
    words: Vec<String>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Author {
    Outside,
}

/// The missing content of the prompt.
fn missing_rules(checklist: &Checklist) -> Vec<String> {
    let mut missing = Vec::new();
    for must in &checklist.must {
        for mode in Mode::ALL.into_iter().filter(|mode| must.mode.is_none_or(|wanted| wanted == *mode)) {
            let task = match must.task {
                Some(Author::Outside) => Task::Outside(outside("tidy the clock")),
                None => Task::Caller("tidy the clock".to_owned()),
            };
            let assembled = Scene { task, mode: Some(mode), ..Scene::with("a clock") }.assemble();
            let text = text_of(&assembled, &must.section);
            let absent = must.words.iter().filter(|words| !text.contains(words.as_str()));
            missing.extend(absent.map(|words| format!("{} ({}): `{words}`", must.what, mode.as_str())));
        }
    }
    missing
}

#[test]
fn the_prompt_says_everything_on_its_checklist() {
    let text = include_str!("../../../book/assemble/task/1.2.0.checklist.toml");
    let checklist: Checklist = toml::from_str(text).unwrap();
    assert_eq!(missing_rules(&checklist), Vec::<String>::new());
}

#[test]
fn what_a_prompt_does_not_say_is_found() {
    let text = "[[must]]\nwhat = 'sing'\nsection = 'rules'\nmode = 'plan'\nwords = ['Sing']\n";
    assert_eq!(missing_rules(&toml::from_str(text).unwrap()), ["sing (plan): `Sing`"]);
}
