//! Program agents before anything is asked: what their tools are described with, and whether their prompts fit.

use std::fs;
use std::path::{Path, PathBuf};

use proem_app::Error;
use proem_app::lisp::agent::{load_agent, read_agent};
use proem_app::lisp::mission::{Mission, MissionInput, MissionOptions, prompt_fit};
use proem_app::run::options::Carriage;
use proem_lisp::Value;

use crate::Home;

const CALLER: &str = "version = 1
name = \"caller\"
mission = \"Sort the mails.\"
[tools.classify]
signature = \"(question :string) -> :string\"
model = { book = \"me/ask\" }
[tools.judge]
signature = \"(mail :string) -> :bool\"
model = { prompt = \"Is {{mail}} urgent? Say yes or no.\" }
[tools.child]
signature = \"(day :string) -> :int\"
agent = { file = \"child.agent.toml\" }
";
const CHILD: &str = "version = 1
name = \"child\"
mission = \"Count the mails of {{day}}. Leave out drafts.\"
signature = \"(day :string) -> :int\"
";

fn write_agent(home: &Home, name: &str, text: &str) -> PathBuf {
    let folder = home.places.config.join("agents");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.agent.toml"));
    fs::write(&path, text).unwrap();
    path
}

/// A user with the two agents and a prompt of this purpose.
fn home(purpose: &str) -> (Home, PathBuf) {
    let home = Home::with("");
    home.book("me/ask/1.0.0.prompt", &crate::asynchronous::ASK.replace("  version: 1.0.0\n", purpose));
    write_agent(&home, "child", CHILD);
    let path = write_agent(&home, "caller", CALLER);
    (home, path)
}

/// The section of the first request that shows the tools.
fn tools_shown(home: &Home, path: &Path) -> Result<String, Error> {
    let mut project = home.project();
    let options = MissionOptions { carriage: Carriage::Nobody, ..MissionOptions::default() };
    let input = MissionInput { context: Value::map([]), memory: Value::map([]) };
    let preview = Mission::new(&mut project, &read_agent(path)?, input, &options)?.preview()?;
    let tools = preview.parts.into_iter().find(|part| part.heading == "Available Tools");
    Ok(tools.map(|part| part.text).unwrap_or_default())
}

#[test]
fn a_preview_shows_what_a_tool_is_for_in_the_words_of_what_carries_it_out() {
    let (home, path) = home("  version: 1.0.0\n  purpose: answers a question about mails\n");
    let tools = tools_shown(&home, &path).unwrap();
    let described = |name: &str, signature: &str, words: &str| {
        let whole = format!("### {name}\n```\n{name}{signature}\n```\n{words}\n");
        assert!(tools.contains(&whole), "{whole}\n{tools}");
    };
    described("classify", "(question :string) -> :string", "answers a question about mails");
    described("judge", "(mail :string) -> :bool", "Is `mail` urgent?");
    described("child", "(day :string) -> :int", "Count the mails of `day`.");
    write_agent(&home, "child", &format!("{CHILD}purpose = \"Counts a day's mails.\"\n"));
    assert!(tools_shown(&home, &path).unwrap().contains("\nCounts a day's mails.\n"));
    // The caller's own words come first.
    let own = CALLER.replace("[tools.child]\n", "[tools.child]\ndescription = \"Count mails\"\n");
    let path = write_agent(&home, "caller", &own);
    let tools = tools_shown(&home, &path).unwrap();
    assert!(tools.contains("\nCount mails\n") && !tools.contains("Counts a day's mails."), "{tools}");
}

#[test]
fn a_tool_that_nothing_describes_is_refused_with_the_places_that_could() {
    let (home, path) = home("  version: 1.0.0\n");
    let refused = tools_shown(&home, &path).unwrap_err().to_string();
    assert!(
        refused.contains("tool `classify`: it has no description, and the prompt `me/ask` has no purpose"),
        "{refused}"
    );
    let silent = CHILD.replace("mission = \"Count the mails of {{day}}. Leave out drafts.\"\n", "");
    write_agent(&home, "child", &silent);
    let refused = read_agent(&path).unwrap_err().to_string();
    assert!(
        refused.contains("it has no description, and ") && refused.contains("has no purpose; write `description"),
        "{refused}"
    );
}

#[test]
fn a_description_of_somebody_elses_making_is_one_line_of_a_limited_length() {
    let (home, path) = home("  version: 1.0.0\n  purpose: answers\n");
    let mission = format!("# Rules\\n\\nCount\\nmails {} {{{{day}}}}", "and more ".repeat(200));
    write_agent(&home, "child", &CHILD.replace("Count the mails of {{day}}. Leave out drafts.", &mission));
    let tools = tools_shown(&home, &path).unwrap();
    let line = tools.lines().find(|line| line.starts_with("Count mails and more")).unwrap();
    assert!(line.chars().count() <= 301 && !tools.contains("# Rules"), "{tools}");
}

/// A run is compared with the server behind a name, too, before it goes on.
#[test]
fn another_server_under_the_same_name_is_another_policy() {
    let tool = "version = 1\nname = \"reader\"\n[tools.read]\nsignature = \"() -> :string\"\ndescription = \"Read\"\n\
                mcp = { server = \"docs\", tool = \"read\" }\n";
    let policy = |configured: &str| {
        let home = Home::with(configured);
        let path = write_agent(&home, "reader", tool);
        load_agent(&home.project(), &path).unwrap().policy
    };
    let of = |command: &str| policy(&format!("[mcp.docs]\ncommand = [\"{command}\"]\n"));
    let other = policy("[mcp.docs]\ncommand = [\"a\"]\n[mcp.mail]\ncommand = [\"b\"]\n");
    assert_eq!(of("a"), other, "a server that no tool names says nothing");
    assert_ne!(of("a"), of("b"));
    assert_ne!(of("a"), policy(""));
}

/// A model of a server of one's own that reads so many tokens.
fn small_window(tokens: usize) -> Home {
    Home::with(&format!(
        "model = \"local/llama3.1\"\n[providers.local]\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         models.\"llama3.1\".context_tokens = {tokens}\n"
    ))
}

#[test]
fn a_prompt_is_measured_without_data_and_what_has_to_shrink_is_named() {
    let agent = "version = 1\nname = \"a\"\nmission = \"Look at {{user.name}} and {{day}}.\"\ntrusted_inputs = [\"user\"]\n\
                 signature = \"(user {name :string}, day :string)\"\n";
    let fit = |tokens: usize, mission: &str| {
        let home = small_window(tokens);
        let path = write_agent(&home, "a", &agent.replace("Look at", mission));
        prompt_fit(&mut home.project(), &read_agent(&path).unwrap())
    };
    let whole = fit(32_000, "Look at").unwrap();
    assert!(whole.shrunk.is_empty() && (500..1_500).contains(&whole.tokens), "{whole:?}");
    let shrunk = fit(1_800, "Look at").unwrap();
    assert_eq!(shrunk.shrunk.len(), 1, "{shrunk:?}");
    assert!(shrunk.shrunk[0].starts_with("section `reference` is not in the request: "), "{shrunk:?}");
    assert!(shrunk.tokens < whole.tokens);
    let refused = fit(1_800, &"Look at it again. ".repeat(400)).unwrap_err().to_string();
    assert!(
        refused.starts_with("budget too small: the whole prompt may have ") && refused.contains("`mission`"),
        "{refused}"
    );
}
