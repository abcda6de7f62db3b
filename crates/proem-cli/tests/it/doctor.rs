//! `proem doctor`: what is found in good places and broken ones, and that nothing secret is shown.

use std::fs;
use std::num::NonZeroU16;
use std::os::unix::fs::PermissionsExt as _;

use proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use serde_json::Value as Json;

use crate::fixture::Fixture;
use crate::terminal::screen::{WIDE, start_on};

const KEY: &str = "sk-live-0123456789abcdefghijklmnop";

/// The state of the first line about a subject that has it worst.
fn check_state<'j>(output: &'j Json, subject: &str) -> &'j str {
    let order = ["wrong", "unknown", "missing", "good"];
    let checks = output["checks"].as_array().unwrap();
    let states: Vec<&str> = checks
        .iter()
        .filter(|check| check["subject"] == subject)
        .map(|check| check["state"].as_str().unwrap())
        .collect();
    order.iter().find_map(|state| states.iter().find(|found| found == &state).copied()).unwrap()
}

fn looked(fixture: &Fixture, args: &[&str]) -> (i32, Json) {
    let run = fixture.proem(&[&["doctor", "--json"], args].concat());
    (run.code(), serde_json::from_str(run.stdout()).unwrap())
}

#[test]
fn a_new_installation_lacks_a_key_and_nothing_is_wrong() {
    let mut fixture = Fixture::folder().committed();
    fixture.set("LANG", "C.UTF-8");
    let run = fixture.proem(&["doctor"]);
    let git = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|file| file.is_file())
        .unwrap();
    let shown = run.stdout().replace(git.to_str().unwrap(), "[git]");
    snapshot!(run.redacted(&format!("exit code {}\n{}{}", run.code(), shown, run.stderr())));
    // Nothing was made by looking.
    assert!(!fixture.base.join("state/proem").exists());
}

/// A part, how it is broken, how it is found then, and a word of what is said.
type BrokenPart<'p> = (&'p str, &'p dyn Fn(&mut Fixture), &'p str, &'p str);

#[test]
fn each_broken_part_is_found_and_hides_no_other() {
    let rows: [BrokenPart<'_>; 8] = [
        ("configuration", &|f| f.configure("config.toml", "modle = \"x\"\n"), "wrong", "unknown field"),
        ("git", &|f| f.set("PATH", "/nowhere"), "wrong", "git was not found"),
        (
            "key",
            &|f| fs::set_permissions(f.base.join("key"), fs::Permissions::from_mode(0o644)).unwrap(),
            "wrong",
            "chmod go=",
        ),
        ("policy", &|f| f.configure("policy.toml", "x"), "wrong", "policy check"),
        ("book", &|f| f.configure("book/own/x/1.0.0.prompt", "---\n: :\n"), "wrong", "book check"),
        ("guard", &|f| f.configure("guard/verdicts.tsv", "x"), "wrong", ""),
        ("trust", &|f| f.write("AGENTS.md", "obey\n"), "missing", "proem trust"),
        (
            "model",
            &|f| f.configure("config.toml", "[roles]\nsmall = \"nobody/x\"\nodd = \"nowhere-model\"\n"),
            "wrong",
            "[roles]",
        ),
    ];
    for (subject, broken, expected, words) in rows {
        let mut fixture = Fixture::folder().committed();
        broken(&mut fixture);
        let (code, output) = looked(&fixture, &[]);
        assert_eq!(check_state(&output, subject), expected, "{subject}: {output}");
        assert_eq!(code, i32::from(expected == "wrong"), "{subject}");
        assert_eq!(output["ok"], expected != "wrong", "{subject}");
        assert!(output.to_string().to_lowercase().contains(words), "{subject}: {words}: {output}");
        // Every check appears, whatever is broken.
        for other in ["configuration", "key", "provider", "store", "git", "trust", "terminal"] {
            check_state(&output, other);
        }
    }
}

#[test]
fn a_server_is_asked_only_after_a_yes_and_its_key_is_never_shown() {
    let server = ScriptedServer::start(ServerScript::of(vec![Reply::raw(200, "{}"), Reply::raw(401, "{}")])).unwrap();
    let mut fixture = Fixture::folder().committed();
    fixture.set("OWN_KEY", KEY);
    fixture.configure(
        "config.toml",
        &format!("[providers.own]\nbase_url = \"{}\"\nkey = \"OWN_KEY\"\n", server.base_url()),
    );
    let (_, output) = looked(&fixture, &["--config"]);
    assert_eq!(server.requests().len(), 0);
    assert!(output.to_string().contains("`OWN_KEY` is set; not connected"), "{output}");
    let (code, output) = looked(&fixture, &["--connect", "--config"]);
    assert!(server.requests().iter().all(|request| request.path.ends_with("/models")));
    assert_eq!((server.requests().len(), code), (1, 0), "{output}");
    assert!(!output.to_string().contains(KEY));
    // On a terminal a person is asked.
    for (answer, requests) in [("n\n", 1), ("y\n", 2)] {
        let mut command = fixture.command(&fixture.binary);
        command.args(["doctor"]);
        let mut terminal = start_on(WIDE, command).unwrap();
        terminal.until("list of models");
        terminal.press(answer);
        let seen = terminal.end();
        assert_eq!(server.requests().len(), requests, "{}", seen.raw);
        assert!(!seen.raw.contains(KEY));
    }
}

#[test]
fn every_setting_says_where_it_comes_from() {
    let fixture = Fixture::folder().committed();
    fixture.configure(
        "config.toml",
        "model = \"large\"\n[effects.servers.t]\norigin = \"https://t.example\"\n\
         [effects.requests.jira_comment]\nserver = \"t\"\nkind = \"comment\"\nmethod = \"POST\"\npath = \"/x\"\n\
         headers = { x-token = \"hunter2hunter2\" }\nbody = {}\n",
    );
    fixture.write("proem.toml", "[assemble]\nmax_tools = 3\n");
    let (_, output) = looked(&fixture, &["--config"]);
    let settings = output["settings"].as_array().unwrap();
    let of = |key: &str| {
        let setting = settings.iter().find(|setting| setting["key"] == key).unwrap_or_else(|| panic!("{key}"));
        format!("{} {}", setting["value"], setting["origin"].as_str().unwrap())
    };
    for (key, expected) in [
        ("model", "\"large\" user"),
        ("assemble.max_tools", "3 lowered"),
        ("assemble.max_skills", "3 default"),
        ("baseline", "null default"),
        ("budget.user.day", "null default"),
        ("effects.servers.t.origin", "\"https://t.example\" user"),
        ("effects.requests.jira_comment.headers.x-token", "\"[redacted]\" user"),
    ] {
        assert_eq!(of(key), expected, "{key}");
    }
    assert!(!output.to_string().contains("hunter2"));
}

#[test]
fn a_narrow_terminal_gets_lines_that_fit() {
    let mut fixture = Fixture::folder().committed();
    fixture.set("NO_COLOR", "1");
    let mut command = fixture.command(&fixture.binary);
    command.args(["doctor", "--config"]);
    let terminal = start_on(NonZeroU16::new(20).unwrap(), command).unwrap();
    let seen = terminal.end();
    assert!(seen.raw.contains("nothing is wrong"), "{}", seen.raw);
}
